// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Routines, or only their numbers, with a workspace of the caller: too small, dropped by cublasSetStream, shared by two
//              streams. Also tried: 16 and 128 bytes off. The matrix has more: freed_workspace, small_workspace, no_workspace,
//              shared_workspace.
// Why          cublasSetWorkspace turns the library's own pool off and keeps a pointer. The library knows nothing of what else the
//              caller does with that memory, and forgets the pointer at the next cublasSetStream.
// Documented   cuBLAS documentation, cublasSetWorkspace: too small may return CUBLAS_STATUS_ALLOC_FAILED, which 16 KiB always avoid;
//              256-byte alignment, else CUBLAS_STATUS_INVALID_VALUE; cublasSetStream resets to the default pool. Users report wrong
//              results and illegal addresses: pytorch#89027, #193402, #192061, FasterTransformer#340, cudarc#595.
// Measured     H200, driver 580.159.04, cuBLAS 13.1.0: of no bytes, strsv is ALLOC_FAILED, sdot NOT_SUPPORTED, snrm2 and isamax are
//              EXECUTION_FAILED, and five other routines right; 256 bytes are enough for all. 16 and 128 bytes off is accepted, and
//              right. cublasSetStream drops the workspace, for the same stream as well. Of two handles that share one, products had
//              not ended when the arm was given up after 20 s, alone on the GPU.
// What helps   Documented: 16 KiB or more, 32 MiB for speed; cublasSetWorkspace again after each cublasSetStream; a workspace for each
//              stream. Memory that outlives the work in it. Or the library's own pool.
#include "harness/kit/held_streams.hpp"
#include "harness/kit/memory_pressure.hpp"
#include "harness/kit/products.hpp"
#include "harness/trial/observe.hpp"
#include "kernels/faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace cufault {
namespace {

constexpr float one = 1, zero = 0;

/// The end of the trial's process releases it: some arms leave a context in which nothing can be freed.
char* new_memory(std::size_t bytes) {
  void* memory = nullptr;
  CUFAULT_REQUIRE(cudaMalloc(&memory, bytes));
  return static_cast<char*>(memory);
}

// ---- too small: many routines ----

constexpr std::size_t sufficient = 16_KiB, recommended = 32_MiB;  // documented

/// A handle with operands whose results are known: ones, the identity, and a place for results.
struct bench {
  static constexpr int n = 2048;
  static constexpr int elements = n * n;
  static constexpr std::size_t bytes = elements * sizeof(float);
  cublasHandle_t handle = new_handle();
  char* workspace = new_memory(recommended);  // allocated in full, however little of it is given
  float *ones = new_floats(), *identity = new_floats(), *result = new_floats();
  large_product long_k{{.m = 96, .n = 64, .k = 65536}};

