// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace cufault::injector {

/// Rules, as JSON, that do again what a log of the injector tells: each act on the same call of its function, in the program and the rank that
/// it was in. Throws input_error for a log without acts, with too many, or whose processes no rule tells apart.
std::string rules_of_log(const std::filesystem::path& log);

}  // namespace cufault::injector
