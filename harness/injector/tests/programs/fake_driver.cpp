// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 for tests of the injector. It has no device, but counts memory (fake_memory.cpp), checks arguments, and offers the
// driver's ways to its functions. probe.cpp asks it what arrived.
#include <dlfcn.h>
#include <execinfo.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#define DRIVER extern "C" __attribute__((visibility("default")))

namespace {

struct ipc_handle {
  char bytes[64];
};

}  // namespace

DRIVER int cuInit(unsigned) {
  return 0;
}
DRIVER int cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}
DRIVER int cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}
namespace {
using log_callback = void(void* data, unsigned level, char* message, std::size_t length);
log_callback* to_log = nullptr;
void* log_data = nullptr;
std::array<char, 25600> kept_log{};
std::size_t kept_bytes = 0;

void log(const char* text) {
  char message[8192];
  std::snprintf(message, sizeof message, "%s", text);
  const auto kept =
      static_cast<std::size_t>(std::snprintf(kept_log.data() + kept_bytes, kept_log.size() - kept_bytes,
                                             "[22:21:32.099][25642][CUDA][E] %s\n", text));
  kept_bytes = std::min(kept_bytes + kept, kept_log.size());
  if (to_log != nullptr) to_log(log_data, 0, message, std::strlen(message));
  // Writes to the file of the driver's log, with one time and thread for all lines.
  if (const char* file = std::getenv("CUDA_LOG_FILE"); file != nullptr && *file != '\0')
    if (std::FILE* out = std::fopen(file, "a"); out != nullptr) {
      std::fprintf(out, "[22:21:32.099][25642][CUDA][E] %s\n", text);
      std::fclose(out);
    }
}
}  // namespace
/// Missing if FAKE_NO_LOG is set, as in drivers before 12.9.
DRIVER int cuLogsRegisterCallback(log_callback* callback, void* data, void** handle) {
  if (std::getenv("FAKE_NO_LOG") != nullptr) return 801;
  to_log = callback;
  log_data = data;
  *handle = &to_log;
  return 0;
}
/// Here an iterator is a number of bytes.
DRIVER int cuLogsCurrent(unsigned* iterator, unsigned) {
  *iterator = static_cast<unsigned>(kept_bytes);
  return 0;
}
DRIVER int cuLogsDumpToMemory(unsigned* iterator, char* buffer, std::size_t* size, unsigned) {
  if (std::getenv("FAKE_NO_LOG") != nullptr) return 801;
  const std::size_t from = iterator != nullptr ? *iterator : 0;
  *size = std::min(*size, kept_bytes - from);
  std::memcpy(buffer, kept_log.data() + from, *size);
  buffer[*size] = '\0';
  return 0;
}
DRIVER void fake_log(const char* text) {
  log(text);
}
DRIVER int cuGetErrorName(int code, const char** name) {
  *name = code == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : nullptr;
  return *name != nullptr ? 0 : 1;
}
DRIVER int cuGetErrorString(int code, const char** text) {
  *text = code == 700 ? "an illegal memory access was encountered" : nullptr;
  return *text != nullptr ? 0 : 1;
}
DRIVER int cuStreamCreate(void** stream, unsigned) {
  *stream = &kept_bytes;
  return 0;
}
DRIVER int cuStreamDestroy_v2(void*) {
  return 0;
}
/// Fails without an event and logs why; with FAKE_LONG_REASON at length.
DRIVER int cuEventRecord(void* event, void*) {
  if (event != nullptr) return 0;
  if (std::getenv("FAKE_NO_LOG") == nullptr) {
    if (std::getenv("FAKE_LONG_REASON") != nullptr) {
      char reason[5001]{};
      std::memset(reason, 'x', sizeof reason - 1);
      log(reason);
    }
    log("event did not come from expected device context");
    log("Returning 400 (CUDA_ERROR_INVALID_HANDLE) from cuEventRecord");
  }
  return 400;
}
/// Waits for ever, until a signal or a cancellation. With FAKE_TELLS it reports the wait.
DRIVER int cuCtxSynchronize() {
  if (std::getenv("FAKE_TELLS") != nullptr) std::fputs("fake: waits\n", stderr);
  for (;;) pause();
}
// fake_memory.cpp
DRIVER int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes);
DRIVER int cuMemAllocAsync(std::uint64_t* address, std::size_t bytes, void*);
DRIVER int cuMemFree_v2(std::uint64_t address);
DRIVER int cuMemGetInfo_v2(std::size_t* free_bytes, std::size_t* total_bytes);

