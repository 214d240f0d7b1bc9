// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// A libcublasLt that the loader takes for the right one: its name and its symbol version are right, nearly every function is missing.
#include <cstddef>

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's
extern "C" int cublasLtCreate(void**) {
  return 1;  // CUBLAS_STATUS_NOT_INITIALIZED
}

extern "C" std::size_t cublasLtGetVersion() {
  return MAJOR * 10000;
}
// NOLINTEND(readability-identifier-naming)
