// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// From the command line to the exit code, on a fake cuBLAS.
#include "harness/cli/tests/end_to_end.hpp"

#include "reports/model/expectation.hpp"
#include "reports/model/failures.hpp"
#include "reports/model/record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace cufault {

const char *const test_program = TEST_PROGRAM, *const fake_cublas_folder = FAKE_CUBLAS_DIR;
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST_F(end_to_end, leaves_an_uncharted_record_the_first_time) {
  const auto seen = run({"road.create"});
  EXPECT_EQ(seen.exit_code, 0) << seen.stderr_text;
  EXPECT_THAT(seen.stdout_text, HasSubstr("4 UNCHARTED"));
  ASSERT_EQ(files(".jsonl").size(), 1U);
  const record r = load_record(files(".jsonl")[0]);
  EXPECT_TRUE(r.complete);
  EXPECT_EQ(r.cases.at(0).arms.size(), 4U);
  EXPECT_EQ(keys_of(r).at("cublas"), "13.1.0");
  const call_record& call = arm_of(r, "fault").trials.at(0).calls.at(0);
  EXPECT_EQ(call.what.name.api, "cublasCreate");
  EXPECT_EQ(call.what.status, "CUBLAS_STATUS_ALLOC_FAILED");
}

TEST_F(end_to_end, leaves_nothing_behind) {
  const fs::path home = folder / "home", temporary = folder / "temporary";
  fs::create_directories(home);
  const auto seen = run({"road.ends"}, {{"HOME", home}});
  EXPECT_EQ(seen.exit_code, 0) << seen.stdout_text << seen.stderr_text;
  EXPECT_EQ(seen.stragglers, 0);
  EXPECT_TRUE(fs::is_empty(home));
  EXPECT_TRUE(fs::is_empty(temporary)) << fs::directory_iterator(temporary)->path();
}

TEST_F(end_to_end, tells_of_what_was_left_behind) {
  const fs::path litter = folder / "temporary" / "cufault-trial-999999999-AbCdEf";
  const std::string records = folder / "records", fake = fs::path(FAKE_CUBLAS_DIR) / "a";
  cufault({"preflight", "--records", records, "--cublas", fake});
  run({"road.create"});
  fs::create_directories(litter);
  const auto seen = cufault({"floor", "--records", records});
  EXPECT_EQ(seen.exit_code, 1);
  EXPECT_THAT(seen.stderr_text, HasSubstr(litter.string()));
  EXPECT_THAT(seen.stdout_text, HasSubstr("1 cases were executed; the floor is 1\n"));
}

TEST_F(end_to_end, holds_nothing_against_trials_that_others_left) {
  const fs::path home = folder / "home", older = folder / "temporary" / "cufault-trial-999999999-AbCdEf",
                 others = folder / "temporary" / "cufault-trial-999999999-GhIjKl";
  const std::string records = folder / "records", fake = fs::path(FAKE_CUBLAS_DIR) / "a";
  fs::create_directories(older);
  fs::last_write_time(older, fs::file_time_type::clock::now() - std::chrono::hours(1));
  cufault({"preflight", "--records", records, "--cublas", fake});
  run({"road.create"});
  fs::create_directories(home / ".nv" / "ComputeCache");
  fs::create_symlink("nowhere", home / ".nv" / "broken");
  std::ofstream(home / ".nv" / "ComputeCache" / "index") << "code";
  if (geteuid() == 0) {
    fs::create_directories(others);
    ASSERT_EQ(chown(others.c_str(), 65534, 65534), 0);
  }
  const auto seen = cufault({"floor", "--records", records}, {{"HOME", home}});
  EXPECT_EQ(seen.exit_code, 0) << seen.stderr_text;
  EXPECT_THAT(seen.stdout_text, AllOf(HasSubstr("note: "), HasSubstr(home / ".nv" / "ComputeCache/index")));
}

TEST_F(end_to_end, is_unresolved_where_no_trial_gets_a_folder) {
  const auto seen = run({"road.create"}, {{"TMPDIR", "/nonexistent"}});
  EXPECT_EQ(seen.exit_code, 2);
  EXPECT_THAT(seen.stdout_text, AllOf(HasSubstr("4 UNRESOLVED"),
                                      HasSubstr("no temporary folder can be made (TMPDIR=/nonexistent)")));
  ASSERT_EQ(files(".jsonl").size(), 1U) << seen.stderr_text;
  EXPECT_TRUE(load_record(files(".jsonl")[0]).complete);
}

TEST_F(end_to_end, tells_crashes_exit_handlers_and_forks_apart) {
  // Where a sanitizer would turn a crash into an exit, it stands aside.
  const auto seen = run({"road.ends"}, {{"ASAN_OPTIONS", "handle_segv=0"}});
  ASSERT_EQ(seen.exit_code, 0);
  const record r = load_record(files(".jsonl").at(0));
  const auto trial_of = [&](const std::string& name) -> const observation& {
    return arm_of(r, name).trials.at(0);
  };
  EXPECT_EQ(describe(signature_of(trial_of("litter"))),
            "cublasSgemm crash: never returned; crashed: SIGSEGV in cublasSgemm");
  EXPECT_THAT(describe(signature_of(trial_of("fork_crash"))), HasSubstr("crashed: SIGSEGV in cublasSgemm"));
  ASSERT_EQ(trial_of("fork_crash").notes.size(), 1U);
  EXPECT_EQ(trial_of("fork_crash").notes[0].text, "no error");
  EXPECT_EQ(trial_of("at_exit").calls.size(), 2U) << "what an exit handler observed";
  EXPECT_EQ(trial_of("at_exit").ended, outcome::completed);
  EXPECT_EQ(trial_of("fork").calls.size(), 2U);
  EXPECT_THAT(seen.stdout_text, HasSubstr("road.ends/other_pair: needs a second cuBLAS"));
}

TEST_F(end_to_end, survives_the_rows_of_a_table_and_says_what_each_came_to) {
  ASSERT_EQ(run({"road.rows"}, {{"ASAN_OPTIONS", "handle_segv=0"}}).exit_code, 2);
  const record r = load_record(files(".jsonl").at(0));
  const auto trial_of = [&](const std::string& name) -> const observation& {
    return arm_of(r, name).trials.at(0);
  };
  const observation& seen = trial_of("rows");
  EXPECT_EQ(seen.ended, outcome::completed);
  EXPECT_EQ(
      describe(signature_of(seen)),
      "cublasSgemm returns: CUBLAS_STATUS_SUCCESS (written C), cublasSgemm crashes: CRASHED (signal "
      "SIGSEGV), "
      "cublasSgemm fails: CUBLAS_STATUS_INVALID_VALUE (blamed 8), cublasSgemm exits: EXITED (exit code 3), "
      "cublasSgemm hangs: TIMED_OUT, cublasSgemm returns: CUBLAS_STATUS_SUCCESS (written C); context none");
  const auto told = [](const observation& o) {
    std::vector<std::string> names;
    for (const auto& m : o.measurements) names.push_back(m.name);
    return names;
  };
  EXPECT_THAT(told(seen), ElementsAre("a row came to 'CUBLAS_STATUS_SUCCESS'", "a row came to 'CRASHED'",
                                      "a row came to 'CUBLAS_STATUS_INVALID_VALUE'", "a row came to 'EXITED'",
                                      "a row came to 'TIMED_OUT'", "a row came to 'CUBLAS_STATUS_SUCCESS'"));
  EXPECT_EQ(trial_of("rows_without_set_up").ended, outcome::harness_failed);
  EXPECT_THAT(trial_of("rows_without_set_up").why, HasSubstr("no table"));
  EXPECT_EQ(trial_of("crash_between_rows").ended, outcome::harness_failed);
  EXPECT_THAT(trial_of("crash_between_rows").why, HasSubstr("row 0: crashed: SIGSEGV outside of a call"));
  EXPECT_EQ(trial_of("row_without_its_function").ended, outcome::not_provoked);
  EXPECT_THAT(trial_of("row_without_its_function").why, HasSubstr("cublasNew"));
  EXPECT_EQ(trial_of("row_without_its_function").calls.size(), 2U) << "no row after it";
  EXPECT_THAT(told(trial_of("row_without_its_function")),
              ElementsAre("a row came to 'CUBLAS_STATUS_SUCCESS'", "a row came to ''", "a row came to ''"));
}

