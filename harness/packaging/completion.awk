# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
# From the help of cufault and of each command (see help_pages.sh) to a completion for bash: commands, options, the words that an
# option takes one of, names of cases, and files everywhere else.
function end_of_command() {
  if (command == "") return
  printf "    %s)\n", command
  printf "      options='%s'\n", options
  if (choices != "" || values != "") {
    print "      case $previous in"
    printf "%s", choices
    if (values != "") printf "        %s) return ;;\n", values
    print "      esac"
  }
  if (names) print "      names=yes"
  print "      ;;"
}
function begin_command(name) {
  command = name
  options = choices = values = ""
  names = 0
}
BEGIN {
  print "# bash completion for cufault; made from its --help"
}
/^\f/ {
  if (command == "") {
    print "_cufault() {"
    print "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} options='' names='' word"
    print "  COMPREPLY=()"
    print "  if ((COMP_CWORD == 1)); then"
    printf "    mapfile -t COMPREPLY < <(compgen -W '%s %s' -- \"$current\")\n", commands, main_options
    print "    return"
    print "  fi"
    print "  # Behind -- stands another program's command line."
    print "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD - 1}\"; do"
    print "    if [[ $word == -- ]]; then"
    print "      mapfile -t COMPREPLY < <(compgen -c -- \"$current\")"
    print "      return"
    print "    fi"
    print "  done"
    print "  case ${COMP_WORDS[1]} in"
  }
  end_of_command()
  begin_command(substr($0, 2))
  next
}
command == "" && /^[A-Z].*[:?]$/ && tolower($0) !~ /^options:/ { listing = 1; next }
listing && /^  [a-z]/ { commands = commands (commands == "" ? "" : " ") $1; next }
/^[A-Z]/ { listing = 0 }
/^  (-[a-z],)?--[a-z]/ {
  option = $1
  sub(/^-[a-z],/, "", option)
  if (command == "") { main_options = main_options (main_options == "" ? "" : " ") option; next }
  if (index(" " options " ", " " option " ")) next  # of several subcommands
  options = options (options == "" ? "" : " ") option
  if (match($2, /^[A-Z]+:\{[^}]*\}/)) {
    words = $2
    sub(/^[A-Z]+:\{/, "", words)
    sub(/\}.*/, "", words)
    gsub(/,/, " ", words)
    choices = choices sprintf("        %s)\n          mapfile -t COMPREPLY < <(compgen -W '%s' -- \"$current\")\n          return\n          ;;\n", option, words)
  } else if ($2 ~ /^(DIR|FILE|PATH|RECORD)/ || $2 ~ /^[A-Z]+:(FILE|PATH)/) {
    values = values (values == "" ? "" : " | ") option  # files, by complete's default
  } else if ($2 ~ /^(TEXT|INT|UINT|I$|CONDITION)/) {
    choices = choices sprintf("        %s) compopt +o default; return ;;\n", option)
  }
  next
}
/^  (CASE|OPERATION) / { names = 1 }
END {
  end_of_command()
  print "  esac"
  print "  if [[ $current == -* ]]; then"
  print "    mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\")"
  print "  elif [[ -n $names ]]; then"
  print "    # The names of the cases that this program has."
  print "    mapfile -t COMPREPLY < <(compgen -W \"$(\"${COMP_WORDS[0]}\" list 2>/dev/null | sed -n 's/^\\([a-z0-9_]*\\.[a-z0-9_]*\\).*/\\1/p')\" -- \"$current\")"
  print "  fi"
  print "}"
  print "complete -o default -F _cufault cufault"
}
