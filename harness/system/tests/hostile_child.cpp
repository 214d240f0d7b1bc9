// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// A trial that misbehaves in every way that the runner must survive: hostile_child MODE [ARGUMENT]... Links nothing of cufault and is never
// sanitized: it writes its frames by hand, to check the format from outside, and a sanitizer would turn its signals into exit codes.
#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <vector>

namespace {

using arguments = std::vector<std::string>;
constexpr int report_fd = 3;

void write_all(int fd, const std::string& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const auto n = write(fd, bytes.data() + sent, bytes.size() - sent);
    if (n <= 0) _exit(99);
    sent += static_cast<std::size_t>(n);
  }
}

void send(const std::string& json) {
  write_all(report_fd, "CF1 " + std::to_string(json.size()) + "\n" + json + "\n");
}

void begin(const std::string& api) {
  send(R"({"t":"begin","api":")" + api + R"(","variant":""})");
}
void end(const std::string& status, int value = 0) {
  send(R"({"t":"end","status":")" + status + R"(","ok":)" + (value == 0 ? "true" : "false") +
       R"(,"numbers":"unchecked","last_error":"cudaSuccess","ms":0.5})");
}
void done() {
  send(R"({"t":"done"})");
}

/// Tells the test the pid that must be gone afterwards.
void tell_pid() {
  write_all(STDOUT_FILENO, "pid " + std::to_string(getpid()) + "\n");
}

[[noreturn]] void hang() {
  while (true) pause();
}

/// Runs `work` in a new process, and returns when that closed its end of a pipe or wrote a byte to it.
void in_grandchild(const std::function<void(int ready)>& work) {
  int ready[2];
  if (pipe(ready) != 0) _exit(98);
  if (fork() == 0) {
    close(ready[0]);
    work(ready[1]);
    _exit(0);
  }
  close(ready[1]);
  char byte = 0;
  while (read(ready[0], &byte, 1) < 0) {
  }
  close(ready[0]);
}

void stay(int ready) {
  tell_pid();
  write_all(ready, "x");
  hang();
}

/// Calls setsid, ignores SIGTERM and forks again, so that nothing ties it to us.
void escape(int ready) {
  setsid();
  signal(SIGTERM, SIG_IGN);
  if (fork() == 0) stay(ready);
  _exit(0);
}

int signal_named(const std::string& name) {
  const std::map<std::string, int> known{{"segv", SIGSEGV}, {"abort", SIGABRT}, {"kill", SIGKILL}};
  return known.at(name);
}

void die_of(const std::string& name) {
  raise(signal_named(name));
  hang();
}

void list_descriptors() {
  DIR* directory = opendir("/proc/self/fd");
  while (const dirent* entry = readdir(directory)) {
    if (entry->d_name[0] == '.' || atoi(entry->d_name) == dirfd(directory)) continue;
    std::cout << "fd " << entry->d_name << "\n";
  }
  closedir(directory);
  char target[64] = {};
  if (readlink("/proc/self/fd/0", target, sizeof target - 1) > 0) std::cout << "stdin " << target << "\n";
}

void list_signals() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("SigBlk") || line.starts_with("SigIgn") || line.starts_with("SigCgt"))
      std::cout << line << "\n";
  }
  std::cout << (getpgrp() == getpid() ? "own group\n" : "group of another\n");
}

void write_much(std::size_t bytes) {
  const std::string line = std::string(99, 'o') + "\n";
  const auto fill = [&](int fd) {
    for (std::size_t n = 0; n < bytes; n += line.size()) write_all(fd, line);
  };
  const pid_t other = fork();
  if (other == 0) {
    fill(STDERR_FILENO);
    write_all(STDERR_FILENO, "end of stderr\n");
    _exit(0);
  }
  begin("cublasCreate");
  for (int i = 0; i < 1000; ++i) send(R"({"t":"log","line":")" + std::string(500, 'l') + R"("})");
  fill(STDOUT_FILENO);
  write_all(STDOUT_FILENO, "end of stdout\n");
  end("CUBLAS_STATUS_SUCCESS");
  while (waitpid(other, nullptr, 0) < 0) {
  }
}

