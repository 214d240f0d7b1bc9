// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The line of a case in CMake: what it must have.
#include "harness/cli/tests/end_to_end.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cufault {
namespace {

using testing::HasSubstr;

/// cufault_case() and cufault_made_case() stop the configure unless everything is said.
class case_line : public end_to_end {
 protected:
  process_result configure(const std::string& line, const std::string& function = "cufault_case",
                           const std::vector<std::string>& more = {}) {
    spawn_options options;
    options.argv = {CMAKE_PROGRAM,
                    "-S",
                    CASE_LINE_PROJECT,
                    "-G",
                    CASE_LINE_GENERATOR,
                    "-B",
                    (folder / "build").string(),
                    "-DFUNCTION=" + function,
                    "-DLINE=" + line,
                    std::string("-DMODULES=") + CASE_LINE_MODULES};
    options.argv.insert(options.argv.end(), more.begin(), more.end());
    return run_process(options, {});
  }
};

TEST_F(case_line, is_accepted_when_complete_and_refused_without_any_of_its_parts) {
  for (const char* whole : {"", ";PARTS;3"}) {
    const auto configured =
        configure(std::string("family/present;TIER;quick;MEMORY;shared;NEEDS;host;TIMEOUT;60") + whole);
    EXPECT_EQ(configured.exit_code, 0) << configured.stderr_text;
  }
  for (const auto& [line, why] :
       {std::pair{"family/present;MEMORY;shared;NEEDS;host;TIMEOUT;60", "TIER is missing or wrong"},
        {"family/present;TIER;quick;NEEDS;host;TIMEOUT;60", "MEMORY is missing or wrong"},
        {"family/present;TIER;quick;MEMORY;shared;NEEDS;host", "TIMEOUT is missing or wrong"},
        {"family/present;TIER;quick;MEMORY;shared;NEEDS;host;TIMEOUT;0", "TIMEOUT is missing or wrong"},
        {"family/present;TIER;quick;MEMORY;shared;NEEDS;host;TIMEOUT;60;PARTS;0",
         "PARTS is missing or wrong"},
        {"family/absent;TIER;quick;MEMORY;shared;NEEDS;host;TIMEOUT;60",
         "there is no cases/family/absent.cpp"}}) {
    const auto configured = configure(line);
    EXPECT_EQ(configured.exit_code, 1) << why;
    EXPECT_THAT(configured.stderr_text, HasSubstr(why));
  }
}

TEST_F(case_line, of_a_case_that_is_made_needs_no_file_but_everything_else) {
  const std::string rest = ";TIER;quick;MEMORY;shared;NEEDS;host;TIMEOUT;60";
  const auto configured = configure("family.absent" + rest, "cufault_made_case");
  EXPECT_EQ(configured.exit_code, 0) << configured.stderr_text;
  EXPECT_THAT(configure("family.absent;TIER;quick", "cufault_made_case").stderr_text,
              HasSubstr("cufault_made_case(family.absent): MEMORY is missing or wrong"));
  EXPECT_THAT(configure("family/absent" + rest, "cufault_made_case").stderr_text,
              HasSubstr("the name is not FAMILY.NAME"));
}

TEST_F(case_line, of_a_framework_is_a_test_where_a_python_is_given) {
  const std::string line = "family.absent;TIER;quick;MEMORY;shared;NEEDS;host;TIMEOUT;60;NAMED;FRAMEWORK";
  const auto tests = [&] {
    spawn_options options;
    options.argv = {CTEST_PROGRAM, "--test-dir", (folder / "build").string(), "-N", "-V"};
    return run_process(options, {}).stdout_text;
  };
  ASSERT_EQ(configure(line, "cufault_made_case").exit_code, 0);
  EXPECT_THAT(tests(), testing::Not(HasSubstr("family.absent")));
  ASSERT_EQ(configure(line, "cufault_made_case", {"-DCUFAULT_PYTHON=/a/python;/b/python"}).exit_code, 0);
  EXPECT_THAT(tests(), HasSubstr(R"("run" "family.absent" "--python" "/a/python" "--python" "/b/python")"));
  EXPECT_THAT(tests(), HasSubstr("CUFAULT_SKIPS_UNJUDGED=1"));
}

}  // namespace
}  // namespace cufault
