// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/injection/program_sweep_record.hpp"

#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <map>
#include <utility>

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

json json_of(const further_call& call) {
  json value;
  add_site(value, call.site);
  value["ordinal"] = call.ordinal;
  value["code"] = call.code;
  return value;
}

std::optional<further_call> further_call_from(const json_cursor& row, const char* key) {
  if (!row.has(key)) return {};
  const auto at = row.at(key);
  return further_call{site_from(at), at.at("ordinal").unsigned_integer(), at.at("code").string()};
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
  if (at.has("unacceptable"))
    for (const auto& name : at.at("unacceptable").items()) h.unacceptable.push_back(name.string());
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
  r.then = further_call_from(at, "then");
  r.further = further_call_from(at, "further");
  if (at.has("where"))
    for (const auto& each : at.at("where").items()) r.where.push_back(each.string());
  if (at.has("python")) r.python = at.at("python").string();
  if (at.has("why")) r.why = at.at("why").string();
  r.forked = at.has("forked");
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
  if (!h.unacceptable.empty()) value["unacceptable"] = h.unacceptable;
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

std::string line_that_repeats(const row& r, const std::vector<std::string>& command) {
  const std::string then = r.then ? " --fail " + fail_text(r.then->site, r.then->ordinal, r.then->code) : "";
  return fmt::format("cufault inject --fail {}{} -- {}", fail_text(r.site, r.ordinal, r.code), then,
                     quoted(command));
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
  if (r.then) value["then"] = json_of(*r.then);
  if (r.further) value["further"] = json_of(*r.further);
  if (!r.where.empty()) value["where"] = r.where;
  if (!r.python.empty()) value["python"] = r.python;
  if (!r.why.empty()) value["why"] = r.why;
  if (r.forked) value["forked"] = true;
  value["again"] = line_that_repeats(r, command);
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
  json value({{"line", "end"},
              {"rows", t.rows},
              {"findings", t.findings},
              {"not_reached", t.not_reached},
              {"left_out", t.left_out},
              {"interrupted", t.interrupted},
              {"forked", t.forked},
              {"compared", t.compared},
              {"exit_code", t.exit_code}});
  if (!t.anew.empty()) value["anew"] = t.anew;
  return line(value);
}

row read_row(std::string_view text) {
  return row_from(json_cursor{parse_json("row", text)});
}

earlier_record read_record(const fs::path& file) {
  const std::string text = read_text(file);
  earlier_record found;
  std::map<std::string, bool> forked;  // by row
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
      const row& r = found.rows.back();
      const auto [earlier, is_new] = forked.emplace(r.name(), r.forked);
      const bool was_forked = std::exchange(earlier->second, r.forked);
      // Where forks differ, a sweep starts the command anew for rows that were forked.
      if (!is_new && (r.forked || !was_forked))
        line.fail(fmt::format(
            "the row {} is there twice: two sweeps wrote this record; begin it anew with --record",
            one_line(r.name())));
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
