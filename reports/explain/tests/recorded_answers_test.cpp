// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The file that the build makes of the records for explain, causes and why.
#include "reports/explain/recorded_answers.hpp"

#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"
#include "reports/base/tests/input_examples.hpp"
#include "reports/explain/tests/examples.hpp"
#include "reports/judge/judge.hpp"

#include <gtest/gtest.h>

namespace cufault {
namespace {

namespace fs = std::filesystem;

class recorded_answers_file : public examples::in_directory {
 protected:
  void SetUp() override {
    in_directory::SetUp();
    file = directory / "answers.jsonl";
    record r = load_record(fs::path(CUFAULT_RECORDED) / "h200-580.159.04-cublas-12.8.4");
    for (case_result& c : r.cases) judge(c, {}, keys_of(r));
    all = answers_in(std::span(&r, 1), known());
    write_answers(file, all, "digest");
  }
  [[nodiscard]] bool is_read(const std::string& digest = "digest") const {
    return read_answers(file, digest).has_value();
  }

  fs::path file{};
  recorded_answers all{};
};

TEST_F(recorded_answers_file, has_all_that_the_records_say) {
  ASSERT_GT(all.seen.failures.size(), 50U);
  ASSERT_GT(all.seen.remedies.size(), 50U);
  ASSERT_TRUE(all.statuses.contains("CUBLAS_STATUS_INTERNAL_ERROR"));
  const auto again = read_answers(file, "digest");
  ASSERT_TRUE(again);
  EXPECT_TRUE(*again == all);
}

TEST_F(recorded_answers_file, is_left_alone_where_it_is_not_of_these_sources) {
  EXPECT_TRUE(is_read());
  EXPECT_FALSE(is_read("another"));
  EXPECT_FALSE(is_read("dig"));
}

TEST_F(recorded_answers_file, is_left_alone_where_it_is_missing_or_damaged) {
  const std::string whole = read_text(file);
  for (const std::size_t kept :
       {std::size_t{0}, std::size_t{5}, whole.find('\n'), whole.size() / 2, whole.size() - 1}) {
    write_whole(file, whole.substr(0, kept));
    EXPECT_FALSE(is_read()) << kept << " bytes of it";
  }
  std::string other = whole;
  other.replace(other.find("CUBLAS_STATUS_"), 6, "cublas");
  write_whole(file, other);
  EXPECT_FALSE(is_read()) << "a word of it is another one";
  write_whole(file, whole);
  EXPECT_TRUE(is_read());
  fs::remove(file);
  EXPECT_FALSE(is_read());
  fs::create_directory(file);
  EXPECT_FALSE(is_read());
}

class digest_of_sources : public examples::in_directory {};

TEST_F(digest_of_sources, differs_with_the_program_each_name_and_each_byte) {
  const fs::path records = directory / "records";
  fs::create_directories(records / "stack");
  write_whole(records / "stack/a.jsonl", "{\"a\":1}\n");
  const std::string before = digest_of({records}, "program");
  EXPECT_EQ(digest_of({records}, "program"), before);
  write_whole(records / "notes.txt", "no source");
  EXPECT_EQ(digest_of({records}, "program"), before);
  write_whole(records / "stack/a.jsonl", "{\"a\":2}\n");
  const std::string other = digest_of({records}, "program");
  EXPECT_NE(other, before);
  fs::rename(records / "stack/a.jsonl", records / "stack/b.jsonl");
  EXPECT_NE(digest_of({records}, "program"), other);
  EXPECT_NE(digest_of({records}, "another"), digest_of({records}, "program"));
  const std::string alone = digest_of({records}, "program");
  fs::create_directories(directory / "elsewhere");
  write_whole(directory / "elsewhere/c.jsonl", "{}\n");
  fs::create_directory_symlink(directory / "elsewhere", records / "linked");
  EXPECT_NE(digest_of({records}, "program"), alone) << "a stack may be a link";
}

}  // namespace
}  // namespace cufault
