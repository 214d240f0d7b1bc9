// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   While a kernel on another stream waits for a later action of the host: the first cublasCreate or cublasLtCreate of a
//              process, its first product, cublasDestroy and cudaFree. None had ended when the arm was given up. A further cublasCreate and
//              cudaMalloc return at once.
// Why          Loading code at its first use, destroying handles and freeing memory may wait for everything on the device.
// Documented   CUDA Programming Guide, Lazy Loading: loading a kernel may require context synchronisation, so kernels that wait for each
//              other must be loaded first. cublasDestroy implies cudaDeviceSynchronize. xla#5103, torchcomms#2334, nvbench#136, uccl#220.
// What helps   Recommended: creating and warming up first; ending the wait before destroying; CUDA_MODULE_LOADING=EAGER, with which the
//              first product still waits, as measured.
// The kernel would end after a minute. Each arm is given up long before, once, and this is its observation: the call did not return in that
// time.
#include "harness/kit/held_streams.hpp"
#include "harness/kit/lt_problem.hpp"
#include "harness/kit/products.hpp"
#include "harness/trial/observe.hpp"
#include "kernels/faults.hpp"

namespace cufault {
namespace {

/// A kernel that waits for the host, on a stream that no other stream waits for.
class waiting_kernel {
 public:
  void end() {
    held_.let_go();
    cudaStreamSynchronize(stream_);
  }

 private:
  cudaStream_t stream_ = new_stream();
  held_streams held_{{stream_}, 60'000};
};

constexpr product_extents extents{128, 96, 160};

/// A handle on its own stream, which has run a kernel of cufault and none of cuBLAS.
cublasHandle_t handle_on_a_stream() {
  const cublasHandle_t handle = new_handle();
  const cudaStream_t stream = new_stream();
  CUFAULT_REQUIRE(cublasSetStream(handle, stream));
  CUFAULT_REQUIRE(launch_delay(stream, 0));
  CUFAULT_REQUIRE(cudaStreamSynchronize(stream));
  return handle;
}

/// A product that is complete before the kernel's wait ends.
void multiply_meanwhile(cublasHandle_t handle, large_product& first, waiting_kernel& waiting) {
  cudaStream_t stream = nullptr;
  CUFAULT_REQUIRE(cublasGetStream(handle, &stream));
  CUFAULT_OBSERVE_AS("cublasSgemm", "unchecked", first.start(handle));
  CUFAULT_OBSERVE(cudaStreamSynchronize(stream));
  waiting.end();
  CUFAULT_OBSERVE_AS("cudaDeviceSynchronize", "numbers_of_product", first.finish());
}

// ---- control ----

void control(trial& t) {
  context_with_faults(t);
  create_and_multiply();
  large_product numbers(extents);
  const cublasHandle_t handle = handle_on_a_stream();
  CUFAULT_OBSERVE_AS("cublasSgemm", "", numbers.multiply(handle));
  CUFAULT_OBSERVE(cublasDestroy(handle));
  observed_lt_handle();
  void* memory = nullptr;
  CUFAULT_OBSERVE(cudaMalloc(&memory, 1 << 20));
  CUFAULT_OBSERVE(cudaFree(memory));
}

// ---- faults: what is called while the kernel waits; where that returns, the work must be right ----

void create(trial& t) {
  context_with_faults(t);
  waiting_kernel waiting;
  const cublasHandle_t handle = observed_handle();
  waiting.end();
  CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(handle));
}

void first_product(trial& t) {
  context_with_faults(t);
  large_product numbers(extents);
  const cublasHandle_t handle = handle_on_a_stream();
  waiting_kernel waiting;
  multiply_meanwhile(handle, numbers, waiting);
}

void destroy(trial& t) {
  context_with_faults(t);
  cublasHandle_t const handle = new_handle();
  CUFAULT_REQUIRE(product(handle));
  const waiting_kernel waiting;
  CUFAULT_OBSERVE(cublasDestroy(handle));
}

void free_memory(trial& t) {
  context_with_faults(t);
  void* memory = nullptr;
  CUFAULT_REQUIRE(cudaMalloc(&memory, 1 << 20));
  const waiting_kernel waiting;
  CUFAULT_OBSERVE(cudaFree(memory));
}

// ---- remedies, in place from the start: nothing comes back from a hang ----

void create_first(trial& t) {
  context_with_faults(t);
  t.apply("create one handle, and nothing more, before the kernel that waits is launched");
  cublasHandle_t first = nullptr, behind = nullptr;
  CUFAULT_OBSERVE(cublasCreate(&first));
  waiting_kernel waiting;
  CUFAULT_OBSERVE(cublasCreate(&behind));
  waiting.end();
  CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(behind));
}

void warm_up_first(trial& t) {
  context_with_faults(t);
  t.apply("create the handle and compute one product before the kernel that waits is launched");
  large_product numbers(extents);
  const cublasHandle_t handle = handle_on_a_stream();
  CUFAULT_OBSERVE_AS("cublasSgemm", "", numbers.multiply(handle));
  waiting_kernel waiting;
  multiply_meanwhile(handle, numbers, waiting);
}

void load_eagerly(trial& t) {
  context_with_faults(t);
  t.apply("CUDA_MODULE_LOADING=EAGER, and the handle created before the kernel that waits is launched");
  large_product numbers(extents);
  const cublasHandle_t handle = handle_on_a_stream();
  waiting_kernel waiting;
  multiply_meanwhile(handle, numbers, waiting);
}

// ---- the case ----

void behind_waiting_kernel(failure_case& c) {
  const auto add = [&](const char* name, arm_kind kind, const char* summary, void (*body)(trial&),
                       bool eager = false) -> arm& {
    arm& a = c.add(name, kind, summary, body);
    if (eager) a.environment["CUDA_MODULE_LOADING"] = "EAGER";
    a.timeout = std::chrono::seconds(eager ? 30 : 10);  // other jobs may use most of the host
    a.rarely_calls_driver = kind == arm_kind::fault;
    return a;
  };
  constexpr bool eagerly = true;
  constexpr std::chrono::seconds unhurried{60};
  add("control", arm_kind::control, "the same calls with nothing that waits", control).timeout = unhurried;
  arm& slower = add("control_eager", arm_kind::control, "the same, eager module loading", control, eagerly);
  slower.timeout = unhurried;

  add("create_lazy", arm_kind::fault, "cublasCreate, lazy module loading", create);
  add("first_product_lazy", arm_kind::fault, "a handle's first product, lazy module loading", first_product);
  add("destroy", arm_kind::fault, "cublasDestroy", destroy);
  add("free", arm_kind::fault, "cudaFree", free_memory);

  add("create_first", arm_kind::remedy, "create one handle first, the other behind the kernel", create_first)
      .against = "create_lazy";
  add("warm_up_first", arm_kind::remedy, "create and warm up first", warm_up_first).against =
      "first_product_lazy";
  arm& eager = add("load_eagerly", arm_kind::remedy, "eager module loading", load_eagerly, eagerly);
  eager.against = "first_product_lazy";
  c.in_tier = {"control", "create_lazy", "create_first"};
}

const register_case here("handles.behind_waiting_kernel",
                         "handles created, used first and destroyed while a kernel waits for the host",
                         {"F-LIF-08"}, behind_waiting_kernel);

}  // namespace
}  // namespace cufault
