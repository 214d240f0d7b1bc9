// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   A copy of a vector or matrix to or from the device with one wrong argument: sizes, element sizes, increments and leading
//              dimensions; a device pointer in place of a host pointer, and the reverse.
// Why          The helpers pass their pointers to the runtime's copies. On H200, driver 580.159.04, cuBLAS 13.1.0, an error of such a copy
//              becomes CUBLAS_STATUS_MAPPING_ERROR: null, host memory for device memory, freed memory, sizes beyond the memory, a leading
//              dimension above zero and below the rows. A device pointer in place of a host pointer works. A vector of -1 elements ends the
//              process; rows and columns of -1 are refused. Directly after a failed copy, only a valid cublasSetMatrixAsync reports the
//              earlier error: it returns CUBLAS_STATUS_MAPPING_ERROR, but copies. After a failed cublasSetMatrixAsync it does not.
// Documented   cuBLAS library, cublasSetVector and the functions after it: CUBLAS_STATUS_INVALID_VALUE if incx, incy, elemSize, lda or ldb
//              are not above zero, or rows or columns are below it; CUBLAS_STATUS_MAPPING_ERROR for an error in accessing memory. Users
//              report it for bad pointers and for earlier errors: caffe#5399, CNTK#3651, nd4j#35.
// What helps   Not measured here: the case only characterises. A valid pointer, or repairing the earlier error.
// In facts about written memory, A is the operand on the device.
#include "harness/kit/argument_table.hpp"
#include "harness/trial/observe.hpp"

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <string>
#include <thread>
#include <vector>

