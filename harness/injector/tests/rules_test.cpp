// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/injector/rules.hpp"

#include "harness/injector/chrome_trace.hpp"
#include "harness/injector/counts_reader.hpp"
#include "harness/injector/replay.hpp"
#include "harness/system/temporary_folder.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace cufault::injector {
namespace {

using testing::HasSubstr;

/// Parses rules, or a configuration of faultinj.
rule_set parsed(const std::string& each) {
  const bool of_faultinj = each.find("Faults\"") != each.npos;
  return rules_from(json_cursor{parse_json("rules", of_faultinj ? each : R"({"rules": [)" + each + "]}")});
}

std::string rules_refusal(const std::string& each) {
  try {
    parsed(each);
  } catch (const input_error& error) {
    return error.what();
  }
  return "taken";
}

TEST(rules, that_mean_nothing_are_refused_in_words_that_say_why) {
  std::ifstream in(std::filesystem::path(INJECTOR_README).parent_path() / "tests/refusals.txt");
  int count = 0;
  for (std::string given, said; std::getline(in, given);) {
    if (given.empty() || given.starts_with('#')) continue;
    ASSERT_TRUE(std::getline(in, said) && said.starts_with("  ")) << given;
    said.erase(0, 2);
    if (said == "taken")
      EXPECT_EQ(rules_refusal(given), said) << given;
    else
      EXPECT_THAT(rules_refusal(given), HasSubstr(said)) << given;
    ++count;
  }
  EXPECT_EQ(count, 103);
}

TEST(rules, match_a_name_with_and_without_its_suffixes) {
  for (const char* pattern :
       {"cuMemcpyHtoDAsync", "cuMemcpyHtoDAsync_v2", "cuMemcpyHtoDAsync_v2_ptsz", "cuMemcpy?toDAsync",
        "cuMem*Async", "cuMemcpyHtoDAsync_v?", "cuMemcpy*ptsz", "cuMemcpy[H]toDAsync"})
    EXPECT_TRUE(matches_function(pattern, "cuMemcpyHtoDAsync_v2_ptsz")) << pattern;
  for (const char* pattern : {"cuMemcpyHtoD", "cuMemcpyHtoDAsync_ptsz", "cuMemcpyHtoDAsync_v3",
                              "cuMemcpyHtoDAsyn?_v2_ptsz?", "cuMemcpy[D]toDAsync", "CuMem*"})
    EXPECT_FALSE(matches_function(pattern, "cuMemcpyHtoDAsync_v2_ptsz")) << pattern;
  EXPECT_TRUE(matches_function("cuMemAllo?", "cuMemAlloc_v2"));
  EXPECT_TRUE(matches_function("cuMem*lloc", "cuMemAlloc_v2"));
  EXPECT_FALSE(matches_function("cuMem*lloc", "cuMemAllocAsync"));
  EXPECT_TRUE(matches_function("*", "cuInit"));
}

TEST(rules, take_a_code_by_its_number_on_the_command_line) {
  EXPECT_EQ(rule_from_text("cuMemAlloc=2").code, rule_from_text("cuMemAlloc=OUT_OF_MEMORY").code);
  EXPECT_EQ(rule_from_text("cublasCreate=3").code, rule_from_text("cublasCreate=ALLOC_FAILED").code);
  for (const char* wrong :
       {"cuMemAlloc=0", "cuMemAlloc=12345", "cuMemAlloc=-2", "cublasCreate=99", "cuMemAlloc=2x"})
    EXPECT_THROW(static_cast<void>(rule_from_text(wrong)), input_error) << wrong;
}

TEST(rules, know_codes_whose_records_are_there) {
  const auto folder = std::filesystem::path(INJECTOR_README).parent_path();
  const std::string all = read_text(folder / "seen_codes.inc");
  const std::regex record(R"(([a-z0-9.-]+/[a-z]+\.jsonl): ([a-z_]+\.[a-z_]+)(?:/([a-z_]+))?)");
  int found = 0;
  for (std::sregex_iterator each(all.begin(), all.end(), record), end; each != end; ++each, ++found) {
    const auto file = folder / "../../reports/recorded" / (*each)[1].str();
    std::string line = R"({"case":")" + (*each)[2].str() + '"';
    if ((*each)[3].matched) line += R"(,"arm":")" + (*each)[3].str() + '"';
    EXPECT_NE(read_text(file).find(line), std::string::npos) << file << ": " << line;
  }
  EXPECT_GE(found, 4);
  const std::string run = read_text(folder / "../../reports/recorded/2026-11-26-one-gpu.txt");
  for (const char* function : {"cuLaunchKernel", "cuLaunchKernelEx", "cuKernelGetFunction"})
    EXPECT_TRUE(
        std::regex_search(run, std::regex(std::string("\n") + function +
                                          " +full device, \\d+ bytes free: CUDA_ERROR_OUT_OF_MEMORY")))
        << function;
}

