// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// For any program: needs C++17 and threads; nothing of cufault or CUDA to include or to link.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>

namespace cufault {

enum class guard_when { failures, each };  ///< tests after which the guard looks

/// Tells between tests whether the CUDA contexts of this process live: the current one, and the primary contexts of all devices. Asks the
/// driver that the process has loaded; loads none, creates no context, waits for no kernel. gtest_guard.hpp and catch2_guard.hpp use it.
class context_guard {
 public:
  /// A test begins: words of the driver count from here, and left_behind compares with now.
  void begin(guard_when when) {
    if (auto* current = driver<int(unsigned*, unsigned)>("cuLogsCurrent");
        current == nullptr || current(&log_, 0) != 0)
      log_ = 0;
    ++unseen_;
    if (when == guard_when::each) look();
    before_ = now_;
  }

  /// Why a context is lost; empty if none is.
  std::string look() {
    now_ = {};
    void* here = nullptr;
    auto* current = driver<int(void**)>("cuCtxGetCurrent");
    if (hangs_ || getpid() != process_ || current == nullptr || current(&here) != 0) return "";
    // In a thread of its own: a driver that hangs does not hang the tests, and their current context stays theirs.
    auto answer = std::make_shared<std::promise<answer_of_driver>>();
    auto told = answer->get_future();
    std::thread([answer, here] { answer->set_value(ask(here)); }).detach();
    hangs_ = told.wait_for(std::chrono::seconds(5)) != std::future_status::ready;
    if (hangs_) return "cuMemGetInfo did not answer within 5 s";
    const answer_of_driver got = told.get();
    if (is_lost(got.code))
      return words(got.code) + (unseen_ < 2 ? ""
                                            : "; tests before this one that were not looked at: " +
                                                  std::to_string(unseen_ - 1));
    unseen_ = 0;
    now_.free = got.free;
    if (auto* peek = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "cudaPeekAtLastError"));
        peek != nullptr && here)
      now_.last_error = peek();
    for (std::size_t i = 0; i < made.size(); ++i) now_.calls[i] = calls(made[i].make) - calls(made[i].end);
    return "";
  }

  /// What there is more than when the test began, after look(); empty if nothing.
  std::string left_behind() const {
    std::string text;
    const auto add = [&](const std::string& what) { text += (text.empty() ? "" : "; ") + what; };
    if (before_.free && now_.free && *now_.free < *before_.free)
      add(std::to_string(*before_.free - *now_.free) + " bytes of device memory less are free");
    if (before_.last_error && now_.last_error && *now_.last_error != 0 &&
        now_.last_error != before_.last_error)
      add("the runtime's last error is " + std::to_string(*now_.last_error));
    for (std::size_t i = 0; i < made.size(); ++i)
      if (before_.free && now_.calls[i] > before_.calls[i])
        add(std::string(made[i].what) + ": " + std::to_string(now_.calls[i] - before_.calls[i]) +
            " more made than given back");
    return text;
  }
  /// False without the injector: streams, events and handles are not watched.
  static bool counts_calls() { return dlsym(RTLD_DEFAULT, "cufault_calls") != nullptr; }

 private:
  struct pair {
    const char *what, *make, *end;
  };
  static constexpr std::array<pair, 4> made{{{"streams", "cuStreamCreate*", "cuStreamDestroy*"},
                                             {"events", "cuEventCreate*", "cuEventDestroy*"},
                                             {"handles of cuBLAS", "cublasCreate", "cublasDestroy"},
                                             {"handles of cuDNN", "cudnnCreate", "cudnnDestroy"}}};
  struct state {
    std::optional<std::size_t> free;
    std::optional<int> last_error;
    std::array<long long, made.size()> calls{};
  };
  struct answer_of_driver {
    int code = 0;
    std::optional<std::size_t> free;
  };

  template <class Function>
  static Function* driver(const char* name) {
    void* loaded = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (loaded == nullptr) return nullptr;
    auto* found = reinterpret_cast<Function*>(dlsym(loaded, name));
    dlclose(loaded);
    return found;
  }
  static long long calls(const char* function) {
    auto* count = reinterpret_cast<unsigned long long (*)(const char*)>(dlsym(RTLD_DEFAULT, "cufault_calls"));
    return count != nullptr ? static_cast<long long>(count(function)) : 0;
  }
  /// As `explain` calls codes sticky, but for 709, after which a process may make another context.
  static bool is_lost(int code) {
    constexpr std::array<int, 10> lost{214, 700, 702, 710, 714, 715, 716, 717, 718, 719};
    return std::find(lost.begin(), lost.end(), code) != lost.end();
  }

  static answer_of_driver ask_in(void* context) {
    std::size_t free = 0, total = 0;
    auto* set = driver<int(void*)>("cuCtxSetCurrent");
    answer_of_driver answer{set(context), {}};
    if (answer.code == 0)
      answer.code = driver<int(std::size_t*, std::size_t*)>("cuMemGetInfo_v2")(&free, &total);
    if (answer.code == 0) answer.free = free;
    set(nullptr);
    return answer;
  }
  static answer_of_driver ask(void* here) {
    answer_of_driver answer = here != nullptr ? ask_in(here) : answer_of_driver{};
    int devices = 0, active = 0;
    unsigned flags = 0;
    driver<int(int*)>("cuDeviceGetCount")(&devices);
    for (int device = 0; device < devices && !is_lost(answer.code); ++device) {
      void* primary = nullptr;
      if (driver<int(int, unsigned*, int*)>("cuDevicePrimaryCtxGetState")(device, &flags, &active) != 0 ||
          active == 0)
        continue;
      const int retained = driver<int(void**, int)>("cuDevicePrimaryCtxRetain")(&primary, device);
      if (is_lost(retained)) answer.code = retained;
      if (retained != 0) continue;
      if (primary != here) answer.code = ask_in(primary).code;
      driver<int(int)>("cuDevicePrimaryCtxRelease_v2")(device);
    }
    return answer;
  }

  /// The code's name and what the driver logged of it first since begin(), else its text for the code.
  std::string words(int code) {
    const char *name = nullptr, *text = nullptr;
    driver<int(int, const char**)>("cuGetErrorName")(code, &name);
    driver<int(int, const char**)>("cuGetErrorString")(code, &text);
    const std::string named = name != nullptr ? name : std::to_string(code);
    std::string told = text != nullptr ? text : "", log(25600, '\0'), line,
                before;  // the most that the driver keeps
    std::size_t size = log.size() - 1;
    auto* dump = driver<int(unsigned*, char*, std::size_t*, unsigned)>("cuLogsDumpToMemory");
    log.resize(dump != nullptr && dump(log_ != 0 ? &log_ : nullptr, log.data(), &size, 0) == 0 ? size : 0);
    for (std::size_t at = 0, end = 0; end = log.find('\n', at), end != log.npos;
         at = end + 1, before = line) {
      line = log.substr(at, end - at);
      while (!line.empty() && line[0] == '[') {
        line.erase(0, line.find(']') == line.npos ? line.npos : line.find(']') + 1);
        line.erase(0, line.find_first_not_of(' '));
      }
      if (line.find('(' + named + ')') == line.npos) continue;
      told = before.empty() || before.find("Returning ") != before.npos ? line : before + "; " + line;
      break;
    }
    return told.empty() ? named : named + " (" + told + ")";
  }

  const pid_t process_ = getpid();  // in a forked child CUDA does not work
  bool hangs_ = false;
  unsigned log_ = 0;
  int unseen_ = 0;  // tests since the last look
  state before_, now_;
};

}  // namespace cufault
