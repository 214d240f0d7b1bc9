// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/binding/driver_api.hpp"
#include "harness/trial/observe.hpp"

#include <cuda.h>

#include <cstddef>

/// Device memory at chosen addresses: reserve addresses, then map memory to some of them, in multiples of mapped_granule. The end of the
/// process releases everything.
namespace cufault {

constexpr std::size_t mapped_granule = 2 << 20;

/// Reserves addresses without memory. Throws not_provoked if the driver has none left.
inline std::byte* reserve_addresses(std::size_t bytes) {
  CUdeviceptr address = 0;
  if (const CUresult status = driver::cuMemAddressReserve(&address, bytes, 0, 0, 0))
    throw not_provoked("cuMemAddressReserve: " + record_of(status).text() + ": no addresses can be reserved");
  return reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr): that is how they come
}

/// Allocates memory without an address.
inline CUmemGenericAllocationHandle new_unmapped_memory(int device, std::size_t bytes) {
  CUmemAllocationProp where{};
  where.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  where.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  where.location.id = device;
  CUmemGenericAllocationHandle memory{};
  CUFAULT_REQUIRE(driver::cuMemCreate(&memory, bytes, &where, 0));
  return memory;
}

/// Maps memory to addresses; the same memory may have several mappings.
inline void map_memory(std::byte* at, CUmemGenericAllocationHandle memory, std::size_t bytes, int device) {
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = device;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  const auto address = reinterpret_cast<CUdeviceptr>(at);
  CUFAULT_REQUIRE(driver::cuMemMap(address, bytes, 0, memory, 0));
  CUFAULT_REQUIRE(driver::cuMemSetAccess(address, bytes, &access, 1));
}

/// Maps new memory to reserved addresses.
inline void map_new_memory(std::byte* at, std::size_t bytes, int device) {
  const CUmemGenericAllocationHandle memory = new_unmapped_memory(device, bytes);
  map_memory(at, memory, bytes, device);
  CUFAULT_REQUIRE(driver::cuMemRelease(memory));  // the mapping keeps the memory
}

}  // namespace cufault