TEST(rules, know_codes_that_lose_a_context) {
  for (const int code : {700, 702, 714, 715, 716, 717, 718, 719, 710}) EXPECT_TRUE(is_sticky(code)) << code;
  for (const int code : {1, 2, 3, 100, 201, 500, 600, 701, 709, 800, 999})
    EXPECT_FALSE(is_sticky(code)) << code;
}

// Together with ci/schemas, which finds each member of a rule in one of these files, this keeps what reports/pages/promises.md promises.
TEST(rules, of_the_corpus_are_taken_in_each_version) {
  const auto corpus = std::filesystem::path(INJECTOR_README).parent_path() / "tests" / "corpus";
  int files = 0;
  for (const auto& file : std::filesystem::directory_iterator(corpus)) {
    if (file.path().extension() != ".json" || file.path().stem() == "wrong") continue;
    ++files;
    EXPECT_NO_THROW(static_cast<void>(rules_from(json_cursor{parse_json("corpus", read_text(file))})))
        << file.path();
  }
  EXPECT_GE(files, 5);
  EXPECT_EQ(rules_of("", read_text(corpus / "texts.txt")).rules.size(), 4U);
  EXPECT_THROW(
      static_cast<void>(rules_from(json_cursor{parse_json("corpus", read_text(corpus / "wrong.json"))})),
      input_error);
}

TEST(rules, hold_for_one_call_stack) {
  EXPECT_TRUE(parsed(R"({"function": "cuMemAlloc", "log": true, "once_per": "stack"})").rules.at(0).stack);
  const rule r = rule_from_text("cuMemAlloc_v2@00f3a0c4d5e6f708:3=OUT_OF_MEMORY");
  EXPECT_EQ(r.function, "cuMemAlloc_v2");
  EXPECT_EQ(r.at_stack, 0x00f3a0c4d5e6f708U);
  EXPECT_TRUE(r.stack) << "its lines tell it";
  EXPECT_EQ(
      parsed(
          R"({"function": "cuMemAlloc_v2", "stack": "00f3a0c4d5e6f708", "skip": 2, "hits": 1, "return": "OUT_OF_MEMORY"})")
          .rules.at(0),
      r);
  EXPECT_FALSE(rule_from_text("cuMemAlloc_v2:3=OUT_OF_MEMORY").at_stack);
  for (const char* wrong : {"cuInit@:1=UNKNOWN", "cuInit@12=UNKNOWN", "cuInit@00F3A0C4D5E6F708=UNKNOWN"})
    EXPECT_THROW(static_cast<void>(rule_from_text(wrong)), input_error) << wrong;
  EXPECT_THROW(static_cast<void>(rule_from_text("malloc@00f3a0c4d5e6f708=ENOMEM")), input_error);
  EXPECT_FALSE(r.then_any_stack);
  EXPECT_TRUE(
      parsed(
          R"({"function": "cuInit", "stack": "00f3a0c4d5e6f708", "then_any_stack": true, "return": "UNKNOWN"})")
          .rules.at(0)
          .then_any_stack);
}

