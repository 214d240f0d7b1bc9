// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cufault baseline, and runs as a gate on what it filed.
#include "harness/cli/tests/end_to_end.hpp"
#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"
#include "reports/model/record.hpp"
#include "reports/model/stack_folder.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace cufault {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// A text for each file below it.
std::map<std::string, std::string> texts_in(const fs::path& folder) {
  std::map<std::string, std::string> texts;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) texts[entry.path()] = read_text(entry.path());
  return texts;
}

class baseline : public end_to_end {
 protected:
  /// The record of a new run, which is moved away.
  fs::path made(const std::string& name, const std::map<std::string, std::string>& environment = {}) {
    EXPECT_EQ(run({"road.create"}, environment).exit_code, 0);
    fs::path kept = folder / (name + ".jsonl");
    fs::rename(files(".jsonl").back(), kept);
    return kept;
  }
  fs::path changed(const fs::path& from, const std::string& name,
                   const std::function<void(record&)>& change) {
    record r = load_record(from);
    change(r);
    write(folder / (name + ".jsonl"), r);
    return folder / (name + ".jsonl");
  }
  /// Without those of a second look.
  fs::path of_one_trial(const fs::path& from) {
    return changed(from, from.stem().string() + "-once", [](record& r) {
      for (arm_result& a : r.cases.at(0).arms) a.trials.resize(1), a.runs.at(0).trials = 1;
    });
  }
  process_result gate(const std::map<std::string, std::string>& environment = {}) {
    return run({"road.create", "--mode", "gate"}, environment);
  }
  /// `cufault WORDS` in a shell, behind `before`.
  process_result in_shell(const std::string& before, const std::vector<std::string>& words) {
    spawn_options options;
    options.argv = {"/bin/sh", "-c", before + "\nexec \"$@\"", "sh", test_program};
    options.argv.insert(options.argv.end(), words.begin(), words.end());
    options.environment = {{"TMPDIR", folder / "temporary"}, {"CUDA_VISIBLE_DEVICES", "-1"}};
    return run_process(options, {});
  }
};

TEST_F(baseline, is_asked_for_by_a_gate_that_has_none) {
  const auto seen = gate();
  EXPECT_EQ(seen.exit_code, 3);
  EXPECT_THAT(seen.stdout_text, AllOf(HasSubstr("\n\nno record of this stack: "), HasSubstr("4 new"),
                                      HasSubstr("gate: NOT JUDGED: no record of this stack: "),
                                      HasSubstr("cufault baseline add RECORD")));
  EXPECT_EQ(run({"road.create"}).exit_code, 0) << "no gate";
}

TEST_F(baseline, that_is_missing_is_a_skip_for_ctest_and_hides_no_failure) {
  const auto under_ctest = [&](std::map<std::string, std::string> environment) {
    environment["CUFAULT_SKIPS_UNJUDGED"] = "1";
    return gate(environment).exit_code;
  };
  EXPECT_EQ(under_ctest({}), 77);
  EXPECT_EQ(under_ctest({{"ROAD_CONTROL", "14"}}), 2) << "unresolved, whatever is recorded";
  fs::remove_all(folder / "records");
  add_what_is_seen();
  EXPECT_EQ(under_ctest({}), 0);
  EXPECT_EQ(under_ctest({{"ROAD_FAULT", "14"}}), 1);
}

TEST_F(baseline, passes_the_gate_once_added_and_twice) {
  add_what_is_seen();
  for (int i = 0; i < 2; ++i) {
    const auto seen = gate();
    EXPECT_EQ(seen.exit_code, 0) << seen.stdout_text;
    EXPECT_THAT(seen.stdout_text,
                AllOf(HasSubstr("REPRODUCED"), HasSubstr("CLEARED"), HasSubstr("STILL_FAILS"),
                      HasSubstr("OK"), HasSubstr("gate: passed\n")));
  }
  const fs::path again = made("again");
  EXPECT_THAT(add(again).stdout_text,
              HasSubstr(": 0 new, 0 changed, 4 with further trials, 0 there already, 0 left out\n"));
  const auto before = texts_in(folder / "baseline");
  EXPECT_THAT(add(again).stdout_text, HasSubstr(": 0 new, 0 changed, 4 there already, 0 left out\n"));
  EXPECT_EQ(texts_in(folder / "baseline"), before) << "each run counts once";
}

