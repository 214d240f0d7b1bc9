// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/base/words.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cufault {

/// Entries that register before main in unspecified order, sorted by name. `Entry` has a name; its defect_of() says why it is refused.
template <class Entry>
class registry {
 public:
  static const std::vector<Entry>& all() { return entries(); }
  static const Entry* find(std::string_view name) {
    const auto at = place_of(name);
    return at != entries().end() && at->name == name ? &*at : nullptr;
  }
  /// Ends the program if the entry is malformed: before main nothing can catch an exception.
  static void add(const char* kind, Entry e) {
    std::string defect = defect_of(e);
    if (defect.empty() && find(e.name) != nullptr) defect = std::string("another ") + kind + " has that name";
    if (!defect.empty()) {
      std::fprintf(stderr, "cufault: %s '%s' is malformed: %s\n", kind, e.name.c_str(), defect.c_str());
      std::_Exit(2);
    }
    entries().insert(place_of(e.name), std::move(e));
  }

 private:
  static std::vector<Entry>& entries() {
    static std::vector<Entry> all;
    return all;
  }
  static auto place_of(std::string_view name) {
    return std::lower_bound(entries().begin(), entries().end(), name,
                            [](const Entry& e, std::string_view n) { return e.name < n; });
  }
};

}  // namespace cufault
