// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/system/temporary_folder.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <string_view>

namespace cufault {

/// Prefix of the folders of trials; the process ID of the runner and more follows.
inline constexpr std::string_view scratch_prefix = "cufault-trial-";

/// A folder for a trial. Throws std::system_error, which names TMPDIR, if none can be made.
class scratch_folder : public temporary_folder {
 public:
  scratch_folder() : temporary_folder(fmt::format("{}{}-", scratch_prefix, getpid())) {}
};

}  // namespace cufault
