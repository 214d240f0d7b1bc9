// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// `cufault known` as a program: what it prints, refuses and returns. Needs no CUDA. Versions here are of entries that no new record changes.
#include "harness/system/process.hpp"
#include "harness/system/temporary_folder.hpp"
#include "reports/base/files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace cufault {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class known_command : public testing::Test {
 protected:
  [[nodiscard]] static process_result known(std::vector<std::string> words) {
    spawn_options options;
    options.argv = {CUFAULT_PROGRAM, "known"};
    options.argv.insert(options.argv.end(), words.begin(), words.end());
    options.keep_output = 4u << 20;
    return run_process(options, {});
  }
  static void expect_refusal(const std::vector<std::string>& words, const std::string& part) {
    const auto seen = known(words);
    EXPECT_EQ(seen.exit_code, 2) << part;
    EXPECT_THAT(seen.stderr_text, StartsWith("cufault: "));
    EXPECT_THAT(seen.stderr_text, HasSubstr(part));
    EXPECT_EQ(std::count(seen.stderr_text.begin(), seen.stderr_text.end(), '\n'), 1) << seen.stderr_text;
    const bool json = std::find(words.begin(), words.end(), "--json") != words.end();
    EXPECT_EQ(seen.stdout_text.starts_with(R"({"schema":1,"exit_code":2,"reasons":[)"), json)
        << seen.stdout_text;
    EXPECT_EQ(seen.stdout_text.empty(), !json) << seen.stdout_text;
  }
  /// Versions that a file with this text pins.
  std::vector<std::string> pinned(const std::string& text) {
    const auto file = folder.path() / "lock";
    write_whole(file, text);
    const auto seen = known({"--lock", file, "--json"});
    std::vector<std::string> versions;
    if (seen.exit_code != 0) return versions;
    const auto json = nlohmann::json::parse(seen.stdout_text);
    for (const auto& answer : json["answers"]) versions.push_back(answer["cublas"]);
    return versions;
  }
  const temporary_folder folder{"cufault-known-"};
};

TEST_F(known_command, lists_all_without_a_version) {
  const auto seen = known({});
  EXPECT_EQ(seen.exit_code, 0);
  for (const char* part : {"lt-66-uneven-split-k  [measured, forced algorithm, wrong numbers, cuBLASLt]",
                           "[documented, ", "[reported, ", "what helps: ", "numbers.split_k/told"})
    EXPECT_THAT(seen.stdout_text, HasSubstr(part));
  const auto page = known({"--markdown"}).stdout_text;
  EXPECT_THAT(page, StartsWith("## wrong numbers\n"));
  EXPECT_THAT(page, HasSubstr("| lt-66-uneven-split-k | measured, forced algorithm |"));
  EXPECT_EQ(nlohmann::json::parse(known({"--json"}).stdout_text)["schema"], 1);
}

TEST_F(known_command, says_of_a_version_on_a_gpu_what_is_measured_and_what_is_said) {
  const auto seen = known({"--cublas", "13.1.0.3", "--gpu", "H200"});
  EXPECT_EQ(seen.exit_code, 0) << seen.stderr_text;
  EXPECT_THAT(seen.stdout_text, StartsWith("cuBLAS 13.1.0.3 on 9.0: "));
  EXPECT_THAT(seen.stdout_text, HasSubstr("xt-spmm-46340-rows  [measured, wrong numbers, cuBLAS]"));
  EXPECT_THAT(seen.stdout_text, HasSubstr("measured with 13.1.0 on 9.0"));
  EXPECT_THAT(seen.stdout_text, HasSubstr("documented by NVIDIA; tried with 13.1.0 on 9.0 and not seen"));
  const auto other = known({"--cublas", "13.1.0", "--gpu", "12.0"});
  EXPECT_THAT(other.stdout_text, Not(HasSubstr("[measured,")));
  EXPECT_THAT(other.stdout_text, HasSubstr("not measured on 12.0: 13.1.0 (affected) on 9.0"));
}

TEST_F(known_command, says_in_one_line_that_nothing_is_known) {
  const auto seen = known({"--cublas", "99.0.0", "--gpu", "1.0", "--fail-on", "wrong_numbers"});
  EXPECT_EQ(seen.exit_code, 0);
  EXPECT_THAT(seen.stdout_text, HasSubstr("; nothing was measured with it\n"));
}

