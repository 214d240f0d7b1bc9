// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/list_difference.hpp"

#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cufault {
namespace {

using ordered = nlohmann::ordered_json;
using texts = std::vector<std::string>;

constexpr const char* edits_key = "edits";
/// Of the table of lengths: 4 Mi entries of 4 bytes are 16 MiB.
constexpr std::size_t most_pairs = std::size_t{1} << 22;

texts texts_of(const ordered& list) {
  texts all;
  for (const ordered& item : list) all.push_back(dump_json(item));
  return all;
}

/// at(i, j): length of the longest common subsequence of from[i..] and to[j..].
class common_lengths {
 public:
  common_lengths(const texts& from, const texts& to) : width_(to.size() + 1) {
    lengths_.resize((from.size() + 1) * width_);
    for (std::size_t i = from.size(); i-- > 0;)
      for (std::size_t j = to.size(); j-- > 0;)
        lengths_[i * width_ + j] =
            from[i] == to[j] ? at(i + 1, j + 1) + 1 : std::max(at(i + 1, j), at(i, j + 1));
  }
  [[nodiscard]] std::uint32_t at(std::size_t i, std::size_t j) const { return lengths_[i * width_ + j]; }

 private:
  std::size_t width_;
  std::vector<std::uint32_t> lengths_;
};

struct edit {
  std::size_t first = 0, count = 0;  ///< in the first list
  std::size_t begin = 0, end = 0;    ///< [begin, end) in the second list
};

/// The lists must differ in their first and in their last item.
std::vector<edit> edits_between(const texts& from, const texts& to) {
  if ((from.size() + 1) * (to.size() + 1) > most_pairs) return {{0, from.size(), 0, to.size()}};
  const common_lengths common(from, to);
  std::vector<edit> edits;
  for (std::size_t i = 0, j = 0; i < from.size() || j < to.size();) {
    edit e{i, 0, j, j};
    while ((i < from.size() || j < to.size()) && (i == from.size() || j == to.size() || from[i] != to[j])) {
      if (j == to.size() || (i < from.size() && common.at(i + 1, j) >= common.at(i, j + 1)))
        ++i;
      else
        ++j;
    }
    e.count = i - e.first;
    e.end = j;
    if (e.count != 0 || e.end != e.begin) edits.push_back(e);
    for (; i < from.size() && j < to.size() && from[i] == to[j]; ++i) ++j;
  }
  return edits;
}

}  // namespace

nlohmann::ordered_json list_difference(const nlohmann::ordered_json& from, const nlohmann::ordered_json& to) {
  texts before = texts_of(from), after = texts_of(to);
  const auto [b, a] = std::ranges::mismatch(before, after);
  const auto begin = static_cast<std::size_t>(b - before.begin());
  before.erase(before.begin(), b);
  after.erase(after.begin(), a);
  while (!before.empty() && !after.empty() && before.back() == after.back()) {
    before.pop_back();
    after.pop_back();
  }
  ordered edits = ordered::array();
  for (const edit& e : edits_between(before, after)) {
    ordered items = ordered::array();
    for (std::size_t j = e.begin; j < e.end; ++j) items.push_back(to.at(begin + j));
    edits.push_back({begin + e.first, e.count, std::move(items)});
  }
  return {{edits_key, std::move(edits)}};
}

bool is_list_difference(const json_cursor& at) {
  return at.is_object() && at.has(edits_key);
}

nlohmann::ordered_json changed_list(const nlohmann::ordered_json& from, const json_cursor& edits) {
  edits.only({edits_key});
  ordered changed = ordered::array();
  std::size_t next = 0;
  const auto copy_until = [&](std::size_t end) {
    for (; next < end; ++next) changed.push_back(from.at(next));
  };
  for (const json_cursor& edit : edits.at(edits_key).items()) {
    const auto parts = edit.items();
    if (parts.size() != 3) edit.fail("an edit is [first, count, [ITEM, ...]]");
    const auto first = parts[0].unsigned_integer(), count = parts[1].unsigned_integer();
    if (first < next || first > from.size() || count > from.size() - first)
      edit.fail(
          fmt::format("it overlaps an earlier edit, or ends beyond the list of the base, which has {} items",
                      from.size()));
    copy_until(first);
    for (const json_cursor& item : parts[2].items()) changed.push_back(ordered(item.value()));
    next = first + count;
  }
  copy_until(from.size());
  return changed;
}

}  // namespace cufault
