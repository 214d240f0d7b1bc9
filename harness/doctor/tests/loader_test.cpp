// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/doctor/loader.hpp"

#include "harness/doctor/tests/made_elf.hpp"
#include "harness/doctor/tests/made_machine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace cufault {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

class loader : public made_machine {};

std::string cache_of(const std::vector<std::pair<std::string, std::string>>& libraries, std::uint32_t flags) {
  std::string strings, entries;
  const std::size_t strings_at = 48 + 24 * libraries.size();
  for (const auto& [name, file] : libraries) {
    append(entries, flags);
    append(entries, static_cast<std::uint32_t>(strings_at + strings.size()));
    strings += name + '\0';
    append(entries, static_cast<std::uint32_t>(strings_at + strings.size()));
    strings += file + '\0';
    append(entries, std::uint32_t{0});
    append(entries, std::uint64_t{0});
  }
  std::string cache = "glibc-ld.so.cache1.1";
  append(cache, static_cast<std::uint32_t>(libraries.size()));
  append(cache, static_cast<std::uint32_t>(strings.size()));
  cache.resize(48);
  return cache + entries + strings;
}
#if defined(__aarch64__)
constexpr std::uint32_t own_flags = 0x0a03;
#else
constexpr std::uint32_t own_flags = 0x0303;
#endif

TEST_F(loader, keeps_the_order_of_the_search) {
  library("/rpath/libx.so.1");
  library("/path/libx.so.1");
  library("/lib64/libx.so.1");
  const elf_facts with_rpath{.machine = {}, .rpath = "/rpath"},
      with_both{.machine = {}, .rpath = "/rpath", .runpath = "$ORIGIN"};
  set("LD_LIBRARY_PATH", "/none:/path");
  EXPECT_EQ(find_library(m, "libx.so.1")->by, "LD_LIBRARY_PATH");
  EXPECT_EQ(find_library(m, "libx.so.1", {&with_rpath, "/"})->by, "RPATH");
  EXPECT_EQ(find_library(m, "libx.so.1", {&with_both, "/rpath"})->file, "/path/libx.so.1")
      << "a RUNPATH makes the RPATH void, and comes behind LD_LIBRARY_PATH";
  m.environment.clear();
  EXPECT_EQ(find_library(m, "libx.so.1", {&with_both, "/rpath"})->by, "RUNPATH");
}

TEST_F(loader, finds_nothing_where_there_is_nothing) {
  EXPECT_FALSE(find_library(m, "libx.so.1"));
  EXPECT_THAT(libraries_on_disk(m, "libcublas"), IsEmpty());
}

TEST_F(loader, passes_over_libraries_of_another_machine) {
  made_elf other{.soname = "libx.so.1"};
  other.machine = EM_PPC64;
  write_file(root / "path/libx.so.1", other.bytes());
  library("/more/libx.so.1");
  set("LD_LIBRARY_PATH", "/path:/more");
  EXPECT_EQ(find_library(m, "libx.so.1")->file, "/more/libx.so.1");
}

TEST_F(loader, stops_at_a_file_that_is_no_library) {
  write_file(root / "path/libx.so.1", "");
  library("/more/libx.so.1");
  set("LD_LIBRARY_PATH", "/path:/more");
  EXPECT_EQ(find_library(m, "libx.so.1")->file, "/path/libx.so.1");
}

TEST_F(loader, reads_the_cache) {
  library("/opt/libx.so.1");
  write_file(root / "etc/ld.so.cache",
             cache_of({{"libx.so.1", "/opt/libx.so.1"}, {"liby.so.1", "/gone/liby.so.1"}}, own_flags));
  EXPECT_EQ(find_library(m, "libx.so.1")->by, "ld.so.cache");
  EXPECT_FALSE(find_library(m, "liby.so.1")) << "the cache is older than the folder";
}

TEST_F(loader, takes_of_a_cache_what_is_for_this_machine) {
  EXPECT_THAT(cached_libraries(cache_of({{"a", "/a"}}, own_flags)), ElementsAre(Pair("a", "/a")));
  EXPECT_THAT(cached_libraries(cache_of({{"a", "/a"}}, 0x0003)), IsEmpty());
}

TEST_F(loader, believes_no_count_of_a_cache) {
  const std::string good = cache_of({{"a", "/a"}, {"b", "/b"}}, own_flags);
  for (std::size_t length = 0; length < good.size(); ++length)
    EXPECT_LE(cached_libraries(good.substr(0, length)).size(), 2U);
  std::string many = good;
  many[20] = many[21] = many[22] = '\xff';
  EXPECT_THAT(cached_libraries(many), IsEmpty());
  EXPECT_THAT(cached_libraries("no cache"), IsEmpty());
}

TEST_F(loader, finds_on_disk_each_file_once) {
  library("/usr/local/cuda-13.0/lib64/libcublas.so.13");
  std::filesystem::create_symlink("libcublas.so.13", root / "usr/local/cuda-13.0/lib64/libcublas.so");
  std::filesystem::create_directory_symlink("cuda-13.0", root / "usr/local/cuda");
  library("/usr/local/cuda-13.0/lib64/libcublasLt.so.13");
  library("/env/lib/python3.11/site-packages/nvidia/cublas/lib/libcublas.so.12");
  set("VIRTUAL_ENV", "/env");
  EXPECT_THAT(libraries_on_disk(m, "libcublas"),
              ElementsAre("/usr/local/cuda-13.0/lib64/libcublas.so.13",
                          "/env/lib/python3.11/site-packages/nvidia/cublas/lib/libcublas.so.12"));
}

}  // namespace
}  // namespace cufault
