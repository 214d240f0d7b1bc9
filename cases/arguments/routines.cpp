// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   A routine other than a plain product with one wrong argument: gemv, trsm, geam in place, dgmm, and batches whose
//              arrays of pointers lie in host memory, hold null, host or odd addresses, or are the matrices themselves.
// Why          cuBLAS checks on the host a part of what needs no look at memory; the kernel reads an array of pointers. On H200, driver
//              580.159.04, cuBLAS 13.1.0: leading dimensions are refused everywhere, null matrices by gemv only, null arrays of pointers by
//              gemmBatched. With null matrices trsm, geam and dgmm return CUBLAS_STATUS_SUCCESS and damage the context. gemv accepts an
//              operation outside the header, an increment of 0 and negative extents, all with CUBLAS_STATUS_SUCCESS. A null alpha or beta
//              ends the process in gemv and in batches, is refused by trsm and accepted by geam; one in device memory always ends the
//              process. cublasGemmBatchedEx with a batch count of -1 fails to execute, or, with transposed operands, succeeds and writes
//              outside its operands. A wrong array of pointers mostly damages the context after CUBLAS_STATUS_SUCCESS, as does a null one
//              of a grouped product. Other arrays of the grouped product in device memory end the process.
// Documented   cuBLAS library, tables of return values of cublas<t>gemv, trsm, dgmm and geam (in place only with C = A, ldc = lda and
//              transa N, or the same of B); cublas<t>gemmBatched: arrays of pointers "to be placed in device memory";
//              cublas<t>gemmGroupedBatched: every other array in host memory. Complex scalars at 8 mod 16: tenferro-rs#1870. Of the scalars
//              here, which are zeros, the beta of cublasZgemv ends the process at any address not aligned to 16 bytes. Nonzero scalars:
//              pointers.scalar_alignment.
// What helps   Not measured here: the case only characterises. Documented for arrays of pointers: copy them to the device.
// In facts about written memory, A, B and C are the first, second and third operand, whatever the routine calls them.
#include "cases/arguments/gemm_arguments.hpp"
#include "cases/arguments/numbers.hpp"
#include "harness/kit/argument_table.hpp"

#include <cublas_v2.h>
#include <cuda_fp16.h>

#include <cuComplex.h>

#include <cstdint>
#include <string>
#include <vector>

