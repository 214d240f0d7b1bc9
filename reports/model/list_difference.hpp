// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The difference of two JSON lists: {"edits": [[first, count, [ITEM, ...]], ...]}. Each edit replaces `count` items of the first list, from index
// `first` on (counted from 0), by the ITEMs. Edits are in ascending order and do not overlap.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace cufault {

class json_cursor;

/// Both must be arrays. The fewest items that can be, where the lists have, without the items with which both begin and end alike, up to about 2,000
/// items; in longer ones one edit replaces all between these ends.
nlohmann::ordered_json list_difference(const nlohmann::ordered_json& from, const nlohmann::ordered_json& to);
bool is_list_difference(const json_cursor& at);  ///< whether this is an object with "edits"
/// The second list, from the first one and its difference. Throws input_error where an edit is malformed, overlaps an earlier one or ends beyond
/// `from`.
nlohmann::ordered_json changed_list(const nlohmann::ordered_json& from, const json_cursor& edits);

}  // namespace cufault
