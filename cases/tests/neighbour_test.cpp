// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Faults with a neighbour, and the checks for MPS, without a GPU. The linker wraps calls of the CUDA runtime (--wrap in CMakeLists.txt). A script
// replaces nvidia-cuda-mps-control. This program also runs as the neighbour, and as the process that starts the MPS daemon.
#include "cases/faults/neighbour.hpp"

#include "harness/model/errors.hpp"
#include "harness/model/frame.hpp"
#include "harness/system/mps_keeper.hpp"
#include "harness/system/process.hpp"
#include "harness/system/temporary_folder.hpp"
#include "kernels/faults.hpp"

#include <cuda_runtime.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cufault {
namespace {

namespace fs = std::filesystem;
using steady = std::chrono::steady_clock;
using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;

/// What the fake GPU does. The neighbour inherits the variable.
constexpr const char* does = "NEIGHBOUR_GPU";
bool gpu(std::string_view what) {
  const char* const set = std::getenv(does);
  return set != nullptr && set == what;
}

struct {
  volatile occupying_flags* flags = nullptr;
  steady::time_point end;
  int mps = -1;  // the attribute; -1: the runtime does not know it
} fake;

constexpr const char* control_program = R"sh(#!/bin/sh
control="$CUDA_MPS_PIPE_DIRECTORY/control"
if [ "$1" = -d ]; then
  sleep 1000 </dev/null >/dev/null 2>&1 &
  echo $! > "$control"
  exit 0
fi
read -r words
[ "$words" = get_server_list ] && { echo "$CONTROL_SAYS"; exit "$CONTROL_EXITS"; }
kill "$(cat "$control")"
)sh";

class neighbours : public testing::Test {
 protected:
  void SetUp() override {
    from_ = lseek(report_fd, 0, SEEK_END);
    fake.mps = -1;
    static const arm any{.name = "fault"};
    the_trial_ = new trial(any, {});  // never destroyed, as every trial
    put_control_program();
    for (const char* name : {"CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"})
      setenv(name, folder_.path().c_str(), 1);
  }
  void TearDown() override {
    setenv("PATH", path_before_.c_str(), 1);
    for (const char* name :
         {does, "CONTROL_SAYS", "CONTROL_EXITS", "CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"})
      unsetenv(name);
  }
  void put_control_program() {
    std::ofstream(folder_.path() / "nvidia-cuda-mps-control") << control_program;
    fs::permissions(folder_.path() / "nvidia-cuda-mps-control", fs::perms::owner_all);
    setenv("PATH", (folder_.path().string() + ":" + path_before_).c_str(), 1);
  }
  void control_says(const char* text, const char* exit_code = "0") {
    setenv("CONTROL_SAYS", text, 1);
    setenv("CONTROL_EXITS", exit_code, 1);
  }
  /// What the trial has told since the test began.
  [[nodiscard]] observation told() const {
    std::string bytes(static_cast<std::size_t>(lseek(report_fd, 0, SEEK_END) - from_), '\0');
    EXPECT_EQ(pread(report_fd, bytes.data(), bytes.size(), from_), static_cast<ssize_t>(bytes.size()));
    frame_reader reader;
    reader.feed(bytes);
    EXPECT_EQ(reader.garbled(), "");
    return reader.so_far();
  }
  template <class Refusal>
  static std::string refusal(const std::function<void()>& work) {
    try {
      work();
    } catch (const Refusal& e) {
      return e.what();
    }
    return {};
  }
  /// Returns what a trial observes beside a kernel that hangs.
  [[nodiscard]] observation beside_hanging_kernel(const std::function<void()>& operate) const {
    fake.mps = 0;
    world w(timing::none, {});
    beside_hanging({.kind = "neighbour"}).around(w, operate);
    return told();
  }
  [[nodiscard]] pid_t daemon() const {
    pid_t pid = 0;
    std::ifstream(folder_.path() / "control") >> pid;
    return pid;
  }

 private:
  temporary_folder folder_{"cufault-neighbour-test-"};
  std::string path_before_ = std::getenv("PATH");
  off_t from_ = 0;
  trial* the_trial_ = nullptr;
};

TEST_F(neighbours, tell_their_error) {
  setenv(does, "fails", 1);
  neighbour other(0, device_fault::trap);
  EXPECT_EQ(other.fail(), "cudaErrorLaunchFailure");
  EXPECT_EQ(other.end(), "exit 0");
  EXPECT_EQ(other.end(), "") << "it had ended";
}

