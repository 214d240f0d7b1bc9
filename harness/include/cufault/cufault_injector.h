/* SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors */
/* SPDX-License-Identifier: Apache-2.0 */
/* What libcufault.so, preloaded, offers to the process that it is in. Look the functions up with dlsym(RTLD_DEFAULT, …), so that the
   program also runs without it. All may be called from any thread. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/** Replaces the rules and resets their counts. `rules`: JSON, or texts as `cufault inject --fail` reads them, separated by spaces; null or
    "": none. Returns 0; -1 if they are wrong or need libcufault_host.so, which is not preloaded: the old rules then stay in effect. Keeps
    nothing of replaced rules. */
int cufault_set_rules(const char* rules);
/** From now on injections are told in this file, to which lines are appended; null or "" for standard error. In place of
    CUFAULT_LOG, which is read once, when the process begins. The file is opened for each line; where it cannot be opened or written,
    injections are told on standard error, after one line that says why, and other lines are lost. */
void cufault_set_log(const char* file);
/** Why the last cufault_set_rules of this thread returned -1: one line. Lasts until its next one. */
const char* cufault_rules_error(void);
/** Driver calls of this process so far, of every function that the name, or glob, matches. `function` must not be null. */
unsigned long long cufault_calls(const char* function);
/** Calls that a rule acted on so far. */
unsigned long long cufault_injections(void);
/** Bytes that allocation functions of the driver gave while a budget rule held, and that were not given back. */
unsigned long long cufault_bytes_held(void);
/** From now on the call stack of a call by a library ends where it reaches the program itself, so that its hash is the same when the program
    is built anew. A process that was forked before is not affected. */
void cufault_end_stacks_at_program(void);

#ifdef __cplusplus
}
#endif
