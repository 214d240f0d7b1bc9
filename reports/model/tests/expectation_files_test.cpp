// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/expectation.hpp"
#include "reports/model/record.hpp"
#include "reports/model/stack_folder.hpp"
#include "reports/model/tests/expectation_examples.hpp"

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
  // What is put replaces what was resolved before: this one's record shows something else.
  empty.put(pointing_to({older}, new_trials, R"({"cublas": "12.0.1"})"));
  EXPECT_THROW(static_cast<void>(empty.find("memory.leak", "fault", {{"cublas", "12.0.1"}})), input_error);
  EXPECT_EQ(empty.find("memory.leak", "fault", {{"cublas", "13.1"}})->seen, plateaus_of(new_trials));
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
                               " shows \"cublasCreate: INTERNAL_ERROR #"))
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
