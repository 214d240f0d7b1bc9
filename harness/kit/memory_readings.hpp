// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace cufault {

std::size_t free_device_memory();    ///< bytes; throws setup_failed
std::size_t resident_host_memory();  ///< bytes of this process

}  // namespace cufault
