// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/doctor/known_issues.hpp"

#include "harness/system/temporary_folder.hpp"
#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cufault/known_issues.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

namespace cufault {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// ---- what is committed ----

TEST(known_issues_file, says_what_the_committed_records_show) {
  EXPECT_EQ(measured_again(KNOWN_ISSUES, CUFAULT_RECORDED), read_text(KNOWN_ISSUES))
      << "run ci/pages: it writes the measured versions again";
}

TEST(known_issues_file, never_mixes_what_is_measured_with_what_is_said) {
  const known_issues_list known = load_known_issues(KNOWN_ISSUES);
  EXPECT_GE(known.issues.size(), 25U);
  std::size_t measured = 0;
  for (const known_entry& e : known.issues) {
    const bool seen = std::any_of(e.measured.begin(), e.measured.end(),
                                  [](const auto& of) { return !of.second.affected.empty(); });
    EXPECT_EQ(seen, e.sort == "measured") << e.id << ": an arm shows it if and only if it is called measured";
    measured += seen ? 1 : 0;
    EXPECT_THAT(e.what, testing::EndsWith(".")) << e.id;
  }
  EXPECT_GE(measured, 15U);
}

/// What records show of the step of an arm: statuses other than SUCCESS and than those of a fault of the device or the process.
std::set<std::string> refusals_of(const known_evidence& e) {
  std::set<std::string> statuses;
  const auto slash = e.arm.find('/');
  const std::string head =
      fmt::format(R"({{"case":"{}","arm":"{}",)", e.arm.substr(0, slash), e.arm.substr(slash + 1));
  for (const auto& stack : fs::directory_iterator(CUFAULT_RECORDED)) {
    std::ifstream in(stack.path() / (e.arm.substr(0, e.arm.find('.')) + ".jsonl"));
    for (std::string line; std::getline(in, line);) {
      if (!line.starts_with(head)) continue;
      const auto json = nlohmann::json::parse(line);
      for (const auto& trial : json["trials"])
        for (const auto& call : trial["calls"])
          if (const std::string variant = call.value("variant", ""), status = call.value("status", "");
              call["api"].get<std::string>() + (variant.empty() ? "" : " " + variant) == e.call &&
              status.starts_with("CUBLAS_STATUS_") && status != "CUBLAS_STATUS_SUCCESS")
            statuses.insert(status);
    }
  }
  return statuses;
}

TEST(known_issues_file, calls_refused_what_the_record_of_another_release_refuses) {
  std::size_t refused = 0;
  for (const known_entry& e : load_known_issues(KNOWN_ISSUES).issues)
    for (const known_evidence& one : e.evidence)
      if (e.reach == "refused_call") {
        EXPECT_THAT(refusals_of(one), testing::Not(IsEmpty())) << e.id << ": " << one.call;
        ++refused;
      } else if (e.id == "lt-relu-drops-nan") {
        EXPECT_THAT(refusals_of(one), IsEmpty());
      }
  EXPECT_GE(refused, 7U);
}

TEST(known_issues_file, is_the_table_of_the_header) {
  const known_issues_list known = load_known_issues(KNOWN_ISSUES);
  ASSERT_EQ(known.issues.size(), known_issues_table.size());
  for (std::size_t i = 0; i < known.issues.size(); ++i) {
    const known_issue a = known.issues[i].row(), b = known_issues_table[i];
    const auto all = [](const known_issue& k) {
      return std::vector<std::string_view>{k.id,           k.sort,   k.library,      k.harm,      k.what,
                                           k.reach,        k.calls,  k.workarounds,  k.addresses, k.affected,
                                           k.not_affected, k.ranges, k.architectures};
    };
    EXPECT_EQ(all(a), all(b));
  }
}

// ---- made up ----

constexpr const char* right = R"("status":"CUBLAS_STATUS_SUCCESS","numbers":"right")";
constexpr const char* wrong = R"("status":"CUBLAS_STATUS_SUCCESS","numbers":"wrong")";

/// A list of one issue, and stacks with one arm.
class made_issues : public testing::Test {
 protected:
  void write(const std::string& members) const {
    write_whole(file, fmt::format(R"({{"schema":1,"gpus":{{"H200":"9.0","RTX 5090":"12.0"}},"issues":[{}]}})",
                                  members));
  }
  void write_measured(const std::string& workarounds = "", const std::string& measured = "{}") const {
    write(fmt::format(
        R"({{"id":"one","sort":"measured","library":"cublas","harm":"wrong_numbers","what":"It is wrong.","reach":"any","calls":["cublasSgemm"],
            "status":"CUBLAS_STATUS_NOT_SUPPORTED",{}"evidence":[{{"arm":"numbers.made/fault","call":"cublasSgemm small","shows":"CUBLAS_STATUS_SUCCESS, numbers wrong"}}],
            "measured":{}}})",
        workarounds, measured));
  }
  /// `call`: members of the step; `more`: of the arm.
  void stack(const std::string& version, const std::string& call, const std::string& arm = "fault",
             const std::string& more = "", const std::string& ended = R"("context":"usable")") const {
    const fs::path folder = recorded / ("h200-1-cublas-" + version);
    fs::create_directories(folder);
    write_whole(
        folder / "stack.json",
        fmt::format(
            R"({{"schema":5,"stack":{{"keys":{{"compute_capability":"9.0","cublas":"{0}","cublaslt":"{0}"}}}},
                              "runs":[{{"commit":"c","started":"2026-11-21T07:27:40Z","seed":1}}]}})",
            version));
    std::string lines = fs::exists(folder / "numbers.jsonl") ? read_text(folder / "numbers.jsonl") : "";
    lines += fmt::format(
        R"({{"case":"numbers.made","arm":"{}","expected":true,"saw":"x","run":0,"kind":"{}",{}"trials":[{{{},"calls":[{{"api":"cublasSgemm","variant":"small"{}}}]}}]}})",
        arm, arm == "fault" ? "fault" : "remedy", more, ended, call.empty() ? "" : "," + call);
    write_whole(folder / "numbers.jsonl", lines + "\n");
  }
  [[nodiscard]] std::string measured() const { return measured_again(file, recorded); }
  void expect_refusal(const std::string& part) const {
    try {
      (void)measured();
      FAIL() << "was taken; expected: " << part;
    } catch (const input_error& error) {
      EXPECT_THAT(error.what(), HasSubstr(part));
    }
  }
  [[nodiscard]] known_issues_list list() const { return load_known_issues(file); }

  temporary_folder made{"cufault-known-"};
  fs::path file = made.path() / "known.json", recorded = made.path() / "recorded";
};