  bench() {
    std::vector<float> values(elements, one);
    CUFAULT_REQUIRE(cudaMemcpy(ones, values.data(), bytes, cudaMemcpyDefault));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % (n + 1) == 0 ? one : zero;
    CUFAULT_REQUIRE(cudaMemcpy(identity, values.data(), bytes, cudaMemcpyDefault));
  }
  static float* new_floats() { return reinterpret_cast<float*>(new_memory(bytes)); }
  void poison_result() const { CUFAULT_REQUIRE(cudaMemset(result, 0xff, bytes)); }
  void fill_result() const { CUFAULT_REQUIRE(cudaMemcpy(result, ones, bytes, cudaMemcpyDefault)); }
};

/// Checks a routine whose result is `count` times `expected`.
product_result checked(cublasStatus_t status, const float* at, std::size_t count, double expected) {
  product_result result{.status = status, .waited = cudaDeviceSynchronize()};
  if (status != CUBLAS_STATUS_SUCCESS || result.waited != cudaSuccess) return result;
  std::vector<float> found(count);
  result.waited = cudaMemcpy(found.data(), at, count * sizeof(float), cudaMemcpyDefault);
  result.right = std::all_of(found.begin(), found.end(),
                             [&](float f) { return std::abs(f - expected) <= expected * 1e-4; });
  return result;
}

product_result sgemm(bench& b) {
  return b.long_k.multiply(b.handle);
}

product_result sgemv(const bench& b) {
  constexpr int columns = 4, rows = bench::n * bench::n / columns;  // long, so that it is worth splitting
  b.poison_result();
  return checked(
      cublasSgemv(b.handle, CUBLAS_OP_T, rows, columns, &one, b.ones, rows, b.ones, 1, &zero, b.result, 1),
      b.result, columns, rows);
}

product_result ssymv(const bench& b) {
  b.poison_result();
  return checked(
      cublasSsymv(b.handle, CUBLAS_FILL_MODE_LOWER, b.n, &one, b.ones, b.n, b.ones, 1, &zero, b.result, 1),
      b.result, b.n, b.n);
}

product_result strsv(const bench& b) {
  b.fill_result();
  return checked(cublasStrsv(b.handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, b.n,
                             b.identity, b.n, b.result, 1),
                 b.result, b.n, 1);
}

product_result strsm(const bench& b) {
  b.fill_result();
  return checked(cublasStrsm(b.handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N,
                             CUBLAS_DIAG_NON_UNIT, b.n, b.n, &one, b.identity, b.n, b.result, b.n),
                 b.result, b.elements, 1);
}

product_result sdot(const bench& b) {
  float found = NAN;
  const cublasStatus_t status = cublasSdot(b.handle, b.elements, b.ones, 1, b.ones, 1, &found);
  return checked(status, &found, 1, b.elements);
}

product_result snrm2(const bench& b) {
  float found = NAN;
  const cublasStatus_t status = cublasSnrm2(b.handle, b.elements, b.ones, 1, &found);
  return checked(status, &found, 1, b.n);
}

product_result isamax(const bench& b) {
  int found = 0;
  const cublasStatus_t status = cublasIsamax(b.handle, b.elements, b.identity, 1, &found);
  const auto index = static_cast<float>(found);
  return checked(status, &index, 1, 1);
}

void every_routine(bench& b) {
  CUFAULT_OBSERVE_AS("cublasSgemm", "long_k", sgemm(b));
  CUFAULT_OBSERVE_AS("cublasSgemv", "", sgemv(b));
  CUFAULT_OBSERVE_AS("cublasSsymv", "", ssymv(b));
  CUFAULT_OBSERVE_AS("cublasStrsv", "", strsv(b));
  CUFAULT_OBSERVE_AS("cublasStrsm", "", strsm(b));
  CUFAULT_OBSERVE_AS("cublasSdot", "", sdot(b));
  CUFAULT_OBSERVE_AS("cublasSnrm2", "", snrm2(b));
  CUFAULT_OBSERVE_AS("cublasIsamax", "", isamax(b));
  CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(b.handle));
}

// ---- everything else: long products on a stream ----

/// The default pool's size on most GPUs (documented); a scribbler passes over it in microseconds.
constexpr std::size_t workspace_bytes = 4_MiB;

/// A stream, and products on it with a k so long that cuBLAS splits it. Other lanes may use the same handle and workspace.
struct lane {
  cublasHandle_t handle;
  void* workspace;  ///< workspace_bytes; nullptr: the library's own
  cudaStream_t stream = new_stream();
  static constexpr product_extents extents{.m = 96, .n = 64, .k = 16384};
  large_product work{extents};

  void bind() const {
    CUFAULT_REQUIRE(cublasSetStream(handle, stream));  // first, because it drops the workspace
    if (workspace != nullptr) CUFAULT_REQUIRE(cublasSetWorkspace(handle, workspace, workspace_bytes));
  }
  /// finish_product reports its status.
  void start() {
    bind();
    work.start(handle);
  }
};

product_result finish_product(lane& l) {
  return l.work.finish();
}

product_result long_product(lane& l) {
  return l.work.multiply(l.handle);
}

/// A product, and how much of the lane's workspace the library wrote.
struct workspace_use {
  product_result result;
  std::size_t bytes_written = 0;
};

status_record record_of(const workspace_use& use) {
  if (!use.result.ok()) return record_of(use.result);
  const bool used = use.bytes_written > 0;
  return {.ok = used, .numbers = numbers_found::right, .facts = {{"workspace_used", used}}};
}

