// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   A product with A, B or C in pageable host memory: heap, stack, a mapped file, or memory no longer registered. Also tried:
//              pinned and registered memory.
// Why          cuBLAS gets an address without its owner. Whether the device can access it depends on the allocation, the device and the
//              driver: some read pageable memory, others do not.
// Documented   A source document says that a CPU pointer gives CUBLAS_STATUS_INVALID_VALUE (S3-5). cuBLAS library, cublas<t>gemm:
//              A, B and C are device pointers; no error is named for others. CUDA Runtime API: cudaDevAttrPageableMemoryAccess and
//              the attributes that each arm records.
// Measured     Where the device has no access to pageable memory: the call returns SUCCESS, never INVALID_VALUE, its kernel ends with
//              an illegal address, and the context is lost. Pinned and registered memory give right numbers, by the host's address, too.
// What helps   Recommended: cudaMalloc and a copy; cudaHostRegister and the address that cudaHostGetDevicePointer gives;
//              cudaMallocManaged. A new handle afterwards is no way on: cublasCreate says NOT_INITIALIZED.
#include "harness/kit/checked_product.hpp"
#include "harness/system/unique_fd.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/mman.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cufault {
namespace {

constexpr int m = 96, n = 80, k = 112;
constexpr std::size_t most_bytes = sizeof(float) * m * k;  // of an operand
constexpr std::size_t page = 4096;

// ---- kinds of memory: filled with the content, released by the end of the process ----

using content = std::span<const std::byte>;

void* on_heap(content bytes, std::byte* /*stack*/) {
  void* const memory = std::aligned_alloc(page, (bytes.size() + page - 1) / page * page);
  if (memory == nullptr) throw setup_failed("no host memory");
  return std::memcpy(memory, bytes.data(), bytes.size());
}

void* on_stack(content bytes, std::byte* stack) {
  return std::memcpy(stack, bytes.data(), bytes.size());
}

void* in_mapped_file(content bytes, std::byte* /*stack*/) {
  const auto path = trial::current().scratch() / "operand";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  const unique_fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  void* const memory = mmap(nullptr, bytes.size(), PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (memory == MAP_FAILED) throw setup_failed("cannot map a file");
  std::filesystem::remove(path);  // the mapping keeps the file
  return memory;
}

/// Without the flags "portable" and "mapped".
void* pinned(content bytes, std::byte* /*stack*/) {
  void* memory = nullptr;
  CUFAULT_REQUIRE(cudaHostAlloc(&memory, bytes.size(), cudaHostAllocDefault));
  return std::memcpy(memory, bytes.data(), bytes.size());
}

void* registered(content bytes, std::byte* stack) {
  void* const memory = on_heap(bytes, stack);
  CUFAULT_REQUIRE(cudaHostRegister(memory, bytes.size(), cudaHostRegisterDefault));
  return memory;
}

void* registered_no_longer(content bytes, std::byte* stack) {
  void* const memory = registered(bytes, stack);
  CUFAULT_REQUIRE(cudaHostUnregister(memory));
  return memory;
}

void* registered_and_asked_for(content bytes, std::byte* stack) {
  void* memory = on_heap(bytes, stack);
  CUFAULT_REQUIRE(cudaHostRegister(memory, bytes.size(), cudaHostRegisterMapped));
  CUFAULT_REQUIRE(cudaHostGetDevicePointer(&memory, memory, 0));
  return memory;
}

void* managed(content bytes, std::byte* /*stack*/) {
  void* memory = nullptr;
  CUFAULT_REQUIRE(cudaMallocManaged(&memory, bytes.size()));
  return std::memcpy(memory, bytes.data(), bytes.size());
}

void* on_device(content bytes, std::byte* /*stack*/) {
  void* memory = nullptr;
  CUFAULT_REQUIRE(cudaMalloc(&memory, bytes.size()));
  CUFAULT_REQUIRE(cudaMemcpy(memory, bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
  return memory;
}

struct kind {
  const char* arm;
  const char* words;
  void* (*make)(content bytes, std::byte* stack);
  bool pageable = false;  ///< what S3-5 speaks of: the others are made for the device to read
};
constexpr kind malloced{"malloc", "heap memory", on_heap, true}, copied{"copy", "device memory", on_device};
constexpr std::array host_kinds{
    malloced,
    kind{"stack", "stack memory", on_stack, true},
    kind{"mapped_file", "a file mapped for reading", in_mapped_file, true},
    kind{"pinned", "memory of cudaHostAlloc", pinned},
    kind{"registered", "registered memory", registered},
    kind{"unregistered", "memory registered no longer", registered_no_longer, true}};
constexpr std::array remedies{
    copied, kind{"register_and_ask", "registered memory, by its device pointer", registered_and_asked_for},
    kind{"managed", "managed memory", managed}};

// ---- products ----

struct use {
  const char* function;
  char operand;
  cublasStatus_t (*call)(const workbench& with, const argument_check::product& described,
                         const lt_operands& at);
};

cublasStatus_t by_sgemm(const workbench& with, const argument_check::product& described,
                        const lt_operands& at) {
  argument_check::product moved = described;
  moved.a.data = at.a, moved.b.data = at.b;
  return sgemm(with.handle, moved, at.d);
}

cublasStatus_t by_lt(const workbench& with, const argument_check::product& described, const lt_operands& at) {
  return lt_problem(described).multiply_by_first(with.lt, at);
}

/// A few uses, since each may end a context: every operand by one of the two functions.
constexpr std::array uses{use{"cublasSgemm", 'A', by_sgemm}, use{"cublasSgemm", 'C', by_sgemm},
                          use{"cublasLtMatmul", 'B', by_lt}, use{"cublasLtMatmul", 'C', by_lt}};

/// One operand is in this kind of memory, the others are on the device. Copies a result back to check it.
product_result multiply_with_operand_in(const workbench& with, const use& how, const kind& where) {
  alignas(page) std::array<std::byte, most_bytes> stack;
  argument_check::product described;
  described.m = m, described.n = n, described.k = k;
  checked_product p(described);
  return p.by([&] {
    const guarded_array& moved = how.operand == 'A' ? p.a : how.operand == 'B' ? p.b : p.c;
    std::vector<std::byte> bytes(moved.size() * sizeof(float));
    CUFAULT_REQUIRE(cudaMemcpy(bytes.data(), moved.data(), bytes.size(), cudaMemcpyDeviceToHost));
    void* const memory = where.make(bytes, stack.data());
    lt_operands at = p.operands();
    if (&moved == &p.a) at.a = memory;
    if (&moved == &p.b) at.b = memory;
    if (&moved == &p.c) at.c = at.d = memory;
    const cublasStatus_t status = how.call(with, p.described(), at);
    if (&moved == &p.c && status == CUBLAS_STATUS_SUCCESS && cudaDeviceSynchronize() == cudaSuccess)
      CUFAULT_REQUIRE(cudaMemcpy(p.c.data(), memory, bytes.size(), cudaMemcpyDefault));
    return status;
  });
}

std::string words_for(const use& how, const kind& where) {
  return fmt::format("{} with {} in {}", how.function, how.operand, where.words);
}

void observe_product(const workbench& with, const use& how, const kind& where) {
  observe_call(named_by_words(words_for(how, where)),
               [&] { return multiply_with_operand_in(with, how, where); });
}

/// Loads the kernels, so that only the operands matter.
workbench open(trial& t) {
  t.open_context();
  workbench made;
  CUFAULT_REQUIRE(product(made.handle));
  CUFAULT_REQUIRE(lt_product(made.lt));
  return made;
}

void measure_attributes(trial& t) {
  using attribute = std::pair<cudaDeviceAttr, const char*>;
  for (const auto& [which, name] :
       {attribute{cudaDevAttrPageableMemoryAccess, "cudaDevAttrPageableMemoryAccess"},
        attribute{cudaDevAttrPageableMemoryAccessUsesHostPageTables,
                  "cudaDevAttrPageableMemoryAccessUsesHostPageTables"},
        attribute{cudaDevAttrConcurrentManagedAccess, "cudaDevAttrConcurrentManagedAccess"},
        attribute{cudaDevAttrCanUseHostPointerForRegisteredMem,
                  "cudaDevAttrCanUseHostPointerForRegisteredMem"}}) {
    int value = 0;
    CUFAULT_REQUIRE(cudaDeviceGetAttribute(&value, which, t.device()));
    t.measure(name, value);
  }
}

// ---- control, remedies ----

void everything_in(trial& t, const kind& where, const char* remedy) {
  const workbench with = open(t);
  measure_attributes(t);
  if (remedy != nullptr) t.apply(remedy);
  for (const use& each : uses) observe_product(with, each, where);
}

// ---- faults ----

void in_host_memory(trial& t, const kind& where) {
  t.for_each_row(uses.size(), [&]() -> trial::row_function {
    return [&, with = open(t)](std::size_t row) {
      if (row == 0) measure_attributes(t);
      observe_product(with, uses.at(row), where);
    };
  });
}

// ---- dead ends ----

void go_on_afterwards(trial& t) {
  const workbench with = open(t);
  const product_result first = CUFAULT_OBSERVE_AS("cublasSgemm", "with_A_in_heap_memory",
                                                  multiply_with_operand_in(with, uses.front(), malloced));
  if (first.ok())
    throw not_provoked("this device reads the host's pageable memory: nothing failed to go on after");
  t.apply("cudaGetLastError, then a new handle and operands on the device");
  cudaGetLastError();
  create_and_multiply();
}

// ---- the case ----

void host_memory(failure_case& c) {
  c.control("the operand in device memory", [](trial& t) { everything_in(t, copied, nullptr); });
  for (const kind& each : host_kinds)
    c.fault(
        each.arm, fmt::format("A, B or C in {}", each.words), [&each](trial& t) { in_host_memory(t, each); },
        each.pageable ? std::vector<std::string>{"S3-5"} : std::vector<std::string>{});
  for (const kind& each : remedies) {
    const std::string words = fmt::format("A, B or C in {}", each.words);
    c.remedy(each.arm, words, [&each, words](trial& t) { everything_in(t, each, words.c_str()); }).against =
        malloced.arm;
  }
  c.dead_end("go_on_afterwards", "a new handle and right operands after the failure", go_on_afterwards);
  c.in_tier = {"control", "malloc", "copy"};
  c.share_process_of({"control", "copy", "register_and_ask", "managed"});
}

const register_case here("pointers.host_memory", "an operand in host memory, of each kind", {"F-ARG-03"},
                         host_memory);

}  // namespace
}  // namespace cufault
