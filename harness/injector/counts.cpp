// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/injector/counts.hpp"

#include "harness/injector/slots.hpp"

#include <fmt/format.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

constinit thread_local std::uint64_t* cufault_counts __attribute__((tls_model("initial-exec"))) = nullptr;

namespace cufault::injector {
namespace {

/// Counts of one thread. When the thread ends the next new thread gets them: only sums are ever read.
struct thread_counts {
  counts_block* calls;
  thread_counts* next;       // in the list of all
  thread_counts* next_idle;  // in the list of those without a thread
};

// Read at the end of the process, in whatever state it is. Written with the state's mutex held.
constinit std::atomic<thread_counts*> counts{nullptr};
constinit thread_counts* idle = nullptr;
constinit std::atomic<pid_t> process{0};
constinit std::atomic<unsigned> threads{0};
constinit pthread_key_t end_of_thread{};
constinit thread_local unsigned thread_number __attribute__((tls_model("initial-exec"))) = 0;

/// The counts file of this process, if it has one.
struct counts_file {
  std::string path;
  counts_header* header;
};
constinit std::atomic<counts_file*> file{nullptr};
constinit std::atomic<bool> without_file{false};
constinit std::atomic<std::uint64_t> injections_without_file{0};

void write_name(const counts_file& to, std::uint32_t index) {
  auto* names = reinterpret_cast<counts_name*>(reinterpret_cast<char*>(to.header) + counts_names_at);
  const slot& s = slots[index];
  strncpy(names[index].function.data(), s.function.text.data(), names[index].function.size() - 1);
  strncpy(names[index].library.data(), s.library, names[index].library.size() - 1);
  to.header->slots = index + 1;
}

/// Maps zeroed pages of the file from `offset`, or anonymous pages without a file.
void* map_pages(const char* path, std::uint64_t offset, std::uint64_t size) {
  if (path == nullptr)
    return mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  const int opened = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (opened < 0) return MAP_FAILED;
  void* mapped = MAP_FAILED;
  if (ftruncate(opened, static_cast<off_t>(offset + size)) == 0)
    mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, opened, static_cast<off_t>(offset));
  const int error = errno;
  close(opened);
  errno = error;
  return mapped;
}

/// Returns a block without a file. Many are mapped at once, because a fork copies each mapping.
counts_block* block_without_file() {
  constexpr std::size_t at_once = 32;
  static constinit counts_block* next = nullptr;
  static constinit std::size_t left = 0;
  if (left == 0) {
    void* mapped = map_pages(nullptr, 0, at_once * sizeof(counts_block));
    if (mapped == MAP_FAILED) return nullptr;
    madvise(mapped, at_once * sizeof(counts_block),
            MADV_NOHUGEPAGE);  // most threads touch only one page of each
    next = static_cast<counts_block*>(mapped);
    left = at_once;
  }
  --left;
  return next++;
}

/// Takes the first blocks from static memory. If a thread allocates, the C library maps an arena for it, which every fork then copies.
thread_counts* new_thread_counts(counts_block* calls) {
  static constinit std::array<thread_counts, 1024> first{};
  static constinit std::size_t taken = 0;
  thread_counts* mine = taken < first.size() ? &first[taken++] : new thread_counts;
  *mine = {calls, counts, nullptr};
  return mine;
}

/// Returns the next block of the file.
counts_block* next_block_of_file(const counts_file& to) {
  void* mapped = map_pages(to.path.c_str(), counts_blocks_at + to.header->blocks * sizeof(counts_block),
                           sizeof(counts_block));
  if (mapped == MAP_FAILED) return nullptr;
  ++to.header->blocks;
  return static_cast<counts_block*>(mapped);
}

void open_file() {
  if (file != nullptr || without_file || asked_for().counts.empty()) return;
  static std::uint32_t opened = 0;  // exec keeps the pid, so each program of a process needs a number
  std::string path;
  do path = fmt::format("{}/{}.{}", asked_for().counts, getpid(), ++opened);
  while (access(path.c_str(), F_OK) == 0);
  void* header = map_pages(path.c_str(), 0, counts_blocks_at);
  if (header == MAP_FAILED) {
    without_file = true;
    if (watching() || errno == ENOENT) return;  // the command has ended and removed its folder
    return say(fmt::format("{}: {}; counts of this process are lost", path, strerror(errno)));
  }
  auto* begun = new counts_file{path, static_cast<counts_header*>(header)};
  begun->header->pid = static_cast<std::uint32_t>(getpid());
  begun->header->injections = injections_without_file.load();
  for (const auto& r : current_rules()->all)
    if (r->number < begun->header->acted.size())
      begun->header->acted[r->number] = r->acted - r->acted_in_parent;
  for (std::uint32_t i = 0; i < all_slots(); ++i) write_name(*begun, i);
  begun->header->magic = counts_header::expected_magic;
  file = begun;
}

void thread_ended(void* counts_of_thread) {
  cufault_counts = nullptr;  // a later call of this thread starts with a new block
  forget_last_error();
  locked w;
  auto* mine = static_cast<thread_counts*>(counts_of_thread);
  if (watching()) mine->calls->now.thread = 0;
  mine->next_idle = idle;
  idle = mine;
}

}  // namespace

