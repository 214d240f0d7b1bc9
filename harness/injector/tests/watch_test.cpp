// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Watched calls (CUFAULT_WATCH), as for `cufault why`: they are made as without it, and failures are written.
#include "harness/injector/tests/injector_fixture.hpp"

namespace cufault {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;

class watch : public injector {
 protected:
  watch() {
    fs::create_directory(folder / "counts");
    fs::create_directory(folder / "watch");
  }
  std::vector<std::string> watched(const std::string& program, const std::string& more = "") {
    return said_by("env LD_LIBRARY_PATH=" + driver_folder + ":" + driver_folder +
                   "/blas/new CUFAULT_COUNTS=" + (folder / "counts").string() +
                   " CUFAULT_WATCH=" + (folder / "watch").string() + " " + more + " " + with_variable +
                   " LD_PRELOAD=" + tree + "/lib/cufault/libcufault_why.so " + program + " 2>&1");
  }
  /// Lines of all processes.
  [[nodiscard]] std::vector<std::string> written() const {
    std::vector<std::string> all;
    for (const auto& file : fs::directory_iterator(folder / "watch")) {
      std::ifstream in(file.path());
      for (std::string line; std::getline(in, line);) all.push_back(line);
    }
    return all;
  }
  const std::string process_probe = tree + "/bin/injector_process_probe",
                    linked = tree + "/bin/injector_blas_linked_probe",
                    why_probe = tree + "/bin/injector_why_probe";
};

TEST_F(watch, passes_arguments_and_results_on) {
  EXPECT_THAT(watched(linked + " arguments 1"), ElementsAre("0")) << "17 of them on the stack";
  EXPECT_THAT(watched(linked + " linked 3"), ElementsAre("0 0 0 made 3"));
  EXPECT_THAT(watched(linked + " nested 1"), ElementsAre("0"));
  EXPECT_THAT(watched(linked + " default 2"), ElementsAre("0 0 made 2"));
  EXPECT_THAT(watched(linked + " next 2"), ElementsAre("0 0 made 2"));
  EXPECT_THAT(watched(linked + " wide 2"), ElementsAre("0 0 made 128"));
  EXPECT_THAT(written(), IsEmpty());
}

TEST_F(watch, needs_no_part_of_the_c_library_that_only_unused_code_calls) {
  for (const char* library : {"why", "host"}) {
    std::ifstream in(tree + "/lib/cufault/libcufault_" + library + ".so", std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    EXPECT_THAT(bytes, HasSubstr("GLIBC_2.")) << library;
    EXPECT_EQ(bytes.find("GLIBC_2.36"), std::string::npos) << library;
  }
}

TEST_F(watch, leaves_unusual_stacks_threads_and_ends_alone) {
  for (const std::string what :
       {"fiber", "cancelled_in_driver", "cancelled_before_call", "looks_up_twice", "ends _exit"}) {
    if (emulated && what == "fiber") continue;  // qemu lacks process_vm_readv
    EXPECT_EQ(watched(process_probe + " " + what), run("", "", process_probe + " " + what)) << what;
  }
}

TEST_F(watch, writes_what_the_driver_said_in_a_call_and_what_the_call_returned) {
  watched(why_probe + " product", "FAKE_BLAS_FAILS=1");
  const std::string head = R"([0-9]+-[0-9]+-[0-9]+ cublasSgemm_v2#[0-9]+ .[0-9:.]+\]\[[0-9]+\])";
  EXPECT_THAT(
      written(),
      ElementsAre(
          MatchesRegex(head + R"(\[CUDA\]\[E\] event did not come from expected device context)"),
          MatchesRegex(head +
                       R"(\[CUDA\]\[E\] Returning 400 .CUDA_ERROR_INVALID_HANDLE. from cuEventRecord)"),
          MatchesRegex(head +
                       R"(\[cublas\]\[E\] returned CUBLAS_STATUS_EXECUTION_FAILED to injector_why_probe)")));
}

TEST_F(watch, writes_the_driver_call_that_failed_where_the_driver_has_no_log) {
  watched(why_probe + " product", "FAKE_BLAS_FAILS=1 FAKE_NO_LOG=1 RANK=3");
  ASSERT_EQ(written().size(), 2U);
  EXPECT_THAT(written()[0],
              HasSubstr("[CUDA][E] Returning 400 (CUDA_ERROR_INVALID_HANDLE) from cuEventRecord"));
  EXPECT_TRUE(fs::directory_iterator(folder / "watch")->path().filename().string().starts_with("rank3.pid"));
}

TEST_F(watch, writes_what_fails_in_a_forked_child_to_its_own_file) {
  watched(why_probe + " forks", "FAKE_BLAS_FAILS=1");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "watch"), fs::directory_iterator()), 2);
  EXPECT_EQ(written().size(), 6U);
}

TEST_F(watch, writes_what_the_driver_said_again_where_it_had_said_it_in_a_call_that_succeeded) {
  watched(why_probe + " twice", "FAKE_BLAS_FAILS=later");
  const auto lines = written();
  ASSERT_EQ(lines.size(), 5U);
  const auto call_of = [](const std::string& line) {
    const auto begin = line.find(' ') + 1;
    return line.substr(begin, line.find(' ', begin) - begin);
  };
  EXPECT_THAT(lines[2], HasSubstr("[CUDA][E] event did not come from expected device context"));
  EXPECT_THAT(lines[3], HasSubstr("[CUDA][E] Returning 400 (CUDA_ERROR_INVALID_HANDLE) from cuEventRecord"));
  EXPECT_THAT(lines[4], HasSubstr("[cublas][E] returned CUBLAS_STATUS_EXECUTION_FAILED"));
  EXPECT_NE(call_of(lines[1]), call_of(lines[2]));
  EXPECT_EQ(call_of(lines[2]), call_of(lines[4]));
  EXPECT_EQ(call_of(lines[3]), call_of(lines[4]));
}

TEST_F(watch, ends_the_line_of_a_message_that_is_too_long) {
  watched(why_probe + " product", "FAKE_BLAS_FAILS=1 FAKE_LONG_REASON=1");
  const auto lines = written();
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0].size(), 4094U);
  EXPECT_THAT(lines[1], HasSubstr("event did not come from expected device context"));
}

TEST_F(watch, makes_no_file_of_counts_for_a_program_that_makes_no_call) {
  watched(why_probe);
  EXPECT_TRUE(fs::exists(folder / "counts" / "loaded"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "counts"), fs::directory_iterator()), 1);
  watched(why_probe + " product");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "counts"), fs::directory_iterator()), 2);
}

TEST_F(watch, writes_nothing_where_no_call_fails) {
  watched(why_probe + " product");
  EXPECT_THAT(written(), IsEmpty());
}

}  // namespace
}  // namespace cufault