TEST_F(made_issues, are_affected_where_an_arm_shows_it_and_not_where_it_shows_another_outcome) {
  write_measured();
  stack("13.1.0", wrong);
  stack("13.10.0", right);
  stack("12.8.4", R"("status":"CUBLAS_STATUS_NOT_SUPPORTED")");
  EXPECT_THAT(measured(),
              HasSubstr(R"("measured": {"9.0":{"affected":["13.1.0"],"not_affected":["12.8.4","13.10.0"]}})"))
      << "versions are in the order of numbers";
}

TEST_F(made_issues, say_nothing_of_a_stack_that_did_not_make_the_call) {
  write_measured();
  stack("13.1.0", wrong);
  stack("13.2.0", right, "other");
  stack("13.3.0", right, "fault", "", R"("ended":"not_provoked","why":"no memory","context":"unchecked")");
  EXPECT_THAT(measured(), HasSubstr(R"({"9.0":{"affected":["13.1.0"],"not_affected":[]}})"));
}

TEST_F(made_issues, are_looked_at_by_an_arm_that_stands_in_the_place_of_another) {
  for (const bool stands_in : {true, false}) {
    fs::remove_all(recorded);
    write(fmt::format(
        R"({{"id":"one","sort":"measured","library":"cublas","harm":"wrong_numbers","what":"It is wrong.","reach":"any","calls":["cublasSgemm"],
            "evidence":[{{"arm":"numbers.made/fault","call":"cublasSgemm small","shows":"CUBLAS_STATUS_SUCCESS, numbers wrong"}},
                        {{"arm":"numbers.made/other","call":"cublasSgemm small","shows":"CUBLAS_STATUS_SUCCESS, numbers wrong"{}}}],
            "measured":{{}}}})",
        stands_in ? R"(,"in_place_of":"numbers.made/fault")" : ""));
    stack("13.1.0", wrong);
    stack("13.2.0", right, "other");
    EXPECT_THAT(measured(), HasSubstr(stands_in ? R"("affected":["13.1.0"],"not_affected":["13.2.0"])"
                                                : R"("affected":["13.1.0"],"not_affected":[])"));
  }
  write(
      R"({"id":"one","sort":"measured","library":"cublas","harm":"wrong_numbers","what":"It is wrong.","reach":"any","calls":["cublasSgemm"],
            "evidence":[{"arm":"numbers.made/fault","call":"cublasSgemm","shows":"x","in_place_of":"numbers.made/none"}],"measured":{}})");
  expect_refusal("no evidence before it has this arm");
}