workspace_use multiply_in_workspace(lane& l) {
  constexpr float untouched = -12345;
  std::vector<float> content(workspace_bytes / sizeof(float));
  CUFAULT_REQUIRE(launch_fill(static_cast<float*>(l.workspace), content.size(), untouched, l.stream));
  CUFAULT_REQUIRE(cudaStreamSynchronize(l.stream));
  workspace_use use{.result = long_product(l)};
  if (!use.result.ok()) return use;
  CUFAULT_REQUIRE(cudaMemcpy(content.data(), l.workspace, workspace_bytes, cudaMemcpyDefault));
  use.bytes_written =
      sizeof(float) * std::count_if(content.begin(), content.end(), [](float f) { return f != untouched; });
  return use;
}

/// Loads the kernels, so that no later product waits for them, and proves that the product works in its workspace.
void warm_up(lane& l) {
  l.bind();
  if (l.workspace == nullptr) {
    CUFAULT_REQUIRE(long_product(l));
    return;
  }
  const workspace_use use = multiply_in_workspace(l);
  CUFAULT_REQUIRE(use.result);
  if (use.bytes_written == 0)
    throw not_provoked("cublasSgemm takes no workspace for this product: try other extents");
}

void set_workspace_then_stream(lane& l) {
  CUFAULT_OBSERVE(cublasSetWorkspace(l.handle, l.workspace, workspace_bytes));
  CUFAULT_OBSERVE(cublasSetStream(l.handle, l.stream));
  CUFAULT_OBSERVE_AS("cublasSgemm", "long_k_in_workspace", multiply_in_workspace(l));
}

/// Products on two streams that wait for one signal, so that they run side by side.
product_result multiply_in_both(trial& t, lane& first, lane& second) {
  constexpr int rounds = 20;
  constexpr unsigned at_most_ms = 200;
  int wrong = 0;
  product_result worst{.right = true};
  for (int i = 0; i < rounds && worst.waited == cudaSuccess; ++i) {
    held_streams both({first.stream, second.stream}, at_most_ms);
    first.start();
    second.start();
    both.let_go();
    for (lane* l : {&first, &second}) {
      const product_result result = finish_product(*l);
      if (result.ok()) continue;
      ++wrong;
      worst = result;
    }
  }
  t.measure("products that went wrong", wrong, fmt::format("of {}", 2 * rounds));
  return worst;
}

// ---- controls ----

void control(trial& t) {
  t.open_context();
  bench b;
  CUFAULT_OBSERVE(cublasSetWorkspace(b.handle, b.workspace, recommended));
  every_routine(b);
  lane l{b.handle, b.workspace + 256};
  CUFAULT_OBSERVE(cublasSetStream(l.handle, l.stream));
  CUFAULT_OBSERVE(cublasSetWorkspace(l.handle, l.workspace, workspace_bytes));
  const workspace_use use =
      CUFAULT_OBSERVE_AS("cublasSgemm", "long_k_in_workspace", multiply_in_workspace(l));
  t.measure("workspace that the product wrote to", static_cast<double>(use.bytes_written), "bytes");
}

// ---- faults ----

void too_small(trial& t) {
  t.open_context();
  bench b;
  CUFAULT_OBSERVE(cublasSetWorkspace(b.handle, b.workspace, static_cast<std::size_t>(t.level())));
  every_routine(b);
}

void misaligned(trial& t) {
  t.open_context();
  lane l{new_handle(), new_memory(workspace_bytes + 256) + t.level()};
  CUFAULT_OBSERVE(cublasSetWorkspace(l.handle, l.workspace, workspace_bytes));
  CUFAULT_OBSERVE_AS("cublasSgemm", "long_k", long_product(l));
}

void dropped_by_set_stream(trial& t) {
  t.open_context();
  lane l{new_handle(), new_memory(workspace_bytes)};
  warm_up(l);
  CUFAULT_REQUIRE(cublasSetStream(l.handle, nullptr));
  set_workspace_then_stream(l);  // another stream than before
  set_workspace_then_stream(l);  // the same stream again
}

// ---- remedies ----

void sixteen_kib(trial& t) {
  t.open_context();
  bench b;
  CUFAULT_OBSERVE_AS("cublasSetWorkspace", "of_0_bytes", cublasSetWorkspace(b.handle, b.workspace, 0));
  every_routine(b);
  t.apply("16 KiB");
  CUFAULT_OBSERVE(cublasSetWorkspace(b.handle, b.workspace, sufficient));
  every_routine(b);
}