TEST_F(end_to_end, records_what_the_library_logs_and_lets_a_trial_hear_it) {
  ASSERT_EQ(run({"road.rows/hear_the_library_log"}).exit_code, 0);
  const record r = load_record(files(".jsonl").at(0));
  const observation& seen = arm_of(r, "hear_the_library_log").trials.at(0);
  EXPECT_THAT(seen.library_log,
              ElementsAre("cublasLtMatmul: refused", "cublasLtMatmul: a hint", "cublasLtMatmul: refused"));
  ASSERT_EQ(seen.measurements.size(), 1U);
  EXPECT_EQ(seen.measurements[0].value, 1)
      << "not the hint, and not what came when nobody listened any longer";
}

TEST_F(end_to_end, takes_a_second_pair_where_one_is_given) {
  const std::map<std::string, std::string> other{{"CUFAULT_OTHER_CUBLAS", fs::path(FAKE_CUBLAS_DIR) / "old"}};
  ASSERT_EQ(run({"road.ends/other_pair"}, other).exit_code, 0);
  const record r = load_record(files(".jsonl").at(0));
  EXPECT_EQ(keys_of(r).at("other_cublas"), "12.4.0");
  const auto& calls = arm_of(r, "other_pair").trials.at(0).calls;
  ASSERT_EQ(calls.size(), 3U);
  EXPECT_EQ(calls[0].what.status, "LOADER_ERROR");
  EXPECT_EQ(calls[1].what.status, "LOADED");
  EXPECT_EQ(calls[2].what.status, "CUBLAS_STATUS_SUCCESS");
  const auto blessed = bless(files(".jsonl")[0]);
  EXPECT_THAT(blessed.stdout_text, HasSubstr("other_cublas 12.4.0"));
  EXPECT_EQ(run({"road.ends/other_pair", "--mode", "gate"}, other).exit_code, 0);

  const auto missing = run({"road.ends/other_pair"}, {{"CUFAULT_OTHER_CUBLAS", folder / "nowhere"}});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.stderr_text, HasSubstr("CUFAULT_OTHER_CUBLAS"));
}

TEST_F(end_to_end, names_a_second_pair_that_kills_the_process) {
  const fs::path deadly = folder / "deadly";
  fs::create_directories(deadly);
  fs::create_symlink(fs::path(FAKE_CUBLAS_DIR) / "deadly" / "libcublas.so.13", deadly / "libcublas.so.13");
  fs::create_symlink(fs::path(FAKE_CUBLAS_DIR) / "a" / "libcublasLt.so.13", deadly / "libcublasLt.so.13");
  const auto seen = run({"road.ends/other_pair"}, {{"CUFAULT_OTHER_CUBLAS", deadly}});
  EXPECT_EQ(seen.exit_code, 2);
  EXPECT_THAT(seen.stderr_text, AllOf(HasSubstr("CUFAULT_OTHER_CUBLAS: " + deadly.string()),
                                      HasSubstr("a process that loads it ended: crashed: SIGABRT")));
}

TEST_F(end_to_end, lists_what_is_special_about_an_arm) {
  const auto all = nlohmann::json::parse(cufault({"list", "--json"}).stdout_text);
  const auto arm_of = [&](const std::string& case_name, const std::string& name) {
    for (const auto& c : all) {
      for (const auto& a : c["arms"]) {
        if (c["name"] == case_name && a["name"] == name) return a;
      }
    }
    throw std::out_of_range(name);
  };
  EXPECT_EQ(arm_of("road.ends", "thorough")["tier"], "full");
  EXPECT_EQ(arm_of("road.ends", "other_pair")["other_cublas"], true);
  EXPECT_EQ(arm_of("road.races", "now_and_then")["races"], "a counter");
  const auto usual = arm_of("road.create", "fault");
  EXPECT_EQ(usual["tier"], "quick");
  EXPECT_EQ(usual["races"], "");
  EXPECT_EQ(usual["other_cublas"], false);
  const std::string text = cufault({"list"}).stdout_text;
  for (const char* mark : {"(full tier)\n", "(races)\n", "(second cuBLAS)\n"})
    EXPECT_THAT(text, HasSubstr(mark));
}

TEST_F(end_to_end, lists_field_failures_with_their_text_and_tells_of_one_that_is_unknown) {
  const auto all = nlohmann::json::parse(cufault({"list", "--json"}).stdout_text);
  const auto races =
      std::find_if(all.begin(), all.end(), [](const auto& c) { return c["name"] == "road.races"; });
  ASSERT_NE(races, all.end());
  const auto& failures = (*races)["failures"];
  ASSERT_EQ(failures.size(), 2U);
  EXPECT_EQ(failures[0]["id"], "F-MEM-01");
  const auto known = failures[0]["text"].get<std::string>();
  EXPECT_THAT(known, HasSubstr("cublasCreate"));
  EXPECT_EQ(failures[1], nlohmann::json({{"id", "F-NONE-01"}, {"text", ""}}));
  EXPECT_THAT(cufault({"list"}).stdout_text,
              HasSubstr("  one in four fails\n    F-MEM-01  reported: " + known +
                        "\n    F-NONE-01 unknown: not in cases/failures.json\n    control "));
}

TEST_F(end_to_end, names_the_causes_of_a_status_and_a_status_that_nothing_returned) {
  run({"road.create"});
  const std::string recorded = files(".jsonl").at(0);
  const auto found = cufault({"causes", "CUBLAS_STATUS_ALLOC_FAILED", recorded});
  EXPECT_EQ(found.exit_code, 0);
  EXPECT_THAT(found.stdout_text, HasSubstr("road.create/fault"));
  EXPECT_EQ(cufault({"causes", "ALLOC_FAILED", recorded}).stdout_text, found.stdout_text);
  const auto typo = cufault({"causes", "CUBLAS_STATUS_ALOC_FAILED", recorded});
  EXPECT_EQ(typo.exit_code, 2);
  EXPECT_EQ(typo.stderr_text,
            "cufault: no call returned CUBLAS_STATUS_ALOC_FAILED in 1 record; "
            "statuses are spelt as in CUBLAS_STATUS_INTERNAL_ERROR, or INTERNAL_ERROR\n");
  fs::remove_all(folder / "records");
  run({"road.create"}, {{"ROAD_CONTROL", "14"}});
  const auto silenced = cufault({"causes", "CUBLAS_STATUS_ALLOC_FAILED", files(".jsonl").at(0).string()});
  EXPECT_EQ(silenced.exit_code, 0);
  EXPECT_THAT(silenced.stdout_text, HasSubstr("with a working control returned"));
}

TEST_F(end_to_end, has_no_table_of_frameworks_where_none_failed) {
  run({"road.create"});
  const auto shown = cufault({"frameworks", files(".jsonl").at(0).string()});
  EXPECT_EQ(shown.exit_code, 2);
  EXPECT_EQ(shown.stdout_text, "");
  EXPECT_EQ(
      shown.stderr_text,
      "cufault: no operation of a framework failed in these records; `cufault run pytorch --python PYTHON` "
      "makes them\n");
}

TEST_F(end_to_end, leaves_thorough_arms_out_of_the_quick_tier_unless_named) {
  const auto has_it = [](const process_result& seen) {
    return seen.stdout_text.find("thorough") != std::string::npos;
  };
  EXPECT_TRUE(has_it(run({"road.ends", "-v"})));
  EXPECT_FALSE(has_it(run({"road.ends", "-v", "--tier", "quick"})));
  EXPECT_FALSE(has_it(run({"road.ends", "-v"}, {{"CUFAULT_TIER", "quick"}})));
  EXPECT_TRUE(has_it(run({"road.ends/thorough", "-v", "--tier", "quick"})));
}

TEST_F(end_to_end, takes_under_ctest_what_its_options_say_from_the_environment) {
  const std::string old = (fs::path(FAKE_CUBLAS_DIR) / "old").string();
  ASSERT_EQ(
      cufault({"run", "road.create", "--records", (folder / "records").string()}, {{"CUFAULT_CUBLAS", old}})
          .exit_code,
      0);
  EXPECT_EQ(keys_of(load_record(files(".jsonl").at(0))).at("cublas"), "12.4.0");
  const auto order = [&](const std::map<std::string, std::string>& environment) {
    return order_of_arms(run({"road.create", "--seed", "2", "--jobs", "1", "-v"}, environment));
  };
  const std::string as_listed = order({}), shuffled = order({{"CUFAULT_SHUFFLE", "1"}});
  EXPECT_NE(shuffled, as_listed);
  EXPECT_EQ(order({{"CUFAULT_SHUFFLE", "1"}}), shuffled);
}

