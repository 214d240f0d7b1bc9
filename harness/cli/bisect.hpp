// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/cli/output.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace cufault {

struct bisect_arguments : print_form {
  std::vector<std::string> good;  ///< one release or two, on both sides of `bad`
  std::string bad;
  std::string arm;  ///< "CASE/ARM"; empty where there is a command
  std::vector<std::string> command;
  std::filesystem::path releases;   ///< a folder of libraries; empty: the package index
  std::vector<std::string> images;  ///< from the oldest to the newest; none: libraries
  std::filesystem::path keep;       ///< for fetched releases; empty: the usual folder
  std::string ok, text, control;    ///< of a command; empty for none
  double error = 0.01;
  int most = 50;         ///< trials of a release; of an end twice as many
  bool once = false;     ///< one trial decides a release
  double timeout = 600;  ///< seconds, of a run of the command
  int device = 0, wait_seconds = 10;
  std::vector<std::string> words;  ///< how it was started
};

int bisect_releases(const bisect_arguments& arguments);

/// A release of cuBLAS: two files, or an image that has them.
struct release {
  std::string name;  ///< as --good and --bad name it: a version, or an image
  std::filesystem::path cublas,
      cublaslt;  ///< links resolved; empty of an image, and of one that is not fetched yet
};

/// The releases that there are, in order.
class release_source {
 public:
  /// Throws usage_error where there are none, or where they cannot be listed. `stop` as in run_process().
  release_source(const bisect_arguments& arguments, int stop);
  [[nodiscard]] const std::vector<release>& all() const { return all_; }
  /// Throws usage_error with its neighbours where there is no such release. `option`: who asks.
  [[nodiscard]] std::size_t index_of(const std::string& option, const std::string& name) const;
  /// With its files, fetched where they are not there. Throws usage_error: there is no room, no index, no wheel for this platform.
  const release& ready(std::size_t which);
  [[nodiscard]] const std::string& from() const {
    return from_;
  }  ///< "the package index", "--releases FOLDER", "--images"

 private:
  void list_index(const bisect_arguments& arguments);
  void list_folder(const std::filesystem::path& folder);
  std::vector<release> all_{};
  std::filesystem::path keep_{};
  std::string from_{};
  int stop_;
};

/// Whether the name of a release ("13.4.1.3") is of this version of a library ("13.4.1").
bool is_of_version(const std::string& name, const std::string& version);

}  // namespace cufault
