// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Assembler macros for harness/binding/cublas_binding.cpp. Each library function is a jump through its slot. An unbound slot leads to
// cufault_missing(index), which throws. The jump keeps every argument register, so no signature is needed.
#ifndef CUFAULT_HARNESS_TRAMPOLINE_H
#define CUFAULT_HARNESS_TRAMPOLINE_H

        .hidden cufault_slots
        .hidden cufault_missing

#if defined(__x86_64__)
#define CUFAULT_TRAMPOLINE(name, index)                          \
        .text;                                                   \
        .globl name;                                             \
        .hidden name;                                            \
        .type name, %function;                                   \
name:   endbr64;                                                 \
        jmp *(cufault_slots + 8 * index)(%rip);                  \
        .size name, . - name;                                    \
cufault_missing_##index:                                         \
        endbr64;                                                 \
        movl $index, %edi;                                       \
        jmp cufault_missing;
#elif defined(__aarch64__)
#define CUFAULT_TRAMPOLINE(name, index)                          \
        .text;                                                   \
        .globl name;                                             \
        .hidden name;                                            \
        .type name, %function;                                   \
name:   hint #34; /* bti c */                                    \
        adrp x16, cufault_slots + 8 * index;                     \
        ldr x16, [x16, :lo12:cufault_slots + 8 * index];         \
        br x16;                                                  \
        .size name, . - name;                                    \
cufault_missing_##index:                                         \
        hint #34;                                                \
        mov w0, index;                                           \
        b cufault_missing;
#else
#error "cufault binds cuBLAS at run time on x86-64 and aarch64; add a trampoline for this processor here"
#endif

#define CUFAULT_SLOTS_BEGIN                                      \
        .data;                                                   \
        .balign 8;                                               \
        .globl cufault_slots;                                    \
        .type cufault_slots, %object;                            \
cufault_slots:
#define CUFAULT_SLOT(index) .quad cufault_missing_##index;
#define CUFAULT_SLOTS_END                                        \
        .size cufault_slots, . - cufault_slots;                  \
        .section .note.GNU-stack, "", %progbits;

#endif
