// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/judge/claim_rules.hpp"
#include "reports/judge/cost.hpp"
#include "reports/model/record.hpp"

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace cufault {

class json_cursor;

/// What sort of statement a claim is, which decides how arms speak to it.
enum class claim_kind { failure, remedy, dead_end, statement };
CUFAULT_NAMES(claim_kind, failure, remedy, dead_end, statement)

/// A statement of a source document (cases/claims.json).
struct claim {
  std::string id;  ///< "S0-5"; never changes
  claim_kind kind = claim_kind::failure;
  std::string text;
  std::string status{};      ///< of a failure: the documented status; empty where the document names none
  std::string call{};        ///< of a failure: the documented call; empty likewise
  std::string untestable{};  ///< why nothing in it can be run; empty if testable
  std::string awaits{};      ///< "a framework", whose arms alone can tell; empty if the raw arms can
  std::string source{};      ///< where its document is from; empty where that is not known
  std::vector<claim_rule> rules{};
};

/// {"schema": 2, "documents": [{"id": "S0", "title":…, "source":…, "claims": [{"id":…, "kind":…, "text":…, …, "rules": […]}]}]}
std::vector<claim> load_claims(const std::filesystem::path& file);  ///< throws input_error
std::vector<claim> claims_from(const json_cursor& top);             ///< likewise

/// What one arm says about a claim.
struct claim_evidence {
  std::string case_name, arm, stack;  ///< stack: "cuBLAS 13.1.0, NVIDIA H200, driver 580.159.04"
  std::string says;                   ///< "confirmed", "other status", "refuted", "partly" or "cut off"
  std::string why;                    ///< signature, or what decided a rule, in one line
  bool made_up = false;               ///< the arm's fault is injected or a stand-in
  std::string cost{};  ///< of a remedy that cleared its fault, where that was measured on the stack
  friend bool operator==(const claim_evidence&, const claim_evidence&) = default;
};

struct claim_verdict {
  claim what;
  /// "confirmed", "other status", "refuted", "partly", "untestable", "awaits a framework", "not measured yet"; with " (made up)" behind it
  /// where only made-up evidence says so
  std::string verdict;
  std::vector<claim_evidence> evidence;  ///< natural first
  /// "confirmed by memory.leak/this, that; memory.more/other (a, b)": a line for each word and set of stacks, natural ones first. Beside a
  /// remedy: what it costs on the first of its stacks where that was measured. Without evidence: why it is untestable.
  std::string arms{};
};

/// Judges each claim from the arms of the given records: by the claim's rules alone where one is about the arm (all statements of its
/// trials hold: confirmed, none: refuted, some: partly; nothing where there is no statement, or where another of its trials crashed or
/// hung before it could make one), else, if the arm names the claim, by the claim's kind:
/// - failure, fault arms only. Of its trials that fail, all fail with the documented status from the documented call
///   (confirmed), none (other status), or some (partly); no trial fails (refuted). Where the claim names no
///   call, the first failing one counts; where it names no status, any will do.
/// - remedy, remedy and dead-end arms only: it clears, which is that no trial fails in the end (confirmed), or not
///   (refuted). Dead end, likewise: it does not clear (confirmed) or clears (refuted). Both only where there was
///   something to clear: a failure before the remedy in every trial, or, for an arm that is against a fault arm,
///   a failure of that one.
/// - statement: only by rules.
/// Sweeps speak by rules alone: what is failed in them is failed on purpose. Arms that were not provoked say
/// nothing, nor do injected counterparts, nor those of a case whose control is unresolved or that may have shared its GPU. Natural arms
/// that agree give their word as verdict, those that disagree give "partly". Made-up arms decide only where no natural arm says
/// anything, and the verdict says so; of a remedy or dead end they also dispute what natural arms agree on: "partly (made up)". A remedy
/// against a fault arm in which nothing failed says nothing. A claim marked untestable stays so.
/// One that awaits a framework does so, beside what other arms already show, until an arm of one says something.
std::vector<claim_verdict> judge_claims(const std::vector<claim>& claims, std::span<const record> records,
                                        const cost_notes& costs = {});

/// The stacks of all evidence, each with the letter by which claim_verdict::arms has it: names in every cell are too wide to read.
std::map<std::string, std::string> letters_of(const std::vector<claim_verdict>& verdicts);

/// Whether a control arm of it is unresolved: then nothing that its other arms saw proves anything.
bool control_unresolved(const case_result& c);

}  // namespace cufault