TEST_F(end_to_end, runs_every_arm_in_exactly_one_part_and_the_controls_in_all) {
  const auto arms_of = [&](const char* part, const char* parts) {
    fs::remove_all(folder / "records");
    EXPECT_EQ(run({"road.create", "--part", part, parts}).exit_code, 0);
    const record r = load_record(files(".jsonl").at(0));
    std::multiset<std::string> names;
    for (const arm_result& a : r.cases.at(0).arms) names.insert(a.name);
    return names;
  };
  const auto whole = arms_of("1", "1");
  auto dealt = arms_of("1", "2");
  const auto second = arms_of("2", "2");
  EXPECT_THAT(dealt, ::testing::Contains("control"));
  EXPECT_THAT(second, ::testing::Contains("control"));
  dealt.insert(second.begin(), second.end());
  dealt.erase(dealt.find("control"));
  EXPECT_EQ(dealt, whole);
}

TEST_F(end_to_end, skips_a_part_for_which_no_arm_is_left) {
  const auto seen = run({"road.create", "--part", "9", "9"});
  EXPECT_EQ(seen.exit_code, 77);
  EXPECT_THAT(seen.stdout_text, HasSubstr("part 9 of 9 has none"));
  EXPECT_TRUE(files(".jsonl").empty());
}

TEST_F(end_to_end, names_a_part_that_is_none) {
  for (const auto& [part, parts] : {std::pair{"0", "2"}, {"3", "2"}, {"1", "0"}, {"1", "x"}}) {
    const auto seen = run({"road.create", "--part", part, parts});
    EXPECT_EQ(seen.exit_code, 2) << part << " " << parts;
    EXPECT_THAT(seen.stderr_text, HasSubstr("--part")) << part << " " << parts;
  }
}

TEST_F(end_to_end, shuffles_by_the_seed_and_judges_alike) {
  bless_what_is_seen();
  const auto order = [&](const char* seed) {
    fs::remove_all(folder / "records");
    const auto seen =
        run({"road.create", "--mode", "gate", "--shuffle", "--seed", seed, "--jobs", "1", "-v"});
    EXPECT_EQ(seen.exit_code, 0) << seen.stdout_text;
    const record r = load_record(files(".jsonl").back());
    std::set<std::string> names;
    for (const arm_result& a : r.cases.at(0).arms) names.insert(a.name);
    EXPECT_THAT(names, ElementsAre("control", "dead_end", "fault", "remedy"));
    return order_of_arms(seen);
  };
  EXPECT_EQ(order("1"), order("1"));
  // Written down: another standard library or machine draws the same.
  EXPECT_EQ(order("1"), "remedy control dead_end fault ");
  EXPECT_EQ(order("4"), "control dead_end fault remedy ");
}

TEST_F(end_to_end, states_the_rate_of_an_arm_that_races) {
  const std::map<std::string, std::string> counter{{"ROAD_COUNTER", folder / "counter"}};
  ASSERT_EQ(run({"road.races"}, counter).exit_code, 0);
  const auto blessed = bless(files(".jsonl")[0]);
  ASSERT_EQ(blessed.exit_code, 1);
  const auto again = run({"road.races", "--mode", "gate", "-v"}, counter);
  EXPECT_EQ(again.exit_code, 0) << again.stdout_text;
  EXPECT_THAT(again.stdout_text,
              AllOf(HasSubstr("FLAKY"), HasSubstr("15 of 20: cublasCreate: CUBLAS_STATUS_SUCCESS")));
}

TEST_F(end_to_end, states_a_rate_over_records_of_one_stack) {
  const std::map<std::string, std::string> counter{{"ROAD_COUNTER", folder / "counter"}};
  ASSERT_EQ(run({"road.races"}, counter).exit_code, 0);
  ASSERT_EQ(run({"road.races"}, counter).exit_code, 0);
  const auto made = files(".jsonl");
  ASSERT_EQ(made.size(), 2U);
  bless(made[1]);  // so that it can be
  fs::remove_all(folder / "expectations");
  const auto bless_with = [&](const fs::path& other) { return bless(made[0], {"--with", other}); };
  record elsewhere = load_record(made[1]);
  elsewhere.stack["keys"]["cublas"] = "9.9.9";
  write(folder / "elsewhere.jsonl", elsewhere);
  EXPECT_THAT(bless_with(folder / "elsewhere.jsonl").stderr_text, HasSubstr("is of another stack than"));
  EXPECT_FALSE(fs::exists(folder / "expectations"));

  EXPECT_THAT(bless_with(made[0]).stderr_text, HasSubstr("is named twice"));

  record lucky = load_record(made[1]);
  for (auto& c : lucky.cases)
    for (auto& a : c.arms) {
      if (a.name != "now_and_then") continue;
      std::erase_if(a.trials, [](const observation& o) { return !o.calls.at(0).what.ok; });
      a.runs.at(0).trials = a.trials.size();
    }
  write(folder / "lucky.jsonl", lucky);
  const auto blessed = bless_with(folder / "lucky.jsonl");
  ASSERT_EQ(blessed.exit_code, 1) << blessed.stderr_text;
  const auto expected = expectation_set::load(folder / "expectations", folder / "recorded");
  const auto* const e = expected.find("road.races", "now_and_then", keys_of(lucky));
  ASSERT_NE(e, nullptr);
  ASSERT_TRUE(e->flaky.has_value());
  EXPECT_DOUBLE_EQ(e->flaky->rates.at(0), 30.0 / 35);
  EXPECT_EQ(e->trials.size(), 35U) << "both records are filed";
}

TEST_F(end_to_end, fails_the_gate_while_uncharted) {
  EXPECT_EQ(run({"road.create", "--mode", "gate"}).exit_code, 1);
}

TEST_F(end_to_end, passes_the_gate_once_blessed_and_twice) {
  bless_what_is_seen();
  for (int i = 0; i < 2; ++i) {
    const auto seen = run({"road.create", "--mode", "gate"});
    EXPECT_EQ(seen.exit_code, 0) << seen.stdout_text;
    EXPECT_THAT(seen.stdout_text, AllOf(HasSubstr("REPRODUCED"), HasSubstr("CLEARED"),
                                        HasSubstr("STILL_FAILS"), HasSubstr("OK")));
  }
}

struct surprise {
  const char* variable;
  const char* order;
  const char* verdict;
  friend std::ostream& operator<<(std::ostream& out, const surprise& s) {
    return out << s.variable << '=' << s.order << " is " << s.verdict;
  }
};

class end_to_end_with_a_surprise : public end_to_end, public testing::WithParamInterface<surprise> {};

TEST_P(end_to_end_with_a_surprise, is_seen_in_observe_and_fails_the_gate) {
  bless_what_is_seen();
  const std::map<std::string, std::string> environment{{GetParam().variable, GetParam().order}};
  const auto observed = run({"road.create"}, environment);
  EXPECT_EQ(observed.exit_code, 0);
  EXPECT_THAT(observed.stdout_text, HasSubstr(std::string(" ") + GetParam().verdict));
  EXPECT_EQ(run({"road.create", "--mode", "gate"}, environment).exit_code, 1);
}

INSTANTIATE_TEST_SUITE_P(
    each, end_to_end_with_a_surprise,
    testing::Values(surprise{"ROAD_FAULT", "14", "CHANGED"}, surprise{"ROAD_FAULT", "0", "GONE"},
                    surprise{"ROAD_FAULT", "crash", "WORSENED"}, surprise{"ROAD_FAULT", "hang", "WORSENED"},
                    surprise{"ROAD_FAULT", "exit", "WORSENED"}, surprise{"ROAD_REMEDY", "3", "REMEDY_BROKEN"},
                    surprise{"ROAD_REMEDY", "crash", "WORSENED"}, surprise{"ROAD_DEAD_END", "0", "GONE"}));

TEST_F(end_to_end, is_unresolved_when_the_control_fails) {
  bless_what_is_seen();
  const auto seen = run({"road.create"}, {{"ROAD_CONTROL", "14"}});
  EXPECT_EQ(seen.exit_code, 2);
  EXPECT_THAT(seen.stdout_text, HasSubstr("4 UNRESOLVED"));
}

TEST_F(end_to_end, is_unresolved_when_set_up_fails) {
  const auto seen = run({"road.set_up"});
  EXPECT_EQ(seen.exit_code, 2);
  EXPECT_THAT(seen.stdout_text, HasSubstr("the table is not laid"));
}

