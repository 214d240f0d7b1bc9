// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// A library's data is searched in pieces of 1 MiB: names at the edge of a piece, and files that are read in shorter pieces.
#include "harness/doctor/library_facts.hpp"

#include "harness/system/tests/made_elf.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace cufault {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::size_t piece = 1 << 20;
const std::string variable = "CUDA_MODULE_LOADING";
const std::string longest_variable = "CUDA_" + std::string(75, 'X');  // 80 letters

/// A library whose data is zeros and what a test places there.
class made_library {
 public:
  explicit made_library(std::size_t size)
      : bytes_(made_elf{.data = std::string(size, '\0')}.bytes()),
        data_(section_named(read_elf("made", readable_text(bytes_)), ".rodata")->offset),
        size_(size) {}

  void place(const std::string& text, std::size_t at) { bytes_.replace(data_ + at, text.size(), text); }
  /// `most`: bytes of the data that can be read at a time.
  [[nodiscard]] std::set<std::string> variables(std::size_t most = SIZE_MAX) const {
    readable from = readable_text(bytes_);
    from.read = [this, most, whole = from.read](std::uint64_t offset, std::span<char> into) {
      const bool of_data = offset >= data_ && offset < data_ + size_;
      return whole(offset, of_data ? into.first(std::min(most, into.size())) : into);
    };
    const library_facts facts = read_library("made", from);
    EXPECT_EQ(facts.unsearched_bytes, 0U);
    return facts.variables;
  }
  [[nodiscard]] std::set<std::string> variables_with(const std::string& text, std::size_t at) {
    place(text, at);
    std::set<std::string> found = variables();
    place(std::string(text.size(), '\0'), at);
    return found;
  }

 private:
  std::string bytes_;
  std::size_t data_, size_;  // where the data begins in the file
};

/// Where a text begins of which so many bytes are in front of the edge: all and the NUL that ends it, with a byte more and without; all; all
/// but one; half; its prefix; two; one; none; and one byte behind the edge.
std::vector<std::size_t> places_at_edge(const std::string& text) {
  std::vector<std::size_t> places{piece + 1};
  for (const std::size_t in_front :
       {text.size() + 2, text.size() + 1, text.size(), text.size() - 1, text.size() / 2, std::size_t{5},
        std::size_t{2}, std::size_t{1}, std::size_t{0}})
    places.push_back(piece - in_front);
  return places;
}

class edge_of_a_piece : public testing::Test {
 protected:
  void expect_found(const std::string& name, const std::string& text) {
    for (const std::size_t at : places_at_edge(text))
      ASSERT_THAT(library.variables_with(text, at), ElementsAre(name)) << text << " at byte " << at;
  }
  void expect_none(const std::string& text) {
    for (const std::size_t at : places_at_edge(text))
      ASSERT_THAT(library.variables_with(text, at), IsEmpty()) << text << " at byte " << at;
  }
  made_library library{piece + 256};
};

TEST_F(edge_of_a_piece, divides_no_name) {
  expect_found(variable, variable);
  expect_found(longest_variable, longest_variable);
}

TEST_F(edge_of_a_piece, divides_no_name_behind_a_byte_that_is_of_no_word) {
  expect_found(variable, "@" + variable);
  expect_found(longest_variable, "@" + longest_variable);
}

TEST_F(edge_of_a_piece, makes_no_name_of_the_end_of_a_word) {
  expect_none("x" + variable);
  expect_none("%" + variable);
  expect_none("x" + longest_variable);
}

TEST_F(edge_of_a_piece, makes_no_name_of_one_that_is_too_long) {
  expect_none(longest_variable + "X");
  expect_none("X" + longest_variable);
  expect_none("CUDA_" + longest_variable);
}

TEST_F(edge_of_a_piece, divides_none_of_two_names) {
  const std::string two("CUDA_A\0CUDA_B", 13);
  for (const std::size_t at : places_at_edge(two))
    ASSERT_THAT(library.variables_with(two, at), ElementsAre("CUDA_A", "CUDA_B")) << "at byte " << at;
}

TEST(pieces_of_a_library, are_all_searched) {
  made_library library(3 * piece);
  library.place("CUDA_FIRST", 0);
  library.place("CUDA_SECOND", piece - 5);
  library.place("CUDA_THIRD", 2 * piece - 5);
  library.place("CUDA_UNENDED", 3 * piece - 12);
  EXPECT_THAT(library.variables(), ElementsAre("CUDA_FIRST", "CUDA_SECOND", "CUDA_THIRD"));
}

TEST(pieces_of_a_library, may_be_shorter_than_what_was_asked_for) {
  made_library library(1000);
  library.place(variable, 100);
  library.place(longest_variable, 500);
  library.place("xCUDA_INNER", 800);
  for (std::size_t most = 1; most <= 200; ++most)  // an edge at each byte of each name
    ASSERT_THAT(library.variables(most), ElementsAre(variable, longest_variable)) << most << " bytes";
}

TEST(pieces_of_a_library, end_with_its_data) {
  for (const std::size_t size : {piece - 1, piece, piece + 1}) {
    made_library library(size);
    EXPECT_THAT(library.variables_with(variable, size - variable.size() - 1), ElementsAre(variable))
        << size << " bytes";
    EXPECT_THAT(library.variables_with(variable, size - variable.size()), IsEmpty())
        << "no NUL ends the name; " << size << " bytes";
  }
}

TEST(library, finds_whole_names_of_variables_and_no_enumerators) {
  const std::string data(
      "\0CUBLAS_LOGINFO_DBG\0N@CUBLAS_AFTER_NUMBER\0CUBLAS_STATUS_SUCCESS\0xCUDA_NOR_ME\0"
      "CUDA_MODULE_LOADING\0CUDA_UNENDED",
      109);
  EXPECT_THAT(read_library("made", readable_text(made_elf{.data = data}.bytes())).variables,
              ElementsAre("CUBLAS_AFTER_NUMBER", "CUBLAS_LOGINFO_DBG", "CUDA_MODULE_LOADING"));
}

TEST(library, of_another_kind_says_no_version) {
  const auto answers = ask_library("/nowhere/libcublas.so.13", std::chrono::seconds(5));
  EXPECT_EQ(answers.version, 0);
  EXPECT_THAT(answers.why, HasSubstr("/nowhere/libcublas.so.13"));
}

TEST(library, versions_are_told_as_the_headers_do) {
  EXPECT_EQ(cublas_version_text(130100), "13.1.0");
  EXPECT_EQ(runtime_version_text(12090), "12.9");
}

}  // namespace
}  // namespace cufault
