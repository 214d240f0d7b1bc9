// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The process that injector_cost measures: makes driver calls like programs and libraries, and reports their times.
//   driver_calls --cpu N [--cupti] [--stand-in]
// The calling thread is pinned to CPU N, threads of the driver are not. --cupti counts every driver call by a CUPTI callback; --stand-in:
// the driver has no device. Prints one line of JSON when ready: {"unavailable": why} or its pieces of work. Then each word read names a
// piece of work; the answer has the calls made in a slice of time, their nanoseconds, and driver calls per call as counted by the injector
// or CUPTI.
#include <cublas_v2.h>
#include <cuda.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <dlfcn.h>
#include <sched.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "cufault/cufault_injector.h"
#if __has_include(<cupti.h>)
#include <cupti.h>
#define CUFAULT_HAVE_CUPTI_HEADER
#endif

namespace {

using clock_type = std::chrono::steady_clock;
using nanoseconds = std::chrono::duration<double, std::nano>;

struct unavailable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void* library(const std::string& name) {
  void* found = dlopen(name.c_str(), RTLD_NOW);
  if (found == nullptr) throw unavailable(dlerror());
  return found;
}

template <class Function>
Function* symbol(void* in, const char* name) {
  void* found = dlsym(in, name);
  if (found == nullptr) throw unavailable(std::string("the library has no ") + name);
  return reinterpret_cast<Function*>(found);
}

// The headers' macros add a version to some names.
#define CUFAULT_SYMBOL(in, name) CUFAULT_SYMBOL_EXPANDED(in, name)
#define CUFAULT_SYMBOL_EXPANDED(in, name) symbol<decltype(::name)>(in, #name)

void must(int result, const char* call) {
  if (result != 0) throw unavailable(std::string(call) + " returned " + std::to_string(result));
}
#define CUFAULT_CALL(in, name, ...) must(static_cast<int>(CUFAULT_SYMBOL(in, name)(__VA_ARGS__)), #name)

// ---- counters ----

#ifdef CUFAULT_HAVE_CUPTI_HEADER
thread_local std::array<std::uint64_t, CUPTI_DRIVER_TRACE_CBID_SIZE> cupti_counts{};

void CUPTIAPI count_call(void*, CUpti_CallbackDomain, CUpti_CallbackId function, const void* data) {
  if (static_cast<const CUpti_CallbackData*>(data)->callbackSite == CUPTI_API_ENTER) ++cupti_counts[function];
}

void start_cupti() {
  // The name in the header's toolkit, else the name in a toolkit's folder.
  void* cupti = dlopen(("libcupti.so." + std::to_string(CUDA_VERSION / 1000)).c_str(), RTLD_NOW);
  if (cupti == nullptr) cupti = library("libcupti.so");
  CUpti_SubscriberHandle subscriber{};
  CUFAULT_CALL(cupti, cuptiSubscribe, &subscriber, count_call, nullptr);
  CUFAULT_CALL(cupti, cuptiEnableDomain, 1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
}

std::uint64_t cupti_total() {
  std::uint64_t sum = 0;
  for (const std::uint64_t each : cupti_counts) sum += each;
  return sum;
}
#else
void start_cupti() {
  throw unavailable("the toolkit that this was built with has no cupti.h");
}
std::uint64_t cupti_total() {
  return 0;
}
#endif

std::uint64_t injector_total() {
  // Resolved at run time: exists only with the injector preloaded.
  static auto* const calls = reinterpret_cast<decltype(&cufault_calls)>(dlsym(RTLD_DEFAULT, "cufault_calls"));
  static auto* const injections =
      reinterpret_cast<decltype(&cufault_injections)>(dlsym(RTLD_DEFAULT, "cufault_injections"));
  if (calls == nullptr) return 0;
  if (injections() != 0) throw std::runtime_error("a rule that was to match nothing matched");
  return calls("cu*");
}

// ---- the work ----

/// Makes `chunk` calls between two looks at the clock; `behind` runs untimed after them.
struct piece_of_work {
  int chunk;
  nanoseconds slice;
  std::function<void(int calls)> make;
  std::function<void()> behind = [] {};
};

/// A line for injector_cost. The first chunk refills caches and is not timed.
std::string run_slice(const piece_of_work& work, const std::function<std::uint64_t()>& counted) {
  const std::uint64_t before = counted();
  work.make(work.chunk);
  work.behind();
  std::uint64_t chunks = 0;
  nanoseconds time{};
  while (time < work.slice) {
    const auto start = clock_type::now();
    work.make(work.chunk);
    time += clock_type::now() - start;
    ++chunks;
    work.behind();
  }
  const auto size = static_cast<double>(work.chunk);
  const auto calls = static_cast<double>(chunks) * size;
  return fmt::format("{} {} {}", calls, time.count(),
                     static_cast<double>(counted() - before) / (calls + size));
}

constexpr nanoseconds short_slice{5e6}, long_slice{10e6};
// Below 1024 pending launches the driver does not block the caller.
constexpr int queued = 256;

class work_list {
 public:
  explicit work_list(bool stand_in) : driver_(library("libcuda.so.1")) {
    CUFAULT_CALL(driver_, cuInit, 0);
    add_version();
    if (stand_in) {
      add_launches(nullptr, nullptr, [] {});
      return;
    }
    open_context();
    add_current_context();
    add_products();  // last, since cuBLAS may be missing
  }

  std::map<std::string, piece_of_work> work;
  nlohmann::ordered_json has;  ///< what of the work is missing, and why

 private:
  template <class Function>
  Function* by_proc_address(const char* name) {
    void* found = nullptr;
    CUdriverProcAddressQueryResult status{};
    CUFAULT_CALL(driver_, cuGetProcAddress, name, &found, CUDA_VERSION, CU_GET_PROC_ADDRESS_DEFAULT, &status);
    if (found == nullptr) throw unavailable(std::string("cuGetProcAddress knows no ") + name);
    return reinterpret_cast<Function*>(found);
  }

  template <class Argument>
  void add_cheap(const std::string& name, CUresult (*function)(Argument*)) {
    work[name] = {1000, short_slice, [name, function](int calls) {
                    Argument argument{};
                    int failed = 0;
                    for (int i = 0; i < calls; ++i) failed |= function(&argument);
                    must(failed, name.c_str());
                  }};
  }

  void add_version() {
    using version = decltype(cuDriverGetVersion);
    add_cheap("version/dlsym", CUFAULT_SYMBOL(driver_, cuDriverGetVersion));
    add_cheap("version/proc_address", by_proc_address<version>("cuDriverGetVersion"));
  }

  void open_context() {
    CUdevice device = 0;
    CUFAULT_CALL(driver_, cuDeviceGet, &device, 0);
    CUcontext context = nullptr;
    CUFAULT_CALL(driver_, cuDevicePrimaryCtxRetain, &context, device);
    CUFAULT_CALL(driver_, cuCtxSetCurrent, context);
    CUFAULT_CALL(driver_, cuStreamCreate, &stream_, CU_STREAM_NON_BLOCKING);
    CUmodule module = nullptr;
    CUfunction kernel = nullptr;
    constexpr const char* nothing =
        ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry nothing() { ret; }\n";
    CUFAULT_CALL(driver_, cuModuleLoadData, &module, nothing);
    CUFAULT_CALL(driver_, cuModuleGetFunction, &kernel, module, "nothing");
    auto* const synchronize = CUFAULT_SYMBOL(driver_, cuStreamSynchronize);
    finish_ = [=, this] { must(synchronize(stream_), "cuStreamSynchronize"); };
    add_launches(kernel, stream_, finish_);
  }

  void add_launches(CUfunction kernel, CUstream stream, const std::function<void()>& behind) {
    auto* const launch = by_proc_address<decltype(cuLaunchKernel)>("cuLaunchKernel");
    work["launch/issue"] = {queued, short_slice,
                            [=](int calls) {
                              int failed = 0;
                              for (int i = 0; i < calls; ++i)
                                failed |= launch(kernel, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
                              if (kernel != nullptr)
                                must(failed, "cuLaunchKernel");  // the stand-in returns its argument
                            },
                            behind};
  }

  void add_current_context() {
    using current = decltype(cuCtxGetCurrent);
    add_cheap("context/dlsym", CUFAULT_SYMBOL(driver_, cuCtxGetCurrent));
    add_cheap("context/proc_address", by_proc_address<current>("cuCtxGetCurrent"));
  }

  /// Products one after another into one matrix, like the layers of a program.
  void add_products() try {
    constexpr int extent = 32;
    constexpr std::size_t elements = extent * extent;
    void* const cublas = library("libcublas.so." + std::to_string(CUBLAS_VER_MAJOR));
    cublasHandle_t handle = nullptr;
    CUFAULT_CALL(cublas, cublasCreate, &handle);
    CUFAULT_CALL(cublas, cublasSetStream, handle, stream_);
    CUdeviceptr memory = 0;
    const auto one = std::uint32_t{0x3f800000};  // 1.0F
    CUFAULT_CALL(driver_, cuMemAlloc, &memory, 3 * elements * sizeof(float));
    CUFAULT_CALL(driver_, cuMemsetD32, memory, one, 3 * elements);
    CUFAULT_CALL(driver_, cuCtxSynchronize);
    auto* const a = reinterpret_cast<float*>(memory);  // NOLINT(performance-no-int-to-ptr): what it is
    auto* const multiply = CUFAULT_SYMBOL(cublas, cublasSgemm);
    const auto products = [=](int calls) {
      const float alpha = 1, beta = 0;
      for (int i = 0; i < calls; ++i) {
        const auto status = multiply(handle, CUBLAS_OP_N, CUBLAS_OP_N, extent, extent, extent, &alpha, a,
                                     extent, a + elements, extent, &beta, a + 2 * elements, extent);
        if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error("cublasSgemm failed");
      }
    };
    products(1);
    finish_();
    std::vector<float> result(elements);
    CUFAULT_CALL(driver_, cuMemcpyDtoH, result.data(), memory + 2 * elements * sizeof(float),
                 elements * sizeof(float));
    if (result != std::vector<float>(elements, extent)) throw std::runtime_error("the product is wrong");
    work["product/issue"] = {queued, short_slice, products, finish_};
    work["product/stream"] = {500, long_slice, [=, this](int calls) {
                                products(calls);
                                finish_();
                              }};
  } catch (const unavailable& why) {
    has["no cublas"] = why.what();
  }

  void* driver_;
  CUstream stream_ = nullptr;
  std::function<void()> finish_;
};

/// Pins this thread alone; the driver's threads run elsewhere.
void pin_to(int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(cpu), &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0)
    throw std::system_error(errno, std::generic_category(),
                            "sched_setaffinity to CPU " + std::to_string(cpu));
}

}  // namespace

int main(int count, char** words) {
  bool cupti = false, stand_in = false;
  int cpu = 0;
  for (int i = 1; i < count; ++i) {
    cupti |= std::string(words[i]) == "--cupti";
    stand_in |= std::string(words[i]) == "--stand-in";
    if (std::string(words[i]) == "--cpu" && i + 1 < count) cpu = std::atoi(words[++i]);
  }
  try {
    if (cupti) start_cupti();
    const work_list all(stand_in);
    pin_to(cpu);
    auto ready = all.has;
    ready["cpu"] = sched_getcpu();
    for (const auto& [name, piece] : all.work) ready["work"].push_back(name);
    std::cout << ready.dump() << std::endl;
    for (std::string name; std::getline(std::cin, name);)
      std::cout << run_slice(all.work.at(name), cupti ? cupti_total : injector_total) << std::endl;
    return 0;
  } catch (const unavailable& why) {
    std::cout << nlohmann::json{{"unavailable", why.what()}}.dump() << std::endl;
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "driver_calls: " << error.what() << std::endl;
    return 1;
  }
}