TEST(rules, act_where_a_pattern_has_an_x) {
  const auto acts = [](const std::string& more) {
    const rule r =
        parsed(R"({"function": "cuInit", "return": "UNKNOWN", "pattern": "XOOXO")" + more + "}").rules.at(0);
    std::string said;
    for (std::uint64_t n = 1; n <= 12; ++n) said += acts_on(r, n, 0) ? 'X' : 'O';
    return said;
  };
  EXPECT_EQ(acts(""), "XOOXOXOOXOXO");
  EXPECT_EQ(acts(R"(, "skip": 2)"), "OOXOOXOXOOXO");
  EXPECT_EQ(acts(R"(, "hits": 3)"), "XOOXOXOOOOOO");
  EXPECT_EQ(rule_from_text("cuInit:XOOXO=UNKNOWN"),
            parsed(R"({"function": "cuInit", "return": "UNKNOWN", "pattern": "XOOXO"})").rules.at(0));
}

TEST(rules, hold_in_one_process) {
  const rule here =
      parsed(R"({"fail": "cuInit:2=UNKNOWN", "pid": )" + std::to_string(getpid()) + "}").rules.at(0);
  const rule other = parsed(R"({"fail": "cuInit:2=UNKNOWN", "pid": 1})").rules.at(0);
  call_facts call;
  call.function = "cuInit";
  EXPECT_TRUE(holds_for(here, call));
  EXPECT_FALSE(holds_for(other, call));
  EXPECT_EQ(here.skip, 1U);
  const auto before = [](const char* time) {
    return parsed(std::string(R"({"fail": "cuInit=UNKNOWN", "began_before": )") + time + "}").rules.at(0);
  };
  EXPECT_TRUE(holds_for(before("32503680000.5"), call));
  EXPECT_FALSE(holds_for(before("1"), call));
}

// ---- replay.cpp ----

class replayed : public testing::Test {
 protected:
  /// Rules of a log of these lines, or why there are none.
  std::string of(const std::string& lines) {
    std::ofstream(folder.path() / "log") << lines;
    try {
      std::string text = rules_of_log(folder.path() / "log");
      static_cast<void>(rules_from(json_cursor{parse_json("replayed", text)}));
      return text;
    } catch (const input_error& error) {
      return error.what();
    }
  }
  static std::string began(int pid, const std::string& more = "") {
    return fmt::format(R"({{"event": "began", "program": "/usr/bin/python3"{}, "pid": {}}})", more, pid) +
           "\n";
  }
  static std::string injected(int pid, const std::string& more) {
    return fmt::format(R"({{"event": "injected", "pid": {}, {}}})", pid, more) + "\n";
  }
  temporary_folder folder{"cufault-replay-"};
};

TEST_F(replayed, rules_act_on_the_same_calls) {
  const std::string lost =
      R"("function": "cuMemAlloc_v2", "call": 3, "did": "CUDA_ERROR_ILLEGAL_ADDRESS", "context": "0x1")";
  const auto all = nlohmann::json::parse(of(
      began(7, R"(, "environment": {"RANK": "2"})") + injected(7, lost) +
      injected(7, R"("function": "cublasSgemm_v2", "call": 1, "did": {"corrupt": "bit", "seed": 5})") +
      injected(7, R"("function": "cuStreamSynchronize", "call": 9, "did": "spins")") +
      injected(7, R"("function": "cuMemFree_v2", "call": 2, "did": "dropped")") +
      injected(
          7, R"("function": "ncclAllReduce", "call": 4, "did": "ncclRemoteError", "really": "ncclSuccess")") +
      R"({"event": "sticky", "function": "cuMemFree_v2", "pid": 7})" + "\n"))["rules"];
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(all[0],
            nlohmann::json::parse(
                R"({"function": "cuMemAlloc_v2", "skip": 2, "hits": 1, "return": "CUDA_ERROR_ILLEGAL_ADDRESS",
    "sticky": true, "force": true, "process": "python3", "environment": {"RANK": "2"}})"));
  EXPECT_EQ(all[1]["corrupt"], "bit");
  EXPECT_EQ(all[1]["seed"], 5);
  EXPECT_EQ(all[2]["spin"], true);
  EXPECT_EQ(all[3]["drop_call"], true);
  EXPECT_EQ(all[4]["when"], "after");
}

