// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/errors.hpp"

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <fstream>

namespace cufault {

/// Lowers a soft limit of this process while the object lives. `to` has the unit of setrlimit(2) for `which`: bytes (RLIMIT_AS,
/// RLIMIT_DATA) or a count (RLIMIT_NOFILE, RLIMIT_NPROC). The constructor and lower() throw setup_failed.
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
  void lift() { setrlimit(which_, &before_); }  ///< as before the constructor; ignores errors

 private:
  __rlimit_resource which_;
  rlimit before_{};
};

/// Memory of this process in bytes: all mappings (RLIMIT_AS), and private writable ones with stacks (RLIMIT_DATA).
struct mapped_memory_of_process {
  rlim_t all = 0, data = 0;
};
inline mapped_memory_of_process mapped_now() {
  std::array<std::uint64_t, 6> pages{};
  std::ifstream statm("/proc/self/statm");
  for (std::uint64_t& each : pages) statm >> each;
  if (!statm) throw setup_failed("/proc/self/statm cannot be read");
  const auto bytes = static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
  return {pages.front() * bytes, pages.back() * bytes};
}

/// Changes the real user and drops the capabilities that lift limits of a user, since these limits do not hold for root. The effective user
/// stays, so that files stay accessible. Permanent. Throws not_provoked.
inline void give_up_privileges() {
  constexpr uid_t nobody = 65534;
  if (setresuid(nobody, 0, 0) != 0) throw not_provoked("the process cannot become another user's");
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  if (syscall(SYS_capget, &header, sets.data()) != 0)
    throw not_provoked("the process's capabilities cannot be read");
  for (const unsigned each : {CAP_SYS_ADMIN, CAP_SYS_RESOURCE}) {
    sets.at(CAP_TO_INDEX(each)).effective &= ~CAP_TO_MASK(each);
    sets.at(CAP_TO_INDEX(each)).permitted &= ~CAP_TO_MASK(each);
  }
  if (syscall(SYS_capset, &header, sets.data()) != 0)
    throw not_provoked("the process's capabilities cannot be given up");
}

}  // namespace cufault
