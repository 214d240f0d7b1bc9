// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/explain/lexicon.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {

/// What the beginning of a line says of where it comes from.
struct line_origin {
  int rank = -1;  ///< "[rank3]:", "[Rank 3]", "[3]:", "[default3]:", "[1,3]<stderr>:", "3: " of srun --label
  std::optional<double> seconds{};  ///< since the begin of the year; of the day, where no date is there
};
line_origin origin_of(std::string_view line);

/// Whether two times can be compared: both with a date, or both without.
bool comparable_times(double a, double b);

/// Whether a line only speaks of failures: a changelog, a help text, a command, a test that passed. In lower case.
bool speaks_of_no_failure(std::string_view lower, const log_grammar& grammar);

/// Whether the words at [begin, end) of a line are said not to be there, or only to be looked for: "no CUDA error", "if you see out of
/// memory", "does this look like out of memory?". In lower case.
bool is_only_spoken_of(std::string_view lower, std::size_t begin, std::size_t end,
                       const log_grammar& grammar);

/// Whether a line is the last one of a Python traceback: "RuntimeError: ...", "torch.OutOfMemoryError: ...".
bool is_exception(std::string_view line);

/// Whether a line that ends a program names a library for GPUs, or a GPU's architecture. What stands in quotes, in a path or
/// in a longer word is the name of something else, and "cuda" alone that of a device; the name of an exception counts.
bool names_gpu_library(std::string_view line, const log_grammar& grammar);

/// Whether a line gives a place in a source of C or C++: "main.cu:12", "gemm.cpp(78)". In lower case.
bool names_native_source(std::string_view lower);

/// Whether text at `begin` is part of an address or of a licence: names of projects in it say nothing of the program. In lower case.
bool is_in_address(std::string_view lower, std::size_t begin);

/// "cublasGemmEx" of cublasGemmEx_64 or cublasCreate_v2, "cusolverDnCreate" of gpusolverDnCreate; empty where there is no such function.
std::string function_called(std::string_view word);

/// A status that stands in a line as a number or in words beside the name of its library: "cublas failed (13)", "cuSolver execution failed".
struct told_status {
  std::size_t begin = 0, end = 0;           ///< of these words
  std::string status;                       ///< "no status of cuFFT": a number that no header of it has
  const status_library* library = nullptr;  ///< never null
  bool in_words = false;                    ///< common ones
};
/// Each library's first. `call`: of a line above, of which a bare name ("INTERNAL_ERROR") can be; empty: none. `lower`: in lower case.
std::vector<told_status> statuses_told(std::string_view line, std::string_view lower, std::string_view call,
                                       const lexicon& known);

/// "commit 0123...", the head of a commit in what git prints.
bool is_head_of_commit(std::string_view line);
/// What can stand below one.
bool is_of_commit(std::string_view line);

/// Without spaces and the bars of a box at both ends.
std::string_view without_box(std::string_view line);

}  // namespace cufault
