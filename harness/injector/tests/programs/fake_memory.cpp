// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Memory and contexts of the fake driver, as documented by the CUDA Driver API. Memory ends with its context; memory of cuMemCreate lives
// while its handle has a reference or a mapping; a destroyed pool lives while it has allocations. One device.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string_view>

#define DRIVER extern "C" __attribute__((visibility("default")))

namespace {

constexpr int device = 3, invalid_value = 1, out_of_memory = 2, invalid_context = 201;
constexpr std::uint64_t total = 1'000'000;

struct allocation {
  std::uint64_t bytes;
  const void* context;
};
struct physical {
  std::uint64_t bytes;
  int references, mappings;
};
struct mapping {
  std::uint64_t size, handle;
};

std::mutex mutex;
std::map<std::uint64_t, allocation> allocations;
std::map<std::uint64_t, physical> handles;
std::map<std::uint64_t, mapping> mappings;
std::uint64_t taken = 0, next_address = 0x1000, next_handle = 0x7;

char primary = 0;
int primary_references = 1;
thread_local const void* current = &primary;

bool room_for(std::uint64_t bytes) {
  if (bytes > total - taken) return false;
  taken += bytes;
  return true;
}

int take(std::uint64_t* address, std::uint64_t bytes) {
  const std::lock_guard lock(mutex);
  if (!room_for(bytes)) return out_of_memory;
  *address = next_address;
  allocations[next_address] = {bytes, current};
  next_address += 0x1000;
  return 0;
}

int give_back(std::uint64_t address) {
  const std::lock_guard lock(mutex);
  const auto found = allocations.find(address);
  if (found == allocations.end()) return invalid_value;
  taken -= found->second.bytes;
  allocations.erase(found);
  return 0;
}

void end_if_unused(std::uint64_t handle) {
  const auto found = handles.find(handle);
  if (found->second.references != 0 || found->second.mappings != 0) return;
  taken -= found->second.bytes;
  handles.erase(found);
}

void end_context(const void* context) {
  const std::lock_guard lock(mutex);
  std::erase_if(allocations, [&](const auto& each) {
    if (each.second.context != context) return false;
    taken -= each.second.bytes;
    return true;
  });
}

}  // namespace

DRIVER int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
  return take(address, bytes);
}
DRIVER int cuMemAllocManaged(std::uint64_t* address, std::size_t bytes, unsigned) {
  return take(address, bytes);
}
DRIVER int cuMemAllocPitch_v2(std::uint64_t* address, std::size_t* pitch, std::size_t width,
                              std::size_t height, unsigned) {
  *pitch = width;
  return take(address, width * height);
}
DRIVER int cuMemAllocAsync(std::uint64_t* address, std::size_t bytes, void*) {
  return take(address, bytes);
}
DRIVER int cuMemAllocAsync_ptsz(std::uint64_t* address, std::size_t bytes, void*) {
  return take(address, bytes);
}
DRIVER int cuMemAllocFromPoolAsync(std::uint64_t* address, std::size_t bytes, void*, void*) {
  return take(address, bytes);
}
DRIVER int cuMemPoolCreate(void** pool, const void*) {
  *pool = &primary;
  return 0;
}
DRIVER int cuMemPoolDestroy(void*) {
  return 0;
}
DRIVER int cuMemFree_v2(std::uint64_t address) {
  return give_back(address);
}
DRIVER int cuMemFreeAsync(std::uint64_t address, void*) {
  return give_back(address);
}
namespace {
int context_error = 0;
bool hangs = false;
}  // namespace
/// From now on the contexts are lost, as a driver says of them: cuMemGetInfo returns the code.
DRIVER void fake_lose_contexts(int code) {
  context_error = code;
}
/// From now on cuMemGetInfo does not return.
DRIVER void fake_hang() {
  hangs = true;
}
DRIVER int cuMemGetInfo_v2(std::size_t* free_bytes, std::size_t* total_bytes) {
  while (hangs) pause();
  if (context_error != 0) return context_error;
  if (current == nullptr) return invalid_context;
  const std::lock_guard lock(mutex);
  *free_bytes = total - taken;
  *total_bytes = total;
  return 0;
}