void align_it(trial& t) {
  t.open_context();
  char* const memory = new_memory(2 * workspace_bytes);
  lane l{new_handle(), memory};
  CUFAULT_OBSERVE_AS("cublasSetWorkspace", "off_by_16_bytes",
                     cublasSetWorkspace(l.handle, memory + 16, workspace_bytes));
  CUFAULT_OBSERVE_AS("cublasSgemm", "long_k", long_product(l));
  t.apply("a workspace aligned to 256 bytes");
  CUFAULT_OBSERVE(cublasSetWorkspace(l.handle, l.workspace, workspace_bytes));
  CUFAULT_OBSERVE_AS("cublasSgemm", "long_k_in_workspace", multiply_in_workspace(l));
  CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(l.handle));
}

void set_it_again(trial& t) {
  t.open_context();
  lane l{new_handle(), new_memory(workspace_bytes)};
  warm_up(l);
  set_workspace_then_stream(l);
  t.apply("cublasSetWorkspace again, after cublasSetStream");
  CUFAULT_OBSERVE(cublasSetWorkspace(l.handle, l.workspace, workspace_bytes));
  CUFAULT_OBSERVE_AS("cublasSgemm", "long_k_in_workspace", multiply_in_workspace(l));
  CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(l.handle));
}

/// The only difference between control, fault and remedy of the work on two streams.
enum class workspaces { shared, own };

void two_streams(trial& t, workspaces in, const char* remedy) {
  t.open_context();
  void* const workspace = new_memory(workspace_bytes);
  lane first{new_handle(), workspace};
  lane second{new_handle(), in == workspaces::own ? new_memory(workspace_bytes) : workspace};
  warm_up(first);
  warm_up(second);
  if (remedy != nullptr) t.apply(remedy);
  CUFAULT_OBSERVE_AS("cublasSgemm", "on_two_streams", multiply_in_both(t, first, second));
}

// ---- the case ----

void user_workspace(failure_case& c) {
  const auto on_two_streams = [](workspaces in, const char* remedy = nullptr) {
    return [=](trial& t) { two_streams(t, in, remedy); };
  };

  // Kernels that share a workspace may wait for each other for ever.
  constexpr std::chrono::seconds given_up_after{20};

  c.control("every routine in 32 MiB, and one aligned to 256 bytes and no more", control, {"S0-6"});
  c.add("control_two_streams", arm_kind::control, "two handles, streams and workspaces, side by side",
        on_two_streams(workspaces::own));

  c.fault("too_small", "nine routines in a workspace of few bytes", too_small, {"S0-6"}).levels =
      level_range{"bytes of workspace", {0, 256, 4096, 15 * 1024, sufficient}};
  c.fault("misaligned", "a workspace that is not aligned to 256 bytes", misaligned).levels =
      level_range{"bytes off", {16, 128}};
  c.fault("dropped_by_set_stream", "cublasSetStream after cublasSetWorkspace", dropped_by_set_stream);
  c.fault("shared_by_two_handles", "two handles with a stream each in one workspace",
          on_two_streams(workspaces::shared));
  arm& shared = c.arms.back();
  shared.timeout = given_up_after;  // it timed out in the records of an H100 and an H200
  shared.rarely_calls_driver = true;
  // Each trial takes the whole time.
  c.repeat_undefined({"shared_by_two_handles"}, "who writes first to a workspace that several use", 2);

  c.remedy("sixteen_kib", "16 KiB in place of none", sixteen_kib);
  c.remedy("align", "an aligned workspace in place of a misaligned one", align_it);
  c.remedy("set_again", "cublasSetWorkspace again after cublasSetStream", set_it_again);

  c.remedy("workspace_each", "a workspace for each handle",
           on_two_streams(workspaces::own, "a workspace for each handle"))
      .against = "shared_by_two_handles";
  c.in_tier = {"control", "misaligned", "dropped_by_set_stream", "set_again"};
  c.share_process_of(
      {"control", "control_two_streams", "dropped_by_set_stream", "align", "set_again", "workspace_each"});
}

const register_case here(
    "memory.user_workspace",
    "a workspace that the caller gives to cuBLAS: too small, misaligned, dropped, freed in use or shared",
    {"F-MEM-05", "F-MEM-06", "F-MEM-07", "F-MEM-08", "F-MEM-09"}, user_workspace);

}  // namespace
}  // namespace cufault
