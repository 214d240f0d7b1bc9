// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Routines, or only their numbers, once the caller gives cuBLAS a workspace: too small, dropped by
//              cublasSetStream, freed or handed on while work is queued, shared by two streams. Tried besides: 16 and 128 bytes off.
// Why          cublasSetWorkspace turns the library's own pool off and keeps a pointer. The library knows nothing of what else the
//              caller does with that memory, and forgets the pointer at the next cublasSetStream.
// Documented   cuBLAS documentation, cublasSetWorkspace: too small may return CUBLAS_STATUS_ALLOC_FAILED, which 16 KiB always avoid;
//              256-byte alignment, else CUBLAS_STATUS_INVALID_VALUE; cublasSetStream resets to the default pool. Users report wrong
//              results and illegal addresses: pytorch#89027, #193402, #192061, FasterTransformer#340, cudarc#595.
// Measured     H200, driver 580.159.04, cuBLAS 13.1.0: of no bytes, strsv is ALLOC_FAILED, sdot NOT_SUPPORTED, snrm2 and isamax are
//              EXECUTION_FAILED, and five other routines right; 256 bytes are enough for all. 16 and 128 bytes off is accepted, and
//              right. cublasSetStream drops the workspace, for the same stream as well. Unmapped below a queued product it is
//              cudaErrorLaunchFailure; cudaFree waits for the product, and the next is EXECUTION_FAILED. What is said to help does.
//              Handed on to somebody who writes to it, or shared, products had not ended when each such arm was given up after 20 s, alone on the GPU.
// What helps   Documented: 16 KiB or more, 32 MiB for speed; cublasSetWorkspace again after each cublasSetStream; a workspace for each
//              stream. Memory that outlives the work in it. Or the library's own pool.
#include "harness/binding/driver_api.hpp"
#include "harness/kit/held_streams.hpp"
#include "harness/kit/mapped_memory.hpp"
#include "harness/kit/memory_pressure.hpp"
#include "harness/kit/products.hpp"
#include "harness/trial/observe.hpp"
#include "kernels/faults.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace cufault {
namespace {

constexpr float one = 1, zero = 0;

// What these return is given back by the end of the trial's process: some arms leave a context in which nothing can be freed.

cudaStream_t new_stream() {
  cudaStream_t stream = nullptr;
  CUFAULT_REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

char* new_memory(std::size_t bytes) {
  void* memory = nullptr;
  CUFAULT_REQUIRE(cudaMalloc(&memory, bytes));
  return static_cast<char*>(memory);
}

/// Memory that can be unmapped while work is queued, where cudaFree might wait for the device.
std::byte* new_mapping(int device, std::size_t bytes) {
  std::byte* const address = reserve_addresses(bytes);
  map_new_memory(address, bytes, device);
  return address;
}

// ---- too small: many routines ----

constexpr std::size_t sufficient = 16_KiB, recommended = 32_MiB;  // documented

/// A handle with operands whose results are known without computing them: ones, the identity, and a place for results.
struct bench {
  static constexpr int n = 2048;
  static constexpr int elements = n * n;
  static constexpr std::size_t bytes = elements * sizeof(float);
  cublasHandle_t handle = new_handle();
  char* workspace = new_memory(recommended);  // all of it is there, however little of it is granted
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

/// What became of a routine whose result is `count` times `expected`.
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

/// Documented as the default pool's size on most GPUs; a scribbler passes over it in microseconds.
constexpr std::size_t workspace_bytes = 4_MiB;

/// A stream, and products on it with a k so long that cuBLAS splits it, by a handle and in a workspace that other lanes may use too.
struct lane {
  cublasHandle_t handle;
  void* workspace;  ///< workspace_bytes; nullptr: the library's own
  cudaStream_t stream = new_stream();
  static constexpr product_extents extents{.m = 96, .n = 64, .k = 16384};
  large_product work{extents};

  void bind() const {
    CUFAULT_REQUIRE(cublasSetStream(handle, stream));  // drops the workspace, so it comes first
    if (workspace != nullptr) CUFAULT_REQUIRE(cublasSetWorkspace(handle, workspace, workspace_bytes));
  }
  /// Its status is finish_product's to tell.
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

/// A product, and how much of the lane's workspace the library wrote to.
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

/// Loads the kernels, so that no later product waits for that, and proves that the product works in its workspace.
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

/// Products whose workspace is a pool's memory, freed on stream `freed_on` while the product is queued. The pool gives it to whoever
/// asks next, here on stream `theirs`, who writes to it at once.
product_result multiply_while_handed_on(trial& t, lane& l, cudaStream_t freed_on, cudaStream_t theirs) {
  constexpr int rounds = 10;
  constexpr unsigned queued_ms = 10, scribble_ms = 30;
  constexpr std::size_t piece = 32_MiB;  // what the pool grows by, so that the same piece is given out again
  int wrong = 0;
  product_result worst{.right = true};
  for (int i = 0; i < rounds; ++i) {
    void* next = nullptr;
    CUFAULT_REQUIRE(cudaMallocAsync(&l.workspace, piece, l.stream));
    CUFAULT_REQUIRE(launch_delay(l.stream, queued_ms));
    l.start();
    CUFAULT_REQUIRE(cudaFreeAsync(l.workspace, freed_on));
    CUFAULT_REQUIRE(cudaMallocAsync(&next, piece, theirs));
    if (freed_on == theirs && next != l.workspace)
      throw not_provoked("the pool did not give out the freed memory again: nothing is overwritten");
    CUFAULT_REQUIRE(launch_scribble(next, workspace_bytes, scribble_ms, theirs));
    const product_result result = finish_product(l);
    if (!result.ok()) {
      ++wrong;
      worst = result;
    }
    if (result.waited != cudaSuccess) break;
    CUFAULT_REQUIRE(cudaFreeAsync(next, theirs));
    CUFAULT_REQUIRE(cudaStreamSynchronize(theirs));
  }
  t.measure("products that went wrong", wrong, fmt::format("of {}", rounds));
  return worst;
}

enum class order { at_once, one_after_the_other };

/// Products on two streams that wait for the same signal, so that they run side by side.
product_result multiply_in_both(trial& t, lane& first, lane& second, order how) {
  constexpr int rounds = 20;
  constexpr unsigned at_most_ms = 200;
  cudaEvent_t first_is_done = nullptr;
  CUFAULT_REQUIRE(cudaEventCreateWithFlags(&first_is_done, cudaEventDisableTiming));
  int wrong = 0;
  product_result worst{.right = true};
  for (int i = 0; i < rounds && worst.waited == cudaSuccess; ++i) {
    held_streams both({first.stream, second.stream}, at_most_ms);
    first.start();
    if (how == order::one_after_the_other) {
      CUFAULT_REQUIRE(cudaEventRecord(first_is_done, first.stream));
      CUFAULT_REQUIRE(cudaStreamWaitEvent(second.stream, first_is_done, 0));
    }
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

void unmapped_while_queued(trial& t) {
  t.open_context();
  std::byte* const memory = new_mapping(t.device(), workspace_bytes);
  lane l{new_handle(), memory};
  warm_up(l);
  CUFAULT_REQUIRE(launch_delay(l.stream, 200));
  l.start();
  CUFAULT_OBSERVE(driver::cuMemUnmap(reinterpret_cast<CUdeviceptr>(memory), workspace_bytes));
  CUFAULT_OBSERVE_AS("cudaDeviceSynchronize", "numbers_of_product", finish_product(l));
}

void cuda_free_while_queued(trial& t) {
  t.open_context();
  lane l{new_handle(), new_memory(workspace_bytes)};
  warm_up(l);
  CUFAULT_REQUIRE(launch_delay(l.stream, 200));
  l.start();
  CUFAULT_OBSERVE(cudaFree(l.workspace));
  CUFAULT_OBSERVE_AS("cudaDeviceSynchronize", "numbers_of_product", finish_product(l));
}

void used_after_cuda_free(trial& t) {
  t.open_context();
  lane l{new_handle(), new_memory(workspace_bytes)};
  warm_up(l);
  CUFAULT_OBSERVE(cudaFree(l.workspace));
  CUFAULT_OBSERVE_AS("cublasSgemm", "long_k", long_product(l));
}

void handed_on_while_queued(trial& t) {
  t.open_context();
  lane l{new_handle(), new_memory(workspace_bytes)};
  warm_up(l);
  const cudaStream_t theirs = new_stream();
  CUFAULT_OBSERVE_AS("cublasSgemm", "workspace_handed_on", multiply_while_handed_on(t, l, theirs, theirs));
}

// ---- remedies ----

/// A workspace of no bytes, then one of `bytes`.
void a_larger_one(trial& t, std::size_t bytes, const char* words) {
  t.open_context();
  bench b;
  CUFAULT_OBSERVE_AS("cublasSetWorkspace", "of_0_bytes", cublasSetWorkspace(b.handle, b.workspace, 0));
  every_routine(b);
  t.apply(words);
  CUFAULT_OBSERVE(cublasSetWorkspace(b.handle, b.workspace, bytes));
  every_routine(b);
}

void back_to_the_pool(trial& t) {
  t.open_context();
  bench b;
  CUFAULT_OBSERVE_AS("cublasSetWorkspace", "of_0_bytes", cublasSetWorkspace(b.handle, b.workspace, 0));
  every_routine(b);
  t.apply("cublasSetStream, which brings the library's own pool back");
  CUFAULT_OBSERVE(cublasSetStream(b.handle, nullptr));
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

void wait_then_unmap(trial& t) {
  t.open_context();
  std::byte* const memory = new_mapping(t.device(), workspace_bytes);
  lane l{new_handle(), memory};
  warm_up(l);
  t.apply("wait for the stream before the workspace is unmapped");
  CUFAULT_REQUIRE(launch_delay(l.stream, 200));
  l.start();
  CUFAULT_OBSERVE(cudaStreamSynchronize(l.stream));
  CUFAULT_OBSERVE(driver::cuMemUnmap(reinterpret_cast<CUdeviceptr>(memory), workspace_bytes));
  CUFAULT_OBSERVE_AS("cudaDeviceSynchronize", "numbers_of_product", finish_product(l));
  CUFAULT_OBSERVE(cublasSetStream(l.handle, l.stream));
  CUFAULT_OBSERVE_AS("cublasSgemm", "long_k", long_product(l));
}

void back_to_the_pool_then_free(trial& t) {
  t.open_context();
  lane l{new_handle(), new_memory(workspace_bytes)};
  warm_up(l);
  t.apply("cublasSetStream, so that the handle lets go of the workspace, before cudaFree");
  CUFAULT_OBSERVE(cublasSetStream(l.handle, l.stream));
  CUFAULT_OBSERVE(cudaFree(l.workspace));
  CUFAULT_OBSERVE_AS("cublasSgemm", "long_k", long_product(l));
}

void free_in_order(trial& t) {
  t.open_context();
  lane l{new_handle(), new_memory(workspace_bytes)};
  warm_up(l);
  t.apply("cudaFreeAsync on the stream of the product");
  CUFAULT_OBSERVE_AS("cublasSgemm", "workspace_handed_on",
                     multiply_while_handed_on(t, l, l.stream, new_stream()));
}

/// Control, fault and remedy of the work on two streams are the same but for these.
enum class handles { one, two };
enum class workspaces { shared, own, the_librarys };

void two_streams(trial& t, handles by, workspaces in, order how, const char* remedy) {
  t.open_context();
  const cublasHandle_t handle = new_handle();
  void* const workspace = in == workspaces::the_librarys ? nullptr : new_memory(workspace_bytes);
  lane first{handle, workspace};
  lane second{by == handles::two ? new_handle() : handle,
              in == workspaces::own ? new_memory(workspace_bytes) : workspace};
  warm_up(first);
  warm_up(second);
  if (remedy != nullptr) t.apply(remedy);
  CUFAULT_OBSERVE_AS("cublasSgemm", "on_two_streams", multiply_in_both(t, first, second, how));
}

// ---- dead ends ----

void retry_alone(trial& t) {
  a_larger_one(t, 0, "the same again");
}

// ---- the case ----

failure_case user_workspace() {
  failure_case c;
  c.name = "memory.user_workspace";
  c.summary =
      "a workspace that the caller gives to cuBLAS: too small, misaligned, dropped, freed in use or shared";
  c.failures = {"F-MEM-05", "F-MEM-06", "F-MEM-07", "F-MEM-08", "F-MEM-09"};
  const auto on_two_streams = [](handles by, workspaces in, order how = order::at_once,
                                 const char* remedy = nullptr) {
    return [=](trial& t) { two_streams(t, by, in, how, remedy); };
  };
  const auto larger = [](std::size_t bytes, const char* words) {
    return [=](trial& t) { a_larger_one(t, bytes, words); };
  };

  // Kernels that share a workspace may wait for each other for ever: twice as long as free_in_order, which makes the same calls, took
  // beside other work.
  constexpr std::chrono::seconds given_up_after{20};

  c.add("control", arm_kind::control, "every routine in 32 MiB, and one aligned to 256 bytes and no more",
        control, {"S0-6"});
  c.add("control_two_streams", arm_kind::control, "two handles, streams and workspaces, side by side",
        on_two_streams(handles::two, workspaces::own));

  c.add("too_small", arm_kind::fault, "nine routines in a workspace of few bytes", too_small, {"S0-6"})
      .levels = level_range{"bytes of workspace", {0, 256, 4096, 15 * 1024, sufficient}};
  c.add("misaligned", arm_kind::fault, "a workspace that is not aligned to 256 bytes", misaligned).levels =
      level_range{"bytes off", {16, 128}};
  c.add("dropped_by_set_stream", arm_kind::fault, "cublasSetStream after cublasSetWorkspace",
        dropped_by_set_stream);
  c.add("unmapped_while_queued", arm_kind::fault, "unmapped while a product is queued",
        unmapped_while_queued);
  c.add("cuda_free_while_queued", arm_kind::fault, "cudaFree while a product is queued",
        cuda_free_while_queued);
  c.add("used_after_cuda_free", arm_kind::fault, "the handle goes on after cudaFree of its workspace",
        used_after_cuda_free);
  c.add("handed_on_while_queued", arm_kind::fault,
        "freed to the pool on another stream while a product is queued, and given to somebody else",
        handed_on_while_queued);
  c.add("shared_by_two_handles", arm_kind::fault, "two handles with a stream each in one workspace",
        on_two_streams(handles::two, workspaces::shared));
  c.add("shared_by_two_streams", arm_kind::fault, "one handle on two streams in one workspace",
        on_two_streams(handles::one, workspaces::shared));
  for (arm& a : c.arms)
    if (a.name == "handed_on_while_queued" || a.name.starts_with("shared_by_two_")) {
      a.timeout = given_up_after;  // their time ran out in the records of an H100 and an H200
      a.rarely_calls_driver = true;
    }
  const std::string why = "who writes first to a workspace that several use, or that is no longer there";
  c.repeat_undefined({"unmapped_while_queued", "cuda_free_while_queued", "used_after_cuda_free"}, why);
  // Each takes the whole time.
  c.repeat_undefined({"handed_on_while_queued", "shared_by_two_handles", "shared_by_two_streams"}, why, 2);

  c.add("sixteen_kib", arm_kind::remedy, "16 KiB in place of none", larger(sufficient, "16 KiB"));
  c.add("recommended_size", arm_kind::remedy, "32 MiB in place of none", larger(recommended, "32 MiB"));
  c.add("back_to_pool", arm_kind::remedy, "the library's own pool in place of a workspace of no bytes",
        back_to_the_pool);
  c.add("align", arm_kind::remedy, "an aligned workspace in place of a misaligned one", align_it);
  c.add("set_again", arm_kind::remedy, "cublasSetWorkspace again after cublasSetStream", set_it_again);
  c.add("wait_then_unmap", arm_kind::remedy, "wait for the stream before unmapping", wait_then_unmap)
      .against = "unmapped_while_queued";
  c.add("back_to_pool_then_free", arm_kind::remedy, "cublasSetStream before cudaFree",
        back_to_the_pool_then_free)
      .against = "used_after_cuda_free";
  c.add("free_in_order", arm_kind::remedy, "cudaFreeAsync on the stream of the product", free_in_order)
      .against = "handed_on_while_queued";
  c.add("workspace_each", arm_kind::remedy, "a workspace for each handle",
        on_two_streams(handles::two, workspaces::own, order::at_once, "a workspace for each handle"))
      .against = "shared_by_two_handles";
  c.add(
       "pool_of_each_handle", arm_kind::remedy, "two handles with no workspace of the caller's",
       on_two_streams(handles::two, workspaces::the_librarys, order::at_once, "the pools of the two handles"))
      .against = "shared_by_two_handles";
  c.add("pool_of_one_handle", arm_kind::remedy, "one handle on two streams with no workspace of the caller's",
        on_two_streams(handles::one, workspaces::the_librarys, order::at_once, "the pool of the one handle"))
      .against = "shared_by_two_streams";
  c.add("workspace_each_stream", arm_kind::remedy, "one handle, a workspace for each of its streams",
        on_two_streams(handles::one, workspaces::own, order::at_once, "a workspace for each stream"))
      .against = "shared_by_two_streams";
  c.add("one_after_the_other", arm_kind::remedy, "the second stream waits for an event of the first",
        on_two_streams(handles::one, workspaces::shared, order::one_after_the_other,
                       "the second stream waits for the first"))
      .against = "shared_by_two_streams";

  c.add("retry_alone", arm_kind::dead_end, "the same routines again, with no more bytes", retry_alone);
  c.in_tier = {"control", "misaligned", "dropped_by_set_stream", "used_after_cuda_free", "set_again"};
  c.share_process_of({"control", "control_two_streams", "dropped_by_set_stream", "recommended_size", "align",
                      "set_again", "workspace_each", "workspace_each_stream", "one_after_the_other"});
  return c;
}

const register_case here{user_workspace()};

}  // namespace
}  // namespace cufault