TEST_F(made_issues, take_a_crash_for_no_hang) {
  write(
      R"({"id":"one","sort":"measured","library":"cublas","harm":"crash","what":"It ends.","reach":"any","calls":["cublasSgemm"],
           "evidence":[{"arm":"numbers.made/fault","call":"cublasSgemm small","shows":"never returned; crashed"}],"measured":{}})");
  stack("13.1.0", "", "fault", "", R"("ended":"crashed","why":"SIGSEGV","signal":11,"context":"unchecked")");
  stack("13.2.0", "", "fault", "", R"("ended":"timed_out","context":"unchecked")");
  EXPECT_THAT(measured(), HasSubstr(R"({"9.0":{"affected":["13.1.0"],"not_affected":["13.2.0"]}})"));
}

TEST_F(made_issues, are_refused_without_a_record_with_an_arm_that_races_or_with_a_workaround_that_failed) {
  write_measured();
  fs::create_directories(recorded);
  expect_refusal("no record has numbers.made/fault");
  stack("13.1.0", wrong, "fault", R"("races":"two threads",)");
  expect_refusal("one: numbers.made/fault races");
  fs::remove_all(recorded);
  write_measured(R"("workarounds":[{"text":"Do not.","arm":"numbers.made/remedy"}],)");
  stack("13.1.0", wrong);
  expect_refusal("no record has numbers.made/remedy");
  stack("13.1.0", wrong, "remedy");
  expect_refusal("the workaround numbers.made/remedy failed on h200-1-cublas-13.1.0");
  fs::remove_all(recorded);
  stack("13.1.0", wrong);
  stack("13.1.0", right, "remedy");
  EXPECT_THAT(measured(), HasSubstr(R"("affected":["13.1.0"])"));
}

TEST_F(made_issues, say_why_they_concern_a_version) {
  write_measured("", R"({"9.0":{"affected":["12.8.4","13.1.0"],"not_affected":["13.10.0"]}})");
  const known_issues_list known = list();
  const auto because = [&](const char* version, const char* architecture) {
    const auto found = issues_of(known, version, architecture);
    return found.empty() ? std::string() : to_string(found[0].level) + ": " + found[0].because;
  };
  EXPECT_EQ(because("13.1.0.3", "9.0"), "measured: measured with 13.1.0 on 9.0");
  EXPECT_EQ(
      because("13.5.1", "9.0"),
      "not_measured: not measured: 13.5.1 lies between 13.1.0 (affected) and 13.10.0 (not affected) on 9.0");
  EXPECT_EQ(because("12.0.1", "9.0"),
            "not_measured: not measured: 12.0.1 is older than 12.8.4 (affected) on 9.0");
  EXPECT_EQ(because("13.1.0", "12.0"), "not_measured: not measured on 12.0: 13.1.0 (affected) on 9.0");
  EXPECT_EQ(because("13.10.0", "9.0"), "");
  EXPECT_EQ(span_text(known.issues[0], "9.0"),
            "first in 12.8.4 or earlier; mended after 13.1.0, at the latest in 13.10.0");
  EXPECT_TRUE(any_measured(known, "13.10.0", "9.0"));
  EXPECT_FALSE(any_measured(known, "13.5.1", "9.0"));
}