TEST_F(known_command, prints_json_of_the_keys_that_the_schema_has) {
  const auto json =
      nlohmann::json::parse(known({"--cublas", "13.1.0", "--gpu", "9.0", "--json"}).stdout_text);
  EXPECT_EQ(json["schema"], 1);
  const auto& answer = json["answers"][0];
  EXPECT_EQ(answer["cublas"], "13.1.0");
  EXPECT_EQ(answer["architecture"], "9.0");
  EXPECT_EQ(answer["any_measured"], true);
  EXPECT_EQ(answer.size(), 4U);
  std::set<std::string> levels;
  for (const auto& issue : answer["issues"]) {
    levels.insert(issue["level"]);
    EXPECT_NE(issue["because"], "");
    EXPECT_TRUE(issue.contains("what"));
  }
  EXPECT_THAT(levels, testing::IsSupersetOf({"measured", "documented"}));
}

TEST_F(known_command, fails_a_job_for_the_harm_that_is_asked_for) {
  const auto seen = known({"--cublas", "13.1.0", "--gpu", "9.0", "--fail-on", "wrong_numbers"});
  EXPECT_EQ(seen.exit_code, 1);
  EXPECT_THAT(seen.stderr_text, HasSubstr("cufault: 1 known issue with wrong numbers: xt-spmm-46340-rows\n"));
  EXPECT_EQ(std::count(seen.stderr_text.begin(), seen.stderr_text.end(), '\n'), 2) << seen.stderr_text;
  EXPECT_EQ(known({"--cublas", "13.4.0", "--gpu", "B200", "--fail-on", "wrong_numbers"}).exit_code, 1)
      << "documented";
  EXPECT_EQ(known({"--cublas", "13.10.0", "--gpu", "9.0", "--fail-on", "wrong_numbers", "--except",
                   "zgemv-wide-lda"})
                .exit_code,
            0);
  EXPECT_EQ(known({"--cublas", "13.10.0", "--gpu", "9.0", "--fail-on", "hang"}).exit_code, 0);
  EXPECT_THAT(
      known({"--cublas", "13.1.0", "--gpu", "9.0", "--fail-on", "hang", "--fail-on", "crash"}).stderr_text,
      HasSubstr("with hang or crash: "));
}

TEST_F(known_command, counts_what_each_call_can_meet_alone_unless_all_is_asked_for) {
  const std::vector<std::string> asked{"--cublas", "13.1.1", "--gpu", "9.0", "--fail-on", "wrong_numbers"};
  const auto seen = known(asked);
  EXPECT_EQ(seen.exit_code, 0);
  EXPECT_THAT(seen.stdout_text, HasSubstr("[measured, forced algorithm, wrong numbers, cuBLASLt]"));
  EXPECT_EQ(
      seen.stderr_text,
      "cufault: not counted, 1 that only a forced algorithm or a call that other releases refuse meets: "
      "lt-66-uneven-split-k; --count-all counts them\n");
  auto all = asked;
  all.emplace_back("--count-all");
  EXPECT_EQ(known(all).exit_code, 1);
  EXPECT_EQ(known(all).stderr_text, "cufault: 1 known issue with wrong numbers: lt-66-uneven-split-k\n");
}

/// Of the releases that are recorded on an H200, how many exit with 1. An issue that is measured with each of them names them.
TEST_F(known_command, is_red_for_a_few_of_the_recorded_releases) {
  const auto list = nlohmann::json::parse(known({"--json"}).stdout_text);
  std::set<std::string> releases;
  for (const auto& issue : list["issues"])
    if (issue["id"] == "lt-in-place-other-ld")
      for (const auto& [state, versions] : issue["measured"]["9.0"].items())
        releases.insert(versions.begin(), versions.end());
  const auto red = [&](const std::vector<std::string>& more) {
    std::size_t count = 0;
    for (const std::string& release : releases) {
      std::vector<std::string> words{"--cublas", release, "--gpu", "H200", "--fail-on", "wrong_numbers"};
      words.insert(words.end(), more.begin(), more.end());
      count += known(words).exit_code == 1 ? 1 : 0;
    }
    return count;
  };
  const auto all = red({"--count-all"}), counted = red({}),
             called = red({"--calls", "cublasLtMatmul,cublasSgemm,cublasGemmEx"}),
             without_lt = red({"--calls", "cublasSgemm,cublasGemmEx"});
  EXPECT_GT(all, releases.size() * 3 / 4);
  EXPECT_LT(counted, all / 2);
  EXPECT_LT(called, counted);
  EXPECT_LT(without_lt, called / 2);
  RecordProperty("red", nlohmann::json{{"releases", releases.size()},
                                       {"all", all},
                                       {"counted", counted},
                                       {"called", called},
                                       {"without_lt", without_lt}}
                            .dump());
}

