// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/scratch_folder.hpp"

#include <fmt/format.h>

#include <unistd.h>

namespace cufault {

scratch_folder::scratch_folder() : temporary_folder(fmt::format("{}{}-", scratch_prefix, getpid())) {}

}  // namespace cufault
