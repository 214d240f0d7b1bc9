// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// A libnvidia-ml with one function, for library_test.cpp.
extern "C" __attribute__((visibility("default"))) int nvmlInit_v2() {
  return 0;
}
