// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/expectation.hpp"

#include "reports/base/files.hpp"
#include "reports/model/stack_folder.hpp"
#include "reports/model/tests/examples.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cufault {
namespace {

using namespace examples;
namespace fs = std::filesystem;

conditions when(std::string_view json) {
  return conditions::parse(cursor(json));
}

bool cublas_holds(std::string_view comparisons, const std::string& version) {
  return when(fmt::format(R"({{"cublas": "{}"}})", comparisons)).hold({{"cublas", version}});
}

TEST(conditions, that_are_empty_always_hold) {
  EXPECT_TRUE(when("{}").hold({}));
  EXPECT_EQ(when("{}").specificity(), 0);
  EXPECT_EQ(when("{}").text(), "any stack");
}

TEST(conditions, compare_versions_number_by_number) {
  EXPECT_TRUE(cublas_holds(">=13.1 <13.2", "13.1.0"));
  EXPECT_TRUE(cublas_holds(">=13.1 <13.2", "13.1.9.70"));
  EXPECT_FALSE(cublas_holds(">=13.1 <13.2", "13.2.0"));
  EXPECT_FALSE(cublas_holds(">=13.1 <13.2", "13.0.2"));
  EXPECT_TRUE(cublas_holds("<13.10", "13.9"));
  EXPECT_TRUE(cublas_holds(">9", "12.0"));
}

TEST(conditions, know_each_comparison_on_both_sides_of_its_edge) {
  EXPECT_TRUE(cublas_holds("=13.1", "13.1"));
  EXPECT_FALSE(cublas_holds("=13.1", "13.1.1"));
  EXPECT_TRUE(cublas_holds(">13.1", "13.1.1"));
  EXPECT_FALSE(cublas_holds(">13.1", "13.1"));
  EXPECT_TRUE(cublas_holds("<=13.1", "13.1"));
  EXPECT_FALSE(cublas_holds("<=13.1", "13.1.1"));
  EXPECT_TRUE(cublas_holds("<13.1", "13.0.9"));
  EXPECT_FALSE(cublas_holds("<13.1", "13.1"));
  EXPECT_TRUE(cublas_holds(">=13.1", "13.1"));
  EXPECT_FALSE(cublas_holds(">=13.1", "13.0.9"));
}

TEST(conditions, count_missing_parts_as_nought) {
  EXPECT_TRUE(cublas_holds("13.1", "13.1.0.0"));
  EXPECT_TRUE(cublas_holds("13.1.0", "13.1"));
  EXPECT_TRUE(cublas_holds(">=13.0", "13"));
}

TEST(conditions, compare_other_text_for_equality) {
  const auto lazy = when(R"({"module_loading": "LAZY"})");
  EXPECT_TRUE(lazy.hold({{"module_loading", "LAZY"}}));
  EXPECT_FALSE(lazy.hold({{"module_loading", "EAGER"}}));
  EXPECT_FALSE(cublas_holds(">=13", "unknown"));
}

TEST(conditions, on_what_is_unknown_do_not_hold) {
  EXPECT_FALSE(when(R"({"compute_capability": "9.0"})").hold({{"cublas", "13.1"}}));
  EXPECT_FALSE(
      when(R"({"cublas": "13.1", "driver": ">=580"})").hold({{"cublas", "13.1"}, {"driver", "570.1"}}));
}

TEST(conditions, are_as_specific_as_their_bounds) {
  EXPECT_EQ(when(R"({"cublas": ">=13"})").specificity(), 1);
  EXPECT_EQ(when(R"({"cublas": ">=13 <14"})").specificity(), 2);
  EXPECT_EQ(when(R"({"compute_capability": "9.0"})").specificity(), 2);
  EXPECT_EQ(when(R"({"cublas": ">=13 <14", "compute_capability": "=9.0"})").specificity(), 4);
}

TEST(conditions, hold_where_one_alternative_holds) {
  EXPECT_TRUE(cublas_holds("12.0.1 || >=13.1 <13.2", "12.0.1"));
  EXPECT_TRUE(cublas_holds("12.0.1 || >=13.1 <13.2", "13.1.9"));
  EXPECT_FALSE(cublas_holds("12.0.1 || >=13.1 <13.2", "12.0.2"));
  EXPECT_FALSE(cublas_holds("12.0.1 || >=13.1 <13.2", "13.2"));
  EXPECT_TRUE(cublas_holds("1 || 2 || 3", "3"));
  const auto loading = when(R"({"module_loading": "LAZY || EAGER", "cublas": "13"})");
  EXPECT_TRUE(loading.hold({{"module_loading", "EAGER"}, {"cublas", "13.0"}}));
  EXPECT_FALSE(loading.hold({{"module_loading", "DEFAULT"}, {"cublas", "13.0"}}));
  EXPECT_FALSE(loading.hold({{"module_loading", "EAGER"}, {"cublas", "12.0"}}));
  EXPECT_FALSE(loading.hold({{"cublas", "13.0"}}));
  EXPECT_TRUE(loading.may_hold({{"cublas", "13.0"}}));
  EXPECT_FALSE(loading.may_hold({{"cublas", "12.0"}}));
}

TEST(conditions, with_alternatives_are_as_specific_as_the_widest) {
  EXPECT_EQ(when(R"({"cublas": "12.0.1 || 13.1"})").specificity(), 2);
  EXPECT_EQ(when(R"({"cublas": "12.0.1 || >=13"})").specificity(), 1);
  EXPECT_EQ(when(R"({"cublas": ">=12 <13 || >=13.1 <13.2"})").specificity(), 2);
  EXPECT_EQ(when(R"({"cublas": "12.0.1 || >=13", "compute_capability": "9.0"})").specificity(), 3);
  EXPECT_EQ(when(R"({"cublas": "12.0.1 || >=13"})").text(), "cublas 12.0.1 || >=13");
}

TEST(conditions, read_as_text) {
  const auto c = when(R"({"compute_capability": "9.0", "cublas": ">=13 <14"})");
  EXPECT_EQ(c.text(), "compute_capability 9.0, cublas >=13 <14");
}

TEST(conditions, that_are_malformed_are_refused) {
  for (const auto* bad :
       {"", " ", ">=", ">= 13", ">=LAZY", "13.x <", "==13", "=>13", ">=13 <", ">13.", "<.1", "12 ||", "|| 12",
        " || 12", "12 || ", "12 ||  || 13", "12||13", "12 | 13", ">= || 13"})
    EXPECT_EQ(
        refusal([&] { when(fmt::format(R"({{"cublas": "{}"}})", bad)); }),
        R"(x.json:1: cublas: expected comparisons joined by spaces, such as ">=13.1 <13.2" or "9.0", and alternatives by " || ")")
        << bad;
  EXPECT_EQ(
      refusal([] { when("{\n\"colour\": \"red\"}"); }),
      "x.json:2: colour: unknown condition; known are cublas, cublaslt, driver, runtime, compute_capability, "
      "module_loading, other_cublas, pytorch, jax, cupy");
  EXPECT_EQ(refusal([] { when("{\"cublas\": 13}"); }), "x.json:1: cublas: expected a string, found a number");
}

/// A file of one expectation, with the given members beside case and arm.
std::string file_with(std::string_view shared, std::string_view own) {
  return fmt::format("{{\"case\": \"memory.leak\", {}}}\n{{\"arms\": [\"fault\"], {}}}\n", shared, own);
}

std::string expectations_refusal(std::string_view text) {
  return refusal([&] { return expectations_from("x.jsonl", text); });
}

TEST(expectations, are_read_with_their_place) {
  const auto all = expectations_from(
      "x.jsonl", file_with(R"("when": {"cublas": ">=13"}, "stacks": ["h200-580", "h100-580"])",
                           R"("digest": "cublasCreate: X #1")") +
                     R"({"arms": ["control", "other"], "digest": "d #2"})"
                     "\n"
                     R"({"case": "memory.pool", "when": {}, "stacks": ["s"]})"
                     "\n"
                     R"({"arms": ["fault"], "digest": "d #3"})");
  ASSERT_EQ(all.size(), 4U);
  const auto& e = all[0];
  EXPECT_EQ(e.case_name, "memory.leak");
  EXPECT_EQ(e.arm, "fault");
  EXPECT_EQ(e.stacks, (std::vector<std::string>{"h200-580", "h100-580"}));
  EXPECT_EQ(e.digest, "cublasCreate: X #1");
  EXPECT_EQ(e.source, "x.jsonl:2");
  EXPECT_EQ(e.when.by_key.at("cublas"), ">=13");
  EXPECT_FALSE(e.flaky);
  EXPECT_TRUE(e.seen.empty()) << "it points to a record, which nobody read yet";
  EXPECT_EQ(all[1].case_name, "memory.leak");
  EXPECT_EQ(all[1].arm, "control");
  EXPECT_EQ(all[1].stacks, e.stacks);
  EXPECT_EQ(all[2].arm, "other");
  EXPECT_EQ(all[2].digest, "d #2");
  EXPECT_EQ(all[2].source, all[1].source);
  EXPECT_EQ(all[3].case_name, "memory.pool");
  EXPECT_EQ(all[3].stacks, std::vector<std::string>{"s"});
  EXPECT_TRUE(all[3].when.by_key.empty());
}

TEST(expectations, that_are_malformed_are_refused_by_line_and_field) {
  constexpr auto shared = R"("when": {}, "stacks": ["s"])", own = R"("digest": "d")";
  EXPECT_EQ(expectations_refusal(file_with(shared, own)), "(nothing was refused)");
  EXPECT_EQ(expectations_refusal(file_with(R"("when": {}, "stacks": [])", own)),
            "x.jsonl:1: stacks: must not be empty: an expectation points to what was seen");
  EXPECT_EQ(expectations_refusal(file_with(R"("when": {}, "stacks": [""])", own)),
            "x.jsonl:1: stacks[0]: must not be empty");
  EXPECT_EQ(expectations_refusal(file_with(R"("when": {}, "stacks": "s")", own)),
            "x.jsonl:1: stacks: expected an array, found a string");
  EXPECT_EQ(expectations_refusal(file_with(R"("when": {})", own)),
            "x.jsonl:1: top level: \"stacks\" is missing");
  EXPECT_EQ(expectations_refusal(file_with(R"("stacks": ["s"])", own)),
            "x.jsonl:1: top level: \"when\" is missing");
  EXPECT_EQ(expectations_refusal(file_with(R"("when": {}, "stacks": ["s"], "note": 1)", own)),
            "x.jsonl:1: note: unknown key");
  EXPECT_EQ(expectations_refusal(file_with(shared, R"("rates": [1], "reason": "r")")),
            "x.jsonl:2: top level: \"digest\" is missing");
  EXPECT_EQ(expectations_refusal(file_with(shared, R"("digest": "")")),
            "x.jsonl:2: digest: must not be empty");
  EXPECT_EQ(expectations_refusal(file_with(shared, R"("digest": "d", "signatures": [])")),
            "x.jsonl:2: signatures: unknown key");
  const auto line_of = [&](const char* arms) {
    return expectations_refusal(file_with(shared, own) + "{\"digest\": \"d\"" + arms + "}");
  };
  EXPECT_EQ(line_of(R"(, "arms": 3)"), "x.jsonl:3: arms: expected an array, found a number");
  EXPECT_EQ(line_of(R"(, "arms": [3])"), "x.jsonl:3: arms[0]: expected a string, found a number");
  EXPECT_EQ(line_of(R"(, "arms": ["a", ""])"), "x.jsonl:3: arms[1]: must not be empty");
  EXPECT_EQ(line_of(R"(, "arms": [])"), "x.jsonl:3: arms: must not be empty");
  EXPECT_EQ(line_of(""), "x.jsonl:3: top level: \"arms\" is missing");
  EXPECT_EQ(line_of(R"(, "arm": "a")"),
            "x.jsonl:3: arm: is a list, arms; if an older cufault wrote this, bless it again");
  EXPECT_EQ(expectations_refusal("{\"case\": \"\"}"), "x.jsonl:1: case: must not be empty");
  EXPECT_EQ(expectations_refusal("{\"arms\": [\"a\"], \"digest\": \"d\"}"),
            "x.jsonl:1: top level: arms stand in front of the line of their case: "
            "{\"case\": ..., \"when\": ..., \"stacks\": ...}");
}

TEST(expectations, of_the_schema_before_get_one_clear_line) {
  EXPECT_EQ(
      expectations_refusal(
          R"({"case": "memory.leak", "arm": "fault", "when": {}, "stacks": ["s"], "digest": "d"})"),
      "x.jsonl:1: arm: stands in a line of its own, behind that of its case; if an older cufault wrote this, "
      "bless it again");
}

TEST(expectations, that_share_more_than_fits_into_memory_are_refused) {
  std::string text =
      R"({"case": "memory.leak", "when": {}, "stacks": [")" + std::string(1 << 20, 's') + "\"]}\n";
  for (int i = 0; i < 1000; ++i) text += "{\"arms\": [\"a\"], \"digest\": \"d\"}\n";
  EXPECT_EQ(expectations_refusal(text), "x.jsonl:257: top level: arms share more than fits into memory");
}

TEST(expectations, state_once_what_arms_of_a_case_share) {
  const auto of = [](const char* arm, const char* conditions) {
    return expectation{
        .case_name = "memory.leak", .arm = arm, .when = when(conditions), .stacks = {"s"}, .digest = "d #1"};
  };
  expectation other = of("aa", "{}"), races = of("ab", "{}");
  other.digest = "d #2";
  races.flaky = stated_rate{.rates = {0.5, 0.5}, .reason = "a race"};
  const std::string text =
      expectations_text({of("b", "{}"), of("c", R"({"cublas": "13"})"), other, races, of("a", "{}")});
  EXPECT_EQ(text, R"({"case":"memory.leak","when":{},"stacks":["s"]})"
                  "\n"
                  R"({"arms":["a","b"],"digest":"d #1"})"
                  "\n"
                  R"({"arms":["aa"],"digest":"d #2"})"
                  "\n"
                  R"({"arms":["ab"],"rates":[0.5,0.5],"reason":"a race","digest":"d #1"})"
                  "\n"
                  R"({"case":"memory.leak","when":{"cublas":"13"},"stacks":["s"]})"
                  "\n"
                  R"({"arms":["c"],"digest":"d #1"})"
                  "\n");
  EXPECT_EQ(expectations_text(expectations_from("x.jsonl", text)), text);
}

std::string with_rates(std::string_view rates) {
  return file_with(R"("when": {}, "stacks": ["s"])", fmt::format("\"digest\": \"d\", {}", rates));
}

TEST(expectations, may_state_rates_with_a_reason) {
  const auto e =
      expectations_from("x.jsonl", with_rates(R"("rates": [0.25, 0.75], "reason": "a race")")).at(0);
  ASSERT_TRUE(e.flaky);
  EXPECT_EQ(e.flaky->rates, (std::vector<double>{0.25, 0.75}));
  EXPECT_EQ(e.flaky->reason, "a race");
}

TEST(expectations, with_malformed_rates_are_refused) {
  EXPECT_EQ(expectations_refusal(with_rates(R"("rates": [0.5, 0.6], "reason": "a race")")),
            "x.jsonl:2: rates: add up to 1.1, not to 1");
  EXPECT_EQ(expectations_refusal(with_rates(R"("rates": [], "reason": "a race")")),
            "x.jsonl:2: rates: add up to 0, not to 1");
  EXPECT_EQ(expectations_refusal(with_rates(R"("rates": [-0.5, 1.5], "reason": "a race")")),
            "x.jsonl:2: rates[0]: a rate is from 0 to 1");
  EXPECT_EQ(expectations_refusal(with_rates(R"("rates": ["nan", 1], "reason": "a race")")),
            "x.jsonl:2: rates[0]: expected a number, found a string");
  EXPECT_EQ(expectations_refusal(with_rates(R"("rates": [0.5, 0.5])")),
            "x.jsonl:2: top level: \"reason\" is missing");
  EXPECT_EQ(expectations_refusal(with_rates(R"("rates": [0.5, 0.5], "reason": "")")),
            "x.jsonl:2: reason: must not be empty");
  EXPECT_EQ(expectations_refusal(with_rates(R"("reason": "a race")")),
            "x.jsonl:2: reason: belongs to rates, and there are none");
}

expectation with_conditions(std::string_view json, std::string source) {
  auto e = expects({trial({no_memory})}, "fault");
  e.when = when(json);
  e.source = std::move(source);
  return e;
}

TEST(expectation_set, finds_the_most_specific_that_holds) {
  expectation_set set;
  set.put(with_conditions("{}", "a:1"));
  set.put(with_conditions(R"({"cublas": ">=13 <14"})", "a:2"));
  set.put(with_conditions(R"({"cublas": ">=12 <13", "compute_capability": "9.0"})", "a:3"));
  const auto found = [&](const stack_keys& stack) { return set.find("memory.leak", "fault", stack)->source; };
  EXPECT_EQ(found({{"cublas", "13.1"}, {"compute_capability", "9.0"}}), "a:2");
  EXPECT_EQ(found({{"cublas", "12.9"}, {"compute_capability", "9.0"}}), "a:3");
  EXPECT_EQ(found({{"cublas", "12.9"}, {"compute_capability", "8.0"}}), "a:1");
  EXPECT_EQ(found({}), "a:1");
  set.put(with_conditions(R"({"cublas": "12.9 || >=14"})", "a:4"));
  EXPECT_EQ(found({{"cublas", "12.9"}, {"compute_capability", "8.0"}}), "a:4");
  EXPECT_EQ(found({{"cublas", "12.9"}, {"compute_capability", "9.0"}}), "a:3");
}

TEST(expectation_set, finds_nothing_for_another_arm_case_or_stack) {
  expectation_set set;
  set.put(with_conditions(R"({"cublas": "13.1"})", "a:1"));
  EXPECT_EQ(set.find("memory.leak", "control", {{"cublas", "13.1"}}), nullptr);
  EXPECT_EQ(set.find("memory.other", "fault", {{"cublas", "13.1"}}), nullptr);
  EXPECT_EQ(set.find("memory.leak", "fault", {{"cublas", "13.2"}}), nullptr);
  EXPECT_NE(set.find("memory.leak", "fault", {{"cublas", "13.1"}}), nullptr);
}

TEST(expectation_set, refuses_a_tie_naming_both_places) {
  expectation_set set;
  set.put(with_conditions(R"({"cublas": ">=13"})", "a:1"));
  set.put(with_conditions(R"({"driver": ">=580"})", "a:9"));
  const stack_keys both{{"cublas", "13.1"}, {"driver", "580.1"}};
  EXPECT_EQ(refusal([&] { return set.find("memory.leak", "fault", both); }),
            "a:9: memory.leak/fault: no more specific than a:1, and both hold on this stack");
  EXPECT_EQ(set.find("memory.leak", "fault", {{"cublas", "13.1"}})->source, "a:1");
  set.put(with_conditions(R"({"cublas": "13.1 || >=13 <14"})", "a:20"));
  EXPECT_EQ(set.find("memory.leak", "fault", both)->source, "a:20");  // a tie below the best is none
}

TEST(expectation_set, replaces_the_same_arm_and_conditions_only) {
  expectation_set set;
  set.put(with_conditions(R"({"cublas": "13.1"})", "old"));
  set.put(with_conditions(R"({"cublas": "13.2"})", "other"));
  set.put(with_conditions(R"({"cublas": "13.1"})", "new"));
  ASSERT_EQ(set.all().size(), 2U);
  EXPECT_EQ(set.find("memory.leak", "fault", {{"cublas", "13.1"}})->source, "new");
}

TEST(expectation_set, replaces_equal_conditions_however_often) {
  expectation_set set;
  for (const auto* conditions : {R"({"cublas": "12 || 13"})", R"({"cublas": "13 || 12"})"})
    for (int i = 0; i < 2; ++i) set.put(with_conditions(conditions, ""));
  EXPECT_EQ(set.all().size(), 2U);
}

TEST(expectation_set, knows_what_could_hold_on_a_stack_of_which_less_is_known) {
  expectation_set set;
  set.put(with_conditions(R"({"compute_capability": "9.0", "cublas": "13.1"})", "a:1"));
  EXPECT_TRUE(set.may_cover("memory.leak", "fault", {{"cublas", "13.1"}}));
  EXPECT_TRUE(set.may_cover("memory.leak", "fault", {}));
  EXPECT_FALSE(set.may_cover("memory.leak", "fault", {{"cublas", "13.2"}}));
  EXPECT_FALSE(set.may_cover("memory.leak", "other", {}));
}

class expectation_files : public in_directory {
 protected:
  [[nodiscard]] expectation_set load() const {
    return expectation_set::load(directory / "expectations", directory / "recorded");
  }
  /// Files the arm memory.leak/fault with these trials in the folder of a stack with this cuBLAS, and returns its name.
  std::string file_arm(const std::vector<observation>& trials, const std::string& cublas = "13.1.0",
                       const std::string& races = {}) const {
    record r;
    r.commit = "abc";
    r.started = "2026-11-21T07:27:40Z";
    r.stack = {{"gpu", {{"name", "NVIDIA H200"}}}, {"keys", {{"cublas", cublas}}}};
    auto a = arm(arm_kind::fault, trials, "fault");
    a.races = races;
    r.cases = {{.name = "memory.leak", .arms = {a}}};
    return file_in_stack(directory / "recorded", record_from("run.jsonl", record_text(r))).filename();
  }
  [[nodiscard]] static expectation pointing_to(std::vector<std::string> stacks,
                                               const std::vector<observation>& trials,
                                               std::string_view conditions = "{}") {
    return {.case_name = "memory.leak",
            .arm = "fault",
            .when = when(conditions),
            .stacks = std::move(stacks),
            .digest = digest_of(arm(arm_kind::fault, trials, "fault"))};
  }
  fs::path write_line(const expectation& e) const {
    fs::create_directories(directory / "expectations");
    return write("expectations/memory.jsonl", expectations_text({e}));
  }
  /// Why the one expectation that was written cannot be resolved.
  [[nodiscard]] std::string expectation_refusal() const {
    const auto set = load();
    return refusal([&] { return set.find("memory.leak", "fault", {{"cublas", "13.1.0"}}); });
  }
};

TEST_F(expectation_files, in_a_missing_directory_are_an_empty_set) {
  EXPECT_TRUE(expectation_set::load(directory / "none", directory).all().empty());
}

TEST_F(expectation_files, that_are_a_file_themselves_are_refused) {
  const auto file = write("expectations", "");
  EXPECT_EQ(refusal([&] { return load(); }), file.string() + ": cannot be read: Not a directory");
}

TEST_F(expectation_files, of_the_old_schema_get_one_clear_line) {
  fs::create_directories(directory / "expectations");
  const auto file = write("expectations/memory.leak.json", "{}");
  EXPECT_EQ(refusal([&] { return load(); }),
            file.string() + ":1: made by an older cufault: schema 1, and this one reads 4; bless it again");
}

TEST_F(expectation_files, come_back_as_they_were_put) {
  const std::vector<observation> plain{at_level(1, trial({no_memory}, {success})),
                                       at_level(2, crash({success}))};
  const std::vector<observation> racing{trial({success}), trial({no_memory}), trial({no_memory})};
  const auto stack = file_arm(plain), race_stack = file_arm(racing, "12.0.1", "a race");
  auto race = pointing_to({race_stack}, {}, R"({"cublas": "12.0.1 || 12.4"})");
  auto racing_arm = arm(arm_kind::fault, racing);
  racing_arm.races = "a race";
  race.digest = digest_of(racing_arm);
  race.flaky = stated_rate{{2.0 / 3, 1.0 / 3}, "a race"};
  expectation_set set;
  set.put(pointing_to({stack}, plain, R"({"cublas": ">=13 <14"})"));
  set.put(race);
  set.save(directory / "expectations");

  const auto again = load();
  ASSERT_EQ(again.all().size(), 2U);
  const auto* const first = again.find("memory.leak", "fault", {{"cublas", "13.1.0"}});
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->source, (directory / "expectations" / "memory.jsonl").string() + ":4");
  EXPECT_EQ(first->stacks, std::vector<std::string>{stack});
  EXPECT_EQ(first->seen, plateaus_of(plain));
  EXPECT_EQ(first->trials.size(), 2U);
  EXPECT_FALSE(first->flaky);
  const auto* const second = again.find("memory.leak", "fault", {{"cublas", "12.0.1"}});
  ASSERT_NE(second, nullptr);
  ASSERT_TRUE(second->flaky);
  EXPECT_EQ(second->flaky->rates, race.flaky->rates);
  EXPECT_EQ(second->flaky->reason, "a race");
  EXPECT_EQ(second->when.by_key, race.when.by_key);
  EXPECT_EQ(second->seen.size(), 2U);
}

TEST_F(expectation_files, may_point_to_several_stacks) {
  const std::vector<observation> trials{trial({no_memory})};
  const std::vector<std::string> both{file_arm(trials), file_arm(trials, "12.0.1")};
  write_line(pointing_to(both, trials, R"({"cublas": "12.0.1 || 13.1"})"));
  const auto set = load();
  const auto* const e = set.find("memory.leak", "fault", {{"cublas", "13.1.0"}});
  ASSERT_NE(e, nullptr);
  EXPECT_EQ(e->seen.size(), 1U);
  EXPECT_EQ(e->trials.size(), 2U) << "one of each stack";
}

TEST_F(expectation_files, of_an_arm_that_races_pool_the_trials_of_their_stacks) {
  const std::vector<observation> always{trial({no_memory}), trial({no_memory})};
  const std::vector<observation> sometimes{trial({success}), trial({no_memory})};
  const std::vector<std::string> both{file_arm(sometimes, "12.0.1", "a race"),
                                      file_arm(always, "13.1.0", "a race")};
  auto pooled = arm(arm_kind::fault, sometimes, "fault");
  pooled.races = "a race";
  pool(pooled, arm(arm_kind::fault, always, "fault"));
  auto e = pointing_to(both, {}, R"({"cublas": "12.0.1 || 13.1"})");
  e.digest = digest_of(pooled);
  e.flaky = stated_rate{{0.75, 0.25}, "a race"};
  const auto file = write_line(e);
  const auto set = load();
  const auto* const found = set.find("memory.leak", "fault", {{"cublas", "13.1.0"}});
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->seen.size(), 2U) << "the second stack never showed one of them";
  EXPECT_EQ(found->trials.size(), 4U);