TEST_F(known_command, leaves_out_what_concerns_other_functions) {
  const auto about = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"--cublas", "13.1.0", "--gpu", "9.0"});
    return known(more);
  };
  for (const char* name : {"cublasGemmEx", "cublasGemmEx_64"}) {
    const auto seen = about({"--calls", name});
    EXPECT_THAT(seen.stdout_text, HasSubstr("lt-66-wide-leading-dimension")) << name;
    EXPECT_THAT(seen.stdout_text, Not(HasSubstr("xt-spmm"))) << name;
    EXPECT_THAT(seen.stdout_text, testing::ContainsRegex("; [0-9]+ of other functions left out\n")) << name;
  }
  EXPECT_THAT(about({"--calls", "cublasSgemm,cublasXtSspmm"}).stdout_text, HasSubstr("xt-spmm"));
  EXPECT_THAT(about({"--calls", "cublasSgemm", "--calls", "cublasXtSspmm"}).stdout_text,
              HasSubstr("xt-spmm"));
  const auto none = about({"--calls", "cublasSrot_v2", "--fail-on", "wrong_numbers"});
  EXPECT_EQ(none.exit_code, 0);
  EXPECT_THAT(
      none.stdout_text,
      testing::MatchesRegex(
          "cuBLAS 13.1.0 on 9.0: nothing is known of these functions; [0-9]+ of other functions left out\n"));
  EXPECT_EQ(known({"zgemv", "--calls", "cublasSgemm"}).stdout_text, "nothing is known of these functions\n");
  EXPECT_THAT(known({"--calls", "cublasZgemv"}).stdout_text, HasSubstr("rtx50-memory-error"))
      << "whose functions are not known";
  expect_refusal({"--calls", "cublasSgem"},
                 "--calls cublasSgem: no function of cuBLAS; did you mean cublasSge");
  expect_refusal({"--calls", "cublasZgemv", "--json"}, "need --cublas, --lock or --here");
}

TEST_F(known_command, takes_functions_out_of_a_trace) {
  const auto file = folder.path() / "trace.json";
  const auto trace = [&](const std::string& libraries, const std::string& calls) {
    write_whole(file, R"({"schema":1,"libraries":[)" + libraries + R"(],"calls":{)" + calls + "}}");
    return std::vector<std::string>{"--cublas", "13.1.0", "--gpu", "9.0", "--calls-of", file};
  };
  const std::string both = R"("cublas","cublasLt")", gemm = R"("app":{"cuInit":1,"cublasGemmEx":3})";
  const auto seen = known(trace(both, gemm));
  EXPECT_EQ(seen.exit_code, 0) << seen.stderr_text;
  EXPECT_THAT(seen.stdout_text, HasSubstr("lt-66-wide-leading-dimension"));
  EXPECT_THAT(seen.stdout_text, Not(HasSubstr("xt-spmm")));
  expect_refusal(trace(R"("cublas")", gemm), "it does not have the calls of cuBLAS");
  expect_refusal(trace(both, R"("app":{"cuInit":1})"), "it does not have the calls of cuBLAS");
  write_whole(file, R"({"schema":1,"calls":{}})");
  expect_refusal({"--calls-of", file}, "cufault trace --library cublas --library cublasLt --json FILE");
}

TEST_F(known_command, lists_what_names_a_text) {
  const auto seen = known({"ZGEMV"});
  EXPECT_EQ(seen.exit_code, 0);
  EXPECT_THAT(seen.stdout_text, HasSubstr("zgemv-wide-lda"));
  EXPECT_THAT(seen.stdout_text, Not(HasSubstr("xt-spmm")));
}

