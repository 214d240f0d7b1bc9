// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Writes each line by one write to a file opened for it. Lines of threads and forked processes stay whole, and a program may close
// descriptors that it did not open. Reports at the end of the process neither lock nor allocate.
#include "harness/injector/calls.hpp"
#include "harness/injector/slots.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>

namespace cufault::injector {
namespace {

using json = nlohmann::ordered_json;

/// While an object lives, writing to a pipe without a reader gives this thread EPIPE and no signal.
class no_broken_pipe {
 public:
  no_broken_pipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    already_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~no_broken_pipe() {
    const timespec at_once{};
    if (!already_)
      while (sigtimedwait(&pipe_, nullptr, &at_once) >= 0) {
      }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  no_broken_pipe(const no_broken_pipe&) = delete;
  no_broken_pipe& operator=(const no_broken_pipe&) = delete;

 private:
  sigset_t pipe_{}, before_{};
  bool already_ = false;
};

/// Writes all parts by one write. Returns false with errno if less was written.
bool write_parts(int file, std::initializer_list<std::string_view> parts) {
  std::array<iovec, 10> pieces{};
  std::size_t count = 0, bytes = 0;
  for (const std::string_view part : parts) {
    pieces[count++] = {const_cast<char*>(part.data()), part.size()};
    bytes += part.size();
  }
  int error = 0;
  bool whole = false;
  {
    const no_broken_pipe guard;  // its destructor calls sigtimedwait, which sets errno
    const ssize_t written = writev(file, pieces.data(), static_cast<int>(count));
    error = written < 0 ? errno : ENOSPC;  // a partial write: the disk is full
    whole = written == static_cast<ssize_t>(bytes);
  }
  errno = error;
  return whole;
}

/// Opens the log for each line. Returns false with errno if it cannot be written.
bool write_to_log(std::initializer_list<std::string_view> parts) {
  const char* name = asked_for().log.c_str();
  // Fails at once for a pipe without a reader.
  const int file = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
  const bool written = file >= 0 && write_parts(file, parts);
  const int error = errno;
  if (file >= 0) close(file);
  errno = error;
  return written;
}

std::string line_of(const json& event) {
  return event.dump(-1, ' ', true, json::error_handler_t::replace) + '\n';
}

/// Writes an event that may be lost: a beginning or a look-up.
void write_line(const json& event) {
  const std::string text = line_of(event);
  if (asked_for().log.empty())
    write_parts(STDERR_FILENO, {text});
  else
    write_to_log({text});
}

/// Writes an injection. Fails loudly, because a log without injections means that none happened.
void write_injection(const json& event) {
  const std::string text = line_of(event);
  const std::string& log = asked_for().log;
  if (!log.empty() && write_to_log({text})) return;
  static constinit std::atomic<bool> said{false};
  if (!log.empty() && !said.exchange(true))
    say(fmt::format("{}: {}; injections are told here instead, and no counts", log, strerror(errno)));
  write_parts(STDERR_FILENO, {text});
}

/// Decimal digits, made without a lock or an allocation.
class digits {
 public:
  explicit digits(std::uint64_t number)
      : end_(std::to_chars(text_.data(), text_.data() + text_.size(), number).ptr) {}
  operator std::string_view() const { return {text_.data(), static_cast<std::size_t>(end_ - text_.data())}; }