DRIVER int cuMemCreate(std::uint64_t* handle, std::size_t bytes, const void*, unsigned long long) {
  const std::lock_guard lock(mutex);
  if (!room_for(bytes)) return out_of_memory;
  *handle = next_handle++;
  handles[*handle] = {bytes, 1, 0};
  return 0;
}
DRIVER int cuMemMap(std::uint64_t address, std::size_t size, std::size_t, std::uint64_t handle,
                    unsigned long long) {
  const std::lock_guard lock(mutex);
  const auto found = handles.find(handle);
  if (found == handles.end()) return invalid_value;
  ++found->second.mappings;
  mappings[address] = {size, handle};
  return 0;
}
DRIVER int cuMemUnmap(std::uint64_t address, std::size_t size) {
  const std::lock_guard lock(mutex);
  std::erase_if(mappings, [&](const auto& each) {
    if (each.first < address || each.first >= address + size) return false;
    --handles.at(each.second.handle).mappings;
    end_if_unused(each.second.handle);
    return true;
  });
  return 0;
}
DRIVER int cuMemRelease(std::uint64_t handle) {
  const std::lock_guard lock(mutex);
  const auto found = handles.find(handle);
  if (found == handles.end() || found->second.references == 0) return invalid_value;
  --found->second.references;
  end_if_unused(handle);
  return 0;
}
DRIVER int cuMemRetainAllocationHandle(std::uint64_t* handle, std::uint64_t address) {
  const std::lock_guard lock(mutex);
  const auto found = mappings.find(address);
  if (found == mappings.end()) return invalid_value;
  *handle = found->second.handle;
  ++handles.at(*handle).references;
  return 0;
}

/// Device memory is the program's own memory here.
DRIVER int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t bytes) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);  // NOLINT(performance-no-int-to-ptr)
  return 0;
}

DRIVER int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t bytes) {
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);  // NOLINT(performance-no-int-to-ptr)
  return 0;
}
DRIVER int cuMemcpyHtoDAsync_v2(std::uint64_t to, const void* from, std::size_t bytes, void*) {
  return cuMemcpyHtoD_v2(to, from, bytes);
}
DRIVER int cuMemcpyDtoHAsync_v2(void* to, std::uint64_t from, std::size_t bytes, void*) {
  return cuMemcpyDtoH_v2(to, from, bytes);
}
DRIVER int cuStreamSynchronize(void*) {
  return 0;
}
DRIVER int cuStreamQuery(void*) {
  return 0;
}
/// FAKE_CAPTURES: each stream is; 906: another one is, which the legacy stream may not ask beside.
DRIVER int cuStreamIsCapturing(void*, int* status) {
  const char* captures = std::getenv("FAKE_CAPTURES");
  *status = captures != nullptr ? 1 : 0;
  return captures != nullptr && captures == std::string_view("906") ? 906 : 0;
}

DRIVER int cuCtxGetDevice(int* found) {
  *found = device;
  return 0;
}
DRIVER int cuCtxGetCurrent(const void** context) {
  *context = current;
  return 0;
}
DRIVER int cuCtxSetCurrent(const void* context) {
  current = context;
  return 0;
}
DRIVER int cuCtxCreate_v2(const void** context, unsigned, int) {
  current = *context = new char;
  return 0;
}
DRIVER int cuCtxDestroy_v2(const void* context) {
  if (context == &primary) return invalid_context;
  end_context(context);
  if (current == context) current = &primary;
  return 0;
}
DRIVER int cuDevicePrimaryCtxRetain(const void** context, int) {
  ++primary_references;
  *context = &primary;
  return 0;
}
DRIVER int cuDevicePrimaryCtxRelease_v2(int) {
  if (primary_references == 0) return invalid_context;
  if (--primary_references == 0) end_context(&primary);
  return 0;
}
DRIVER int cuDevicePrimaryCtxReset_v2(int) {
  primary_references = 0;
  end_context(&primary);
  return 0;
}
/// FAKE_PRIMARY_STATE: always "active", or "untold".
DRIVER int cuDevicePrimaryCtxGetState(int, unsigned* flags, int* active) {
  const char* set = std::getenv("FAKE_PRIMARY_STATE");
  const std::string_view said = set != nullptr ? set : "";
  if (said == "untold") return invalid_value;
  *flags = 0;
  *active = said == "active" || primary_references != 0;
  return 0;
}
