// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Run by tests of `cufault why`: a program with a failing product, a hanging call, or output of its own.
#include "harness/injector/tests/programs/blas_user.hpp"

#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>
#include <thread>

extern "C" {
int cuCtxSynchronize();
int cuEventRecord(void* event, void* stream);
int cuMemFree_v2(unsigned long long address);
}

namespace {

int product() {
  float c = 0;
  const int status = cublasSgemm_v2(nullptr, 0, 0, 1, 1, 1, nullptr, nullptr, 1, nullptr, 1, nullptr, &c, 1);
  if (status == 0) return 0;
  std::fprintf(stderr, "product: cublasSgemm failed with CUBLAS_STATUS_EXECUTION_FAILED\n");
  return 1;
}

/// As fast as it can, in lines.
int flood(long bytes) {
  std::string line(99, 'x');
  line += '\n';
  std::string block;
  while (block.size() < 100'000) block += line;
  for (long left = bytes; left > 0; left -= static_cast<long>(block.size()))
    if (write(STDERR_FILENO, block.data(), block.size()) < 0) return 1;
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::string what = count > 1 ? words[1] : "";
  if (what == "product") return product();
  if (what == "twice") {
    product();
    return product();
  }
  if (what == "many") {  // the same failure, often
    for (int i = 0; i < 100'000; ++i) cuEventRecord(nullptr, nullptr);
    return product();
  }
  if (what == "forks") {
    product();
    if (fork() == 0) return product();
    while (wait(nullptr) > 0) {
    }
  }
  if (what == "hang") return cuCtxSynchronize();
  if (what == "hang_in_threads") {
    std::thread other([] { cuCtxSynchronize(); });
    cuCtxSynchronize();
  }
  if (what == "dies") {  // while the driver writes its log
    cuEventRecord(nullptr, nullptr);
    std::raise(SIGSEGV);
  }
  if (what == "flood") return flood(std::atol(words[2]));
  if (what == "terminals") {
    winsize size{};
    ioctl(STDERR_FILENO, TIOCGWINSZ, &size);
    std::printf("%d%d%d %d\n", isatty(0), isatty(1), isatty(2), size.ws_col);
    return 3;
  }
  return 0;
}
