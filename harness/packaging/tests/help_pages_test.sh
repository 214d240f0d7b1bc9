#!/usr/bin/env bash
# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
# usage: help_pages_test.sh PROGRAM PAGES
#
# That the manual page names every command and every option of it, and that bash completes them.
set -euo pipefail
program=$1 pages=$2
failed=0
fail() { echo "help_pages_test: $*" >&2 && failed=1; }

# shellcheck disable=SC2317 # a builtin that works only while bash completes; _cufault calls it
compopt() { :; }
# shellcheck source=/dev/null
source "$pages/cufault"

# What is offered for the last of the words; the others stand before it.
offered() {
  COMP_WORDS=("$program" "$@")
  COMP_CWORD=$#
  COMPREPLY=()
  _cufault
  printf '%s\n' "${COMPREPLY[@]}"
}
has() { grep -qxF -- "$2" <<<"$1" || fail "$3"; }

subcommands() { awk '!/^ / { on = /[:?]$/ && tolower($0) !~ /^(options|positionals|rules):/ } on && /^  [a-z]/ { print $1 }'; }
# Of a command and, where it has some, of its subcommands.
help_of() {
  local part
  "$program" "$1" --help
  for part in $("$program" "$1" --help | subcommands); do "$program" "$1" "$part" --help; done
}
commands=$("$program" --help | subcommands)
(($(wc -w <<<"$commands") >= 10)) || fail "$program --help names only these commands: $commands"
page=$(sed 's/\\-/-/g; s/\\e/\\/g; s/^\\&//' "$pages/cufault.1")
first=$(offered '')

count=0
for command in $commands; do
  has "$first" "$command" "the completion does not offer $command"
  has "$page" ".SS $command" "the manual page has no section for $command"
  # Indented by two: where an option begins. Before the first blank: -h,--help.
  options=$(help_of "$command" | sed -nE 's/^  (-[a-z],)?(--[a-z-]+).*/\2/p')
  offers=$(offered "$command" -)
  section=$(awk -v begin=".SS $command" '/^\.S[SH]/ { on = $0 == begin } on' <<<"$page")
  for option in $options; do
    count=$((count + 1))
    has "$offers" "$option" "the completion of $command does not offer $option"
    grep -qE -- "^ +(-[a-z],)?$option( |$)" <<<"$section" || fail "the manual page does not have $command $option"
  done
  [[ -n $options ]] || fail "$command --help names no options"
  # And nothing that the command does not have.
  while IFS= read -r option; do
    grep -qxF -- "$option" <<<"$options" || fail "the completion of $command offers $option, which it does not have"
  done <<<"$offers"
done
for option in --help --version; do has "$first" "$option" "the completion does not offer $option"; done
((count > 20)) || fail "only $count options were found: has the form of --help changed?"

has "$(offered run --mode '')" gate "the completion does not know what --mode takes"
[[ $(offered run --mode g) == gate ]] || fail "--mode g is completed to $(offered run --mode g)"
# Of a build without cuda.h there are none.
libraries=$("$program" inject --help | sed -n 's/^Libraries: \(.*\); a function belongs .*/\1/p' | tr -d ,)
for name in $libraries; do
  for command in inject trace; do has "$(offered "$command" --library '')" "$name" "--library $name is not completed for $command"; done
done
cases=$("$program" list 2>/dev/null | sed -nE 's/^([a-z0-9_]+\.[a-z0-9_]+) .*/\1/p')
every=$(offered run '')
for name in $cases; do has "$every" "$name" "the case $name is not completed"; done
[[ -z $(offered inject -- /nowhere/at/all) ]] || fail "a command behind -- is completed as an option"

if command -v groff >/dev/null; then
  said=$(groff -man -Tascii -ww -z "$pages/cufault.1" 2>&1) || true
  [[ -z $said ]] || fail "groff: $said"
fi
exit "$failed"