TEST_F(baseline, that_show_is_told_judges_a_record) {
  const fs::path seen = made("seen");
  ASSERT_EQ(add(seen).exit_code, 0);
  EXPECT_THAT(cufault({"show", seen}).stdout_text, HasSubstr("4 arms: 4 NEW"));
  EXPECT_THAT(cufault({"show", seen, "--baseline", folder / "baseline"}).stdout_text,
              HasSubstr("4 arms: 1 STILL_FAILS, 1 REPRODUCED, 1 CLEARED, 1 OK"));
}

TEST_F(baseline, of_arms_that_need_a_gpu_skips_them_in_a_gate_unless_one_is_required) {
  // What is seen without a GPU stands for what was seen with one.
  const fs::path both = changed(made("seen"), "both", [](record& r) {
    case_result on_a_gpu = r.cases.at(0);
    on_a_gpu.name = "road.on_a_gpu";
    std::erase_if(on_a_gpu.arms,
                  [](const arm_result& a) { return a.name != "control" && a.name != "fault"; });
    r.cases.push_back(std::move(on_a_gpu));
  });
  ASSERT_EQ(add(both).exit_code, 0);
  const auto alone = run({"road.on_a_gpu", "--mode", "gate"});
  EXPECT_EQ(alone.exit_code, 77);
  EXPECT_THAT(alone.stdout_text, HasSubstr("gate: SKIPPED: nothing could be provoked here: no GPU: "));
  const auto beside_others = run({"road.on_a_gpu", "road.create", "--mode", "gate"});
  EXPECT_EQ(beside_others.exit_code, 0);
  EXPECT_THAT(beside_others.stdout_text,
              AllOf(HasSubstr("2 arms of 1 case need a GPU and were not run: no GPU: "),
                    HasSubstr("gate: passed, without the arms that need a GPU\n")));
  EXPECT_EQ(run({"road.on_a_gpu", "road.create", "--mode", "gate"}, {{"CUFAULT_REQUIRE_GPU", "1"}}).exit_code,
            1);
}

TEST_F(baseline, of_cufault_comes_behind_the_own_one) {
  // As if installed: share/cufault/recorded beside bin.
  const fs::path program = folder / "bin" / "cufault", shipped = folder / "share" / "cufault" / "recorded";
  fs::create_directories(program.parent_path());
  fs::copy_file(test_program, program);
  fs::create_directories(shipped.parent_path());
  const fs::path usual = made("usual"), otherwise = made("otherwise", {{"ROAD_FAULT", "14"}});
  ASSERT_EQ(cufault({"baseline", "add", usual, "--into", shipped}).exit_code, 0);
  const auto installed_gate = [&](const std::map<std::string, std::string>& more) {
    spawn_options options;
    options.argv = {program,
                    "run",
                    "road.create",
                    "--mode",
                    "gate",
                    "--records",
                    folder / "records",
                    "--cublas",
                    fs::path(fake_cublas_folder) / "a"};
    options.environment = {
        {"TMPDIR", folder / "temporary"}, {"CUDA_VISIBLE_DEVICES", "-1"}, {"XDG_DATA_HOME", folder / "data"}};
    for (const auto& [name, value] : more) options.environment[name] = value;
    options.keep_output = 1u << 20;
    return run_process(options, {});
  };
  EXPECT_EQ(installed_gate({}).exit_code, 0);
  EXPECT_EQ(installed_gate({{"ROAD_FAULT", "14"}}).exit_code, 1);
  ASSERT_EQ(cufault({"baseline", "add", otherwise}).exit_code, 0);
  ASSERT_TRUE(fs::exists(folder / "data" / "cufault" / "baseline"));
  EXPECT_EQ(installed_gate({{"ROAD_FAULT", "14"}}).exit_code, 0) << "the own baseline comes first";
  EXPECT_EQ(installed_gate({}).exit_code, 1);
}