namespace cufault {
namespace {

using namespace argument_table;

constexpr int elements = 24, rows = 8, columns = 12, ld = 16, element_size = 4;

enum class direction { to_device, from_device };

/// Operands of a copy in parameter order.
argument source(direction way, const char* name) {
  return way == direction::to_device ? argument{name, role::host_array} : argument{name, role::input};
}
argument target(direction way, const char* name) {
  return way == direction::to_device ? argument{name, role::output} : argument{name, role::host_array};
}
std::byte* source_of(direction way, const buffers& b) {
  return way == direction::to_device ? b.host() : b.device(0);
}
std::byte* target_of(direction way, const buffers& b) {
  return way == direction::to_device ? b.device(0) : b.host();
}

/// `stream` is given if the function has one: the default stream.
template <class F, class... S>
row_maker vector_copy(const std::string& name, F f, direction way, S... stream) {
  return [=](cublasHandle_t /*handle*/, const buffers& b, depth how_deep) {
    std::vector<argument> names{{"n", role::size}, {"elemSize", role::element_size},
                                source(way, "x"),  {"incx", role::spacing},
                                target(way, "y"),  {"incy", role::spacing}};
    if constexpr (sizeof...(S) > 0) names.push_back({"stream", role::kept});
    return rows_of(name, f, names, b, how_deep, elements, element_size, source_of(way, b), 1,
                   target_of(way, b), 1, stream...);
  };
}

template <class F, class... S>
row_maker matrix_copy(const std::string& name, F f, direction way, S... stream) {
  return [=](cublasHandle_t /*handle*/, const buffers& b, depth how_deep) {
    std::vector<argument> names{{"rows", role::size},
                                {"cols", role::size},
                                {"elemSize", role::element_size},
                                source(way, "A"),
                                {"lda", role::leading_dimension, rows},
                                target(way, "B"),
                                {"ldb", role::leading_dimension, rows}};
    if constexpr (sizeof...(S) > 0) names.push_back({"stream", role::kept});
    return rows_of(name, f, names, b, how_deep, rows, columns, element_size, source_of(way, b), ld,
                   target_of(way, b), ld, stream...);
  };
}

/// A copy that is valid except for its operand on the device.
struct copy {
  const char* name;
  cublasStatus_t (*call)(void* on_device, void* on_host);
};
constexpr cudaStream_t default_stream = nullptr;
constexpr copy all_copies[]{
    {"cublasSetVector", [](void* d, void* h) { return cublasSetVector(elements, element_size, h, 1, d, 1); }},
    {"cublasGetVector", [](void* d, void* h) { return cublasGetVector(elements, element_size, d, 1, h, 1); }},
    {"cublasSetMatrix",
     [](void* d, void* h) { return cublasSetMatrix(rows, columns, element_size, h, ld, d, ld); }},
    {"cublasGetMatrix",
     [](void* d, void* h) { return cublasGetMatrix(rows, columns, element_size, d, ld, h, ld); }},
    {"cublasSetVectorAsync",
     [](void* d, void* h) {
       return cublasSetVectorAsync(elements, element_size, h, 1, d, 1, default_stream);
     }},
    {"cublasGetVectorAsync",
     [](void* d, void* h) {
       return cublasGetVectorAsync(elements, element_size, d, 1, h, 1, default_stream);
     }},
    {"cublasSetMatrixAsync",
     [](void* d, void* h) {
       return cublasSetMatrixAsync(rows, columns, element_size, h, ld, d, ld, default_stream);
     }},
    {"cublasGetMatrixAsync", [](void* d, void* h) {
       return cublasGetMatrixAsync(rows, columns, element_size, d, ld, h, ld, default_stream);
     }}};

/// Every copy directly after every failed one. Each pair has its own thread: the runtime keeps its last error by thread, and rows must not
/// see another's.
std::vector<row> after_failure(cublasHandle_t /*handle*/, const buffers& b, depth /*how_deep*/) {
  std::vector<row> made;
  for (const copy& failing : all_copies)
    for (const copy& next : all_copies)
      made.push_back({next.name, "after", std::string("a failed ") + failing.name,
                      [&failing, &next, d = b.device(0), h = b.host()] {
                        int device = 0;
                        CUFAULT_REQUIRE(cudaGetDevice(&device));
                        cublasStatus_t first{}, second{};
                        cudaError_t placed{};
                        std::thread([&] {
                          placed = cudaSetDevice(device);
                          first = failing.call(nullptr, h);
                          second = next.call(d, h);
                        }).join();
                        CUFAULT_REQUIRE(placed);
                        return first == CUBLAS_STATUS_SUCCESS ? answer(second, {{"first_succeeded", true}})
                                                              : answer(second);
                      }});
  return made;
}

failure_case copy_table() {
  constexpr auto set = direction::to_device, get = direction::from_device;
  table_case c("arguments.copies", "copies of vectors and matrices with one argument changed", {"S3-3"});
  c.everything("vectors", "cublasSetVector and cublasGetVector, every change",
               {vector_copy("cublasSetVector", cublasSetVector, set),
                vector_copy("cublasGetVector", cublasGetVector, get)});
  c.everything("matrices", "cublasSetMatrix and cublasGetMatrix, every change",
               {matrix_copy("cublasSetMatrix", cublasSetMatrix, set),
                matrix_copy("cublasGetMatrix", cublasGetMatrix, get)});
  c.everything("queued", "copies of vectors on a stream, every change",
               {vector_copy("cublasSetVectorAsync", cublasSetVectorAsync, set, default_stream),
                vector_copy("cublasGetVectorAsync", cublasGetVectorAsync, get, default_stream)});
  c.on_the_host("queued_matrices", "copies of matrices on a stream",
                {matrix_copy("cublasSetMatrixAsync", cublasSetMatrixAsync, set, default_stream),
                 matrix_copy("cublasGetMatrixAsync", cublasGetMatrixAsync, get, default_stream)});
  c.on_the_host("wide", "copies of 64 bits",
                {vector_copy("cublasSetVector_64", cublasSetVector_64, set),
                 vector_copy("cublasGetVector_64", cublasGetVector_64, get),
                 matrix_copy("cublasSetMatrix_64", cublasSetMatrix_64, set),
                 matrix_copy("cublasGetMatrix_64", cublasGetMatrix_64, get)});
  // Matrices first: after a failed copy, a valid cublasSetMatrixAsync reports the earlier failure.
  c.on_the_host("queued_wide", "the same on a stream",
                {matrix_copy("cublasSetMatrixAsync_64", cublasSetMatrixAsync_64, set, default_stream),
                 matrix_copy("cublasGetMatrixAsync_64", cublasGetMatrixAsync_64, get, default_stream),
                 vector_copy("cublasSetVectorAsync_64", cublasSetVectorAsync_64, set, default_stream),
                 vector_copy("cublasGetVectorAsync_64", cublasGetVectorAsync_64, get, default_stream)});
  c.on_the_host("after_failure", "valid copies, each right behind one that failed", {after_failure})
      .claims = {};
  c.failures = {"F-ARG-10", "F-ARG-12"};
  c.in_tier = {"control", "matrices"};
  return c;  // NOLINT(cppcoreguidelines-slicing): what it adds builds arms
}

const register_case here{copy_table()};

}  // namespace
}  // namespace cufault