  file_arm(always, "12.0.1", "a race");
  const auto said = expectation_refusal();
  EXPECT_TRUE(said.starts_with(file.string() + ":2: digest: memory.leak/fault in " +
                               (directory / "recorded" / both[0]).string() + ", "))
      << said;
}

TEST_F(expectation_files, of_an_arm_that_was_recorded_before_it_was_known_to_race_pool_them_too) {
  const std::vector<observation> once{trial({no_memory})};
  const std::vector<observation> sometimes{trial({success}), trial({no_memory})};
  const std::vector<std::string> both{file_arm(once, "12.0.1"), file_arm(sometimes, "13.1.0", "a race")};
  auto pooled = arm(arm_kind::fault, once, "fault");
  auto racing = arm(arm_kind::fault, sometimes, "fault");
  racing.races = "a race";
  racing.rate_depends_on_load = true;
  auto the_other_way_round = racing;
  pool(the_other_way_round, pooled);
  pool(pooled, racing);
  for (const arm_result& each : {pooled, the_other_way_round}) {
    EXPECT_EQ(each.races, "a race");
    EXPECT_TRUE(each.rate_depends_on_load);
  }
  auto e = pointing_to(both, {}, R"({"cublas": "12.0.1 || 13.1"})");
  e.digest = digest_of(pooled);
  e.flaky = stated_rate{{2.0 / 3, 1.0 / 3}, "a race"};
  write_line(e);
  const auto set = load();
  const auto* const found = set.find("memory.leak", "fault", {{"cublas", "12.0.1"}});
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->trials.size(), 3U);

  file_arm({trial({success})}, "12.0.1");
  EXPECT_THAT(expectation_refusal(), testing::HasSubstr("digest: memory.leak/fault in"))
      << "the older record is other than it was";
}

