// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The part that needs a GPU: real device memory, and the neighbour process.
#include "harness/process.hpp"
#include "harness/squeeze.hpp"
#include "harness/trial.hpp"
#include "harness/twins.hpp"

#include <cuda_runtime.h>
#include <fmt/format.h>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>

namespace cufault {
namespace {

bool budget_in_twin(std::uint64_t bytes) {
  if (in_twin()) set_rules(fmt::format(R"({{"rules": [{{"budget_bytes": {}}}]}})", bytes));
  return in_twin();
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
  bool pretend_free(std::uint64_t bytes) override { return budget_in_twin(bytes); }
  void pretend_no_more() override { set_rules(""); }
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

std::unique_ptr<device_memory> current_device_memory() {
  return std::make_unique<cuda_device_memory>();
}

stream_ordered_memory::stream_ordered_memory(int device) {
  require(cudaDeviceGetDefaultMemPool(&pool_, device));
  keep(UINT64_MAX);
}

std::uint64_t stream_ordered_memory::free_bytes() {
  require(cudaDeviceSynchronize());
  std::size_t free = 0, total = 0;
  require(cudaMemGetInfo(&free, &total));
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

bool stream_ordered_memory::pretend_free(std::uint64_t bytes) {
  return budget_in_twin(bytes);
}

void stream_ordered_memory::keep(std::uint64_t bytes) {
  require(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &bytes));
}

void stream_ordered_memory::trim() {
  require(cudaMemPoolTrimTo(pool_, 0));
}

std::uint64_t stream_ordered_memory::reserved_bytes() const {
  std::uint64_t bytes = 0;
  require(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &bytes));
  return bytes;
}

neighbour::neighbour(int device, std::uint64_t leave_free) {
  if (budget_in_twin(leave_free)) {
    free_ = leave_free;
    return;
  }
  std::array<int, 2> to{}, from{};
  if (pipe2(to.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  if (pipe2(from.data(), O_CLOEXEC) != 0) {
    close(to[0]);
    close(to[1]);
    throw std::system_error(errno, std::generic_category(), "pipe");
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
  std::array<std::string, 8> words{"cufault",      "neighbour",
                                   "--device",     std::to_string(device),
                                   "--leave-free", std::to_string(leave_free),
                                   "--parent",     std::to_string(getpid())};
  std::array<char*, 9> argv{};
  for (std::size_t i = 0; i < words.size(); ++i) argv.at(i) = words.at(i).data();
  const int failed = posix_spawn(&process_, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(to[0]);
  close(from[1]);
  hold_ = to[1];
  const std::string said = failed == 0 ? read_line(from[0]) : std::string();
  close(from[0]);
  unsigned long long held = 0, free = 0;
  if (failed != 0) process_ = -1;
  if (std::sscanf(said.c_str(), "held %llu free %llu", &held, &free) != 2) {
    release();
    throw not_provoked(fmt::format("the neighbour process could not take device memory: {}",
                                   failed != 0 ? std::generic_category().message(failed) : said));
  }
  held_ = held;
  free_ = free;
}

neighbour::~neighbour() {
  release();
}

void neighbour::release() {
  if (in_twin()) set_rules("");
  if (hold_ >= 0) close(hold_);
  hold_ = -1;
  if (process_ > 0) {
    while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  process_ = -1;
}

int neighbour::serve(int device, std::uint64_t leave_free) {
  try {
    if (const cudaError_t e = cudaSetDevice(device); e != cudaSuccess)
      throw std::runtime_error(cudaGetErrorString(e));
    const auto memory = current_device_memory();
    const squeeze held(*memory, leave_free);
    std::printf("held %llu free %llu\n", static_cast<unsigned long long>(held.held_bytes()),
                static_cast<unsigned long long>(held.free_bytes()));
    std::fflush(stdout);
    char ignored = 0;
    while (read(STDIN_FILENO, &ignored, 1) > 0 || errno == EINTR) errno = 0;
    return 0;
  } catch (const std::exception& e) {
    std::printf("%s\n", e.what());
    return 1;
  }
}

}  // namespace cufault