TEST_F(baseline, lies_where_the_environment_says) {
  const fs::path seen = made("seen");
  const auto added = [&](const std::map<std::string, std::string>& environment) {
    return cufault({"baseline", "add", seen}, environment);
  };
  EXPECT_EQ(added({{"CUFAULT_BASELINE", folder / "site" / "baseline"}}).exit_code, 0);
  EXPECT_TRUE(is_stack_folder(folder / "site" / "baseline" / "cublas-13.1.0"));
  EXPECT_EQ(added({}).exit_code, 0);
  EXPECT_TRUE(is_stack_folder(folder / "data" / "cufault" / "baseline" / "cublas-13.1.0"));
  EXPECT_EQ(added({{"XDG_DATA_HOME", ""}, {"HOME", folder / "home"}}).exit_code, 0);
  EXPECT_TRUE(
      is_stack_folder(folder / "home" / ".local" / "share" / "cufault" / "baseline" / "cublas-13.1.0"));
  EXPECT_EQ(added({{"XDG_DATA_HOME", "relative"}, {"HOME", folder / "other"}}).exit_code, 0);
  EXPECT_TRUE(fs::exists(folder / "other")) << "a relative one is to be ignored";
  const std::map<std::string, std::string> nowhere{{"XDG_DATA_HOME", ""}, {"HOME", ""}};
  expect_refused(added(nowhere), "neither CUFAULT_BASELINE nor HOME is set: give --into DIR");
  EXPECT_EQ(cufault({"show", seen}, nowhere).exit_code, 0) << "who reads needs none";

  const auto not_there = cufault({"show", seen}, {{"CUFAULT_BASELINE", folder / "nowhere"}});
  EXPECT_EQ(not_there.exit_code, 0);
  EXPECT_EQ(
      not_there.stderr_text,
      fmt::format("cufault: CUFAULT_BASELINE={}: there is no such folder; cufault baseline add makes it\n",
                  (folder / "nowhere").string()));
  expect_refused(cufault({"show", seen}, {{"CUFAULT_BASELINE", seen}}), "is no folder");
}

TEST_F(baseline, is_neither_made_nor_changed_where_its_folder_cannot_be) {
  const fs::path seen = made("seen");
  const auto into = [&](const fs::path& there) {
    return cufault({"baseline", "add", seen, "--into", there});
  };
  expect_refused(into(folder / "nowhere" / "baseline"),
                 "there is no folder " + (folder / "nowhere").string());
  EXPECT_FALSE(fs::exists(folder / "nowhere"));
  expect_refused(into(seen), seen.string());
}

TEST_F(baseline, is_listed_and_loses_what_is_removed) {
  add_what_is_seen();
  const std::string stack = recorded_stack();
  const auto shown = cufault({"baseline", "show", "--into", folder / "baseline"});
  EXPECT_EQ(shown.exit_code, 0);
  EXPECT_THAT(shown.stdout_text,
              HasSubstr(stack + ": cuBLAS 13.1.0; 4 arms, of them 0 undefined; latest run 20"));
  const auto json = nlohmann::json::parse(
      cufault({"baseline", "show", "--json", "--into", folder / "baseline"}).stdout_text);
  EXPECT_EQ(json.at("schema"), 1);
  EXPECT_EQ(json.at("stacks").at(0).at("folder"), stack);
  EXPECT_EQ(json.at("stacks").at(0).at("arms"), 4);
  const auto removed = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"baseline", "remove", "cublas-13.1.0"});
    words.insert(words.end(), {"--into", folder / "baseline"});
    return cufault(words);
  };
  expect_refused(removed({"road.create/nothing"}), "has nothing called road.create/nothing");
  EXPECT_THAT(removed({"road.create/*d*"}).stdout_text, HasSubstr(": 2 arms removed"));
  EXPECT_THAT(cufault({"show", stack}).stdout_text, AllOf(HasSubstr("2 arms: "), Not(HasSubstr("dead_end"))));
  EXPECT_EQ(removed({}).exit_code, 0);
  EXPECT_FALSE(fs::exists(stack));
  expect_refused(removed({}), "cufault baseline show lists them");
}

TEST_F(baseline, removes_nothing_that_is_not_in_it) {
  add_what_is_seen();
  const std::string stack = recorded_stack();
  for (const std::string& name : {stack, std::string("../baseline/cublas-13.1.0")})
    expect_refused(cufault({"baseline", "remove", name, "--into", folder.string()}),
                   "cufault baseline show lists them");
  EXPECT_TRUE(fs::exists(fs::path(stack) / "stack.json"));
  EXPECT_EQ(cufault({"baseline", "remove", stack, "--into", folder / "baseline"}).exit_code, 0)
      << "as show names it";
  EXPECT_FALSE(fs::exists(stack));
}