const std::map<std::string, std::function<int(const arguments&)>> modes{
    // exit CODE [done]
    {"exit",
     [](const arguments& a) {
       if (a.size() > 1) done();
       return std::stoi(a.at(0));
     }},
    {"exit_in_call",
     [](const arguments& a) {
       begin("cublasDestroy");
       return std::stoi(a.at(0));
     }},
    // die SIGNAL in_call|outside|after_done|after_not_provoked
    {"die",
     [](const arguments& a) {
       begin("cublasCreate");
       end("CUBLAS_STATUS_SUCCESS");
       if (a.at(1) == "in_call") begin("cublasDestroy");
       if (a.at(1) == "after_not_provoked") send(R"({"t":"not_provoked","why":"too little memory"})");
       if (a.at(1) == "after_done") done();
       die_of(a.at(0));
       return 0;
     }},
    // hang [in_call]
    {"hang",
     [](const arguments& a) -> int {
       tell_pid();
       if (!a.empty()) begin("cublasCreate");
       hang();
     }},
    {"stop_itself",
     [](const arguments&) -> int {
       tell_pid();
       raise(SIGSTOP);
       hang();
     }},
    {"garbage",
     [](const arguments&) {
       begin("cublasCreate");
       write_all(report_fd, "CUDA error: out of memory\n");
       done();
       return 0;
     }},
    {"cut_short",
     [](const arguments&) {
       write_all(report_fd, "CF1 500\n{\"t\":\"beg");
       return 0;
     }},
    {"absurd_length",
     [](const arguments&) {
       write_all(report_fd, "CF1 99999999999999999999\n{}\n");
       return 0;
     }},
    {"write_much",
     [](const arguments& a) {
       write_much(std::stoul(a.at(0)));
       done();
       return 0;
     }},
    {"close_reports",
     [](const arguments&) {
       close(report_fd);
       std::cout << "still here\n";
       return 0;
     }},
    // In our process group, with all our pipes open.
    {"leave_grandchild",
     [](const arguments&) {
       in_grandchild(stay);
       done();
       return 0;
     }},
    {"leave_escaped",
     [](const arguments&) {
       in_grandchild(escape);
       done();
       return 0;
     }},
    {"hang_with_family",
     [](const arguments&) -> int {
       tell_pid();
       in_grandchild(stay);
       in_grandchild(escape);
       begin("cublasCreate");  // the family is complete
       hang();
     }},
    {"leave_group",
     [](const arguments& a) -> int {
       if (setpgid(0, std::stoi(a.at(0))) != 0) return 98;
       tell_pid();
       begin("cublasCreate");
       hang();
     }},
    {"leave_zombie",
     [](const arguments&) {
       in_grandchild([](int) {});
       done();
       return 0;
     }},
    {"environment",
     [](const arguments& a) {
       for (const auto& name : a) {
         const char* value = getenv(name.c_str());
         std::cout << name << (value != nullptr ? std::string("=") + value : " is unset") << "\n";
       }
       return 0;
     }},
    {"descriptors",
     [](const arguments&) {
       list_descriptors();
       return 0;
     }},
    {"signals",
     [](const arguments&) {
       list_signals();
       return 0;
     }},
    {"normal",
     [](const arguments&) {
       begin("cublasCreate");
       end("CUBLAS_STATUS_ALLOC_FAILED", 3);
       send(R"({"t":"apply","text":"free the memory, create again"})");
       begin("cublasCreate");
       end("CUBLAS_STATUS_SUCCESS");
       send(R"({"t":"context","state":"usable"})");
       done();
       return 0;
     }},
    {"row_timed_out",
     [](const arguments&) {
       begin("cublasSgemm");
       end("TIMED_OUT", 1);
       done();
       return 0;
     }},
    // say not_provoked|harness_failed|memory_moved|out_of_time WHY
    {"say",
     [](const arguments& a) {
       send(R"({"t":")" + a.at(0) + R"(","why":")" + a.at(1) + R"("})");
       done();
       return 0;
     }},
    // level range VALUE SUCCEEDS_FROM [INCONCLUSIVE_AT]
    {"ladder",
     [](const arguments& a) {
       const auto value = std::stoll(a.at(0));
       if (a.size() > 2 && value == std::stoll(a[2])) {
         send(R"({"t":"not_provoked","why":"another process took the memory"})");
       } else {
         begin("cublasCreate");
         value >= std::stoll(a.at(1)) ? end("CUBLAS_STATUS_SUCCESS") : end("CUBLAS_STATUS_ALLOC_FAILED", 3);
       }
       done();
       return 0;
     }},
};

}  // namespace

int main(int argc, char** argv) {
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const auto mode = argc > 1 ? modes.find(argv[1]) : modes.end();
  if (mode == modes.end()) {
    std::cerr << "hostile_child: unknown mode\n";
    return 97;
  }
  return mode->second(arguments(argv + 2, argv + argc));
}
