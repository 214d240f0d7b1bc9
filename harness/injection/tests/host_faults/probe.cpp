// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Run by host_faults_test.cpp with and without libcufault_host.so: does one thing and prints the result in lines.
#include "harness/injection/host_faults.hpp"
#include "harness/model/case.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

namespace host_faults = cufault::host_faults;

struct library {
  explicit library(const char* name) : handle(dlopen(name, RTLD_NOW | RTLD_NOLOAD)) {}
  template <class Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(dlsym(handle, name));
  }
  [[nodiscard]] bool allocates(int way = 0) const {
    void* memory = allocate(way);
    std::free(memory);
    return memory != nullptr;
  }
  void* handle;
  void* (*allocate)(int) = function<void*(int)>("allocate");
  const char* (*ask)(const char*) = function<const char*(const char*)>("ask");
  const char* (*ask_securely)(const char*) = function<const char*(const char*)>("ask_securely");
};

const library one("libhost_one.so"), two("libhost_two.so");

void ask() {
  for (int i = 0; i < 3; ++i) std::printf("%s\n", one.ask("ASKED_BY_ONE"));
  std::printf("%s\n", two.ask_securely("ASKED_BY_TWO"));
  std::printf("%s\n", two.ask("ASKED"));
}

void look_ups() {
  ask();
  for (const auto& [by, variable] : host_faults::environment_look_ups()) {
    if (by.starts_with("libhost_")) std::printf("%s: %s\n", by.c_str(), variable.c_str());
  }
}

void too_many_look_ups() {
  for (int i = 0; i < 5000; ++i) one.ask(("VARIABLE_" + std::to_string(i)).c_str());
  host_faults::environment_look_ups();
}

/// Six allocations by each library, while the n-th of libhost_one should fail.
void six_allocations(unsigned long n, bool and_all_later) {
  std::string by_one, by_two;
  by_one.reserve(8), by_two.reserve(8);
  host_faults::fail_allocation("libhost_one", n, and_all_later);
  for (int i = 0; i < 6; ++i) {
    by_one += one.allocates() ? '+' : '-';
    by_two += two.allocates() ? '+' : '-';
  }
  const unsigned long counted = host_faults::allocations_counted();
  std::printf("one %s two %s counted %lu after %s\n", by_one.c_str(), by_two.c_str(), counted,
              one.allocates() ? "+" : "-");
}

void every_way() {
  for (int way = 0; way < 7; ++way) {
    host_faults::fail_allocation("libhost_one", 1);
    errno = 0;
    const bool failed = !one.allocates(way);
    const bool told = errno == ENOMEM;
    const bool once = one.allocates(way);
    const unsigned long counted = host_faults::allocations_counted();
    std::printf("%d %s%s%s counted %lu\n", way, failed ? "failed" : "worked", told ? " ENOMEM" : "",
                once ? ", worked" : ", failed", counted);
  }
}

void any_library() {
  host_faults::fail_allocation("", 2);
  const bool first = one.allocates(), second = two.allocates(), third = one.allocates();
  const unsigned long counted = host_faults::allocations_counted();
  std::printf("%d %d %d counted %lu\n", first, second, third, counted);
}

void threads() {
  std::atomic<bool> over{false};
  std::atomic<int> failed{0}, running{0};
  std::vector<std::thread> others;
  others.reserve(8);
  for (int i = 0; i < 8; ++i) {
    others.emplace_back([&] {
      ++running;
      while (!over) {
        if (!one.allocates()) ++failed;
        one.ask("ASKED_BY_ALL");
      }
    });
  }
  while (running < 8) std::this_thread::yield();
  host_faults::fail_allocation("libhost_one", 500);
  int here = 0;
  for (int i = 0; i < 1000; ++i) here += one.allocates() ? 0 : 1;
  const unsigned long counted = host_faults::allocations_counted();
  over = true;
  for (auto& other : others) other.join();
  std::printf("here %d of %lu, elsewhere %d\n", here, counted, failed.load());
}

void next_library() {
  std::printf("%s\n", one.function<const char*()>("whose_library_next")());
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string_view what = argc > 1 ? argv[1] : "";
  const unsigned long n = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 0;
  if (what == "ask") ask();
  if (what == "look_ups") look_ups();
  if (what == "too_many_look_ups") too_many_look_ups();
  if (what == "nth") six_allocations(n, false);
  if (what == "nth_and_later") six_allocations(n, true);
  if (what == "every_way") every_way();
  if (what == "any_library") any_library();
  if (what == "absent_library") host_faults::fail_allocation("libnothing", 1);
  if (what == "count_unasked") host_faults::allocations_counted();
  if (what == "threads") threads();
  if (what == "next_library") next_library();
  return 0;
} catch (const std::runtime_error& e) {
  std::printf("setup failed: %s\n", e.what());
  return 1;
}
