// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/doctor/loader.hpp"

#include "harness/doctor/tests/made_machine.hpp"
#include "harness/system/process.hpp"
#include "harness/system/tests/made_elf.hpp"
#include "reports/base/json_input.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

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

TEST_F(loader, knows_the_paths_of_the_program) {
  library("/program/bin/run");
  library("/program/lib/libx.so.1");
  library("/path/libx.so.1");
  library("/own/libx.so.1");
  const elf_facts plain{}, with_rpath{.machine = {}, .rpath = "/own"},
      with_runpath{.machine = {}, .runpath = "/own"};
  set("LD_LIBRARY_PATH", "/path");
  m.program = searching_program{"/program/bin/run", {.machine = {}, .rpath = "$ORIGIN/../lib"}};
  EXPECT_EQ(find_library(m, "libx.so.1")->file, "/program/bin/../lib/libx.so.1");
  EXPECT_EQ(find_library(m, "libx.so.1")->by, "RPATH of the program");
  EXPECT_EQ(find_library(m, "libx.so.1", {&plain, "/"})->by, "RPATH of the program");
  EXPECT_EQ(find_library(m, "libx.so.1", {&with_rpath, "/"})->by, "RPATH");
  EXPECT_EQ(find_library(m, "libx.so.1", {&with_runpath, "/"})->by, "LD_LIBRARY_PATH")
      << "a library with a RUNPATH does not use the program's RPATH";

  m.program->elf = {.machine = {}, .rpath = "$ORIGIN/../lib", .runpath = "${ORIGIN}/../lib"};
  EXPECT_EQ(find_library(m, "libx.so.1")->by, "LD_LIBRARY_PATH");
  m.environment.clear();
  EXPECT_EQ(find_library(m, "libx.so.1")->by, "RUNPATH of the program");
  EXPECT_FALSE(find_library(m, "libx.so.1", {&plain, "/"})) << "a RUNPATH is for what its owner opens";
}

TEST_F(loader, takes_the_best_level_that_the_processor_has) {
  library("/path/libx.so.1");
  library("/path/glibc-hwcaps/x86-64-v2/libx.so.1");
  library("/path/glibc-hwcaps/x86-64-v4/libx.so.1");
  set("LD_LIBRARY_PATH", "/path");
  EXPECT_EQ(find_library(m, "libx.so.1")->file, "/path/libx.so.1");
  m.hwcaps = {"x86-64-v3", "x86-64-v2"};
  EXPECT_EQ(find_library(m, "libx.so.1")->file, "/path/glibc-hwcaps/x86-64-v2/libx.so.1");
  library("/path/glibc-hwcaps/x86-64-v3/libx.so.1");
  EXPECT_EQ(find_library(m, "libx.so.1")->file, "/path/glibc-hwcaps/x86-64-v3/libx.so.1");
  library("/first/libx.so.1");
  set("LD_LIBRARY_PATH", "/first:/path");
  EXPECT_EQ(find_library(m, "libx.so.1")->file, "/first/libx.so.1")
      << "a folder comes before the next one's levels";
  m.environment.clear();
  library("/usr/lib/libx.so.1");
  library("/usr/lib/glibc-hwcaps/x86-64-v3/libx.so.1");
  EXPECT_EQ(find_library(m, "libx.so.1")->file, "/usr/lib/glibc-hwcaps/x86-64-v3/libx.so.1");
}

TEST_F(loader, agrees_with_the_loader_of_this_machine) {
  const std::filesystem::path fakes = DOCTOR_FAKES, top = root;
  const auto place = [&](const std::string& in) {
    std::filesystem::create_directories(top / in);
    std::filesystem::copy_file(fakes / "libcuda.so.1", top / in / "libsought.so.1");
  };
  std::filesystem::create_directories(top / "bin");
  for (const char* tag : {"rpath", "runpath"})
    std::filesystem::copy_file(fakes / (std::string("doctor_searcher_") + tag), top / "bin" / tag);
  machine here = this_machine();
  const auto agree = [&](const std::string& what) {
    for (const char* tag : {"rpath", "runpath"})
      for (const std::string& path : {std::string(), (top / "path").string(), (top / "none").string()}) {
        here.environment["LD_LIBRARY_PATH"] = path;
        here.program = program_of(here, top / "bin" / tag);
        ASSERT_TRUE(here.program) << tag;
        spawn_options options;
        options.argv = {top / "bin" / tag, "libsought.so.1"};
        options.environment = {{"LD_LIBRARY_PATH", path}};
        const process_result ran = run_process(options, {});
        ASSERT_EQ(ran.exit_code, 0) << ran.stderr_text;
        const auto found = find_library(here, "libsought.so.1");
        EXPECT_EQ(found ? found->file.string() + "\n" : "", ran.stdout_text)
            << what << " " << tag << " " << path;
      }
  };
  agree("nowhere");
  place("path");
  agree("in LD_LIBRARY_PATH");
  place("lib");
  agree("in both");
  for (const char* level : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    place(std::string("lib/glibc-hwcaps/") + level);
    place(std::string("path/glibc-hwcaps/") + level);
    agree(level);
  }
}

