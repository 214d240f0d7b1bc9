// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   A routine other than a plain product with one wrong argument: gemv, trsm, geam in place, dgmm, and batches whose
//              arrays of pointers lie in host memory, hold null, host or odd addresses, or are the matrices themselves.
// Why          cuBLAS checks on the host what needs no look at memory. An array of pointers is read by the kernel, so that what is
//              wrong with it shows as a damaged context at the next wait, after CUBLAS_STATUS_SUCCESS.
// Documented   cuBLAS library, tables of return values of cublas<t>gemv, trsm, dgmm and geam (in place only with C = A, ldc = lda
//              and transa N, or the same of B); cublas<t>gemmBatched: arrays of pointers "to be placed in device memory";
//              cublas<t>gemmGroupedBatched: every other array in host memory. Complex scalars at 8 mod 16: tenferro-rs#1870.
// What helps   Not measured here: this characterises. For arrays of pointers, the documentation's way: copy them to the device.
//
// In what was written, A, B and C are the first, second and third operand, whatever the routine calls them.
#include "harness/argument_table.hpp"

#include <cublas_v2.h>

#include <cuComplex.h>

#include <chrono>
#include <string>
#include <type_traits>
#include <vector>

namespace cufault {
namespace {

using namespace argument_table;

// No two extents are alike, so that a leading dimension one too small for one operand is not right for another.
constexpr int m = 8, n = 12, k = 16, ld = 16;

template <class T>
constexpr T number(float x) {
  if constexpr (std::is_same_v<T, cuComplex> || std::is_same_v<T, cuDoubleComplex>)
    return {x, 0};
  else
    return static_cast<T>(x);
}
template <class T>
const T one = number<T>(1);
template <class T>
const T zero = number<T>(0);

template <class T, class F>
row_maker gemv(const std::string& name, F f) {
  return [=](cublasHandle_t handle, const buffers& b, depth how_deep) {
    const std::vector<argument> names{{"handle", role::handle},
                                      {"trans", role::enumeration},
                                      {"m", role::size},
                                      {"n", role::size},
                                      {"alpha", role::scalar},
                                      {"A", role::input},
                                      {"lda", role::leading_dimension, m},
                                      {"x", role::input},
                                      {"incx", role::increment},
                                      {"beta", role::scalar},
                                      {"y", role::output},
                                      {"incy", role::increment}};
    return rows_of(name, f, names, b, how_deep, handle, CUBLAS_OP_N, m, n, &one<T>, b.device(0), ld,
                   b.device(1), 1, &zero<T>, b.device(2), 1);
  };
}

template <class T, class F>
row_maker trsm(const std::string& name, F f) {
  return [=](cublasHandle_t handle, const buffers& b, depth how_deep) {
    const std::vector<argument> names{{"handle", role::handle},    {"side", role::enumeration},
                                      {"uplo", role::enumeration}, {"trans", role::enumeration},
                                      {"diag", role::enumeration}, {"m", role::size},
                                      {"n", role::size},           {"alpha", role::scalar},
                                      {"A", role::input, 0, 1},    {"lda", role::leading_dimension, m},
                                      {"B", role::output},         {"ldb", role::leading_dimension, m}};
    return rows_of(name, f, names, b, how_deep, handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N,
                   CUBLAS_DIAG_NON_UNIT, m, n, &one<T>, b.device(0), ld, b.device(1), ld);
  };
}

/// C = A + transposed B; then C in the place of A and of B, where the documentation allows it and where it does not.
template <class T, class F>
row_maker geam(const std::string& name, F f) {
  return [=](cublasHandle_t handle, const buffers& b, depth how_deep) {
    const std::vector<argument> names{{"handle", role::handle},
                                      {"transa", role::enumeration},
                                      {"transb", role::enumeration},
                                      {"m", role::size},
                                      {"n", role::size},
                                      {"alpha", role::scalar},
                                      {"A", role::input},
                                      {"lda", role::leading_dimension, m},
                                      {"beta", role::scalar},
                                      {"B", role::input},
                                      {"ldb", role::leading_dimension, n},
                                      {"C", role::output},
                                      {"ldc", role::leading_dimension, m}};
    auto rows = rows_of(name, f, names, b, how_deep, handle, CUBLAS_OP_N, CUBLAS_OP_T, m, n, &one<T>,
                        b.device(0), ld, &one<T>, b.device(1), ld, b.device(2), ld);

    const auto in_place = [&](const char* change, int operand, cublasOperation_t op, int ldc) {
      const auto at = [&](int of) { return reinterpret_cast<T*>(b.device(of)); };
      T* const a = at(0);
      T* const other = at(1);
      T* const c = at(operand);
      // A square, so that it may be transposed.
      const auto call = [=] {
        return f(handle, operand == 0 ? op : CUBLAS_OP_N, operand == 1 ? op : CUBLAS_OP_N, m, m, &one<T>, a,
                 ld, &one<T>, other, ld, c, ldc);
      };
      rows.push_back({name + " in place", "C", change, call});
    };
    in_place("as A", 0, CUBLAS_OP_N, ld);
    in_place("as A, ldc not lda", 0, CUBLAS_OP_N, m);
    in_place("as A, transposed", 0, CUBLAS_OP_T, ld);
    in_place("as B", 1, CUBLAS_OP_N, ld);
    in_place("as B, ldc not ldb", 1, CUBLAS_OP_N, m);
    in_place("as B, transposed", 1, CUBLAS_OP_T, ld);
    return rows;
  };
}

template <class F>
row_maker dgmm(const std::string& name, F f) {
  return [=](cublasHandle_t handle, const buffers& b, depth how_deep) {
    const std::vector<argument> names{{"handle", role::handle}, {"mode", role::enumeration},
                                      {"m", role::size},        {"n", role::size},
                                      {"A", role::input},       {"lda", role::leading_dimension, m},
                                      {"x", role::input},       {"incx", role::increment},
                                      {"C", role::output},      {"ldc", role::leading_dimension, m}};
    return rows_of(name, f, names, b, how_deep, handle, CUBLAS_SIDE_RIGHT, m, n, b.device(0), ld, b.device(1),
                   1, b.device(2), ld);
  };
}

template <class T, class F>
row_maker batched(const std::string& name, F f) {
  return [=](cublasHandle_t handle, const buffers& b, depth how_deep) {
    const std::vector<argument> names{{"handle", role::handle},
                                      {"transa", role::enumeration},
                                      {"transb", role::enumeration},
                                      {"m", role::size},
                                      {"n", role::size},
                                      {"k", role::size},
                                      {"alpha", role::scalar},
                                      {"Aarray", role::pointer_array, 0, 0},
                                      {"lda", role::leading_dimension, m},
                                      {"Barray", role::pointer_array, 0, 1},
                                      {"ldb", role::leading_dimension, k},
                                      {"beta", role::scalar},
                                      {"Carray", role::pointer_array, 0, 2},
                                      {"ldc", role::leading_dimension, m},
                                      {"batchCount", role::size}};
    return rows_of(name, f, names, b, how_deep, handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one<T>,
                   b.pointers(0), ld, b.pointers(1), ld, &zero<T>, b.pointers(2), ld, buffers::batch);
  };
}

template <class F>
row_maker batched_ex(const std::string& name, F f) {
  return [=](cublasHandle_t handle, const buffers& b, depth how_deep) {
    const std::vector<argument> names{{"handle", role::handle},
                                      {"transa", role::enumeration},
                                      {"transb", role::enumeration},
                                      {"m", role::size},
                                      {"n", role::size},
                                      {"k", role::size},
                                      {"alpha", role::scalar},
                                      {"Aarray", role::pointer_array, 0, 0},
                                      {"Atype", role::enumeration},
                                      {"lda", role::leading_dimension, m},
                                      {"Barray", role::pointer_array, 0, 1},
                                      {"Btype", role::enumeration},
                                      {"ldb", role::leading_dimension, k},
                                      {"beta", role::scalar},
                                      {"Carray", role::pointer_array, 0, 2},
                                      {"Ctype", role::enumeration},
                                      {"ldc", role::leading_dimension, m},
                                      {"batchCount", role::size},
                                      {"computeType", role::enumeration},
                                      {"algo", role::enumeration}};
    return rows_of(name, f, names, b, how_deep, handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one<float>,
                   b.pointers(0), CUDA_R_16F, ld, b.pointers(1), CUDA_R_16F, ld, &zero<float>, b.pointers(2),
                   CUDA_R_16F, ld, buffers::batch, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  };
}

// cublas_v2.h has overloads of it for the compute types of old.
using batched_ex_function = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
                                               int, const void*, const void* const*, cudaDataType, int,
                                               const void* const*, cudaDataType, int, const void*,
                                               void* const*, cudaDataType, int, int, cublasComputeType_t,
                                               cublasGemmAlgo_t);

#if CUBLAS_VER_MAJOR > 12 || (CUBLAS_VER_MAJOR == 12 && CUBLAS_VER_MINOR >= 4)
/// The one group of a grouped product, as its arrays hold it.
struct group {
  cublasOperation_t transa = CUBLAS_OP_N, transb = CUBLAS_OP_N;
  int m = 8, n = 12, k = 16;
  float alpha = 1;
  int lda = ld, ldb = ld;
  float beta = 0;
  int ldc = ld;
  int size = buffers::batch;
};
const group valid_group;

/// The arrays as such, then what stands in them.
std::vector<row> grouped(cublasHandle_t handle, const buffers& b, depth how_deep) {
  const std::string name = "cublasSgemmGroupedBatched";
  const group& g = valid_group;
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
  auto rows = rows_of(name, cublasSgemmGroupedBatched, names, b, how_deep, handle, &g.transa, &g.transb, &g.m,
                      &g.n, &g.k, &g.alpha, b.pointers(0), &g.lda, b.pointers(1), &g.ldb, &g.beta,
                      b.pointers(2), &g.ldc, 1, &g.size);

  const auto* const a = reinterpret_cast<const float* const*>(b.pointers(0));
  const auto* const other = reinterpret_cast<const float* const*>(b.pointers(1));
  auto* const c = reinterpret_cast<float* const*>(b.pointers(2));
  const auto change_in_group = [&]<class V>(const argument& about, V group::*part) {
    for (const auto& [change, value] : changes_of(about, g.*part, b, depth::checked_on_the_host)) {
      group changed = g;
      changed.*part = value;
      rows.push_back({name, "in " + about.name, change, [=] {
                        return cublasSgemmGroupedBatched(handle, &changed.transa, &changed.transb, &changed.m,
                                                         &changed.n, &changed.k, &changed.alpha, a,
                                                         &changed.lda, other, &changed.ldb, &changed.beta, c,
                                                         &changed.ldc, 1, &changed.size);
                      }});
    }
  };
  change_in_group({"transa_array", role::enumeration}, &group::transa);
  change_in_group({"transb_array", role::enumeration}, &group::transb);
  change_in_group({"m_array", role::size}, &group::m);
  change_in_group({"n_array", role::size}, &group::n);
  change_in_group({"k_array", role::size}, &group::k);
  change_in_group({"lda_array", role::leading_dimension, m}, &group::lda);
  change_in_group({"ldb_array", role::leading_dimension, k}, &group::ldb);
  change_in_group({"ldc_array", role::leading_dimension, m}, &group::ldc);
  change_in_group({"group_size", role::size}, &group::size);
  return rows;
}

void run_grouped(trial& t) {
  run(t, {grouped}, depth::everything);
}
#else
void run_grouped(trial& /*t*/) {
  throw not_provoked("built with a CUDA before 12.4, whose headers have no cublasSgemmGroupedBatched");
}
#endif

failure_case routine_table() {
  failure_case c;
  c.name = "arguments.routines";
  c.summary = "gemv, trsm, geam, dgmm and batches by pointers with one argument changed";
  c.failures = {"F-ARG-01", "F-ARG-03", "F-ARG-05", "F-ARG-09", "F-ARG-12"};
  const std::vector<row_maker> vectors{gemv<float>("cublasSgemv", cublasSgemv)};
  const std::vector<row_maker> vectors_types{gemv<double>("cublasDgemv", cublasDgemv),
                                             gemv<cuComplex>("cublasCgemv", cublasCgemv),
                                             gemv<cuDoubleComplex>("cublasZgemv", cublasZgemv)};
  const std::vector<row_maker> vectors_wide{gemv<float>("cublasSgemv_64", cublasSgemv_64)};
  const std::vector<row_maker> triangles{trsm<float>("cublasStrsm", cublasStrsm)};
  const std::vector<row_maker> triangles_types{trsm<double>("cublasDtrsm", cublasDtrsm),
                                               trsm<float>("cublasStrsm_64", cublasStrsm_64),
                                               trsm<double>("cublasDtrsm_64", cublasDtrsm_64)};
  const std::vector<row_maker> sums{geam<float>("cublasSgeam", cublasSgeam)};
  const std::vector<row_maker> sums_types{geam<double>("cublasDgeam", cublasDgeam),
                                          geam<cuDoubleComplex>("cublasZgeam", cublasZgeam)};
  const std::vector<row_maker> diagonals{dgmm("cublasSdgmm", cublasSdgmm)};
  const std::vector<row_maker> diagonals_types{dgmm("cublasDdgmm", cublasDdgmm)};
  const std::vector<row_maker> in_batches{batched<float>("cublasSgemmBatched", cublasSgemmBatched)};
  const std::vector<row_maker> in_batches_types{
      batched<float>("cublasSgemmBatched_64", cublasSgemmBatched_64),
      batched<double>("cublasDgemmBatched", cublasDgemmBatched)};
  const std::vector<row_maker> in_batches_ex{
      batched_ex("cublasGemmBatchedEx", static_cast<batched_ex_function>(cublasGemmBatchedEx))};

  std::vector<row_maker> all;
  const auto add = [&](const char* name, const char* summary, const std::vector<row_maker>& makers,
                       depth how_deep) {
    all.insert(all.end(), makers.begin(), makers.end());
    c.add(name, arm_kind::fault, summary, [=](trial& t) { run(t, makers, how_deep); }).timeout =
        std::chrono::seconds(120);
  };
  // Filled in last: it takes all of them.
  c.add("control", arm_kind::control, "the valid calls", nullptr);
  add("gemv", "cublasSgemv, every change", vectors, depth::everything);
  add("gemv_types", "cublas<t>gemv of the other types", vectors_types, depth::checked_on_the_host);
  add("gemv_64", "cublasSgemv_64", vectors_wide, depth::checked_on_the_host);
  add("trsm", "cublasStrsm, every change", triangles, depth::everything);
  add("trsm_types", "cublas<t>trsm of double and of 64 bits", triangles_types, depth::checked_on_the_host);
  add("geam", "cublasSgeam, every change, and in place", sums, depth::everything);
  add("geam_types", "cublas<t>geam of the other types", sums_types, depth::checked_on_the_host);
  add("dgmm", "cublasSdgmm, every change", diagonals, depth::everything);
  add("dgmm_types", "cublasDdgmm", diagonals_types, depth::checked_on_the_host);
  add("batched", "cublasSgemmBatched, every change", in_batches, depth::everything);
  add("batched_types", "cublas<t>gemmBatched of double and of 64 bits", in_batches_types,
      depth::checked_on_the_host);
  add("batched_ex", "cublasGemmBatchedEx of half, every change", in_batches_ex, depth::everything);
  // Its function is newer than others: where it is missing, nothing but this arm is.
  c.add("grouped", arm_kind::fault, "cublasSgemmGroupedBatched, every change", run_grouped).timeout =
      std::chrono::seconds(120);
  c.arms.front().body = [all](trial& t) { run_valid(t, all); };
  c.quick = {"control", "batched_types"};
  return c;
}

const register_case here{routine_table()};

}  // namespace
}  // namespace cufault