TEST_F(known_command, reads_versions_out_of_lock_files) {
  EXPECT_THAT(
      pinned(
          "numpy==2.0.0\nnvidia-cublas-cu12==12.8.4.1 ; platform_system == 'Linux' \\\n  --hash=sha256:1\n"),
      ElementsAre("12.8.4.1"));
  EXPECT_THAT(pinned("nvidia-cublas == 13.1.0.3\n"), ElementsAre("13.1.0.3"));
  EXPECT_THAT(
      pinned(
          "[[package]]\nname = \"nvidia-cublas\"\nversion = \"13.1.0.3\"\nsource = { registry = \"x\" }\n"),
      ElementsAre("13.1.0.3"));
  EXPECT_THAT(pinned("- name: libcublas\n  version: 12.4.5.8\n  manager: conda\n"), ElementsAre("12.4.5.8"));
  EXPECT_THAT(pinned("libcublas                 13.5.1.27            h676940d_0    conda-forge\n"),
              ElementsAre("13.5.1.27"));
  EXPECT_THAT(pinned("nvidia_cublas_cu12-12.8.4.1-py3-none-manylinux_2_27_x86_64.whl\n"),
              ElementsAre("12.8.4.1"));
  EXPECT_THAT(pinned("nvidia-cublas-cu12==12.4.5.8\nnvidia-cublas==13.1.0.3\nnvidia-cublas==13.1.0.3\n"),
              ElementsAre("12.4.5.8", "13.1.0.3"));
  EXPECT_THAT(pinned("# nvidia-cublas==13.1.0.3 is broken\nnvidia-cublas==13.10.0.1  # not 13.1.0.3\n"),
              ElementsAre("13.10.0.1"));
  EXPECT_THAT(pinned("nvidia-cublas-cu" + std::string(2'000'000, '1') + "\n"), IsEmpty());
  EXPECT_THAT(pinned("nvidia-cublas==13." + std::string(2'000'000, '1') + ".1\n"), IsEmpty());
  EXPECT_THAT(pinned("my-nvidia-cublas==13.1.0.3\nnvidia-cublas-extra==13.1.0.3\n"), IsEmpty());
  EXPECT_THAT(pinned("NVIDIA.CUBLAS==13.1.0.3\n"), ElementsAre("13.1.0.3"));
  EXPECT_THAT(pinned("nvidia-cublas[more]==13.1.0.3\n"), ElementsAre("13.1.0.3"));
  EXPECT_THAT(pinned("nvidia-cublas-cu12>=12.8.4.1\n"), IsEmpty()) << "no pin";
  EXPECT_THAT(pinned("nvidia-cublas\nnumpy==13.1.0\n"), IsEmpty()) << "the version of another package";
  EXPECT_THAT(pinned("libcublas-dev=12.4.5.8\n"), IsEmpty());
  const std::string hashes =
      R"({"hashes": ["sha256:)" + std::string(64, '0') + R"("], "index": "pypi", "version": )";
  EXPECT_THAT(
      pinned(R"({"_meta": {"requires": {"python_version": "3.12"}}, "default": {"nvidia-cublas-cu12": )" +
             hashes + R"("==12.1.3.1"}, "numpy": {"version": "==2.0.0"}}, "develop": {"nvidia-cublas": )" +
             hashes + R"("==13.1.0.3"}, "nvidia-cublas-extra": {"version": "==13.2.0.9"}}})"),
      ElementsAre("12.1.3.1", "13.1.0.3"));
  EXPECT_THAT(
      pinned(
          R"({"_meta": {}, "default": {"nvidia-cublas": {"version": "*"}, "torch": 1, "x": {"version": 2}}})"),
      IsEmpty());
}

TEST_F(known_command, refuses_in_one_line) {
  const auto file = folder.path() / "requirements.txt";
  write_whole(file, "numpy==2.0.0\n");
  expect_refusal({"--lock", file}, "it pins no version of nvidia-cublas");
  write_whole(file, "torch==2.6.0\n");
  expect_refusal(
      {"--lock", file},
      "it pins torch, and not the nvidia-cublas that torch brings; where that is installed, pip freeze");
  write_whole(file, "torchvision==0.20.1\npytorch==2.6.0\ntorch>=2.6.0\n");
  expect_refusal({"--lock", file}, "it pins no version of nvidia-cublas");
  expect_refusal({"--lock", folder.path() / "missing"}, "does not exist");
  expect_refusal({"--cublas", "13"}, "no version of cuBLAS; one is 13.1.0");
  expect_refusal({"--cublas", "/usr/lib"}, "no version of cuBLAS");
  expect_refusal({"--cublas", "13.1.0", "--gpu", "Voodoo 2"}, "give its compute capability");
  expect_refusal({"--gpu", "9.0"}, "--gpu needs --cublas, --lock or --here");
  expect_refusal({"--fail-on", "hang"}, "--fail-on needs");
  expect_refusal({"--cublas", "13.1.0", "--count-all"}, "--fail-on");
  expect_refusal({"no_such_call"}, "no known issue names no_such_call; cufault known lists all");
  expect_refusal({"13.5.1"}, "cufault known --cublas 13.5.1 lists those of a version");
  expect_refusal({"--cublas", "13.1.0", "--fail-on", "slowness"}, "wrong_numbers");
  expect_refusal({"--cublas", "13.1.0", "--except", "lt-67"}, "no issue has this name");
  expect_refusal({"--cublas", "13.1.0", "--json", "--markdown"}, "--json");
}

}  // namespace
}  // namespace cufault
