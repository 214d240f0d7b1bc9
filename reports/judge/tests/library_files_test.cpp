// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/judge/library_files.hpp"

#include "reports/judge/comparison.hpp"
#include "reports/judge/merge.hpp"
#include "reports/model/tests/examples.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace cufault {
namespace {

using namespace examples;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

json stack_of(json cublas) {
  return {{"keys", {{"cublas", "13.1.0"}}}, {"files", {{"cublas", std::move(cublas)}}}};
}

const json runpath_file{{"soname", "libcublas.so.13"},
                        {"build_id", "3f947a"},
                        {"runpath", "$ORIGIN"},
                        {"needed", {"libcublasLt.so.13", "libgcc_s.so.1", "libc.so.6"}},
                        {"gpu_code", {"sm_75", "sm_90a", "compute_120"}}};
const json rpath_file{{"soname", "libcublas.so.13"},
                      {"build_id", "bfbb0b"},
                      {"rpath", "$ORIGIN"},
                      {"needed", {"libcublasLt.so.13", "libc.so.6"}},
                      {"gpu_code", {"sm_75", "sm_90a", "sm_110", "compute_120"}}};

std::vector<std::string> differences(const json& before, const json& after) {
  record was, is;
  was.stack = before;
  is.stack = after;
  std::vector<std::string> lines;
  for (const auto& d : stack_differences(std::array{was, is}))
    lines.push_back(fmt::format("{} | {} | {}", d.name, d.values[0], d.values[1]));
  return lines;
}

TEST(library_files_of_two_stacks, differ_first_and_by_what_one_has_alone) {
  json after = stack_of(rpath_file);
  after["keys"]["cublas"] = "13.7.0";
  EXPECT_THAT(differences(stack_of(runpath_file), after),
              ElementsAre("cublas: search path | DT_RUNPATH $ORIGIN | DT_RPATH $ORIGIN",
                          "cublas: needed libraries | libgcc_s.so.1 | ", "cublas: GPU code |  | sm_110",
                          "cublas: build id | 3f947a | bfbb0b", "cublas | 13.1.0 | 13.7.0"));
}

TEST(library_files_of_two_stacks, are_not_told_where_they_are_equal) {
  EXPECT_THAT(differences(stack_of(rpath_file), stack_of(rpath_file)), IsEmpty());
}

TEST(library_files_of_two_stacks, are_one_line_where_only_one_was_recorded) {
  json without = stack_of(rpath_file);
  without.erase("files");
  EXPECT_THAT(differences(without, stack_of(rpath_file)),
              ElementsAre("files of the libraries | not recorded | recorded"));
  EXPECT_THAT(differences(stack_of(rpath_file), without),
              ElementsAre("files of the libraries | recorded | not recorded"));
  EXPECT_THAT(differences(without, without), IsEmpty());
}

TEST(library_files_of_two_stacks, may_be_of_other_libraries) {
  json both = stack_of(rpath_file);
  both["files"]["other_cublas"] = {{"build_id", "01"}};
  EXPECT_THAT(differences(both, stack_of(rpath_file)),
              ElementsAre("other_cublas: search path | none | ", "other_cublas: needed libraries | none | ",
                          "other_cublas: GPU code | none | ", "other_cublas: build id | 01 | "));
}

TEST(library_files, of_another_form_count_as_absent) {
  for (const json& files :
       {json(), json(1), json("text"), json::array({1}), json{{"cublas", 1}}, json{{"cublas", {1, 2}}}})
    EXPECT_THAT(file_facts_of({{"files", files}}), IsEmpty()) << files.dump();
  EXPECT_THAT(file_facts_of(json()), IsEmpty());
  for (const file_fact& f : file_facts_of(
           stack_of({{"rpath", 1}, {"needed", "x"}, {"gpu_code", {1, {{"a", 2}}}}, {"build_id", {}}})))
    EXPECT_THAT(f.words, ElementsAre("none")) << f.name;
}

TEST(library_files, are_told_in_one_line_each) {
  json stack = stack_of(rpath_file);
  stack["files"]["cublaslt"] = {{"unread", "/lib/libcublasLt.so.13: byte 0: no ELF file"}};
  EXPECT_THAT(words_of_files(stack),
              ElementsAre(std::pair("cublas",
                                    "search path DT_RPATH $ORIGIN; GPU code sm_75 sm_90a sm_110 compute_120; "
                                    "build id bfbb0b"),
                          std::pair("cublaslt", "/lib/libcublasLt.so.13: byte 0: no ELF file")));
}

// ---- what they explain ----

constexpr const char* foreign_first = "environment.mixed_libraries/foreign_first";

TEST(a_search_path, explains_a_change_of_what_depends_on_it) {
  const json runpath = stack_of(runpath_file), rpath = stack_of(rpath_file);
  EXPECT_EQ(explained_by_files(foreign_first, runpath, rpath),
            "libcublas.so.13 now has DT_RPATH, which LD_LIBRARY_PATH cannot override");
  EXPECT_EQ(explained_by_files(foreign_first, rpath, runpath),
            "libcublas.so.13 no longer has a DT_RPATH that comes before LD_LIBRARY_PATH");
  json elsewhere = runpath;
  elsewhere["files"]["cublas"]["runpath"] = "/elsewhere";
  EXPECT_EQ(explained_by_files(foreign_first, runpath, elsewhere),
            "the search path of libcublas.so.13 is now DT_RUNPATH /elsewhere, before DT_RUNPATH $ORIGIN");
}

TEST(a_search_path, that_did_not_change_or_is_not_known_explains_nothing) {
  const json runpath = stack_of(runpath_file), rpath = stack_of(rpath_file);
  EXPECT_EQ(explained_by_files(foreign_first, rpath, rpath), "");
  EXPECT_EQ(explained_by_files(foreign_first, json(), rpath), "");
  EXPECT_EQ(explained_by_files(foreign_first, rpath, json()), "");
  json other_build = rpath;
  other_build["files"]["cublas"]["build_id"] = "02";
  EXPECT_EQ(explained_by_files(foreign_first, rpath, other_build), "");
}

TEST(a_search_path, explains_no_change_of_what_does_not_depend_on_it) {
  const json runpath = stack_of(runpath_file), rpath = stack_of(rpath_file);
  for (const char* arm :
       {"memory.leak/fault", "environment.driver_missing/no_driver", "environment.mixed_libraries"})
    EXPECT_EQ(explained_by_files(arm, runpath, rpath), "") << arm;
}

TEST(a_search_path, behind_a_runpath_is_not_searched) {
  json both = rpath_file;
  both["runpath"] = "$ORIGIN";
  EXPECT_THAT(explained_by_files(foreign_first, stack_of(runpath_file), stack_of(both)),
              HasSubstr("the search path of libcublas.so.13 is now"));
  EXPECT_THAT(explained_by_files(foreign_first, stack_of(both), stack_of(rpath_file)),
              HasSubstr("now has DT_RPATH"));
}

TEST(a_gate, names_the_file_that_explains_a_change) {
  const auto run = [](const json& file, const char* status) {
    record r;
    r.stack = stack_of(file);
    for (const char* name : {"environment.mixed_libraries", "memory.leak"})
      r.cases.push_back({.name = name,
                         .arms = {arm(arm_kind::fault, {trial({status})}, "foreign_first"),
                                  arm(arm_kind::fault, {trial({no_memory})}, "same")}});
    return r;
  };
  const comparison report = compare(std::array{run(runpath_file, internal), run(rpath_file, success)});
  ASSERT_EQ(report.arms.size(), 4U);
  constexpr const char* told = "libcublas.so.13 now has DT_RPATH, which LD_LIBRARY_PATH cannot override";
  EXPECT_EQ(report.arms[0].found.v, verdict::gone);
  EXPECT_THAT(report.arms[0].found.why, testing::EndsWith(told));
  EXPECT_EQ(report.arms[1].found.why, "") << "it did not change";
  EXPECT_THAT(report.arms[2].found.why, testing::Not(HasSubstr(told))) << "of another case";
}

TEST(a_merge, tells_members_with_other_files_apart) {
  merging all;
  for (const auto& [name, file] : {std::pair("a", &runpath_file), std::pair("b", &rpath_file)}) {
    record r;
    r.started = name;
    r.stack = stack_of(*file);
    r.cases = {{.name = "memory.leak", .arms = {arm(arm_kind::fault, {trial({internal})}, "fault")}}};
    all.add(name, r);
  }
  const merged_records merged = all.result();
  EXPECT_EQ(merged.stacks.at("cublas: search path"),
            (std::map<std::string, std::vector<std::size_t>>{{"DT_RPATH $ORIGIN", {1}},
                                                             {"DT_RUNPATH $ORIGIN", {0}}}));
  EXPECT_FALSE(merged.stacks.contains("cublas")) << "the version is the same";
}

}  // namespace
}  // namespace cufault
