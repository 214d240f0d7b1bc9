// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// For any program: needs C++17 and the CUDA headers for their enumerators; nothing of cufault, nothing to link.
#ifndef CUBLASAPI
#define CUBLASAPI  // CUDA 12.0's cublas_api.h wants it from cublas_v2.h, which not every program can include beside this
#endif
#include <cublas_api.h>

#include <library_types.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

/// Finds mistakes in C = alpha op(A) op(B) + beta C before the call: what cuBLAS would refuse, and known mistakes that it accepts silently.
/// Needs only the numbers: reads through no pointer, calls no CUDA function, needs no device.
///
///     product p;
///     p.m = m, p.n = n, p.k = k;
///     p.a = {a, CUDA_R_32F, lda};  p.b = {b, CUDA_R_32F, ldb};  p.c = {c, CUDA_R_32F, ldc};
///     p.alpha = &alpha, p.beta = &beta;
///     for (const problem& each : check(p)) std::cerr << each.argument << ": " << each.text << '\n';
///
/// Source unless another is named: cuBLAS library, CUDA 13.0, the tables of cublas<t>gemm, cublas<t>gemmStridedBatched, cublasGemmEx and
/// cublasLtMatmul. "Not measured yet": neither documentation nor cufault knows what cuBLAS does.
///
/// Compared with cuBLAS 13.1.0 on H200, driver 580.159.04. Of 2033 calls in the tables of cases/arguments 1866 are predicted rightly and
/// 115 wrongly; 52 get only a caution. Numbers cannot tell 70 of the wrong ones. In 39 cuBLAS does not follow its documentation, which is
/// predicted. A null alpha or beta, predicted as refused, ends the process in cublasGemmEx, strided batches and cublasLtMatmul;
/// cublasGemmStridedBatchedEx does not refuse a negative batchCount. Of 1488 combinations of types in types.combinations 1444 are predicted
/// rightly. 11 are refused with the other of the two statuses, 27 predicted as unsupported are right, and 6 wrong.
///
/// Numbers cannot tell: a pointer to host or freed memory, scalars in device memory, a buffer that is too short, a row-major matrix that is
/// square.
namespace cufault::argument_check {

enum class severity {
  refused,  ///< CUBLAS_STATUS_INVALID_VALUE, as documented or, where the documentation is silent, as measured
  unsupported,  ///< likewise CUBLAS_STATUS_NOT_SUPPORTED, from the call or from the heuristic of cuBLASLt
  silent,       ///< accepted; wrong numbers or memory errors follow
  caution       ///< legal as far as documented, and often a mistake
};

struct problem {
  severity what;
  std::string argument;  ///< the parameter in cublasGemmStridedBatchedEx: "lda"
  std::string text;      ///< one line: what is wrong, what to do
};

/// The function that is meant: they differ in the width of extents and the types they accept.
enum class entry {
  cublas,     ///< cublas<t>gemm, cublasGemmEx and their strided batches: extents are int
  cublas_64,  ///< the same with _64 behind the name
  cublas_lt   ///< cublasLtMatmul with D as C, no epilogue, column order
};

/// One operand as it is stored, before its operation.
struct matrix {
  const void* data = nullptr;
  cudaDataType type = CUDA_R_32F;
  std::int64_t leading_dimension = 0;  ///< elements from a column to the next
  std::int64_t stride = 0;             ///< elements from a matrix of the batch to the next
  std::int64_t rows = -1;  ///< what the caller takes its shape to be; -1: not said, and not compared
  std::int64_t columns = -1;
};

struct product {
  entry function = entry::cublas;
  cublasOperation_t a_op = CUBLAS_OP_N, b_op = CUBLAS_OP_N;
  std::int64_t m = 0;  ///< rows of op(A) and C
  std::int64_t n = 0;  ///< columns of op(B) and C
  std::int64_t k = 0;  ///< columns of op(A), rows of op(B)
  std::int64_t batch = 1;
  matrix a, b, c;
  const void *alpha = nullptr, *beta = nullptr;
  cudaDataType scalar = CUDA_R_32F;  ///< what alpha and beta point to
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  int compute_capability = 0;  ///< 90 is 9.0; 0: not said, and taken for Hopper where it matters
};

namespace detail {

/// Copies the bytes: to load an out-of-range value as the enumeration is undefined behaviour.
template <class E>
int number(const E& of) {
  static_assert(std::is_enum_v<E> && sizeof(E) == sizeof(int), "a C enumeration");
  int value = 0;
  std::memcpy(&value, &of, sizeof value);
  return value;
}

/// Bytes, also the alignment; 0 for types below a byte and unknown ones.
inline unsigned element_size(int type) {
  switch (type) {
    case CUDA_R_8I:
    case CUDA_R_8U:
    case CUDA_R_8F_E4M3:
    case CUDA_R_8F_E5M2:
      return 1;
    case CUDA_R_16F:
    case CUDA_R_16BF:
    case CUDA_R_16I:
    case CUDA_R_16U:
    case CUDA_C_8I:
    case CUDA_C_8U:
      return 2;
    case CUDA_R_32F:
    case CUDA_R_32I:
    case CUDA_R_32U:
    case CUDA_C_16F:
    case CUDA_C_16BF:
    case CUDA_C_16I:
    case CUDA_C_16U:
      return 4;
    case CUDA_R_64F:
    case CUDA_R_64I:
    case CUDA_R_64U:
    case CUDA_C_32F:
    case CUDA_C_32I:
    case CUDA_C_32U:
      return 8;
    case CUDA_C_64F:
    case CUDA_C_64I:
    case CUDA_C_64U:
      return 16;
    default:
      return 0;
  }
}

inline std::string type_name(int type) {
  switch (type) {
    case CUDA_R_8I:
      return "CUDA_R_8I";
    case CUDA_C_8I:
      return "CUDA_C_8I";
    case CUDA_R_8F_E4M3:
      return "CUDA_R_8F_E4M3";
    case CUDA_R_8F_E5M2:
      return "CUDA_R_8F_E5M2";
    case CUDA_R_16F:
      return "CUDA_R_16F";
    case CUDA_R_16BF:
      return "CUDA_R_16BF";
    case CUDA_R_32F:
      return "CUDA_R_32F";
    case CUDA_R_32I:
      return "CUDA_R_32I";
    case CUDA_R_64F:
      return "CUDA_R_64F";
    case CUDA_C_32F:
      return "CUDA_C_32F";
    case CUDA_C_64F:
      return "CUDA_C_64F";
    default:
      return "cudaDataType " + std::to_string(type);
  }
}

// Compute types that the headers of CUDA 12.0 lack.
constexpr int compute_32f_emulated_16bfx9 = 78, compute_64f_emulated_fixedpoint = 79;

/// Compute types with the same operands.
enum class computing { half, single, fast_single, double_precision, integer, unknown };

inline computing computing_of(int compute) {
  switch (compute) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
      return computing::half;
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
      return computing::single;
    case CUBLAS_COMPUTE_32F_FAST_16F:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32:
    case compute_32f_emulated_16bfx9:
      return computing::fast_single;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
    case compute_64f_emulated_fixedpoint:
      return computing::double_precision;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
      return computing::integer;
    default:
      return computing::unknown;
  }
}

inline bool is_fp8(int type) {
  return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2;
}

struct combination {
  computing how;
  int scalar, ab, c;
};

/// The types that cublasGemmEx supports; cublas<t>gemm supports a part of them, cuBLASLt all.
constexpr combination supported[]{{computing::half, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F},
                                  {computing::integer, CUDA_R_32I, CUDA_R_8I, CUDA_R_32I},
                                  {computing::single, CUDA_R_32F, CUDA_R_16BF, CUDA_R_16BF},
                                  {computing::single, CUDA_R_32F, CUDA_R_16F, CUDA_R_16F},
                                  {computing::single, CUDA_R_32F, CUDA_R_8I, CUDA_R_32F},
                                  {computing::single, CUDA_R_32F, CUDA_R_16BF, CUDA_R_32F},
                                  {computing::single, CUDA_R_32F, CUDA_R_16F, CUDA_R_32F},
                                  {computing::single, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F},
                                  {computing::single, CUDA_C_32F, CUDA_C_8I, CUDA_C_32F},
                                  {computing::single, CUDA_C_32F, CUDA_C_32F, CUDA_C_32F},
                                  {computing::fast_single, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F},
                                  {computing::fast_single, CUDA_C_32F, CUDA_C_32F, CUDA_C_32F},
                                  {computing::double_precision, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F},
                                  {computing::double_precision, CUDA_C_64F, CUDA_C_64F, CUDA_C_64F}};

/// Required type of alpha and beta; -1: the combination is not supported.
inline int scalar_for(entry function, int compute, int a, int b, int c) {
  const computing how = computing_of(compute);
  if (function == entry::cublas_lt) {
    // The documentation does not list both operands as E5M2.
    const bool one_e4m3 = a == CUDA_R_8F_E4M3 || b == CUDA_R_8F_E4M3;
    if (is_fp8(a) && is_fp8(b))
      return how == computing::single && one_e4m3 && (c == CUDA_R_16BF || c == CUDA_R_16F || c == CUDA_R_32F)
                 ? CUDA_R_32F
                 : -1;
    if (how == computing::integer && a == CUDA_R_8I && b == a && c == a) return CUDA_R_32F;
  }
  for (const combination& each : supported)
    if (each.how == how && each.ab == a && each.ab == b && each.c == c) return each.scalar;
  return -1;
}

constexpr int last_type = 33;  // of cudaDataType in CUDA 13.0
inline bool is_type(int type) {
  return type >= 0 && type <= last_type;
}

/// cuBLASLt also accepts planar complex types and types of 4 and 6 bits, which these tables lack.
inline bool beyond_tables(int type) {
  return is_type(type) && !is_fp8(type) &&
         std::none_of(std::begin(supported), std::end(supported),
                      [=](const combination& each) { return each.ab == type || each.c == type; });
}

constexpr std::int64_t int_max = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t wide_max = std::numeric_limits<std::int64_t>::max();

/// Elements from the first to the last of a matrix, saturated.
inline std::int64_t span(std::int64_t rows, std::int64_t columns, std::int64_t ld) {
  if (rows <= 0 || columns <= 0 || ld <= 0) return 0;
  return columns - 1 > (wide_max - rows) / ld ? wide_max : (columns - 1) * ld + rows;
}

/// True if two of `batch` matrices share an element. Exact up to the 65536th matrix, for ld >= rows.
inline bool overlap(std::int64_t rows, std::int64_t columns, std::int64_t ld, std::int64_t stride,
                    std::int64_t batch) {
  if (stride == std::numeric_limits<std::int64_t>::min()) return false;
  if (stride < 0) stride = -stride;
  const std::int64_t all = span(rows, columns, ld);
  if (stride >= all) return false;
  if (stride < rows) return true;
  // Matrices side by side within a leading dimension are legal in any batch.
  if (stride <= ld && batch - 1 <= (ld - rows) / stride && ld >= rows) return false;
  const std::int64_t looked_at = std::min<std::int64_t>(batch, 65536);
  for (std::int64_t i = 1; i < looked_at && i <= (all - 1) / stride; ++i) {
    const std::int64_t column = i * stride / ld, row = i * stride % ld;
    if ((column < columns && row < rows) || (column < columns - 1 && ld - row < rows)) return true;
  }
  return false;
}

/// An operand with its requirements in the product.
struct operand {
  const matrix& given;
  std::string name;  ///< "A"
  std::string ld;    ///< "lda"
  bool shape_known;  ///< not where its operation is none
  std::int64_t rows, columns;
  bool touched;  ///< read or written at all
};

inline bool aligned(const void* data, unsigned to) {
  return to == 0 || reinterpret_cast<std::uintptr_t>(data) % to == 0;
}
inline bool multiple(std::int64_t of, std::int64_t by) {
  return by == 0 || of % by == 0;
}

class checker {
 public:
  explicit checker(const product& p)
      : p_(p),
        a_type_(number(p.a.type)),
        b_type_(number(p.b.type)),
        c_type_(number(p.c.type)),
        compute_(number(p.compute)),
        operands_(operands_of(p)) {
    if (too_wide()) return;
    operations();
    extents();
    scalars();
    types();
    for (const operand& each : operands_) {
      leading_dimension(each);
      pointer(each);
      shape(each);
      batch(each);
    }
    row_major();
    aliases();
    if (computing_of(compute_) == computing::integer) int8();
    if (p.function == entry::cublas_lt && is_fp8(a_type_) && is_fp8(b_type_)) fp8();
  }

