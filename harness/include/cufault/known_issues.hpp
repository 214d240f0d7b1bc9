// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What is known to be wrong in a version of cuBLAS or cuBLASLt, PyTorch, Triton, JAX or CuPy, for programs that choose or check one. C++17, and nothing but the standard
// library:
//
//   int version = 0;
//   cublasGetVersion(handle, &version);
//   for (const cufault::known_match& m : cufault::known_issues(cufault::version_text(version), "9.0"))
//     if (m.level == cufault::known_level::measured && m.issue->harm == "wrong_numbers" && m.issue->reach != "forced_algorithm")
//       log(m.issue->what);
//
// The tables are made of cases/known_issues.json, which says where each entry comes from; `cufault known` prints it.
#pragma once

#include <cufault/known_issue.hpp>
#include <cufault/known_issues_table.hpp>
#include <string_view>
#include <vector>

namespace cufault {

/// Known issues of a version ("13.1.0", or more exactly "13.1.0.3"), in the order of the table. Empty for a text that is no version.
/// `library`: "cublas" with cuBLASLt, "torch", "triton", "jax" or "cupy".
inline std::vector<known_match> known_issues(std::string_view version, std::string_view architecture = {},
                                             std::string_view library = "cublas") {
  std::vector<known_match> found;
  for (const known_span& span : known_spans)
    if (known_details::is_of(known_issues_table[span.issue], library) &&
        concerns(span, version, architecture))
      found.push_back({&known_issues_table[span.issue], span.level, span.because});
  return found;
}

}  // namespace cufault
