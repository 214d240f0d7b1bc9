// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Swept by tests of cufault sweep (harness/cli/tests/sweep_program_fixture.hpp). Each word is a step that calls the fake driver or the
// stand-in for cuBLAS; most handle its failure wrongly. Some change their calls between runs: they count runs in the file of SWEPT_RUNS.
#include "harness/injector/tests/programs/blas_user.hpp"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
int cuInit(unsigned);
int cuDriverGetVersion(int* version);
int cuDeviceGetCount(int* count);
int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes);
int cuMemFree_v2(std::uint64_t address);
int cuMemGetInfo_v2(std::size_t* free_bytes, std::size_t* total_bytes);
int cuCtxGetCurrent(const void** context);
int cuCtxGetDevice(int* device);
}

namespace {

bool reports() {
  if (cuInit(0) == 0) return true;
  std::fprintf(stderr, "swept: initialization failed\n");
  return false;
}

void warns() {
  int device = 0;
  if (cuCtxGetDevice(&device) != 0) std::printf("warning: device query failed, going on\n");
}

void swallows() {
  int version = 0;
  cuDriverGetVersion(&version);
}

void crashes() {
  std::uint64_t address = 0;
  if (cuMemAlloc_v2(&address, 8) != 0) raise(SIGSEGV);
  cuMemFree_v2(address);
}

[[noreturn]] void hangs() {
  if (const char* file = std::getenv("SWEPT_HANGS"); file != nullptr) {
    if (FILE* out = std::fopen(file, "w"); out != nullptr) {
      std::fprintf(out, "%d\n", getpid());
      std::fclose(out);
    }
  }
  for (;;) pause();
}

void prints() {
  int count = 0;
  cuDeviceGetCount(&count);
  std::printf("devices: %d\n", count);
}

void leaks_memory() {
  std::uint64_t first = 0, second = 0;
  if (cuMemAlloc_v2(&first, 8) != 0) return;
  if (cuMemAlloc_v2(&second, 8) != 0) return;  // the bug: the first allocation stays
  cuMemFree_v2(second);
  cuMemFree_v2(first);
}

void leaks_a_process() {
  int device = 0;
  if (cuCtxGetDevice(&device) == 0) return;
  if (fork() == 0)
    for (;;) pause();
}

void leaks_shared_memory() {
  int device = 0;
  if (cuCtxGetDevice(&device) == 0) return;
  char name[64];
  std::snprintf(name, sizeof name, "/cufault-swept-%d", getpid());
  close(shm_open(name, O_CREAT | O_RDWR, 0600));
}

/// Counts from 1.
int number_of_run() {
  const char* file = std::getenv("SWEPT_RUNS");
  if (file == nullptr) return 1;
  FILE* runs = std::fopen(file, "a");
  if (runs == nullptr) return 1;
  std::fputc('.', runs);
  const int number = static_cast<int>(std::ftell(runs));
  std::fclose(runs);
  return number;
}

/// True in the first of all processes, also of those that are forked, in which the call fails.
bool fails_first() {
  char file[4096];
  std::snprintf(file, sizeof file, "%s.failed", std::getenv("SWEPT_RUNS"));
  int version = 0;
  return cuDriverGetVersion(&version) != 0 && open(file, O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0;
}

void version_so_often(int times) {
  int version = 0;
  for (int i = 0; i < times; ++i) cuDriverGetVersion(&version);
}

/// Only the last of five calls matters. An unrolled loop would have five call sites instead of one.
void prints_what_the_last_says() {
  const volatile int calls = 5;
  for (int i = 0; i < calls; ++i) {
    int count = 1;
    const int result = cuDeviceGetCount(&count);
    if (result != 0 && i == 4) std::printf("devices: none\n");
  }
}

// ---- steps that call cuBLAS ----

int multiplies(float* c) {
  return cublasSgemm_v2(nullptr, 0, 0, 1, 1, 1, nullptr, nullptr, 1, nullptr, 1, nullptr, c, 1);
}

bool reports_products() {
  float c = 0;
  const volatile int calls = 3;
  for (int i = 0; i < calls; ++i) {
    if (multiplies(&c) == 0) continue;
    std::fprintf(stderr, "swept: a product was not made\n");
    return false;
  }
  return true;
}

void crashes_without_a_handle() {
  void* handle = nullptr;
  if (cublasCreate_v2(&handle) != 0) raise(SIGSEGV);
}

void swallows_a_library_s_version() {
  int version = 0;
  cublasGetVersion_v2(nullptr, &version);
}

void prints_a_product() {
  float c = 0;
  multiplies(&c);
  std::printf("product: %g\n", static_cast<double>(c));
}

void leaks_memory_at_a_product() {
  std::uint64_t address = 0;
  float c = 0;
  if (cuMemAlloc_v2(&address, 8) != 0) return;
  if (multiplies(&c) != 0) return;  // the bug: the operand stays
  cuMemFree_v2(address);
}

// ---- steps before the first call, which a process that forks children for rows has behind it ----

void end_by_handler() {
  std::printf("ends\n");
}

std::FILE* opened = nullptr;
pid_t first_process = 0;
bool told_of_a_fork = false;
pthread_mutex_t held = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
pthread_t helper{};
std::atomic<bool> helper_ends{false};

void starts_helper() {
  pthread_create(
      &helper, nullptr,
      [](void*) -> void* {
        while (!helper_ends) usleep(1000);
        return nullptr;
      },
      nullptr);
}

void ends_helper() {
  helper_ends = true;
  if (helper != pthread_t{}) pthread_join(helper, nullptr);
  helper = {};
}

/// The kernel refuses forks by which a process gets this one's parent.
void forbids_siblings() {
  sock_filter steps[]{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
                      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)),
                      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_PARENT, 0, 1),
                      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
                      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog filter{sizeof steps / sizeof *steps, steps};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
    std::abort();
}