  std::vector<problem> found() { return std::move(found_); }

 private:
  static std::array<operand, 3> operands_of(const product& p) {
    const int a_op = number(p.a_op), b_op = number(p.b_op);
    const bool a_turned = a_op != CUBLAS_OP_N, b_turned = b_op != CUBLAS_OP_N;
    const bool any = p.m > 0 && p.n > 0 && p.batch > 0, summed = any && p.k > 0;
    return {{{p.a, "A", "lda", is_operation(a_op), a_turned ? p.k : p.m, a_turned ? p.m : p.k, summed},
             {p.b, "B", "ldb", is_operation(b_op), b_turned ? p.n : p.k, b_turned ? p.k : p.n, summed},
             {p.c, "C", "ldc", true, p.m, p.n, any}}};
  }
  void say(severity what, const std::string& argument, std::string text) {
    found_.push_back({what, argument, std::move(text)});
  }
  static std::string text(std::int64_t x) { return std::to_string(x); }
  static bool is_operation(int op) { return op == CUBLAS_OP_N || op == CUBLAS_OP_T || op == CUBLAS_OP_C; }

  /// CUBLAS_OP_CONJG is in the header but in no table.
  void operations() {
    const auto one = [&](const char* name, int op) {
      // cublasLtMatmul accepts values beyond the header as CUBLAS_OP_N or another; the numbers were not checked. With a given algorithm it
      // does not.
      if (!is_operation(op))
        say(p_.function == entry::cublas_lt ? severity::caution : severity::refused, name,
            std::string(name) + " is " + text(op) + ": pass CUBLAS_OP_N, CUBLAS_OP_T or CUBLAS_OP_C");
    };
    one("transa", number(p_.a_op));
    one("transb", number(p_.b_op));
  }