TEST_F(baseline, does_not_take_a_run_that_did_not_end_unless_cases_are_named) {
  const fs::path cut = changed(made("seen"), "cut", [](record& r) { r.complete = false; });
  expect_refused(add(cut), "did not come to its end; run it again, or name the cases to add");
  EXPECT_THAT(add(cut, {"road.create"}).stdout_text, HasSubstr("4 new")) << "arms that are in it are whole";
  expect_refused(add(cut, {"road.nothing"}), "has nothing called road.nothing");
}

/// Of a run in which the fault arm came to another status than is recorded.
class baseline_with_a_difference : public baseline {
 protected:
  void SetUp() override {
    baseline::SetUp();
    ASSERT_EQ(add(made("usual"), {"road.create/control", "road.create/fault"}).exit_code, 0);
  }
};

TEST_F(baseline_with_a_difference, has_a_rate_of_what_came_out_otherwise_and_was_not_repeated) {
  const fs::path once = of_one_trial(made("thrice", {{"ROAD_FAULT", "1"}})),
                 otherwise = of_one_trial(made("otherwise", {{"ROAD_FAULT", "7"}}));
  const auto would = cufault({"baseline", "diff", once, "--into", folder / "baseline", "road.create/fa*"});
  EXPECT_EQ(would.exit_code, 1);
  const auto added = add(once, {"road.create/fa*", "--with", otherwise});
  EXPECT_EQ(added.exit_code, 0) << added.stdout_text;
  EXPECT_THAT(added.stdout_text,
              HasSubstr("changed: road.create / fault: it has a rate now: 1 of 3: cublasCreate: "));
  EXPECT_THAT(add(once, {"road.create/fa*"}).stdout_text, HasSubstr("1 there already"))
      << "each run counts once";
  for (const char* status : {"3", "1", "7"})
    EXPECT_THAT(run({"road.create/fault", "--mode", "gate"}, {{"ROAD_FAULT", status}}).stdout_text,
                AllOf(HasSubstr("1 FLAKY"), HasSubstr("gate: passed")));
  EXPECT_EQ(run({"road.create/fault", "--mode", "gate"}, {{"ROAD_FAULT", "14"}}).exit_code, 1);
}

TEST_F(baseline, takes_records_that_disagree_as_a_rate_but_not_levels) {
  const fs::path usual = made("usual"), otherwise = made("otherwise", {{"ROAD_FAULT", "1"}});
  EXPECT_THAT(add(usual, {"--with", otherwise}).stdout_text, HasSubstr("4 new, 0 changed"));
  EXPECT_THAT(cufault({"show", recorded_stack(), "--baseline", folder / "baseline"}).stdout_text,
              AllOf(HasSubstr("1 of 2: "), HasSubstr("2 FLAKY")));
  ASSERT_EQ(run({"road.ladder"}).exit_code, 0);
  const fs::path climbed = files(".jsonl").back();
  ASSERT_EQ(add(climbed).exit_code, 0);
  const fs::path at_another_edge = changed(climbed, "at_another_edge", [](record& r) {
    r.seed = 1;
    for (arm_result& a : r.cases.at(0).arms)
      for (observation& o : a.trials)
        if (o.level) o.calls.at(0).what.status = "CUBLAS_STATUS_NOT_INITIALIZED", o.calls[0].what.ok = false;
  });
  const auto left_out = add(at_another_edge, {"road.ladder/cl*"});
  EXPECT_EQ(left_out.exit_code, 1);
  EXPECT_THAT(
      left_out.stdout_text,
      HasSubstr("left out: road.ladder / climb: CHANGED, and not repeated with an equal outcome; run it "
                "again and give both records (--with), or name it: road.ladder/climb\n"));
}

