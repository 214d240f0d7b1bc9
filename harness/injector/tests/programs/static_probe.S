// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// A program without a loader. It exits with 7.
  .globl _start
_start:
#if defined(__x86_64__)
  mov $60, %eax
  mov $7, %edi
  syscall
#else
  mov x8, #93
  mov x0, #7
  svc #0
#endif
  .section .note.GNU-stack, "", %progbits
