// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What changed from release to release of cuBLAS or of a framework: arms of recorded stacks that changed together, between the two releases that were measured.
#pragma once

#include "reports/model/record.hpp"

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cufault {

/// What a stack measures, where its pair of cuBLAS and cuBLASLt, or its framework, is that of a release.
struct release_of_stack {
  std::string version{};        ///< "13.1.0"
  std::string gpu{}, driver{};  ///< "NVIDIA H200", "580.159.04"
};
/// Empty of a stack with a framework, of a mixed pair, and where version, GPU or driver is unknown. Of a `framework` ("pytorch"): empty of a
/// stack without it or with a second cuBLAS.
std::optional<release_of_stack> release_of(const record& r, const std::string& framework = {});
/// Of the GPU and driver on which most releases were measured; of several the first by name. `gpu`: only those whose name holds it. Of each
/// release the indexes of its stacks, in order of versions.
struct release_columns {
  std::string gpu{}, driver{};
  std::vector<std::pair<std::string, std::vector<std::size_t>>> releases{};
};
release_columns columns_of(const std::vector<std::optional<release_of_stack>>& stacks,
                           std::string_view gpu = {});

/// What a change is for a program that relied on how it was, worst first.
enum class harm { wrong_numbers, crash, hang, worse_status, other, better };
std::string to_string(harm h);  ///< "wrong_numbers", ...

/// Arms that changed alike, between the same releases.
struct release_change {
  harm how = harm::other;
  /// Releases: the last that showed `from`, the first that shows `to`. What lies between was not measured.
  std::string after{}, at_latest{};
  /// Each arm showed `from` in these releases from `since` to `after`, and shows `to` from `at_latest` to `until`.
  std::string since{}, until{};
  /// "EXECUTION_FAILED"; of a measurement, an edge of levels or a rate both are empty.
  std::string from{}, to{};
  std::string
      what{};  ///< then what it is: "values", "facts of calls", "levels of outcomes", "rates of outcomes"
  std::vector<std::string> details{};  ///< of these: "device memory per handle: 268575266 → 67242016", sorted
  std::string of{};                    ///< families of cases: "matrix.kernel_*", "arguments, types"
  std::map<std::string, std::size_t> calls{};  ///< functions, by the calls that differ
  std::vector<std::string> arms{};             ///< CASE/ARM, sorted
  std::string where{};    ///< of cells: which of those that both releases observed changed
  std::string example{};  ///< how the first arm differs, in one line
  std::string driver_before{},
      driver_since{};    ///< why a call failed, by the driver; empty where no arm has it
  bool made_up = false;  ///< all faults are injected or stand-ins
  bool severe = false;   ///< wrong numbers, a crash or a hang, before or now
};

struct release_changes {
  struct release {
    std::string version{};
    std::size_t observed = 0, compared = 0,
                changed = 0;  ///< arms; compared with the last release before it that observed them
    std::size_t next_compared = 0,
                next_changed = 0;  ///< of these, arms that the release directly before it observed
  };
  std::vector<release> releases{};
  std::vector<release_change> changes{};  ///< by harm, then by release, then by the number of arms
  std::size_t steady = 0;                 ///< arms that several releases observed, and that never changed
  std::vector<std::string> by_cufault{};  ///< CASE/ARM whose only differences are those of the case
};

/// Takes the records of releases in the order of versions, and keeps of each arm the last one that was observed.
///
/// Arms are compared by compare_arms(). An arm that a release did not observe is not measured there, which is not "the same".
/// Arms that depend on the second cuBLAS, sweeps, and cases whose control failed are left out.
/// Of remedies, dead ends and diagnoses only what came after the remedy is compared: calls, context and ending.
/// A difference is one of cuBLAS if both releases made the call. These are differences of cufault: a call that one release alone made, numbers
/// that one alone checked, and facts that one alone recorded in the case.
class change_finder {
 public:
  /// `follows`: of each release, in the order in which they are added, the index of the one before it, SIZE_MAX: none; without them that is the last one added.
  explicit change_finder(std::vector<std::size_t> follows = {});
  ~change_finder();
  change_finder(const change_finder&) = delete;
  change_finder& operator=(const change_finder&) = delete;
  void add(const std::string& version, record r);
  [[nodiscard]] release_changes found() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// A fact of a library's file, over releases: "cublas: search path".
struct file_history {
  std::string name{};
  struct range {
    std::string first{}, last{};  ///< releases
    std::string words{};
  };
  std::vector<range> ranges{};
};
/// `files`: of each release a stack's member "files" ({"cublas": {...}, "cublaslt": {...}}). Build ids, which always differ, are left out.
std::vector<file_history> file_histories(std::vector<std::pair<std::string, nlohmann::json>> files);
/// Lines {"release": "13.7.0.27", "library": "cublas", "soname": ..., "rpath": ..., "runpath": ..., "needed": [...], "gpu_code": [...]}, as `files`.
/// Throws input_error.
std::vector<std::pair<std::string, nlohmann::json>> files_of_releases(const std::filesystem::path& file);

}  // namespace cufault
