# shellcheck shell=bash
# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
# Sourced by scripts of ci/: their help, which is the comment at their head from its fourth line on, their refusals, and their options.
script=$(realpath "$0")
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
me=ci/${script#"$here/"}

usage() { sed -n '4,/^set /{/^#/s/^# \{0,1\}//p}' "$script"; }
die() {
  echo "$me: $*" >&2
  exit 2
}

# Each option sets the variable of its name: to its value or, of FLAGS, to "yes". Where -- is one of FLAGS, what stands behind it is in "${behind[@]}".
# shellcheck disable=SC2034 # behind is of the scripts
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