TEST_F(end_to_end, measures_the_edge_of_a_levels) {
  EXPECT_EQ(run({"road.ladder"}).exit_code, 0);
  const record r = load_record(files(".jsonl").at(0));
  const auto& trials = arm_of(r, "climb").trials;
  std::map<std::string, double> measured;
  for (const auto& t : trials) {
    for (const auto& m : t.measurements) measured[m.name] = m.value;
  }
  EXPECT_EQ(measured["largest failing"], 36);
  EXPECT_EQ(measured["smallest succeeding"], 37);
}

TEST_F(end_to_end, applies_the_limits_of_an_arm_to_its_trial_alone) {
  EXPECT_EQ(run({"road.limits"}).exit_code, 0);
  const record r = load_record(files(".jsonl").at(0));
  const auto may_open = [&](const char* arm) { return arm_of(r, arm).trials.at(0).measurements.at(0).value; };
  EXPECT_GT(may_open("control"), 64);
  EXPECT_EQ(may_open("limited"), 64);
}

TEST_F(end_to_end, is_skipped_when_nothing_could_be_provoked) {
  const auto seen = run({"road.on_a_gpu"});
  EXPECT_EQ(seen.exit_code, 77);
  EXPECT_THAT(seen.stdout_text, HasSubstr("2 arms of 1 case need a GPU and were not run"));
}

TEST_F(end_to_end, fails_without_a_gpu_when_one_is_required) {
  const auto seen = run({"road.create"}, {{"CUFAULT_REQUIRE_GPU", "1"}});
  EXPECT_EQ(seen.exit_code, 1);
  EXPECT_THAT(seen.stderr_text, HasSubstr("CUFAULT_REQUIRE_GPU is set and there is no GPU"));
}

TEST_F(end_to_end, runs_one_arm_with_its_control) {
  const auto seen = run({"road.create/fault"});
  EXPECT_THAT(seen.stdout_text, HasSubstr("2 arms"));
}

TEST_F(end_to_end, repeats_the_data_of_a_run_by_its_seed) {
  run({"road.create", "--seed", "42"});
  EXPECT_EQ(load_record(files(".jsonl").at(0)).seed, 42U);
}

#ifndef SANITIZED  // libcufault.so stands in front of malloc, and a sanitizer wants to
TEST_F(end_to_end, compares_injected_counterparts_with_the_arms_that_have_it_for_real) {
  ASSERT_EQ(run({"*/*_injected"}).exit_code, 0) << "a star stands for anything";
  const record alone = load_record(files(".jsonl").at(0));
  ASSERT_EQ(alone.cases.size(), 1U);
  std::map<std::string, std::string> counterparts;  // arms stand in the order in which they ended
  for (const arm_result& a : alone.cases[0].arms) counterparts[a.name] = a.counterpart_of;
  EXPECT_THAT(counterparts, testing::ElementsAre(Pair("control", ""), Pair("too_much_injected", "too_much"),
                                                 Pair("too_much_twice_injected", "too_much_twice")));
  ASSERT_EQ(run({"road.twin"}).exit_code, 0);
  const auto seen = cufault({"compare-injected", (folder / "records").string()});
  EXPECT_EQ(seen.exit_code, 0) << seen.stderr_text;
  EXPECT_THAT(seen.stdout_text, HasSubstr("too_much_injected        agrees"));
  EXPECT_THAT(seen.stdout_text, HasSubstr("too_much_twice_injected  differs"));
  EXPECT_THAT(seen.stdout_text,
              HasSubstr("expected cudaMalloc squeezed: NO_HOST_MEMORY; seen cudaMalloc squeezed: ALLOCATED"));
  EXPECT_THAT(seen.stdout_text, HasSubstr("2 comparisons: 1 agrees, 1 differs"));
}
#endif

TEST_F(end_to_end, names_an_unknown_case) {
  const auto seen = run({"road.nowhere"});
  EXPECT_EQ(seen.exit_code, 2);
  EXPECT_EQ(seen.stderr_text,
            "cufault: no case, family or CASE/ARM is called road.nowhere; `cufault list` names them\n");
}

TEST_F(end_to_end, names_a_wrong_flag) {
  const auto seen = cufault({"run", "--wrong"});
  EXPECT_EQ(seen.exit_code, 2);
  EXPECT_THAT(seen.stderr_text, AllOf(HasSubstr("--wrong"), HasSubstr("see cufault run --help\n")));
}

TEST_F(end_to_end, names_a_command_that_there_is_not) {
  const auto seen = cufault({"bogus", "--device", "0"});
  EXPECT_EQ(seen.exit_code, 2);
  EXPECT_THAT(seen.stderr_text,
              testing::StartsWith("cufault: there is no command bogus; the commands are: run, "));
  EXPECT_THAT(seen.stderr_text, testing::Not(HasSubstr("probe-stack")));
  EXPECT_EQ(std::count(seen.stderr_text.begin(), seen.stderr_text.end(), '\n'), 1);
  EXPECT_EQ(cufault({}).exit_code, 2);
}

TEST_F(end_to_end, refuses_nonsense_of_a_variable_where_it_stands_for_an_option) {
  const auto floor = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"floor", "--records", folder / "records"};
    words.insert(words.end(), more.begin(), more.end());
    return cufault(words, {{"CUFAULT_FLOOR", "abc"}});
  };
  const auto seen = floor({});
  EXPECT_EQ(seen.exit_code, 2);
  EXPECT_THAT(seen.stderr_text, testing::StartsWith("cufault: CUFAULT_FLOOR: --at-least: "));
  EXPECT_EQ(std::count(seen.stderr_text.begin(), seen.stderr_text.end(), '\n'), 1);
  EXPECT_THAT(floor({"--at-least", "1"}).stderr_text, HasSubstr("no preflight has run"));
  EXPECT_EQ(cufault({"list"}, {{"CUFAULT_FLOOR", "abc"}, {"CUFAULT_TIER", "abc"}}).exit_code, 0);
  EXPECT_THAT(run({"road.create"}, {{"CUFAULT_TIER", "abc"}}).stderr_text, HasSubstr("CUFAULT_TIER"));
}

TEST_F(end_to_end, says_of_each_command_what_its_exit_codes_mean) {
  EXPECT_THAT(cufault({"--help"}).stdout_text, HasSubstr("130 interrupted"));
  for (const auto& [command, codes] : {std::pair{"run", "77 nothing could be provoked"},
                                       {"diff", "0 none differ; 1 some do; 2 bad input."},
                                       {"list", "Exit codes: 0; 2 bad input."},
                                       {"trace", "128 and N"}}) {
    const auto seen = cufault({command, "--help"});
    EXPECT_EQ(seen.exit_code, 0);
    EXPECT_THAT(seen.stdout_text, HasSubstr(codes));
  }
  EXPECT_THAT(cufault({"list", "--help"}).stdout_text, testing::Not(HasSubstr("77")));
}

TEST_F(end_to_end, says_which_tier_has_what_was_named) {
  const auto seen = run({"sweep.road"});
  EXPECT_EQ(seen.exit_code, 77);
  EXPECT_EQ(seen.stdout_text, "nothing to run in the full tier; --tier nightly would run sweep.road\n");
}

TEST_F(end_to_end, names_a_folder_that_cannot_be_written) {
  std::ofstream(folder / "a_file") << "in the way";
  const auto seen = cufault({"run", "road.create", "--records", (folder / "a_file" / "records").string(),
                             "--cublas", (fs::path(FAKE_CUBLAS_DIR) / "a").string()});
  EXPECT_EQ(seen.exit_code, 2);
  EXPECT_THAT(seen.stderr_text, HasSubstr((folder / "a_file" / "records").string()));
}

TEST_F(end_to_end, names_file_line_and_field_of_a_malformed_expectation) {
  fs::create_directories(folder / "expectations");
  std::ofstream(folder / "expectations" / "road.jsonl") << R"({"case":"road.create","when":5,"stacks":["x"]})"
                                                        << "\n";
  const auto seen = run({"road.create"});
  EXPECT_EQ(seen.exit_code, 2);
  EXPECT_THAT(seen.stderr_text, HasSubstr("road.jsonl:1: when: expected an object"));
}

