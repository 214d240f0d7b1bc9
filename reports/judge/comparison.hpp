// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Records compared arm by arm: the first with each of the others.
#pragma once

#include "reports/judge/judge.hpp"
#include "reports/model/record.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {

class json_cursor;

/// Compares one arm of two records, as a run is judged by a record: signatures; level edges and the measurements that claims rest on within
/// their bands; of an arm that races, rates. nullptr: the record has no such arm. ABSENT: only `before` observed it; NEW: only `now`;
/// NOT_PROVOKED: neither or, where both observed it, there was nothing to clear in both.
judgement compare_arms(const arm_result* before, const arm_result* now);
/// Whether a verdict of compare_arms() says that nothing is to be looked at.
bool is_same(verdict v);

/// A value of the records' stacks that is not the same in all; empty where one has none.
struct stack_difference {
  std::string name;  ///< "cublas", "cublas: search path", or a path: "environment/LD_LIBRARY_PATH"
  std::vector<std::string> values;
};
/// A line for each framework of a stack that runs with other packages than its release pins, or does not say what it runs with. A difference
/// of stacks says so of its version, too: the release is not all that ran.
std::vector<std::string> imported_doubts(const nlohmann::json& stack);
/// In this order: facts of the libraries' files (file_differences()), packages of Python, keys that conditions can name, other values that repeat no key.
std::vector<stack_difference> stack_differences(std::span<const record> records);

/// A change that somebody has looked at and lets pass for a while.
struct allowance {
  std::string arm;  ///< CASE/ARM, where * is anything
  verdict what = verdict::changed;
  std::string reason;    ///< never empty
  std::string expires;   ///< the last day on which it holds, UTC: "2026-12-31"
  std::string source{};  ///< "FILE:LINE"
  std::string change{};  ///< what_changed() of its arms, where * is anything; empty: any
};

/// {"schema": 1, "allowances": [{"arm": ..., "change": ..., "what": ..., "reason": ..., "expires": ...}]}, "what" or not:
/// reports/schemas/allowances.schema.json.
/// Throws input_error.
std::vector<allowance> load_allowances(const std::filesystem::path& file);
std::vector<allowance> allowances_from(const json_cursor& top);
bool is_date(const std::string& text);  ///< "2026-12-31", a day that there is

struct compared_arm {
  std::string case_name{}, arm{}, summary{};
  judgement found{};  ///< of several records the worst verdict, with what each has to say: "b: ... | c: ..."
  std::vector<std::string> seen{};  ///< what each record saw, in one line; empty where it observed nothing
  std::optional<allowance> allowed_by{};  ///< of an arm that would fail a gate
};

struct compared_record {
  std::string role{}, label{};        ///< "a", or "candidate" in a gate; "cuBLAS 13.1.0, NVIDIA H200"
  std::size_t observed = 0;           ///< arms
  std::vector<std::string> doubts{};  ///< imported_doubts()
};

struct comparison {
  std::vector<compared_record> records{};
  std::vector<stack_difference> stacks{};
  std::vector<compared_arm> arms{};  ///< by name; without those that are only counted
  std::size_t not_asked = 0,
              unobserved = 0;  ///< arms that a record lacks and was not asked for; arms that none observed
  std::size_t executed = 0, at_least = 0;  ///< cases of the last record that were executed; how many must be
  std::vector<allowance> expired{}, unused{};
  std::vector<std::string> unread{};      ///< a line for each file that could not be read
  std::vector<std::string> incomplete{};  ///< runs that did not come to their end: "--baseline a.jsonl"
};

struct comparison_terms {
  std::vector<allowance> allowances{};
  std::string today{};       ///< UTC, "2026-11-22"
  std::size_t at_least = 1;  ///< cases that must have been executed
  /// Whether the record of this index was asked for an arm that it does not have. Without it, each was asked for what it has.
  std::function<bool(std::size_t record, const std::string& case_name, const std::string& arm)> asked{};
};

/// What arms that changed alike share of `why`, without functions, variants and numbers: "EXECUTION_FAILED → INTERNAL_ERROR", "another call is
/// named: cublasGemmEx", "first other call: cublasCreate, ALLOC_FAILED". Of what is no change all of `why`.
std::string what_changed(const judgement& found);
/// Parts of judgement::why between "; ", but not of those in parentheses; one at least.
std::vector<std::string> parts_of(std::string_view why);

/// The first record is what the others are compared with; two at least. An arm of a case whose control failed proves nothing: in the first
/// record it is not observed, in another it is UNRESOLVED.
comparison compare(std::span<const record> records, const comparison_terms& terms = {});

/// Arms by what to think of them.
std::size_t same_in(const comparison& all);       ///< as before
std::size_t differing_in(const comparison& all);  ///< neither as before nor NEW

/// Of a gate, worst first: 2 where anything is unresolved, could not be read, did not come to its end, or nothing could be compared; 1 where
/// an arm differs that no allowance covers, or fewer cases were executed than must be.
std::vector<exit_reason> exit_reasons(const comparison& all);

}  // namespace cufault
