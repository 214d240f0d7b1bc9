// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/case.hpp"
#include "harness/cublas_binding.hpp"

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace cufault {

/// A status as it is recorded: the library's own name and number.
struct status_record {
  std::string name;
  int value = 0;
};
status_record record_of(cublasStatus_t status);
status_record record_of(cudaError_t status);

/// What became of one checked product. Its status is the library's where it failed, else that of the wait for
/// it, else RIGHT_NUMBERS or WRONG_NUMBERS.
struct product_result {
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  cudaError_t waited = cudaSuccess;
  bool right = false;
  [[nodiscard]] bool ok() const { return status == CUBLAS_STATUS_SUCCESS && waited == cudaSuccess && right; }
};
status_record record_of(const product_result& result);

struct trial_options {
  std::optional<std::int64_t> rung;
  std::uint64_t seed = 0;
  int stage = 0;  ///< counts the processes that continue_in_new_process() started
  int device = 0;
  cublas_paths libraries;
};

/// One execution of an arm, in a process of its own. Everything it is told goes to the parent at once
/// (harness/frame.hpp). One object a process: trial::current().
class trial {
 public:
  trial(const arm& a, trial_options options);
  ~trial();
  trial(const trial&) = delete;
  trial& operator=(const trial&) = delete;
  static trial& current();

  [[nodiscard]] std::int64_t rung() const;  ///< value of the ladder; throws setup_failed without one
  [[nodiscard]] int stage() const { return options_.stage; }
  [[nodiscard]] int device() const { return options_.device; }

  /// Creates the primary context of the trial's device, loads every kernel of ours, and proves right numbers.
  /// Throws setup_failed if it cannot. Call it before anything fills the device.
  void open_context();

  /// From here on the calls belong to the remedy or the dead end, in words: "free the memory, create again".
  void apply(std::string_view text);

  void sample(std::string_view at);  ///< free and total device memory now; needs a context
  void measure(std::string_view name, double value, std::string_view unit = "");
  void conclude(std::string_view claim, bool holds, std::string_view why);

  /// Goes on with the same arm in a new process, at the next stage, with changes to the environment (an empty
  /// value unsets). Returns when it has ended; the body must return then.
  void continue_in_new_process(const std::map<std::string, std::string>& environment = {});

  /// The macros' ends.
  void begin_call(const char* text);
  void end_call(const status_record& status, double milliseconds);
  void library_logged(std::string_view line);  ///< from any thread; the first hundred lines are kept

  /// Runs the body and everything round it; the process's exit code.
  static int run(const arm& a, const trial_options& options);

 private:
  void send(const nlohmann::json& frame);
  void run_body();
  std::string context_state();
  const arm& arm_;
  trial_options options_;
  bool opened_ = false;  // open_context() succeeded
  bool continued_ = false;
  int exit_code_of_next_ = 0;
  std::atomic<int> logged_{0};
  std::atomic<bool> over_{false};  // what the library logs from an exit handler comes too late to be told
};

/// One product by cublasSgemm with the handle on fresh random numbers, checked (kernels/product.hpp). Needs
/// no memory of its own.
product_result product(cublasHandle_t handle);

/// For observed calls: makes the call, tells the parent before and after it, and returns what it returned.
template <class Call>
auto observe_call(const char* text, Call&& call) {
  trial& t = trial::current();
  t.begin_call(text);
  const auto start = std::chrono::steady_clock::now();
  const auto status = call();
  const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
  t.end_call(record_of(status), taken.count());
  return status;
}

/// For set-up calls: they must succeed, or the trial proves nothing.
template <class Status>
void require_call(const char* text, const Status& status) {
  if (const status_record r = record_of(status); r.value != 0)
    throw setup_failed(std::string(text) + " returned " + r.name);
}

/// The work that most remedies have to make possible again: observes a cublasCreate, a product by the new handle, and its
/// cublasDestroy. Returns what cublasCreate returned.
cublasStatus_t create_and_multiply();

}  // namespace cufault

/// A call that the case is about: `observe(cublasCreate(&handle))`. Keeps its text; its value is the call's.
#define observe(...) ::cufault::observe_call(#__VA_ARGS__, [&] { return __VA_ARGS__; })
/// A call that only prepares: `require(cudaMalloc(&p, bytes))`.
#define require(...) ::cufault::require_call(#__VA_ARGS__, __VA_ARGS__)
