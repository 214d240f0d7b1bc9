// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What `cufault why` reads of a process: the calls in flight (thread_calls), and lines of failures in a file of its own in the folder
// CUFAULT_WATCH. Each is a line of the driver's error log after the date and the call in flight, in UTC:
//   2026-11-27 cublasCreate_v2#12 [22:21:32.099][25642][CUDA][E] Returning 719 (CUDA_ERROR_LAUNCH_FAILED) from cuMemFree_v2
//   2026-11-27 cublasCreate_v2#12 [22:21:32.101][25642][cublas][E] returned CUBLAS_STATUS_INTERNAL_ERROR to program
// The process may be dying: nothing here locks or allocates.
#include "harness/injector/counts.hpp"
#include "harness/injector/slots.hpp"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>

namespace cufault::injector {
namespace {

constexpr int result_not_ready = 600;  // an event or stream that is not ready: no failure

/// Text of bounded length; drops what does not fit.
class short_text {
 public:
  void add(std::string_view text) {
    text = text.substr(0, all_.size() - 2 - used_);
    memcpy(all_.data() + used_, text.data(), text.size());
    used_ += text.size();
  }
  void add(std::uint64_t number, int digits = 1) {
    std::array<char, 20> text{};
    const char* end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
    for (auto width = end - text.data(); width < digits; ++width) add("0");
    add({text.data(), static_cast<std::size_t>(end - text.data())});
  }
  void end_line() { all_[used_++] = '\n'; }  // space for it is reserved
  [[nodiscard]] const char* c_str() {
    all_[used_] = '\0';
    return all_.data();
  }
  [[nodiscard]] std::string_view view() const { return {all_.data(), used_}; }

 private:
  std::array<char, 4096> all_;  // uninitialised, because many calls may fail
  std::size_t used_ = 0;
};

/// Hashes of the lines already written.
constinit std::array<std::atomic<std::uint64_t>, 256> seen_lines{};

/// The call in flight to which a message belongs: the outermost of a library, else the outermost. Null if there is none.
const slot* call_in_flight(const thread_calls* now, std::uint32_t& number) {
  if (now == nullptr || now->depth == 0) return nullptr;
  std::uint32_t at = 0;
  const auto kept = std::min<std::uint32_t>(now->depth, now->slot.size());
  for (std::uint32_t i = kept; i-- > 0;)
    if (slots[now->slot[i]].of != nullptr) at = i;
  number = now->number[at];
  return &slots[now->slot[at]];
}

thread_calls* calls_of_this_thread() {
  return cufault_counts != nullptr ? &reinterpret_cast<counts_block*>(cufault_counts)->now : nullptr;
}

/// True if no equal line was written yet. Of a message that tells which call returned what, only that part is compared; 192 of these are
/// kept, and 64 others (reasons), since reasons can name each kernel of a library.
bool is_new(std::string_view text, const void* call) {
  const auto returns = std::min(text.find("Returning "), text.find("returned "));
  const bool tells_result = returns != text.npos;
  if (tells_result) text.remove_prefix(returns);
  std::uint64_t hash = 14695981039346656037U ^ reinterpret_cast<std::uintptr_t>(call);
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  hash |= 1;
  for (std::size_t i = tells_result ? 64 : 0; i < (tells_result ? seen_lines.size() : 64); ++i) {
    std::uint64_t before = seen_lines[i];
    if (before == 0 && seen_lines[i].compare_exchange_strong(before, hash)) return true;
    if (before == hash) return false;
  }
  return false;
}

/// The first two messages (a reason and its code) that the driver already wrote in another call of the function. Written only if this call
/// fails too.
struct repeated_messages {
  const slot* call;
  std::uint32_t number, count;
  std::array<std::array<char, 256>, 2> text;
};
constinit thread_local repeated_messages repeated __attribute__((tls_model("initial-exec"))){};

void remember_repeated(const slot* call, std::uint32_t number, std::string_view text) {
  repeated_messages& of = repeated;
  if (of.call != call || of.number != number) of.count = 0;
  of.call = call;
  of.number = number;
  if (of.count == of.text.size()) return;
  std::array<char, 256>& kept = of.text[of.count++];
  text = text.substr(0, kept.size() - 1);
  memcpy(kept.data(), text.data(), text.size());
  kept[text.size()] = '\0';
}

/// Rank that a launcher gave this process; "" without one.
const char* rank_of_process() {
  for (const char* variable : {"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"})
    if (const char* rank = environment(variable); rank != nullptr && *rank != '\0') return rank;
  return "";
}

void write_line_of_call(const slot* call, std::uint32_t number, std::string_view who, std::string_view text) {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  const std::chrono::sys_seconds now{std::chrono::seconds{time.tv_sec}};
  const auto day = std::chrono::floor<std::chrono::days>(now);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{now - day};
  const auto add_two = [](short_text& to, auto value, std::string_view behind) {
    to.add(static_cast<std::uint64_t>(value), 2);
    to.add(behind);
  };
  short_text line, file;
  line.add(static_cast<std::uint64_t>(static_cast<int>(date.year())), 4);
  line.add("-");
  add_two(line, static_cast<unsigned>(date.month()), "-");
  add_two(line, static_cast<unsigned>(date.day()), " ");
  line.add(call != nullptr ? call->function.text : "-");
  if (call != nullptr) {
    line.add("#");
    line.add(number);
  }
  line.add(" [");
  add_two(line, clock.hours().count(), ":");
  add_two(line, clock.minutes().count(), ":");
  add_two(line, clock.seconds().count(), ".");
  line.add(static_cast<std::uint64_t>(time.tv_nsec / 1'000'000), 3);
  line.add("][");
  line.add(static_cast<std::uint64_t>(syscall(SYS_gettid)));
  line.add("][");
  line.add(who);
  line.add("][E] ");
  for (const char c : text) line.add(std::string_view(static_cast<unsigned char>(c) < ' ' ? " " : &c, 1));
  line.end_line();
  file.add(asked_for().watch);
  file.add("/");
  if (const std::string_view rank = rank_of_process(); rank.find('/') == rank.npos && !rank.empty()) {
    file.add("rank");
    file.add(rank);
    file.add(".");
  }
  file.add("pid");
  file.add(static_cast<std::uint64_t>(getpid()));
  file.add(".log");
  int cancelled = 0;  // no cancellation here, where the write would be a cancellation point
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelled);
  if (const int opened = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0600);
      opened >= 0) {
    [[maybe_unused]] const ssize_t written = write(opened, line.view().data(), line.view().size());
    close(opened);
  }
  pthread_setcancelstate(cancelled, nullptr);
}

