// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Drivers for closing_probe.cpp with two functions exchanged: after one is unloaded, the address of a function may become that of the
// other.
#define DRIVER extern "C" __attribute__((visibility("default")))

DRIVER int FIRST(int* number) {
  *number = FIRST_NUMBER;
  return 0;
}
DRIVER int SECOND(int* number) {
  *number = 9 - FIRST_NUMBER;
  return 0;
}
