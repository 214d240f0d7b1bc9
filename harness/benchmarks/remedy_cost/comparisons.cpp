// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The work on which remedies are measured. Remedies of the matrix keep their names (cases/remedies); others are named by what a program
// does.
#include "harness/benchmarks/remedy_cost/comparisons.hpp"

#include "harness/benchmarks/remedy_cost/products.hpp"
#include "harness/kit/checked_product.hpp"
#include "harness/kit/operation.hpp"
#include "harness/kit/own_stream.hpp"
#include "harness/matrix/remedy.hpp"
#include "harness/matrix/world.hpp"

#include <cuda_runtime.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

namespace cufault::remedy_cost {
namespace {

constexpr std::size_t kib = 1024, mib = 1024 * kib;

std::shared_ptr<cublasContext> shared_handle() {
  return {new_handle(), [](cublasHandle_t h) { cublasDestroy(h); }};
}

/// Poisons C, makes the call once, and proves C.
template <class Call>
std::function<bool()> proof(std::shared_ptr<timed_product> p, Call call) {
  return [p = std::move(p), call = std::move(call)] {
    p->poison();
    CUFAULT_REQUIRE(cudaDeviceSynchronize());  // the call's stream may not wait for the legacy one
    call();
    return p->right();
  };
}

/// Repeats `call`.
template <class Call>
std::function<void(int)> repeated(Call call) {
  return [call = std::move(call)](int calls) {
    for (int i = 0; i < calls; ++i) call();
  };
}

template <class Call>
running product_by(std::shared_ptr<timed_product> p, Call call) {
  return {repeated(call), proof(std::move(p), call)};
}

/// `call` with a handle of its own.
template <class Call>
running by_handle(const std::shared_ptr<timed_product>& p, Call call) {
  return product_by(p, [handle = shared_handle(), call = std::move(call)] { call(handle.get()); });
}

/// cublasGemmEx by a handle of its own, which `set_up` may change first.
running by_own_handle(
    const std::shared_ptr<timed_product>& p,
    const std::function<void(cublasHandle_t)>& set_up = [](cublasHandle_t) {}) {
  const auto handle = shared_handle();
  set_up(handle.get());
  return product_by(p, [p, handle] { p->by_gemm_ex(handle.get()); });
}

/// cublasLtMatmul with its own handle and workspace.
running by_lt(const std::shared_ptr<timed_product>& p, std::size_t workspace_bytes) {
  const auto call = std::make_shared<lt_product_call>(*p, workspace_bytes);
  return product_by(p, [p, call] { call->multiply(); });
}

prepared of_product(const std::shared_ptr<timed_product>& p, side without, std::vector<side> with) {
  return {p->operations(), p->bytes(), std::move(without), std::move(with)};
}

std::string product_words(const number_kind& kind, const shape& s) {
  return fmt::format("{} in {}, {}", kind.ab == CUDA_R_8F_E4M3 ? "cublasLtMatmul" : "cublasGemmEx",
                     kind.words, s.name());
}

// ---- workspaces ----

struct workspace_size {
  const char *remedy, *words;
  std::size_t bytes;
};
constexpr std::array workspace_sizes{
    workspace_size{"user_workspace_0", "a workspace of 0 bytes of the program's own", 0},
    workspace_size{"user_workspace_64_kib", "a workspace of 64 KiB of the program's own", 64 * kib},
    workspace_size{"user_workspace_1_mib", "a workspace of 1 MiB of the program's own", mib},
    workspace_size{"user_workspace_4_mib", "a workspace of 4 MiB of the program's own", 4 * mib},
    workspace_size{"own_workspace", "a workspace of 32 MiB of the program's own", 32 * mib},
    workspace_size{"user_workspace_64_mib", "a workspace of 64 MiB of the program's own", 64 * mib}};

prepared workspaces_of_cublas(const number_kind& kind, const shape& s) {
  const auto p = std::make_shared<timed_product>(kind, s);
  std::vector<side> with;
  for (const workspace_size& each : workspace_sizes)
    with.push_back({each.remedy, each.words, [p, bytes = each.bytes] {
                      const auto block = std::make_shared<device_block>(bytes);
                      const auto handle = shared_handle();
                      must("cublasSetWorkspace", cublasSetWorkspace(handle.get(), block->address(), bytes));
                      return product_by(p, [p, block, handle] { p->by_gemm_ex(handle.get()); });
                    }});
  return of_product(p, {"", "the handle's own workspace", [p] { return by_own_handle(p); }}, std::move(with));
}

prepared workspaces_of_lt(const number_kind& kind, const shape& s) {
  const auto p = std::make_shared<timed_product>(kind, s, true);
  std::vector<side> with;
  for (const workspace_size& each : workspace_sizes)
    if (each.bytes != 32 * mib)
      with.push_back({each.remedy, each.words, [p, bytes = each.bytes] { return by_lt(p, bytes); }});
  return of_product(p,
                    {"", "a workspace of 32 MiB, as frameworks have it", [p] { return by_lt(p, 32 * mib); }},
                    std::move(with));
}

void add_workspaces(std::vector<comparison>& all, const std::vector<shape>& shapes) {
  for (const char* const name : {"fp32", "tf32", "fp16", "bf16", "fp8"})
    for (const shape& s : shapes) {
      const number_kind& kind = kind_called(name);
      const bool lt = kind.ab == CUDA_R_8F_E4M3;
      all.push_back(
          {fmt::format("workspace.{}.{}", name, s.name()), product_words(kind, s), "device", name,
           [&kind, s, lt] { return lt ? workspaces_of_lt(kind, s) : workspaces_of_cublas(kind, s); }});
    }
}

// ---- less memory ----

/// A layer on a batch in several parts, in FP16: weights, and the activations of a part.
running in_parts(std::int64_t batch, std::int64_t width, int parts) {
  const auto p = std::make_shared<timed_product>(kind_called("fp16"), shape{batch / parts, width, width});
  return by_handle(p, [p, parts](cublasHandle_t handle) {
    for (int i = 0; i < parts; ++i) p->by_gemm_ex(handle);
  });
}

struct batch_parts {
  const char *remedy, *words;
  int parts;
};
constexpr std::array parts_of_batch{batch_parts{"batch_in_2", "the batch in 2 parts", 2},
                                    batch_parts{"batch_in_4", "the batch in 4 parts", 4},
                                    batch_parts{"batch_in_8", "the batch in 8 parts", 8}};

comparison batch_in_parts(std::int64_t batch, std::int64_t width) {
  return {fmt::format("batch.{}x{}", batch, width),
          fmt::format("a layer of {0} x {0} on a batch of {1} in FP16: its products, and memory for weights "
                      "and activations",
                      width, batch),
          "device", "fp16", [=] {
            prepared all;
            all.operations = shape{batch, width, width}.operations();
            all.bytes = 2.0 * static_cast<double>(2 * batch * width + width * width);
            all.without = {"", "the batch at once", [=] { return in_parts(batch, width, 1); }};
            for (const batch_parts& each : parts_of_batch)
              all.with.push_back({each.remedy, each.words,
                                  [=, parts = each.parts] { return in_parts(batch, width, parts); }});
            return all;
          }};
}

/// The product with its own operands.
running with_own_operands(const number_kind& kind, const shape& s) {
  if (kind.ab == CUDA_R_8F_E4M3) return by_lt(std::make_shared<timed_product>(kind, s, true), 32 * mib);
  return by_own_handle(std::make_shared<timed_product>(kind, s));
}

comparison other_types(const shape& s) {
  return {fmt::format("types.{}", s.name()),
          fmt::format("cublasGemmEx in FP32, {}, with its operands", s.name()), "device", "fp32", [=] {
            prepared all;
            all.operations = s.operations();
            all.bytes = 4.0 * static_cast<double>(s.m * s.k + s.k * s.n + s.m * s.n);
            all.without = {"", "FP32", [=] { return with_own_operands(kind_called("fp32"), s); }};
            for (const char* const name : {"tf32", "fp16", "bf16", "fp8"})
              all.with.push_back({fmt::format("{}_for_fp32", name),
                                  fmt::format("{} in place of FP32", kind_called(name).words),
                                  [=] { return with_own_operands(kind_called(name), s); }});
            return all;
          }};
}

/// A training step of layers X(i+1) = W X(i) in FP16: forward, then both products of each layer's backward pass. With `segment` 1 all
/// activations are kept. Else only the first of each segment is, and the others are recomputed.
running training_step(std::int64_t width, std::int64_t tokens, int layers, int segment) {
  struct state {
    std::shared_ptr<cublasContext> handle = shared_handle();
    filled_block weights;
    std::vector<std::unique_ptr<device_block>> activations, gradients;
    device_block weight_gradient;
    state(std::int64_t w, std::int64_t t, int kept)
        : weights(CUDA_R_16F, static_cast<std::size_t>(w * w), 1),
          weight_gradient(static_cast<std::size_t>(w * w) * 2) {
      const std::size_t bytes = static_cast<std::size_t>(w * t) * 2;
      for (int i = 0; i < kept; ++i) activations.push_back(std::make_unique<device_block>(bytes));
      for (int i = 0; i < 2; ++i) gradients.push_back(std::make_unique<device_block>(bytes));
      const filled_block numbers(CUDA_R_16F, static_cast<std::size_t>(w * t), 2);
      for (const auto* const all : {&activations, &gradients})
        for (const auto& each : *all)
          CUFAULT_REQUIRE(cudaMemcpy(each->address(), numbers.data(), bytes, cudaMemcpyDeviceToDevice));
    }
  };
  // Slots for activations: first the inputs of all segments, then those inside one segment.
  const int segments = layers / segment;
  const auto s = std::make_shared<state>(width, tokens, segments + (segment > 1 ? segment - 1 : 0) + 1);
  const auto step = [=] {
    const int w = static_cast<int>(width), t = static_cast<int>(tokens);
    // Whole numbers from -2 to 2 have variance 2: results keep this magnitude.
    const float scaled = 1 / std::sqrt(2 * static_cast<float>(width)), zero = 0;
    const auto multiply = [&](cublasOperation_t a_op, cublasOperation_t b_op, int n, int k, const void* a,
                              const void* b, int ldb, void* c) {
      must("cublasGemmEx",
           cublasGemmEx(s->handle.get(), a_op, b_op, w, n, k, &scaled, a, CUDA_R_16F, w, b, CUDA_R_16F, ldb,
                        &zero, c, CUDA_R_16F, w, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    };
    // The input of a layer. All segments share the slots of their inner activations.
    const auto input = [&](int layer) {
      const int in_segment = layer % segment;
      const int place = in_segment == 0 ? layer / segment : segments + in_segment - 1;
      return s
          ->activations[static_cast<std::size_t>(layer == layers ? static_cast<int>(s->activations.size()) - 1
                                                                 : place)]
          ->address();
    };
    const auto forward = [&](int layer) {
      multiply(CUBLAS_OP_N, CUBLAS_OP_N, t, w, s->weights.data(), input(layer), w, input(layer + 1));
    };
    for (int layer = 0; layer < layers; ++layer) forward(layer);
    for (int first = layers - segment; first >= 0; first -= segment) {
      for (int layer = first; segment > 1 && layer + 1 < first + segment; ++layer) forward(layer);
      for (int layer = first + segment - 1; layer >= first; --layer) {
        void* const from = s->gradients[static_cast<std::size_t>(layer % 2)]->address();
        void* const to = s->gradients[static_cast<std::size_t>((layer + 1) % 2)]->address();
        multiply(CUBLAS_OP_N, CUBLAS_OP_T, w, t, from, input(layer), w, s->weight_gradient.address());
        multiply(CUBLAS_OP_T, CUBLAS_OP_N, t, w, s->weights.data(), from, w, to);
      }
    }
  };
  return {repeated(step)};
}

comparison recompute(std::int64_t width, std::int64_t tokens) {
  constexpr int layers = 8;
  return {fmt::format("recompute.{}x{}", width, tokens),
          fmt::format("a training step of {} layers of {} x {} on {} tokens in FP16, of products alone",
                      layers, width, width, tokens),
          "device", "fp16", [=] {
            prepared all;
            all.operations = 3 * layers * shape{width, tokens, width}.operations();
            all.bytes = 3 * layers * 2.0 * static_cast<double>(width * width + 2 * width * tokens);
            all.without = {"", "all activations are kept",
                           [=] { return training_step(width, tokens, layers, 1); }};
            all.with = {{"recompute", "every fourth activation is kept, the others are computed again",
                         [=] { return training_step(width, tokens, layers, 4); }}};
            return all;
          }};
}

// ---- the library ----

comparison cublas_or_lt(const char* name, const shape& s, const char* clock) {
  const number_kind& kind = kind_called(name);
  return {fmt::format("library.{}.{}", name, s.name()), product_words(kind, s), clock, name, [&kind, s] {
            const auto p = std::make_shared<timed_product>(kind, s);
            return of_product(p, {"", "cublasGemmEx by one handle", [p] { return by_own_handle(p); }},
                              {{"cublaslt", "cublasLtMatmul with 32 MiB, its algorithm chosen once",
                                [p] { return by_lt(p, 32 * mib); }},
                               {"cublaslt_heuristic_each_call",
                                "cublasLtMatmul with 32 MiB, its algorithm chosen for each call", [p] {
                                  const auto call = std::make_shared<lt_product_call>(*p, 32 * mib);
                                  return product_by(p, [p, call] {
                                    call->choose();
                                    call->multiply();
                                  });
                                }}});
          }};
}

comparison numbers(const char* name, const shape& s) {
  const number_kind& kind = kind_called(name);
  return {fmt::format("numbers.{}.{}", name, s.name()), product_words(kind, s), "device", name, [&kind, s] {
            const auto p = std::make_shared<timed_product>(kind, s);
            const auto in_mode = [p](int mode) {
              return [p, mode] {
                return by_own_handle(p, [mode](cublasHandle_t h) {
                  must("cublasSetMathMode", cublasSetMathMode(h, static_cast<cublasMath_t>(mode)));
                });
              };
            };
            return of_product(
                p, {"", "the default math mode", [p] { return by_own_handle(p); }},
                {{"pedantic_math", "CUBLAS_PEDANTIC_MATH", in_mode(CUBLAS_PEDANTIC_MATH)},
                 {"full_precision_reduction", "CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION",
                  in_mode(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)}});
          }};
}

// ---- handles ----

/// Handles that several threads borrow and return.
class handle_pool {
 public:
  explicit handle_pool(int handles) {
    for (int i = 0; i < handles; ++i) free_.push_back(shared_handle());
  }
  template <class Work>
  void with_handle(Work&& work) {
    std::unique_lock lock(mutex_);
    available_.wait(lock, [&] { return !free_.empty(); });
    const std::shared_ptr<cublasContext> mine = std::move(free_.back());
    free_.pop_back();
    lock.unlock();
    std::exception_ptr failed;
    try {
      work(mine.get());
    } catch (...) {
      failed = std::current_exception();
    }
    lock.lock();
    free_.push_back(mine);
    available_.notify_one();
    if (failed) std::rethrow_exception(failed);
  }

 private:
  std::mutex mutex_;
  std::condition_variable available_;
  std::vector<std::shared_ptr<cublasContext>> free_;
};

comparison handles(const char* name, const shape& s) {
  const number_kind& kind = kind_called(name);
  return {fmt::format("handle.{}.{}", name, s.name()), product_words(kind, s) + ", by one thread", "host", "",
          [&kind, s] {
            const auto p = std::make_shared<timed_product>(kind, s);
            const auto new_each = [p] {
              const owned_cublas handle{new_handle()};
              p->by_gemm_ex(handle.get());
            };
            return of_product(
                p, {"", "one handle", [p] { return by_own_handle(p); }},
                {{"new_handle", "a new handle for each call", [=] { return product_by(p, new_each); }, false},
                 {"handle_pool", "a handle from a pool of 4 for each call",
                  [p] {
                    const auto pool = std::make_shared<handle_pool>(4);
                    return product_by(
                        p, [p, pool] { pool->with_handle([&](cublasHandle_t h) { p->by_gemm_ex(h); }); });
                  }},
                 {"new_stream", "a new stream for each call, which is waited for",
                  [p] {
                    return by_handle(p, [p](cublasHandle_t handle) {
                      {
                        const own_stream fresh;
                        must("cublasSetStream", cublasSetStream(handle, fresh.get()));
                        p->by_gemm_ex(handle);
                        must("cudaStreamSynchronize", cudaStreamSynchronize(fresh.get()));
                      }
                      must("cublasSetStream", cublasSetStream(handle, nullptr));
                    });
                  }},
                 {"workspace_again", "the workspace of 32 MiB set anew for each call", [p] {
                    const auto block = std::make_shared<device_block>(32 * mib);
                    return by_handle(p, [p, block](cublasHandle_t handle) {
                      must("cublasSetWorkspace", cublasSetWorkspace(handle, block->address(), 32 * mib));
                      p->by_gemm_ex(handle);
                    });
                  }}});
          }};
}

/// Threads that make equally many calls, each on its own stream and result.
running by_threads(
    const number_kind& kind, const shape& s, int threads,
    const std::function<std::function<void(cudaStream_t, const timed_product&)>()>& new_worker) {
  struct thread_state {
    std::shared_ptr<timed_product> p;
    std::unique_ptr<own_stream> stream = std::make_unique<own_stream>();
    std::function<void(cudaStream_t, const timed_product&)> call;
  };
  const auto states = std::make_shared<std::vector<thread_state>>();
  for (int i = 0; i < threads; ++i)
    states->push_back({.p = std::make_shared<timed_product>(kind, s), .call = new_worker()});
  int device = 0;
  CUFAULT_REQUIRE(cudaGetDevice(&device));
  const auto run = [states, device](int calls) {
    std::vector<std::exception_ptr> failed(states->size());
    {
      std::vector<std::jthread> all;
      for (std::size_t i = 0; i < states->size(); ++i)
        all.emplace_back([&, i] {
          try {
            must("cudaSetDevice", cudaSetDevice(device));
            const thread_state& mine = (*states)[i];
            for (int c = 0; c < calls; ++c) mine.call(mine.stream->get(), *mine.p);
          } catch (...) {
            failed[i] = std::current_exception();
          }
        });
    }
    for (const std::exception_ptr& each : failed)
      if (each) std::rethrow_exception(each);
  };
  const auto right = [states, run] {
    for (const thread_state& each : *states) each.p->poison();
    CUFAULT_REQUIRE(cudaDeviceSynchronize());
    run(1);
    return std::all_of(states->begin(), states->end(),
                       [](const thread_state& each) { return each.p->right(); });
  };
  return {run, right};
}

comparison handles_of_threads(const char* name, const shape& s) {
  constexpr int threads = 4;
  const number_kind& kind = kind_called(name);
  return {fmt::format("threads.{}.{}", name, s.name()),
          fmt::format("{}, a call by each of {} threads on streams of their own", product_words(kind, s),
                      threads),
          "host", "", [&kind, s] {
            const auto call = [](cublasHandle_t handle, cudaStream_t stream, const timed_product& p) {
              must("cublasSetStream", cublasSetStream(handle, stream));
              p.by_gemm_ex(handle);
            };
            const auto from_pool = [&kind, s, call](int handles) {
              return [&kind, s, call, handles] {
                const auto pool = std::make_shared<handle_pool>(handles);
                return by_threads(kind, s, threads, [pool, call] {
                  return [pool, call](cudaStream_t stream, const timed_product& p) {
                    pool->with_handle([&](cublasHandle_t h) { call(h, stream, p); });
                  };
                });
              };
            };
            prepared all;
            all.without = {"", "one handle, which one thread at a time uses", from_pool(1)};
            all.with = {{"handle_pool", "a pool of 2 handles", from_pool(2)},
                        {"handle_for_each_thread", "a handle for each thread", [&kind, s, call] {
                           return by_threads(kind, s, threads, [call] {
                             return [handle = shared_handle(), call](cudaStream_t stream,
                                                                     const timed_product& p) {
                               call(handle.get(), stream, p);
                             };
                           });
                         }}};
            return all;
          }};
}

// ---- each step, each call ----

/// A memory pool for one side, so that it does not reuse memory of another side.
std::shared_ptr<CUmemPoolHandle_st> new_pool(std::uint64_t keeps) {
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  CUFAULT_REQUIRE(cudaGetDevice(&properties.location.id));
  cudaMemPool_t pool = nullptr;
  CUFAULT_REQUIRE(cudaMemPoolCreate(&pool, &properties));
  std::shared_ptr<CUmemPoolHandle_st> owned(pool, [](cudaMemPool_t p) { cudaMemPoolDestroy(p); });
  CUFAULT_REQUIRE(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keeps));
  return owned;
}

comparison pool_step(std::size_t bytes, const shape& s) {
  return {
      fmt::format("pool.{}", s.name()),
      fmt::format(
          "a step that takes {} MiB from a memory pool, makes a product in FP16, {}, gives it back and waits",
          bytes / mib, s.name()),
      "host", "", [bytes, s] {
        const auto p = std::make_shared<timed_product>(kind_called("fp16"), s);
        const auto step = [p, bytes](std::uint64_t keeps, bool trim) {
          return [=]() -> running {
            const auto pool = new_pool(keeps);
            return by_handle(p, [=](cublasHandle_t handle) {
              void* block = nullptr;
              must("cudaMallocFromPoolAsync", cudaMallocFromPoolAsync(&block, bytes, pool.get(), nullptr));
              p->by_gemm_ex(handle);
              must("cudaFreeAsync", cudaFreeAsync(block, nullptr));
              must("cudaStreamSynchronize", cudaStreamSynchronize(nullptr));
              if (trim) must("cudaMemPoolTrimTo", cudaMemPoolTrimTo(pool.get(), 0));
            });
          };
        };
        const auto without_pool = [p, bytes] {
          return by_handle(p, [=](cublasHandle_t handle) {
            void* block = nullptr;
            must("cudaMalloc", cudaMalloc(&block, bytes));
            p->by_gemm_ex(handle);
            must("cudaStreamSynchronize", cudaStreamSynchronize(nullptr));
            must("cudaFree", cudaFree(block));
          });
        };
        return of_product(
            p, {"", "the pool keeps what it has", step(UINT64_MAX, false)},
            {{"trim_pool", "cudaMemPoolTrimTo(pool, 0) after each step", step(UINT64_MAX, true)},
             {"pool_keeps_nothing", "a release threshold of 0, which is the default", step(0, false)},
             {"malloc_each_step", "cudaMalloc and cudaFree in place of the pool", without_pool}});
      }};
}

/// An operation of the matrix, with remedies of the matrix and others that act on each call.
comparison of_matrix_operation(const operation_type& type) {
  return {fmt::format("operation.{}", type.name), type.summary, "host", "", [&type] {
            using after_call = std::function<void(world&)>;
            const auto made = [&type](const after_call& before, const after_call& after) {
              return [&type, before, after]() -> running {
                struct state {
                  world w{timing::synchronised, {}};  // releases its objects before the operation ends
                  std::unique_ptr<operation> o;
                  state() = default;
                  ~state() { w.let_go(); }
                  state(const state&) = delete;
                  state& operator=(const state&) = delete;
                };
                const auto s = std::make_shared<state>();
                s->o = type.fresh();
                s->w.set_operation(s->o.get());
                s->o->prepare();
                if (before) before(s->w);
                const auto call = [s, after] {
                  if (const status_record done = s->o->make(); !done.ok) throw setup_failed(done.text());
                  if (after) after(s->w);
                };
                return {repeated(call), [s, call] {
                          s->o->prepare();
                          call();
                          return s->o->check().ok();
                        }};
              };
            };
            prepared all;
            all.without = {"", "the call alone", made({}, {})};
            for (const remedy_type& each : all_remedies()) {
              if (each.name == "clear_error" || each.name == "wait_and_look")
                all.with.push_back({each.name, each.words + "; after each call", made({}, each.after)});
              if (each.name == "relaxed_capture" ||
                  (each.name == "own_workspace" && type.handle == own_handle::cublas))
                all.with.push_back({each.name, each.words, made(each.before, {})});
            }
            all.with.push_back({"check_each_call",
                                "cudaDeviceSynchronize() and cudaGetLastError() after each call",
                                made({}, [](world&) {
                                  must("cudaDeviceSynchronize", cudaDeviceSynchronize());
                                  must("cudaGetLastError", cudaGetLastError());
                                })});
            all.with.push_back({"look_at_last_error", "cudaGetLastError() after each call",
                                made({}, [](world&) { must("cudaGetLastError", cudaGetLastError()); })});
            return all;
          }};
}

comparison argument_checks(const char* name, const shape& s) {
  const number_kind& kind = kind_called(name);
  return {fmt::format("arguments.{}.{}", name, s.name()), product_words(kind, s), "host", "", [&kind, s] {
            const auto p = std::make_shared<timed_product>(kind, s);
            return of_product(p, {"", "the call alone", [p] { return by_own_handle(p); }},
                              {{"argument_check", "argument_check::check() before each call", [p] {
                                  return by_handle(p, [p](cublasHandle_t handle) {
                                    // Cautions do not keep a program from its call.
                                    for (const auto& each : argument_check::check(p->described()))
                                      if (each.what == argument_check::severity::refused)
                                        throw setup_failed(each.text);
                                    p->by_gemm_ex(handle);
                                  });
                                }}});
          }};
}

// ---- layout ----

/// Before each call copies A (`rows` x `columns`) from `from` to a second array with leading dimension `wide`, like a program that cannot
/// align its operands at the source.
comparison padding(const char* name, const char* remedy, std::int64_t unaligned, std::int64_t aligned) {
  const number_kind& kind = kind_called(name);
  const shape s{aligned, aligned, aligned};
  return {
      fmt::format("padding.{}.{}", name, s.name()),
      fmt::format("{}, of operands that are aligned", product_words(kind, s)), "device", name, [=, &kind] {
        const bool lt = kind.ab == CUDA_R_8F_E4M3;
        // A is transposed on both sides: a column in memory is a row of A with k elements.
        const auto p = std::make_shared<timed_product>(kind, s, true);
        const auto once = [=] { return lt ? by_lt(p, 32 * mib) : by_own_handle(p); };
        return of_product(
            p, {"", "the operands as they are", once},
            {{remedy,
              fmt::format("A of {0} x {0} is copied to rows of {1} before each call", unaligned, aligned),
              [=] {
                const std::size_t size = element_bytes(p->kind().ab);
                const auto narrow = static_cast<std::size_t>(unaligned) * size,
                           wide = static_cast<std::size_t>(aligned) * size;
                // Densely packed rows with A's values.
                const auto source =
                    std::make_shared<device_block>(narrow * static_cast<std::size_t>(unaligned));
                void* const a =
                    const_cast<void*>(p->described().a.data);  // NOLINT: what is copied is what it has
                CUFAULT_REQUIRE(cudaMemcpy2D(source->address(), narrow, a, wide, narrow,
                                             static_cast<std::size_t>(unaligned), cudaMemcpyDeviceToDevice));
                const running product = once();
                const auto call = [=] {
                  must("cudaMemcpy2DAsync", cudaMemcpy2DAsync(a, wide, source->address(), narrow, narrow,
                                                              static_cast<std::size_t>(unaligned),
                                                              cudaMemcpyDeviceToDevice, nullptr));
                  product.run(1);
                };
                return product_by(p, call);
              }}});
      }};
}

/// Cost of an odd extent where no padding is needed.
comparison odd_extents(const char* name, std::int64_t odd, std::int64_t aligned) {
  const number_kind& kind = kind_called(name);
  const shape narrow{odd, odd, odd}, wide{aligned, aligned, aligned};
  return {
      fmt::format("odd.{}.{}", name, narrow.name()), product_words(kind, narrow), "device", name, [=, &kind] {
        prepared all;
        all.operations = narrow.operations();
        all.without = {"", "the extents as they are", [=, &kind] { return with_own_operands(kind, narrow); }};
        all.with = {{fmt::format("pad_{}", name),
                     fmt::format("all extents padded to {}, operands kept so", aligned),
                     [=, &kind] { return with_own_operands(kind, wide); }}};
        return all;
      }};
}

const void* of_batch(const argument_check::matrix& m, std::int64_t i) {
  return static_cast<const std::byte*>(m.data) +
         static_cast<std::size_t>(i * m.stride) * element_bytes(m.type);
}

comparison pointer_arrays(const char* name, const shape& s, std::int64_t batch) {
  const number_kind& kind = kind_called(name);
  return {
      fmt::format("batched.{}.{}.{}", name, s.name(), batch),
      fmt::format("cublasGemmStridedBatchedEx in {}, {} of {}", kind.words, batch, s.name()), "device", name,
      [=, &kind] {
        const auto p = std::make_shared<timed_product>(kind, s, false, batch);
        return of_product(
            p, {"", "strides", [p] { return by_own_handle(p); }},
            {{"pointer_arrays", "cublasGemmBatchedEx with arrays of pointers",
              [p, batch]() -> running {
                const auto& d = p->described();
                std::vector<const void*> host;
                for (const argument_check::matrix* const m : {&d.a, &d.b, &d.c})
                  for (std::int64_t i = 0; i < batch; ++i) host.push_back(of_batch(*m, i));
                const std::size_t bytes = host.size() * sizeof(void*);
                const auto device = std::make_shared<device_block>(bytes);
                CUFAULT_REQUIRE(cudaMemcpy(device->address(), host.data(), bytes, cudaMemcpyHostToDevice));
                return by_handle(p, [=](cublasHandle_t handle) {
                  const auto& q = p->described();
                  auto** const at = static_cast<void**>(device->address());
                  must("cublasGemmBatchedEx",
                       cublasGemmBatchedEx(handle, q.a_op, q.b_op, static_cast<int>(q.m),
                                           static_cast<int>(q.n), static_cast<int>(q.k), q.alpha, at,
                                           q.a.type, static_cast<int>(q.a.leading_dimension), at + batch,
                                           q.b.type, static_cast<int>(q.b.leading_dimension), q.beta,
                                           at + 2 * batch, q.c.type, static_cast<int>(q.c.leading_dimension),
                                           static_cast<int>(batch), q.compute, CUBLAS_GEMM_DEFAULT));
                });
              }},
             {"call_for_each_matrix", "cublasGemmEx for each matrix", [p, batch] {
                return by_handle(p, [=](cublasHandle_t handle) {
                  argument_check::product one = p->described();
                  one.batch = 1;
                  for (std::int64_t i = 0; i < batch; ++i) {
                    one.a.data = of_batch(p->described().a, i);
                    one.b.data = of_batch(p->described().b, i);
                    void* const c = const_cast<void*>(of_batch(p->described().c, i));  // NOLINT: C is written
                    must("cublasGemmEx", gemm_ex(handle, one, c));
                  }
                });
              }}});
      }};
}

}  // namespace

std::vector<comparison> all_comparisons(size how_large) {
  const bool tiny = how_large == size::tiny;
  const auto scaled = [&](std::int64_t usual) { return tiny ? std::min<std::int64_t>(usual, 64) : usual; };
  const std::int64_t square = scaled(4096);
  std::vector<comparison> all;

  // The most requested first, since time may run out.
  for (const char* const name : {"sgemm_64", "sgemm_1024", "gemm_ex_half", "lt_matmul"})
    if (const operation_type* const type = find_operation(name); type != nullptr)
      all.push_back(of_matrix_operation(*type));
  all.push_back(handles("fp16", {scaled(1024), scaled(1024), scaled(1024)}));
  all.push_back(handles_of_threads("fp16", {scaled(256), scaled(256), scaled(256)}));
  all.push_back(argument_checks("fp16", {scaled(64), scaled(64), scaled(64)}));
  all.push_back(argument_checks("fp16", {square, 1, square}));
  all.push_back(pool_step(tiny ? 2 * mib : 256 * mib, {scaled(1024), scaled(1024), scaled(1024)}));
  all.push_back(batch_in_parts(tiny ? 64 : 8192, square));
  all.push_back(batch_in_parts(tiny ? 32 : 512, square));
  all.push_back(other_types({square, square, square}));
  all.push_back(other_types({square, tiny ? 16 : 128, square}));
  all.push_back(recompute(square, square));
  all.push_back(cublas_or_lt("fp16", {square, 1, square}, "host"));
  all.push_back(cublas_or_lt("fp16", {scaled(64), scaled(64), scaled(64)}, "host"));
  all.push_back(cublas_or_lt("fp16", {square, square, square}, "device"));
  all.push_back(cublas_or_lt("fp32", {scaled(1024), scaled(1024), scaled(1024)}, "device"));
  all.push_back(numbers("fp16", {square, square, square}));
  all.push_back(numbers("fp16", {64, 64, tiny ? 64 : 65536}));
  all.push_back(numbers("fp32", {64, 64, tiny ? 64 : 65536}));
  all.push_back(padding("fp8", "pad_fp8", square - 7, square));
  all.push_back(padding("int8", "pad_int8", square - 3, square));
  all.push_back(odd_extents("fp16", square - 1, square));
  all.push_back(odd_extents("bf16", square - 1, square));
  all.push_back(pointer_arrays("fp16", {scaled(256), scaled(256), scaled(256)}, 64));
  all.push_back(pointer_arrays("fp32", {64, 64, 64}, tiny ? 4 : 1024));
  if (tiny)
    add_workspaces(all, {{64, 64, 64}});
  else
    add_workspaces(all, {{4096, 1, 4096},
                         {4096, 128, 4096},
                         {64, 64, 65536},
                         {1024, 1024, 1024},
                         {4096, 4096, 4096},
                         {8192, 8192, 8192}});
  // At tiny sizes some comparisons coincide.
  std::set<std::string> names;
  std::erase_if(all, [&](const comparison& c) { return !names.insert(c.name).second; });
  return all;
}

}  // namespace cufault::remedy_cost
