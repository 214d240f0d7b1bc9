// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/kit/memory_pressure.hpp"
#include "harness/kit/memory_readings.hpp"
#include "harness/trial/observe.hpp"

namespace cufault {

/// Waits until what cudaFreeAsync has queued is done, then trims: before that a trim gives nothing back. Throws not_provoked if no more
/// is free then.
inline void empty_pool(stream_ordered_memory& pool) {
  const std::size_t before = free_device_memory();
  CUFAULT_OBSERVE(cudaDeviceSynchronize());
  pool.trim();
  if (free_device_memory() <= before) throw not_provoked("trimming the pool gave nothing back to the device");
}

}  // namespace cufault
