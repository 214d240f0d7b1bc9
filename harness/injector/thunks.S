/* SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Thunks in front of driver functions. Thunk i knows no signature: it counts the call in this thread's counts[i] and jumps to
   entries[i], the driver's function, with all arguments in place. If a rule may hold, or the function is not known yet, entries[i] is
   cufault_armed; a thread without counts goes to cufault_first_call. Both save the argument registers and ask cufault_intercept. If
   nothing follows the call, they restore the registers and jump: no frame of this library remains, and the caller's stack is not read.
   Otherwise cufault_intercept makes the call by cufault_forward. A watched call (watch.cpp) goes to cufault_watched, which makes it and
   checks its result. The names that programs link against are thunks too. */
#include "harness/injector/argument_registers.h"
#include "harness/injector/thunks.h"

#if defined(__x86_64__)
        .text
        .globl cufault_thunks
        .hidden cufault_thunks
        .balign 64
        .cfi_startproc                          /* over all thunks: none moves the stack */
cufault_thunks:
        .set slot, 0
        .rept CUFAULT_SLOTS
        endbr64
        movl $slot, %r11d
        movq cufault_counts@gottpoff(%rip), %r10
        movq %fs:(%r10), %r10
        testq %r10, %r10
        jz cufault_first_call
        incq 8 * slot(%r10)
        jmp *(cufault_entries + 8 * slot)(%rip)
        .balign CUFAULT_THUNK_SIZE
        .set slot, slot + 1
        .endr
        .cfi_endproc

        .globl cufault_armed
        .hidden cufault_armed
        .type cufault_armed, %function
        .cfi_startproc
cufault_first_call:
        movl $1, %r10d
        jmp 1f
cufault_armed:
        endbr64
        xorl %r10d, %r10d
1:      ENTER_FRAME CUFAULT_FRAME_SIZE
        SAVE_ARGUMENTS
        leaq 16(%rbp), %rax
        movq %rax, 64(%rsp)
        movq 8(%rbp), %rax
        movq %rax, 72(%rsp)
        movl %r11d, %edi
        movq %rsp, %rsi
        movl %r10d, %edx
        call cufault_intercept
        testq %rdx, %rdx
        jnz 2f
        leave
        .cfi_remember_state
        .cfi_def_cfa %rsp, 8
        .cfi_restore %rbp
        ret
2:      .cfi_restore_state
        movq %rdx, %r11
        LOAD_ARGUMENTS %rsp
        leave
        .cfi_def_cfa %rsp, 8
        .cfi_restore %rbp
        jmp *%r11
        .cfi_endproc
        .size cufault_armed, . - cufault_armed

        /* Marks the call as in flight in the thread's thread_calls, copies possible arguments on the stack, and calls. */
        .globl cufault_watched
        .hidden cufault_watched
        .type cufault_watched, %function
cufault_watched:
        .cfi_startproc
        endbr64
        movl %esp, %eax
        andl $4095, %eax
        cmpl $(4096 - CUFAULT_STACK_COPIED - 16), %eax
        ja cufault_armed                        /* the stack may end at a guard page */
        ENTER_FRAME (CUFAULT_STACK_COPIED + 32)
        movq %r10, -8(%rbp)
        movl %r11d, -12(%rbp)
        movl CUFAULT_CALLS_AT + 4(%r10), %eax
        movl %eax, -16(%rbp)
        incl CUFAULT_CALLS_AT + 4(%r10)
        andl $7, %eax
        movl %r11d, CUFAULT_CALLS_AT + 16(%r10, %rax, 4)
        movl CUFAULT_CALLS_AT + 8(%r10), %r11d
        movl %r11d, CUFAULT_CALLS_AT + 48(%r10, %rax, 4)
        incl CUFAULT_CALLS_AT + 8(%r10)
        andl $(CUFAULT_CALLS_KEPT - 1), %r11d
        movl -12(%rbp), %eax
        movw %ax, CUFAULT_CALLS_AT + 80(%r10, %r11, 2)
        .set word, 0
        .rept CUFAULT_STACK_COPIED / 16
        movaps 16 + word(%rbp), %xmm8
        movaps %xmm8, word(%rsp)
        .set word, word + 16
        .endr
        leaq cufault_reals(%rip), %r11
        call *(%r11, %rax, 8)
        movq -8(%rbp), %r10
        movl -16(%rbp), %r11d
        movl %r11d, CUFAULT_CALLS_AT + 4(%r10)
        testl %eax, %eax
        jnz 2f
1:      leave
        .cfi_remember_state
        .cfi_def_cfa %rsp, 8
        .cfi_restore %rbp
        ret
