// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// For any program: needs C++17 and threads; nothing of cufault or CUDA to include or to link.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace cufault {

enum class guard_when { failures, each };          ///< tests after which the guard looks
enum class guard_rest { fresh_process, not_run };  ///< what becomes of the tests after the one that lost it

/// Tells between tests whether the CUDA contexts of this process live: the current one, and the primary contexts of all devices. Asks the
/// driver that the process has loaded; loads none, creates no context, waits for no kernel. gtest_guard.hpp and catch2_guard.hpp use it.
class context_guard {
 public:
  /// A test begins: words of the driver count from here, and left_behind compares with now.
  void begin(guard_when when) {
    auto* current = driver<int(unsigned*, unsigned)>("cuLogsCurrent");
    if (current == nullptr || current(&log_, 0) != 0) log_ = 0;
    ++unseen_;
    lost_before_ = when == guard_when::each && !look().empty();
    before_ = now_;
  }

  /// Why a context is lost; empty if none is.
  std::string look() {
    now_.clear();
    void* here = nullptr;
    auto* current = driver<int(void**)>("cuCtxGetCurrent");
    if (hangs_) return "the driver did not answer within 5 s";
    if (getpid() != process_ || current == nullptr || current(&here) != 0) return "";
    // In a thread of its own: a driver that hangs does not hang the tests, and their current context stays theirs.
    auto promised = std::make_shared<std::promise<answer>>();
    auto told = promised->get_future();
    std::thread([promised, here] { promised->set_value(ask(here)); }).detach();
    hangs_ = told.wait_for(std::chrono::seconds(5)) != std::future_status::ready;
    if (hangs_) return look();
    const answer got = told.get();
    if (is_lost(got.code))
      return words(got.code) + (lost_before_  ? "; it was lost before this test began"
                                : unseen_ < 2 ? ""
                                              : "; tests before this one that were not looked at: " +
                                                    std::to_string(unseen_ - 1));
    unseen_ = 0;
    if (got.used < 0) return "";
    now_["bytes in use on the device by any process"] = got.used;
    if (auto* peek = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "cudaPeekAtLastError")))
      now_["last error of the runtime"] = peek();
    if (auto* calls =
            reinterpret_cast<unsigned long long (*)(const char*)>(dlsym(RTLD_DEFAULT, "cufault_calls"))) {
      const auto made = [&](const char* make, const char* end) {
        return static_cast<long long>(calls(make)) - static_cast<long long>(calls(end));
      };
      now_["streams"] = made("cuStreamCreate*", "cuStreamDestroy*");
      now_["events"] = made("cuEventCreate*", "cuEventDestroy*");
      now_["handles of cuBLAS"] = made("cublasCreate", "cublasDestroy");
      now_["handles of cuDNN"] = made("cudnnCreate", "cudnnDestroy");
    }
    return "";
  }

  /// What there is more than when the test began, after look(); empty if nothing. Streams, events and handles are watched under
  /// `cufault inject` alone.
  std::string left_behind() const {
    std::string text;
    for (const auto& [what, count] : now_)
      if (const auto before = before_.find(what); before != before_.end() && count > before->second)
        text += (text.empty() ? "" : "; ") + what + ": " + std::to_string(before->second) + ", then " +
                std::to_string(count);
    return text;
  }

 private:
  struct answer {
    int code = 0;
    long long used = -1;  // of the current context's device
  };

  template <class Function>
  static Function* driver(const char* name) {
    void* loaded = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (loaded == nullptr) return nullptr;
    auto* found = reinterpret_cast<Function*>(dlsym(loaded, name));
    dlclose(loaded);
    return found;
  }
  /// As `explain` calls codes sticky, but for 709, after which a process may make another context.
  static bool is_lost(int code) {
    constexpr std::array<int, 10> lost{214, 700, 702, 710, 714, 715, 716, 717, 718, 719};
    return std::find(lost.begin(), lost.end(), code) != lost.end();
  }

  static answer ask_in(void* context) {
    std::size_t free = 0, total = 0;
    auto* set = driver<int(void*)>("cuCtxSetCurrent");
    answer got{set(context), -1};
    if (got.code == 0) got.code = driver<int(std::size_t*, std::size_t*)>("cuMemGetInfo_v2")(&free, &total);
    if (got.code == 0) got.used = static_cast<long long>(total - free);
    set(nullptr);
    return got;
  }
  static answer ask(void* here) {
    answer got = here != nullptr ? ask_in(here) : answer{};
    int devices = 0, active = 0;
    unsigned flags = 0;
    driver<int(int*)>("cuDeviceGetCount")(&devices);
    for (int device = 0; device < devices && !is_lost(got.code); ++device) {
      void* primary = nullptr;
      if (driver<int(int, unsigned*, int*)>("cuDevicePrimaryCtxGetState")(device, &flags, &active) != 0 ||
          active == 0)
        continue;
      got.code = driver<int(void**, int)>("cuDevicePrimaryCtxRetain")(&primary, device);
      if (got.code != 0) continue;
      if (primary != here) got.code = ask_in(primary).code;
      driver<int(int)>("cuDevicePrimaryCtxRelease_v2")(device);
    }
    return got;
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
  bool hangs_ = false, lost_before_ = false;
  unsigned log_ = 0;
  int unseen_ = 0;  // tests since the last look
  std::map<std::string, long long> before_, now_;
};

