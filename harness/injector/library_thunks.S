/* SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors */
/* SPDX-License-Identifier: Apache-2.0 */
/* libcufault_cublas.so and its like: the names of one library that programs link against. No name knows its signature: it looks up the
   calling file and jumps to what was bound for that file, usually a thunk of libcufault.so. Another file that calls, or the first, goes
   to cufault_bind (bind.cpp). Each file may be bound to another loaded version of the library. Built with CUFAULT_LIBRARY, its place in
   libraries(), and CUFAULT_FRONT. */
#include "harness/injector/argument_registers.h"
#include "harness/injector/thunks.h"

#if defined(__x86_64__)
#define CUFAULT_EXPORT(name, index)                                             \
        .globl name;                                                            \
        .type name, %function;                                                  \
        .balign 16;                                                             \
name:   endbr64;                                                                \
        movq bindings + 8 * index(%rip), %r10;                                  \
        testq %r10, %r10;                                                       \
        jz 1f;                                                                  \
        movq (%rsp), %r11;                                                      \
        subq (%r10), %r11;                                                      \
        cmpq 8(%r10), %r11;                                                     \
        jae 1f;                                                                 \
        jmp *16(%r10);                                                          \
1:      movl $index, %r11d;                                                     \
        jmp bind;                                                               \
        .size name, . - name;

        .text
        .balign 64
        .cfi_startproc                          /* over all of them: none moves the stack */
begin:
#include "library_exports.inc"
end:
        .cfi_endproc

        .balign 16
bind:
        .cfi_startproc
        ENTER_FRAME CUFAULT_FRAME_SIZE
        SAVE_ARGUMENTS
        movl $CUFAULT_LIBRARY, %edi
        movl %r11d, %esi
        movq 8(%rbp), %rdx
        call *cufault_bind@GOTPCREL(%rip)
        movq %rax, %r11
        LOAD_ARGUMENTS %rsp
        leave
        .cfi_def_cfa %rsp, 8
        .cfi_restore %rbp
        jmp *%r11
        .cfi_endproc

#elif defined(__aarch64__)
#define CUFAULT_EXPORT(name, index)                                             \
        .globl name;                                                            \
        .type name, %function;                                                  \
        .balign 16;                                                             \
name:   hint CUFAULT_BTI_C;                                                     \
        adrp x16, bindings + 8 * index;                                         \
        ldr x16, [x16, :lo12:bindings + 8 * index];                             \
        cbz x16, 1f;                                                            \
        ldp x15, x17, [x16];                                                    \
        sub x15, x30, x15;                                                      \
        cmp x15, x17;                                                           \
        b.hs 1f;                                                                \
        ldr x16, [x16, CUFAULT_TARGET];                                         \
        br x16;                                                                 \
1:      mov w17, CUFAULT_NUMBER(index);                                         \
        b bind;                                                                 \
        .size name, . - name;
/* A '#' within a macro means something else. */
        .set CUFAULT_BTI_C, 34
        .set CUFAULT_TARGET, 16
#define CUFAULT_NUMBER(index) index

        .text
        .balign 64
        .cfi_startproc                          /* over all of them: none moves the stack */
begin:
#include "library_exports.inc"
end:
        .cfi_endproc

        .balign 16
bind:
        .cfi_startproc
        ENTER_FRAME CUFAULT_FRAME_SIZE
        SAVE_ARGUMENTS
        str x8, [sp, #64]
        mov w0, #CUFAULT_LIBRARY
        mov w1, w17
        mov x2, x30
        bl cufault_bind
        mov x16, x0
        LOAD_ARGUMENTS sp
        ldr x8, [sp, #64]
        mov sp, x29
        ldp x29, x30, [sp], #16
        .cfi_def_cfa 31, 0
        .cfi_restore 29
        .cfi_restore 30
        br x16
        .cfi_endproc
#else
#error "the injector has thunks for x86-64 and aarch64; add this processor's here"
#endif

        .bss
        .balign 8
bindings:
        .zero 8 * CUFAULT_LIBRARY_FUNCTIONS

        /* library_front of slots.hpp */
        .section .data.rel.ro, "aw", %progbits
        .balign 8
        .globl CUFAULT_FRONT
        .type CUFAULT_FRONT, %object
        .size CUFAULT_FRONT, 24
CUFAULT_FRONT:
        .quad begin
        .quad end
        .quad bindings

        .section .note.GNU-stack, "", %progbits