2:      .cfi_restore_state
        movq %rax, -24(%rbp)
        movl -12(%rbp), %edi
        movl %eax, %esi
        call cufault_call_failed
        movq -24(%rbp), %rax
        jmp 1b
        .cfi_endproc
        .size cufault_watched, . - cufault_watched

        /* long cufault_forward(function, frame, on_stack) */
        .globl cufault_forward
        .hidden cufault_forward
        .type cufault_forward, %function
cufault_forward:
        .cfi_startproc
        endbr64
        ENTER_FRAME CUFAULT_STACK_COPIED
        movq %rdi, %r11
        movq %rsi, %r10
        movq %rdx, %rsi
        movq %rsp, %rdi
        movl $(CUFAULT_STACK_COPIED / 8), %ecx
        cld
        rep movsq
        LOAD_ARGUMENTS %r10
        call *%r11
        leave
        .cfi_def_cfa %rsp, 8
        ret
        .cfi_endproc
        .size cufault_forward, . - cufault_forward

#elif defined(__aarch64__)
        .text
        .globl cufault_thunks
        .hidden cufault_thunks
        .balign 64
        .cfi_startproc                          /* over all thunks: none moves the stack */
cufault_thunks:
        .set slot, 0
        .rept CUFAULT_SLOTS
        hint #34                                /* bti c */
        mov w17, #slot
        adrp x16, :gottprel:cufault_counts
        ldr x16, [x16, :gottprel_lo12:cufault_counts]
        mrs x15, tpidr_el0
        ldr x16, [x15, x16]
        cbz x16, 2f
        ldr x15, [x16, x17, lsl #3]
        add x15, x15, #1
        str x15, [x16, x17, lsl #3]
        adrp x16, cufault_entries
        add x16, x16, :lo12:cufault_entries
        ldr x16, [x16, x17, lsl #3]
        br x16
2:      b cufault_first_call
        .balign CUFAULT_THUNK_SIZE
        .set slot, slot + 1
        .endr
        .cfi_endproc

        .globl cufault_armed
        .hidden cufault_armed
        .type cufault_armed, %function
        .cfi_startproc
cufault_first_call:
        mov w16, #1
        b 1f
cufault_armed:
        hint #36                                /* bti j */
        mov w16, #0
1:      ENTER_FRAME CUFAULT_FRAME_SIZE
        SAVE_ARGUMENTS
        add x9, x29, #16
        stp x9, x30, [sp, #64]
        mov w0, w17
        mov x1, sp
        mov w2, w16
        bl cufault_intercept
        cbnz x1, 2f
        mov sp, x29
        ldp x29, x30, [sp], #16
        .cfi_remember_state
        .cfi_def_cfa 31, 0
        .cfi_restore 29
        .cfi_restore 30
        ret
2:      .cfi_restore_state
        mov x16, x1
        LOAD_ARGUMENTS sp
        mov sp, x29
        ldp x29, x30, [sp], #16
        .cfi_def_cfa 31, 0
        .cfi_restore 29
        .cfi_restore 30
        br x16
        .cfi_endproc
        .size cufault_armed, . - cufault_armed

        .globl cufault_forward
        .hidden cufault_forward
        .type cufault_forward, %function
cufault_forward:
        .cfi_startproc
        hint #34
        ENTER_FRAME CUFAULT_STACK_COPIED
        mov x16, x0
        mov x17, x1
        mov x9, x2
        mov x10, sp
        mov w11, #(CUFAULT_STACK_COPIED / 16)
3:      ldp x12, x13, [x9], #16
        stp x12, x13, [x10], #16
        subs w11, w11, #1
        b.ne 3b
        LOAD_ARGUMENTS x17
        blr x16
        mov sp, x29
        ldp x29, x30, [sp], #16
        .cfi_def_cfa 31, 0
        ret
        .cfi_endproc
        .size cufault_forward, . - cufault_forward
#else
#error "the injector has thunks for x86-64 and aarch64; add this processor's here"
#endif

        /* The names that programs link against: thunk i for the i-th function of cuda.h. */
#define CUFAULT_EXPORT(name, slot)                                              \
        .globl name;                                                            \
        .type name, %function;                                                  \
        .set name, cufault_thunks + CUFAULT_THUNK_SIZE * slot;                  \
        .size name, CUFAULT_THUNK_SIZE;
#include "driver_exports.inc"

        /* Targets of the thunks. A linked name may be called before this library is initialised. */
        .data
        .balign 8
        .globl cufault_entries
        .hidden cufault_entries
cufault_entries:
        .rept CUFAULT_EXPORTS
        .quad cufault_armed
        .endr
        .zero 8 * (CUFAULT_SLOTS - CUFAULT_EXPORTS)

        .bss
        .balign 8
        .globl cufault_reals
        .hidden cufault_reals
cufault_reals:
        .zero 8 * CUFAULT_SLOTS

        .section .note.GNU-stack, "", %progbits
