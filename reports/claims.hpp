// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/record.hpp"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace cufault {

/// A statement of a source document (cases/claims.json).
struct claim {
  std::string id;   ///< "S0-5"; never changes
  char kind = 'F';  ///< F failure, R remedy, D dead end, X other statement of fact
  std::string text;
  std::string status;       ///< kind F: the documented status; empty where the document names none
  std::string call;         ///< kind F: the documented call; empty likewise
  std::string untestable;   ///< why nothing in it can be run; empty if testable
  std::string awaits = {};  ///< "a framework": who alone can tell; empty if the raw arms can
};

/// {"schema": 1, "documents": [{"id": "S0", "title":…, "claims": [{"id":…, "kind":…, "text":…, …}]}]}
std::vector<claim> load_claims(const std::filesystem::path& file);  ///< throws input_error
std::vector<claim> claims_from(const json_cursor& top);             ///< likewise

/// What one arm says about a claim.
struct claim_evidence {
  std::string case_name, arm, stack;  ///< stack: "cuBLAS 13.1.0, NVIDIA H200, driver 580.159.04"
  std::string says;                   ///< "confirmed", "other status", "refuted", "partly" or "cut off"
  std::string why;                    ///< signature or finding in one line
  friend bool operator==(const claim_evidence&, const claim_evidence&) = default;
};

struct claim_verdict {
  claim what;
  /// "confirmed", "other status", "refuted", "partly", "untestable", "awaits a framework", "not measured yet"
  std::string verdict;
  std::vector<claim_evidence> evidence;
};

/// Judges each claim from the arms of the given records that name it. An arm speaks through its findings for the
/// claim if it has any (all hold: confirmed, none: refuted, some: partly; but nothing at all where another of
/// its trials crashed or hung before it found something), else by the claim's kind:
/// - F, fault arms only. Of its trials that fail, all fail with the documented status from the documented call
///   (confirmed), none (other status), or some (partly); no trial fails (refuted). Where the claim names no
///   call, the first failing one counts; where it names no status, any will do.
/// - R, remedy and dead-end arms only: it clears, which is that no trial fails in the end (confirmed), or not
///   (refuted). D, likewise: it does not clear (confirmed) or clears (refuted). Both only where there was
///   something to clear: a failure before the remedy in every trial, or, for an arm that is against a fault arm,
///   a failure of that one.
/// - X: only through findings.
/// Sweeps speak through findings alone: what is failed in them is failed on purpose. Arms that were not provoked say
/// nothing, nor do injected twins, nor those of a case whose control is unresolved or that may have shared its GPU. Arms
/// that agree give their word as verdict, arms that disagree give "partly". A claim marked untestable stays so, and
/// one that awaits somebody too, beside what the arms already show.
std::vector<claim_verdict> judge_claims(const std::vector<claim>& claims, std::span<const record> records);

/// Whether a control arm of it is unresolved: then nothing that its other arms saw proves anything.
bool control_unresolved(const case_result& c);

nlohmann::json to_json(const std::vector<claim_verdict>& verdicts);

}  // namespace cufault
