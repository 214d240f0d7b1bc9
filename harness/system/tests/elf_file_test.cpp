// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/system/elf_file.hpp"

#include "harness/system/gpu_code.hpp"
#include "harness/system/tests/made_elf.hpp"
#include "reports/base/json_input.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>

namespace cufault {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

made_elf whole() {
  return {
      .soname = "libcublas.so.13",
      .rpath = "/old",
      .runpath = "$ORIGIN",
      .needed = {"libcublasLt.so.13", "libc.so.6"},
      .data = std::string(256, 'd'),
      .fatbin = made_container({{2, 75}, {2, 90}, {2, 90, 0x100000}, {1, 120}}) + made_container({{2, 90}})};
}

gpu_code_facts read_made(const std::string& bytes) {
  const readable from = readable_text(bytes);
  return read_gpu_code("made", from, read_elf("made", from));
}
std::string library_refusal(const std::string& bytes) {
  try {
    read_made(bytes);
  } catch (const input_error& error) {
    return error.what();
  }
  return "";
}
template <class T>
std::string with(std::string bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
  return bytes;
}

TEST(elf_file, says_what_the_loader_reads) {
  const std::string bytes = whole().bytes();
  const elf_facts elf = read_elf("made", readable_text(bytes));
  EXPECT_EQ(elf.machine, own_machine());
  EXPECT_EQ(elf.base, 0U);
  EXPECT_EQ(elf.soname, "libcublas.so.13");
  EXPECT_EQ(elf.rpath, "/old");
  EXPECT_EQ(elf.runpath, "$ORIGIN");
  EXPECT_EQ(elf.build_id, "01abcdef");
  EXPECT_THAT(elf.needed, ElementsAre("libcublasLt.so.13", "libc.so.6"));
  ASSERT_NE(section_named(elf, ".nv_fatbin"), nullptr);
  EXPECT_EQ(section_named(elf, ".text"), nullptr);
}

TEST(elf_file, refuses_what_is_no_elf_file) {
  EXPECT_THAT(library_refusal(""), HasSubstr("byte 0: the file ends inside of the header"));
  EXPECT_THAT(library_refusal(std::string(100, 'x')), HasSubstr("byte 0: no ELF file"));
  std::string bytes = whole().bytes();
  bytes[EI_CLASS] = ELFCLASS32;
  EXPECT_THAT(library_refusal(bytes), HasSubstr("64 bits"));
}

TEST(elf_file, of_every_length_is_read_or_refused_in_one_line) {
  const std::string bytes = whole().bytes();
  std::size_t refused = 0;
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const std::string why = library_refusal(bytes.substr(0, length));
    refused += why.empty() ? 0 : 1;
    EXPECT_EQ(why.find('\n'), std::string::npos);
  }
  EXPECT_EQ(refused, bytes.size()) << "the section headers come last, so that every cut is one";
}

TEST(elf_file, with_any_byte_changed_ends_in_time_and_in_bounds) {
  const std::string bytes = whole().bytes();
  std::size_t read_at_all = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    for (const char value : {'\0', '\x7f', '\xff'})
      read_at_all += library_refusal(with(bytes, i, value)).empty() ? 1 : 0;
  EXPECT_GT(read_at_all, bytes.size()) << "most bytes are data";
}

TEST(elf_file, believes_no_count) {
  const std::string bytes = whole().bytes();
  EXPECT_THAT(library_refusal(with(bytes, offsetof(Elf64_Ehdr, e_phnum), std::uint16_t{65535})),
              HasSubstr("too many"));
  EXPECT_THAT(library_refusal(with(bytes, offsetof(Elf64_Ehdr, e_shnum), std::uint16_t{65535})),
              HasSubstr("too many"));
  EXPECT_THAT(library_refusal(with(bytes, offsetof(Elf64_Ehdr, e_shoff), ~std::uint64_t{0})),
              HasSubstr("ends inside"));
  EXPECT_THAT(library_refusal(with(bytes, offsetof(Elf64_Ehdr, e_phentsize), std::uint16_t{1})),
              HasSubstr("another size"));
}

TEST(elf_file, is_a_regular_file) {
  EXPECT_THROW(open_readable("/dev/null"), input_error);
  EXPECT_THROW(open_readable("/"), input_error);
  EXPECT_THROW(open_readable("/nowhere/at/all"), input_error);
}

// ---- GPU code ----

gpu_code_facts code_in(const std::string& section) {
  return read_gpu_code("made", readable_text(section),
                       {.name = ".nv_fatbin", .offset = 0, .size = section.size()});
}

TEST(gpu_code, is_counted_by_kind_and_architecture) {
  const gpu_code_facts facts = read_made(whole().bytes());
  std::vector<std::string> seen;
  for (const auto& [code, count] : facts.count) seen.push_back(to_string(code) + "=" + std::to_string(count));
  EXPECT_THAT(seen, ElementsAre("sm_75=1", "sm_90=2", "sm_90a=1", "compute_120=1"));
  EXPECT_EQ(facts.containers, 2U);
  EXPECT_EQ(facts.unread_bytes, 0U);
}

TEST(gpu_code, runs_on_later_minor_versions_and_ptx_on_later_ones) {
  const gpu_code_facts facts = code_in(made_container({{2, 80}, {2, 90, 0x100000}, {1, 100}}));
  EXPECT_TRUE(has_machine_code_for(facts, 80));
  EXPECT_TRUE(has_machine_code_for(facts, 86));
  EXPECT_TRUE(has_machine_code_for(facts, 90)) << "sm_90a";
  EXPECT_FALSE(has_machine_code_for(facts, 91)) << "sm_90a is for 9.0 alone";
  EXPECT_FALSE(has_machine_code_for(facts, 75));
  EXPECT_FALSE(has_machine_code_for(facts, 100));
  EXPECT_TRUE(has_ptx_for(facts, 100));
  EXPECT_TRUE(has_ptx_for(facts, 120));
  EXPECT_FALSE(has_ptx_for(facts, 90));
}

TEST(gpu_code, that_is_malformed_counts_as_unread) {
  const std::string good = made_container({{2, 90}, {2, 80}});
  EXPECT_GT(code_in(std::string(64, 'x')).unread_bytes, 0U);
  EXPECT_EQ(code_in(std::string(64, 'x') + good).count.size(), 2U) << "found behind padding";
  constexpr std::size_t container_size = 8, first_entry = 16, entry_header = 4, entry_size = 8;
  EXPECT_TRUE(code_in(with(good, container_size, ~std::uint64_t{0})).count.empty());
  EXPECT_TRUE(code_in(with(good, first_entry + entry_header, std::uint32_t{0})).count.empty());
  EXPECT_TRUE(code_in(with(good, first_entry + entry_size, ~std::uint64_t{0} - 32)).count.empty());
  for (std::size_t length = 0; length < good.size(); ++length)
    EXPECT_LE(code_in(good.substr(0, length)).count.size(), 1U) << length;
}

}  // namespace
}  // namespace cufault
