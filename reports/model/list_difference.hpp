// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Which items of a list are other ones in another list: {"edits": [[first, count, [ITEM, ...]], ...]}. In place of `count` items of the first list from
// index `first` on, the second has these. Edits are in order and do not overlap.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace cufault {

class json_cursor;

/// Of lists up to some thousand items the difference has as few items as can be; of longer ones, all between what they begin and end with alike.
nlohmann::ordered_json list_difference(const nlohmann::ordered_json& from, const nlohmann::ordered_json& to);
bool is_list_difference(const json_cursor& at);
/// The second list. Throws input_error where `edits` is no difference from `from`.
nlohmann::ordered_json changed_list(const nlohmann::ordered_json& from, const json_cursor& edits);

}  // namespace cufault
