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

/// The Python that was given, and what cases/frameworks finds in it. Frameworks are imported in processes of their own.
class python_environment {
 public:
  /// `python`: a path, or a name on the PATH. `scripts`: the folder of run_trials.py. `families`: "pytorch", "jax", "cupy": those that arms need. `patience`: with an import.
  /// Throws input_error where that is no Python 3, and interrupted. What is wrong with a framework why_not() says of each arm. Forks: this
  /// process must have no second thread.
  python_environment(const std::filesystem::path& python, const std::filesystem::path& scripts,
                     const std::set<std::string>& families, int device, int stop,
                     std::chrono::milliseconds patience = std::chrono::seconds(60));

  /// Why no trial of an arm of a framework can run; empty if one can.
  [[nodiscard]] std::string why_not(const arm& a) const;
  [[nodiscard]] const std::filesystem::path& path() const { return python_; }
  /// Of the families asked for, those whose framework is there, and why it could not be imported; empty if it was.
  [[nodiscard]] const std::map<std::string, std::string>& imports() const { return imports_; }
  /// The folder of its own cuBLAS, of a wheel or of conda; empty where it has none: its frameworks then take what the loader finds.
  [[nodiscard]] std::string cublas() const;
  /// {"python", "prefix", "packages": {name: version}}, as the stack of a record keeps it.
  [[nodiscard]] nlohmann::json for_stack() const;
  /// "pytorch" "2.11.0", the release alone, also of "2.11.0+cu130" and "2.11.0a0+git": keys of the stack.
  [[nodiscard]] std::map<std::string, std::string> keys() const;
  /// What runs run_trials.py with these words.
  [[nodiscard]] std::vector<std::string> command(const std::vector<std::string>& words) const;

 private:
  void import_all(const std::vector<std::string>& families, int device, int stop);
  std::string ask(const std::vector<std::string>& words, std::chrono::milliseconds limit, std::string& said,
                  int stop) const;
  std::filesystem::path python_, script_;
  std::chrono::milliseconds patience_;
  json_value found_;
  std::map<std::string, std::string> imports_, absent_, no_gpu_;  // by family: why not
};

}  // namespace cufault