TEST_F(replayed, what_cannot_be_is_refused) {
  const std::string fails = R"("function": "cuInit", "call": 1, "did": "CUDA_ERROR_UNKNOWN")";
  EXPECT_THAT(of(began(7)), HasSubstr("0 injections"));
  EXPECT_THAT(of("words\n"), HasSubstr("0 injections"));
  EXPECT_THAT(of(began(7) + injected(7, R"("function": "cuInit", "did": "hidden", "call": 0)")),
              HasSubstr("without the number of its call"));
  EXPECT_THAT(of(began(7) + injected(7, R"("function": "cuInit", "call": 1)")),
              HasSubstr("no log of the injector"));
  EXPECT_THAT(of(began(7) + began(8) + injected(7, fails) + injected(8, fails)),
              HasSubstr("python3 acted in processes 7 and 8"));
  const std::string first = R"(, "environment": {"RANK": "0"})", second = R"(, "environment": {"RANK": "1"})";
  EXPECT_THAT(of(began(7, first) + began(8, second) + injected(7, fails) + injected(8, fails)),
              testing::StartsWith("{"));
}

// ---- library_functions.cpp ----

TEST(library_rules, are_of_the_library_that_a_name_begins_with) {
  const auto of = [](std::string_view function) {
    const known_library* found = library_of(function);
    return found != nullptr ? found->name : "driver";
  };
  EXPECT_EQ(of("cudaMalloc"), "cudart");
  EXPECT_EQ(of("__cudaLaunchKernel"), "cudart");
  EXPECT_EQ(of("__cuda*"), "cudart");
  EXPECT_EQ(of("cublasGemmEx"), "cublas");
  EXPECT_EQ(of("cublasLtMatmul"), "cublasLt");
  EXPECT_EQ(of("cublas*"), "cublas");
  EXPECT_EQ(of("cudnnBackendExecute"), "cudnn");
  EXPECT_EQ(of("cusolverDnCreate"), "cusolver");
  EXPECT_EQ(of("ncclAllReduce"), "nccl");
  EXPECT_EQ(of("nvmlInit"), "nvml");
  for (const char* driver : {"cuMemAlloc", "cu*", "*", "malloc", "cuda"})
    EXPECT_EQ(of(driver), driver == std::string("cuda") ? "cudart" : "driver") << driver;
}

TEST(library_rules, are_for_what_compilers_call_in_place_of_a_function) {
  for (const char* pattern :
       {"cudaLaunchKernel", "cudaLaunchKernel_ptsz", "cuda*", "cudaLaunchKernel*", "*_ptsz", "cudaLaunch*l",
        "__cudaLaunchKernel", "__cudaLaunchKernel_ptsz", "__cuda*"})
    EXPECT_TRUE(matches_function(pattern, "__cudaLaunchKernel_ptsz")) << pattern;
  for (const char* pattern :
       {"cudaLaunch", "cudaLaunchKernelExC", "cudaLaunchKernelExC*", "_cudaLaunchKernel"})
    EXPECT_FALSE(matches_function(pattern, "__cudaLaunchKernel_ptsz")) << pattern;
  EXPECT_FALSE(matches_function("__cudaLaunchKernel", "cudaLaunchKernel"));
  EXPECT_EQ(without_suffix("__cudaLaunchKernel_ptsz"), "cudaLaunchKernel");
  EXPECT_TRUE(can_be_dropped(*library_named("cudart"), function_name{"__cudaLaunchKernel_ptsz"}));
}

