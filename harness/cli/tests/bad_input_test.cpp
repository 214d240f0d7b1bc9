// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What the command line says of wrong input: one line, and an exit code.
#include "harness/cli/tests/end_to_end.hpp"
#include "reports/model/record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <tuple>

namespace cufault {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST_F(end_to_end, names_a_wrong_flag) {
  expect_refused(cufault({"run", "--wrong"}), "--wrong; see cufault run --help\n");
}

TEST_F(end_to_end, names_a_command_that_there_is_not) {
  expect_refused(cufault({"bogus", "--device", "0"}), "there is no command bogus; see cufault --help\n");
  EXPECT_EQ(cufault({"explian"}).stderr_text,
            "cufault: there is no command explian; did you mean explain?; see cufault --help\n");
}

TEST_F(end_to_end, without_a_command_names_those_there_are_by_what_is_asked) {
  const auto seen = cufault({});
  EXPECT_EQ(seen.exit_code, 2);
  EXPECT_EQ(seen.stderr_text, "");
  EXPECT_THAT(seen.stdout_text, HasSubstr("\n\nMy program failed:\n  why      Run a command;"));
  EXPECT_THAT(seen.stdout_text, HasSubstr("\n  also: causes, messages, frameworks, trace, capture, stack\n"));
  const auto help = cufault({"--help"}), of_gate = cufault({"gate", "--help"});
  for (const auto* text : {&seen.stdout_text, &help.stdout_text})
    EXPECT_THAT(*text, testing::Not(HasSubstr("probe-stack")));
  EXPECT_THAT(help.stdout_text, HasSubstr("\nMore:\n  claims            Each claim of"));
  EXPECT_EQ(cufault({"help"}).stdout_text, help.stdout_text);
  EXPECT_EQ(cufault({"help", "gate"}).stdout_text, of_gate.stdout_text);
  EXPECT_THAT(of_gate.stdout_text, HasSubstr("--candidate"));
  EXPECT_EQ(cufault({"help", "bogus"}).exit_code, 2);
  EXPECT_EQ(cufault({"-v"}).stdout_text, cufault({"--version"}).stdout_text);
}

TEST_F(end_to_end, proposes_the_option_the_value_the_command_and_the_file_that_may_be_meant) {
  const fs::path record = folder / "first.jsonl";
  std::ofstream(record) << "";
  for (const auto& [words, meant] :
       {std::pair{std::vector<std::string>{"run", "--mod", "gate"}, std::string("--mode")},
        {{"claims", "--jsno"}, "--json"},
        {{"run", "--tier=quik"}, "quick"},
        {{"node", "--policy", "slrum"}, "slurm"},
        {{"baseline", "shw"}, "show"},
        {{"show", folder / "frist.jsonl"}, record.string()},
        {{"inject", "--library", "cublass", "--", "true"}, "cublas"},
        {{"inject", "--fail", "cuMemAlloc=OUT_OF_MEMROY", "--", "true"}, "OUT_OF_MEMORY"}}) {
    expect_refused(cufault(words), "; did you mean " + meant + "?");
  }
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"run", "--xyzzy"}, {"show", folder / "xyzzy"}})
    EXPECT_THAT(cufault(words).stderr_text, testing::Not(HasSubstr("did you mean"))) << words[0];
}

TEST_F(end_to_end, refuses_nonsense_of_a_variable_where_it_stands_for_an_option) {
  const std::map<std::string, std::string> nonsense{{"CUFAULT_FLOOR", "abc"}};
  expect_refused(floor({}, nonsense), "cufault: CUFAULT_FLOOR: --at-least: ");
  EXPECT_THAT(floor({"--at-least", "1"}, nonsense).stderr_text, HasSubstr("no preflight has run"));
  EXPECT_EQ(cufault({"list"}, {{"CUFAULT_FLOOR", "abc"}, {"CUFAULT_TIER", "abc"}}).exit_code, 0);
  EXPECT_THAT(run({"road.create"}, {{"CUFAULT_TIER", "abc"}}).stderr_text, HasSubstr("CUFAULT_TIER"));
}

TEST_F(end_to_end, says_of_each_command_what_its_exit_codes_mean) {
  EXPECT_THAT(cufault({"--help"}).stdout_text, HasSubstr("130 interrupted"));
  for (const auto& [command, codes] : {std::pair{"run", "77 nothing could be provoked"},
                                       {"diff", "0 none differ; 1 some do; 2 bad input."},
                                       {"list", "Exit codes: 0; 2 bad input."},
                                       {"trace", "128 and N"},
                                       {"capture", "128 and N"},
                                       {"why", "128 and N"}}) {
    const auto seen = cufault({command, "--help"});
    EXPECT_EQ(seen.exit_code, 0);
    EXPECT_THAT(seen.stdout_text, HasSubstr(codes));
  }
  EXPECT_THAT(cufault({"list", "--help"}).stdout_text, testing::Not(HasSubstr("77")));
}

TEST_F(end_to_end, names_a_folder_that_cannot_be_written) {
  std::ofstream(folder / "a_file") << "in the way";
  expect_refused(cufault({"run", "road.create", "--records", folder / "a_file" / "records", "--cublas",
                          fs::path(FAKE_CUBLAS_DIR) / "a"}),
                 folder / "a_file" / "records");
}