TEST_F(expectation_files, that_were_put_are_resolved_each_by_itself) {
  const std::vector<observation> new_trials{trial({no_memory})}, old_trials{trial({internal})};
  auto set = load();
  set.save(directory / "expectations");
  const auto newer = file_arm(new_trials), older = file_arm(old_trials, "12.0.1");
  fs::create_directories(directory / "expectations");
  auto empty = expectation_set::load(directory / "expectations", directory / "recorded");
  empty.put(pointing_to({newer}, new_trials, R"({"cublas": "13.1"})"));
  empty.put(pointing_to({older}, old_trials, R"({"cublas": "12.0.1"})"));
  EXPECT_EQ(empty.find("memory.leak", "fault", {{"cublas", "13.1"}})->seen, plateaus_of(new_trials));
  EXPECT_EQ(empty.find("memory.leak", "fault", {{"cublas", "12.0.1"}})->seen, plateaus_of(old_trials));
  // What is filed and put again replaces what was read before.
  file_arm(old_trials);
  empty.put(pointing_to({newer}, old_trials, R"({"cublas": "13.1"})"));
  EXPECT_EQ(empty.find("memory.leak", "fault", {{"cublas", "13.1"}})->seen, plateaus_of(old_trials));
}

TEST_F(expectation_files, that_point_to_a_stack_that_is_gone_are_refused) {
  const auto file = write_line(pointing_to({"h200-gone"}, {trial({no_memory})}));
  EXPECT_EQ(expectation_refusal(), file.string() +
                                       ":2: stacks: " + (directory / "recorded" / "h200-gone").string() +
                                       " is gone; restore it, or bless memory.leak/fault again");
}