void begin_counts() {
  process = getpid();
  pthread_key_create(&end_of_thread, thread_ended);
}

void begin_counts_of_process() {
  const settings& asked = asked_for();
  // Most processes of a command make no watched call. One empty file records that they loaded this library.
  if (watching() && asked.log.empty()) {
    const int loaded = open((asked.counts + "/loaded").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (loaded >= 0) close(loaded);
    return;
  }
  const locked w;
  open_file();
}

void begin_thread() {
  thread_counts* mine = nullptr;
  {
    const locked w;
    open_file();
    if (idle != nullptr) {
      mine = idle;
      idle = mine->next_idle;
    } else {
      const counts_file* to = file;
      counts_block* block = to != nullptr ? next_block_of_file(*to) : block_without_file();
      if (block == nullptr) return;
      counts = mine = new_thread_counts(block);
    }
  }
  if (thread_number == 0) thread_number = ++threads;
  pthread_setspecific(end_of_thread, mine);
  if (watching()) {
    mine->calls->now.thread = static_cast<std::uint32_t>(syscall(SYS_gettid));
    mine->calls->now.depth = 0;
  }
  cufault_counts = mine->calls->calls.data();
}

void begin_counts_of_child() {
  // The child must not write to the blocks of its parent's threads.
  counts = nullptr;
  idle = nullptr;
  file = nullptr;
  without_file = false;
  injections_without_file = 0;
  cufault_counts = nullptr;
  pthread_setspecific(end_of_thread, nullptr);
  for (std::uint32_t i = 0; i < all_slots(); ++i) {
    slots[i].passed_on = 0;
    for (const auto* each = slots[i].numbered.load(); each != nullptr; each = each->next) each->by->calls = 0;
  }
  process = getpid();
}

void name_in_counts(std::uint32_t index) {
  if (const counts_file* to = file; to != nullptr) write_name(*to, index);
}

void count_injection(active_rule& r) {
  ++r.acted;
  const counts_file* to = file;
  ++(to != nullptr ? to->header->injections : injections_without_file);
  if (to != nullptr && r.number < to->header->acted.size()) ++to->header->acted[r.number];
}

void count_removed_preload() {
  if (const counts_file* to = file; to != nullptr) to->header->preload_removed = true;
}

std::uint64_t all_injections() {
  const counts_file* to = file;
  return (to != nullptr ? to->header->injections : injections_without_file).load();
}

unsigned this_thread_number() {
  return thread_number;
}

call_count count_of(std::uint32_t index) {
  const slot& s = slots[index];
  std::uint64_t calls = 0;
  for (const thread_counts* each = counts; each != nullptr; each = each->next)
    calls += __atomic_load_n(&each->calls->calls[index], __ATOMIC_RELAXED);
  return {s.function.text.data(), s.function_json, s.resolver_json, calls};
}

bool counts_are_of_this_process() {
  return process == getpid();
}

}  // namespace cufault::injector
