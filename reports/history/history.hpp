// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/history/view.hpp"
#include "reports/model/record.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace cufault {

class database;

/// Version of the database's tables. Another version is refused: nothing is converted.
inline constexpr int history_schema = 1;

/// What each arm came to in each run, in an SQLite database. Of an arm with levels the results in the order of levels are kept, and not
/// where the edges between them lie: `gate` compares those. Measurements are not kept.
///
/// Throws input_error in one line where the file is no history, is damaged, or was made by a newer cufault; it is then left as it is.
class history {
 public:
  enum class access { read, add };
  /// For `add`, makes the file where there is none.
  history(const std::filesystem::path& file, access how);
  ~history();
  history(const history&) = delete;
  history& operator=(const history&) = delete;

  struct added {
    std::size_t runs = 0, arms = 0;  ///< that were not there; an arm counts once for each run
    std::size_t known = 0;           ///< arms that were there
  };
  /// All of a record or, where it throws, nothing. What is there already is not added again: runs are told apart by stack, start, seed
  /// and commit. Throws where an arm of a run is there with another result. Waits for another writer.
  added add(const record& r);

  /// Of arms whose name matches one of the patterns (CASE/ARM, where * is anything), or of all where there are none.
  history_view view(const std::vector<std::string>& patterns = {});

 private:
  std::unique_ptr<database> in_;
};

}  // namespace cufault
