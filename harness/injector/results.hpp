// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Functions whose calls say where their result lies: what `corrupt` can change. Sources: cublas_api.h, cublasLt.h, cuda.h, library_types.h.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace cufault::injector {

/// Numbers of a result. A complex one is two of its parts.
struct number_format {
  std::string_view name;
  int data_type;  ///< of cudaDataType_t
  unsigned bytes;
  std::uint64_t exponent, nan;  ///< bits that are all set in infinities and NaNs, and a NaN; 0: an integer
  unsigned parts = 1;
};
inline constexpr std::array<number_format, 11> number_formats{
    {{"f32", 0, 4, 0x7f800000, 0x7fc00000},
     {"f64", 1, 8, 0x7ff0000000000000, 0x7ff8000000000000},
     {"f16", 2, 2, 0x7c00, 0x7e00},
     {"i8", 3, 1, 0, 0},
     {"c32", 4, 4, 0x7f800000, 0x7fc00000, 2},
     {"c64", 5, 8, 0x7ff0000000000000, 0x7ff8000000000000, 2},
     {"c16", 6, 2, 0x7c00, 0x7e00, 2},
     {"i32", 10, 4, 0, 0},
     {"bf16", 14, 2, 0x7f80, 0x7fc0},
     {"e4m3", 28, 1, 0x7f, 0x7f},
     {"e5m2", 29, 1, 0x7c, 0x7e}}};
/// Null for another name, and for that of a complex one.
constexpr const number_format* format_named(std::string_view name) {
  for (const number_format& each : number_formats)
    if (each.name == name && each.parts == 1) return &each;
  return nullptr;
}
constexpr const number_format* format_of(int data_type) {
  for (const number_format& each : number_formats)
    if (each.data_type == data_type) return &each;
  return nullptr;
}

/// Numbers of arguments, from 0. Of a product of cuBLAS rows and columns are arguments 3 and 4, and the handle has the stream.
struct result_place {
  std::string_view function;  ///< as documented; ? is a letter that says the type
  int at = -1;                ///< -1: a kernel, of which a rule says it
  int pitch = -1, type = -1;  ///< -1: the letter says the type; of cublasLtMatmul a layout says both
  int stream = -1, parameters = -1;
};
inline constexpr std::array<result_place, 12> result_places{{{"cublas?gemm", 12, 13},
                                                             {"cublas?gemm3m", 12, 13},
                                                             {"cublas?gemmStridedBatched", 14, 15},
                                                             {"cublas?gemm3mStridedBatched", 14, 15},
                                                             {"cublas?gemmEx", 14, 16, 15},
                                                             {"cublas?gemm3mEx", 14, 16, 15},
                                                             {"cublasGemmEx", 14, 16, 15},
                                                             {"cublasGemmStridedBatchedEx", 16, 18, 17},
                                                             {"cublasLtMatmul", 10, -1, -1, 15},
                                                             {"cuLaunchKernel", -1, -1, -1, 8, 9},
                                                             {"cuLaunchCooperativeKernel", -1, -1, -1, 8, 9},
                                                             {"cuLaunchKernelEx", -1, -1, -1, 0, 2}}};
inline constexpr std::string_view known_results =
    "cublas*gemm, their StridedBatched and Ex forms, cublasLtMatmul, cuLaunchKernel, cuLaunchKernelEx and "
    "cuLaunchCooperativeKernel";
/// Null if the function's result is not known. `base`: as documented.
constexpr const result_place* result_place_of(std::string_view base) {
  if (base.ends_with("_64")) base.remove_suffix(3);
  for (const result_place& each : result_places)
    if (base.size() == each.function.size() && std::equal(base.begin(), base.end(), each.function.begin(),
                                                          [](char a, char b) { return b == '?' || a == b; }))
      return &each;
  return nullptr;
}

}  // namespace cufault::injector
