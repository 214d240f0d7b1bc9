// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 for tests of `cufault capture`, which is the CUDA runtime, too: memory of the host that says it is a device's. FAKE_NO_GPU:
// there is none.
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>

#define FAKE extern "C" __attribute__((visibility("default")))

namespace {

struct allocation {
  std::size_t bytes;
  char kind;
};
std::map<std::uint64_t, allocation>& allocations() {
  static std::map<std::uint64_t, allocation> all;
  return all;
}

int take(void** at, std::size_t bytes, char kind) {
  *at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (*at == MAP_FAILED) return 2;
  allocations()[reinterpret_cast<std::uint64_t>(*at)] = {bytes, kind};
  return 0;
}

struct stream {
  int recording;
  unsigned flags;
  int priority;
  char rest[64];
};

}  // namespace

FAKE int cudaMalloc(void** at, std::size_t bytes) {
  return take(at, bytes, 'd');
}
FAKE int cudaMallocManaged(void** at, std::size_t bytes, unsigned) {
  return take(at, bytes, 'm');
}
FAKE int cudaMallocHost(void** at, std::size_t bytes, unsigned) {
  return take(at, bytes, 'p');
}
FAKE int cudaFree(void* at) {
  const auto found = allocations().find(reinterpret_cast<std::uint64_t>(at));
  if (found == allocations().end()) return 1;
  munmap(at, found->second.bytes);
  allocations().erase(found);
  return 0;
}
FAKE int cudaMemcpy(void* to, const void* from, std::size_t bytes, int) {
  std::memcpy(to, from, bytes);
  return 0;
}
FAKE int cudaMemset(void* at, int value, std::size_t bytes) {
  std::memset(at, value, bytes);
  return 0;
}
FAKE int cudaGetDeviceCount(int* count) {
  *count = std::getenv("FAKE_NO_GPU") == nullptr ? 1 : 0;
  return 0;
}
FAKE int cudaDeviceSynchronize() {
  return 0;
}
FAKE const char* cudaGetErrorName(int) {
  return "cudaSuccess";
}
FAKE int cudaStreamCreateWithPriority(stream** made, unsigned flags, int priority) {
  *made = new stream{0, flags, priority, {}};
  return 0;
}
FAKE int cudaStreamBeginCapture(stream* of, int) {
  of->recording = 1;
  return 0;
}
FAKE int cudaStreamEndCapture(stream* of, void**) {
  of->recording = 0;
  return 0;
}

FAKE int cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}
FAKE int cuStreamIsCapturing(const stream* of, int* status) {
  *status = reinterpret_cast<std::uintptr_t>(of) > 2 ? of->recording : 0;
  return 0;
}
FAKE int cuStreamGetFlags(const stream* of, unsigned* flags) {
  *flags = of->flags;
  return 0;
}
FAKE int cuStreamGetPriority(const stream* of, int* priority) {
  *priority = of->priority;
  return 0;
}
FAKE int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t bytes) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): so it comes
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return 0;
}
FAKE int cuStreamSynchronize(const stream* of) {
  return reinterpret_cast<std::uintptr_t>(of) > 2 && of->recording != 0 ? 900 : 0;
}
/// CUDA_MEMCPY2D, by words.
FAKE int cuMemcpy2DAsync_v2(const std::uint64_t* of, const stream*) {
  const auto* from = reinterpret_cast<const char*>(of[4]);  // NOLINT(performance-no-int-to-ptr)
  auto* to = reinterpret_cast<char*>(of[10]);               // NOLINT(performance-no-int-to-ptr)
  for (std::uint64_t line = 0; line < of[15]; ++line)
    std::memcpy(to + line * of[13], from + line * of[6], of[14]);
  return 0;
}
/// Of attributes 2, 8, 11 and 12: as the driver documents, zeros for memory that it does not know.
FAKE int cuPointerGetAttributes(unsigned count, const int* attributes, void** data, std::uint64_t address) {
  auto at = allocations().upper_bound(address);
  const bool known = at != allocations().begin() && address < (--at)->first + at->second.bytes;
  for (unsigned i = 0; i < count; ++i) {
    std::uint64_t value = 0;
    if (known && attributes[i] == 2) value = at->second.kind == 'p' ? 1 : 2;
    if (known && attributes[i] == 8) value = at->second.kind == 'm' ? 1 : 0;
    if (known && attributes[i] == 11) value = at->first;
    if (known && attributes[i] == 12) value = at->second.bytes;
    std::memcpy(data[i], &value, attributes[i] < 11 ? 4 : 8);
  }
  return 0;
}