TEST_F(baseline_with_a_difference, takes_what_a_second_record_repeats_or_two_trials_or_what_is_named) {
  const fs::path once = made("once", {{"ROAD_FAULT", "1"}}), again = made("again", {{"ROAD_FAULT", "1"}});
  const auto before = texts_in(folder / "baseline");
  const auto would = cufault({"baseline", "diff", once, "--with", again, "--into", folder / "baseline"});
  EXPECT_EQ(would.exit_code, 1);
  EXPECT_THAT(
      would.stdout_text,
      AllOf(HasSubstr("would change: road.create / fault: cublasCreate: ALLOC_FAILED → NOT_INITIALIZED\n"),
            HasSubstr("; nothing was written\n")));
  EXPECT_EQ(texts_in(folder / "baseline"), before);
  const auto taken = add(once, {"--with", again});
  EXPECT_EQ(taken.exit_code, 0);
  EXPECT_THAT(taken.stdout_text,
              HasSubstr("changed: road.create / fault: cublasCreate: ALLOC_FAILED → NOT_INITIALIZED\n"));
  EXPECT_EQ(run({"road.create/fault", "--mode", "gate"}, {{"ROAD_FAULT", "1"}}).exit_code, 0);
  EXPECT_EQ(cufault({"baseline", "diff", once, "--into", folder / "baseline"}).exit_code, 0);

  const fs::path other = made("other", {{"ROAD_FAULT", "7"}});
  const fs::path twice = changed(other, "twice", [](record& r) {
    for (arm_result& a : r.cases.at(0).arms) {
      a.trials.push_back(a.trials.front());
      a.runs.at(0).trials = a.trials.size();
    }
  });
  EXPECT_THAT(add(twice, {"road.create/f*"}).stdout_text, HasSubstr("changed: road.create / fault"));
  EXPECT_THAT(add(again, {"road.create/fault"}).stdout_text, HasSubstr("changed: road.create / fault"))
      << "somebody looked at it";
}

TEST_F(baseline, of_an_undefined_outcome_judges_nothing) {
  const fs::path seen = made("seen");
  ASSERT_EQ(add(seen, {"road.create/control", "road.create/remedy", "road.create/dead_end"}).exit_code, 0);
  EXPECT_THAT(add(seen, {"--undefined", "road.create/fault"}).stdout_text, HasSubstr("1 new"));
  for (const char* status : {"3", "14"}) {
    const auto judged = run({"road.create/fault", "--mode", "gate"}, {{"ROAD_FAULT", status}});
    EXPECT_EQ(judged.exit_code, 0) << judged.stdout_text;
    EXPECT_THAT(judged.stdout_text, HasSubstr("1 UNDEFINED"));
  }
  EXPECT_THAT(add(seen, {"road.create/fault"}).stdout_text, HasSubstr("1 changed"));
  EXPECT_THAT(run({"road.create/fault"}).stdout_text, HasSubstr("1 REPRODUCED"));
}

TEST_F(baseline, show_leaves_out_a_stack_that_cannot_be_read) {
  const fs::path seen = made("seen");
  for (const char* version : {"13.1.0", "13.2.0", "13.3.0"})
    ASSERT_EQ(
        add(changed(seen, version, [=](record& r) { (*r.stack)["keys"]["cublas"] = version; })).exit_code, 0);
  write_whole(folder / "baseline" / "cublas-13.2.0" / "stack.json", "<html>");
  const auto shown = cufault({"baseline", "show", "--into", folder / "baseline"});
  EXPECT_EQ(shown.exit_code, 2);
  EXPECT_THAT(shown.stderr_text, HasSubstr("cublas-13.2.0/stack.json:1: "));
  EXPECT_THAT(shown.stdout_text, AllOf(HasSubstr("/cublas-13.1.0: "), HasSubstr("/cublas-13.3.0: ")));
}

TEST_F(baseline, is_not_written_while_another_process_writes_it) {
  const fs::path seen = made("seen");
  ASSERT_EQ(add(seen, {"road.create/control"}).exit_code, 0);
  const auto before = texts_in(folder / "baseline");
  {
    const folder_lock other(recorded_stack(), "this stack");
    expect_refused(add(seen), "another cufault writes this stack; try again");
    EXPECT_EQ(run({"road.create/control", "--mode", "gate"}).exit_code, 0) << "it can be read";
  }
  EXPECT_EQ(texts_in(folder / "baseline"), before) << "nothing half-written";
  EXPECT_EQ(add(seen).exit_code, 0);
}