TEST_F(made_issues, are_told_of_a_failure_whose_call_and_status_they_have) {
  write_measured("", R"({"9.0":{"affected":["13.1.0"],"not_affected":["13.10.0"]}})");
  const known_issues_list known = list();
  const std::string status = "CUBLAS_STATUS_NOT_SUPPORTED";
  EXPECT_THAT(issues_of_failure(known, "cublasSgemm", status, "13.1.0", "9.0"),
              ElementsAre("one: It is wrong. (measured with 13.1.0 on 9.0)"));
  EXPECT_THAT(issues_of_failure(known, "cublasSgemm", status, "", ""),
              ElementsAre("one: It is wrong. (measured with cuBLAS 13.1.0)"));
  EXPECT_THAT(issues_of_failure(known, "cublasSgemm", status, "13.10.0", "9.0"), IsEmpty());
  EXPECT_THAT(issues_of_failure(known, "cublasSgemm", status, "13.5.1", "9.0"), IsEmpty()) << "not measured";
  EXPECT_THAT(issues_of_failure(known, "cublasDgemm", status, "13.1.0", "9.0"), IsEmpty());
  EXPECT_THAT(issues_of_failure(known, "cublasSgemm", "CUBLAS_STATUS_INTERNAL_ERROR", "13.1.0", "9.0"),
              IsEmpty());
  EXPECT_THAT(issues_of_failure(known, "", "", "13.1.0", "9.0"), IsEmpty());
}

TEST_F(made_issues, know_gpus_by_name_and_by_compute_capability) {
  write_measured();
  const known_issues_list known = list();
  EXPECT_EQ(architecture_of(known, "NVIDIA H200"), "9.0");
  EXPECT_EQ(architecture_of(known, "h200"), "9.0");
  EXPECT_EQ(architecture_of(known, "NVIDIA GeForce RTX 5090"), "12.0");
  EXPECT_EQ(architecture_of(known, "8.6"), "8.6");
  for (const char* unknown : {"", "H2000", "XH200", "9", "sm_90", "."})
    EXPECT_EQ(architecture_of(known, unknown), "") << unknown;
}

TEST_F(made_issues, that_are_wrong_are_refused_with_their_line) {
  const std::string head =
      R"({"id":"one","library":"cublas","harm":"hang","what":"It hangs.","reach":"any","calls":["cublasSgemm"],)";
  const auto refused = [&](const std::string& members, const std::string& part) {
    write(members);
    try {
      (void)load_known_issues(file);
      ADD_FAILURE() << "was taken: " << members;
    } catch (const input_error& error) {
      EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("known.json:1"), HasSubstr(part)));
    }
  };
  refused(head + R"("sort":"guessed"})", "\"guessed\" is none of: measured, documented, reported");
  refused(head + R"("sort":"measured"})", "what is measured has evidence and no ranges");
  refused(head + R"("sort":"documented","addresses":["https://a.invalid"]})", "has ranges");
  refused(head + R"("sort":"documented","ranges":[{"from":"13.0.0","before":"13.1.0"}]})", "has an address");
  refused(
      head +
          R"("sort":"documented","addresses":["https://a.invalid"],"ranges":[{"from":"13","before":"13.1.0"}]})",
      "\"13\" is no version");
  refused(head + R"("sort":"measured","speed":1})", "speed");
  refused(R"({"id":"one","sort":"measured","library":"cublas","harm":"hang","what":"x","reach":"rarely"})",
          "\"rarely\" is none of: any, forced_algorithm, refused_call");
  const std::string whole =
      head +
      R"("sort":"reported","addresses":["https://a.invalid"],"ranges":[{"from":"13.0.0","before":"13.1.0"}]})";
  refused(whole + "," + whole, "it is there twice");
  write(whole);
  EXPECT_EQ(list().issues.size(), 1U);
}

}  // namespace
}  // namespace cufault