TEST_F(loader, knows_the_program_of_a_command) {
  const auto runs = [&](const std::string& path, const std::string& text) {
    using std::filesystem::perms;
    std::filesystem::permissions(write_file(root / path.substr(1), text), perms::owner_all);
  };
  runs("/tools/python3.11", made_elf{.soname = {}, .runpath = "$ORIGIN/../lib"}.bytes());
  std::filesystem::create_symlink("python3.11", root / "tools/python3");
  runs("/scripts/train", "#! /usr/bin/env python3\n");
  runs("/scripts/plain", "#!/tools/python3 -u\n");
  runs("/scripts/loop", "#!/scripts/loop\n");
  runs("/scripts/text", "no script");
  write_file(root / "early/python3", "not executable");
  set("PATH", "/early:/tools:/scripts");
  for (const char* command : {"python3", "/tools/python3", "train", "/scripts/plain"}) {
    const auto program = program_of(m, command);
    ASSERT_TRUE(program) << command;
    EXPECT_EQ(program->file, "/tools/python3.11") << command;
    EXPECT_EQ(program->elf.runpath, "$ORIGIN/../lib") << command;
  }
  for (const char* command : {"absent", "/tools/absent", "loop", "text", "/tools"})
    EXPECT_FALSE(program_of(m, command)) << command;
}

TEST_F(loader, finds_nothing_where_there_is_nothing) {
  EXPECT_FALSE(find_library(m, "libx.so.1"));
  EXPECT_THAT(libraries_on_disk(m, "libcublas"), IsEmpty());
}

TEST_F(loader, finds_a_library_by_name_that_no_search_path_has) {
  library("/usr/local/cuda/lib64/libcublasLt.so.13");
  const auto on_disk = library_named(m, "libcublasLt.so.13");
  EXPECT_EQ(on_disk.file, "/usr/local/cuda/lib64/libcublasLt.so.13");
  EXPECT_EQ(on_disk.by, "no search path");
  set("LD_LIBRARY_PATH", "/own");
  library("/own/libcublasLt.so.13");
  EXPECT_EQ(library_named(m, "libcublasLt.so.13").by, "LD_LIBRARY_PATH");
}

TEST_F(loader, says_where_it_looked_for_a_library_that_is_nowhere) {
  set("LD_LIBRARY_PATH", "/own");
  library("/own/libcublasLt.so.13");
  try {
    library_named(m, "libcublasLt.so.12");
    ADD_FAILURE() << "it is found";
  } catch (const input_error& error) {
    EXPECT_THAT(error.what(), testing::AllOf(testing::StartsWith("libcublasLt.so.12: not found; looked in "),
                                             testing::HasSubstr("LD_LIBRARY_PATH (/own)"),
                                             testing::HasSubstr("/etc/ld.so.cache")));
  }
}

TEST_F(loader, takes_a_folder_out_of_the_search_path_however_it_is_spelt) {
  set("LD_LIBRARY_PATH", "/a/:/it's:/b");
  EXPECT_EQ(search_path_without(m, "/a"), "export LD_LIBRARY_PATH='/it'\\''s:/b'");
  EXPECT_EQ(search_path_without(m, "/b/glibc-hwcaps/x86-64-v3"), "export LD_LIBRARY_PATH='/a/:/it'\\''s'");
  EXPECT_EQ(search_path_without(m, "/c"), "export LD_LIBRARY_PATH='/a/:/it'\\''s:/b'");
  set("LD_LIBRARY_PATH", "/a/");
  EXPECT_EQ(search_path_without(m, "/a"), "unset LD_LIBRARY_PATH");
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

TEST_F(loader, takes_of_the_cache_the_best_level_that_the_processor_has) {
  const std::string levels = "/opt/glibc-hwcaps/";
  const auto entry = [](const std::string& file) {
    return std::pair<std::string, std::string>("libx.so.1", file);
  };
  for (const char* in : {"/opt/", "/opt/glibc-hwcaps/x86-64-v2/", "/opt/glibc-hwcaps/x86-64-v3/"})
    library(std::string(in) + "libx.so.1");
  write_file(root / "etc/ld.so.cache",
             cache_of({entry(levels + "x86-64-v3/libx.so.1"), entry(levels + "x86-64-v2/libx.so.1"),
                       entry("/opt/libx.so.1")},
                      own_flags));
  EXPECT_EQ(find_library(m, "libx.so.1")->file, "/opt/libx.so.1");
  m.hwcaps = {"x86-64-v2"};
  EXPECT_EQ(find_library(m, "libx.so.1")->file, levels + "x86-64-v2/libx.so.1");
  m.hwcaps = {"x86-64-v3", "x86-64-v2"};
  EXPECT_EQ(find_library(m, "libx.so.1")->file, levels + "x86-64-v3/libx.so.1");
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
