// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/injection/program_sweep_record.hpp"

#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <set>

namespace cufault::program_sweep {
namespace {

using json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr int schema = 1;

std::string line(const json& value) {
  return value.dump(-1, ' ', true, json::error_handler_t::replace) + '\n';
}

void add_site(json& to, const call_site& site) {
  to["library"] = site.library;
  to["offset"] = site.offset;
  to["function"] = site.function;
  to["stack"] = site.stack;
}

call_site site_from(const json_cursor& at) {
  return {at.at("library").string(), at.at("offset").string(), at.at("function").string(),
          at.at("stack").string()};
}

outcome outcome_from(const json_cursor& at) {
  const auto found = outcome_named(at.string());
  if (!found) at.fail("no outcome of a sweep");
  return *found;
}

header header_from(const json_cursor& at) {
  if (at.at("schema").unsigned_integer() != schema) at.at("schema").fail("another version of such records");
  header h;
  h.version = at.at("version").string();
  h.began = at.at("began").string();
  for (const auto& word : at.at("command").items()) h.command.push_back(word.string());
  if (at.has("libraries"))
    for (const auto& name : at.at("libraries").items()) h.libraries.push_back(name.string());
  h.depth = at.at("depth").string();
  if (at.has("ok")) h.ok = at.at("ok").string();
  h.timeout_seconds = at.at("timeout_seconds").number();
  h.shard = at.at("shard").unsigned_integer();
  h.shards = at.at("shards").unsigned_integer();
  h.sites = at.at("sites").unsigned_integer();
  return h;
}

compared_site compared_from(const json_cursor& at) {
  const auto count = [&](const char* key) {
    return site_count{at.at(key).at("calls").unsigned_integer(),
                      at.at(key).at("processes").unsigned_integer()};
  };
  return {site_from(at), count("first"), count("second")};
}

row row_from(const json_cursor& at) {
  row r;
  r.site = site_from(at);
  r.ordinal = at.at("ordinal").unsigned_integer();
  r.code = at.at("code").string();
  r.came_to = outcome_from(at.at("outcome"));
  r.ended = at.at("ended").string();
  if (at.has("said")) r.said = at.at("said").string();
  r.acceptable = at.at("acceptable").boolean();
  r.injections = at.at("injections").unsigned_integer();
  r.seconds = at.at("seconds").number();
  if (at.has("left")) {
    const auto left = at.at("left");
    r.left.processes = static_cast<int>(left.at("processes").unsigned_integer());
    for (const auto& file : left.at("shared_memory").items()) r.left.shared_memory.push_back(file.string());
    r.left.device_allocations = left.at("device_allocations").integer();
  }
  if (at.has("repeats"))
    for (const auto& each : at.at("repeats").items()) r.repeats.push_back(outcome_from(each));
  return r;
}

}  // namespace

std::string quoted(const std::vector<std::string>& command) {
  constexpr std::string_view plain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
  std::string text;
  for (const std::string& word : command) {
    if (!text.empty()) text += ' ';
    if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) {
      text += word;
      continue;
    }
    text += '\'';
    for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += '\'';
  }
  return text;
}

std::string line_of(const header& h) {
  json value{{"line", "sweep"}, {"schema", schema}, {"version", h.version}, {"began", h.began}};
  value["command"] = h.command;
  if (!h.libraries.empty()) value["libraries"] = h.libraries;
  value["depth"] = h.depth;
  if (!h.ok.empty()) value["ok"] = h.ok;
  value["timeout_seconds"] = h.timeout_seconds;
  value["shard"] = h.shard;
  value["shards"] = h.shards;
  value["sites"] = h.sites;
  value["clean"] = {
      {"seconds", h.clean.milliseconds / 1000},      {"same_output", h.clean.same_output},
      {"same_errors", h.clean.same_errors},          {"processes_left", h.clean.processes},
      {"shared_memory_left", h.clean.shared_memory}, {"device_allocations_left", h.clean.device_allocations}};
  return line(value);
}

std::string line_of(const compared_site& s) {
  json value{{"line", "site"}};
  add_site(value, s.site);
  const auto count = [](const site_count& c) { return json{{"calls", c.calls}, {"processes", c.processes}}; };
  value["first"] = count(s.first);
  value["second"] = count(s.second);
  value["stable"] = s.is_stable();
  if (const auto why = why_left_alone(s.site); !why.empty()) value["left_alone"] = why;
  return line(value);
}

std::string line_of(const row& r, const std::vector<std::string>& command) {
  json value{{"line", "row"}};
  add_site(value, r.site);
  value["ordinal"] = r.ordinal;
  value["code"] = r.code;
  value["outcome"] = name_of(r.came_to);
  value["ended"] = r.ended;
  if (!r.said.empty()) value["said"] = r.said;
  value["acceptable"] = r.acceptable;
  value["injections"] = r.injections;
  value["seconds"] = r.seconds;
  if (r.left != left_behind{})
    value["left"] = {{"processes", r.left.processes},
                     {"shared_memory", r.left.shared_memory},
                     {"device_allocations", r.left.device_allocations}};
  if (!r.repeats.empty()) {
    value["repeats"] = json::array();
    for (const outcome each : r.repeats) value["repeats"].push_back(name_of(each));
    value["repeatable"] = r.is_repeatable();
  }
  value["again"] = "cufault inject --fail " + r.name() + " -- " + quoted(command);
  return line(value);
}

std::string line_of(const group_result& g) {
  return line({{"line", "group"},
               {"function", g.function},
               {"library", g.library},
               {"code", g.code},
               {"outcome", name_of(g.came_to)},
               {"calls", g.calls}});
}

std::string line_of(const totals& t) {
  return line({{"line", "end"},
               {"rows", t.rows},
               {"findings", t.findings},
               {"not_reached", t.not_reached},
               {"left_out", t.left_out},
               {"interrupted", t.interrupted},
               {"exit_code", t.exit_code}});
}

row read_row(std::string_view text) {
  return row_from(json_cursor{parse_json("row", text)});
}

earlier_record read_record(const fs::path& file) {
  const std::string text = read_text(file);
  earlier_record found;
  std::set<std::string> rows;
  int number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = text.find('\n', at);
    if (end == std::string::npos) break;
    const json_cursor line{parse_json(file.string(), std::string_view(text).substr(at, end - at), ++number)};
    const std::string kind = line.at("line").string();
    if ((number == 1) != (kind == "sweep")) line.fail("a record of a sweep begins with one line \"sweep\"");
    if (kind == "sweep") found.head = header_from(line);
    if (kind == "site") found.sites.push_back(compared_from(line));
    if (kind == "row") {
      found.rows.push_back(row_from(line));
      // After a line "end" only missing rows follow: a continued sweep repeats no row.
      if (!rows.insert(found.rows.back().name()).second)
        line.fail(fmt::format(
            "the row {} is there twice: two sweeps wrote this record; begin it anew with --record",
            one_line(found.rows.back().name())));
    }
    if (kind == "group") found.groups.push_back(text.substr(at, end + 1 - at));
    at = found.bytes = end + 1;
  }
  if (number == 0) throw input_error(file.string() + ": has no whole line; begin it anew with --record");
  if (found.sites.size() < found.head.sites)
    throw input_error(file.string() + ": was cut off before its first run; begin it anew with --record");
  return found;
}

}  // namespace cufault::program_sweep