 private:
  std::array<char, 20> text_{};
  char* end_;
};

bool write_count(const call_count& one, std::uint64_t calls) {
  return write_to_log({R"({"event":"calls","function":)", one.function_json, R"(,"resolved_by":)",
                       one.resolver_json, R"(,"calls":)", digits(calls), R"(,"pid":)",
                       digits(static_cast<std::uint64_t>(getpid())), "}\n"});
}

/// Writes the totals of each rule in this process. Returns false if the log cannot be written.
bool write_totals() {
  const reading_rules reading;
  for (const auto& r : current_rules()->all)
    if (!write_to_log({R"({"event":"rule","rule":)", digits(r->number), R"(,"held":)",
                       digits(r->held - r->held_by_parent), R"(,"acted":)",
                       digits(r->acted - r->acted_in_parent), R"(,"pid":)",
                       digits(static_cast<std::uint64_t>(getpid())), "}\n"}))
      return false;
  return true;
}

double now() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

json what_it_did(const rule& r) {
  switch (r.does) {
    case effect::fail:
      return is_host_function(r.function) ? json("ENOMEM") : json(code_name(r.of, r.code));
    case effect::delay:
      return {{"delay_ms", r.delay.count()}};
    case effect::trap:
      return "trap";
    case effect::device_assert:
      return "assert";
    case effect::driver_version:
      return {{"driver_version", r.driver_version}};
    case effect::hide:
      return "hidden";
    case effect::budget:
      return "CUDA_ERROR_OUT_OF_MEMORY";
    case effect::log:
      return "none";
    case effect::drop:
      return "dropped";
    case effect::spin:
      return "spins";
    case effect::corrupt: {
      constexpr std::array names{"bit", "element", "nan", "tile"};
      json did{{"corrupt", names[static_cast<std::size_t>(r.how)]}, {"seed", r.seed}};
      if (r.argument)
        did.update({{"argument", *r.argument}, {"elements", r.elements}, {"format", r.format->name}});
      return did;
    }
  }
  return nullptr;
}

json address_of(const void* where) {
  return where != nullptr ? json(fmt::format("{}", where)) : json(nullptr);
}

/// Adds the facts of a call to its line.
void add_call(json& line, const call_facts& call) {
  const module_place from = place_of(call.address);
  line["caller"] = call.caller;
  if (from.path != nullptr) line["offset"] = fmt::format("{:#x}", from.offset);
  if (const char* symbol = symbol_at(call.address, call.caller.data()); symbol != nullptr)
    line["symbol"] = symbol;
  if (call.stack) line["stack"] = fmt::format("{:016x}", *call.stack);
  line["thread"] = call.thread;
}

/// The callers, for people who look for a place in a source. Symbols are those that a file exports.
json frames_of(const void* caller) {
  json frames = json::array();
  for (const void* at : callers_of(caller)) {
    const module_place place = place_of(at);
    json frame{{"file", place.path != nullptr ? place.path : "(made while running)"},
               {"offset", fmt::format("{:#x}", place.offset)}};
    if (const char* symbol = symbol_at(at, library_at(at)); symbol != nullptr) frame["symbol"] = symbol;
    frames.push_back(frame);
  }
  return frames;
}

/// The calling thread's stack in Python, as a traceback of functions without code; "" outside of Python. Needs no lock of the interpreter.
std::string python_stack() {
  auto* thread = reinterpret_cast<void* (*)()>(dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState"));
  auto* dump = reinterpret_cast<void (*)(int, void*)>(dlsym(RTLD_DEFAULT, "_Py_DumpTraceback"));
  void* here = thread != nullptr && dump != nullptr ? thread() : nullptr;
  const int file = here != nullptr ? memfd_create("cufault", MFD_CLOEXEC) : -1;
  if (file < 0) return {};
  dump(file, here);
  std::string text(1U << 14, '\0');
  const ssize_t size = pread(file, text.data(), text.size(), 0);
  close(file);
  std::string_view rest =
      std::string_view(text).substr(0, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  std::string lines;  // the dump begins with the innermost
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    if (line.find("File \"") != line.npos) lines = std::string(line) + "\n\n" + lines;
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
  return lines.empty() ? "" : "Traceback (most recent call last):\n" + lines;
}

void add_process_and_time(json& line) {
  line["pid"] = getpid();
  line["time"] = now();
}

}  // namespace

void report_beginning() {
  if (asked_for().log.empty()) return;
  const exempt_from_rules alone;
  json line{{"event", "began"},
            {"program", program_path()},
            {"version", CUFAULT_VERSION},
            {"rules", json::array()}};
  {
    const reading_rules reading;
    for (const auto& r : current_rules()->all) {
      json each{{"function", r->what.function}, {"does", what_it_did(r->what)}};
      if (r->what.sticky) each["sticky"] = true;
      if (!r->here) each["here"] = false;
      line["rules"].push_back(each);
    }
  }
  line["not_seen"] = {"functions of export tables", "other namespaces of dlmopen",
                      "libraries opened with RTLD_DEEPBIND", "statically linked programs"};
  for (const char* each : libraries_in_front()) line["in_front"].push_back(each);
  for (const known_library& each : libraries())
    if (front_of(each) != nullptr) line["libraries"].push_back(each.name);
  if (line.contains("libraries"))
    for (const char* what : {"statically linked libraries", "calls within a library", "dlvsym"})
      line["not_seen"].push_back(what);
  for (const char* rank : {"RANK", "LOCAL_RANK"})  // tell processes of one program apart
    if (const char* value = environment(rank); value != nullptr) line["environment"][rank] = value;
  add_process_and_time(line);
  write_line(line);
}

void report_injection(const active_rule& r, const call_facts& call, std::uint64_t ordinal,
                      const call_result* result, const corrupted* changed) {
  const exempt_from_rules alone;
  json line{{"event", r.what.does == effect::log ? "call" : "injected"},
            {"function", call.function},
            {"ordinal", ordinal}};
  // Which call of the process it is, whatever the rule: what --replay needs, which reads a file.
  if (call.number != 0 && r.what.does != effect::log && !asked_for().log.empty()) line["call"] = call.number;
  add_call(line, call);
  line["rule"] = r.number;
  if (changed != nullptr)
    line["changed"] = {{"elements", changed->elements},
                       {"row", changed->row},
                       {"column", changed->column},
                       {"was", fmt::format("{:#x}", changed->was)},
                       {"is", fmt::format("{:#x}", changed->is)}};
  if (r.what.does != effect::log) line["did"] = what_it_did(r.what);
  if (r.what.at_stack && r.what.does != effect::log) {
    line["frames"] = frames_of(call.address);
    if (const std::string python = python_stack(); !python.empty()) line["python"] = python;
  }
  if (r.what.sticky) line["context"] = address_of(call.context);
  if (call.bytes) line["bytes"] = *call.bytes;
  if (result != nullptr) {
    line[r.what.does == effect::log ? "result" : "really"] = code_name(r.what.of, result->code);
    line["microseconds"] = static_cast<double>(result->nanoseconds) / 1e3;
  }
  if (r.what.does == effect::log) {
    line["tid"] = syscall(SYS_gettid);
    if (result != nullptr) line["began_ns"] = result->began;
  }
  add_process_and_time(line);
  if (r.what.does == effect::log)
    write_line(line);
  else
    write_injection(line);
}

void report_sticky(const sticky_error& error, const call_facts& call) {
  const exempt_from_rules alone;
  json line{{"event", "sticky"}, {"function", call.function}, {"ordinal", error.ordinal}};
  add_call(line, call);
  line["rule"] = error.rule->number;
  line["did"] = what_it_did(error.rule->what);
  line["context"] = address_of(call.context);
  add_process_and_time(line);
  write_injection(line);
}

void report_no_injection(const active_rule& r, const call_facts& call, std::uint64_t ordinal,
                         std::string_view because) {
  const exempt_from_rules alone;
  write_injection({{"event", "not injected"},
                   {"function", call.function},
                   {"ordinal", ordinal},
                   {"rule", r.number},
                   {"because", because},
                   {"pid", getpid()}});
}

void report_removed_preload() {
  static constinit std::atomic<bool> told{false};
  if (told.exchange(true)) return;
  count_removed_preload();
  const exempt_from_rules alone;
  if (!asked_for().log.empty())
    write_to_log(
        {R"({"event":"preload removed","pid":)", digits(static_cast<std::uint64_t>(getpid())), "}\n"});
}

void report_counts() {
  static constinit std::atomic<bool> told{false};
  if (!counts_are_of_this_process()) return;
  if (!preloads_injector(environ)) report_removed_preload();
  if (asked_for().log.empty() || told.exchange(true)) return;
  const exempt_from_rules alone;
  if (!write_totals()) return;
  for (std::uint32_t slot = 0; slot < all_slots(); ++slot) {
    const call_count one = count_of(slot);
    if (one.calls != 0 && !write_count(one, one.calls)) return;
  }
  for (const auto* each = unwrapped_names(); each != nullptr; each = each->next)
    if (!write_to_log({R"({"event":"unwrapped","function":)", each->json, R"(,"pid":)",
                       digits(static_cast<std::uint64_t>(getpid())), "}\n"}))
      return;
}

void report_late_call(std::uint32_t slot) {
  const exempt_from_rules alone;
  if (!asked_for().log.empty()) write_count(count_of(slot), 1);
}

void report_environment_look_up(const char* library, const char* variable) {
  const exempt_from_rules alone;
  write_line({{"event", "getenv"}, {"caller", library}, {"variable", variable}, {"pid", getpid()}});
}

void say(std::string_view what) {
  const exempt_from_rules alone;
  write_parts(STDERR_FILENO, {fmt::format("cufault: {}\n", what)});
}

}  // namespace cufault::injector

namespace {

/// Destructors of other libraries run later and may still call the driver.
__attribute__((destructor)) void end() {
  cufault::injector::report_counts();
  if (cufault::injector::counts_are_of_this_process() && !cufault::injector::asked_for().log.empty())
    cufault::injector::tell_each_call();
}

}  // namespace
