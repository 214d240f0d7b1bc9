// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// How arms of two releases differ: reports/answers/tests/release_changes.txt.
#include "reports/history/changes.hpp"

#include "reports/judge/judge.hpp"
#include "reports/matrix/tests/matrix_example.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <utility>
#include <vector>

namespace cufault {
namespace {

using namespace examples;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

constexpr const char *lost = "CUBLAS_STATUS_EXECUTION_FAILED", *refused = "CUBLAS_STATUS_INVALID_VALUE";

/// What a release shows: CASE/ARM, and its trials.
struct shown_arm {
  std::string name;
  std::vector<observation> trials;
};
using shown_arms = std::vector<shown_arm>;

/// "12.0.1–13.1.0 → 13.5.1–13.10.0"
std::string releases_of(const release_change& c) {
  return c.since + (c.since == c.after ? "" : "–" + c.after) + " → " + c.at_latest +
         (c.at_latest == c.until ? "" : "–" + c.until);
}

record showing(const shown_arms& arms) {
  record r = matrix_record({});
  for (const auto& [name, trials] : arms) {
    const auto slash = name.find('/');
    case_in(r.cases, name.substr(0, slash)).arms.push_back(cell_arm(name.substr(slash + 1), trials));
  }
  return r;
}

release_changes changes_between(const std::vector<std::pair<std::string, shown_arms>>& releases) {
  change_finder finder;
  for (const auto& [version, arms] : releases) finder.add(version, showing(arms));
  return finder.found();
}
observation one_call(std::string_view status) {
  return made({call("cublasSgemm", status)});
}

TEST(changes_of_releases, lie_between_the_releases_that_were_measured) {
  const shown_arm before{"memory.leak/fault", {one_call(lost)}},
      now{"memory.leak/fault", {one_call(internal)}}, other{"memory.leak/other", {one_call(right)}};
  const auto all =
      changes_between({{"12.0.1", {before}},
                       {"13.1.0", {before, other}},
                       {"13.2.0", {other}},  // it did not observe the arm: that is not "the same"
                       {"13.5.1", {now, other}},
                       {"13.10.0", {now, other}}});
  ASSERT_THAT(all.changes, SizeIs(1));
  const release_change& c = all.changes[0];
  EXPECT_EQ(c.after, "13.1.0");
  EXPECT_EQ(c.at_latest, "13.5.1");
  EXPECT_EQ(releases_of(c), "12.0.1–13.1.0 → 13.5.1–13.10.0");
  EXPECT_EQ(c.from, "EXECUTION_FAILED");
  EXPECT_EQ(c.to, "INTERNAL_ERROR");
  EXPECT_EQ(c.how, harm::other);
  EXPECT_THAT(c.calls, ElementsAre(std::pair("cublasSgemm", 1)));
  EXPECT_THAT(c.arms, ElementsAre("memory.leak/fault"));
  EXPECT_EQ(all.steady, 1);
  EXPECT_EQ(all.releases[2].observed, 1);
  EXPECT_EQ(all.releases[3].compared, 2);
  EXPECT_EQ(all.releases[3].changed, 1);
  EXPECT_EQ(all.releases[3].next_compared, 1) << "13.2.0 observed the other arm alone";
  EXPECT_EQ(all.releases[3].next_changed, 0);
  EXPECT_EQ(all.releases[4].next_compared, 2);
}

TEST(changes_of_releases, are_those_since_the_release_that_one_follows) {
  const auto arm = [](const char* status) { return shown_arms{{"memory.leak/fault", {one_call(status)}}}; };
  change_finder finder({0, 0, 0, 2});  // a patch of the first that came last, and two that follow the first
  finder.add("12.9.2", showing(arm(lost)));
  finder.add("12.9.3", showing(arm(internal)));
  finder.add("13.0.0", showing(arm(lost)));
  finder.add("13.1.0", showing(arm(lost)));
  const auto all = finder.found();
  ASSERT_THAT(all.changes, SizeIs(1));
  EXPECT_EQ(releases_of(all.changes[0]), "12.9.2 → 12.9.3");
  EXPECT_EQ(all.steady, 0) << "it changed in one branch";
  EXPECT_EQ(all.releases[2].changed, 0);
  EXPECT_EQ(all.releases[2].next_compared, 1);
  EXPECT_THAT(
      changes_between({{"12.9.2", arm(lost)}, {"12.9.3", arm(internal)}, {"13.0.0", arm(lost)}}).changes,
      SizeIs(2))
      << "in the order of numbers";
}

TEST(changes_of_releases, are_none_of_a_release_that_follows_none_of_the_others) {
  const auto arm = [](const char* status) { return shown_arms{{"memory.leak/fault", {one_call(status)}}}; };
  change_finder finder({SIZE_MAX, SIZE_MAX, 1});
  finder.add("12.9.3", showing(arm(internal)));
  finder.add("13.0.0", showing(arm(lost)));
  finder.add("13.1.0", showing(arm(internal)));
  const auto all = finder.found();
  ASSERT_THAT(all.changes, SizeIs(1));
  EXPECT_EQ(releases_of(all.changes[0]), "13.0.0 → 13.1.0");
  EXPECT_EQ(all.releases[1].compared, 0);
}

TEST(changes_of_releases, end_where_the_same_calls_change_again) {
  const auto trial_of = [](std::string_view first, std::string_view second) {
    return shown_arms{
        {"arguments.lt/all",
         {made({step_call("cublasLtMatmul", "a", first), step_call("cublasLtMatmul", "b", second)})}}};
  };
  const auto all = changes_between({{"12.4.5", trial_of(success, success)},
                                    {"12.8.4", trial_of(refused, success)},
                                    {"13.1.0", trial_of(refused, lost)},
                                    {"13.5.1", trial_of(internal, lost)}});
  std::vector<std::string> ranges;
  for (const release_change& c : all.changes) ranges.push_back(c.to + ": " + releases_of(c));
  EXPECT_THAT(ranges, UnorderedElementsAre("INVALID_VALUE: 12.4.5 → 12.8.4–13.1.0",
                                           "EXECUTION_FAILED: 12.4.5–12.8.4 → 13.1.0–13.5.1",
                                           "INTERNAL_ERROR: 12.8.4–13.1.0 → 13.5.1"));
}

TEST(groups_of_changes, that_are_small_stay_apart_where_one_changes_again) {
  const auto with = [](std::string_view a, std::string_view b) {
    return shown_arms{{"sticky.device_fault/a", {one_call(a)}}, {"handles.after_fork/b", {one_call(b)}}};
  };
  const auto all = changes_between({{"13.1.0", with(lost, lost)},
                                    {"13.5.1", with(internal, internal)},
                                    {"13.10.0", with(internal, lost)}});
  std::vector<std::string> found;
  for (const release_change& c : all.changes) found.push_back(c.of + " " + releases_of(c));
  EXPECT_THAT(found, UnorderedElementsAre("sticky 13.1.0 → 13.5.1–13.10.0", "handles 13.1.0 → 13.5.1",
                                          "handles 13.5.1 → 13.10.0"));
}

TEST(arms_that_prove_nothing, are_left_out) {
  const auto all_with = [](auto change) {
    change_finder finder;
    for (const char* version : {"13.1.0", "13.5.1"}) {
      record r =
          showing({{"memory.leak/fault", {one_call(*version == '1' && version[3] == '1' ? lost : right)}}});
      change(r.cases[0]);
      finder.add(version, std::move(r));
    }
    return finder.found().changes;
  };
  EXPECT_THAT(all_with([](case_result&) {}), SizeIs(1));
  EXPECT_THAT(all_with([](case_result& c) { c.arms[0].second_cublas = true; }), IsEmpty());
  EXPECT_THAT(all_with([](case_result& c) { c.name = "sweep.cublas_create"; }), IsEmpty());
  EXPECT_THAT(
      all_with([](case_result& c) { c.arms.push_back(arm(arm_kind::control, {one_call(lost)}, "control")); }),
      IsEmpty());
}

TEST(words_of_the_driver, are_those_of_trials_that_heard_it) {
  const auto found = [](const char* log) {
    change_finder finder;
    for (const auto& [version, status] : {std::pair{"13.1.0", lost}, std::pair{"13.5.1", internal}}) {
      auto failed = call("cublasSgemm", status);
      failed.driver = {{.function = "cuLaunchKernel", .code = "LAUNCH_FAILED"}};
      record r = showing({{"memory.leak/fault", {made({failed})}}});
      if (status == std::string_view(internal)) r.cases[0].arms[0].runs[0].driver_log = log;
      finder.add(version, std::move(r));
    }
    return finder.found().changes.at(0);
  };
  EXPECT_EQ(found(driver_log_heard).driver_since, "cuLaunchKernel: LAUNCH_FAILED");
  EXPECT_EQ(found(driver_log_heard).driver_before, "");
  EXPECT_EQ(found("off").driver_since, "");
}

TEST(words_of_the_driver, are_none_that_lie_in_arms_where_nothing_failed) {
  const driver_message harmless{.function = "cuCtxGetDevice_v2", .code = "INVALID_CONTEXT"},
      reason{.function = "cuStreamSynchronize", .code = "ILLEGAL_ADDRESS"};
  const auto found = [&](const std::vector<driver_message>& other) {
    change_finder finder;
    for (const auto& [version, status] : {std::pair{"2.11.0", success}, std::pair{"2.14.1", internal}}) {
      auto failing = call("torch.bmm", status), working = call("torch.mm", success);
      failing.driver = {harmless, reason};
      working.driver = other;
      record r =
          showing({{"pytorch.numbers/bmm", {made({failing})}}, {"pytorch.numbers/mm", {made({working})}}});
      for (arm_result& arm : r.cases[0].arms) arm.runs[0].driver_log = driver_log_heard;
      finder.add(version, std::move(r));
    }
    return finder.found().changes.at(0).driver_since;
  };
  EXPECT_EQ(found({harmless}), "cuStreamSynchronize: ILLEGAL_ADDRESS");
  EXPECT_EQ(found({}), "cuCtxGetDevice_v2: INVALID_CONTEXT");
  EXPECT_EQ(found({harmless, reason}), "");
}

// ---- releases ----

record stack_of(const std::string& cublas, const char* gpu = "NVIDIA H200") {
  record r = matrix_record({}, cublas.c_str(), gpu);
  (*r.stack)["keys"]["cublaslt"] = cublas;
  return r;
}

TEST(releases, are_stacks_whose_pair_is_of_one_version_and_that_have_no_framework) {
  EXPECT_EQ(release_of(stack_of("13.1.0"))->version, "13.1.0");
  record mixed = stack_of("13.1.0"), framework = stack_of("13.1.0"), unknown = stack_of("");
  (*mixed.stack)["keys"]["cublaslt"] = "13.5.1";
  (*framework.stack)["keys"]["pytorch"] = "2.11.0";
  EXPECT_FALSE(release_of(mixed));
  EXPECT_FALSE(release_of(framework));
  EXPECT_FALSE(release_of(unknown));
}

TEST(releases, of_a_framework_are_stacks_that_have_it_and_no_second_cublas) {
  record torch = stack_of("13.1.0");
  (*torch.stack)["keys"]["pytorch"] = "2.11.0+cu130";
  EXPECT_EQ(release_of(torch, "pytorch")->version, "2.11.0");
  EXPECT_FALSE(release_of(torch, "jax"));
  (*torch.stack)["keys"]["cublaslt"] = "13.5.1";
  EXPECT_TRUE(release_of(torch, "pytorch")) << "another pair is what the framework brings";
  (*torch.stack)["keys"]["other_cublas"] = "13.7.0";
  EXPECT_FALSE(release_of(torch, "pytorch"));
}

TEST(releases, are_columns_in_the_order_of_versions_on_the_gpu_of_most) {
  std::vector<std::optional<release_of_stack>> stacks;
  for (const auto& [version, gpu] : {std::pair{"13.10.0", "NVIDIA H200"}, std::pair{"13.5.1", "NVIDIA H200"},
                                     std::pair{"13.1.0", "NVIDIA H100"}, std::pair{"13.5.1", "NVIDIA H200"}})
    stacks.push_back(release_of(stack_of(version, gpu)));
  stacks.emplace_back();
  const auto columns = columns_of(stacks);
  EXPECT_EQ(columns.gpu, "NVIDIA H200");
  ASSERT_THAT(columns.releases, SizeIs(2));
  EXPECT_EQ(columns.releases[0].first, "13.5.1");
  EXPECT_THAT(columns.releases[0].second, ElementsAre(1, 3));
  EXPECT_EQ(columns.releases[1].first, "13.10.0");
  EXPECT_THAT(columns_of(stacks, "H100").releases, SizeIs(1));
  EXPECT_THAT(columns_of(stacks, "B200").releases, IsEmpty());
}

// ---- facts of files ----

class files_of_releases_file : public in_directory {};

TEST_F(files_of_releases_file, is_read_as_ranges_of_releases) {
  const auto file = directory / "cublas-releases.jsonl";
  std::ofstream(file) << R"({"release":"13.10.0.20","library":"cublas","rpath":"$ORIGIN"})" << '\n'
                      << R"({"release":"13.1.0.3","library":"cublas","runpath":"$ORIGIN","build_id":"a"})"
                      << '\n'
                      << R"({"release":"13.5.1.27","library":"cublas","runpath":"$ORIGIN","build_id":"b"})"
                      << '\n';
  const auto histories = file_histories(files_of_releases(file));
  const auto path = std::ranges::find(histories, "cublas: search path", &file_history::name);
  ASSERT_NE(path, histories.end());
  ASSERT_THAT(path->ranges, SizeIs(2));
  EXPECT_EQ(path->ranges[0].first, "13.1.0.3");
  EXPECT_EQ(path->ranges[0].last, "13.5.1.27");
  EXPECT_EQ(path->ranges[0].words, "DT_RUNPATH $ORIGIN");
  EXPECT_EQ(path->ranges[1].words, "DT_RPATH $ORIGIN");
  for (const file_history& h : histories) EXPECT_FALSE(h.name.ends_with("build id"));
  std::ofstream(file) << "{\"library\":\"cublas\"}\n";
  EXPECT_THAT(refusal([&] { return files_of_releases(file); }), HasSubstr("cublas-releases.jsonl:1"));
}

}  // namespace
}  // namespace cufault
