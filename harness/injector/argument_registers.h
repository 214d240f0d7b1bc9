/* SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Saves the registers that hold arguments at the end of a frame, laid out as call_frame (thunks.h), and loads them from there. */
#pragma once

#if defined(__x86_64__)
.macro ENTER_FRAME size
        pushq %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq %rsp, %rbp
        .cfi_def_cfa_register %rbp
        subq $\size, %rsp
.endm
.macro SAVE_ARGUMENTS
        movq %rdi, 0(%rsp)
        movq %rsi, 8(%rsp)
        movq %rdx, 16(%rsp)
        movq %rcx, 24(%rsp)
        movq %r8, 32(%rsp)
        movq %r9, 40(%rsp)
        movaps %xmm0, 80(%rsp)
        movaps %xmm1, 96(%rsp)
        movaps %xmm2, 112(%rsp)
        movaps %xmm3, 128(%rsp)
        movaps %xmm4, 144(%rsp)
        movaps %xmm5, 160(%rsp)
        movaps %xmm6, 176(%rsp)
        movaps %xmm7, 192(%rsp)
.endm
.macro LOAD_ARGUMENTS from
        movq 0(\from), %rdi
        movq 8(\from), %rsi
        movq 16(\from), %rdx
        movq 24(\from), %rcx
        movq 32(\from), %r8
        movq 40(\from), %r9
        movaps 80(\from), %xmm0
        movaps 96(\from), %xmm1
        movaps 112(\from), %xmm2
        movaps 128(\from), %xmm3
        movaps 144(\from), %xmm4
        movaps 160(\from), %xmm5
        movaps 176(\from), %xmm6
        movaps 192(\from), %xmm7
.endm
#elif defined(__aarch64__)
.macro ENTER_FRAME size
        stp x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset 29, -16
        .cfi_offset 30, -8
        mov x29, sp
        .cfi_def_cfa_register 29
        sub sp, sp, #\size
.endm
.macro SAVE_ARGUMENTS
        stp x0, x1, [sp, #0]
        stp x2, x3, [sp, #16]
        stp x4, x5, [sp, #32]
        stp x6, x7, [sp, #48]
        stp q0, q1, [sp, #80]
        stp q2, q3, [sp, #112]
        stp q4, q5, [sp, #144]
        stp q6, q7, [sp, #176]
.endm
.macro LOAD_ARGUMENTS from
        ldp x0, x1, [\from, #0]
        ldp x2, x3, [\from, #16]
        ldp x4, x5, [\from, #32]
        ldp x6, x7, [\from, #48]
        ldp q0, q1, [\from, #80]
        ldp q2, q3, [\from, #112]
        ldp q4, q5, [\from, #144]
        ldp q6, q7, [\from, #176]
.endm
#endif
