#!/bin/sh
# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
# usage: help_pages.sh PROGRAM VERSION FOLDER
#
# Writes FOLDER/cufault.1, the manual page, and FOLDER/cufault, the completion for bash, from what PROGRAM --help and
# PROGRAM COMMAND --help print; of a command with subcommands (history add), these belong to it.
set -eu
program=$1 version=$2 folder=$3
here=$(dirname "$0")
mkdir -p "$folder"
help=$(mktemp)
trap 'rm -f "$help"' EXIT

# What a help lists as commands, under a question or "Subcommands:".
subcommands() { awk '!/^ / { on = /[:?]$/ && tolower($0) !~ /^(options|positionals|rules):/ } on && /^  [a-z]/ { print $1 }'; }

"$program" --help >"$help"
commands=$(subcommands <"$help")
[ -n "$commands" ] || { echo "help_pages.sh: $program --help names no commands" >&2 && exit 1; }
for command in $commands; do
  printf '\f%s\n' "$command" >>"$help" # a form feed begins the help of a command
  "$program" "$command" --help >>"$help"
  for part in $("$program" "$command" --help | subcommands); do
    "$program" "$command" "$part" --help >>"$help"
  done
done
awk -v version="$version" -f "$here/man_page.awk" "$help" >"$folder/cufault.1"
awk -f "$here/completion.awk" "$help" >"$folder/cufault"
