// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   cublasSetVector, cublasGetVector, cublasSetMatrix and cublasGetMatrix with an invalid device pointer, with exchanged host
//              and device pointers, and after an unrelated kernel's error.
// Why          Supposed: they pass their pointers to copies of the CUDA runtime, which detect the kind of an address and report errors of
//              earlier device work.
// Documented   cuBLAS library, cublasSetVector and the functions after it: CUBLAS_STATUS_MAPPING_ERROR for an error in accessing GPU
//              memory. Users report it for bad pointers and for earlier errors: caffe#5399, CNTK#3651, nd4j#35.
// Measured     MAPPING_ERROR each time; only the kernel damages the context. After an unnoticed refused launch they succeed and copy
//              correctly.
// What helps   Recommended: a valid pointer; finding and repairing the earlier error. Also tried, since people do: the same copy again.
//              Other wrong arguments: arguments.copies.
#include "harness/kit/elements.hpp"
#include "harness/kit/mapped_memory.hpp"
#include "harness/kit/products.hpp"
#include "harness/trial/observe.hpp"
#include "kernels/faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace cufault {
namespace {

constexpr int rows = 8, columns = 12, ld = 16, elements = ld * columns;

struct copy {
  const char* function;
  bool to_device, of_matrix;
};
/// The first one waits for the device and reports errors of earlier work.
constexpr std::array copies{copy{"cublasGetVector", false, false}, copy{"cublasSetVector", true, false},
                            copy{"cublasGetMatrix", false, true}, copy{"cublasSetMatrix", true, true}};

/// The two pointers in the order of the function.
struct ends {
  void *host, *device;
};

cublasStatus_t call(const copy& how, const ends& between) {
  const void* const from = how.to_device ? between.host : between.device;
  void* const to = how.to_device ? between.device : between.host;
  if (how.of_matrix)
    return (how.to_device ? cublasSetMatrix : cublasGetMatrix)(rows, columns, sizeof(float), from, ld, to,
                                                               ld);
  return (how.to_device ? cublasSetVector : cublasGetVector)(elements, sizeof(float), from, 1, to, 1);
}

/// A prepared copy: numbers on one side, NaN on the other. Made before anything fails.
class transfer {
 public:
  explicit transfer(const copy& how)
      : how_(how), numbers_(small_numbers(elements, fresh_seed())), host_(elements, NAN) {
    if (how.to_device)
      std::copy(numbers_.begin(), numbers_.end(), host_.begin());
    else
      device_.put(numbers_);
  }

  [[nodiscard]] const copy& how() const { return how_; }
  /// The right pointers.
  [[nodiscard]] ends asked() { return {host_.data(), device_.data()}; }

  /// Right: both sides hold the numbers.
  product_result make(const ends& between) {
    product_result result{.status = call(how_, between), .waited = cudaDeviceSynchronize()};
    if (result.status != CUBLAS_STATUS_SUCCESS || result.waited != cudaSuccess) return result;
    std::vector<double> expected(elements, NAN);
    for (int i = 0; i < elements; ++i)
      if (!how_.of_matrix || i % ld < rows) expected[i] = numbers_[i];
    const std::vector<double> on_host(host_.begin(), host_.end()), on_device = device_.get();
    const auto &source = how_.to_device ? on_host : on_device, &target = how_.to_device ? on_device : on_host;
    result.right =
        differing(source, numbers_).empty() && differing(target, expected).empty() && device_.guards_intact();
    return result;
  }

