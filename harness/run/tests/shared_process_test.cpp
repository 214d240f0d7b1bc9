// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Interpreters that stay, and fork what says who they are.
#include "harness/run/shared_process.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cufault {
namespace {

arm of_framework(const std::string& framework, std::map<std::string, std::string> environment = {}) {
  arm a{.name = "fault", .shares_process = true};
  a.environment = std::move(environment);
  a.framework = framework;
  return a;
}

/// Of which a child does what a request says, in Python.
const std::vector<std::string> stand_in_interpreter{
    PYTHON3, "-c",
    "import os, signal, sys; sys.path.insert(0, '" FRAMEWORKS
    "'); from framework_trials import forks\n"
    "process = os.getpid(); exec(forks.request_of_child(bytes))"},
    stand_in_of_lines{"/bin/sh", "-c", "while read -r line; do echo process $$; echo >&0; done"};

process_result run_in_child(shared_process& shared, const arm& a, const std::string& request,
                            const std::function<void(std::string_view)>& on_report = {}) {
  return shared.run(a, stand_in_interpreter, request, {}, on_report, -1);
}

std::string process_of(shared_process& shared, const arm& a) {
  const process_result answer = a.framework.empty() ? shared.run(a, stand_in_of_lines, "x", {}, {}, -1)
                                                    : run_in_child(shared, a, "print('process', process)");
  EXPECT_EQ(answer.stragglers, 0);
  return answer.stdout_text;
}

TEST(interpreters, of_several_keys_stay_and_the_one_that_was_used_longest_ago_ends) {
  shared_process shared(2);
  const arm a = of_framework("pytorch"), b = of_framework("jax"), c = of_framework("cupy");
  const std::string first = process_of(shared, a), second = process_of(shared, b);
  EXPECT_NE(first, second);
  EXPECT_EQ(process_of(shared, a), first);
  process_of(shared, c);
  EXPECT_EQ(process_of(shared, a), first);
  EXPECT_NE(process_of(shared, b), second) << "it made room";
  EXPECT_EQ(shared.take_counts().processes, 4U);
}

TEST(interpreters, stay_where_another_process_leaves_the_gpu) {
  shared_process shared(2);
  const arm a = of_framework("pytorch");
  arm other = of_framework("");
  const std::string first = process_of(shared, a), native = process_of(shared, other);
  shared.leave_gpu();
  EXPECT_EQ(process_of(shared, a), first);
  EXPECT_NE(process_of(shared, other), native);
  const std::string again = process_of(shared, other);
  EXPECT_EQ(process_of(shared, a), first);
  EXPECT_NE(process_of(shared, other), again) << "it has memory of the GPU";
  shared.retire();
  EXPECT_NE(process_of(shared, a), first);
}

TEST(interpreters, survive_their_trials) {
  shared_process shared(2);
  arm a = of_framework("pytorch");
  const std::string first = process_of(shared, a);
  std::string said;
  const process_result reports = run_in_child(shared, a, "os.write(3, b'seen'); sys.exit(3)",
                                              [&](std::string_view bytes) { said += bytes; });
  EXPECT_EQ(reports.exit_code, 3) << reports.stderr_text;
  EXPECT_EQ(said, "seen");
  EXPECT_EQ(run_in_child(shared, a, "os.kill(os.getpid(), 11)").signal, 11);
  EXPECT_EQ(run_in_child(shared, a, "os.fork() or signal.pause()").stragglers, 1);
  a.timeout = std::chrono::seconds(1);
  EXPECT_EQ(run_in_child(shared, a, "signal.pause()").how, ending::timed_out);
  a.timeout = std::chrono::seconds(60);
  EXPECT_EQ(process_of(shared, a), first);
  EXPECT_EQ(shared.take_counts().processes, 1U);
}

TEST(interpreters, that_die_take_no_other_with_them) {
  shared_process shared(2);
  const arm a = of_framework("pytorch"), b = of_framework("jax");
  const std::vector<std::string> dies{"/bin/sh", "-c", "kill -9 $$"};
  const std::string first = process_of(shared, a);
  EXPECT_EQ(shared.run(b, dies, "x", {}, {}, -1).signal, 9);
  EXPECT_EQ(process_of(shared, a), first);
  const std::string second = process_of(shared, b);
  EXPECT_EQ(shared.run(a, dies, "x", {}, {}, -1).signal, 9);
  EXPECT_EQ(process_of(shared, b), second);
}

TEST(interpreters, share_variables_that_act_when_cuda_begins) {
  const arm plain = of_framework("pytorch"),
            late =
                of_framework("pytorch", {{"CUDA_LAUNCH_BLOCKING", "1"}, {"CUBLAS_WORKSPACE_CONFIG", ":0:0"}}),
            early = of_framework("pytorch", {{"PYTORCH_NO_CUDA_MEMORY_CACHING", "1"}});
  EXPECT_EQ(shared_process_key(plain), shared_process_key(late));
  EXPECT_NE(shared_process_key(plain), shared_process_key(early));
  EXPECT_NE(shared_process_key(of_framework("")), shared_process_key(of_framework("", late.environment)));
}

}  // namespace
}  // namespace cufault
