// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// A library that ends the process as soon as it is loaded.
#include <cstdlib>

__attribute__((constructor)) static void die() {
  std::abort();
}