TEST_F(end_to_end, names_a_malformed_record_by_line) {
  std::ofstream(folder / "bad.jsonl") << "{\"schema\": 99}\n";
  const auto seen = cufault({"show", (folder / "bad.jsonl").string()});
  EXPECT_EQ(seen.exit_code, 2);
  EXPECT_THAT(seen.stderr_text, HasSubstr("bad.jsonl:1: schema: made by a newer cufault"));
  std::ofstream(folder / "old.json") << "{\n  \"schema\": 1\n}\n";
  EXPECT_THAT(cufault({"show", (folder / "old.json").string()}).stderr_text,
              HasSubstr("old.json:1: schema: made by an older cufault"));
}

TEST_F(end_to_end, passes_on_the_loaders_words_for_what_is_no_cublas) {
  const auto seen = cufault(
      {"run", "road.create", "--cublas", (fs::path(FAKE_CUBLAS_DIR) / "text" / "libcublas.so.13").string()});
  EXPECT_EQ(seen.exit_code, 2);
  EXPECT_THAT(seen.stderr_text, HasSubstr("cannot load"));
}

TEST_F(end_to_end, refuses_a_workspace_configuration_that_is_none) {
  for (const char* text : {"", "4096:8", ":4096", ":4096:8:xx", ":-1:-1", "a\nb=c"}) {
    const auto seen = cufault({"run", "road.create", "--workspace-config", text});
    EXPECT_EQ(seen.exit_code, 2) << text;
    EXPECT_THAT(seen.stderr_text, HasSubstr(":4096:2:16:8")) << text;
  }
}

TEST_F(end_to_end, says_how_to_name_a_cublas_where_the_loader_finds_none) {
  const auto seen = cufault({"run", "road.create"},
                            {{"LD_LIBRARY_PATH", (fs::path(FAKE_CUBLAS_DIR) / "text_lt").string()}});
  EXPECT_EQ(seen.exit_code, 2);
  EXPECT_THAT(seen.stderr_text,
              AllOf(HasSubstr("cannot load libcublasLt.so.13"), HasSubstr("with --cublas")));
}

TEST_F(end_to_end, tells_two_records_apart) {
  run({"road.create"});
  run({"road.create"}, {{"ROAD_FAULT", "14"}});
  const auto recorded = files(".jsonl");
  ASSERT_EQ(recorded.size(), 2U);
  const auto differing = cufault({"diff", recorded[0].string(), recorded[1].string()});
  EXPECT_EQ(differing.exit_code, 1);
  EXPECT_THAT(differing.stdout_text,
              AllOf(HasSubstr("CUBLAS_STATUS_ALLOC_FAILED"), HasSubstr("CUBLAS_STATUS_INTERNAL_ERROR")));
  EXPECT_EQ(cufault({"diff", recorded[0].string(), recorded[0].string()}).exit_code, 0);
}

TEST_F(end_to_end, gates_a_candidate_on_a_baseline) {
  run({"road.create"});
  run({"road.create"}, {{"ROAD_FAULT", "14"}});
  const auto recorded = files(".jsonl");
  ASSERT_EQ(recorded.size(), 2U);
  const auto gate = [&](const fs::path& baseline, const fs::path& candidate,
                        const std::vector<std::string>& more) {
    std::vector<std::string> words{"gate", "--baseline", baseline, "--candidate", candidate};
    words.insert(words.end(), more.begin(), more.end());
    return cufault(words);
  };
  EXPECT_EQ(gate(recorded[0], recorded[0], {}).exit_code, 0);
  EXPECT_THAT(gate(recorded[0], recorded[0], {}).stdout_text, HasSubstr("gate: passed\n"));
  const auto differing = gate(recorded[0], recorded[1], {});
  EXPECT_EQ(differing.exit_code, 1);
  EXPECT_THAT(differing.stdout_text, HasSubstr("The stacks are equal.\n"));
  EXPECT_THAT(differing.stdout_text, HasSubstr("  road.create/fault: expected "));
  EXPECT_EQ(gate(recorded[0], recorded[0], {"--at-least", "2"}).exit_code, 1);

  const fs::path allow = folder / "allow.json";
  std::ofstream(allow)
      << R"({"schema": 1, "allowances": [{"arm": "road.create/*", "change": "changed", "reason": "known", "expires": "2026-12-31"}]})";
  EXPECT_THAT(gate(recorded[0], recorded[1], {"--allow", allow, "--date", "2026-12-31"}).stdout_text,
              HasSubstr("[allowed until 2026-12-31: known]"));
  EXPECT_THAT(gate(recorded[0], recorded[1], {"--allow", allow, "--date", "2027-01-01"}).stdout_text,
              HasSubstr("allowances that have expired"));
  EXPECT_EQ(gate(recorded[0], recorded[1], {"--date", "soon"}).exit_code, 2);
  std::ofstream(allow) << R"({"schema": 1, "allowances": [{"arm": "road.create/*"}]})";
  const auto bad = gate(recorded[0], recorded[1], {"--allow", allow});
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_THAT(bad.stderr_text, HasSubstr("allow.json:1: allowances[0]: \"change\" is missing"));
}

// What the page about gates says how to do. Cases that compare values of a variable themselves keep theirs.
TEST_F(end_to_end, gates_lazy_against_eager_loading_and_two_workspaces) {
  const std::map<std::string, std::string> shell{{"CUDA_MODULE_LOADING", "EAGER"},
                                                 {"CUBLAS_WORKSPACE_CONFIG", ":8:1"}};
  const auto made = [&](const std::string& name, std::vector<std::string> more) {
    more.insert(more.begin(),
                {"run", "road.configured", "road.compared", "--records", folder / name, "--expectations",
                 folder / "expectations", "--cublas", fs::path(fake_cublas_folder) / "a"});
    EXPECT_EQ(cufault(std::move(more), shell).exit_code, 0);
    return (folder / name).string();
  };
  const auto gate = [&](const std::string& baseline, const std::string& candidate) {
    return cufault({"gate", "--baseline", baseline, "--candidate", candidate});
  };
  const std::string lazy = made("lazy", {}), again = made("again", {"--module-loading", "LAZY"}),
                    eager = made("eager", {"--module-loading", "EAGER"}),
                    small = made("small", {"--workspace-config", ":16:8"});
  EXPECT_EQ(gate(lazy, again).exit_code, 0) << "what the shell has makes no difference";
  EXPECT_THAT(cufault({"gate", "--baseline", lazy, "--candidate", eager, "--json"}).stdout_text,
              HasSubstr(R"({
      "baseline": "",
      "candidate": "EAGER",
      "name": "module_loading"
    })"));
  const auto loading = gate(lazy, eager);
  EXPECT_EQ(loading.exit_code, 1);
  EXPECT_THAT(loading.stdout_text, HasSubstr("road.configured/create"));
  EXPECT_THAT(loading.stdout_text, HasSubstr("5 arms: 4 unchanged, 1 changed"));
  const auto workspace = gate(lazy, small);
  EXPECT_EQ(workspace.exit_code, 1);
  EXPECT_THAT(workspace.stdout_text, HasSubstr("CUBLAS_WORKSPACE_CONFIG"));
  EXPECT_THAT(workspace.stdout_text, HasSubstr("5 arms: 3 unchanged, 2 changed"));
  EXPECT_EQ(run({"road.configured", "--module-loading", "SOMETIMES"}).exit_code, 2);
  EXPECT_EQ(run({"road.configured", "--workspace-config", ""}).exit_code, 2);
}

// One line for each bad file; the others are read, and the exit code tells.
TEST_F(end_to_end, reads_the_other_records_where_one_cannot_be_read) {
  run({"road.create"});
  const fs::path good = files(".jsonl").at(0), records = folder / "mixed";
  fs::create_directories(records);
  fs::copy_file(good, records / "good.jsonl");
  std::ofstream(records / "foreign.jsonl") << "<html>\n";
  std::ofstream(records / "newer.jsonl") << "{\"schema\": 99}\n";
  std::ofstream(records / "truncated.jsonl") << R"({"schema":3,"version":"0.1.0")" << '\n';
  std::ofstream(records / "binary\x1b[2J.jsonl") << std::string("\x00\xff\n", 3);
  const auto once = [](const std::string& text, const std::string& part) {
    return text.find(part) != text.npos && text.find(part) == text.rfind(part);
  };
  const fs::path history = folder / "history.db";
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"gate", "--baseline", good, "--candidate", records},
        {"merge", records},
        {"history", "add", history, records}}) {
    const auto seen = cufault(words);
    EXPECT_EQ(seen.exit_code, 2) << words[0];
    EXPECT_TRUE(once(seen.stderr_text, "foreign.jsonl:1: ")) << seen.stderr_text;
    EXPECT_TRUE(once(seen.stderr_text, "newer.jsonl:1: schema: made by a newer cufault")) << seen.stderr_text;
    EXPECT_TRUE(once(seen.stderr_text, "truncated.jsonl:1: ")) << seen.stderr_text;
    EXPECT_THAT(seen.stderr_text, HasSubstr("(byte 1 of the line)"));
    EXPECT_EQ(std::count(seen.stderr_text.begin(), seen.stderr_text.end(), '\n'), 4) << seen.stderr_text;
    EXPECT_EQ(seen.stderr_text.find('\x1b'), std::string::npos);
    EXPECT_THAT(seen.stdout_text, HasSubstr(words[0] == "history" ? "added 4 arms in 1 run" : "4 arms"))
        << words[0];
  }
}

TEST_F(end_to_end, keeps_a_history_and_shows_it) {
  run({"road.create"});
  run({"road.create"}, {{"ROAD_FAULT", "14"}});
  const fs::path history = folder / "history.db";
  const auto recorded = files(".jsonl");
  for (const auto& file : recorded) EXPECT_EQ(cufault({"history", "add", history, file}).exit_code, 0);
  EXPECT_THAT(cufault({"history", "add", history, recorded[0]}).stdout_text,
              HasSubstr("added 0 arms in 0 runs"));
  const auto shown = cufault({"history", "show", history});
  EXPECT_EQ(shown.exit_code, 0);
  EXPECT_THAT(shown.stdout_text, HasSubstr("road.create/fault"));
  EXPECT_THAT(shown.stdout_text, HasSubstr("1 of 2"));
  EXPECT_THAT(cufault({"history", "show", history, "*/fault", "--json"}).stdout_text,
              HasSubstr("\"since\": 0"));
  EXPECT_EQ(cufault({"history", "show", history, "no/such"}).exit_code, 2);
  EXPECT_EQ(cufault({"history", "show", folder / "none.db"}).exit_code, 2);
  EXPECT_FALSE(fs::exists(folder / "none.db"));
  EXPECT_EQ(cufault({"history"}).exit_code, 2);
}

