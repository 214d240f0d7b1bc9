// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/history/history.hpp"

#include "reports/model/stack_folder.hpp"
#include "reports/model/tests/examples.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace fs = std::filesystem;

namespace cufault {
namespace {

using namespace examples;
using testing::HasSubstr;

record run_on(const std::string& cublas, const std::string& started, std::vector<observation> trials,
              const std::string& races = {}) {
  record r;
  *r.stack = {{"keys", {{"cublas", cublas}, {"cublaslt", cublas}, {"driver", "580"}}},
              {"gpu", {{"name", "H200"}}}};
  r.started = started;
  r.commit = "c";
  r.cases = {{.name = "memory.leak", .arms = {arm(arm_kind::fault, std::move(trials), "fault")}}};
  r.cases[0].arms[0].races = races;
  return r;
}

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class history_file : public testing::Test {
 protected:
  void SetUp() override {
    folder = fs::temp_directory_path() / ("cufault-history-test-" + std::to_string(::getpid()));
    fs::create_directories(folder);
    file = folder / "history.db";
    fs::remove(file);
  }
  void TearDown() override { fs::remove_all(folder); }

  history::added add(const record& r) { return history(file, history::access::add).add(r); }
  history_view view(const std::vector<std::string>& patterns = {}) {
    return history(file, history::access::read).view(patterns);
  }
  /// Why the file is refused, by a reader and by a writer; it must be left as it is.
  std::string history_refusal() {
    const std::string before = bytes_of(file);
    std::string why;
    for (const auto how : {history::access::read, history::access::add}) {
      try {
        history(file, how).view();
        ADD_FAILURE() << "not refused";
      } catch (const input_error& e) {
        EXPECT_TRUE(why.empty() || why == e.what()) << why << '\n' << e.what();
        why = e.what();
      }
    }
    EXPECT_EQ(bytes_of(file), before);
    EXPECT_EQ(why.find('\n'), std::string::npos);
    EXPECT_TRUE(why.starts_with(file.string() + ": ")) << why;
    return why;
  }
  void sql(const std::string& text) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(file.c_str(), &db), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(db, text.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  }

  fs::path folder, file;
};

TEST_F(history_file, tells_since_which_stack_an_arm_is_what_it_is) {
  add(run_on("13.1.0", "2026-11-03", {trial({internal})}));
  add(run_on("12.0.1", "2026-11-02", {trial({no_memory})}));
  add(run_on("13.10.0", "2026-11-01", {trial({internal})}));
  const auto seen = view();
  ASSERT_EQ(seen.stacks.size(), 3U);
  EXPECT_EQ(seen.stacks[0].label, "cuBLAS 12.0.1, H200, driver 580");
  EXPECT_EQ(seen.stacks[2].label, "cuBLAS 13.10.0, H200, driver 580");  // by numbers, not by text or date
  ASSERT_EQ(seen.arms.size(), 1U);
  EXPECT_EQ(seen.arms[0].since, 1U);
  EXPECT_EQ(seen.arms[0].entries[1].results[0].seen,
            "cublasCreate: CUBLAS_STATUS_INTERNAL_ERROR; context usable");
  EXPECT_EQ(seen.runs, 3U);
  EXPECT_EQ(seen.first, "2026-11-01");
  EXPECT_EQ(seen.last, "2026-11-03");
}

TEST_F(history_file, counts_runs_that_differ_from_most) {
  for (const auto* day : {"2026-11-01", "2026-11-02", "2026-11-03"})
    add(run_on("13.1.0", day, {trial({no_memory})}));
  add(run_on("13.1.0", "2026-11-04", {trial({internal})}));
  const auto entry = view().arms.at(0).entries.at(0);
  EXPECT_EQ(entry.runs, 4U);
  EXPECT_EQ(entry.flakes(), 1U);
  EXPECT_EQ(entry.results.at(0).last, "2026-11-03");
}

TEST_F(history_file, counts_trials_of_an_arm_that_races_and_calls_none_a_flake) {
  add(run_on("13.1.0", "2026-11-01", {trial({no_memory}), trial({internal}), trial({internal})}, "chance"));
  add(run_on("13.1.0", "2026-11-02", {trial({no_memory}), trial({no_memory}), trial({internal})}, "chance"));
  add(run_on("13.2.0", "2026-11-02", {trial({no_memory})}, "chance"));
  const auto arm = view().arms.at(0);
  EXPECT_EQ(arm.entries.at(0).flakes(), 0U);
  EXPECT_EQ(arm.entries.at(0).results.at(0).trials, 3U);
  EXPECT_EQ(arm.entries.at(0).results.at(1).trials, 3U);
  EXPECT_EQ(arm.since, 0U);  // they share a result
}

TEST_F(history_file, proposes_to_file_anew_what_raced_and_is_steady) {
  add(run_on("13.1.0", "2026-11-01", {trial({no_memory}), trial({internal})}, "chance"));
  for (int day = 10; day < 30; ++day)
    add(run_on("13.1.0", "2026-11-" + std::to_string(day), {trial({internal}), trial({internal})}, "chance"));
  const auto proposals = view().proposals;
  ASSERT_EQ(proposals.size(), 1U);
  EXPECT_TRUE(proposals[0].steady);
  EXPECT_EQ(proposals[0].arm, "memory.leak/fault");
  EXPECT_EQ(proposals[0].first, "2026-11-10");
  EXPECT_EQ(proposals[0].now, 40U);
  EXPECT_EQ(proposals[0].trials_before, 2U);
  add(run_on("13.1.0", "2026-11-30", {trial({no_memory})}, "chance"));
  EXPECT_TRUE(view().proposals.empty());
}

TEST_F(history_file, does_not_take_a_moved_edge_for_a_flake) {
  const auto edge = [](std::int64_t level) {
    return std::vector{at_level(0, trial({no_memory})), refined_at(level, trial({no_memory})),
                       refined_at(level + 1, trial({success})), at_level(128, trial({success}))};
  };
  add(run_on("13.1.0", "2026-11-01", edge(60)));
  add(run_on("13.1.0", "2026-11-02", edge(70)));
  EXPECT_EQ(view().arms.at(0).entries.at(0).results.size(), 1U);
}

TEST_F(history_file, adds_nothing_twice) {
  const auto r = run_on("13.1.0", "2026-11-01", {trial({no_memory})});
  const auto first = add(r);
  EXPECT_EQ(first.runs, 1U);
  EXPECT_EQ(first.arms, 1U);
  const auto bytes = bytes_of(file);
  const auto second = add(r);
  EXPECT_EQ(second.arms, 0U);
  EXPECT_EQ(second.runs, 0U);
  EXPECT_EQ(second.known, 1U);
  EXPECT_EQ(bytes_of(file), bytes);
}

TEST_F(history_file, adds_the_rest_of_a_run_that_was_added_while_it_ran) {
  auto r = run_on("13.1.0", "2026-11-01", {trial({no_memory})});
  add(r);
  r.cases[0].arms.push_back(arm(arm_kind::fault, {trial({internal})}, "later"));
  EXPECT_EQ(add(r).arms, 1U);
  EXPECT_EQ(view().runs, 1U);
  EXPECT_EQ(view().arms.size(), 2U);
}

TEST_F(history_file, refuses_another_result_of_the_same_run_and_adds_nothing_of_it) {
  add(run_on("13.1.0", "2026-11-01", {trial({no_memory})}));
  auto changed = run_on("13.1.0", "2026-11-01", {trial({internal})});
  changed.cases.insert(changed.cases.begin(),
                       {.name = "a.case", .arms = {arm(arm_kind::fault, {trial({success})})}});
  EXPECT_THROW(add(changed), input_error);
  EXPECT_EQ(view().arms.size(), 1U);
}

TEST_F(history_file, leaves_out_what_was_not_observed) {
  EXPECT_EQ(add(run_on("13.1.0", "2026-11-01", {not_provoked("no GPU")})).arms, 0U);
  EXPECT_EQ(add(run_on("13.1.0", "2026-11-01", {})).arms, 0U);
  EXPECT_EQ(view().runs, 0U);
}

TEST_F(history_file, shows_the_arms_that_are_named) {
  auto r = run_on("13.1.0", "2026-11-01", {trial({no_memory})});
  r.cases[0].arms.push_back(arm(arm_kind::fault, {trial({internal})}, "other"));
  add(r);
  EXPECT_EQ(view({"memory.leak/o*"}).arms.size(), 1U);
  EXPECT_EQ(view({"memory.leak/other", "*/fault"}).arms.size(), 2U);
  EXPECT_TRUE(view({"memory.leak"}).arms.empty());
}

// A stack's folder holds the runs that its arms are from: what was added as a run is known.
TEST_F(history_file, knows_a_run_again_in_the_folder_of_its_stack) {
  auto first = run_on("13.1.0", "2026-11-01", {trial({no_memory}), trial({internal})}, "chance");
  auto second = run_on("13.1.0", "2026-11-02", {trial({no_memory})}, "chance");
  add(first);
  auto whole = first;
  auto& arm = whole.cases[0].arms[0];
  arm.trials.push_back(second.cases[0].arms[0].trials[0]);
  arm.runs = {{.commit = "c", .started = "2026-11-01", .trials = 2},
              {.commit = "c", .started = "2026-11-02", .trials = 1}};
  const auto more = add(whole);
  EXPECT_EQ(more.known, 1U);
  EXPECT_EQ(more.arms, 1U);
  EXPECT_EQ(add(second).known, 1U);
  EXPECT_EQ(view().runs, 2U);
}

TEST_F(history_file, does_not_depend_on_the_order_of_records) {
  const fs::path recorded{CUFAULT_RECORDED};
  std::vector<record> records;
  for (const auto& entry : fs::directory_iterator(recorded))
    if (is_stack_folder(entry.path())) records.push_back(load_family(entry.path(), "memory"));
  ASSERT_GT(records.size(), 2U);
  const auto text_of = [&] {
    std::string text;
    const auto seen = view();
    for (const auto& s : seen.stacks) text += s.label + "\n";
    for (const auto& a : seen.arms) {
      text += a.name + " since " + std::to_string(a.since) + "\n";
      for (const auto& e : a.entries)
        for (const auto& r : e.results)
          text +=
              std::to_string(e.stack) + " " + std::to_string(r.runs) + " " + r.first + " " + r.seen + "\n";
    }
    return text;
  };
  for (const record& r : records) add(r);
  const auto forwards = text_of();
  fs::remove(file);
  std::reverse(records.begin(), records.end());
  for (const record& r : records) add(r);
  EXPECT_EQ(text_of(), forwards);
  EXPECT_THAT(forwards, HasSubstr("memory.create_under_pressure/"));
}

TEST_F(history_file, loses_nothing_of_two_writers) {
  constexpr int each = 15;
  const auto write = [&](const std::string& cublas) {
    for (int i = 0; i < each; ++i)
      history(file, history::access::add)
          .add(run_on(cublas, "2026-11-01T" + std::to_string(i), {trial({no_memory})}));
  };
  // Both begin with making the file.
  std::vector<pid_t> children;
  for (const auto* cublas : {"12.0.1", "13.1.0"}) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      int code = 0;
      try {
        write(cublas);
      } catch (const std::exception&) {
        code = 1;
      }
      ::_exit(code);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  const auto seen = view();
  EXPECT_EQ(seen.runs, 2U * each);
  ASSERT_EQ(seen.arms.size(), 1U);
  for (const auto& e : seen.arms[0].entries) EXPECT_EQ(e.runs, static_cast<std::size_t>(each));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);  // nothing else is left
}

TEST_F(history_file, that_is_absent_is_made_by_add_alone) {
  EXPECT_THROW(history(file, history::access::read), input_error);
  EXPECT_FALSE(fs::exists(file));
  { const history made(file, history::access::add); }
  EXPECT_EQ(view().runs, 0U);
  EXPECT_THROW(history(folder / "none" / "history.db", history::access::add), input_error);
}

TEST_F(history_file, that_is_foreign_is_refused) {
  std::ofstream(file) << "{\"schema\": 2}\n";
  EXPECT_THAT(history_refusal(), HasSubstr("is no SQLite database"));
  std::ofstream(file, std::ios::trunc).flush();
  EXPECT_THAT(history_refusal(), HasSubstr("is empty"));
  fs::remove(file);
  sql("CREATE TABLE notes(text TEXT)");
  EXPECT_THAT(history_refusal(), HasSubstr("is no history of cufault"));
  fs::remove(file);
  fs::create_directories(file);
  EXPECT_THROW(history(file, history::access::add), input_error);
}

TEST_F(history_file, that_is_newer_or_has_other_tables_is_refused) {
  add(run_on("13.1.0", "2026-11-01", {trial({no_memory})}));
  sql("PRAGMA user_version = 2");
  EXPECT_THAT(history_refusal(),
              HasSubstr("made by a newer cufault: schema 2, and this one reads 1; update cufault"));
  sql("PRAGMA user_version = 0");
  EXPECT_THAT(history_refusal(), HasSubstr("is corrupted (schema 0)"));
  sql("PRAGMA user_version = 1; CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM result; END");
  EXPECT_THAT(history_refusal(), HasSubstr("has tables that no cufault made"));
  sql("DROP TRIGGER t; DROP TABLE seen");
  EXPECT_THAT(history_refusal(), HasSubstr("is corrupted (a table is missing)"));
}

TEST_F(history_file, that_is_damaged_or_truncated_is_refused) {
  auto kept = std::make_unique<history>(file, history::access::add);
  for (int i = 0; i < 200; ++i) {
    auto r = run_on("13.1.0", "2026-11-01T" + std::to_string(i), {trial({no_memory})});
    for (int a = 0; a < 20; ++a)
      r.cases[0].arms.push_back(arm(arm_kind::fault, {trial({internal})}, "a" + std::to_string(a)));
    kept->add(r);
  }
  kept.reset();
  const std::string whole = bytes_of(file);
  ASSERT_GT(whole.size(), 8U * 4096);
  std::ofstream(file, std::ios::trunc | std::ios::binary) << whole.substr(0, whole.size() / 2);
  EXPECT_THAT(history_refusal(), HasSubstr("is corrupted"));
  std::string damaged = whole;
  for (std::size_t i = 5 * 4096; i < 8 * 4096; ++i) damaged[i] = static_cast<char>(i * 7);
  std::ofstream(file, std::ios::trunc | std::ios::binary) << damaged;
  EXPECT_THAT(history_refusal(), HasSubstr("is corrupted"));
  std::ofstream(file, std::ios::trunc | std::ios::binary) << whole;
  EXPECT_EQ(view().runs, 200U);
}

TEST_F(history_file, whose_rows_do_not_fit_together_is_refused) {
  add(run_on("13.1.0", "2026-11-01", {trial({no_memory})}));
  sql("DELETE FROM seen");
  EXPECT_THAT(history_refusal(), HasSubstr("is corrupted (a row is missing)"));
}

}  // namespace
}  // namespace cufault
