// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define CUFAULT_HD __host__ __device__
#else
#define CUFAULT_HD
#endif

namespace cufault {

/// Bits of every guard element around an output: a quiet NaN whose payload no arithmetic produces.
inline constexpr std::uint32_t guard_bits = 0x7fc5a5a5u;
/// Bits of every output element before the tested call: also a NaN, so that an unwritten element counts as wrong.
inline constexpr std::uint32_t poison_bits = 0xffffffffu;

/// Largest error of single-precision accumulation of k products in any order: (k + 2) u sum|a||b| with unit round-off u = 2^-24 (Higham,
/// Accuracy and Stability of Numerical Algorithms, 3.5).
CUFAULT_HD inline double error_bound(int k, double sum_of_magnitudes) {
  return (k + 2) * 5.9604644775390625e-8 * sum_of_magnitudes;
}

/// True if a computed element is within the bound of its float64 reference. False for NaN.
CUFAULT_HD inline bool element_right(float computed, double reference, int k, double sum_of_magnitudes) {
  const double error = computed > reference ? computed - reference : reference - computed;
  return error <= error_bound(k, sum_of_magnitudes);
}

/// Reproducible value in [-1, 1) for an element of a random operand: SplitMix64 of seed and index, top 24 bits.
CUFAULT_HD inline float random_element(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  z ^= z >> 31;
  return static_cast<float>(static_cast<double>(z >> 40) * 0x1p-23 - 1.0);
}

}  // namespace cufault
