// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace cufault {

/// What a trial runs on, chosen on the command line. Passed on to every child as it was given.
struct target {
  std::string cublas, cublaslt;  ///< as in cublas_paths; empty: what the loader takes
  int device = 0;
};

}  // namespace cufault