TEST_F(end_to_end, merges_records_and_names_them_by_file) {
  run({"road.create"});
  run({"road.create"}, {{"ROAD_FAULT", "14"}});
  const auto recorded = files(".jsonl");
  fs::copy_file(recorded[0], folder / "host_a.jsonl");
  fs::copy_file(recorded[1], folder / "host_b.jsonl");
  const auto seen = cufault({"merge", folder / "host_a.jsonl", folder / "host_b.jsonl"});
  EXPECT_EQ(seen.exit_code, 1);
  EXPECT_THAT(seen.stdout_text, HasSubstr("\nhost_a  "));
  EXPECT_THAT(seen.stdout_text, HasSubstr("1 of 2 (host_b)"));
  EXPECT_EQ(cufault({"merge", recorded[0]}).exit_code, 0);
}

TEST_F(end_to_end, writes_a_run_in_the_formats_of_ci) {
  const auto seen = run({"road.create", "--ctrf", (folder / "ctrf.json").string(), "--markdown",
                         (folder / "summary.md").string()});
  EXPECT_THAT(seen.stdout_text, HasSubstr("record: "));
  std::stringstream ctrf, page;
  ctrf << std::ifstream(folder / "ctrf.json").rdbuf();
  page << std::ifstream(folder / "summary.md").rdbuf();
  EXPECT_THAT(ctrf.str(), HasSubstr(R"("name":"road.create/fault")"));
  EXPECT_THAT(page.str(), testing::StartsWith("## cufault run: "));
}

TEST_F(end_to_end, compares_nothing_with_nothing_as_bad_input) {
  run({"road.on_a_gpu"});
  const std::string only = files(".jsonl").at(0);
  EXPECT_EQ(cufault({"diff", only, only}).exit_code, 2);
}

TEST_F(end_to_end, fails_the_gate_where_what_was_expected_of_a_gpu_cannot_run) {
  bless_what_is_seen();
  // What is seen without a GPU stands for what was seen with one.
  for (const auto& file : fs::recursive_directory_iterator(folder)) {
    if (file.path().filename() != "road.jsonl") continue;
    std::ifstream in(file.path());
    std::string of_another_case;
    for (std::string line; std::getline(in, line);)
      if (const auto at = line.find("road.create");
          at != line.npos && line.find("\"kind\":\"remedy") == line.npos)
        of_another_case += line.replace(at, std::string("road.create").size(), "road.on_a_gpu") + "\n";
    std::ofstream(file.path(), std::ios::app) << of_another_case;
  }
  auto expected = expectation_set::load(folder / "expectations", folder / "recorded");
  const expectation_set of_create = expected;
  for (expectation e : of_create.all()) {
    if (e.arm != "control" && e.arm != "fault") continue;
    e.case_name = "road.on_a_gpu";
    e.when.by_key["compute_capability"] = "9.0";
    expected.put(e);
  }
  expected.save(folder / "expectations");
  EXPECT_EQ(run({"road.on_a_gpu", "--mode", "gate"}).exit_code, 1);
  EXPECT_EQ(run({"road.on_a_gpu", "--mode", "gate", "--not-provoked-budget", "2"}).exit_code, 77);
}

TEST_F(end_to_end, refuses_expectations_of_arms_that_do_not_exist) {
  bless_what_is_seen();
  auto expected = expectation_set::load(folder / "expectations", folder / "recorded");
  expectation e = expected.all().front();
  e.arm = "forgotten";
  expected.put(e);
  expected.save(folder / "expectations");
  const auto seen = run({});
  EXPECT_EQ(seen.exit_code, 2);
  EXPECT_THAT(seen.stderr_text, HasSubstr("expects road.create/forgotten, which this cufault does not have"));
}

TEST_F(end_to_end, blesses_nothing_that_its_own_stack_contradicts_or_that_ties) {
  ASSERT_EQ(run({"road.create"}).exit_code, 0);
  const std::string made = files(".jsonl").at(0);
  const auto bless_when = [&](const std::string& when) { return bless(made, {"--when", when}); };
  EXPECT_THAT(bless_when("foo=1").stderr_text, HasSubstr("unknown condition"));
  EXPECT_THAT(bless_when("cublas=<1").stderr_text, HasSubstr("does not hold on the stack"));
  EXPECT_FALSE(fs::exists(folder / "expectations"));
  EXPECT_EQ(bless_when("cublaslt=>=13").exit_code, 1);
  EXPECT_THAT(bless_when("runtime=>=1").stderr_text, HasSubstr("no more specific than"));
  EXPECT_EQ(run({"road.create", "--mode", "gate"}).exit_code, 0) << "what was blessed before is not spoilt";
}

TEST_F(end_to_end, blesses_nothing_from_a_run_that_did_not_end_or_of_a_cufault_that_nobody_else_has) {
  ASSERT_EQ(run({"road.create"}).exit_code, 0);
  const record made = load_record(files(".jsonl").at(0));
  for (const bool ended : {false, true}) {
    record spoilt = made;
    spoilt.complete = ended;
    spoilt.dirty = ended;
    write(folder / "spoilt.jsonl", spoilt);
    const auto seen = cufault({"bless", folder / "spoilt.jsonl", "--expectations", folder / "expectations"});
    EXPECT_EQ(seen.exit_code, 2);
    EXPECT_THAT(seen.stderr_text, HasSubstr(ended ? "differs from every commit" : "did not come to its end"));
  }
  record cut_short = made;
  cut_short.complete = false;
  write(folder / "cut_short.jsonl", cut_short);
  EXPECT_THAT(bless((folder / "cut_short.jsonl").string(), {"road.create"}).stdout_text,
              HasSubstr("blessed: road.create"))
      << "arms that are in it are whole";
}

TEST_F(end_to_end, blesses_arms_that_are_named_and_files_what_is_expected_of_nobody) {
  ASSERT_EQ(run({"road.create"}).exit_code, 0);
  const std::string made = files(".jsonl").at(0);
  const auto filed = bless(made, {"--observations-only", "road.create/control"});
  EXPECT_THAT(filed.stdout_text, HasSubstr("1 filed in"));
  EXPECT_FALSE(fs::exists(folder / "expectations"));
  EXPECT_THAT(bless(made, {"road.create/c*l"}).stdout_text, HasSubstr("1 blessed, 0 already expected"));
  EXPECT_THAT(bless(made, {"road.create/nothing"}).stderr_text,
              HasSubstr("has nothing called road.create/nothing"));
}

