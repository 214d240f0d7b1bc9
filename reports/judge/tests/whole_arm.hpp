// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cufault {

/// The arm that corpus/differing.jsonl differs from.
inline constexpr const char* whole_arm = R"({"case":"memory.leak"}
{"arm":"a","summary":"a summary that is long enough","trials":[{"calls":["cublasCreate: _ALLOC_FAILED"],"times":{"0":1.5},"ms":3},{"like":0,"ms":4}]}
)";

}  // namespace cufault
