# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
# cuda.h, cudaProfiler.h -> what the injector knows of the driver's functions:
#   CUFAULT_DRIVER_CODE(CUDA_ERROR_OUT_OF_MEMORY, 2, 0)        and 1 for a code behind which the context or process is said to be lost
#   CUFAULT_DRIVER_FUNCTION(cuMemAlloc_v2, 1, "1 2 4 3 201")   every name that is exported, whether it may also return what
#                                                              earlier asynchronous work left behind, the codes documented for it
# The documentation of a function precedes its declaration and names it without version and stream suffix.

# typedef enum cudaError_enum { CUDA_SUCCESS = 0, … } CUresult;
/typedef enum cudaError_enum/ { in_codes = 1 }
in_codes && /\/\*\*/ { lost = 0 }
in_codes && /process must|cannot be used anymore/ { lost = 1 }
in_codes && match($0, /CUDA_(SUCCESS|ERROR_[A-Z0-9_]+) *= *[0-9]+/) {
  split(substr($0, RSTART, RLENGTH), part, / *= */)
  code[part[1]] = part[2]
  print "CUFAULT_DRIVER_CODE(" part[1] ", " part[2] ", " lost + 0 ")"
}
/} CUresult;/ { in_codes = 0 }

/^\/\*\*/ { documented = ""; asynchronous = 0; in_return = 0 }
/\\return/ { in_return = 1 }
in_return {
  rest = $0
  while (match(rest, /::CUDA_[A-Z0-9_]+/)) {
    name = substr(rest, RSTART + 2, RLENGTH - 2)
    if (name in code && name != "CUDA_SUCCESS") documented = documented (documented == "" ? "" : " ") code[name]
    rest = substr(rest, RSTART + RLENGTH)
  }
}
/\\notefnerr/ { asynchronous = 1 }
/\\(notefnerr|sa|note|notesync)/ || /^ *\*\// { in_return = 0 }

# #define cuMemAlloc cuMemAlloc_v2, #define cuMemcpy __CUDA_API_PTDS(cuMemcpy)
/^ *# *define +cu[A-Z][A-Za-z0-9_]* +(__CUDA_API_PT(DS|SZ)\()?cu[A-Z]/ {
  text = $0
  suffix = text ~ /__CUDA_API_PTDS/ ? "_ptds" : text ~ /__CUDA_API_PTSZ/ ? "_ptsz" : ""
  sub(/^ *# *define +/, "", text)
  base = text
  sub(/[^A-Za-z0-9_].*/, "", base)
  sub(/^[A-Za-z0-9_]+ +(__CUDA_API_PT(DS|SZ)\()?/, "", text)
  sub(/[^A-Za-z0-9_].*/, "", text)
  remember(text, base)
  if (suffix != "") remember(text suffix, base)
}
/CUresult +CUDAAPI *$/ { split_declaration = 1; next }
/CUresult +CUDAAPI +cu[A-Z]/ || (split_declaration && /^ *cu[A-Z]/) {
  name = $0
  sub(/.*CUDAAPI +/, "", name)
  sub(/^ +/, "", name)
  sub(/[^A-Za-z0-9_].*/, "", name)
  remember(name, name)
  if (documented != "" && !(name in codes)) {
    codes[name] = documented
    may_be_late[name] = asynchronous
  }
}
{ split_declaration = 0 }
function remember(name, base) {
  if (name in base_of) return
  base_of[name] = base
  names[++count] = name
}
END {
  for (i = 1; i <= count; ++i) {
    name = names[i]
    base = base_of[name]
    sub(/(_v[0-9]+)?(_pt[ds][sz])?$/, "", base)
    print "CUFAULT_DRIVER_FUNCTION(" name ", " (may_be_late[base] ? 1 : 0) ", \"" codes[base] "\")"
  }
}
