// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/kit/neighbour.hpp"

#include "harness/model/errors.hpp"
#include "harness/system/mps_keeper.hpp"
#include "harness/trial/observe.hpp"

#include <cuda_runtime.h>
#include <fmt/format.h>

#include <sys/wait.h>

#include <array>
#include <atomic>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <utility>

namespace cufault {
namespace {

constexpr const char* ready = "ready";
constexpr std::array named{std::pair{"trap", device_fault::trap},
                           std::pair{"illegal_address", device_fault::illegal_address}};

std::string name_of(std::optional<device_fault> which) {
  for (const auto& [name, fault] : named)
    if (which == fault) return name;
  return "hang";
}

/// A kernel that occupies the whole GPU until this object ends.
class occupied_device {
 public:
  occupied_device() {
    CUFAULT_REQUIRE(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CUFAULT_REQUIRE(cudaHostAlloc(&flags_, sizeof *flags_, cudaHostAllocDefault));
    flags_->stop = 0;
    flags_->runs = 0;
    CUFAULT_REQUIRE(launch_occupying(flags_, stream_, neighbour::longest_hang_ms));
    while (!flags_->runs && is_busy()) std::this_thread::yield();
    begun_ = std::chrono::steady_clock::now();
    watch_ = std::thread([this] {
      while (is_busy()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const std::chrono::duration<double, std::milli> ran = std::chrono::steady_clock::now() - begun_;
      ran_ms_ = ran.count();
    });
  }
  ~occupied_device() {
    flags_->stop = 1;
    watch_.join();
  }
  occupied_device(const occupied_device&) = delete;
  occupied_device& operator=(const occupied_device&) = delete;
  /// neighbour::hangs, or how long the kernel ran, e.g. "1999.8 ms".
  [[nodiscard]] std::string now() const {
    if (is_busy()) return neighbour::hangs;
    if (!flags_->runs) return "it never ran";
    while (ran_ms_ < 0) std::this_thread::yield();
    return fmt::format("{:.1f} ms", ran_ms_.load());
  }

 private:
  [[nodiscard]] bool is_busy() const { return cudaStreamQuery(stream_) == cudaErrorNotReady; }

  cudaStream_t stream_ = nullptr;
  volatile occupying_flags* flags_ = nullptr;
  std::chrono::steady_clock::time_point begun_;
  std::atomic<double> ran_ms_ = -1;
  std::thread watch_;
};

/// True if this process is a client of an MPS server.
enum class mps_client { yes, no, unknown };

/// Asks the daemon of this process's variables for its servers: it starts one for the first client.
mps_client client_by_control_program() {
  FILE* const output = popen("echo get_server_list | timeout 10 nvidia-cuda-mps-control 2>&1", "r");
  if (output == nullptr) return mps_client::unknown;
  const int first = std::getc(output);
  while (std::getc(output) != EOF) continue;
  const int status = pclose(output);
  constexpr int timed_out = 124;  // 125 to 127 mean that it could not be run
  if (!WIFEXITED(status) || WEXITSTATUS(status) >= timed_out) return mps_client::unknown;
  return status == 0 && std::isdigit(first) != 0 ? mps_client::yes : mps_client::no;
}

}  // namespace

std::optional<device_fault> fault_called(const std::string& name) {
  if (name == name_of({})) return {};
  for (const auto& [known, fault] : named)
    if (name == known) return fault;
  throw std::invalid_argument("no neighbour has the fault " + name);
}

neighbour::neighbour(int device, std::optional<device_fault> which)
    : hangs_(!which), process_({"neighbour", "--device", std::to_string(device), "--fault", name_of(which)}) {
  const std::string said = process_.hear();
  if (said != ready)
    throw not_provoked("the neighbour could not begin: " +
                       (said.empty() ? "it said nothing; " + process_.end() : said));
}

std::string neighbour::fail() {
  process_.ask();
  std::string said = process_.hear();
  if (said.empty()) throw setup_failed("the neighbour ended: " + process_.end());
  if (said == cudaGetErrorName(cudaSuccess)) throw setup_failed("the kernel of the neighbour did not fail");
  if (hangs_ && said != hangs)
    throw setup_failed("the kernel of the neighbour does not occupy the GPU: " + said);
  return said;
}

std::optional<double> neighbour::ended_after_ms() {
  process_.ask();
  const std::string said = process_.hear();
  if (said == hangs) return {};
  if (said.empty()) throw setup_failed("the neighbour ended: " + process_.end());
  return std::stod(said);
}

int neighbour::serve(int device, std::optional<device_fault> which) {
  try {
    CUFAULT_REQUIRE(cudaSetDevice(device));
    CUFAULT_REQUIRE(load_faults());
    CUFAULT_REQUIRE(cudaDeviceSynchronize());
    if (!second_process::say(ready)) return 0;
    if (which) {
      static_cast<void>(launch_fault(*which));
      second_process::say(cudaGetErrorName(cudaDeviceSynchronize()));
      return 0;
    }
    const occupied_device occupied;
    while (second_process::say(occupied.now())) continue;
    return 0;
  } catch (const std::exception& e) {
    std::printf("%s\n", e.what());
    return 1;
  }
}

void require_mps(bool under_mps) {
  constexpr int mps_enabled = 133;  // cudaDevAttrMpsEnabled, since CUDA 12.2
  int device = 0, enabled = 0;
  CUFAULT_REQUIRE(cudaGetDevice(&device));
  const bool known =
      cudaDeviceGetAttribute(&enabled, static_cast<cudaDeviceAttr>(mps_enabled), device) == cudaSuccess;
  cudaGetLastError();
  trial::current().note("MPS", !known         ? "the runtime does not say"
                               : enabled != 0 ? "enabled"
                                              : "not enabled");
  const mps_client is = !known         ? client_by_control_program()
                        : enabled != 0 ? mps_client::yes
                                       : mps_client::no;
  if (is == mps_client::unknown)
    throw not_provoked(
        "neither the CUDA runtime nor nvidia-cuda-mps-control says whether this process is a client of an "
        "MPS server: put nvidia-cuda-mps-control in PATH");
  if (!under_mps && is == mps_client::yes)
    throw not_provoked(
        "this process is a client of an MPS server: set CUDA_MPS_PIPE_DIRECTORY to a folder without one");
  if (under_mps && is == mps_client::no)
    throw not_provoked("the MPS daemon has started no server for this process");
}

void note_end_of_mps_daemon() {
  if (kept_mps_daemon_has_ended()) trial::current().note("MPS daemon", "ended by itself");
}

void restart_mps() {
  note_end_of_mps_daemon();
  if (const std::string said = restart_kept_mps_daemon(); said != "started")
    throw not_provoked("the MPS daemon was not started again: " +
                       (said.empty() ? "its keeper did not answer" : said));
}

}  // namespace cufault