TEST_F(neighbours, whose_kernel_does_not_fail_are_no_fault) {
  neighbour other(0, device_fault::illegal_address);
  EXPECT_EQ(refusal<setup_failed>([&] { other.fail(); }), "the kernel of the neighbour did not fail");
}

TEST_F(neighbours, that_cannot_begin_say_why) {
  setenv(does, "is_absent", 1);
  EXPECT_THAT(refusal<not_provoked>([] { const neighbour other(0, device_fault::trap); }),
              AllOf(HasSubstr("the neighbour could not begin: "), HasSubstr("cudaErrorNoDevice")));
}

TEST_F(neighbours, that_end_are_no_fault) {
  setenv(does, "ends_the_process", 1);
  neighbour other(0, device_fault::trap);
  EXPECT_EQ(refusal<setup_failed>([&] { other.fail(); }), "the neighbour ended: exit 7");
}

TEST_F(neighbours, have_names_of_faults) {
  EXPECT_EQ(fault_called("trap"), device_fault::trap);
  EXPECT_EQ(fault_called("hang"), std::nullopt);
  EXPECT_THROW(fault_called("nap"), std::invalid_argument);
}

TEST_F(neighbours, that_hang_are_seen_to_hang) {
  setenv(does, "hangs", 1);
  const observation o = beside_hanging_kernel([] {});
  ASSERT_EQ(o.calls.size(), 1U);
  EXPECT_EQ(o.calls[0].what.name.api, "check.neighbour");
  EXPECT_EQ(o.calls[0].what.status, "HANGS");
  EXPECT_THAT(o.notes, testing::Contains(note{"kernel of the neighbour", "hangs"}));
  EXPECT_THAT(o.measurements, ElementsAre(Field(&measurement::name, "the operation took")));
}

TEST_F(neighbours, that_have_ended_tell_how_long_their_kernel_ran) {
  setenv(does, "hangs_briefly", 1);
  const observation o = beside_hanging_kernel([] {
    const auto end = steady::now() + std::chrono::milliseconds(400);  // the kernel ends after 200
    while (steady::now() < end) usleep(1000);
  });
  ASSERT_EQ(o.calls.size(), 1U);
  EXPECT_EQ(o.calls[0].what.status, "ENDED");
  ASSERT_EQ(o.measurements.size(), 2U);
  EXPECT_EQ(o.measurements[0].name, "the operation took");
  EXPECT_GE(o.measurements[0].value, 400);
  EXPECT_EQ(o.measurements[1].name, "the kernel of the neighbour ran");
  EXPECT_GE(o.measurements[1].value, 200);
}

TEST_F(neighbours, whose_kernel_does_not_occupy_the_gpu_are_no_fault) {
  setenv(does, "is_idle", 1);
  bool operated = false;
  EXPECT_EQ(
      refusal<setup_failed>([&] { static_cast<void>(beside_hanging_kernel([&] { operated = true; })); }),
      "the kernel of the neighbour does not occupy the GPU: it never ran");
  EXPECT_FALSE(operated);
}

TEST_F(neighbours, are_clients_of_mps_where_the_runtime_says_so) {
  control_says("Cannot find MPS control daemon process", "1");  // it is not asked
  fake.mps = 1;
  EXPECT_EQ(refusal<not_provoked>([] { require_mps(true); }), "");
  EXPECT_THAT(refusal<not_provoked>([] { require_mps(false); }), HasSubstr("is a client of an MPS server"));
  control_says("4711");
  fake.mps = 0;
  EXPECT_EQ(refusal<not_provoked>([] { require_mps(false); }), "");
  EXPECT_THAT(refusal<not_provoked>([] { require_mps(true); }), HasSubstr("has started no server"));
  EXPECT_THAT(told().notes, ElementsAre(note{"MPS", "enabled"}, note{"MPS", "enabled"},
                                        note{"MPS", "not enabled"}, note{"MPS", "not enabled"}));
}

TEST_F(neighbours, ask_the_control_program_where_the_runtime_does_not_say) {
  control_says("4711");
  EXPECT_EQ(refusal<not_provoked>([] { require_mps(true); }), "");
  EXPECT_THAT(refusal<not_provoked>([] { require_mps(false); }), HasSubstr("is a client of an MPS server"));
  control_says("Cannot find MPS control daemon process", "1");
  EXPECT_EQ(refusal<not_provoked>([] { require_mps(false); }), "");
  EXPECT_THAT(refusal<not_provoked>([] { require_mps(true); }), HasSubstr("has started no server"));
  control_says("");
  EXPECT_EQ(refusal<not_provoked>([] { require_mps(false); }), "") << "a daemon without a server";
  EXPECT_THAT(told().notes, testing::Each(note{"MPS", "the runtime does not say"}));
}

