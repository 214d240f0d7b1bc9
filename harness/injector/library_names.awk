# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
# Headers of a library -> what the injector knows of its functions; -v prefix=cublas -v status=cublasStatus_t:
#   CUBLAS_STATUS_NOT_INITIALIZED 1   what `status` can be
#   cublasSgemm_v2                    what returns it and is exported
# Since CUDA 13.0, code that nvcc makes for kernel<<<...>>> calls __cudaLaunchKernel.

# A line such as "#define cudaMemcpy __CUDART_API_PTDS(cudaMemcpy)" says that a second function exists for the per-thread stream.
/^ *# *define +[a-zA-Z0-9_]+ +__CUDART_API_PT(DS|SZ)\([a-zA-Z0-9_]+\)/ {
  name = $0
  sub(/.*\(/, "", name)
  sub(/\).*/, "", name)
  streams[name] = $0 ~ /PTDS/ ? "_ptds" : "_ptsz"
}
/^ *#/ || continued { continued = /\\$/; next }
{
  line = $0
  while (in_comment || match(line, /\/\*|\/\//)) {
    if (in_comment) {
      end = index(line, "*/")
      if (end == 0) { line = ""; break }
      line = substr(line, end + 2)
      in_comment = 0
    } else if (substr(line, RSTART, 2) == "/*") {
      declaration = declaration " " substr(line, 1, RSTART - 1)
      line = substr(line, RSTART + 2)
      in_comment = 1
    } else {
      line = substr(line, 1, RSTART - 1)
    }
  }
  declaration = declaration " " line
  while ((end = index(declaration, ";")) != 0) {
    take(substr(declaration, 1, end - 1))
    declaration = substr(declaration, end + 1)
  }
}

function take(text) {
  gsub(/[ \t]+/, " ", text)
  if (index(text, "{") != 0 && text ~ ("enum[^;{]* " enum() " ?{|} ?" status "$")) take_codes(text)
  if (text !~ /inline/ && match(text, "(^|[^A-Za-z0-9_])" status " ([A-Z]+ )?(__cudaLaunch|" prefix ")[A-Za-z0-9_]+ ?\\(")) {
    name = substr(text, RSTART, RLENGTH)
    sub(/ ?\($/, "", name)
    sub(/.* /, "", name)
    if (!(name in known)) names[++count] = name
    known[name] = 1
  }
}
# cudaError_t is another name of enum cudaError.
function enum(name) {
  name = status
  sub(/_t$/, "", name)
  return name
}
function take_codes(text, entries, i, n, part) {
  sub(/.*{/, "", text)  # of extern "C" {, too
  sub(/}.*/, "", text)
  n = split(text, entries, ",")
  for (i = 1; i <= n; ++i) {
    if (entries[i] !~ /^ ?[A-Za-z][A-Za-z0-9_]*( [A-Z_]+)? ?= ?[A-Za-z0-9_]+ ?$/) continue
    split(entries[i], part, "=")
    sub(/^ /, "", part[1])
    sub(/ .*/, "", part[1])
    gsub(/ /, "", part[2])
    if (part[2] in code) part[2] = code[part[2]]
    if (part[2] ~ /^0x/) part[2] = of_hex(part[2])
    if (part[2] !~ /^[0-9]+$/) continue
    if (part[1] in code) continue
    code[part[1]] = part[2]
    print part[1] " " part[2]
  }
}
function of_hex(text, value, i) {
  for (i = 3; i <= length(text); ++i) value = value * 16 + index("0123456789ABCDEF", toupper(substr(text, i, 1))) - 1
  return value + 0
}
END {
  for (i = 1; i <= count; ++i) {
    print names[i]
    if (names[i] in streams) print names[i] streams[names[i]]
  }
}
