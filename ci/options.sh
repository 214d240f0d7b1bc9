# shellcheck shell=bash disable=SC2034
# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
# Sourced by scripts of ci/: their help, which is the comment at their head from its fourth line on, refusals, options, a folder and checks.
# What it sets is for them.
script=$(realpath "$0")
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
me=ci/${script#"$here/"}

usage() { sed -n '4,/^set /{/^#/s/^# \{0,1\}//p}' "$script"; }
die() {
  echo "$me: $*" >&2
  exit 2
}

# $work, which goes with the script, but never what is mounted in it.
temporary_folder() {
  work=$(mktemp -d)
  trap 'rm -rf --one-file-system "$work"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
}

failed=0
check() { # WHAT COMMAND...
  if "${@:2}" >"$work/said" 2>&1; then
    echo "$me: $1"
  else
    echo "$me: not so: $1" >&2
    cat "$work/said" >&2
    failed=1
  fi
}

# Each option sets the variable of its name: to its value or, of FLAGS, to "yes". Where -- is one of FLAGS, what stands behind it is in "${behind[@]}".
read_options() { # VALUES FLAGS WORD...
  local values=" $1 " flags=" $2 "
  shift 2
  behind=()
  while (($#)); do
    [[ $1 != -h && $1 != --help ]] || { usage && exit 0; }
    [[ $1 == --* && $values$flags == *" $1 "* ]] || die "unknown argument '$1'; see $me --help"
    [[ $1 != -- ]] || { behind=("${@:2}") && return; }
    if [[ $flags == *" $1 "* ]]; then
      printf -v "${1#--}" yes
    else
      [[ -n ${2-} ]] || die "$1 needs a value; see $me --help"
      printf -v "${1#--}" %s "$2"
      shift
    fi
    shift
  done
}
