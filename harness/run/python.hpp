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
#include <span>
#include <string>
#include <vector>

namespace cufault {

struct python_framework;

/// A Python, and the frameworks of cases/frameworks in it. Each framework is imported in its own process.
class python_environment {
 public:
  /// Several, whose frameworks are imported at the same time. Each is a path, or a name on the PATH. `scripts`: the folder of run_trials.py.
  /// `families`: those that arms need, of "pytorch", "jax", "cupy". `patience`: limit for each answer of a Python, as for an import. Throws
  /// input_error if one is no Python 3, and interrupted. why_not() reports errors of frameworks. Forks: this process must be single-threaded.
  static std::vector<python_environment> all(const std::vector<std::filesystem::path>& pythons,
                                             const std::filesystem::path& scripts,
                                             const std::set<std::string>& families, int device, int stop,
                                             std::chrono::milliseconds patience);

  /// Why no trial of an arm of a framework can run; "" if one can.
  [[nodiscard]] std::string why_not(const arm& a) const;
  [[nodiscard]] const std::filesystem::path& path() const { return python_; }
  /// No arm of the family runs then.
  void leave_out(const std::string& family, const std::string& why);
  /// For each requested family whose framework is installed: why its import failed; "" if it worked.
  [[nodiscard]] const std::map<std::string, std::string>& imports() const { return imports_; }
  /// For each imported framework without a GPU: why.
  [[nodiscard]] const std::map<std::string, std::string>& no_gpu() const { return no_gpu_; }
  /// What the import of a family found (framework_trials/identity.py); {} where none was imported.
  [[nodiscard]] nlohmann::json identity(const std::string& family) const;
  /// A line for each framework of which the environment has another copy, or other metadata; and imported_doubts().
  [[nodiscard]] std::vector<std::string> doubts() const;
  /// Folder of the cuBLAS that an imported framework has loaded, else of this Python's own (wheel or conda); "" without one: frameworks then use what the loader finds.
  [[nodiscard]] std::string cublas() const;
  /// {"python", "prefix", "packages": {name: version}, "frameworks": {family: identity}}, for the stack of a record.
  [[nodiscard]] nlohmann::json for_stack() const;
  /// Keys of the stack, such as "pytorch" "2.11.0": the release alone, also for "2.11.0+cu130" and "2.11.0a0+git".
  [[nodiscard]] std::map<std::string, std::string> keys() const;
  /// Command line that runs run_trials.py with these words. `family`: a trial that finds another framework than the import did fails.
  [[nodiscard]] std::vector<std::string> command(const std::vector<std::string>& words,
                                                 const std::string& family = {}) const;

 private:
  python_environment(const std::filesystem::path& python, const std::filesystem::path& scripts, int stop,
                     std::chrono::milliseconds patience);
  static void import_all(std::span<python_environment> all, const std::set<std::string>& families, int device,
                         int stop);
  void take_identity(const python_framework& f, const nlohmann::json& is);
  std::string ask(const std::vector<std::string>& words, std::string& said, int stop) const;
  std::filesystem::path python_, script_;
  std::chrono::milliseconds patience_;
  json_value found_;
  std::map<std::string, std::string> imports_, absent_, no_gpu_;  // by family: the reason
};

}  // namespace cufault