namespace cufault {
namespace {

using namespace argument_table;

std::string named(const std::string& function, cublasOperation_t op) {
  return op == CUBLAS_OP_N ? function : function + " T";
}

template <class T, class F>
row_maker gemv(const std::string& name, F f, cublasOperation_t op = CUBLAS_OP_N) {
  return [=](cublasHandle_t handle, const buffers& b, depth how_deep) {
    const std::vector<argument> names{{"handle", role::handle},
                                      {"trans", role::enumeration},
                                      {"m", role::size},
                                      {"n", role::size},
                                      {"alpha", role::scalar},
                                      {"A", role::input, 0, 0},
                                      {"lda", role::leading_dimension, m},
                                      {"x", role::input, 0, 1},
                                      {"incx", role::increment},
                                      {"beta", role::scalar},
                                      {"y", role::output, 0, 2},
                                      {"incy", role::increment}};
    return rows_of(named(name, op), f, names, b, how_deep, handle, op, m, n, &one<T>, b.device(0), ld,
                   b.device(1), 1, &zero<T>, b.device(2), 1);
  };
}

template <class T, class F>
row_maker trsm(const std::string& name, F f, cublasSideMode_t side = CUBLAS_SIDE_LEFT) {
  return [=](cublasHandle_t handle, const buffers& b, depth how_deep) {
    const bool left = side == CUBLAS_SIDE_LEFT;
    const std::vector<argument> names{
        {"handle", role::handle},    {"side", role::enumeration},
        {"uplo", role::enumeration}, {"trans", role::enumeration},
        {"diag", role::enumeration}, {"m", role::size},
        {"n", role::size},           {"alpha", role::scalar},
        {"A", role::input, 0, 0},    {"lda", role::leading_dimension, left ? m : n},
        {"B", role::output, 0, 1},   {"ldb", role::leading_dimension, m}};
    auto rows =
        rows_of(left ? name : name + " right", f, names, b, how_deep, handle, side, CUBLAS_FILL_MODE_UPPER,
                CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, m, n, &one<T>, b.device(0), ld, b.device(1), ld);
    // Two billion columns do not fail, but exceed a row's time and take half of the arm's.
    std::erase_if(rows, [](const row& r) { return r.argument == "n" && r.change == "huge"; });
    return rows;
  };
}

/// C = A + transposed B; then C in the place of A and B, with and without permission of the documentation.
template <class T, class F>
row_maker geam(const std::string& name, F f) {
  return [=](cublasHandle_t handle, const buffers& b, depth how_deep) {
    const std::vector<argument> names{{"handle", role::handle},
                                      {"transa", role::enumeration},
                                      {"transb", role::enumeration},
                                      {"m", role::size},
                                      {"n", role::size},
                                      {"alpha", role::scalar},
                                      {"A", role::input, 0, 0},
                                      {"lda", role::leading_dimension, m},
                                      {"beta", role::scalar},
                                      {"B", role::input, 0, 1},
                                      {"ldb", role::leading_dimension, n},
                                      {"C", role::output, 0, 2},
                                      {"ldc", role::leading_dimension, m}};
    auto rows = rows_of(name, f, names, b, how_deep, handle, CUBLAS_OP_N, CUBLAS_OP_T, m, n, &one<T>,
                        b.device(0), ld, &one<T>, b.device(1), ld, b.device(2), ld);

    const auto in_place = [&](const char* change, int operand, cublasOperation_t op, int ldc,
                              bool documented_as_wrong) {
      const auto at = [&](int of) { return reinterpret_cast<T*>(b.device(of)); };
      T* const a = at(0);
      T* const other = at(1);
      T* const c = at(operand);
      // Square, so that it may be transposed.
      const auto call = [=] {
        return f(handle, operand == 0 ? op : CUBLAS_OP_N, operand == 1 ? op : CUBLAS_OP_N, m, m, &one<T>, a,
                 ld, &one<T>, other, ld, c, ldc);
      };
      rows.push_back({name + " in place", "C", change, call, role::output, documented_as_wrong});
    };
    in_place("as A", 0, CUBLAS_OP_N, ld, false);
    in_place("as A, ldc not lda", 0, CUBLAS_OP_N, m, true);
    in_place("as A, transposed", 0, CUBLAS_OP_T, ld, true);
    in_place("as B", 1, CUBLAS_OP_N, ld, false);
    in_place("as B, ldc not ldb", 1, CUBLAS_OP_N, m, true);
    in_place("as B, transposed", 1, CUBLAS_OP_T, ld, true);
    return rows;
  };
}

/// An increment of 0 is documented as legal here: a product with one number.
template <class F>
row_maker dgmm(const std::string& name, F f) {
  return [=](cublasHandle_t handle, const buffers& b, depth how_deep) {
    const std::vector<argument> names{{"handle", role::handle},  {"mode", role::enumeration},
                                      {"m", role::size},         {"n", role::size},
                                      {"A", role::input, 0, 0},  {"lda", role::leading_dimension, m},
                                      {"x", role::input, 0, 1},  {"incx", role::any_increment},
                                      {"C", role::output, 0, 2}, {"ldc", role::leading_dimension, m}};
    return rows_of(name, f, names, b, how_deep, handle, CUBLAS_SIDE_RIGHT, m, n, b.device(0), ld, b.device(1),
                   1, b.device(2), ld);
  };
}

template <class T, class F>
row_maker batched(const std::string& name, F f, cublasOperation_t op = CUBLAS_OP_N) {
  return [=](cublasHandle_t handle, const buffers& b, depth how_deep) {
    return rows_of(named(name, op), f, gemm_arguments(op, {.pointer_arrays = true}), b, how_deep, handle, op,
                   op, m, n, k, &one<T>, b.pointers(0), ld, b.pointers(1), ld, &zero<T>, b.pointers(2), ld,
                   buffers::batch);
  };
}

template <class F>
row_maker batched_ex(const std::string& name, F f, cublasOperation_t op = CUBLAS_OP_N) {
  return [=](cublasHandle_t handle, const buffers& b, depth how_deep) {
    return rows_of(named(name, op), f, gemm_arguments(op, {.typed = true, .pointer_arrays = true}), b,
                   how_deep, handle, op, op, m, n, k, &one<float>, b.pointers(0), CUDA_R_16F, ld,
                   b.pointers(1), CUDA_R_16F, ld, &zero<float>, b.pointers(2), CUDA_R_16F, ld, buffers::batch,
                   CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  };
}

// cublas_v2.h overloads it for the older compute types.
using batched_ex_function = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
                                               int, const void*, const void* const*, cudaDataType, int,
                                               const void* const*, cudaDataType, int, const void*,
                                               void* const*, cudaDataType, int, int, cublasComputeType_t,
                                               cublasGemmAlgo_t);

#if CUBLAS_VER_MAJOR > 12 || (CUBLAS_VER_MAJOR == 12 && CUBLAS_VER_MINOR >= 4)
/// The one group of a grouped product, as elements of its arrays.
template <class I>
struct group {
  cublasOperation_t transa = CUBLAS_OP_N, transb = CUBLAS_OP_N;
  I m = 8, n = 12, k = 16;
  float alpha = 1;
  I lda = ld, ldb = ld;
  float beta = 0;
  I ldc = ld;
  I size = buffers::batch;
};
template <class I>
const group<I> valid_group;

/// Changes of the arrays, then of their elements.
template <class I, class F>
row_maker grouped(const std::string& name, F f) {
  return [=](cublasHandle_t handle, const buffers& b, depth how_deep) {
    const group<I>& g = valid_group<I>;
    const std::vector<argument> names{{"handle", role::handle},
                                      {"transa_array", role::host_array},
                                      {"transb_array", role::host_array},
                                      {"m_array", role::host_array},
                                      {"n_array", role::host_array},
                                      {"k_array", role::host_array},
                                      {"alpha_array", role::host_array},
                                      {"Aarray", role::pointer_array, 0, 0},
                                      {"lda_array", role::host_array},
                                      {"Barray", role::pointer_array, 0, 1},
                                      {"ldb_array", role::host_array},
                                      {"beta_array", role::host_array},
                                      {"Carray", role::pointer_array, 0, 2},
                                      {"ldc_array", role::host_array},
                                      {"group_count", role::size},
                                      {"group_size", role::host_array}};
    auto rows =
        rows_of(name, f, names, b, how_deep, handle, &g.transa, &g.transb, &g.m, &g.n, &g.k, &g.alpha,
                b.pointers(0), &g.lda, b.pointers(1), &g.ldb, &g.beta, b.pointers(2), &g.ldc, 1, &g.size);

    const auto* const a = reinterpret_cast<const float* const*>(b.pointers(0));
    const auto* const other = reinterpret_cast<const float* const*>(b.pointers(1));
    auto* const c = reinterpret_cast<float* const*>(b.pointers(2));
    const auto change_in_group = [&]<class V>(const argument& about, V group<I>::*part) {
      for (const auto& [change, value, wrong] : changes_of(about, g.*part, b, depth::checked_on_the_host)) {
        group<I> changed = g;
        changed.*part = value;
        rows.push_back({name, "in " + about.name, change,
                        [=] {
                          return f(handle, &changed.transa, &changed.transb, &changed.m, &changed.n,
                                   &changed.k, &changed.alpha, a, &changed.lda, other, &changed.ldb,
                                   &changed.beta, c, &changed.ldc, 1, &changed.size);
                        },
                        about.what, wrong});
      }
    };
    change_in_group({"transa_array", role::enumeration}, &group<I>::transa);
    change_in_group({"transb_array", role::enumeration}, &group<I>::transb);
    change_in_group({"m_array", role::size}, &group<I>::m);
    change_in_group({"n_array", role::size}, &group<I>::n);
    change_in_group({"k_array", role::size}, &group<I>::k);
    change_in_group({"lda_array", role::leading_dimension, m}, &group<I>::lda);
    change_in_group({"ldb_array", role::leading_dimension, k}, &group<I>::ldb);
    change_in_group({"ldc_array", role::leading_dimension, m}, &group<I>::ldc);
    change_in_group({"group_size", role::size}, &group<I>::size);
    return rows;
  };
}
#endif

failure_case routine_table() {
  const auto batches_ex = static_cast<batched_ex_function>(cublasGemmBatchedEx);
  table_case c("arguments.routines",
               "gemv, trsm, geam, dgmm and batches by pointers with one argument changed", {"S3-3"});
  c.everything("gemv", "cublasSgemv, every change", {gemv<float>("cublasSgemv", cublasSgemv)});
  c.on_the_host(
      "gemv_types", "cublas<t>gemv of the other types, and of a transposed matrix",
      {gemv<float>("cublasSgemv", cublasSgemv, CUBLAS_OP_T), gemv<double>("cublasDgemv", cublasDgemv),
       gemv<cuComplex>("cublasCgemv", cublasCgemv), gemv<cuDoubleComplex>("cublasZgemv", cublasZgemv)});
  c.on_the_host(
      "gemv_64", "cublas<t>gemv_64",
      {gemv<float>("cublasSgemv_64", cublasSgemv_64), gemv<double>("cublasDgemv_64", cublasDgemv_64),
       gemv<cuComplex>("cublasCgemv_64", cublasCgemv_64),
       gemv<cuDoubleComplex>("cublasZgemv_64", cublasZgemv_64)});
  c.everything("trsm", "cublasStrsm, every change", {trsm<float>("cublasStrsm", cublasStrsm)});
  c.on_the_host(
      "trsm_types", "cublas<t>trsm of the other types, of 64 bits, and from the right",
      {trsm<float>("cublasStrsm", cublasStrsm, CUBLAS_SIDE_RIGHT), trsm<double>("cublasDtrsm", cublasDtrsm),
       trsm<cuComplex>("cublasCtrsm", cublasCtrsm), trsm<cuDoubleComplex>("cublasZtrsm", cublasZtrsm),
       trsm<float>("cublasStrsm_64", cublasStrsm_64), trsm<double>("cublasDtrsm_64", cublasDtrsm_64)});
  c.everything("geam", "cublasSgeam, every change, and in place", {geam<float>("cublasSgeam", cublasSgeam)});
  c.on_the_host(
      "geam_types", "cublas<t>geam of the other types, and of 64 bits",
      {geam<double>("cublasDgeam", cublasDgeam), geam<cuComplex>("cublasCgeam", cublasCgeam),
       geam<cuDoubleComplex>("cublasZgeam", cublasZgeam), geam<float>("cublasSgeam_64", cublasSgeam_64)});
  c.everything("dgmm", "cublasSdgmm, every change", {dgmm("cublasSdgmm", cublasSdgmm)});
  c.on_the_host("dgmm_types", "cublas<t>dgmm of the other types, and of 64 bits",
                {dgmm("cublasDdgmm", cublasDdgmm), dgmm("cublasCdgmm", cublasCdgmm),
                 dgmm("cublasZdgmm", cublasZdgmm), dgmm("cublasSdgmm_64", cublasSdgmm_64)});
  c.everything("batched", "cublasSgemmBatched, every change",
               {batched<float>("cublasSgemmBatched", cublasSgemmBatched)});
  c.on_the_host("batched_types",
                "cublas<t>gemmBatched of the other types, of 64 bits, and of transposed operands",
                {batched<float>("cublasSgemmBatched_64", cublasSgemmBatched_64),
                 batched<float>("cublasSgemmBatched", cublasSgemmBatched, CUBLAS_OP_T),
                 batched<double>("cublasDgemmBatched", cublasDgemmBatched),
                 batched<cuComplex>("cublasCgemmBatched", cublasCgemmBatched),
                 batched<cuDoubleComplex>("cublasZgemmBatched", cublasZgemmBatched),
                 batched<__half>("cublasHgemmBatched", cublasHgemmBatched)});
  c.everything("batched_ex", "cublasGemmBatchedEx of half, every change",
               {batched_ex("cublasGemmBatchedEx", batches_ex)});
  c.on_the_host("batched_ex_64", "cublasGemmBatchedEx_64, and cublasGemmBatchedEx of transposed operands",
                {batched_ex("cublasGemmBatchedEx_64", cublasGemmBatchedEx_64),
                 batched_ex("cublasGemmBatchedEx", batches_ex, CUBLAS_OP_T)});
#if CUBLAS_VER_MAJOR > 12 || (CUBLAS_VER_MAJOR == 12 && CUBLAS_VER_MINOR >= 4)
  c.add_newer("grouped", "cublasSgemmGroupedBatched, every change",
              grouped<int>("cublasSgemmGroupedBatched", cublasSgemmGroupedBatched), depth::everything);
  c.add_newer("grouped_64", "cublasSgemmGroupedBatched_64",
              grouped<std::int64_t>("cublasSgemmGroupedBatched_64", cublasSgemmGroupedBatched_64),
              depth::checked_on_the_host);
#else
  for (const char* name : {"grouped", "grouped_64"})
    c.fault(name, "groups of products, which the headers of this build do not have", [](trial&) {
      throw not_provoked("built with a CUDA before 12.4, whose headers have no cublasSgemmGroupedBatched");
    });
#endif
  c.failures = {"F-ARG-01", "F-ARG-03", "F-ARG-05", "F-ARG-09", "F-ARG-12"};
  c.in_tier = {"control", "grouped_64"};
  return c;  // NOLINT(cppcoreguidelines-slicing): what it adds builds arms
}

const register_case here{routine_table()};

}  // namespace
}  // namespace cufault