TEST_F(expectation_files, that_point_to_an_arm_that_is_gone_are_refused) {
  const auto stack = file_arm({trial({no_memory})});
  const auto file = write_line(pointing_to({stack}, {trial({no_memory})}));
  ASSERT_EQ(expectation_refusal(), "(nothing was refused)");
  write("recorded/" + stack + "/memory.jsonl", "");
  EXPECT_EQ(expectation_refusal(), file.string() +
                                       ":2: stacks: " + (directory / "recorded" / stack).string() +
                                       " has no memory.leak/fault; restore it, or bless the arm again");
}

TEST_F(expectation_files, whose_record_shows_something_else_are_refused) {
  const auto stack = file_arm({trial({internal})});
  const auto file = write_line(pointing_to({stack}, {trial({no_memory})}));
  const auto said = expectation_refusal();
  EXPECT_TRUE(said.starts_with(file.string() + ":2: digest: memory.leak/fault in " +
                               (directory / "recorded" / stack).string() +
                               " shows \"cublasCreate: INTERNAL_ERROR; context usable #"))
      << said;
  EXPECT_TRUE(said.ends_with("\"; restore the record, or bless the arm again")) << said;
  file_arm({not_provoked("no GPU")});
  EXPECT_TRUE(contains(expectation_refusal(), "shows \"nothing that can be compared\"; "))
      << expectation_refusal();
}

