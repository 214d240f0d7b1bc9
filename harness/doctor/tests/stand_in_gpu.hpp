// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>

namespace cufault {

/// What the stand-ins for the driver's libraries say of their GPU: names and counts of the GPU's data sheet, in bytes.
struct stand_in_gpu {
  const char *key, *name;
  int major, minor, multiprocessors;
  unsigned long long bytes, used_bytes;
  unsigned char uuid;  ///< each byte of it but the last, which is the number of the device
};

inline unsigned number_of(const char* variable, unsigned otherwise) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? static_cast<unsigned>(std::atoi(text)) : otherwise;
}

inline const char* text_of(const char* variable, const char* otherwise) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? text : otherwise;
}

/// The one that DOCTOR_FAKE_GPU names, "fake GPU" where it is not set. Ends the process where it names no GPU.
inline const stand_in_gpu& stand_in() {
  constexpr unsigned long long gib = 1ULL << 30;
  static constexpr stand_in_gpu gpus[]{
      {"", "fake GPU", 9, 0, 0, 100, 40, 0xfa},
      {"a100", "NVIDIA A100-SXM4-80GB", 8, 0, 108, 80 * gib, gib / 2, 0xa1},
      {"rtx4090", "NVIDIA GeForce RTX 4090", 8, 9, 128, 24 * gib, gib / 2, 0x40}};
  const char* const wanted = text_of("DOCTOR_FAKE_GPU", "");
  for (const stand_in_gpu& gpu : std::span(gpus))
    if (std::strcmp(wanted, gpu.key) == 0) return gpu;
  std::fprintf(stderr, "DOCTOR_FAKE_GPU=%s: there is a100 and rtx4090\n", wanted);
  std::abort();
}

}  // namespace cufault