/// Writes each line once for each function.
void write_failure(const slot* call, std::uint32_t number, std::string_view who, std::string_view text) {
  const bool of_driver = who == "CUDA";
  if (!is_new(text, call)) {
    if (of_driver && call != nullptr) remember_repeated(call, number, text);
    return;
  }
  if (repeated.call == call && repeated.number == number) {
    for (std::uint32_t i = 0; i < repeated.count; ++i)
      write_line_of_call(call, number, "CUDA", repeated.text[i].data());
    repeated.count = 0;
  }
  write_line_of_call(call, number, who, text);
}

/// Called in the thread whose call fails, during that call.
void take_message(void*, unsigned, char* message, std::size_t length) {
  if (exempt_from_rules::now()) return;  // a call of this library, not of the program
  const int before = errno;
  std::uint32_t number = 0;
  thread_calls* now = calls_of_this_thread();
  if (now != nullptr) now->told = now->begun;
  std::string_view text{message, strnlen(message, length)};
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  const slot* call = call_in_flight(now, number);
  write_failure(call, number, "CUDA", text);
  errno = before;
}

}  // namespace

void watch_driver() {
  static constinit std::atomic<bool> done{false};
  if (!watching() || done.exchange(true)) return;
  const exempt_from_rules alone_now;
  using register_callback = int(void (*)(void*, unsigned, char*, std::size_t), void*, void**);
  auto* registers = reinterpret_cast<register_callback*>(driver_function_at("cuLogsRegisterCallback"));
  void* handle = nullptr;
  if (registers != nullptr) registers(take_message, nullptr, &handle);
}

void begin_watch_of_child() {
  for (auto& each : seen_lines) each = 0;
}

std::uint32_t begin_watched(std::uint32_t index) {
  thread_calls& now = *calls_of_this_thread();
  const std::uint32_t depth = now.depth++;
  now.slot[depth % now.slot.size()] = index;
  now.number[depth % now.number.size()] = now.begun;
  now.last[now.begun++ % now.last.size()] = static_cast<std::uint16_t>(index);
  return depth;
}

void end_watched(std::uint32_t index, std::uint32_t depth, std::int32_t result) {
  thread_calls* now = calls_of_this_thread();
  if (now == nullptr) return;  // the thread is ending
  now->depth = depth;
  if (result != 0) cufault_call_failed(index, result);
}

}  // namespace cufault::injector

void cufault_call_failed(std::uint32_t index, std::int32_t result) {
  using namespace cufault::injector;
  const thread_calls* now = calls_of_this_thread();
  if (now == nullptr || result == result_not_ready || exempt_from_rules::now()) return;
  const int before = errno;
  const slot& s = slots[index];
  std::uint32_t number = now->number[now->depth % now->number.size()];
  short_text text;
  if (s.of != nullptr) {
    text.add("returned ");
    const auto known = std::find_if(s.of->codes.begin(), s.of->codes.end(),
                                    [&](const library_code& code) { return code.number == result; });
    if (known != s.of->codes.end())
      text.add(known->name);
    else
      text.add(static_cast<std::uint32_t>(result));
    text.add(" to ");
    text.add(s.library);
    write_failure(&s, number, s.of->name, text.view());
  } else if (static_cast<std::int32_t>(now->told - number) <= 0) {  // the driver's log did not tell it
    text.add("Returning ");
    text.add(static_cast<std::uint32_t>(result));
    text.add(" (");
    text.add(known_code_name(result));
    text.add(") from ");
    text.add(s.function.text);
    const slot* call = call_in_flight(now, number);
    write_failure(call != nullptr ? call : &s, number, "CUDA", text.view());
  }
  errno = before;
}
