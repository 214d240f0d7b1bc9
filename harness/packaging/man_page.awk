# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
# From the help of cufault and of each command (see help_pages.sh) to a manual page. Lists of options are shown as they are printed.
function roff(line) {
  gsub(/\\/, "\\e", line)
  gsub(/-/, "\\-", line)
  if (line ~ /^[.']/) line = "\\&" line
  return line
}
function fill(on) {
  if (filled == on) return
  print on ? ".fi\n.ad l" : ".nf"
  filled = on
}
BEGIN {
  filled = 1
  printf ".TH CUFAULT 1 \"\" \"cufault %s\" \"User Commands\"\n", version
  print ".SH NAME\ncufault \\- say why a call of a CUDA library failed, what clears it, and what another driver or library changes"
  print ".SH SYNOPSIS\n.B cufault\n.I COMMAND\n[\\fIOPTION\\fR]... [\\fIARGUMENT\\fR]..."
  print ".br\n.B cufault\n.I COMMAND\n.B \\-\\-help\n.SH DESCRIPTION"
  main = 1
}
/^\f/ {
  fill(1)
  if (main) print ".SH COMMANDS"
  main = 0
  printf ".SS %s\n", roff(substr($0, 2))
  part = "about"
  next
}
main && /^Usage:/ { part = "skip"; next }
main && tolower($0) ~ /^options:/ { print ".SH OPTIONS"; fill(0); part = "list"; next }
main && /^[A-Z].*[:?]$/ { fill(1); part = "skip"; next }
main && /^Exit codes:/ { fill(1); print ".SH EXIT STATUS"; part = "text"; sub(/^Exit codes: /, "") }
main && /^Environment:/ { fill(1); print ".SH ENVIRONMENT"; part = "text"; sub(/^Environment: /, "") }
main && part == "skip" { next }
!main && tolower($0) ~ /^(usage|options|positionals|rules):/ { fill(0); print "" }
!main && /^Exit codes:/ { fill(1); print ".PP" }
/^ *$/ { next }
{ print roff($0) }
END {
  fill(1)
  print ".SH FILES"
  print ".TP\n.I share/cufault/recorded\nrecords that come with cufault, below its prefix"
  print ".TP\n.I records\nwhere\n.B cufault run\nwrites its record unless told otherwise"
  print ".TP\n.I lib/cufault/libcufault.so\nthe injector that\n.B cufault inject\npreloads; its functions are in include/cufault/cufault_injector.h"
  print ".SH EXAMPLES"
  print ".nf\ncufault run \\-\\-tier quick\ncufault run memory.create_under_pressure \\-\\-mode gate"
  print "cufault causes CUBLAS_STATUS_INTERNAL_ERROR\ncufault inject \\-\\-fail cuMemAlloc_v2:3=OUT_OF_MEMORY \\-\\- ./program\n.fi"
}
