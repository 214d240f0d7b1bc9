// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/doctor/library_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace cufault {
namespace {

constexpr std::uint64_t most_searched = 512U << 20;
constexpr std::size_t longest_name = 80, most_names = 4096, read_at_once = 1 << 20;

constexpr std::array<std::string_view, 7> prefixes{"CUDA_",   "CUBLAS_", "CUBLASLT_", "CUBLASXT_",
                                                   "NVIDIA_", "NVBLAS_", "__CUDA_"};
/// Enumerators of the headers, whose names cuBLAS logs.
constexpr std::array<std::string_view, 25> enumerators{"CUBLAS_STATUS_",
                                                       "CUBLAS_COMPUTE_",
                                                       "CUBLAS_GEMM_",
                                                       "CUBLAS_OP_",
                                                       "CUBLAS_FILL_MODE_",
                                                       "CUBLAS_DIAG_",
                                                       "CUBLAS_SIDE_",
                                                       "CUBLAS_POINTER_",
                                                       "CUBLAS_ATOMICS_",
                                                       "CUBLAS_EMULATION_STRATEGY_",
                                                       "CUBLASLT_ORDER_",
                                                       "CUBLASLT_EPILOGUE",
                                                       "CUBLASLT_MATMUL_",
                                                       "CUBLASLT_POINTER_",
                                                       "CUBLASLT_REDUCTION_",
                                                       "CUBLASLT_ALGO_",
                                                       "CUBLASLT_MATRIX_",
                                                       "CUBLASLT_SEARCH_",
                                                       "CUBLASLT_NUMERICAL_",
                                                       "CUBLASLT_TILE_",
                                                       "CUBLASLT_INNER_SHAPE",
                                                       "CUDA_R_",
                                                       "CUDA_C_",
                                                       "CUDA_ERROR_",
                                                       "CUDA_SUCCESS"};

bool is_letter(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
bool is_word_byte(char c) {
  return is_letter(c) || (c >= 'a' && c <= 'z');
}

/// Whole words that end in NUL. A word is looked for where a NUL follows a letter, which is rare: most of what is searched is numbers.
class name_finder {
 public:
  explicit name_finder(std::set<std::string>& names) : names_(names) {}
  void add(std::string_view piece) {
    const std::size_t old = text_.size();
    text_ += piece;
    for (std::size_t i = std::max<std::size_t>(old, 1); i < text_.size(); ++i)
      if (text_[i] == '\0' && is_letter(text_[i - 1])) add_word_before(i);
    // For a word across two pieces: the longest one, and the byte before it.
    if (text_.size() > longest_name + 1) text_.erase(0, text_.size() - longest_name - 1);
  }

 private:
  void add_word_before(std::size_t end) {
    std::size_t begin = end;
    while (begin > 0 && end - begin <= longest_name && is_letter(text_[begin - 1])) --begin;
    const std::string_view word = std::string_view(text_).substr(begin, end - begin);
    const bool spoilt = begin > 0 && (is_word_byte(text_[begin - 1]) || text_[begin - 1] == '%');
    if (word.size() > 5 && word.size() <= longest_name && !spoilt && names_.size() < most_names &&
        looks_like_variable(word))
      names_.emplace(word);
  }

  std::set<std::string>& names_;
  std::string text_;  // the end of what was added before
};

bool holds_names(const elf_section& s) {
  static constexpr std::array<std::string_view, 12> others{
      ".nv_fatbin", ".dynstr", ".dynsym", ".rela.dyn", ".rela.plt",     ".eh_frame",
      ".gnu.hash",  ".hash",   ".symtab", ".strtab",   ".eh_frame_hdr", ".gcc_except_table"};
  return s.loaded && !s.code && std::find(others.begin(), others.end(), s.name) == others.end();
}

}  // namespace

bool looks_like_variable(std::string_view name) {
  const auto begins = [&](std::string_view with) { return name.starts_with(with); };
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](auto p) { return begins(p) && name.size() > p.size(); }) &&
         std::none_of(enumerators.begin(), enumerators.end(), begins) && !name.ends_with("_MATH") &&
         std::all_of(name.begin(), name.end(), is_letter);
}

library_facts read_library(const std::string& name, const readable& from) {
  library_facts facts;
  facts.file = name;
  facts.size = from.size;
  facts.elf = read_elf(name, from);
  facts.code = read_gpu_code(name, from, facts.elf);
  std::uint64_t searched = 0;
  std::string piece;
  for (const elf_section& s : facts.elf.sections) {
    if (!holds_names(s)) continue;
    name_finder finder(facts.variables);
    for (std::uint64_t done = 0; done < s.size;) {
      if (searched >= most_searched) {
        facts.unsearched_bytes += s.size - done;
        break;
      }
      piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(read_at_once, s.size - done)));
      const std::size_t got = from.read(s.offset + done, piece);
      if (got == 0) break;
      finder.add(std::string_view(piece).substr(0, got));
      done += got;
      searched += got;
    }
  }
  return facts;
}

library_facts read_library(const std::filesystem::path& file) {
  library_facts facts = read_library(file.string(), open_readable(file));
  facts.file = file;
  return facts;
}

std::string cublas_version_text(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}
std::string runtime_version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace cufault