 private:
  copy how_;
  std::vector<double> numbers_;
  std::vector<float> host_;
  guarded_array device_{CUDA_R_32F, elements};
};

std::vector<transfer> all_transfers() {
  std::vector<transfer> all;
  for (const copy& each : copies) all.emplace_back(each);
  return all;
}

/// The work of every arm: the four valid copies.
void observe_copies(std::vector<transfer> all) {
  for (transfer& each : all) observe_call({each.how().function}, [&] { return each.make(each.asked()); });
}

// ---- wrong pointers ----

/// A way to get the pointers wrong.
struct mistake {
  const char* words;
  ends (*made)(const ends& right);
};

ends device_is_on_the_host(const ends& right) {
  static std::array<float, elements> elsewhere;
  return {right.host, elsewhere.data()};
}

/// Addresses that the driver keeps unused.
ends device_is_nowhere(const ends& right) {
  static std::byte* const nowhere = reserve_addresses(mapped_granule);
  return {right.host, nowhere};
}

ends exchanged(const ends& right) {
  return {right.device, right.host};
}

constexpr mistake on_the_host{"host memory for the device's", device_is_on_the_host},
    nowhere{"an address where nothing is", device_is_nowhere},
    swapped{"host and device pointer exchanged", exchanged};

void observe_mistake(transfer& of, const mistake& by) {
  observe_call({of.how().function, variant_of(fmt::format("with {}", by.words))},
               [&] { return of.make(by.made(of.asked())); });
}

// ---- control ----

void control(trial& t) {
  t.open_context();
  observe_copies(all_transfers());
}

// ---- faults ----

void wrong_pointers(trial& t, const std::vector<mistake>& mistakes) {
  t.for_each_row(mistakes.size() * copies.size(), [&]() -> trial::row_function {
    t.open_context();
    return [&](std::size_t row) {
      transfer of(copies.at(row % copies.size()));
      observe_mistake(of, mistakes.at(row / copies.size()));
    };
  });
}

/// Behaves like a program that never checks for errors of its kernels.
void after_a_fault(trial& t) {
  context_with_faults(t);
  auto ready = all_transfers();
  CUFAULT_REQUIRE(launch_fault(device_fault::illegal_address));
  observe_copies(std::move(ready));
}

void after_a_refused_launch(trial& t) {
  context_with_faults(t);
  auto ready = all_transfers();
  if (launch_with_bad_configuration() == cudaSuccess)
    throw not_provoked("the launch that was to be refused was not");
  observe_copies(std::move(ready));
}

// ---- remedies ----

void valid_pointer(trial& t) {
  t.open_context();
  auto mistaken = all_transfers();
  for (transfer& each : mistaken) observe_mistake(each, on_the_host);
  t.apply("a pointer to the device");
  observe_copies(all_transfers());
}

/// Set from the start: a host that reads a device address may crash.
void right_order(trial& t) {
  t.open_context();
  t.apply("host and device pointer where they belong");
  observe_copies(all_transfers());
}

cudaError_t launch_repaired_kernel() {
  constexpr std::size_t count = 1000;
  float* memory = nullptr;
  CUFAULT_REQUIRE(cudaMalloc(&memory, count * sizeof(float)));
  return launch_fill(memory, count, 1, nullptr);
}

void repair_the_kernel(trial& t) {
  context_with_faults(t);
  t.apply("a kernel that stays within its memory, and a look at what it came to");
  CUFAULT_OBSERVE_AS("cudaLaunchKernelExC", "within_bounds", launch_repaired_kernel());
  CUFAULT_OBSERVE(cudaDeviceSynchronize());
  observe_copies(all_transfers());
}

// ---- dead ends ----

void copy_again(trial& t) {
  context_with_faults(t);
  auto ready = all_transfers(), again = all_transfers();
  CUFAULT_REQUIRE(launch_fault(device_fault::illegal_address));
  observe_copies(std::move(ready));
  t.apply("cudaGetLastError, then the same again");
  cudaGetLastError();
  observe_copies(std::move(again));
}

// ---- the case ----

void copies_of_vectors_and_matrices(failure_case& c) {
  c.control("right pointers, no error before", control);
  c.fault("bad_device_pointer", "the device pointer is one of the host, or of nothing", [](trial& t) {
    wrong_pointers(t, {on_the_host, nowhere});
  });
  c.fault("exchanged", "host and device pointer exchanged", [](trial& t) { wrong_pointers(t, {swapped}); });
  c.fault("after_fault", "a kernel before the copies wrote outside of its memory", after_a_fault);
  c.fault("after_refused_launch", "a launch before the copies was refused, and nobody looked",
          after_a_refused_launch);
  c.remedy("valid_pointer", "a pointer to the device instead of one to the host", valid_pointer);
  c.remedy("right_order", "host and device pointer where they belong", right_order).against = "exchanged";
  c.remedy("repair_kernel", "find the earlier error and repair it", repair_the_kernel).against =
      "after_fault";
  c.dead_end("copy_again", "the same copies again after the error", copy_again);
  c.in_tier = {"control", "bad_device_pointer", "after_fault", "valid_pointer"};
  c.share_process_of({"control", "valid_pointer", "right_order"});
}

const register_case here("pointers.copies",
                         "copies to and from the device by wrong pointers, or after an earlier error",
                         {"F-ARG-10"}, copies_of_vectors_and_matrices);

}  // namespace
}  // namespace cufault