TEST(library_rules, are_of_files_in_wheels_too) {
  const auto& cublas = *library_named("cublas");
  for (const char* file : {"libcublas.so", "libcublas.so.13", "libcublas-1a2b3c.so.13"})
    EXPECT_TRUE(is_file_of(cublas, file)) << file;
  for (const char* file : {"libcublasLt.so.13", "libcublas", "libmycublas.so", ""})
    EXPECT_FALSE(is_file_of(cublas, file)) << file;
  EXPECT_TRUE(is_file_of(*library_named("cudnn"), "libcudnn_ops.so.9"));
  EXPECT_TRUE(is_file_of(*library_named("cusolver"), "libcusolverMg.so.12"));
  EXPECT_TRUE(is_file_of(*library_named("nvml"), "libnvidia-ml.so.1"));
}

TEST(library_rules, know_statuses_by_full_and_short_names) {
  struct given {
    const char *library, *text, *status;
  };
  for (const given& each :
       {given{"cudart", "cudaMalloc:3=cudaErrorMemoryAllocation", "cudaErrorMemoryAllocation"},
        given{"cudart", "cudaMalloc=MemoryAllocation", "cudaErrorMemoryAllocation"},
        given{"cublas", "cublasGemmEx:100=EXECUTION_FAILED", "CUBLAS_STATUS_EXECUTION_FAILED"},
        given{"cublasLt", "cublasLtMatmul=NOT_SUPPORTED", "CUBLAS_STATUS_NOT_SUPPORTED"},
        given{"cudnn", "cudnnCreate=NOT_INITIALIZED", "CUDNN_STATUS_NOT_INITIALIZED"},
        given{"cusolver", "cusolverDnCreate=ALLOC_FAILED", "CUSOLVER_STATUS_ALLOC_FAILED"},
        given{"nccl", "ncclAllReduce=ncclRemoteError", "ncclRemoteError"},
        given{"nccl", "ncclAllReduce=SystemError", "ncclSystemError"},
        given{"nvml", "nvmlInit_v2=DRIVER_NOT_LOADED", "NVML_ERROR_DRIVER_NOT_LOADED"}}) {
    const rule r = rule_from_text(each.text);
    EXPECT_EQ(r.of, library_named(each.library)) << each.text;
    EXPECT_EQ(code_name(r.of, r.code), each.status);
  }
}

TEST(library_rules, that_are_wrong_get_an_example_of_their_library) {
  const auto rule_text_refusal = [](std::string_view text) -> std::string {
    try {
      rule_from_text(text);
    } catch (const input_error& error) {
      return error.what();
    }
    return "taken";
  };
  EXPECT_THAT(rule_text_refusal("cuMemAlloc=NOTHING"),
              testing::EndsWith("for example cuMemAlloc_v2:3=OUT_OF_MEMORY"));
  for (const known_library& each : libraries()) {
    EXPECT_THAT(rule_text_refusal(fmt::format("{}Nothing=0", each.prefix)),
                testing::EndsWith(fmt::format(", for example {}", each.example)));
    EXPECT_EQ(rule_from_text(each.example).of, &each) << each.example;
    const auto function = each.example.substr(0, each.example.find(':'));
    EXPECT_THAT(rule_text_refusal(fmt::format("{}=NOTHING", function)),
                testing::AllOf(HasSubstr("unknown status \"NOTHING\""),
                               testing::EndsWith(fmt::format(", for example {}", each.example))));
  }
}

TEST(library_rules, are_for_the_libraries_that_the_readme_names) {
  std::ifstream in(INJECTOR_README);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  const auto begin = text.find(" take functions of "), end = text.find(':', begin);
  ASSERT_NE(begin, text.npos);
  std::vector<std::string> named;
  for (auto at = begin; (at = text.find('`', at)) < end;) {
    const auto to = text.find('`', at + 1);
    named.push_back(text.substr(at + 1, to - at - 1));
    at = to + 1;
  }
  std::vector<std::string> known;
  for (const known_library& each : libraries()) known.emplace_back(each.name);
  EXPECT_EQ(named, known);
}