TEST_F(expectation_files, that_do_not_hold_on_the_stack_that_shows_them_are_refused) {
  const auto stack = file_arm({trial({no_memory})}, "12.0.1");
  const auto file = write_line(pointing_to({stack}, {trial({no_memory})}, R"({"cublas": "13.1"})"));
  EXPECT_EQ(expectation_refusal(), file.string() + ":2: when: does not hold on " + stack + " itself");
}

TEST_F(expectation_files, with_rates_for_other_signatures_are_refused) {
  auto e = pointing_to({file_arm({trial({no_memory})})}, {trial({no_memory})});
  e.flaky = stated_rate{{0.5, 0.5}, "a race"};
  const auto file = write_line(e);
  EXPECT_EQ(expectation_refusal(), file.string() + ":2: rates: 2 for 1 signatures");
}

TEST_F(expectation_files, with_a_place_twice_are_refused) {
  const auto line = expectations_text({pointing_to({"s"}, {trial({success})})});
  fs::create_directories(directory / "expectations");
  const auto file = write("expectations/memory.jsonl", line + line);
  EXPECT_EQ(refusal([&] { return load(); }),
            file.string() + ":4: arm: same arm and conditions as " + file.string() + ":2");
}

TEST_F(expectation_files, that_are_equally_specific_are_refused_when_both_hold) {
  const auto stack = file_arm({trial({no_memory})});
  const auto line = [&](std::string_view conditions) {
    return expectations_text({pointing_to({stack}, {trial({no_memory})}, conditions)});
  };
  fs::create_directories(directory / "expectations");
  const auto file = write("expectations/memory.jsonl",
                          line(R"({"cublas": "13.1"})") + line(R"({"cublas": "12.4 || 13.1.0"})"));
  EXPECT_EQ(expectation_refusal(), file.string() + ":4: memory.leak/fault: no more specific than " +
                                       file.string() + ":2, and both hold on this stack");
}