  /// With no rows, columns or matrices cuBLAS does nothing and succeeds; cublasLtMatmul returned CUBLAS_STATUS_EXECUTION_FAILED.
  void extents() {
    const std::pair<const char*, std::int64_t> extents[]{
        {"m", p_.m}, {"n", p_.n}, {"k", p_.k}, {"batchCount", p_.batch}};
    for (const auto& [name, extent] : extents) {
      if (extent < 0)
        say(severity::refused, name, std::string(name) + " is " + text(extent) + ": it must not be negative");
      if (extent == 0 && p_.function == entry::cublas_lt && std::string(name) != "k")
        say(severity::caution, name, std::string(name) + " is 0: leave the call out");
      narrow(name, extent);
    }
    for (const operand& each : operands_) narrow(each.ld, each.given.leading_dimension);
  }

  /// cuBLASLt's extents have 64 bits, but its log says first that none may exceed an int.
  bool too_wide() {
    if (p_.function != entry::cublas_lt) return false;
    const auto one = [&](const std::string& name, std::int64_t extent) {
      if (extent > int_max)
        say(severity::unsupported, name,
            name + " is " + text(extent) + ": cuBLASLt takes no more than " + text(int_max));
    };
    for (const operand& each : operands_) {
      one(each.name, each.given.rows);
      one(each.name, each.given.columns);
      one(each.ld, each.given.leading_dimension);
    }
    const std::pair<const char*, std::int64_t> extents[]{{"m", p_.m}, {"n", p_.n}, {"k", p_.k}};
    for (const auto& [name, extent] : extents) one(name, extent);
    return !found_.empty();
  }

