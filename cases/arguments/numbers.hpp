// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_fp16.h>

#include <cuComplex.h>

#include <type_traits>

/// One and zero in every scalar type of the routines.
namespace cufault {

template <class T>
constexpr T number(float x) {
  if constexpr (std::is_same_v<T, cuComplex> || std::is_same_v<T, cuDoubleComplex>)
    return {x, 0};
  else if constexpr (std::is_same_v<T, __half>)
    return __half_raw{static_cast<unsigned short>(x == 1 ? 0x3c00 : 0)};
  else
    return static_cast<T>(x);
}
template <class T>
inline const T one = number<T>(1);
template <class T>
inline const T zero = number<T>(0);

}  // namespace cufault
