// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/system/library_file.hpp"

#include "harness/system/tests/made_elf.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace cufault {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class library_files : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "cufault-library-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  json facts_of(const std::string& bytes) {
    return library_file(write_file(folder_ / "libcublas.so.13", bytes));
  }

 private:
  std::filesystem::path folder_;  // temporary_folder keeps signal handlers, which other tests check
};

TEST_F(library_files, say_what_the_loader_and_the_driver_read) {
  const std::string bytes =
      made_elf{.soname = "libcublas.so.13",
               .rpath = "$ORIGIN",
               .needed = {"libcublasLt.so.13", "libc.so.6"},
               .fatbin = made_container({{2, 90, 0x100000}, {2, 80}, {1, 120}, {2, 80}})}
          .bytes();
  EXPECT_EQ(facts_of(bytes), (json{{"soname", "libcublas.so.13"},
                                   {"build_id", "01abcdef"},
                                   {"bytes", bytes.size()},
                                   {"rpath", "$ORIGIN"},
                                   {"needed", {"libcublasLt.so.13", "libc.so.6"}},
                                   {"gpu_code", {"sm_80", "sm_90a", "compute_120"}}}));
}

TEST_F(library_files, leave_out_what_they_do_not_have) {
  const std::string bytes = made_elf{.runpath = "/folder"}.bytes();
  EXPECT_EQ(facts_of(bytes),
            (json{{"build_id", "01abcdef"}, {"bytes", bytes.size()}, {"runpath", "/folder"}}));
}

TEST_F(library_files, that_cannot_be_read_say_why) {
  const auto refused = [](const json& facts) {
    return facts.size() == 1 ? facts.value("unread", std::string()) : facts.dump();
  };
  EXPECT_THAT(refused(facts_of("")),
              HasSubstr("libcublas.so.13: byte 0: the file ends inside of the header"));
  EXPECT_THAT(refused(library_file("/nowhere/libcublas.so.13")), HasSubstr("/nowhere/libcublas.so.13: "));
}

// Files written by the linker.
TEST(linked_files, have_the_search_path_that_the_linker_was_told) {
  const json old = library_file(LINKED_WITH_RPATH), now = library_file(LINKED_WITH_RUNPATH);
  EXPECT_EQ(old.value("rpath", ""), "$ORIGIN/../lib");
  EXPECT_FALSE(old.contains("runpath"));
  EXPECT_EQ(now.value("runpath", ""), "$ORIGIN/../lib");
  EXPECT_FALSE(now.contains("rpath"));
  EXPECT_THAT(now.value("needed", std::vector<std::string>()), testing::Contains("libc.so.6"));
}

}  // namespace
}  // namespace cufault