TEST_F(baseline, that_several_add_to_at_once_loses_nothing) {
  const fs::path seen = made("seen");
  const std::vector<std::string> arms{"control", "fault", "remedy", "dead_end"};
  const std::string results = folder / "results";
  fs::create_directories(results);
  in_shell("cd " + results + R"(
for arm in control fault remedy dead_end; do
  ("$@" "road.create/$arm" >"$arm.out" 2>&1 && echo added >"$arm.out") &
done
wait
exit 0)",
           {"baseline", "add", seen, "--into", folder / "baseline"});
  const auto arms_there = [&] {
    std::set<std::string> there;
    for (const case_result& c : load_stack(recorded_stack()).cases)
      for (const arm_result& a : c.arms) there.insert(a.name);
    return there;
  };
  std::set<std::string> filed;
  for (const std::string& arm : arms) {
    const std::string said = read_text(fs::path(results) / (arm + ".out"));
    if (said == "added\n")
      filed.insert(arm);
    else
      EXPECT_THAT(said, HasSubstr("another cufault writes this stack; try again"));
  }
  EXPECT_FALSE(filed.empty()) << "one of them has the lock";
  EXPECT_EQ(arms_there(), filed);
  for (const std::string& arm : arms) EXPECT_EQ(add(seen, {"road.create/" + arm}).exit_code, 0);
  EXPECT_EQ(arms_there().size(), arms.size());
}

