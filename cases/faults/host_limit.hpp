// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/errors.hpp"

#include <sys/resource.h>

namespace cufault {

/// A limit of this process, lowered for as long as it lives. Throws setup_failed.
class lowered_limit {
 public:
  lowered_limit(__rlimit_resource which, rlim_t to) : which_(which) {
    if (getrlimit(which_, &before_) != 0) throw setup_failed("the limit cannot be read");
    lower(to);
  }
  ~lowered_limit() { lift(); }
  lowered_limit(const lowered_limit&) = delete;
  lowered_limit& operator=(const lowered_limit&) = delete;
  void lower(rlim_t to) {
    const rlimit now{to, before_.rlim_max};
    if (setrlimit(which_, &now) != 0) throw setup_failed("the limit cannot be set");
  }
  void lift() { setrlimit(which_, &before_); }

 private:
  __rlimit_resource which_;
  rlimit before_{};
};

}  // namespace cufault
