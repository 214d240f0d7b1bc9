// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// A library that is linked with cuBLAS, as those of frameworks are.
#include "harness/injector/tests/programs/blas_user.hpp"

#define USER extern "C" __attribute__((visibility("default")))

USER int user_multiplies(float* c) {
  const int status = cublasSgemm_v2(nullptr, 0, 0, 1, 1, 1, nullptr, nullptr, 1, nullptr, 1, nullptr, c, 1);
  return status + 0;  // no jump: the call must come from here
}
USER int user_version() {
  int version = 0;
  const int status = cublasGetVersion_v2(nullptr, &version);
  return status != 0 ? -status : version;
}