TEST(readme, names_tests_that_are_there) {
  const std::string text = read_text(INJECTOR_README);
  std::string sources;
  for (const auto& file :
       std::filesystem::directory_iterator(std::filesystem::path(INJECTOR_README).parent_path() / "tests"))
    if (file.path().extension() == ".cpp") sources += read_text(file);
  const auto table = text.substr(text.find("| defect | test |"));
  const std::regex name(R"(`(harmless|injector|inject_command|libraries|rules)\.([a-z_]+)`)");
  int found = 0;
  for (std::sregex_iterator each(table.begin(), table.end(), name), end; each != end; ++each, ++found)
    EXPECT_THAT(sources, HasSubstr("(" + (*each)[1].str() + ", " + (*each)[2].str() + ")")) << each->str();
  EXPECT_GE(found, 20);
}

TEST(rules, suggest_no_name_where_none_is_near) {
  EXPECT_THAT(rules_refusal(R"({"function": "somethingElseAltogether", "log": true})"),
              testing::Not(HasSubstr("did you mean")));
}

// ---- faultinj.cpp ----

rule_set of_faultinj(const std::string& text) {
  return rules_from(json_cursor{parse_json("config", text)});
}
TEST(faultinj, is_read_as_it_is) {
  const rule_set all = of_faultinj(R"({"logLevel": 1, "dynamic": true, "seed": 12,
    "cudaRuntimeFaults": {"cudaLaunchKernel_ptsz": {"percent": 0, "injectionType": 0, "interceptionCount": 1}},
    "cudaDriverFaults": {
      "*": {"percent": 1, "injectionType": 1},
      "cuMemFreeAsync_ptsz": {"percent": 25, "injectionType": 2, "substituteReturnCode": 999, "interceptionCount": 3},
      "cuInit": {"percent": 0, "injectionType": 2, "substituteReturnCode": 100},
      "cuLaunchKernel": {"percent": 100, "injectionType": 0, "interceptionCount": 1}}})");
  ASSERT_EQ(all.rules.size(), 3U);
  EXPECT_TRUE(all.reload);
  const auto rule_for = [&](std::string_view function) {
    for (const rule& r : all.rules)
      if (r.function == function) return r;
    return rule{};
  };
  rule expected;
  expected.function = "cuMemFreeAsync_ptsz";
  expected.code = 999;
  expected.after = expected.force = true;
  expected.probability = 0.25;
  expected.hits = 3;
  expected.seed = 12;
  EXPECT_EQ(rule_for("cuMemFreeAsync_ptsz"), expected);
  rule trap;
  trap.function = "cuLaunchKernel";
  trap.does = effect::trap;
  trap.hits = 1;
  trap.seed = 12;
  EXPECT_EQ(rule_for("cuLaunchKernel"), trap);
  const rule others = all.rules.back();
  EXPECT_EQ(others.does, effect::device_assert);
  EXPECT_EQ(others.probability, 0.01);
  EXPECT_TRUE(is_for_function(others, function_name{"cuMemAlloc_v2"}));
  for (const char* own : {"cuInit", "cuLaunchKernel", "cuLaunchKernel_ptsz", "cuMemFreeAsync_ptsz"})
    EXPECT_FALSE(is_for_function(others, function_name{own})) << own;
  EXPECT_FALSE(of_faultinj(R"({"cudaDriverFaults": {}})").reload);
}

TEST(faultinj, has_faults_of_runtime_functions_too) {
  const rule_set all = of_faultinj(R"({"cudaRuntimeFaults": {
      "*": {"percent": 100, "injectionType": 2, "substituteReturnCode": 999},
      "cudaMalloc": {"percent": 100, "injectionType": 2, "substituteReturnCode": 2, "interceptionCount": 1}}})");
  ASSERT_EQ(all.rules.size(), 2U);
  for (const rule& r : all.rules) EXPECT_EQ(r.of, library_named("cudart"));
  EXPECT_EQ(all.rules[0].function, "cudaMalloc");
  EXPECT_EQ(all.rules[0].code, 2);
  EXPECT_TRUE(is_for_function(all.rules[1], function_name{"cudaFree"}));
  EXPECT_FALSE(is_for_function(all.rules[1], function_name{"cudaMalloc"}));
}

