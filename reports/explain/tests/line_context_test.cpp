// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/explain/line_context.hpp"

#include "reports/explain/tests/examples.hpp"

#include <gtest/gtest.h>

#include <string>

namespace cufault {
namespace {

TEST(origin_of, reads_the_rank_in_front_of_a_line) {
  for (const char* const line :
       {"[rank3]: RuntimeError: x", "[Rank 3] Watchdog caught", "[default3]:x", "[3]: x", "[3]:x", "3: x",
        "  3: x", "[1,3]<stderr>: x", "[rank3]:[E1015 03:22:11.1 f.cpp:616] [Rank 4] x",
        "(worker rank=3 pid=12) x", "[E1015 03:22:11.1 f.cpp:616] [PG ID 0 PG GUID 0 Rank 3] x"})
    EXPECT_EQ(origin_of(line).rank, 3) << line;
  for (const char* const line : {"", "RuntimeError: x", "3 errors", "12:34:56 x", "[E1015 03:22:11] x",
                                 "123456: x", "[  3%] Building", "(pid=3) x", "ranking 3", "[0.123] x"})
    EXPECT_EQ(origin_of(line).rank, -1) << line;
}

TEST(origin_of, reads_a_time_with_its_day) {
  const auto at = [](const char* line) { return origin_of(line).seconds.value_or(-1); };
  EXPECT_DOUBLE_EQ(at("[22:21:32.500][25642][CUDA][E] x"), 22 * 3600 + 21 * 60 + 32.5);
  EXPECT_DOUBLE_EQ(at("10:00:01,250 x"), 36001.25);
  EXPECT_LT(at("[rank0]:[E1015 23:59:59.0 f.cpp:1] x"), at("[rank1]:[E1016 00:00:01.0 f.cpp:1] x"));
  EXPECT_EQ(at("2024-10-15 03:22:11.5: E x"), at("2024-10-15T03:22:11.5 x"));
  EXPECT_EQ(at("step 10 of 20: loss 3"), -1);
  EXPECT_EQ(at("25:00:00 x"), -1);
  EXPECT_TRUE(comparable_times(at("10:00:00 x"), at("11:00:00 x")));
  EXPECT_FALSE(comparable_times(at("10:00:00 x"), at("2024-10-15 11:00:00 x")));
}

bool spoken_of(const std::string& line, const std::string& words) {
  const auto at = line.find(words);
  EXPECT_NE(at, std::string::npos) << line;
  return is_only_spoken_of(line, at, at + words.size(), known().grammar);
}

TEST(is_only_spoken_of, tells_what_is_denied_or_asked_from_what_happened) {
  const std::string oom = "out of memory";
  for (const char* const line :
       {"no out of memory", "there was no cuda out of memory", "does this look like out of memory?",
        "if you see out of memory, use less", "i do not get out of memory any more", "is it out of memory?",
        "out of memory is ruled out", "out of memory was not the cause", "out of memory (fixed in 2.4)",
        "\"out of memory\" usually means that the gpu is full", "we grep for \"out of memory\"",
        "e.g. out of memory", "errors such as out of memory", "cudafree: out of memory (ignored)",
        "he wrote 'out of memory' there", "the message \"cuda: out of memory\" is of last year",
        "kein out of memory", "\xe4\xb9\x9f\xe6\xb2\xa1\xe6\x9c\x89 out of memory",
        "out of memory \xe5\xb7\xb2\xe7\xbb\x8f\xe6\x8e\x92\xe9\x99\xa4"})
    EXPECT_TRUE(spoken_of(line, oom)) << line;
  for (const char* const line :
       {"cuda error: out of memory", "could not load the model: out of memory", "why do i get out of memory?",
        "no problem before. then out of memory", "cuda out of memory. if it is large, do not worry",
        "i get out of memory when training", "check failed: out of memory", "error: \"out of memory\"",
        "msg=\"out of memory\"", "what(): 'cuda: out of memory'", "failed with \"out of memory\" (700)",
        "he wrote 'a' and died: out of memory", "the page. out of memory",
        "3 arguments were ignored. out of memory"})
    EXPECT_FALSE(spoken_of(line, oom)) << line;
}

TEST(speaks_of_no_failure, knows_changelogs_help_commands_and_tests_that_passed) {
  for (const char* const line :
       {"- fix: illegal memory access", "* fixed out of memory", "fix(kernel): x", "docs: describe it",
        "  --fraction f  lower it if", "$ grep error log", "test_a.py::test_oom passed",
        "test_oom xfail (cuda)", "ok 3 - out of memory is raised", "[       ok ] oom.test (3 ms)",
        "--- pass: testoom (0.1s)", "[bugfix] out of memory", "out of memory in the loss (#12)",
        "* 1f2e3d4 (head -> main) out of memory", "skipped [3] a.py:4: out of memory",
        "3 passed in 2 s: out of memory", "merge pull request #1 from a/out-of-memory",
        "test_a ... skipped 'out of memory'"})
    EXPECT_TRUE(speaks_of_no_failure(line, known().grammar)) << line;
  for (const char* const line :
       {"runtimeerror: cuda error: out of memory", "- cuda error: out of memory", "fix me: x is out",
        "tests failed: out of memory", "deadbeef: out of memory", "1234567 out of memory",
        "iffy: out of memory", "it failed if you passed in a view: out of memory", "out of memory (12)",
        "an unsupported value or parameter was passed to the function", ""})
    EXPECT_FALSE(speaks_of_no_failure(line, known().grammar)) << line;
}

TEST(is_exception, knows_the_last_line_of_a_traceback) {
  for (const char* const line : {"RuntimeError: x", "torch.OutOfMemoryError: x", "KeyboardInterrupt",
                                 "ValueError", "triton.runtime.errors.OutOfResources: out of resource"})
    EXPECT_TRUE(is_exception(line)) << line;
  for (const char* const line :
       {"", "    raise RuntimeError(x)", "an Error: x", "step: 3", "Error in x", "-Error: x"})
    EXPECT_FALSE(is_exception(line)) << line;
}

TEST(names_gpu_library, knows_words_and_no_parts_of_paths_quotes_and_other_words) {
  for (const char* const line :
       {"runtimeerror: cuda error", "no sm_89 kernel", "sm89 is missing", "needs compute capability 8.9",
        "the nccl ring", "triton.runtime.errors.ptxaserror: failed", "it's cudnn's fault", "cublas: 14",
        "[trt] [e] 1: cask"})
    EXPECT_TRUE(names_gpu_library(line, known().grammar)) << line;
  for (const char* const line :
       {"", "barracuda", "cuda_runtime.h is missing", "/usr/local/cuda/bin", "open 'cuda'",
        "no module \"tensorrt\"", "cuda-samples", "torch.cuda.is_available()", "keyerror: cuda",
        "a.keyerror: cuda", "awesm_890", "smart", "AssertionError: expected cuda, got cpu", "on cuda:0"})
    EXPECT_FALSE(names_gpu_library(line, known().grammar)) << line;
}

TEST(names_native_source, knows_a_file_of_c_with_its_line) {
  for (const char* const line : {"main.cu:12", "at gemm.cpp(78)", "blas.cc:1: x", "a.c:3"})
    EXPECT_TRUE(names_native_source(line)) << line;
  for (const char* const line : {"", "train.py:12", "main.cu", "a.cpp: no such file", "a.cuh:12"})
    EXPECT_FALSE(names_native_source(line)) << line;
}

TEST(is_in_address, knows_addresses_and_licences) {
  const auto at = [](std::string_view line) { return is_in_address(line, line.find("torch")); };
  EXPECT_TRUE(at("see https://x.org/torch/a"));
  EXPECT_TRUE(at("github.com/x/torch"));
  EXPECT_TRUE(at("torch: license"));
  EXPECT_FALSE(at("https://x.org torch"));
  EXPECT_FALSE(at("/v/site-packages/torch/nn"));
}

TEST(commits, have_a_head_and_lines_below_it) {
  EXPECT_TRUE(is_head_of_commit("commit 0123456789abcdef0123456789abcdef01234567 (HEAD)"));
  EXPECT_FALSE(is_head_of_commit("commit 0123"));
  EXPECT_FALSE(is_head_of_commit("commit your changes, please; CUDA error: 700 is fixed"));
  for (const char* const line : {"", "    text", "Author: a", "+++ b/a.py"})
    EXPECT_TRUE(is_of_commit(line)) << line;
  EXPECT_FALSE(is_of_commit("CUDA error: 700"));
}

TEST(without_box, leaves_the_text_of_a_box) {
  EXPECT_EQ(without_box("\xe2\x94\x82 a b \xe2\x94\x82"), "a b");
  EXPECT_EQ(without_box("| a |"), "a");
  EXPECT_EQ(without_box("\xe2\x94\x80"), "");
}

}  // namespace
}  // namespace cufault
