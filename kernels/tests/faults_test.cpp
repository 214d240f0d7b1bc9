// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Checks in separate processes that failing kernels fail as intended, and that the others damage nothing.
#include "kernels/faults.hpp"

#include "kernels/compare.hpp"
#include "kernels/product.hpp"
#include "kernels/tests/gpu_main.hpp"

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace cufault {
namespace {

/// Zeroed words of device memory, an independent stream, and the duration of its work.
class fault_kernels : public testing::Test {
 protected:
  static constexpr std::size_t words = 10'000;
  static constexpr std::size_t bytes = words * sizeof(std::uint32_t);

  void SetUp() override {
    ASSERT_EQ(load_faults(), cudaSuccess);
    ASSERT_EQ(cudaMalloc(&block, bytes), cudaSuccess);
    ASSERT_EQ(cudaMemset(block, 0, bytes), cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaEventCreate(&begin), cudaSuccess);
    ASSERT_EQ(cudaEventCreate(&end), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  void TearDown() override {
    if (end != nullptr) cudaEventDestroy(end);
    if (begin != nullptr) cudaEventDestroy(begin);
    if (stream != nullptr) cudaStreamDestroy(stream);
    cudaFree(block);
    cudaGetLastError();
  }

  [[nodiscard]] std::vector<std::uint32_t> read() const {
    std::vector<std::uint32_t> values(words);
    EXPECT_EQ(cudaMemcpy(values.data(), block, bytes, cudaMemcpyDeviceToHost), cudaSuccess);
    return values;
  }
  /// `value` in [from, to), zero elsewhere.
  static std::vector<std::uint32_t> only(std::uint32_t value, std::size_t from, std::size_t to) {
    std::vector<std::uint32_t> values(words);
    for (std::size_t i = from; i < to; ++i) values[i] = value;
    return values;
  }
  template <class Launch>
  float milliseconds(const Launch& work) {
    float elapsed = 0;
    EXPECT_EQ(cudaEventRecord(begin, stream), cudaSuccess);
    EXPECT_EQ(work(), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(end, stream), cudaSuccess);
    EXPECT_EQ(cudaEventSynchronize(end), cudaSuccess);
    EXPECT_EQ(cudaEventElapsedTime(&elapsed, begin, end), cudaSuccess);
    return elapsed;
  }
  /// True if `holds` became true before a deadline far beyond the expected time.
  template <class Query>
  static bool becomes(const Query& holds) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!holds()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::yield();
    }
    return true;
  }

  std::uint32_t* block = nullptr;
  cudaStream_t stream = nullptr;
  cudaEvent_t begin = nullptr, end = nullptr;
};

TEST_F(fault_kernels, that_are_refused_damage_nothing) {
  for (const cudaStream_t on : {cudaStream_t{nullptr}, stream}) {
    EXPECT_EQ(launch_with_too_many_resources(on), cudaErrorLaunchOutOfResources);
    EXPECT_NE(launch_with_bad_configuration(on), cudaSuccess);
    EXPECT_NE(launch_with_too_much_shared_memory(on), cudaSuccess);
    EXPECT_NE(cudaGetLastError(), cudaSuccess);
    bool right = false;
    EXPECT_EQ(prove_context(1, &right), cudaSuccess);
    EXPECT_TRUE(right);
  }
}

TEST_F(fault_kernels, wait_until_they_are_told_to_go_on) {
  int* flag = nullptr;
  cudaStream_t other = nullptr;
  ASSERT_EQ(cudaHostAlloc(&flag, sizeof *flag, cudaHostAllocDefault), cudaSuccess);
  ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
  *flag = 0;
  constexpr unsigned at_most_ms = 20'000;
  const float waited = milliseconds([&] {
    const cudaError_t launched = launch_wait(flag, stream, at_most_ms);
    EXPECT_TRUE(becomes([&] { return cudaEventQuery(begin) == cudaSuccess; })) << "the stream never began";
    // The device works for 50 ms on another stream, and the kernel still waits afterwards.
    EXPECT_EQ(launch_delay(other, 50), cudaSuccess);
    EXPECT_TRUE(becomes([&] { return cudaStreamQuery(other) == cudaSuccess; }))
        << "the other stream never ended";
    EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
    *static_cast<volatile int*>(flag) = 1;
    return launched;
  });
  EXPECT_GE(waited, 50) << "the kernel did not wait while the other stream worked";
  EXPECT_LT(waited, at_most_ms);
  cudaStreamDestroy(other);
  cudaFreeHost(flag);
}

TEST_F(fault_kernels, wait_no_longer_than_they_may) {
  int* flag = nullptr;
  ASSERT_EQ(cudaHostAlloc(&flag, sizeof *flag, cudaHostAllocDefault), cudaSuccess);
  *flag = 0;
  EXPECT_GE(milliseconds([&] { return launch_wait(flag, stream, 50); }), 50);
  cudaFreeHost(flag);
}

TEST_F(fault_kernels, delay_as_long_as_they_are_told) {
  for (const unsigned ms : {20U, 100U})
    EXPECT_GE(milliseconds([&] { return launch_delay(stream, ms); }), static_cast<float>(ms));
}

TEST_F(fault_kernels, fill_what_they_are_told_and_nothing_round_it) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{255}, std::size_t{1000}, words - 2}) {
    ASSERT_EQ(cudaMemset(block, 0, bytes), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(launch_fill(reinterpret_cast<float*>(block + 1), count, 2.5F, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_TRUE(read() == only(std::bit_cast<std::uint32_t>(2.5F), 1, 1 + count)) << count;
  }
}

TEST_F(fault_kernels, scribble_over_what_others_write_meanwhile) {
  cudaStream_t other = nullptr;
  std::uint32_t* seen = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaHostAlloc(&seen, sizeof *seen, cudaHostAllocDefault), cudaSuccess);
  const auto scribbled_on = [&] {
    EXPECT_EQ(cudaMemcpyAsync(seen, block + 1, sizeof *seen, cudaMemcpyDeviceToHost, other), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(other), cudaSuccess);
    return *seen == poison_bits;
  };
  const float scribbled = milliseconds([&] {
    const cudaError_t launched = launch_scribble(block + 1, (words - 2) * sizeof(std::uint32_t), 500, stream);
    EXPECT_TRUE(becomes(scribbled_on)) << "the kernel never wrote";
    EXPECT_EQ(cudaMemsetAsync(block, 0, bytes, other), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(other), cudaSuccess);
    EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady) << "the kernel ended before others wrote";
    EXPECT_TRUE(becomes(scribbled_on)) << "what others wrote was not written over";
    return launched;
  });
  EXPECT_GE(scribbled, 500);
  EXPECT_TRUE(read() == only(poison_bits, 1, words - 1));
  cudaFreeHost(seen);
  cudaStreamDestroy(other);
}

