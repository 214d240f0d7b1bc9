// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/injector/chrome_trace.hpp"

#include "harness/injector/library_functions.hpp"
#include "reports/base/json_input.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <ostream>
#include <string>

namespace cufault::injector {
namespace {

std::string quoted_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

std::string event_of_process(const json_cursor& line) {
  const auto program = std::filesystem::path(line.at("program").string()).filename().string();
  const auto pid = line.at("pid").unsigned_integer();
  return fmt::format(R"({{"ph":"M","name":"process_name","pid":{0},"tid":{0},"args":{{"name":{1}}}}})", pid,
                     quoted_text(program));
}

/// Copies numbers as text: a double cannot hold the nanoseconds of a long uptime.
std::string event_of_call(const json_cursor& line) {
  const auto began = line.at("began_ns").unsigned_integer();
  const auto function = line.at("function").string();
  const known_library* of = library_of(function);
  nlohmann::ordered_json arguments;
  for (const char* key : {"caller", "symbol", "offset", "result", "thread", "bytes", "stack"})
    if (line.has(key)) arguments[key] = line.at(key).value();
  return fmt::format(
      R"({{"ph":"X","cat":"{}","name":{},"pid":{},"tid":{},"ts":{}.{:03},"dur":{:.3f},"args":{}}})",
      of != nullptr ? of->name : "driver", quoted_text(function), line.at("pid").unsigned_integer(),
      line.at("tid").unsigned_integer(), began / 1000, began % 1000, line.at("microseconds").number(),
      arguments.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
}

}  // namespace

std::uint64_t write_chrome_trace(const std::filesystem::path& log, std::ostream& out) {
  std::uint64_t calls = 0;
  const char* between = "\n";
  out << R"({"displayTimeUnit":"ns","traceEvents":[)";
  std::ifstream in(log);
  int number = 0;
  for (std::string text; std::getline(in, text);) {
    try {
      const json_cursor line{parse_json(log.string(), text, ++number)};
      const auto kind = line.at("event").string();
      if (kind != "began" && kind != "call") continue;
      out << between << (kind == "call" ? event_of_call(line) : event_of_process(line));
      between = ",\n";
      calls += kind == "call" ? 1 : 0;
    } catch (const input_error&) {
      continue;  // the last line may be cut by a full disk
    }
  }
  out << "\n]}\n";
  return calls;
}

}  // namespace cufault::injector
