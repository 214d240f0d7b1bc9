// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// As a user's program with Catch2; context_guard_test.cpp runs it.
#include "harness/include/cufault/catch2_guard.hpp"
#include "harness/include/tests/guarded.hpp"

namespace {
using at_failures = cufault::catch2_guard<>;
using at_each = cufault::catch2_guard<cufault::guard_when::each>;
using only_told = cufault::catch2_guard<cufault::guard_when::each, cufault::guard_rest::not_run>;
CATCH_REGISTER_LISTENER(GUARD)
}  // namespace

// NOLINTBEGIN(readability-identifier-naming): names that Catch2's macros make
TEST_CASE("first") {
  CHECK(guarded_test::look() == 0);
}
TEST_CASE("second") {
  SECTION("part") {
    guarded_test::as_told();
    CHECK_FALSE(guarded_test::fails());
  }
}
TEST_CASE("third, \"quoted\" [no tag] \\") {
  CHECK(guarded_test::look() == 0);
  if (guarded_test::told("again")) guarded_test::as_told();
  CHECK_FALSE(guarded_test::told("fail again"));
}
TEST_CASE("hidden", "[.]") {
  FAIL("nobody asked for it");
}
// NOLINTEND(readability-identifier-naming)