TEST_F(end_to_end, names_a_malformed_record_by_line) {
  std::ofstream(folder / "bad.jsonl") << "{\"schema\": 99}\n";
  expect_refused(cufault({"show", folder / "bad.jsonl"}), "bad.jsonl:1: schema: made by a newer cufault");
  std::ofstream(folder / "old.json") << "{\n  \"schema\": 1\n}\n";
  expect_refused(cufault({"show", folder / "old.json"}), "old.json:1: schema: made by an older cufault");
}

TEST_F(end_to_end, refuses_paths_that_were_typed_wrongly_before_anything_runs) {
  const std::string wrong = folder / "nowhere" / "file";
  for (const char* option : {"--baseline", "--python", "--junit", "--ctrf", "--markdown", "--cublas"}) {
    expect_refused(cufault({"run", "road.create", "--records", folder / "records", option, wrong}),
                   folder / "nowhere");
  }
  EXPECT_FALSE(fs::exists(folder / "records"));
  ASSERT_EQ(run({"road.create"}).exit_code, 0);
  const std::string made = files(".jsonl").at(0);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"show", wrong},
        {"show", made, "--baseline", wrong},
        {"baseline", "add", made, "--into", wrong},
        {"baseline", "add", made, "--with", wrong},
        {"report", made, "-o", folder / "out", "--baseline", wrong},
        {"report", wrong, "-o", folder / "out"},
        {"gate", "--baseline", made, "--candidate", wrong},
        {"gate", "--baseline", made, "--candidate", made, "--allow", wrong},
        {"gate", "--baseline-python", wrong, "--candidate-python", wrong, "pytorch.on_the_cpu"}}) {
    expect_refused(cufault(words), folder / "nowhere");
  }
  EXPECT_FALSE(fs::exists(folder / "nowhere"));
  EXPECT_FALSE(fs::exists(folder / "out"));
}

TEST_F(end_to_end, refuses_an_empty_path_of_a_library_and_a_folder_in_place_of_a_file) {
  fs::create_directories(folder / "site");
  const std::string site = folder / "site", absent = folder / "absent";
  for (const auto& [option, path, why] :
       {std::tuple<std::string, std::string, std::string>{"--cublas", "", "--cublas: is empty"},
        {"--cublaslt", "", "--cublaslt: is empty"},
        {"--junit", site, "--junit: " + site + " is a folder; name a file"},
        {"--junit", absent + "/", "--junit: " + absent + "/ is a folder"},
        {"--ctrf", site, "--ctrf: " + site + " is a folder"},
        {"--markdown", site, "--markdown: " + site + " is a folder"}}) {
    expect_refused(cufault({"run", "road.create", "--records", folder / "records", option, path}), why);
  }
  EXPECT_FALSE(fs::exists(folder / "records"));
  EXPECT_EQ(run({"road.create", "--junit", site + "/junit.xml"}).exit_code, 0);
  EXPECT_TRUE(fs::exists(site + "/junit.xml"));
}

TEST_F(end_to_end, fails_where_standard_output_is_closed) {
  ASSERT_EQ(run({"road.create"}).exit_code, 0);
  const std::string made = files(".jsonl").at(0);
  for (const std::string& words : {"show '" + made + "'", std::string("list"), std::string("node"),
                                   "stack --cublas '" + std::string(FAKE_CUBLAS_DIR) + "/a'"}) {
    spawn_options options;
    options.argv = {"/bin/sh", "-c", "exec '" TEST_PROGRAM "' " + words + " >&-"};
    options.environment = {{"TMPDIR", folder / "temporary"}, {"CUDA_VISIBLE_DEVICES", "-1"}};
    const auto seen = run_process(options, {});
    EXPECT_EQ(seen.exit_code, 2) << words;
    EXPECT_EQ(seen.stderr_text, "cufault: standard output could not be written\n") << words;
  }
}

TEST_F(end_to_end, passes_on_the_loaders_words_for_what_is_no_cublas) {
  expect_refused(
      cufault({"run", "road.create", "--cublas", fs::path(FAKE_CUBLAS_DIR) / "text" / "libcublas.so.13"}),
      "cannot load");
}

TEST_F(end_to_end, refuses_a_workspace_configuration_that_is_none) {
  for (const char* text : {"", "4096:8", ":4096", ":4096:8:xx", ":-1:-1", "a\nb=c"}) {
    EXPECT_EQ(cufault({"run", "road.create", "--workspace-config", text}).exit_code, 2) << text;
  }
  expect_refused(cufault({"run", "road.create", "--workspace-config", ":4096"}), ":4096:2:16:8");
}

TEST_F(end_to_end, says_how_to_name_a_cublas_where_the_loader_finds_none) {
  const auto seen = cufault({"run", "road.create"},
                            {{"LD_LIBRARY_PATH", (fs::path(FAKE_CUBLAS_DIR) / "text_lt").string()}});
  EXPECT_EQ(seen.exit_code, 2);
  EXPECT_THAT(seen.stderr_text,
              AllOf(HasSubstr("cannot load libcublasLt.so.13"), HasSubstr("with --cublas")));
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

}  // namespace
}  // namespace cufault