TEST_F(expectation_files, of_families_that_nobody_touched_are_not_written) {
  fs::create_directories(directory / "expectations");
  write("expectations/memory.jsonl", "");
  write("expectations/notes.md", "not JSON");
  auto set = load();
  auto other = with_conditions("{}", "");
  other.case_name = "sticky.trap";
  set.put(other);
  fs::remove(directory / "expectations" / "memory.jsonl");
  set.save(directory / "expectations");
  EXPECT_FALSE(fs::exists(directory / "expectations" / "memory.jsonl"));
  EXPECT_TRUE(fs::exists(directory / "expectations" / "sticky.jsonl"));
}

TEST_F(expectation_files, are_sorted_and_whole_however_they_were_put) {
  expectation_set set;
  for (const auto* name : {"memory.b", "memory.a"})
    for (const auto* cublas : {"13.1", "12.0"}) {
      auto e = with_conditions(fmt::format(R"({{"cublas": "{}"}})", cublas), "");
      e.case_name = name;
      set.put(e);
    }
  set.save(directory / "new" / "expectations");
  std::string order;
  const auto again = expectation_set::load(directory / "new" / "expectations", directory);
  for (const auto& e : again.all()) order += e.case_name + " " + e.when.text() + "; ";
  EXPECT_EQ(order,
            "memory.a cublas 12.0; memory.a cublas 13.1; memory.b cublas 12.0; memory.b cublas 13.1; ");
  EXPECT_EQ(files_in(directory / "new" / "expectations"), 1U);
}

TEST_F(expectation_files, of_another_family_are_refused) {
  fs::create_directories(directory / "expectations");
  const auto line = expectations_text({pointing_to({"s"}, {trial({success})})});
  const auto file = write("expectations/sticky.jsonl", line);
  EXPECT_EQ(refusal([&] { return load(); }),
            file.string() + ":2: case: \"memory.leak\" in the file of the family sticky");
}

}  // namespace
}  // namespace cufault
