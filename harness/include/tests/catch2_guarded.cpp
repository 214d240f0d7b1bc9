// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// As a user's program with Catch2; context_guard_test.cpp runs it.
#include "harness/include/cufault/catch2_guard.hpp"
#include "harness/include/tests/guarded.hpp"

#include <catch2/catch_test_macros.hpp>

namespace {
using at_failures = cufault::catch2_guard<>;
using at_each = cufault::catch2_guard<cufault::guard_when::each>;
#ifdef GUARD_EACH
CATCH_REGISTER_LISTENER(at_each)
#else
CATCH_REGISTER_LISTENER(at_failures)
#endif
}  // namespace

TEST_CASE("first") {
  CHECK(guarded_test::look() == 0);
}
TEST_CASE("second") {
  SECTION("part") {
    guarded_test::as_told();
    CHECK_FALSE(guarded_test::fails());
  }
}
TEST_CASE("third") {
  CHECK(guarded_test::look() == 0);
}