TEST_F(end_to_end, does_not_take_a_library_that_kills_the_process_for_a_missing_gpu) {
  const std::string deadly = (fs::path(FAKE_CUBLAS_DIR) / "deadly").string();
  for (const char* command : {"stack", "preflight"}) {
    const auto seen = cufault({command, "--cublas", deadly});
    EXPECT_EQ(seen.exit_code, 2) << command;
    EXPECT_THAT(seen.stdout_text + seen.stderr_text, HasSubstr("signal 6"));
  }
  EXPECT_EQ(cufault({"run", "road.on_a_gpu", "--cublas", deadly, "--records", (folder / "records").string()})
                .exit_code,
            2);
}

#ifndef SANITIZED  // likewise
class end_to_end_beside_another_program : public end_to_end {};

TEST_F(end_to_end_beside_another_program, takes_its_words_as_they_are) {
  for (const char* command : {"inject", "trace"}) {
    const auto seen = cufault({command, "--", "printf", "<%s>", "[a,b]", "[]", "", "--", "{}", "--help"});
    EXPECT_EQ(seen.exit_code, 0);
    EXPECT_EQ(seen.stdout_text, "<[a,b]><[]><><--><{}><--help>") << command;
  }
}

TEST_F(end_to_end_beside_another_program, wants_it_behind_dashes) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"inject"},
                                             {"inject", "--"},
                                             {"inject", "echo", "ran"},
                                             {"inject", "echo", "--", "ran"},
                                             {"trace"},
                                             {"trace", "echo", "ran"},
                                             {"trace", "echo", "--x", "ran"}}) {
    const auto seen = cufault(words);
    EXPECT_EQ(seen.exit_code, 2);
    EXPECT_EQ(seen.stdout_text, "");
    EXPECT_THAT(seen.stderr_text, HasSubstr(" behind --, as in: cufault " + words[0]));
    EXPECT_EQ(std::count(seen.stderr_text.begin(), seen.stderr_text.end(), '\n'), 1) << seen.stderr_text;
  }
}

TEST_F(end_to_end_beside_another_program, refuses_empty_rules_and_a_log_that_cannot_be_written) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"--rules", ""}, {"--fail", ""}, {"--fail", " "}, {"--log", ""}, {"--log", folder}}) {
    const auto seen = cufault({"inject", words[0], words[1], "--", "echo", "ran"});
    EXPECT_EQ(seen.exit_code, 2) << words[0];
    EXPECT_EQ(seen.stdout_text, "") << words[0];
    EXPECT_EQ(std::count(seen.stderr_text.begin(), seen.stderr_text.end(), '\n'), 1) << seen.stderr_text;
  }
  EXPECT_EQ(cufault({"inject", "--log", folder, "--", "echo"}).stderr_text,
            "cufault: " + folder.string() + ": Is a directory\n");
}

TEST_F(end_to_end_beside_another_program, leaves_rules_of_the_environment_where_it_has_none) {
  const std::map<std::string, std::string> rules{{"CUFAULT_RULES", "/a"}, {"CUFAULT_FAIL", "cuInit=UNKNOWN"}};
  const std::string show = "echo $CUFAULT_RULES $CUFAULT_FAIL";
  EXPECT_EQ(cufault({"inject", "--lenient", "--", "sh", "-c", show}, rules).stdout_text,
            "/a cuInit=UNKNOWN\n");
  EXPECT_EQ(cufault({"inject", "--fail", "cuInit=NO_DEVICE", "--", "sh", "-c", show}, rules).stdout_text,
            "cuInit=NO_DEVICE\n");
  EXPECT_EQ(cufault({"inject", "--", "sh", "-c", show}, rules).exit_code, 2) << "/a is no file";
}

TEST_F(end_to_end_beside_another_program, passes_on_what_would_end_it_and_leaves_no_folder) {
  const auto seen =
      cufault({"trace", "--", "sh", "-c",
               "trap 'echo heard; exit 5' TERM; kill -TERM $PPID; while :; do sleep 0.05; done"});
  EXPECT_EQ(seen.exit_code, 5);
  EXPECT_EQ(seen.stdout_text, "heard\n");
  EXPECT_THAT(seen.stderr_text, HasSubstr("driver calls"));
  EXPECT_EQ(cufault({"trace", "--", "sh", "-c", "kill -HUP $PPID; exec sleep 9"}).exit_code, 128 + SIGHUP);
  EXPECT_TRUE(fs::is_empty(folder / "temporary"));
}

TEST_F(end_to_end_beside_another_program, counts_lines_of_a_log_that_it_cannot_read) {
  const auto seen = cufault({"trace", "--", "sh", "-c", "echo half a li > $CUFAULT_LOG; exit 3"});
  EXPECT_EQ(seen.exit_code, 3);
  EXPECT_THAT(seen.stderr_text, HasSubstr(" lines of the log could not be read"));
}

TEST_F(end_to_end_beside_another_program, says_why_nothing_may_have_been_seen) {
  const auto seen = cufault({"trace", "--", "sh", "-c", "rm -f $CUFAULT_LOG; kill -9 $$"});
  EXPECT_EQ(seen.exit_code, 128 + SIGKILL);
  EXPECT_THAT(seen.stderr_text, HasSubstr("until signal 9"));
  EXPECT_THAT(seen.stderr_text, HasSubstr("the command called no function of the driver"));
  EXPECT_THAT(cufault({"trace", "--", "sh", "-c", "rm -rf $CUFAULT_COUNTS"}).stderr_text,
              HasSubstr("statically linked or setuid"));
}
#endif

#ifdef CUFAULT_PROGRAM  // with all cases in it
TEST_F(end_to_end, names_only_claims_and_field_failures_of_the_ledgers) {
  spawn_options options;
  options.keep_output = 4u << 20;
  options.argv = {CUFAULT_PROGRAM, "list", "--json"};
  const auto listed = nlohmann::json::parse(run_process(options, {}).stdout_text);
  options.argv = {CUFAULT_PROGRAM, "claims", "--json", folder};
  const std::string ledger = run_process(options, {}).stdout_text;
  int tested = 0, shown = 0;
  for (const auto& c : listed) {
    for (const auto& f : c["failures"]) {
      ++shown;
      EXPECT_NE(f["text"], "") << c["name"] << " names " << f["id"] << ", which cases/failures.json lacks";
    }
    for (const auto& a : c["arms"]) {
      for (const auto& id : a["claims"]) {
        ++tested;
        EXPECT_THAT(ledger, HasSubstr("\"" + id.get<std::string>() + "\"")) << c["name"] << "/" << a["name"];
      }
    }
  }
  EXPECT_GT(tested, 0);
  EXPECT_GT(shown, 0);
}

TEST_F(end_to_end, has_a_case_for_every_field_failure_or_says_why_not) {
  spawn_options options;
  options.keep_output = 4u << 20;
  options.argv = {CUFAULT_PROGRAM, "list", "--json"};
  std::set<std::string> shown;
  for (const auto& c : nlohmann::json::parse(run_process(options, {}).stdout_text))
    for (const auto& f : c["failures"]) shown.insert(f["id"].get<std::string>());
  for (const field_failure& f : load_failures(CUFAULT_FAILURES_FILE)) {
    const bool said = !f.untestable.empty() || !f.awaits.empty();
    EXPECT_NE(shown.contains(f.id), said)
        << f.id << " needs a case, or `untestable` or `awaits`, and not both";
  }
}
#endif

TEST_F(end_to_end, judges_claims_from_records) {
  run({"road.create"});
  const auto claims = cufault({"claims", files(".jsonl").at(0).string(), "--json"});
  EXPECT_EQ(claims.exit_code, 0);
  const auto all = nlohmann::json::parse(claims.stdout_text);
  EXPECT_EQ(all.dump().find("\"other status\"") != std::string::npos, true)
      << "S0-5 says INTERNAL_ERROR, the fake says ALLOC_FAILED";
}