// ---- chrome_trace.cpp ----

TEST(chrome_trace, is_json_whatever_the_log_holds) {
  const temporary_folder folder("cufault-chrome-");
  const auto log = folder.path() / "log";
  std::ofstream(log)
      << R"({"event":"began","program":"/a/b\"c","pid":7})" << '\n'
      << R"({"event":"call","function":"cuInit","ordinal":1,"caller":"x","offset":"0x1","thread":1,"result":"CUDA_SUCCESS","microseconds":1.5,"tid":8,"began_ns":9007199254740993,"pid":7})"
      << '\n'
      << R"({"event":"injected","function":"cuInit"})"
      << "\nno JSON\n"
      << R"({"event":"call","function":"cuIn)";
  std::ostringstream out;
  EXPECT_EQ(write_chrome_trace(log, out), 1U);
  EXPECT_THAT(out.str(), HasSubstr(R"("ts":9007199254740.993,"dur":1.500,)"));
  const auto events = nlohmann::json::parse(out.str()).at("traceEvents");
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0]["args"]["name"], "b\"c");
  EXPECT_EQ(events[1]["name"], "cuInit");
  EXPECT_EQ(events[1]["tid"], 8);
  std::ostringstream empty;
  EXPECT_EQ(write_chrome_trace(folder.path() / "none", empty), 0U);
  EXPECT_TRUE(nlohmann::json::parse(empty.str()).at("traceEvents").empty());
}

TEST(rules, act_at_random_as_often_as_they_are_to) {
  rule r =
      parsed(
          R"({"function": "cuMemAlloc", "return": "OUT_OF_MEMORY", "probability": 0.01, "hits": 1, "seed": 3})")
          .rules.at(0);
  // The injector counts how often it acted: here each draw counts.
  int drawn = 0;
  for (std::uint64_t n = 1; n <= 100'000; ++n) drawn += acts_on(r, n, 0);
  EXPECT_GT(drawn, 800);
  EXPECT_LT(drawn, 1200);
  r.probability = 1;
  EXPECT_TRUE(acts_on(r, 1, 0));
  EXPECT_FALSE(acts_on(r, 2, 0));
}

TEST(rules, draw_independently_of_each_other_whatever_their_seed) {
  for (const std::string seed : {"0", "3", "18446744073709551615"}) {
    const rule r =
        parsed(R"({"function": "cuMemAlloc", "return": "OUT_OF_MEMORY", "probability": 0.5, "seed": )" +
               seed + "}")
            .rules.at(0);
    for (const std::uint64_t other : {1, 2, 1000}) {
      int both = 0;
      for (std::uint64_t n = 1; n <= 10'000; ++n) both += acts_on(r, n, 0) && acts_on(r, n, other) ? 1 : 0;
      EXPECT_NEAR(both, 2500, 200) << "stream " << other << ", seed " << seed;
    }
  }
}

TEST(counts, that_cannot_be_read_are_told_apart_from_none) {
  const temporary_folder folder("cufault-counts-");
  EXPECT_EQ(counted_in(folder.path()).unread, 0);
  std::ofstream(folder.path() / "1.1") << "cufault";
  std::ofstream(folder.path() / "2.1") << std::string(200, 'x');
  std::ofstream(folder.path() / "3.1") << "cufault1" << std::string(100, '\x01');
  std::ofstream(folder.path() / "4.1")
      << "cufault1" << std::string(8, '\0') << std::string(4, '\x01') << std::string(84, '\0');
  const counted all = counted_in(folder.path());
  EXPECT_EQ(all.unread, 4);
  EXPECT_EQ(all.programs, 0);
}

}  // namespace
}  // namespace cufault::injector
