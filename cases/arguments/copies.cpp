// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   A copy of a vector or matrix to or from the device with one wrong argument: sizes, element sizes, increments and
//              leading dimensions; a device pointer where a host pointer is wanted, and the reverse.
// Why          The helpers hand their pointers to cudaMemcpy and cudaMemcpy2D. What those refuse comes back as
//              CUBLAS_STATUS_MAPPING_ERROR; what they cannot tell, they copy.
// Documented   cuBLAS library, cublasSetVector and the functions after it: CUBLAS_STATUS_INVALID_VALUE where incx, incy, elemSize,
//              lda or ldb are not above zero or rows or columns below it, CUBLAS_STATUS_MAPPING_ERROR for an error in accessing
//              memory. Users report it for bad pointers, and for errors of before: caffe#5399, CNTK#3651, nd4j#35.
// What helps   Not measured here: this characterises. A valid pointer, or the earlier error repaired.
//
// In what was written, A is the operand on the device.
#include "harness/argument_table.hpp"

#include <cublas_v2.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace cufault {
namespace {

using namespace argument_table;

constexpr int elements = 24, rows = 8, columns = 12, ld = 16, element_size = 4;

enum class direction { to_device, from_device };

/// Operands of a copy, in the order of its parameters.
argument source(direction way, const char* name) {
  return way == direction::to_device ? argument{name, role::host_array}
                                     : argument{name, role::input, 0, argument::none};
}
argument target(direction way, const char* name) {
  return way == direction::to_device ? argument{name, role::output, 0, argument::none}
                                     : argument{name, role::host_array};
}
std::byte* source_of(direction way, const buffers& b) {
  return way == direction::to_device ? b.host() : b.device(0);
}
std::byte* target_of(direction way, const buffers& b) {
  return way == direction::to_device ? b.device(0) : b.host();
}

/// `stream` is given where the function takes one: the default stream.
template <class F, class... S>
row_maker vector_copy(const std::string& name, F f, direction way, S... stream) {
  return [=](cublasHandle_t /*handle*/, const buffers& b, depth how_deep) {
    std::vector<argument> names{{"n", role::size}, {"elemSize", role::element_size},
                                source(way, "x"),  {"incx", role::increment},
                                target(way, "y"),  {"incy", role::increment}};
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

failure_case copy_table() {
  constexpr auto set = direction::to_device, get = direction::from_device;
  constexpr cudaStream_t default_stream = nullptr;
  failure_case c;
  c.name = "arguments.copies";
  c.summary = "copies of vectors and matrices with one argument changed";
  c.failures = {"F-ARG-10", "F-ARG-12"};
  const std::vector<row_maker> vectors{vector_copy("cublasSetVector", cublasSetVector, set),
                                       vector_copy("cublasGetVector", cublasGetVector, get)};
  const std::vector<row_maker> matrices{matrix_copy("cublasSetMatrix", cublasSetMatrix, set),
                                        matrix_copy("cublasGetMatrix", cublasGetMatrix, get)};
  const std::vector<row_maker> queued{
      vector_copy("cublasSetVectorAsync", cublasSetVectorAsync, set, default_stream),
      vector_copy("cublasGetVectorAsync", cublasGetVectorAsync, get, default_stream)};
  const std::vector<row_maker> queued_matrices{
      matrix_copy("cublasSetMatrixAsync", cublasSetMatrixAsync, set, default_stream),
      matrix_copy("cublasGetMatrixAsync", cublasGetMatrixAsync, get, default_stream)};
  const std::vector<row_maker> wide{vector_copy("cublasSetVector_64", cublasSetVector_64, set),
                                    vector_copy("cublasGetVector_64", cublasGetVector_64, get),
                                    matrix_copy("cublasSetMatrix_64", cublasSetMatrix_64, set),
                                    matrix_copy("cublasGetMatrix_64", cublasGetMatrix_64, get)};
  const std::vector<row_maker> queued_wide{
      vector_copy("cublasSetVectorAsync_64", cublasSetVectorAsync_64, set, default_stream),
      vector_copy("cublasGetVectorAsync_64", cublasGetVectorAsync_64, get, default_stream),
      matrix_copy("cublasSetMatrixAsync_64", cublasSetMatrixAsync_64, set, default_stream),
      matrix_copy("cublasGetMatrixAsync_64", cublasGetMatrixAsync_64, get, default_stream)};

  std::vector<row_maker> all;
  const auto add = [&](const char* name, const char* summary, const std::vector<row_maker>& makers,
                       depth how_deep) {
    all.insert(all.end(), makers.begin(), makers.end());
    c.add(name, arm_kind::fault, summary, [=](trial& t) { run(t, makers, how_deep); }).timeout =
        std::chrono::seconds(120);
  };
  // Filled in last: it takes all of them.
  c.add("control", arm_kind::control, "the valid calls", nullptr);
  add("vectors", "cublasSetVector and cublasGetVector, every change", vectors, depth::everything);
  add("matrices", "cublasSetMatrix and cublasGetMatrix, every change", matrices, depth::everything);
  add("queued", "copies of vectors on a stream, every change", queued, depth::everything);
  add("queued_matrices", "copies of matrices on a stream", queued_matrices, depth::checked_on_the_host);
  add("wide", "copies of 64 bits", wide, depth::checked_on_the_host);
  add("queued_wide", "the same on a stream", queued_wide, depth::checked_on_the_host);
  c.arms.front().body = [all](trial& t) { run_valid(t, all); };
  c.quick = {"control", "wide"};
  return c;
}

const register_case here{copy_table()};

}  // namespace
}  // namespace cufault
