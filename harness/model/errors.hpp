// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

namespace cufault {

/// A precondition of a trial cannot be reached here, or another process disturbed it: the trial is inconclusive.
class not_provoked : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Another process allocated or freed device memory meanwhile: the trial is inconclusive; a repetition may be conclusive.
class memory_moved : public not_provoked {
 public:
  using not_provoked::not_provoked;
};

/// Set-up of a trial failed: nothing can be concluded from it.
class setup_failed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A part of a trial took too long, perhaps because of other load: nothing can be concluded.
class out_of_time : public setup_failed {
 public:
  using setup_failed::setup_failed;
};

/// Thrown when a signal interrupts the run; the caller has the results so far.
struct interrupted {};

}  // namespace cufault
