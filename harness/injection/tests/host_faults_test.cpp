// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// libcufault_host.so in a process that uses two libraries, each asking and allocating (host_faults/probe.cpp).
#include "harness/system/tests/said_by.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cufault {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::StartsWith;

/// Lines of the probe, started with these words before it.
std::vector<std::string> lines(const std::string& environment, const std::string& what) {
  return said_by(environment + " " HOST_PROBE " " + what);
}

const std::string preloaded = "LD_PRELOAD=" HOST_LIBRARY;

std::vector<std::string> with_preload(const std::string& what) {
  return lines(preloaded, what);
}

TEST(host_faults, record_who_asked_for_what_also_before_main) {
  EXPECT_THAT(
      lines("ASKED_BY_ONE=first ASKED_BY_TWO=second " + preloaded, "look_ups"),
      ElementsAre("first", "first", "first", "second", "(unset)", "libhost_one.so: ASKED_BEFORE_MAIN_BY_one",
                  "libhost_one.so: ASKED_BY_ONE", "libhost_two.so: ASKED",
                  "libhost_two.so: ASKED_BEFORE_MAIN_BY_two", "libhost_two.so: ASKED_BY_TWO"));
}

TEST(host_faults, answer_for_variables_as_the_c_library_does) {
  for (const std::string environment :
       {"ASKED_BY_ONE= ASKED_BY_TWO=a=b ", "ASKED_BY_ONE_=another ", "env -i ASKED=1 "}) {
    EXPECT_EQ(lines(environment + preloaded, "ask"), lines(environment, "ask")) << environment;
  }
}

TEST(host_faults, say_so_when_there_were_too_many_questions) {
  EXPECT_THAT(with_preload("too_many_look_ups").front(), StartsWith("setup failed: more questions"));
}

TEST(host_faults, fail_exactly_the_nth_allocation_of_the_chosen_library) {
  EXPECT_THAT(with_preload("nth 1"), ElementsAre("one -+++++ two ++++++ counted 6 after +"));
  EXPECT_THAT(with_preload("nth 4"), ElementsAre("one +++-++ two ++++++ counted 6 after +"));
  EXPECT_THAT(with_preload("nth 7"), ElementsAre("one ++++++ two ++++++ counted 6 after +"));
}

TEST(host_faults, fail_all_later_ones_too_if_asked_to_and_none_when_over) {
  EXPECT_THAT(with_preload("nth_and_later 3"), ElementsAre("one ++---- two ++++++ counted 6 after +"));
}

TEST(host_faults, only_count_when_none_is_to_fail) {
  EXPECT_THAT(with_preload("nth 0"), ElementsAre("one ++++++ two ++++++ counted 6 after +"));
  EXPECT_THAT(with_preload("nth_and_later 0"), ElementsAre("one ++++++ two ++++++ counted 6 after +"));
}

TEST(host_faults, fail_every_way_to_allocate) {
  EXPECT_THAT(with_preload("every_way"),
              ElementsAre("0 failed ENOMEM, worked counted 2", "1 failed ENOMEM, worked counted 2",
                          "2 failed ENOMEM, worked counted 2", "3 failed ENOMEM, worked counted 2",
                          "4 failed ENOMEM, worked counted 2", "5 failed, worked counted 2",
                          "6 failed ENOMEM, worked counted 2"))
      << "the sixth, posix_memalign, returns the error and leaves errno alone";
}

TEST(host_faults, count_every_library_if_none_is_named) {
  EXPECT_THAT(with_preload("any_library"), ElementsAre("1 0 1 counted 3"));
}

TEST(host_faults, refuse_a_library_that_is_not_loaded) {
  EXPECT_THAT(with_preload("absent_library").front(), StartsWith("setup failed: no loaded library"));
}

TEST(host_faults, leave_other_threads_alone) {
  EXPECT_THAT(with_preload("threads"), ElementsAre("here 1 of 1000, elsewhere 0"));
}

TEST(host_faults, let_others_look_up_the_next_symbol_after_theirs) {
  EXPECT_THAT(lines("", "next_library"), ElementsAre("two"));
  EXPECT_THAT(with_preload("next_library"), ElementsAre("two"));
}

TEST(host_faults, need_their_library_preloaded) {
  for (const char* what : {"look_ups", "nth 1", "count_unasked"}) {
    EXPECT_THAT(lines("", what), Contains(StartsWith("setup failed: libcufault.so is not"))) << what;
  }
}

}  // namespace
}  // namespace cufault
