// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/operation_calls.hpp"

#include "reports/model/record.hpp"
#include "reports/model/stack_folder.hpp"
#include "reports/model/tests/stack_files.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace cufault {
namespace {

using namespace examples;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

arm_result cell(std::string name, const std::vector<step>& steps) {
  auto a = arm(arm_kind::fault, {}, std::move(name));
  a.trials = {trial({internal})};
  call_record usual = a.trials[0].calls.at(0);
  usual.last_error = "cudaSuccess";
  a.trials[0].calls.clear();
  for (const step& s : steps) {
    a.trials[0].calls.push_back(usual);
    a.trials[0].calls.back().what = s;
  }
  return a;
}

step failed_call(const char* api, const char* variant = "") {
  return {.name = {api, variant}, .status = internal};
}

record with_cells(std::vector<arm_result> cells) {
  record r = example();
  r.cases = {{.name = "matrix.full", .arms = std::move(cells)}};
  return of_run(r);
}

const step destroyed{.name = {"cublasDestroy"}, .status = success, .ok = true};

class cells_that_share_a_line : public stack_files {};

TEST_F(cells_that_share_a_line, have_a_sign_for_the_call_that_most_cells_of_their_operation_make_first) {
  const step unprepared = failed_call("check.preparation");
  const auto folder = file(with_cells({cell("gemv.cold", {destroyed, failed_call("cublasSgemv")}),
                                       cell("gemv.cold.0", {unprepared}),
                                       cell("gemv.cold.1", {unprepared, failed_call("cublasSgemv")}),
                                       cell("gemv.warm", {failed_call("cublasSgemv"), destroyed})}));
  const auto lines = lines_of(files_of(folder).at("matrix.jsonl"));
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_EQ(lines[0], "{\"operations\":{\"gemv\":\"cublasSgemv\"}}\n");
  EXPECT_THAT(lines[2], HasSubstr(R"("calls":["cublasDestroy","@: _INTERNAL_ERROR"])"));
  EXPECT_THAT(lines[3], HasSubstr(R"("calls":["check.preparation: CUBLAS_STATUS_INTERNAL_ERROR"])"));
  EXPECT_THAT(lines[5], HasSubstr(R"("calls":["@: _INTERNAL_ERROR","cublasDestroy"])"));
}

TEST_F(cells_that_share_a_line, are_read_as_they_were_written) {
  const record written =
      with_cells({cell("sgemm_64.cold", {failed_call("cublasSgemm", "square_64"), destroyed}),
                  cell("sgemm.cold", {failed_call("cublasSgemm"), destroyed}),
                  cell("sgemm.warm", {failed_call("cublasSgemm", "square_64"), destroyed})});
  const auto folder = file(written);
  const auto lines = lines_of(files_of(folder).at("matrix.jsonl"));
  EXPECT_THAT(lines.at(2), HasSubstr(R"({"arms":{"sgemm.cold":0,"sgemm_64.cold":0},)"));
  EXPECT_THAT(lines.at(2), HasSubstr(R"(["@: _INTERNAL_ERROR","cublasDestroy"])"));
  EXPECT_THAT(lines.at(3), HasSubstr("cublasSgemm square_64: _INTERNAL_ERROR")) << "not its operation's";
  const auto again = load_record(folder).cases.at(0).arms;
  ASSERT_EQ(again.size(), 3U);
  EXPECT_EQ(describe(again[0].trials.at(0).calls.at(0).what.name), "cublasSgemm");
  EXPECT_EQ(describe(again[1].trials.at(0).calls.at(0).what.name), "cublasSgemm square_64");
  EXPECT_EQ(describe(again[2].trials.at(0).calls.at(0).what.name), "cublasSgemm square_64");
  EXPECT_EQ(again[2].runs, again[0].runs);
  const auto one =
      load_record(folder, [](std::string_view, std::string_view name) { return name == "sgemm_64.cold"; });
  ASSERT_EQ(one.cases.at(0).arms.size(), 1U);
  EXPECT_EQ(one.cases[0].arms[0].trials.at(0).calls.at(0).what, again[2].trials[0].calls[0].what);
}

TEST_F(cells_that_share_a_line, are_refused_where_copies_of_the_line_take_too_much) {
  const json_cursor line{
      parse_json("x.jsonl", R"({"arms":{"first.cold":1,"second.cold":2},"trials":[{"calls":["@"]}]})")};
  const operation_calls calls{{"first", "cublasSgemm"}, {"second", "cublasDgemm"}};
  const std::size_t needed =
      2 * (line.bytes_of_text() + std::string("@").size() + std::string("cublasSgemm").size());
  std::vector<std::string> seen;
  const auto take = [&](const json_cursor& own, const auto& taken) {
    seen.push_back(own.at("trials").items().at(0).at("calls").items().at(0).string());
    for (const char* arm : {"first.cold", "second.cold"})
      if (taken(arm)) seen.emplace_back(arm);
  };
  std::size_t room = needed;
  restore_calls(line, calls, {}, room, take);
  EXPECT_THAT(seen, ElementsAre("cublasSgemm", "first.cold", "cublasDgemm", "second.cold"));
  EXPECT_EQ(room, 0U);
  room = needed - 1;
  EXPECT_THAT(refusal([&] { restore_calls(line, calls, {}, room, take); }),
              HasSubstr("x.jsonl:1: top level: more is shared than fits into memory"));
}

TEST_F(cells_that_share_a_line, are_refused_where_the_call_is_not_stated) {
  const std::string of = "{\"case\": \"matrix.full\", \"summary\": \"s\"}\n",
                    calls = "{\"operations\": {\"sgemm\": \"cublasSgemm\"}}\n",
                    trials = R"("trials": [{"calls": ["@"]}]})";
  EXPECT_EQ(lines_refusal(calls + of + R"({"arm": "sgemm.cold", )" + trials), "(nothing was refused)");
  EXPECT_EQ(lines_refusal(of + R"({"arm": "sgemm.cold", )" + trials),
            "x.jsonl:2: top level: a step is \"@\", but the file does not state the call of sgemm; add it to "
            "the first line, "
            "{\"operations\": {...}}");
  EXPECT_THAT(lines_refusal(calls + of + R"({"arms": {"sgemm.cold": 1, "other": 2}, )" + trials),
              HasSubstr("but other is no cell of the matrix"));
  EXPECT_EQ(lines_refusal(of + calls), "x.jsonl:2: operations: must be in the first line of the file, once");
  EXPECT_EQ(lines_refusal(calls + calls),
            "x.jsonl:2: operations: must be in the first line of the file, once");
  EXPECT_EQ(lines_refusal(R"({"operations": {"sgemm": 1}})"),
            "x.jsonl:1: operations.sgemm: expected a string, found a number");
  for (const char* call : {"cublasNothing", "cublasSgemm, wrong: _SUCCESS", "cublasSgemm a b", "", "@"})
    EXPECT_THAT(lines_refusal(fmt::format(R"({{"operations": {{"sgemm": "{}"}}}})", call)),
                HasSubstr("x.jsonl:1: operations.sgemm: "))
        << call;
  EXPECT_EQ(lines_refusal(R"({"operations": {"sgemm": "check.preparation"}})"),
            "x.jsonl:1: operations.sgemm: check.* is no call of an operation");
  EXPECT_THAT(lines_refusal(R"({"operations": {"A B": "cublasSgemm"}})"),
              HasSubstr("the name of an operation is of"));
  EXPECT_EQ(lines_refusal(of + R"({"arm": "a", "trials": [{"calls": [], "log": ["@ is no step"]}]})"),
            "(nothing was refused)");
}

TEST(the_digest_of_a_cell, is_that_of_another_operation_that_came_to_the_same) {
  const arm_result sgemm = cell("sgemm.cold", {failed_call("cublasSgemm"), destroyed});
  EXPECT_THAT(digest_of(sgemm), HasSubstr("@: INTERNAL_ERROR, cublasDestroy: SUCCESS"));
  EXPECT_EQ(digest_of(sgemm), digest_of(cell("gemv.cold", {failed_call("cublasSgemv"), destroyed})));
  EXPECT_NE(digest_of(sgemm),
            digest_of(cell("gemv.cold", {failed_call("cublasSgemv"), failed_call("cublasDestroy")})));
  EXPECT_NE(digest_of(sgemm), digest_of(cell("gemv.cold", {destroyed, failed_call("cublasSgemv")})));
  EXPECT_THAT(digest_of(cell("sgemm", {failed_call("cublasSgemm")})), Not(HasSubstr("@"))) << "no cell";
  EXPECT_THAT(digest_of(cell("sgemm.cold", {failed_call("check.preparation"), failed_call("cublasSgemm")})),
              HasSubstr("check.preparation: INTERNAL_ERROR, @: INTERNAL_ERROR"));
}

}  // namespace
}  // namespace cufault
