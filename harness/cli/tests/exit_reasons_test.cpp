// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Each way in which a gate does not exit with 0 has a reason, as text and as JSON.
#include "harness/cli/tests/end_to_end.hpp"

#include <nlohmann/json.hpp>

namespace cufault {
namespace {

using testing::HasSubstr;

struct way {
  std::string why;  ///< a part of it
  int exit_code = 0;
  std::vector<std::string> words{};
  std::map<std::string, std::string> environment{};
};

class exit_reasons_of : public end_to_end {
 protected:
  template <class Command>
  void expect_reasons(const std::vector<way>& ways, const Command& command) {
    for (const way& w : ways) {
      const auto text = command(w.words, w.environment);
      EXPECT_EQ(text.exit_code, w.exit_code) << w.why << text.stdout_text << text.stderr_text;
      EXPECT_THAT(text.stdout_text + text.stderr_text, HasSubstr(w.why));
      auto words = w.words;
      words.emplace_back("--json");
      const auto json = command(words, w.environment);
      EXPECT_EQ(json.exit_code, w.exit_code) << w.why;
      const auto said = nlohmann::json::parse(json.stdout_text, nullptr, false);
      ASSERT_TRUE(said.is_object()) << w.why << json.stdout_text;
      EXPECT_EQ(said["exit_code"], w.exit_code) << w.why;
      ASSERT_FALSE(said["reasons"].empty()) << w.why;
      EXPECT_EQ(said["reasons"][0]["exit_code"], w.exit_code);
      EXPECT_THAT(said["reasons"].dump(), HasSubstr(w.why));
    }
  }
};

TEST_F(exit_reasons_of, a_run_are_told) {
  const auto gate = [&](std::vector<std::string> words,
                        const std::map<std::string, std::string>& environment) {
    words.insert(words.end(), {"--mode", "gate"});
    return run(words, environment);
  };
  expect_reasons({{"no record of this stack: ", 3, {"road.create"}}}, gate);
  add_what_is_seen();
  EXPECT_THAT(gate({"road.create"}, {}).stdout_text, HasSubstr("\ngate: passed\n"));
  const auto observed = run({"road.create"}, {{"ROAD_FAULT", "14"}});
  EXPECT_EQ(observed.exit_code, 0) << "no gate";
  EXPECT_THAT(observed.stdout_text, HasSubstr("2 CHANGED"));
  expect_reasons({{"2 arms CHANGED", 1, {"road.create"}, {{"ROAD_FAULT", "14"}}},
                  {"2 arms GONE", 1, {"road.create"}, {{"ROAD_FAULT", "0"}}},
                  {"arms WORSENED", 1, {"road.create"}, {{"ROAD_FAULT", "crash"}}},
                  {"arms WORSENED", 1, {"road.create"}, {{"ROAD_FAULT", "hang"}}},
                  {"2 arms WORSENED", 1, {"road.create"}, {{"ROAD_FAULT", "exit"}}},
                  {"1 arm WORSENED", 1, {"road.create"}, {{"ROAD_REMEDY", "crash"}}},
                  {"1 arm REMEDY_BROKEN", 1, {"road.create"}, {{"ROAD_REMEDY", "3"}}},
                  {"1 arm GONE", 1, {"road.create"}, {{"ROAD_DEAD_END", "0"}}},
                  {"4 arms UNRESOLVED", 2, {"road.create"}, {{"ROAD_CONTROL", "14"}}},
                  {"nothing could be provoked here: no GPU: ", 77, {"road.on_a_gpu"}},
                  {"nothing to run in the full tier", 77, {"sweep.road"}},
                  {"part 9 of 9 has none", 77, {"road.create", "--part", "9", "9"}},
                  {"no case, family or CASE/ARM is called road.nowhere", 2, {"road.nowhere"}},
                  {"is no usable Python 3: cannot start /nonexistent: No such file or directory; ",
                   2,
                   {"road.create", "--python", "/nonexistent"}},
                  {"--baseline: ", 2, {"road.create", "--baseline", "/nonexistent"}},
                  {"no temporary folder can be made", 2, {"road.create"}, {{"TMPDIR", "/nonexistent"}}},
                  {"CUFAULT_REQUIRE_GPU is set and there is no GPU: ",
                   1,
                   {"road.create"},
                   {{"CUFAULT_REQUIRE_GPU", "1"}}}},
                 gate);
}

TEST_F(exit_reasons_of, a_comparison_are_told) {
  ASSERT_EQ(run({"road.create"}).exit_code, 0);
  const std::string good = files(".jsonl").at(0);
  const auto with = [&](const std::string& name, auto change) {
    record r = load_record(good);
    change(r);
    write(folder / (name + ".jsonl"), r);
    return (folder / (name + ".jsonl")).string();
  };
  const std::string cut_off = with("cut_off", [](record&r) { r.complete = false; }),
                    other = with("other", [](record&r) { r.cases[0].name = "road.other"; }),
                    fewer = with("fewer", [](record&r) { r.cases[0].arms.pop_back(); }),
                    broken = with("broken", [](record&r) {
                      for (arm_result& a : r.cases[0].arms)
                        if (a.kind == arm_kind::control) a.trials[0].ended = outcome::harness_failed;
                    });
  const std::string text = record_text(load_record(good));
  fs::create_directories(folder / "mixed");
  fs::copy_file(good, folder / "mixed" / "good.jsonl");
  const std::string truncated = folder / "mixed" / "truncated.jsonl", foreign = folder / "foreign.jsonl";
  std::ofstream(truncated) << text.substr(0, text.rfind("{\"ended\""));
  std::ofstream(foreign) << "<html>\n";
  const auto from = [](const std::string& baseline, const std::string& candidate) {
    return std::vector<std::string>{"gate", "--baseline", baseline, "--candidate", candidate};
  };
  auto below = from(good, good);
  below.insert(below.end(), {"--at-least", "2"});
  expect_reasons(
      {{"the run of --baseline " + truncated + " did not come to its end", 2, from(truncated, good)},
       {"the run of --baseline " + truncated + " did not", 2, from(folder / "mixed", good)},
       {"the run of --candidate " + cut_off + " did not come to its end", 2, from(good, cut_off)},
       {"no arm was observed in both", 2, from(good, other)},
       {"4 arms are unresolved", 2, from(good, broken)},
       {"foreign.jsonl:1: ", 2, from(good, foreign)},
       {"1 change that no allowance covers", 1, from(good, fewer)},
       {"1 case executed, and the floor is 2", 1, below}},
      [&](const std::vector<std::string>& words, const auto& environment) {
        return cufault(words, environment);
      });
  std::ofstream(truncated) << "<html>\n";
  expect_reasons({{"not every file could be read", 2, from(good, folder / "mixed")}},
                 [&](const std::vector<std::string>& words, const auto& environment) {
                   return cufault(words, environment);
                 });
  EXPECT_EQ(cufault(from(good, good)).exit_code, 0);
}

}  // namespace
}  // namespace cufault
