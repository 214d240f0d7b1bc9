// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Interpreters that stay, with shells in place of them.
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

/// Answers each request, and says its number.
const std::vector<std::string> stand_in_interpreter{"/bin/sh", "-c",
                                                    "while read -r line; do echo process $$; echo >&0; done"};

std::string process_of(shared_process& shared, const arm& a) {
  const process_result answer = shared.run(a, stand_in_interpreter, "x", {}, {}, -1);
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

TEST(interpreters, that_die_take_no_other_with_them) {
  shared_process shared(2);
  const arm a = of_framework("pytorch"), b = of_framework("jax");
  const std::vector<std::string> dies{"/bin/sh", "-c", "read -r line; kill -9 $$"};
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