  /// An int parameter truncates a larger number (reported: pytorch#17897, cumo#399).
  void narrow(const std::string& name, std::int64_t value) {
    if (p_.function != entry::cublas || value <= int_max) return;
    const auto low = static_cast<std::uint32_t>(static_cast<std::uint64_t>(value));
    std::int32_t left = 0;
    std::memcpy(&left, &low, sizeof left);
    say(left < 0 ? severity::refused : severity::silent, name,
        name + " is " + text(value) + ", which an int turns into " + text(left) +
            ": call the function with _64 behind its name");
  }

  void scalars() {
    const auto one = [&](const char* name, const void* scalar) {
      if (scalar == nullptr)
        say(severity::refused, name, std::string(name) + " is null: pass the address of a scalar");
    };
    one("alpha", p_.alpha);
    one("beta", p_.beta);
  }

  void types() {
    if (computing_of(compute_) == computing::unknown)
      return say(severity::unsupported, "computeType",
                 "computeType " + text(compute_) +
                     " is not in the headers of CUDA 13.0: pass a CUBLAS_COMPUTE_ value");
    if (p_.function == entry::cublas_lt &&
        (beyond_tables(a_type_) || beyond_tables(b_type_) || beyond_tables(c_type_)))
      return;
    const std::string types =
        type_name(a_type_) + " by " + type_name(b_type_) + " into " + type_name(c_type_);
    const int scalar = scalar_for(p_.function, compute_, a_type_, b_type_, c_type_),
              given = number(p_.scalar);
    // cuBLASLt refuses a B of another type than A, even if all else fits; seen with CUBLAS_COMPUTE_32F. It supports none of the others.
    if (p_.function == entry::cublas_lt && a_type_ != b_type_ && !is_fp8(a_type_) &&
        scalar_for(p_.function, compute_, a_type_, a_type_, c_type_) >= 0) {
      say(severity::refused, "Btype",
          "A is " + type_name(a_type_) + " and B is " + type_name(b_type_) + ": pass one type");
    } else if (p_.function != entry::cublas_lt && is_fp8(a_type_) && a_type_ == b_type_) {
      say(severity::refused, "Atype", types + ": FP8 is for cublasLtMatmul only");
    } else if (p_.function != entry::cublas_lt && !is_type(c_type_)) {
      say(severity::refused, "Ctype", "Ctype " + text(c_type_) + " is not in the headers of CUDA 13.0");
    } else if (scalar < 0) {
      std::string advice = "take a combination from the table of cublasGemmEx";
      if (is_fp8(a_type_) || is_fp8(b_type_) || is_fp8(c_type_))
        advice =
            p_.function == entry::cublas_lt
                ? "FP8 takes A and B both FP8, at least one of them CUDA_R_8F_E4M3, C of 16 or 32 bits and "
                  "CUBLAS_COMPUTE_32F"
                : "FP8 is for cublasLtMatmul only";
      say(severity::unsupported, "Atype",
          types + " with computeType " + text(compute_) + " is not supported: " + advice);
    } else if (scalar != given) {
      // cuBLASLt knows the type of the scalar. Other functions only get a pointer: FasterTransformer#49, cudarc#151.
      say(p_.function == entry::cublas_lt ? severity::refused : severity::silent, "alpha",
          "alpha and beta are " + type_name(given) + " and are read as " + type_name(scalar) + ": pass " +
              type_name(scalar));
    }
  }

