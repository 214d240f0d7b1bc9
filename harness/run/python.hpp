// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/case.hpp"
#include "reports/base/json_value.hpp"

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace cufault {

/// The given Python, and the frameworks of cases/frameworks in it. Each framework is imported in its own process.
class python_environment {
 public:
  /// `python`: a path, or a name on the PATH. `scripts`: the folder of run_trials.py. `families`: those that arms need, of "pytorch",
  /// "jax", "cupy". `patience`: limit for an import. Throws input_error if it is no Python 3, and interrupted. why_not() reports errors of
  /// frameworks. Forks: this process must be single-threaded.
  python_environment(const std::filesystem::path& python, const std::filesystem::path& scripts,
                     const std::set<std::string>& families, int device, int stop,
                     std::chrono::milliseconds patience = std::chrono::seconds(60));

  /// Why no trial of an arm of a framework can run; "" if one can.
  [[nodiscard]] std::string why_not(const arm& a) const;
  [[nodiscard]] const std::filesystem::path& path() const { return python_; }
  /// For each requested family whose framework is installed: why its import failed; "" if it worked.
  [[nodiscard]] const std::map<std::string, std::string>& imports() const { return imports_; }
  /// Folder of this Python's own cuBLAS (wheel or conda); "" without one: frameworks then use what the loader finds.
  [[nodiscard]] std::string cublas() const;
  /// {"python", "prefix", "packages": {name: version}}, for the stack of a record.
  [[nodiscard]] nlohmann::json for_stack() const;
  /// Keys of the stack, such as "pytorch" "2.11.0": the release alone, also for "2.11.0+cu130" and "2.11.0a0+git".
  [[nodiscard]] std::map<std::string, std::string> keys() const;
  /// Command line that runs run_trials.py with these words.
  [[nodiscard]] std::vector<std::string> command(const std::vector<std::string>& words) const;

 private:
  void import_all(const std::vector<std::string>& families, int device, int stop);
  std::string ask(const std::vector<std::string>& words, std::chrono::milliseconds limit, std::string& said,
                  int stop) const;
  std::filesystem::path python_, script_;
  std::chrono::milliseconds patience_;
  json_value found_;
  std::map<std::string, std::string> imports_, absent_, no_gpu_;  // by family: the reason
};

}  // namespace cufault
