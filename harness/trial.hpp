// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/case.hpp"
#include "harness/cublas_binding.hpp"
#include "kernels/product.hpp"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda.h>
#include <cuda_runtime.h>
#include <nlohmann/json_fwd.hpp>

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {

/// A status as it is recorded: the library's own name and number.
struct status_record {
  std::string name;
  int value = 0;
  std::string detail{};  ///< what else is to be compared (call_record::detail)
};
inline const status_record& record_of(const status_record& r) {
  return r;
}
status_record record_of(cublasStatus_t status);
status_record record_of(cudaError_t status);
status_record record_of(CUresult status);  ///< "CUDA_ERROR_NO_BINARY_FOR_GPU"

/// What became of one checked product. Its status is the library's where it failed, else that of the wait for
/// it, else RIGHT_NUMBERS or WRONG_NUMBERS.
struct product_result {
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  cudaError_t waited = cudaSuccess;
  bool right = false;
  [[nodiscard]] bool ok() const { return status == CUBLAS_STATUS_SUCCESS && waited == cudaSuccess && right; }
};
status_record record_of(const product_result& result);

/// The same, with words about it that are compared, too: which elements were written, say.
struct told_product {
  product_result result;
  std::string detail{};
};
status_record record_of(const told_product& told);

struct trial_options {
  std::optional<std::int64_t> rung;
  std::uint64_t seed = 0;
  int stage = 0;  ///< counts the processes that continue_in_new_process() started
  int device = 0;
  cublas_paths libraries;
};

/// What the loader said to a library pair: LOADED, or LOADER_ERROR with its words.
struct load_result {
  std::string words;  ///< the loader's; empty where it loaded
  [[nodiscard]] bool ok() const { return words.empty(); }
};
status_record record_of(const load_result& result);

/// What a process that ran rows of a table left: of one that died nobody knows.
enum class rows_left { nobody_knows, no_context, a_usable_one, a_damaged_one };
/// As in observation: damaged if one is, else usable if one is, else unchecked if a process died; empty where there was none. One made
/// afterwards, only to be proved, would say nothing of theirs.
std::string context_of(std::span<const rows_left> processes);

/// One execution of an arm, in a process of its own. Everything it is told goes to the parent at once
/// (harness/frame.hpp). One object a process: trial::current().
class trial {
 public:
  trial(const arm& a, trial_options options);
  ~trial() = delete;
  trial(const trial&) = delete;
  trial& operator=(const trial&) = delete;
  static trial& current();

  [[nodiscard]] std::int64_t rung() const;  ///< value of the ladder; throws setup_failed without one
  [[nodiscard]] int stage() const { return options_.stage; }
  [[nodiscard]] int device() const { return options_.device; }
  [[nodiscard]] int compute_capability() const;  ///< 90 on 9.0; throws setup_failed

  /// Creates the primary context of the trial's device, loads every kernel of ours, and proves right numbers.
  /// Throws setup_failed if it cannot. Call it before anything fills the device.
  void open_context();

  /// From here on the calls belong to the remedy or the dead end, in words: "free the memory, create again".
  void apply(std::string_view text);

  void sample(std::string_view at);  ///< free and total device memory now; needs a context
  void measure(std::string_view name, double value, std::string_view unit = "");
  void conclude(std::string_view claim, bool holds, std::string_view why);
  /// What to conclude should the process end in the next observed call; forgotten when that returns.
  void foresee(std::string_view claim, bool holds, std::string_view why);

  /// Goes on with the same arm in a new process, at the next stage, with changes to the environment (an empty
  /// value unsets). Returns when it has ended; the body must return then.
  void continue_in_new_process(const std::map<std::string, std::string>& environment = {});

  /// Runs `child` in a process forked from this one, which may observe; returns when it has ended. Its crash
  /// is the trial's.
  void in_forked_child(const std::function<void()>& child);

  /// Runs rows 0 to `rows` - 1 of a table, each an observed call that waits for what it started, in processes forked from this one,
  /// which must not have touched CUDA. As many as survive share a process, made ready by `set_up`, which returns what runs a row.
  /// Where a row ends its process or lasts longer than `patience`, that is what its call came to; where it damages the context, too,
  /// the rows after it go on in a new process. Returns what each came to, in order: the name of its last status, "crashed: SIGSEGV",
  /// "timed out"; empty for rows that were not reached, because setting up or a row threw. Unless the trial opens a
  /// context itself, what is said of its context is context_of() what these processes left.
  using row_function = std::function<void(std::size_t)>;
  std::vector<std::string> each_row(std::size_t rows, const std::function<row_function()>& set_up,
                                    std::chrono::milliseconds patience = std::chrono::seconds(10));

  /// Hears what cuBLASLt logs from here on, in any thread, one message at a time; level 1 is an error. The first hundred messages of a
  /// trial are recorded whether anybody listens or not.
  using log_listener = std::function<void(int level, std::string_view message)>;
  void hear_library_log(log_listener listener);

  /// Ends the trial and the process as returning from main would, with whatever exit handlers and static
  /// destructors there are: what they observe still counts. Does not return.
  [[noreturn]] void end_through_exit();

  /// A folder of this trial's own, empty at its start and removed after its end, also if it crashes.
  [[nodiscard]] std::filesystem::path scratch() const;
  /// The pair that the trial was told to use, and a second one (CUFAULT_OTHER_CUBLAS, a folder as ci/fetch-cublas
  /// leaves it), for arms that say other_cublas: they run only where it was given.
  [[nodiscard]] const cublas_paths& libraries() const { return options_.libraries; }
  [[nodiscard]] static cublas_paths other_libraries();

  /// The macros' ends.
  void begin_call(const char* text);
  void end_call(const status_record& status, double milliseconds);
  void library_logged(int level, std::string_view function, std::string_view message);  ///< from any thread

  static void after_exit_handlers();  ///< the last thing in the process

  /// Runs the body and everything round it; the process's exit code.
  static int run(const arm& a, const trial_options& options);

 private:
  void send(const nlohmann::json& frame);
  void send_end(const status_record& status, const char* last_error, double milliseconds);
  std::string wait_for_rows(pid_t child, std::chrono::milliseconds patience);
  void find(const char* frame, std::string_view claim, bool holds, std::string_view why);
  void run_body();
  void tell_exceptions(const std::function<void()>& work);
  std::string context_state();
  void report_context();
  void report_done();
  const arm& arm_;
  trial_options options_;
  bool opened_ = false;           // open_context() succeeded
  struct progress;                // of the process that runs rows, shared with this one
  progress* progress_ = nullptr;  // null outside of each_row()
  std::string context_of_rows_;   // what the last table's processes left: context_of(); empty without one
  bool continued_ = false;
  int exit_code_of_next_ = 0;
  bool ends_through_exit_ = false;
  std::atomic<int> logged_{0};
  std::mutex hearing_;
  log_listener listener_;
  std::atomic<bool> over_{false};  // what the library logs from an exit handler comes too late to be told
};

/// One product by cublasSgemm with the handle, on its stream, on fresh random numbers, checked
/// (kernels/product.hpp). Needs no memory of its own. Does not wait before it calls cublasSgemm.
product_result product(cublasHandle_t handle);

/// cublasSgemm alone, on operands that prepare_product() made before.
cublasStatus_t sgemm(cublasHandle_t handle, const product_operands& on);

/// The same product by cublasLtMatmul on the legacy stream, with the first algorithm that the heuristic returns
/// for `workspace_bytes`, which the caller provides.
product_result lt_product(cublasLtHandle_t light, void* workspace = nullptr, std::size_t workspace_bytes = 0);

/// A product of other extents, in device memory that it allocates: a long k makes cuBLAS split it, which takes a workspace.
class large_product {
 public:
  explicit large_product(const product_extents& extents);  ///< throws setup_failed
  ~large_product();
  large_product(const large_product&) = delete;
  large_product& operator=(const large_product&) = delete;
  /// Fresh numbers, then cublasSgemm, both on the handle's stream, and back at once. Returns cublasSgemm's status.
  cublasStatus_t start(cublasHandle_t handle);
  /// Waits for the device, then checks what start() computed.
  product_result finish();
  product_result multiply(cublasHandle_t handle);  ///< start and finish
  [[nodiscard]] std::size_t bytes() const { return product_bytes(extents_); }

 private:
  product_extents extents_;
  void* block_ = nullptr;
  product_result result_;
};

/// Binds another pair for all calls that follow. `lazily`: the loader resolves what the libraries need of each other at their
/// first use, as a program that is linked to them does by default. Arms that use it say binds_itself.
load_result load_cublas(const cublas_paths& paths, bool lazily = true);

std::size_t free_device_memory();    ///< bytes; throws setup_failed
std::size_t resident_host_memory();  ///< bytes of this process

/// For set-up. The end of the process gives it back: many arms leave a context in which nothing can be freed.
cublasHandle_t new_handle();

/// Seeds for random data: one after the other, from the trial's own.
std::uint64_t fresh_seed();

/// A library that throws through its C interface ends the programs that call it: it is a crash here too. What cases and harness throw
/// passes.
template <class Call>
auto or_terminate(Call&& call) {
  try {
    return call();
  } catch (const not_provoked&) {
    throw;
  } catch (const setup_failed&) {
    throw;
  } catch (const missing_symbol&) {
    throw;
  } catch (const binding_error&) {
    throw;
  } catch (...) {
    std::terminate();
  }
}

/// For observed calls: makes the call, tells the parent before and after it, and returns what it returned.
template <class Call>
auto observe_call(const char* text, Call&& call) {
  trial& t = trial::current();
  t.begin_call(text);
  const auto start = std::chrono::steady_clock::now();
  auto status = or_terminate(call);
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

/// The body of controls without a GPU: both libraries are asked for their version.
void libraries_answer(trial& t);

}  // namespace cufault

/// A call that the case is about: `observe(cublasCreate(&handle))`. Keeps its text; its value is the call's.
#define observe(...) ::cufault::observe_call(#__VA_ARGS__, [&] { return __VA_ARGS__; })
/// A call that only prepares: `require(cudaMalloc(&p, bytes))`.
#define require(...) ::cufault::require_call(#__VA_ARGS__, __VA_ARGS__)