// ---- failing kernels ----

struct breakage {
  const char* name;
  device_fault fault;
  cudaError_t error;
};
constexpr std::array<breakage, 4> breakages{{
    {"assertion", device_fault::assertion, cudaErrorAssert},
    {"illegal_address", device_fault::illegal_address, cudaErrorIllegalAddress},
    {"misaligned_address", device_fault::misaligned_address, cudaErrorMisalignedAddress},
    {"trap", device_fault::trap, cudaErrorLaunchFailure},
}};

constexpr const char* break_option = "--break";

/// In the child: 0 if the context failed as intended, after the calls that follow the launch.
int break_context(const std::string& name) {
  for (const breakage& b : breakages) {
    if (name != b.name) continue;
    const cudaError_t launched = launch_fault(b.fault, nullptr, 200), after = cudaGetLastError();
    const cudaError_t waited = cudaDeviceSynchronize();
    if (launched == cudaSuccess && after == cudaSuccess && waited == b.error) return 0;
    std::fprintf(stderr, "%s: launch %s, after it %s, wait %s instead of %s\n", b.name,
                 cudaGetErrorName(launched), cudaGetErrorName(after), cudaGetErrorName(waited),
                 cudaGetErrorName(b.error));
    return 1;
  }
  std::fprintf(stderr, "there is no fault '%s'\n", name.c_str());
  return 2;
}

class fault : public testing::TestWithParam<breakage> {};

TEST_P(fault, breaks_after_the_calls_that_follow) {
  std::array<std::string, 3> arguments{"faults_tests", break_option, GetParam().name};
  std::array<char*, 4> argv{arguments[0].data(), arguments[1].data(), arguments[2].data(), nullptr};
  pid_t child = -1;
  ASSERT_EQ(posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, argv.data(), environ), 0);
  int status = -1;
  while (waitpid(child, &status, 0) < 0) ASSERT_EQ(errno, EINTR);
  EXPECT_TRUE(WIFEXITED(status)) << "status " << status;
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

INSTANTIATE_TEST_SUITE_P(, fault, testing::ValuesIn(breakages),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace cufault

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], cufault::break_option) == 0) return cufault::break_context(argv[2]);
  return cufault::gpu_main(argc, argv);
}
