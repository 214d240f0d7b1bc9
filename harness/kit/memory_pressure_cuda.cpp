// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The part that needs a GPU: real device memory, and the other process process.
#include "harness/kit/memory_pressure.hpp"
#include "harness/system/child.hpp"
#include "harness/trial/observe.hpp"

#include <cuda_runtime.h>
#include <fmt/format.h>

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>

namespace cufault {
namespace {

memory_budget installed_budget;

bool set_budget(std::uint64_t bytes) {
  if (installed_budget) installed_budget(bytes);
  return static_cast<bool>(installed_budget);
}

void lift_budget() {
  if (installed_budget) installed_budget(std::nullopt);
}

class cuda_device_memory final : public device_memory {
 public:
  std::uint64_t free_bytes() override {
    std::size_t free = 0, total = 0;
    if (const cudaError_t e = cudaMemGetInfo(&free, &total); e != cudaSuccess) {
      throw std::runtime_error(fmt::format("cudaMemGetInfo returned {}", cudaGetErrorName(e)));
    }
    return free;
  }
  void* allocate(std::uint64_t bytes) override {
    void* p = nullptr;
    if (cudaMalloc(&p, bytes) == cudaSuccess) return p;
    cudaGetLastError();
    return nullptr;
  }
  void release(void* p) override { cudaFree(p); }
  bool limit_to(std::uint64_t bytes) override { return set_budget(bytes); }
  void lift_limit() override { lift_budget(); }
};

std::string read_line(int fd) {
  std::string line;
  for (char c = 0;;) {
    const ssize_t n = read(fd, &c, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0 || c == '\n') return line;
    line += c;
  }
}

}  // namespace

void replace_pressure_by(memory_budget budget) {
  installed_budget = std::move(budget);
}

std::unique_ptr<device_memory> current_device_memory() {
  return std::make_unique<cuda_device_memory>();
}

stream_ordered_memory::stream_ordered_memory(int device) {
  CUFAULT_REQUIRE(cudaDeviceGetDefaultMemPool(&pool_, device));
  keep(UINT64_MAX);
}

std::uint64_t stream_ordered_memory::free_bytes() {
  CUFAULT_REQUIRE(cudaDeviceSynchronize());
  std::size_t free = 0, total = 0;
  CUFAULT_REQUIRE(cudaMemGetInfo(&free, &total));
  return free;
}

void* stream_ordered_memory::allocate(std::uint64_t bytes) {
  void* p = nullptr;
  if (cudaMallocAsync(&p, bytes, nullptr) == cudaSuccess) return p;
  cudaGetLastError();
  return nullptr;
}

void stream_ordered_memory::release(void* p) {
  cudaFreeAsync(p, nullptr);
}

bool stream_ordered_memory::limit_to(std::uint64_t bytes) {
  return set_budget(bytes);
}

void stream_ordered_memory::keep(std::uint64_t bytes) {
  CUFAULT_REQUIRE(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &bytes));
}

void stream_ordered_memory::trim() {
  CUFAULT_REQUIRE(cudaMemPoolTrimTo(pool_, 0));
}

std::uint64_t stream_ordered_memory::reserved_bytes() const {
  std::uint64_t bytes = 0;
  CUFAULT_REQUIRE(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &bytes));
  return bytes;
}

other_process::other_process(int device, std::uint64_t leave_free)
    : device_(device), leave_free_(leave_free) {
  start();
}

namespace {
constexpr const char* moved = "moved: ";  // before what the process says of a memory_moved
}

void other_process::start() {
  if (set_budget(leave_free_)) {
    free_ = leave_free_;
    return;
  }
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw std::system_error(errno, std::generic_category(), "socketpair");
  talk_ = ends[0];
  const std::vector<std::string> words{"cufault",      "other-process",
                                       "--device",     std::to_string(device_),
                                       "--leave-free", std::to_string(leave_free_),
                                       "--parent",     std::to_string(getpid())};
  try {
    process_ = start_self(words, {{STDIN_FILENO, ends[1]}, {STDOUT_FILENO, ends[1]}});
  } catch (const std::system_error& error) {
    close(ends[1]);
    release();
    throw not_provoked(fmt::format("the other process could not be started: {}", error.what()));
  }
  close(ends[1]);
  hear();
}

void other_process::hear() {
  const std::string said = read_line(talk_);
  unsigned long long held = 0, free = 0;
  if (std::sscanf(said.c_str(), "held %llu free %llu", &held, &free) != 2) {
    const std::string ended = release();
    const std::string why = fmt::format("the other process could not take device memory: {}",
                                        said.empty() ? "it said nothing; " + ended : said);
    if (said.starts_with(moved)) throw memory_moved(why);
    throw not_provoked(why);
  }
  held_ = held;
  free_ = free;
}

other_process::~other_process() {
  release();
}

std::string other_process::release() {
  lift_budget();
  if (const int end = std::exchange(talk_, -1); end >= 0) close(end);
  const pid_t process = std::exchange(process_, -1);
  return process > 0 ? ending_of(wait_for(process)) : std::string();
}

void other_process::renew() {
  if (process_ < 0) return start();
  const char again = '\n';
  if (send(talk_, &again, 1, MSG_NOSIGNAL) != 1)
    throw not_provoked("the other process that held device memory has ended");
  hear();
}

int other_process::serve(int device, std::uint64_t leave_free) {
  try {
    if (const cudaError_t e = cudaSetDevice(device); e != cudaSuccess)
      throw std::runtime_error(cudaGetErrorString(e));
    const auto memory = current_device_memory();
    renewable_pressure held(*memory, leave_free);
    for (ssize_t asked = 1; asked > 0;) {
      held.renew();
      std::printf("held %llu free %llu\n", static_cast<unsigned long long>(held.now().held_bytes()),
                  static_cast<unsigned long long>(held.now().free_bytes()));
      std::fflush(stdout);
      char ignored = 0;
      do asked = read(STDIN_FILENO, &ignored, 1);
      while (asked < 0 && errno == EINTR);
    }
    return 0;
  } catch (const memory_moved& e) {
    std::printf("%s%s\n", moved, e.what());
    return 1;
  } catch (const std::exception& e) {
    std::printf("%s\n", e.what());
    return 1;
  }
}

}  // namespace cufault
