// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Formerly products, after one process loaded, used and unloaded cuBLAS many times (dlopen, dlclose), as plugins do. Resources
//              of handles that are not destroyed before are lost.
// Why          Unloading must undo all registrations of the library with driver and loader.
// Documented   CUDA 11.4 Update 3 release notes, fixed: EXECUTION_FAILED after repeated loading and unloading. A regression guard.
// Measured     H200, driver 580.159.04, cuBLAS 13.1.0: in 21 rounds every product is right. A round leaves nothing on the device and 17 KiB
//              on the host; without destroying the handle 64 MiB on the device and 98 KiB on the host.
// What helps   Loading once.
#include "harness/kit/memory_readings.hpp"
#include "harness/kit/products.hpp"
#include "harness/trial/observe.hpp"

#include <fmt/format.h>

#include <dlfcn.h>
#include <unistd.h>

#include <memory>

namespace cufault {
namespace {

namespace fs = std::filesystem;

constexpr int rounds = 20;

/// Result of a round of work: the loader's message, or the product.
struct round_result {
  load_result loaded;
  product_result multiplied;
  [[nodiscard]] bool ok() const { return loaded.ok() && multiplied.ok(); }
};

status_record record_of(const round_result& result) {
  return result.loaded.ok() ? cufault::record_of(result.multiplied) : cufault::record_of(result.loaded);
}

/// A pair of libraries apart from the one that this program's calls are bound to.
class loaded_cublas {
 public:
  /// Throws binding_error with the loader's message. Loads cuBLASLt first, like bind_cublas.
  explicit loaded_cublas(const cublas_paths& files)
      : lt_(files.cublaslt.empty() ? nullptr : open(files.cublaslt)), cublas_(open(files.cublas)) {}

  template <class Function>
  [[nodiscard]] Function* function(const char* name) const {
    void* found = dlsym(cublas_.get(), name);
    if (found == nullptr) throw not_provoked(fmt::format("this cuBLAS has no {}", name));
    return reinterpret_cast<Function*>(found);
  }

 private:
  struct close {
    void operator()(void* library) const { dlclose(library); }
  };
  using library = std::unique_ptr<void, close>;
  static library open(const fs::path& file) {
    library opened(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL));
    if (!opened) throw binding_error(dlerror());
    return opened;
  }

  library lt_, cublas_;
};

enum class at_the_end { destroy_the_handle, leave_the_handle };

product_result multiply_with(const loaded_cublas& library, at_the_end what) {
  using shape = product_shape;
  product_result result;
  product_operands on;
  cublasHandle_t handle = nullptr;
  const float one = 1, zero = 0;
  if ((result.status = library.function<decltype(cublasCreate)>("cublasCreate_v2")(&handle)) !=
      CUBLAS_STATUS_SUCCESS)
    return result;
  if ((result.waited = prepare_product(fresh_seed(), &on)) != cudaSuccess) return result;
  result.status = library.function<decltype(cublasSgemm)>("cublasSgemm_v2")(
      handle, CUBLAS_OP_N, CUBLAS_OP_N, shape::m, shape::n, shape::k, &one, on.a, shape::lda, on.b,
      shape::ldb, &zero, on.c, shape::ldc);
  if (result.status != CUBLAS_STATUS_SUCCESS) return result;
  product_check check;
  if ((result.waited = check_product(&check)) != cudaSuccess) return result;
  result.right = check.right();
  if (what == at_the_end::destroy_the_handle)
    result.status = library.function<decltype(cublasDestroy)>("cublasDestroy_v2")(handle);
  return result;
}

// A loop is one observation: it returns the first round that was not right.

round_result load_each_time(const cublas_paths& files, int times, at_the_end what) {
  round_result result;
  for (int i = 0; i < times && (i == 0 || result.ok()); ++i) {
    try {
      result.multiplied = multiply_with(loaded_cublas(files), what);
    } catch (const binding_error& e) {
      result.loaded.words = e.what();
    }
  }
  return result;
}

product_result load_once(const cublas_paths& files, int times) {
  const loaded_cublas library(files);
  product_result result;
  for (int i = 0; i < times && (i == 0 || result.ok()); ++i)
    result = multiply_with(library, at_the_end::destroy_the_handle);
  return result;
}

cublas_paths get_ready(trial& t) {
  t.open_context();
  return files_of(t.libraries());
}

/// The first round also makes what stays; the others are measured.
void unload_each_time(trial& t, at_the_end what) {
  const cublas_paths files = get_ready(t);
  if (!CUFAULT_OBSERVE_AS("cublasSgemm", "library_loaded_first_time", load_each_time(files, 1, what)).ok())
    return;
  if (dlopen(files.cublas.c_str(), RTLD_NOW | RTLD_NOLOAD) != nullptr)
    throw not_provoked(files.cublas.string() + " stays loaded after dlclose: there is nothing to load again");
  const std::size_t device_before = free_device_memory(), host_before = resident_host_memory();
  CUFAULT_OBSERVE_AS("cublasSgemm", "library_loaded_each_time", load_each_time(files, rounds, what));
  t.measure("device memory left behind by a round",
            (static_cast<double>(device_before) - static_cast<double>(free_device_memory())) / rounds,
            "bytes");
  t.measure("host memory left behind by a round",
            (static_cast<double>(resident_host_memory()) - static_cast<double>(host_before)) / rounds,
            "bytes");
}

// ---- control ----

void control(trial& t) {
  const cublas_paths files = get_ready(t);
  CUFAULT_OBSERVE_AS("cublasSgemm", "library_loaded_once", load_once(files, rounds));
}

// ---- faults ----

void unload_after_destroying(trial& t) {
  unload_each_time(t, at_the_end::destroy_the_handle);
}

void unload_with_a_handle_left(trial& t) {
  unload_each_time(t, at_the_end::leave_the_handle);
}

// ---- remedies, in place from the start ----

void keep_it_loaded(trial& t) {
  const cublas_paths files = get_ready(t);
  t.apply("load once, for all the work");
  CUFAULT_OBSERVE_AS("cublasSgemm", "library_loaded_once", load_once(files, rounds));
}

// ---- the case ----

void load_and_unload(failure_case& c) {
  c.control("loaded once, used as often", control);

  c.fault("unload", "unloaded after each round, the handle destroyed", unload_after_destroying);
  c.fault("unload_with_handle", "unloaded after each round, the handle not destroyed",
          unload_with_a_handle_left);

  c.remedy("load_once", "load once", keep_it_loaded).against = "unload";
  for (arm& a : c.arms) a.binds_itself = true;  // a bound library stays loaded
}

const register_case here("handles.load_and_unload",
                         "cuBLAS loaded, used and unloaded again and again in one process", {"F-LIF-10"},
                         load_and_unload);

}  // namespace
}  // namespace cufault