TEST_F(baseline, that_is_read_only_judges_and_says_that_it_cannot_be_written) {
  const fs::path seen = made("seen");
  ASSERT_EQ(add(seen, {"road.create/control"}).exit_code, 0);
  const fs::path stack = recorded_stack();
  if (geteuid() == 0) GTEST_SKIP() << "nothing is read-only for root";
  fs::permissions(stack, fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_EQ(run({"road.create/control", "--mode", "gate"}).exit_code, 0);
  expect_refused(add(seen), stack.string() + ": cannot write in: Permission denied");
  fs::permissions(stack, fs::perms::owner_all);
}

TEST_F(baseline, on_a_full_disk_stays_as_it_was) {
  const fs::path seen = made("seen");
  ASSERT_EQ(add(seen, {"road.create/control"}).exit_code, 0);
  const auto before = texts_in(folder / "baseline");
  // No file may be written: a write comes to EFBIG, as it comes to ENOSPC on a full disk.
  const auto full =
      in_shell("trap '' XFSZ; ulimit -f 0", {"baseline", "add", seen, "--into", folder / "baseline"});
  EXPECT_EQ(full.exit_code, 2);
  EXPECT_THAT(full.stderr_text, AllOf(StartsWith("cufault: "), HasSubstr("cannot write: ")));
  EXPECT_EQ(texts_in(folder / "baseline"), before) << "nothing half-written, nothing left behind";
  EXPECT_EQ(add(seen).exit_code, 0);
}

// ---- a baseline that is damaged ----

struct defect {
  const char* name;
  const char* file;
  std::function<void(std::string&)> spoil;  ///< text of the file
  const char* says;
  bool of_one_arm = true;
  friend std::ostream& operator<<(std::ostream& out, const defect& d) { return out << d.name; }
};

void replace_in(std::string& text, const std::string& what, const std::string& by) {
  const auto at = text.find(what);
  ASSERT_NE(at, text.npos) << what;
  text.replace(at, what.size(), by);
}

std::string line_with(const std::string& text, const std::string& part) {
  const auto at = text.find(part);
  const auto begin = text.rfind('\n', at) + 1;
  return text.substr(begin, text.find('\n', at) + 1 - begin);
}

class damaged_baseline : public baseline, public testing::WithParamInterface<defect> {};

TEST_P(damaged_baseline, is_told_by_file_and_line_and_the_rest_is_read) {
  add_what_is_seen();
  const fs::path stack = recorded_stack();
  {
    std::string text = read_text(stack / GetParam().file);
    GetParam().spoil(text);
    write_whole(stack / GetParam().file, text);
  }
  const auto seen = gate();
  EXPECT_EQ(seen.exit_code, 2) << seen.stdout_text;
  EXPECT_THAT(seen.stderr_text, HasSubstr(fmt::format("cufault: {}/{}", stack.string(), GetParam().says)));
  EXPECT_THAT(seen.stdout_text, HasSubstr("gate: UNRESOLVED: 1 line of the baseline could not be read"));
  EXPECT_EQ(std::count(seen.stderr_text.begin(), seen.stderr_text.end(), '\n'), 2)
      << "that, and the case's line";
  EXPECT_THAT(seen.stdout_text, HasSubstr(GetParam().of_one_arm ? "STILL_FAILS" : "4 NEW"));
  EXPECT_EQ(run({"road.create"}).exit_code, 0) << "no gate";
  const auto shown = cufault({"baseline", "show", "--into", folder / "baseline"});
  EXPECT_EQ(shown.exit_code, 2);
  EXPECT_THAT(shown.stderr_text, HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    each, damaged_baseline,
    testing::Values(
        defect{"a_cut_line", "road.jsonl", [](std::string& text) { text.resize(text.size() - 40); },
               "road.jsonl:4: "},
        defect{"a_doubled_line", "road.jsonl",
               [](std::string& text) { text += line_with(text, "\"arm\":\"fault\""); }, "road.jsonl:5: "},
        defect{
            "an_unknown_api", "road.jsonl",
            [](std::string& text) { replace_in(text, "\"api\":\"cublasCreate\"", "\"api\":\"cublasQuux\""); },
            "road.jsonl:1: "},
        defect{"a_run_that_is_missing", "road.jsonl",
               [](std::string& text) { replace_in(text, "\"run\":0", "\"run\":7"); },
               "road.jsonl:1: run: run 7: stack.json has 1 runs, counted from 0"},
        defect{
            "a_newer_schema", "stack.json",
            [](std::string& text) { replace_in(text, "\"schema\": 5", "\"schema\": 6"); },
            "stack.json:2: schema: made by a newer cufault: schema 6, and this one reads 5; update cufault",
            false},
        defect{"a_stack_that_is_no_json", "stack.json", [](std::string& text) { text = "<html>"; },
               "stack.json:1: ", false}),
    [](const auto& test) { return std::string(test.param.name); });

TEST_F(baseline, with_a_cut_line_is_not_written_over_and_says_how_to_mend_it) {
  const fs::path seen = made("seen");
  ASSERT_EQ(add(seen).exit_code, 0);
  const fs::path file = recorded_stack() / "road.jsonl";
  const std::string whole = read_text(file);
  const std::string cut = whole.substr(0, whole.size() - 40);
  write_whole(file, cut);
  const auto refused = add(seen);
  expect_refused(refused, "road.jsonl:4: ");
  EXPECT_THAT(refused.stderr_text,
              HasSubstr("; nothing of this stack was written; mend that, then add the record again\n"));
  EXPECT_EQ(read_text(file), cut);
  write_whole(file, cut.substr(0, cut.rfind('\n') + 1));
  const auto added = add(seen);
  EXPECT_EQ(added.exit_code, 0) << added.stderr_text;
  EXPECT_THAT(added.stdout_text, HasSubstr("1 new, 0 changed, 3 there already"));
  EXPECT_EQ(read_text(file), whole);
}

#ifndef SANITIZED  // which reserves more address space than this
TEST_F(baseline, and_records_of_a_gigabyte_are_refused_without_reading_all) {
  const fs::path seen = made("seen"), big = folder / "big.jsonl";
  ASSERT_EQ(add(seen).exit_code, 0);
  std::ofstream(big) << "{\"schema\":5";
  fs::resize_file(big, std::uintmax_t{1} << 30);
  const std::string bound = "ulimit -v 1500000";
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"show", big}, {"baseline", "add", big, "--into", folder / "baseline"}})
    expect_refused(in_shell(bound, words), "big.jsonl: longer than 256 MiB");
  fs::resize_file(recorded_stack() / "road.jsonl", std::uintmax_t{1} << 30);
  const auto shown = in_shell(bound, {"show", seen, "--baseline", folder / "baseline"});
  EXPECT_EQ(shown.exit_code, 0) << shown.stderr_text;
  EXPECT_THAT(shown.stderr_text, HasSubstr("road.jsonl: longer than 256 MiB; left out\n"));
  EXPECT_THAT(shown.stdout_text, HasSubstr("4 NEW"));
}
#endif

}  // namespace
}  // namespace cufault
