// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Captured streams, and graphs of what was captured.
#include "cases/operations/operations.hpp"
#include "kernels/product.hpp"

namespace cufault::operations {
namespace {

/// A stream, the graph captured on it, and its executable. Its end ends everything it has begun.
class captured_stream {
 public:
  captured_stream() = default;
  ~captured_stream() { end(); }
  captured_stream(const captured_stream&) = delete;
  captured_stream& operator=(const captured_stream&) = delete;

  [[nodiscard]] cudaStream_t get() const { return stream_.get(); }
  void begin() { CUFAULT_REQUIRE(cudaStreamBeginCapture(get(), cudaStreamCaptureModeThreadLocal)); }
  /// Ends the capture. The executable takes device memory, so this may fail under a fault: then `waited_in` names the call.
  [[nodiscard]] product_result instantiate() {
    product_result result{.waited = cudaStreamEndCapture(get(), &graph_),
                          .waited_in = "cudaStreamEndCapture"};
    if (result.waited == cudaSuccess)
      result = {.waited = cudaGraphInstantiateWithFlags(&executable_, graph_, 0),
                .waited_in = "cudaGraphInstantiateWithFlags"};
    return result;
  }
  cudaError_t launch() { return cudaGraphLaunch(executable_, get()); }
  cudaError_t wait() { return cudaStreamSynchronize(get()); }
  /// Ends what a failed call left unfinished.
  void end() {
    cudaStreamCaptureStatus now{};
    if (cudaStreamIsCapturing(get(), &now) != cudaSuccess || now != cudaStreamCaptureStatusNone)
      cudaStreamEndCapture(get(), &graph_);
    if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
    if (graph_ != nullptr) cudaGraphDestroy(graph_);
    executable_ = nullptr;
    graph_ = nullptr;
    cudaGetLastError();  // clears an error of an invalidated capture, already reported
  }

 private:
  owned_stream stream_ = new_stream();
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

/// A product on its own stream with its own workspace, and a graph of it.
class captured_product : public by_handle {
 public:
  captured_product() {
    CUFAULT_REQUIRE(cublasSetStream(handle(), stream.get()));
    CUFAULT_REQUIRE(cublasSetWorkspace(handle(), workspace_.get(), workspace_bytes));
    // The first product of a process loads its kernel, which a capture should not include.
    refresh();
    CUFAULT_REQUIRE(multiply_on_stream());
    CUFAULT_REQUIRE(stream.wait());
  }
  ~captured_product() override {
    stream.end();
    cublasSetStream(handle(), nullptr);
  }
  captured_product(const captured_product&) = delete;
  captured_product& operator=(const captured_product&) = delete;

 protected:
  void refresh() {
    CUFAULT_REQUIRE(prepare_product(extents, block_.get(), fresh_seed(), &on_, stream.get()));
    CUFAULT_REQUIRE(stream.wait());
  }
  cublasStatus_t multiply_on_stream() { return cufault::sgemm(handle(), extents, on_); }
  void capture() {
    stream.begin();
    CUFAULT_REQUIRE(multiply_on_stream());
    CUFAULT_REQUIRE(stream.instantiate().waited);
  }
  product_result checked() {
    product_result result{.waited = stream.wait()};
    product_check found;
    if (result.waited == cudaSuccess) result.waited = check_product(extents, block_.get(), &found);
    result.right = result.waited == cudaSuccess && found.right();
    return result;
  }
  product_result replayed() {
    const cudaError_t launched = stream.launch();
    return launched == cudaSuccess ? checked() : product_result{.waited = launched};
  }

  captured_stream stream;

 private:
  static constexpr product_extents extents{
      .m = product_shape::m, .n = product_shape::n, .k = product_shape::k};
  static constexpr std::size_t workspace_bytes = 32 << 20;
  owned_memory block_ = new_memory(product_bytes(extents)), workspace_ = new_memory(workspace_bytes);
  product_operands on_{};
};

/// The call becomes nodes of a graph instead of running.
class captured_call final : public captured_product {
 public:
  void prepare() override {
    stream.end();
    refresh();
  }
  void enter() override { stream.begin(); }
  status_record make() override { return record_of(multiply_on_stream()); }
  product_result check() override {
    if (const product_result made = stream.instantiate(); made.waited != cudaSuccess) return made;
    return replayed();
  }
  product_result multiply() override {
    stream.end();
    return captured_product::multiply();
  }
};

/// Without the wait that graph_replay has.
class launch final : public captured_product {
 public:
  launch() { capture(); }
  void prepare() override { refresh(); }
  status_record make() override { return record_of(stream.launch()); }
  product_result check() override { return checked(); }
};

/// With the wait: the driver may allocate for a graph at its first launch.
class replay final : public captured_product {
 public:
  replay() { capture(); }
  void prepare() override { refresh(); }
  status_record make() override {
    const cudaError_t launched = stream.launch();
    return record_of(launched == cudaSuccess ? stream.wait() : launched);
  }
  product_result check() override { return checked(); }
};

/// Its kernel is loaded before, as for graph_capture.
class captured_matmul final : public by_lt_handle {
 public:
  captured_matmul() {
    CUFAULT_REQUIRE(problem_.heuristic(lt(), workspace_bytes, nullptr, 1));
    if (problem_.results().empty()) throw not_provoked("the heuristic knows no algorithm for this product");
    prepare_numbers();
    CUFAULT_REQUIRE(multiply_on_stream());
    CUFAULT_REQUIRE(stream_.wait());
  }
  void prepare() override {
    stream_.end();
    prepare_numbers();
  }
  void enter() override { stream_.begin(); }
  status_record make() override { return record_of(multiply_on_stream()); }
  product_result check() override {
    if (const product_result made = stream_.instantiate(); made.waited != cudaSuccess) return made;
    const cudaError_t launched = stream_.launch();
    if (launched != cudaSuccess) return {.waited = launched};
    return p_.finish(CUBLAS_STATUS_SUCCESS);
  }
  product_result multiply() override {
    stream_.end();
    return by_lt_handle::multiply();
  }

 private:
  void prepare_numbers() {
    p_.reset();
    CUFAULT_REQUIRE(cudaDeviceSynchronize());  // its stream does not wait for the legacy one
  }
  cublasStatus_t multiply_on_stream() {
    return problem_.multiply(lt(), p_.operands(), &problem_.results().front().algo, workspace(),
                             workspace_bytes, stream_.get());
  }
  checked_product p_{usual_product()};
  lt_problem problem_{p_.described()};
  captured_stream stream_;
};

const register_operations here{{.name = "graph_capture",
                                .step = {"cublasSgemm", "captured"},
                                .summary = "cublasSgemm under capture",
                                .fresh = fresh<captured_call>,
                                .uses_private_stream = true},
                               {.name = "graph_launch",
                                .step = {"cudaGraphLaunch", "without_wait"},
                                .summary = "cudaGraphLaunch of a captured product",
                                .fresh = fresh<launch>,
                                .uses_private_stream = true},
                               {.name = "graph_replay",
                                .step = {"cudaGraphLaunch"},
                                .summary = "a captured product replayed",
                                .fresh = fresh<replay>,
                                .representative = true,
                                .uses_private_stream = true},
                               {.name = "lt_capture",
                                .step = {"cublasLtMatmul", "captured"},
                                .summary = "cublasLtMatmul under capture",
                                .fresh = fresh<captured_matmul>,
                                .handle = own_handle::cublaslt,
                                .uses_private_stream = true,
                                .product = by_same_lt_handle}};

}  // namespace
}  // namespace cufault::operations