namespace {
constexpr int started = 0, no_binary_for_gpu = 209;
const char kernel = 0;
}  // namespace
DRIVER int cuModuleLoadData(void**, const void*) {
  return std::getenv("FAKE_NO_KERNELS") != nullptr ? no_binary_for_gpu : 0;
}
DRIVER int cuModuleGetFunction(const void** function, void*, const char*) {
  *function = &kernel;
  return 0;
}

/// Returns its eleven arguments as digits of a number. Five are on the stack of x86-64, three of aarch64.
DRIVER int cuLaunchKernel(void* f, unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned g,
                          unsigned h, void* i, void** j, void** k) {
  if (f == &kernel) return started;
  const auto digit = [](void* p) { return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(p)); };
  unsigned number = 0;
  for (const unsigned each : {digit(f), a, b, c, d, e, g, h, digit(i)}) number = 10 * number + each;
  return static_cast<int>(number + digit(j) + digit(k));
}
/// Takes a float, and a value that is larger than registers.
DRIVER int cuTexRefSetMipmapLevelBias(void*, float bias) {
  return static_cast<int>(bias * 100);
}
DRIVER int cuIpcOpenMemHandle_v2(std::uint64_t* address, ipc_handle handle, unsigned flags) {
  *address = static_cast<std::uint64_t>(handle.bytes[0] + handle.bytes[63]);
  return static_cast<int>(flags);
}
/// Returns the frames of its callers, innermost first, in place of a name: "libcuda.so.1+0x1234 ".
DRIVER int cuDeviceGetName(char* name, int size, int) {
  std::array<void*, 32> frames{};
  const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
  std::size_t used = 0;
  for (int i = 1; i < count && used < static_cast<std::size_t>(size); ++i) {
    Dl_info info{};
    if (dladdr(frames[i], &info) == 0) continue;
    const char* slash = std::strrchr(info.dli_fname, '/');
    used += static_cast<std::size_t>(
        std::snprintf(name + used, static_cast<std::size_t>(size) - used, "%s+%#tx ",
                      slash != nullptr ? slash + 1 : info.dli_fname,
                      static_cast<const char*>(frames[i]) - static_cast<const char*>(info.dli_fbase)));
  }
  return 0;
}
/// In no cuda.h.
DRIVER int cuOfALaterDriver(int number) {
  return number + 1;
}
DRIVER int cuGetExportTable(const void** table, const void*) {
  static const int one = 1;
  *table = &one;
  return 0;
}

namespace {

struct entry {
  const char* symbol;
  int since;
  void* at;
};

int find(const char* symbol, void** found, int version);

int proc_address_v1(const char* symbol, void** found, int version, std::uint64_t) {
  return find(symbol, found, version);
}

}  // namespace

DRIVER int cuGetProcAddress(const char* symbol, void** found, int version, std::uint64_t flags) {
  return proc_address_v1(symbol, found, version, flags);
}
DRIVER int cuGetProcAddress_v2(const char* symbol, void** found, int version, std::uint64_t, int* status) {
  const int result = find(symbol, found, version);
  if (status != nullptr) *status = result == 0 ? 0 : 1;
  return result;
}

namespace {

int find(const char* symbol, void** found, int version) {
#define ENTRY(symbol, since, function)               \
  entry {                                            \
    symbol, since, reinterpret_cast<void*>(function) \
  }
  static const entry entries[]{ENTRY("cuInit", 2000, cuInit),
                               ENTRY("cuDriverGetVersion", 2020, cuDriverGetVersion),
                               ENTRY("cuMemAlloc", 3020, cuMemAlloc_v2),
                               ENTRY("cuMemAllocAsync", 11020, cuMemAllocAsync),
                               ENTRY("cuMemFree", 3020, cuMemFree_v2),
                               ENTRY("cuMemGetInfo", 3020, cuMemGetInfo_v2),
                               ENTRY("cuLaunchKernel", 4000, cuLaunchKernel),
                               ENTRY("cuOfALaterDriver", 13000, cuOfALaterDriver),
                               ENTRY("cuGetProcAddress", 12000, cuGetProcAddress_v2),
                               ENTRY("cuGetProcAddress", 11030, cuGetProcAddress)};
  if (*symbol == '\0') return 1;
  for (const entry& each : entries) {
    if (std::strcmp(each.symbol, symbol) != 0 || version < each.since) continue;
    if (found != nullptr) *found = each.at;
    return 0;
  }
  if (found != nullptr) *found = nullptr;
  return 500;
}

}  // namespace