  void leading_dimension(const operand& each) {
    if (!each.shape_known) return;
    const std::int64_t least = std::max<std::int64_t>(1, each.rows), ld = each.given.leading_dimension;
    if (ld < least)
      say(severity::refused, each.ld,
          each.ld + " is " + text(ld) + " and must be at least " + text(least) + ", the rows of " +
              each.name + " as it is stored" + (ld == each.columns && ld > 0 ? swapped : ""));
    // The sizes are legal, but the caller's int arithmetic often overflows: superbenchmark#497, cumo#399.
    else if (each.touched && p_.function == entry::cublas && span(each.rows, each.columns, ld) > int_max)
      say(severity::caution, each.name,
          each.name +
              " spans more elements than an int counts: size and index it in 64 bits, and prefer the "
              "function "
              "with _64 behind its name");
  }

  /// No table has a null A or B, or a null C with a beta that is not zero: all are refused. One product of cuBLAS does not support a
  /// pointer that is not aligned to its element; batches in single precision, and cublasLtMatmul with an algorithm, accept it.
  void pointer(const operand& each) {
    if (!each.touched) return;
    const unsigned size = element_size(number(each.given.type));
    if (each.given.data == nullptr)
      say(severity::refused, each.name, each.name + " is null and has elements: pass device memory");
    else if (!aligned(each.given.data, size))
      say(p_.function != entry::cublas_lt && p_.batch == 1 ? severity::unsupported : severity::silent,
          each.name,
          each.name + " is not aligned to its elements of " + text(size) + " bytes: pass an aligned address");
  }

