// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Commands that list cases, and that read, judge and compare records.
#include "harness/cli/tests/end_to_end.hpp"
#include "reports/evidence/baselines.hpp"
#include "reports/model/failures.hpp"
#include "reports/model/record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

namespace cufault {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;
using testing::StartsWith;

TEST_F(end_to_end, lists_field_failures_with_their_text_and_tells_of_one_that_is_unknown) {
  const auto all = nlohmann::json::parse(cufault({"list", "--json"}).stdout_text)["cases"];
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
  EXPECT_THAT(found.stdout_text,
              StartsWith("What had happened where a call returned CUBLAS_STATUS_ALLOC_FAILED\n\n1. "));
  EXPECT_THAT(found.stdout_text, HasSubstr("\n   check  "));
  EXPECT_THAT(found.stdout_text, Not(HasSubstr("road.create/fault"))) << "tables are for who asks";
  for (const char* spelt : {"ALLOC_FAILED", "alloc_failed", "3"})
    EXPECT_EQ(cufault({"causes", spelt, recorded}).stdout_text, found.stdout_text) << spelt;
  const auto all = cufault({"causes", "CUBLAS_STATUS_ALLOC_FAILED", recorded, "--all"});
  EXPECT_THAT(all.stdout_text, HasSubstr("road.create/fault"));
  std::istringstream lines(all.stdout_text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
  const auto page = cufault({"causes", "--page", "cuda_memory_allocation", recorded});
  EXPECT_THAT(page.stdout_text, HasSubstr("\n## What you see\n")) << "Markdown is for a file";
  expect_refused(
      cufault({"causes", "CUBLAS_STATUS_ALOC_FAILED", recorded}),
      "no recorded call returned CUBLAS_STATUS_ALOC_FAILED; statuses are spelt as in "
      "CUBLAS_STATUS_INTERNAL_ERROR, INTERNAL_ERROR or 14; did you mean CUBLAS_STATUS_ALLOC_FAILED?\n");
  for (const char* nothing : {"", " "})  // steps that succeed have no status
    expect_refused(cufault({"causes", nothing, recorded}), "STATUS: is empty; see cufault causes --help\n");
  fs::remove_all(folder / "records");
  run({"road.create"}, {{"ROAD_CONTROL", "14"}});
  const auto silenced =
      cufault({"causes", "CUBLAS_STATUS_ALLOC_FAILED", files(".jsonl").at(0).string(), "--all"});
  EXPECT_EQ(silenced.exit_code, 0);
  EXPECT_THAT(silenced.stdout_text, HasSubstr("with a working control returned"));
}

TEST_F(end_to_end, has_no_table_of_frameworks_where_none_failed) {
  run({"road.create"});
  expect_refused(cufault({"frameworks", files(".jsonl").at(0)}),
                 "no operation of a framework failed in these records; `cufault run pytorch --python PYTHON` "
                 "makes them\n");
}

TEST_F(end_to_end, states_a_rate_over_records_of_one_stack) {
  const std::map<std::string, std::string> counter{{"ROAD_COUNTER", folder / "counter"}};
  ASSERT_EQ(run({"road.races", "--repeats", "0"}, counter).exit_code, 0);
  ASSERT_EQ(run({"road.races", "--repeats", "0"}, counter).exit_code, 0);
  const auto made = files(".jsonl");
  ASSERT_EQ(made.size(), 2U);
  const auto add_with = [&](const fs::path& other) { return add(made[0], {"--with", other}); };
  record elsewhere = load_record(made[1]);
  (*elsewhere.stack)["keys"]["cublas"] = "9.9.9";
  write(folder / "elsewhere.jsonl", elsewhere);
  EXPECT_THAT(add_with(folder / "elsewhere.jsonl").stderr_text,
              HasSubstr("--with: the records are of 2 stacks"));
  EXPECT_TRUE(fs::is_empty(folder / "baseline"));

  EXPECT_THAT(add_with(made[0]).stderr_text, HasSubstr("; its trials count once"));
  fs::copy_file(made[0], folder / "copy.jsonl");
  EXPECT_THAT(add_with(folder / "copy.jsonl").stderr_text, HasSubstr("its trials count once"));

  record lucky = load_record(made[1]);
  for (auto& c : lucky.cases)
    for (auto& a : c.arms) {
      if (a.name != "now_and_then") continue;
      std::erase_if(a.trials, [](const observation& o) { return !o.calls.at(0).what.ok; });
      a.runs.at(0).trials = a.trials.size();
    }
  write(folder / "lucky.jsonl", lucky);
  const auto added = add_with(folder / "lucky.jsonl");
  ASSERT_EQ(added.exit_code, 0) << added.stderr_text;
  const baselines recorded({folder / "baseline"});
  const reference* const known = recorded.find("road.races", "now_and_then", keys_of(lucky));
  ASSERT_NE(known, nullptr);
  EXPECT_THAT(known->from.at(0).counts, ElementsAre(30, 5));
  EXPECT_EQ(known->from.at(0).shown->trials.size(), 35U) << "both records are filed";
}

#ifndef SANITIZED  // libcufault.so stands in front of malloc, and a sanitizer wants to
TEST_F(end_to_end, compares_injected_counterparts_with_the_arms_that_have_it_for_real) {
  ASSERT_EQ(run({"*/*_injected"}).exit_code, 0) << "a star stands for anything";
  const record alone = load_record(files(".jsonl").at(0));
  ASSERT_EQ(alone.cases.size(), 1U);
  std::map<std::string, std::string> counterparts;  // arms stand in the order in which they ended
  for (const arm_result& a : alone.cases[0].arms) counterparts[a.name] = a.counterpart_of;
  EXPECT_THAT(counterparts, ElementsAre(Pair("control", ""), Pair("too_much_injected", "too_much"),
                                        Pair("too_much_twice_injected", "too_much_twice")));
  ASSERT_EQ(run({"road.twin"}).exit_code, 0);
  const auto seen = cufault({"compare-injected", (folder / "records").string()});
  EXPECT_EQ(seen.exit_code, 0) << seen.stderr_text;
  EXPECT_THAT(seen.stdout_text, HasSubstr("too_much_injected        agrees"));
  EXPECT_THAT(seen.stdout_text, HasSubstr("too_much_twice_injected  differs"));
  EXPECT_THAT(seen.stdout_text, HasSubstr("cudaMalloc squeezed: NO_HOST_MEMORY → ALLOCATED"));
  EXPECT_THAT(seen.stdout_text, HasSubstr("2 comparisons: 1 agrees, 1 differs"));
}
#endif

TEST_F(end_to_end, tells_two_records_apart) {
  run({"road.create"});
  run({"road.create"}, {{"ROAD_FAULT", "14"}});
  const auto recorded = files(".jsonl");
  ASSERT_EQ(recorded.size(), 2U);
  const auto differing = cufault({"diff", recorded[0].string(), recorded[1].string()});
  EXPECT_EQ(differing.exit_code, 1);
  EXPECT_THAT(differing.stdout_text, HasSubstr(": ALLOC_FAILED → INTERNAL_ERROR"));
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
  EXPECT_THAT(differing.stdout_text, HasSubstr(": ALLOC_FAILED → INTERNAL_ERROR"));
  EXPECT_EQ(gate(recorded[0], recorded[0], {"--at-least", "2"}).exit_code, 1);
  run({"road.create/fault"});
  const auto part = gate(recorded[0], files(".jsonl").at(2), {});
  EXPECT_EQ(part.exit_code, 0) << part.stdout_text;
  EXPECT_THAT(part.stdout_text, HasSubstr("4 arms: 2 as before, 2 not asked for"));

  const fs::path allow = folder / "allow.json";
  std::ofstream(allow)
      << R"({"schema": 1, "allowances": [{"arm": "road.create/*", "change": "changed", "reason": "known", "expires": "2026-12-31"}]})";
  EXPECT_THAT(gate(recorded[0], recorded[1], {"--allow", allow, "--date", "2026-12-31"}).stdout_text,
              HasSubstr("[allowed until 2026-12-31: known]"));
  EXPECT_THAT(gate(recorded[0], recorded[1], {"--allow", allow, "--date", "2027-01-01"}).stdout_text,
              HasSubstr("allowances that have expired"));
  EXPECT_EQ(gate(recorded[0], recorded[1], {"--date", "soon"}).exit_code, 2);
  std::ofstream(allow) << R"({"schema": 1, "allowances": [{"arm": "road.create/*"}]})";
  expect_refused(gate(recorded[0], recorded[1], {"--allow", allow}),
                 "allow.json:1: allowances[0]: \"change\" is missing");
}

// What the page about gates says how to do. Cases that compare values of a variable themselves keep theirs.
TEST_F(end_to_end, gates_lazy_against_eager_loading_and_two_workspaces) {
  const std::map<std::string, std::string> shell{{"CUDA_MODULE_LOADING", "EAGER"},
                                                 {"CUBLAS_WORKSPACE_CONFIG", ":8:1"}};
  const auto made = [&](const std::string& name, std::vector<std::string> more) {
    more.insert(more.begin(),
                {"run", "road.configured", "road.compared", "--records", folder / name, "--baseline",
                 folder / "baseline", "--cublas", fs::path(fake_cublas_folder) / "a"});
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
      "name": "module_loading",
      "values": [
        "",
        "EAGER"
      ]
    })"));
  const auto loading = gate(lazy, eager);
  EXPECT_EQ(loading.exit_code, 1);
  EXPECT_THAT(loading.stdout_text, HasSubstr("road.configured/create"));
  EXPECT_THAT(loading.stdout_text, HasSubstr("5 arms: 4 as before, 1 CHANGED"));
  const auto workspace = gate(lazy, small);
  EXPECT_EQ(workspace.exit_code, 1);
  EXPECT_THAT(workspace.stdout_text, HasSubstr("CUBLAS_WORKSPACE_CONFIG"));
  EXPECT_THAT(workspace.stdout_text, HasSubstr("5 arms: 3 as before, 2 CHANGED"));
  EXPECT_EQ(run({"road.configured", "--module-loading", "SOMETIMES"}).exit_code, 2);
}

// One line for each bad file; the others are read, and the exit code tells.
TEST_F(end_to_end, reads_the_other_records_where_one_cannot_be_read) {
  run({"road.create"});
  const fs::path good = files(".jsonl").at(0), records = folder / "mixed";
  fs::create_directories(records);
  fs::copy_file(good, records / "good.jsonl");
  std::ofstream(records / "foreign.jsonl") << "<html>\n";
  std::ofstream(records / "newer.jsonl") << "{\"schema\": 99}\n";
  std::ofstream(records / "truncated.jsonl") << R"({"schema":5,"version":"0.1.0")" << '\n';
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

TEST_F(end_to_end, stops_where_no_record_can_be_read) {
  run({"road.create"});
  const fs::path good = files(".jsonl").at(0), foreign = folder / "foreign.jsonl";
  std::ofstream(foreign) << "<html>\n";
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"gate", "--baseline", good, "--candidate", foreign},
        {"gate", "--baseline", foreign, "--candidate", good, "--json"},
        {"merge", foreign},
        {"merge", foreign, "--json"}}) {
    const auto seen = cufault(words);
    EXPECT_EQ(seen.exit_code, 2) << words[0];
    const bool tells_json = words[0] == "gate" && words.back() == "--json";
    EXPECT_EQ(seen.stdout_text.empty(), !tells_json) << seen.stdout_text;
    EXPECT_THAT(seen.stderr_text, HasSubstr("foreign.jsonl:1: "));
    EXPECT_EQ(std::count(seen.stderr_text.begin(), seen.stderr_text.end(), '\n'), 1) << seen.stderr_text;
  }
  std::ofstream(folder / "hosts") << "foreign\nabsent\n";
  const auto hosts = cufault({"merge", "--hosts", folder / "hosts", foreign});
  EXPECT_EQ(hosts.exit_code, 2);
  EXPECT_THAT(hosts.stdout_text, AllOf(HasSubstr("foreign"), HasSubstr("absent")))
      << "of a fleet it names who left no record";
}

TEST_F(end_to_end, refuses_a_folder_without_a_record) {
  const fs::path empty = folder / "empty";
  fs::create_directories(empty);
  for (const std::vector<std::string>& words : {std::vector<std::string>{"claims", empty},
                                                {"claims", "--json", empty},
                                                {"causes", "INTERNAL_ERROR", empty},
                                                {"atlas", empty},
                                                {"frameworks", empty},
                                                {"compare-injected", empty},
                                                {"history", "add", folder / "history.db", empty},
                                                {"merge", empty},
                                                {"merge", "--json", empty}}) {
    const auto seen = cufault(words);
    EXPECT_EQ(seen.exit_code, 2) << words[0];
    const bool json = words[1] == "--json";
    EXPECT_EQ(
        seen.stdout_text,
        json
            ? R"({"schema":1,"exit_code":2,"reasons":[{"arms":[],"exit_code":2,"why":"no record was found; `cufault run` makes them"}]})"
              "\n"
            : "")
        << words[0];
    EXPECT_EQ(seen.stderr_text, "cufault: no record was found; `cufault run` makes them\n") << words[0];
  }
  EXPECT_FALSE(fs::exists(folder / "history.db"));
  run({"road.create"});
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"claims", empty, folder / "records"},
        {"history", "add", folder / "history.db", empty, folder / "records"}})
    EXPECT_EQ(cufault(words).exit_code, 0) << "one of the folders has some";
}

TEST_F(end_to_end, says_of_a_folder_why_it_cannot_be_read) {
  const fs::path closed = folder / "closed";
  fs::create_directories(closed);
  fs::permissions(closed, fs::perms::none);
  if (std::error_code none; fs::directory_iterator(closed, none) != fs::directory_iterator() || !none) {
    fs::permissions(closed, fs::perms::owner_all);
    GTEST_SKIP() << "this user reads every folder";
  }
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"claims", closed}, {"cost", closed}, {"causes", "INTERNAL_ERROR", closed}}) {
    expect_refused(cufault(words), closed.string() + ": cannot be read: Permission denied\n");
  }
  fs::permissions(closed, fs::perms::owner_all);
}

TEST_F(end_to_end, shows_all_that_is_recorded_of_an_arm) {
  run({"road.create"}, {{"ROAD_FAULT", "14"}});
  const fs::path of = files(".jsonl").at(0);
  const auto shown = cufault({"show", of, "road.create/fault", "--json"});
  EXPECT_EQ(shown.exit_code, 0) << shown.stderr_text;
  const std::string line = shown.stdout_text;
  ASSERT_EQ(std::count(line.begin(), line.end(), '\n'), 1) << line;
  EXPECT_THAT(line, StartsWith(R"({"case":"road.create","arm":"fault",)"));
  EXPECT_THAT(line, HasSubstr(R"("trials":[{)"));
  EXPECT_THAT(cufault({"show", of, "road.create/fault"}).stdout_text, Not(HasSubstr("control")));
  EXPECT_THAT(cufault({"show", of, "road.create/no_such"}).stderr_text,
              HasSubstr("has no arm road.create/no_such"));
  EXPECT_THAT(cufault({"show", of, "road.no_such"}).stderr_text, HasSubstr("has no case road.no_such"));
  EXPECT_EQ(cufault({"show", of, "--json", "--markdown"}).exit_code, 2);

  add(of, {"road.create/fault", "road.create/control"});
  const fs::path stack = recorded_stack();
  const auto filed =
      nlohmann::json::parse(cufault({"show", stack, "road.create/fault", "--json"}).stdout_text);
  auto calls = nlohmann::json::parse(line).at("trials").at(0).at("calls");
  for (auto& call : calls) call.erase("ms");  // kept of long calls only
  EXPECT_EQ(filed.at("case"), "road.create");
  EXPECT_EQ(filed.at("trials").at(0).at("calls"), calls);
}

TEST_F(end_to_end, shows_no_history_that_there_is_not) {
  run({"road.create"});
  const fs::path history = folder / "history.db";
  EXPECT_EQ(cufault({"history", "add", history, files(".jsonl").at(0)}).exit_code, 0);
  EXPECT_EQ(cufault({"history", "show", history, "no/such"}).exit_code, 2);
  EXPECT_EQ(cufault({"history", "show", folder / "none.db"}).exit_code, 2);
  EXPECT_FALSE(fs::exists(folder / "none.db"));
  EXPECT_EQ(cufault({"history"}).exit_code, 2);
}

TEST_F(end_to_end, shows_no_history_that_has_no_run) {
  const std::string history = folder / "history.db";
  ASSERT_EQ(run({"road.on_a_gpu"}).exit_code, 77);
  ASSERT_EQ(cufault({"history", "add", history, files(".jsonl").at(0)}).exit_code, 0);
  expect_refused(cufault({"history", "show", history}),
                 history + " has no run: `cufault history add " + history + " RECORD` adds them\n");
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
  EXPECT_THAT(seen.stdout_text, HasSubstr("host_b (1 of 2) CHANGED: "));
  EXPECT_EQ(cufault({"merge", recorded[0]}).exit_code, 0);
}

TEST_F(end_to_end, compares_nothing_with_nothing_as_bad_input) {
  run({"road.on_a_gpu"});
  const std::string only = files(".jsonl").at(0);
  EXPECT_EQ(cufault({"diff", only, only}).exit_code, 2);
}

#ifdef CUFAULT_PROGRAM  // with all cases in it
std::string said_with_all_cases(std::vector<std::string> words) {
  spawn_options options;
  options.keep_output = 4u << 20;
  options.argv = std::move(words);
  options.argv.insert(options.argv.begin(), CUFAULT_PROGRAM);
  return run_process(options, {}).stdout_text;
}

TEST_F(end_to_end, names_only_claims_and_field_failures_of_the_ledgers) {
  const auto listed = nlohmann::json::parse(said_with_all_cases({"list", "--json"}));
  const std::string ledger = said_with_all_cases({"claims", "--json", SMALL_RECORDS});
  int tested = 0, shown = 0;
  for (const auto& c : listed["cases"]) {
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
  std::set<std::string> shown;
  const auto listed = nlohmann::json::parse(said_with_all_cases({"list", "--json"}));
  for (const auto& c : listed["cases"])
    for (const auto& f : c["failures"]) shown.insert(f["id"].get<std::string>());
  const auto failures = load_failures(CUFAULT_FAILURES_FILE);
  ASSERT_FALSE(failures.empty());
  for (const field_failure& f : failures) {
    const bool said = !f.untestable.empty() || !f.awaits.empty();
    EXPECT_NE(shown.contains(f.id), said)
        << f.id << " needs a case, or `untestable` or `awaits`, and not both";
  }
}
#endif

TEST_F(end_to_end, counts_executed_cases_from_the_preflight_to_the_floor) {
  EXPECT_EQ(floor().exit_code, 2) << "no preflight has run";
  EXPECT_EQ(preflight().exit_code, 77);
  EXPECT_EQ(floor().exit_code, 1) << "nothing ran";
  preflight();
  run({"road.create"});
  EXPECT_EQ(floor({"--at-least", "2"}).exit_code, 1);
  EXPECT_EQ(floor({"--at-least", "0"}).exit_code, 2) << "no floor is no gate";
  preflight();
  run({"road.create"});
  EXPECT_EQ(floor().exit_code, 0);
  EXPECT_EQ(preflight({{"CUFAULT_REQUIRE_GPU", "1"}}).exit_code, 1);
}

}  // namespace
}  // namespace cufault