/// The program started anew, in place of the process that lost its context: same arguments, and told which tests are left.
class fresh_process {
 public:
  int number = 1;         ///< of this process
  std::size_t tests = 0;  ///< that were left for it
  std::string list;       ///< the file that start() was given, open until the end
  std::string lost;       ///< the first loss of the processes before: "TEST: why"

  fresh_process() {
    const char* told = std::getenv(variable);
    if (told == nullptr) return;
    std::istringstream in(told);
    std::getline(in >> number >> tests >> list >> std::ws, lost);
    unsetenv(variable);  // not for what the tests start
  }
  bool goes_on() const { return number > 1; }

  /// "report.2.xml" of process 2 for "report.xml" of process 1: none writes over another one's.
  static std::string file_of(int process, const std::string& file, int of_process = 1) {
    const std::string now = of_process > 1 ? "." + std::to_string(of_process) : "";
    std::size_t dot = file.rfind('.');
    if (dot == file.npos || dot < file.find_last_of('/') + 1) dot = file.size();
    std::size_t end = dot;
    if (end > now.size() && file.compare(end - now.size(), now.size(), now) == 0) end -= now.size();
    return file.substr(0, end) + '.' + std::to_string(process) + file.substr(dot);
  }

  /// Replaces this process where fewer tests are left than it began with: so there is an end. Returns why it could not. What stands behind
  /// one of `options_of_files` becomes the file of the next process.
  std::string start(const std::string& lost_now, std::size_t left, const std::string& text,
                    const std::string& option = "",
                    const std::vector<std::string>& options_of_files = {}) const {
    if (goes_on() && left >= tests) return "the tests that are left are no fewer than before";
    const int file = memfd_create("cufault guard", 0);
    if (file < 0 || write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
      return std::strerror(errno);
    const std::string path = "/proc/self/fd/" + std::to_string(file);
    std::vector<std::string> words;
    std::ifstream in("/proc/self/cmdline", std::ios::binary);
    for (std::string word; std::getline(in, word, '\0');) words.push_back(word);
    for (std::size_t i = 1; i < words.size(); ++i)
      for (const std::string& each : options_of_files) {
        const std::size_t begin = words[i - 1] == each ? 0 : each.size() + 1;
        const bool has_value =
            begin == 0 || words[i].rfind(each + '=', 0) == 0 || words[i].rfind(each + ':', 0) == 0;
        if (has_value && words[i][begin] != '%')  // %debug is no file
          words[i].replace(begin, words[i].npos, file_of(number + 1, words[i].substr(begin), number));
      }
    if (!option.empty()) {
      if (goes_on()) words.pop_back();
      words.push_back(option + path);
    }
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const std::string told = std::to_string(number + 1) + ' ' + std::to_string(left) + ' ' + path + ' ' +
                             (goes_on() ? lost : lost_now);
    if (setenv(variable, told.c_str(), 1) != 0 || fchdir(folder_) != 0) return std::strerror(errno);
    std::cout.flush();
    std::fflush(nullptr);
    execv("/proc/self/exe", arguments.data());
    return std::strerror(errno);
  }

 private:
  static constexpr const char* variable = "CUFAULT_GUARD_GOES_ON";
  const int folder_ = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
};

}  // namespace cufault
