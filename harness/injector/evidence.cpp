// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Every line is one write to a file opened for it, so that lines of threads and of forked processes stay whole, and a program that
// closes descriptors it did not open loses nothing.
#include "harness/injector/calls.hpp"
#include "harness/injector/driver_functions.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

namespace cufault::injector {
namespace {

using json = nlohmann::ordered_json;

void write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const auto n = ::write(file, text.data(), text.size());
    if (n <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

bool has_log() {
  const char* file = environment("CUFAULT_LOG");
  return file != nullptr && *file != '\0';
}

void write_line(const json& line) {
  const std::string text = line.dump(-1, ' ', true, json::error_handler_t::replace) + '\n';
  if (!has_log()) {
    write_all(STDERR_FILENO, text);
    return;
  }
  const int file = open(environment("CUFAULT_LOG"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) return;
  write_all(file, text);
  close(file);
}

double now() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

json what_it_did(const rule& r) {
  switch (r.does) {
    case effect::fail:
      return is_host_function(r.function) ? json("ENOMEM") : json(driver_code_name(r.code));
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
  }
  return nullptr;
}

}  // namespace

void report_injection(const active_rule& r, const call_facts& call, std::uint64_t ordinal,
                      const int* result) {
  const left_alone alone;
  json line{{"event", r.what.does == effect::log ? "call" : "injected"},
            {"function", call.function},
            {"ordinal", ordinal},
            {"caller", call.caller},
            {"thread", call.thread},
            {"rule", r.number}};
  if (r.what.does != effect::log) line["did"] = what_it_did(r.what);
  if (call.bytes) line["bytes"] = *call.bytes;
  if (result != nullptr) line["really"] = *result == 0 ? "CUDA_SUCCESS" : driver_code_name(*result);
  line["pid"] = getpid();
  line["time"] = now();
  write_line(line);
}

void report_counts() {
  if (!has_log()) return;
  const left_alone alone;
  for (const auto& [function, library, calls] : all_counts())
    write_line({{"event", "calls"},
                {"function", function},
                {"resolved_by", library},
                {"calls", calls},
                {"pid", getpid()}});
  for (const std::string& name : unwrapped_names())
    write_line({{"event", "unwrapped"}, {"function", name}, {"pid", getpid()}});
}

void report_environment_look_up(const char* library, const char* variable) {
  const left_alone alone;
  write_line({{"event", "getenv"}, {"caller", library}, {"variable", variable}, {"pid", getpid()}});
}

void say(std::string_view what) {
  const left_alone alone;
  write_all(STDERR_FILENO, fmt::format("cufault: {}\n", what));
}

}  // namespace cufault::injector

namespace {

__attribute__((destructor)) void end() {
  cufault::injector::report_counts();
}

}  // namespace