  /// cuBLAS sees m, n and k, not the caller's shapes. cuBLASLt sees the shapes, and documents CUBLAS_STATUS_INVALID_VALUE for conflicting
  /// parameters.
  void shape(const operand& each) {
    const std::int64_t rows = each.given.rows, columns = each.given.columns;
    if (!each.shape_known || rows < 0 || columns < 0 || (rows == each.rows && columns == each.columns))
      return;
    const bool turned = rows == each.columns && columns == each.rows;
    say(p_.function == entry::cublas_lt ? severity::refused : severity::silent, each.name,
        each.name + " is " + text(rows) + " by " + text(columns) + ", and m, n and k make it " +
            text(each.rows) + " by " + text(each.columns) +
            (turned ? swapped : ": the operands do not fit each other, or m, n and k not them"));
  }

  void batch(const operand& each) {
    if (p_.batch < 2 || !each.touched || !each.shape_known) return;
    const std::int64_t stride = each.given.stride, ld = each.given.leading_dimension;
    const std::string name = "stride" + each.name;
    if (stride < 0)
      say(severity::caution, name,
          name + " is " + text(stride) +
              ": matrices in front of the pointer are meant, or a product of ints wrapped");
    // Strides are not validated. A and B may have any, also 0: all products then share one matrix.
    if (each.name == "C" && ld >= each.rows && overlap(each.rows, each.columns, ld, stride, p_.batch))
      say(severity::silent, name,
          name + " is " + text(stride) + ", so matrices of C overlap: make it at least " +
              text(span(each.rows, each.columns, ld)));
  }

  /// Every leading dimension equals the row length of a row-major matrix. This is legal, but multiplies the wrong elements. Reported only
  /// if all three matrices are wider than high, since otherwise it may be padding.
  void row_major() {
    const bool all = std::all_of(operands_.begin(), operands_.end(), [](const operand& each) {
      return each.shape_known && each.rows > 0 && each.columns > each.rows &&
             each.given.leading_dimension == each.columns;
    });
    if (all)
      say(severity::silent, "lda",
          std::string("every leading dimension is the columns of its matrix, not its rows") + swapped);
  }

  /// Undefined as in BLAS: threads read what others have written. The results are not measured yet.
  void aliases() {
    const operand &a = operands_[0], &b = operands_[1];
    for (const operand* each : {&a, &b})
      if (each->touched && p_.c.data != nullptr && each->given.data == p_.c.data)
        say(severity::silent, "C", "C is also " + each->name + ": give the result memory of its own");
  }