TEST_F(neighbours, are_not_taken_for_clients_or_for_none_where_nobody_says) {
  setenv("PATH", "/usr/bin:/bin", 1);
  for (const bool under_mps : {false, true})
    EXPECT_THAT(refusal<not_provoked>([&] { require_mps(under_mps); }),
                HasSubstr("neither the CUDA runtime"));
}

TEST_F(neighbours, have_the_daemon_started_again_by_its_keeper) {
  spawn_options options;
  options.argv = {fs::read_symlink("/proc/self/exe"), "keep_mps"};
  resident_process keeper(options);
  ASSERT_EQ(keeper.ask("start", std::chrono::seconds(20), {}).text, "started");
  pid_t before = daemon();
  restart_mps();
  EXPECT_NE(daemon(), before);
  EXPECT_EQ(kill(daemon(), 0), 0);
  note_end_of_mps_daemon();
  EXPECT_THAT(told().notes, ElementsAre());
  before = daemon();
  kill(before, SIGKILL);
  while (!kept_mps_daemon_has_ended()) usleep(1000);
  restart_mps();
  EXPECT_NE(daemon(), before);
  EXPECT_THAT(told().notes, ElementsAre(note{"MPS daemon", "ended by itself"}));
  keeper.end();
}

TEST_F(neighbours, without_a_keeper_have_no_daemon_started_again) {
  EXPECT_EQ(refusal<not_provoked>([] { restart_mps(); }),
            "the MPS daemon was not started again: its keeper did not answer");
}

}  // namespace
}  // namespace cufault

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker makes these names
extern "C" {

cudaError_t __wrap_cudaPeekAtLastError() {
  return cudaSuccess;
}
cudaError_t __wrap_cudaGetLastError() {
  return cudaSuccess;
}
cudaError_t __wrap_cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t __wrap_cudaSetDevice(int) {
  return cufault::gpu("is_absent") ? cudaErrorNoDevice : cudaSuccess;
}
cudaError_t __wrap_cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int) {
  constexpr int mps_enabled = 133;
  if (which != mps_enabled) return *value = 1, cudaSuccess;
  if (cufault::fake.mps < 0) return cudaErrorInvalidValue;
  *value = cufault::fake.mps;
  return cudaSuccess;
}
cudaError_t __wrap_cudaFuncGetAttributes(cudaFuncAttributes* a, const void*) {
  *a = {};
  return cudaSuccess;
}
cudaError_t __wrap_cudaGetSymbolAddress(void** address, const void*) {
  *address = nullptr;
  return cudaSuccess;
}
cudaError_t __wrap_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int,
                                                                          std::size_t, unsigned) {
  *blocks = 1;
  return cudaSuccess;
}
cudaError_t __wrap_cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = nullptr;
  return cudaSuccess;
}
cudaError_t __wrap_cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  *memory = std::calloc(1, bytes);
  return cudaSuccess;
}
cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t*, const void*, void** arguments) {
  using namespace cufault;
  if (gpu("ends_the_process")) _exit(7);
  if (!gpu("hangs") && !gpu("hangs_briefly")) return cudaSuccess;
  fake.flags = *static_cast<volatile occupying_flags**>(arguments[0]);
  fake.end = steady::now() + std::chrono::milliseconds(gpu("hangs") ? 600'000 : 200);
  fake.flags->runs = 1;
  return cudaSuccess;
}
cudaError_t __wrap_cudaStreamQuery(cudaStream_t) {
  using namespace cufault;
  const bool runs = fake.flags != nullptr && fake.flags->stop == 0 && steady::now() < fake.end;
  return runs ? cudaErrorNotReady : cudaSuccess;
}
cudaError_t __wrap_cudaDeviceSynchronize() {
  // The first one is before the fault.
  static bool before = true;
  return std::exchange(before, false) || !cufault::gpu("fails") ? cudaSuccess : cudaErrorLaunchFailure;
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words[0] == "keep_mps") return cufault::keep_mps_daemon();
  if (words.size() > 4 && words[0] == "neighbour")
    return cufault::neighbour::serve(std::stoi(words[2]), cufault::fault_called(words[4]));
  const int told = memfd_create("told", 0);
  if (dup2(told, cufault::report_fd) < 0) return 97;
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
