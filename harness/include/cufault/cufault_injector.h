/* SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of a preloaded libcufault.so for its process. Look them up with dlsym(RTLD_DEFAULT, …), so that the program also runs without
   it. Any thread may call them. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/** Replaces the rules and resets their counts. `rules`: JSON, or texts as `cufault inject --fail` reads them, separated by spaces; null or
    "": none. Returns 0; -1 if they are wrong or need libcufault_host.so, which is not preloaded: the old rules then stay in effect. Keeps
    nothing of replaced rules. */
int cufault_set_rules(const char* rules);
/** From now on appends lines about injections to this file; null or "" for standard error. Replaces CUFAULT_LOG, which is read once, when
    the process begins. The file is opened for each line. If it cannot be opened or written, one line on standard error says why;
    injections follow there, and other lines are lost. */
void cufault_set_log(const char* file);
/** One line that says why the last cufault_set_rules of this thread returned -1. Valid until its next call. */
const char* cufault_rules_error(void);
/** Number of driver calls of this process so far, for all functions that the name or glob matches. `function` must not be null. */
unsigned long long cufault_calls(const char* function);
/** Number of calls on which a rule acted so far. */
unsigned long long cufault_injections(void);
/** Bytes that the driver allocated while a budget rule held and that are not released yet. */
unsigned long long cufault_bytes_held(void);
/** From now on the call stack of a library's call ends at the program itself, so that its hash survives a new build of the program. Does
    not affect processes that were forked before. */
void cufault_end_stacks_at_program(void);

#ifdef __cplusplus
}
#endif