  /// cublasGemmEx documents rules for A, B, lda and ldb. Those for m and k are documented for cuBLASLt's fast kernels; reports say
  /// NOT_SUPPORTED without them (MatX#540, CTranslate2#1937). On H200 an m of 6 is right with A transposed; other GPUs are not measured
  /// yet.
  void int8() {
    for (const operand* each : {&operands_[0], &operands_[1]}) {
      if (!each->touched) continue;
      if (!aligned(each->given.data, 4))
        say(severity::unsupported, each->name,
            each->name + " of 8-bit integers must be aligned to 4 bytes: copy it to an aligned address");
      if (!multiple(each->given.leading_dimension, 4))
        say(severity::unsupported, each->ld,
            each->ld + " is " + text(each->given.leading_dimension) +
                " and must be a multiple of 4 with 8-bit integers: pad the matrix");
    }
    const std::pair<const char*, std::int64_t> extents[]{{"m", p_.m}, {"k", p_.k}};
    for (const auto& [name, extent] : extents)
      if (extent > 0 && !multiple(extent, 4))
        say(severity::caution, name,
            std::string(name) + " is " + text(extent) +
                ", not a multiple of 4: some devices have no kernel for it with 8-bit integers; pad with "
                "zeros");
  }

  /// cublasLtMatmul's rules for FP8. If they are broken, the heuristic returns NOT_SUPPORTED or INVALID_VALUE (CUDALibrarySamples#172).
  void fp8() {
    const bool a_turned = number(p_.a_op) != CUBLAS_OP_N, b_turned = number(p_.b_op) != CUBLAS_OP_N;
    const int capability = p_.compute_capability == 0 ? 90 : p_.compute_capability;
    if (capability < 89)
      say(severity::unsupported, "Atype", "FP8 needs compute capability 8.9: take CUDA_R_16F or CUDA_R_16BF");
    const bool any_layout = capability >= 100 && capability < 120;
    if (!any_layout && !a_turned)
      say(severity::unsupported, "transa", "FP8 needs CUBLAS_OP_T here: store A with its k side by side");
    if (!any_layout && b_turned)
      say(severity::unsupported, "transb", "FP8 needs CUBLAS_OP_N here: store B with its k side by side");
    for (const operand& each : operands_) {
      const auto size = static_cast<std::int64_t>(element_size(number(each.given.type)));
      if (!each.touched || size == 0) continue;
      const std::int64_t by = 16 / size;
      if (!aligned(each.given.data, 16))
        say(severity::unsupported, each.name,
            each.name + " must be aligned to 16 bytes with FP8: copy it to an aligned address");
      if (!multiple(each.given.leading_dimension, by))
        say(severity::unsupported, each.ld,
            each.ld + " is " + text(each.given.leading_dimension) + " and must be a multiple of " + text(by) +
                " with FP8: pad the matrix");
      if (each.shape_known && !multiple(each.rows, by))
        say(severity::unsupported, each.name,
            each.name + " has " + text(each.rows) + " rows as it is stored, which must be a multiple of " +
                text(by) + " with FP8: pad with zeros");
    }
  }

  static constexpr const char* swapped =
      "; cuBLAS is column-major: for row-major matrices compute the transposed product, with A and B, m and "
      "n, and their "
      "leading dimensions swapped";

  const product& p_;
  int a_type_, b_type_, c_type_, compute_;
  std::array<operand, 3> operands_;  ///< A, B, C
  std::vector<problem> found_;
};

}  // namespace detail

/// Every problem of this call before it is made, in the order of the rules; empty if none is known. Reads through no pointer; throws
/// nothing but std::bad_alloc.
inline std::vector<problem> check(const product& p) {
  return detail::checker(p).found();
}

}  // namespace cufault::argument_check