void begins_otherwise(char** words, int at) {
  const auto is = [&](const char* word) { return std::strcmp(words[at], word) == 0; };
  constexpr sigset_t no_signals{};
  if (is("begin")) std::printf("begins\n");  // in the buffer of a pipe
  if (is("begin_at_once")) {
    std::printf("begins\n");
    std::fflush(stdout);
  }
  if (is("at_exit")) std::atexit(end_by_handler);
  if (is("open_file")) opened = std::fopen("/proc/self/exe", "r");
  if (int ends[2]; (is("open_connection") && socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) ||
                   (is("open_pipe") && pipe(ends) != 0))
    std::abort();
  if ((is("open_eventfd") && eventfd(0, 0) < 0) || (is("open_epoll") && epoll_create1(0) < 0) ||
      (is("open_timer") && timerfd_create(CLOCK_MONOTONIC, 0) < 0) ||
      (is("open_signals") && signalfd(-1, &no_signals, 0) < 0) || (is("open_inotify") && inotify_init() < 0))
    std::abort();
  if (is("lock") && flock(open("/proc/self/exe", O_RDONLY), LOCK_EX | LOCK_NB) != 0) exit(4);
  if (is("note_process")) first_process = getpid();
  if (is("note_forks")) pthread_atfork(nullptr, nullptr, [] { told_of_a_fork = true; });
  if (is("hold_mutex")) pthread_mutex_lock(&held);
  if (is("thread")) starts_helper();
  if (is("thread_until_a_fork")) {
    starts_helper();
    pthread_atfork(ends_helper, nullptr, nullptr);
  }
  if (is("ignore_signals")) signal(SIGTERM, SIG_IGN);
  if (is("forbid_siblings")) forbids_siblings();
  if (is("alarm")) alarm(1);
  if (is("close_descriptors"))
    for (int file = 3; file < 1024; ++file) close(file);
  if (is("exec")) {
    words[at] = const_cast<char*>("executed");
    execv("/proc/self/exe", words);
  }
  if (is("fork") || is("go_into_background")) {
    const pid_t child = fork();
    if (child != 0) {
      int status = 0;
      if (is("fork")) waitpid(child, &status, 0);
      _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 9);
    }
    if (is("go_into_background"))
      for (setsid();;) pause();
  }
}

/// What such a step left behind.
void tells_of_beginning() {
  char first = 0;
  if (opened != nullptr && std::fread(&first, 1, 1, opened) == 1) std::printf("file begins with %d\n", first);
  if (first_process != 0 && first_process != getpid()) std::printf("in another process\n");
  if (told_of_a_fork) std::printf("was forked\n");
  std::printf("mutex: %d\n", pthread_mutex_unlock(&held));
}

/// Handles a failure by a call that it makes nowhere else, and by which it crashes.
void handles_badly() {
  int count = 0, version = 0;
  if (cuDeviceGetCount(&count) == 0) return;
  if (cuDriverGetVersion(&version) != 0) raise(SIGSEGV);
}

}  // namespace

int main(int count, char** words) {
  const int run = number_of_run();
  for (int i = 1; i < count; ++i) {
    const auto is = [&](const char* word) { return std::strcmp(words[i], word) == 0; };
    begins_otherwise(words, i);
    if (is("tell")) tells_of_beginning();
    if (is("never_ready") && run == 3)
      for (;;) pause();
    if (is("handle_badly")) handles_badly();
    if (is("report") && !reports()) return 3;
    if (is("warn")) warns();
    if (is("swallow")) swallows();
    if (is("crash")) crashes();
    if (is("crash_once") && fails_first()) raise(SIGSEGV);
    if (is("hang_once") && fails_first()) hangs();
    if (is("report_once") && fails_first()) return 3;
    if (const void* context = nullptr; is("hang") && cuCtxGetCurrent(&context) != 0) hangs();
    if (is("hang_at_once")) hangs();
    if (is("print")) prints();
    if (is("leak_memory")) leaks_memory();
    if (is("leak_process")) leaks_a_process();
    if (is("leak_shared_memory")) leaks_shared_memory();
    if (is("more_each_run")) version_so_often(run);
    if (is("only_at_first")) version_so_often(run < 3 ? 1 : 0);
    if (is("last_matters")) prints_what_the_last_says();
    if (is("products") && !reports_products()) return 4;
    if (is("handle")) crashes_without_a_handle();
    if (is("library_version")) swallows_a_library_s_version();
    if (is("print_product")) prints_a_product();
    if (is("leak_at_product")) leaks_memory_at_a_product();
    if (is("nested"))
      cublasGemmEx(nullptr, 0, 0, 1, 1, 1, nullptr, nullptr, 0, 1, nullptr, 0, 1, nullptr, nullptr, 0, 1, 0,
                   0);
    if (is("time")) std::printf("run %d\n", run);
    if (is("fail")) return 7;
  }
  std::printf("done\n");
  return 0;
}