TEST_F(end_to_end, counts_executed_cases_from_the_preflight_to_the_floor) {
  const std::string records = (folder / "records").string();
  const std::string fake = (fs::path(FAKE_CUBLAS_DIR) / "a").string();
  EXPECT_EQ(cufault({"floor", "--records", records}).exit_code, 2) << "no preflight has run";
  EXPECT_EQ(cufault({"preflight", "--records", records, "--cublas", fake}).exit_code, 77);
  EXPECT_EQ(cufault({"floor", "--records", records}).exit_code, 1) << "nothing ran";
  cufault({"preflight", "--records", records, "--cublas", fake});
  run({"road.create"});
  EXPECT_EQ(cufault({"floor", "--records", records, "--at-least", "2"}).exit_code, 1);
  EXPECT_EQ(cufault({"floor", "--records", records, "--at-least", "0"}).exit_code, 2)
      << "no floor is no gate";
  cufault({"preflight", "--records", records, "--cublas", fake});
  run({"road.create"});
  EXPECT_EQ(cufault({"floor", "--records", records}).exit_code, 0);
  EXPECT_EQ(cufault({"preflight", "--records", records, "--cublas", fake}, {{"CUFAULT_REQUIRE_GPU", "1"}})
                .exit_code,
            1);
}

/// A cufault that hangs in a trial, started by hand so that it can be killed.
class end_to_end_cut_short : public end_to_end {
 protected:
  void start() {
    setenv("ROAD_FAULT", "hang", 1);
    setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
    // Who is killed leaves its trial's folder: not where the floor would find it.
    const char* usual = getenv("TMPDIR");
    const std::string before = usual != nullptr ? usual : "";
    setenv("TMPDIR", (folder / "temporary").c_str(), 1);
    std::vector<std::string> words{TEST_PROGRAM,
                                   "run",
                                   "road.create",
                                   "--jobs",
                                   "1",
                                   "-v",
                                   "--records",
                                   (folder / "records").string(),
                                   "--expectations",
                                   (folder / "none").string(),
                                   "--cublas",
                                   (fs::path(FAKE_CUBLAS_DIR) / "a").string()};
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    ASSERT_EQ(posix_spawn(&pid, TEST_PROGRAM, &actions, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    unsetenv("ROAD_FAULT");
    usual != nullptr ? setenv("TMPDIR", before.c_str(), 1) : unsetenv("TMPDIR");
    std::string said;
    for (char c = 0; said.find("/fault begins") == std::string::npos && read(ends[0], &c, 1) == 1;) said += c;
    ASSERT_THAT(said, HasSubstr("control UNCHARTED"));
    stderr_end = ends[0];
  }
  int finish() {
    int status = 0;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    // Every descendant holds the other end of this pipe or is gone: read until it is closed by the last one.
    std::array<char, 256> rest{};
    while (read(stderr_end, rest.data(), rest.size()) > 0) {
    }
    close(stderr_end);
    return status;
  }
  pid_t pid = -1;
  int stderr_end = -1;
};

TEST_F(end_to_end_cut_short, by_ctrl_c_writes_what_it_has_and_exits_130) {
  start();
  ASSERT_EQ(kill(pid, SIGINT), 0);
  const int status = finish();
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
  ASSERT_EQ(files(".jsonl").size(), 1U);
  const record r = load_record(files(".jsonl")[0]);
  EXPECT_FALSE(r.complete);
  std::set<std::string> names;
  for (const arm_result& a : r.cases.at(0).arms) names.insert(a.name);
  EXPECT_THAT(names, ElementsAre("control", "dead_end", "remedy"));
  EXPECT_TRUE(fs::is_empty(folder / "temporary"));
}

TEST_F(end_to_end_cut_short, by_sigkill_leaves_a_record_that_can_be_read) {
  start();
  ASSERT_EQ(kill(pid, SIGKILL), 0);
  finish();
  ASSERT_EQ(files(".jsonl").size(), 1U);
  EXPECT_FALSE(load_record(files(".jsonl")[0]).complete);
  const auto shown = cufault({"show", files(".jsonl")[0].string()});
  EXPECT_EQ(shown.exit_code, 0) << shown.stderr_text;
  EXPECT_THAT(shown.stdout_text, HasSubstr("control"));
  EXPECT_TRUE(fs::is_empty(folder / "temporary")) << "its lanes have tidied up";
}

/// cufault_case() and cufault_made_case() stop the configure unless everything is said.
class case_line : public end_to_end {
 protected:
  process_result configure(const std::string& line, const std::string& function = "cufault_case",
                           const std::vector<std::string>& more = {}) {
    spawn_options options;
    options.argv = {CMAKE_PROGRAM,
                    "-S",
                    CASE_LINE_PROJECT,
                    "-G",
                    CASE_LINE_GENERATOR,
                    "-B",
                    (folder / "build").string(),
                    "-DFUNCTION=" + function,
                    "-DLINE=" + line,
                    std::string("-DMODULES=") + CASE_LINE_MODULES};
    options.argv.insert(options.argv.end(), more.begin(), more.end());
    return run_process(options, {});
  }
};

TEST_F(case_line, is_accepted_when_complete) {
  const auto configured = configure("family/present;TIER;quick;MEMORY;shared;NEEDS;host;TIMEOUT;60");
  EXPECT_EQ(configured.exit_code, 0) << configured.stderr_text;
}

TEST_F(case_line, is_refused_without_a_tier) {
  const auto configured = configure("family/present;MEMORY;shared;NEEDS;host;TIMEOUT;60");
  EXPECT_EQ(configured.exit_code, 1);
  EXPECT_THAT(configured.stderr_text, HasSubstr("TIER is missing or wrong"));
}

TEST_F(case_line, is_refused_without_a_memory_class) {
  EXPECT_THAT(configure("family/present;TIER;quick;NEEDS;host;TIMEOUT;60").stderr_text,
              HasSubstr("MEMORY is missing or wrong"));
}

TEST_F(case_line, is_refused_without_a_timeout_or_with_zero) {
  EXPECT_THAT(configure("family/present;TIER;quick;MEMORY;shared;NEEDS;host").stderr_text,
              HasSubstr("TIMEOUT is missing or wrong"));
  EXPECT_THAT(configure("family/present;TIER;quick;MEMORY;shared;NEEDS;host;TIMEOUT;0").stderr_text,
              HasSubstr("TIMEOUT is missing or wrong"));
}

TEST_F(case_line, may_ask_for_parts_but_not_for_none) {
  EXPECT_EQ(configure("family/present;TIER;quick;MEMORY;shared;NEEDS;host;TIMEOUT;60;PARTS;3").exit_code, 0);
  EXPECT_THAT(configure("family/present;TIER;quick;MEMORY;shared;NEEDS;host;TIMEOUT;60;PARTS;0").stderr_text,
              HasSubstr("PARTS is missing or wrong"));
}

TEST_F(case_line, is_refused_without_its_file) {
  EXPECT_THAT(configure("family/absent;TIER;quick;MEMORY;shared;NEEDS;host;TIMEOUT;60").stderr_text,
              HasSubstr("there is no cases/family/absent.cpp"));
}

TEST_F(case_line, of_a_case_that_is_made_needs_no_file_but_everything_else) {
  const std::string rest = ";TIER;quick;MEMORY;shared;NEEDS;host;TIMEOUT;60";
  const auto configured = configure("family.absent" + rest, "cufault_made_case");
  EXPECT_EQ(configured.exit_code, 0) << configured.stderr_text;
  EXPECT_THAT(configure("family.absent;TIER;quick", "cufault_made_case").stderr_text,
              HasSubstr("cufault_made_case(family.absent): MEMORY is missing or wrong"));
  EXPECT_THAT(configure("family/absent" + rest, "cufault_made_case").stderr_text,
              HasSubstr("the name is not FAMILY.NAME"));
}

TEST_F(case_line, of_a_framework_is_a_test_where_a_python_is_given) {
  const std::string line = "family.absent;TIER;quick;MEMORY;shared;NEEDS;host;TIMEOUT;60;NAMED;FRAMEWORK";
  const auto tests = [&] {
    std::stringstream text;
    text << std::ifstream(folder / "build" / "CTestTestfile.cmake").rdbuf();
    return text.str();
  };
  ASSERT_EQ(configure(line, "cufault_made_case").exit_code, 0);
  EXPECT_THAT(tests(), testing::Not(HasSubstr("family.absent")));
  ASSERT_EQ(configure(line, "cufault_made_case", {"-DCUFAULT_PYTHON=/a/python;/b/python"}).exit_code, 0);
  EXPECT_THAT(tests(), HasSubstr(R"("run" "family.absent" "--python" "/a/python" "--python" "/b/python")"));
}

}  // namespace
}  // namespace cufault
