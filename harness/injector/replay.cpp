// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/injector/replay.hpp"

#include "harness/injector/rules.hpp"
#include "reports/base/json_input.hpp"
#include "reports/base/words.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <map>

namespace cufault::injector {
namespace {

using json = nlohmann::json;

constexpr std::size_t most = 500;  // they stand in a variable of the environment

/// The effect that a line tells, as keys of a rule.
json effect_of(const json& line) {
  const json& did = line.at("did");
  if (did.is_object()) return did;  // {"delay_ms": 5}, {"corrupt": "bit", "seed": 0}
  const auto said = did.get<std::string>();
  if (said == "trap" || said == "assert") return {{"kernel", said}};
  if (said == "dropped") return {{"drop_call", true}};
  if (said == "spins") return {{"spin", true}};
  json fails{{"return", said}};
  if (library_of(line.at("function").get<std::string>()) == nullptr) fails["force"] = true;
  if (line.contains("context")) fails["sticky"] = true;
  if (line.contains("really")) fails["when"] = "after";
  return fails;
}

}  // namespace

std::string rules_of_log(const std::filesystem::path& log) {
  const auto fail = [&](const std::string& why) { throw input_error(log.string() + ": " + why); };
  std::ifstream in(log);
  if (!in) fail("cannot be read");
  std::map<std::int64_t, json> programs;  // by process: the keys that tell it from others
  std::map<json, std::int64_t> processes;
  json rules = json::array();
  for (std::string text; std::getline(in, text);) {
    const json line = json::parse(text, nullptr, false);
    if (!line.is_object() || !line.contains("event") || !line.contains("pid")) continue;
    const auto pid = line["pid"].get<std::int64_t>();
    try {
      if (line["event"] == "began")
        programs[pid] = {
            {"process", std::filesystem::path(line.at("program").get<std::string>()).filename().string()},
            {"environment", line.value("environment", json::object())}};
      if (line["event"] != "injected") continue;
      if (!programs.contains(pid))
        fail(fmt::format("process {} was forked, or its beginning is missing: no rule tells it from others",
                         pid));
      const auto call = line.value("call", std::uint64_t{0});
      if (call == 0)
        fail(fmt::format("{} is told without the number of its call: it cannot be replayed",
                         line.at("function").get<std::string>()));
      json rule = programs[pid];
      if (const auto [known, is_new] = processes.emplace(rule, pid); known->second != pid)
        fail(fmt::format("{} acted in processes {} and {}, which neither RANK nor LOCAL_RANK tells apart",
                         rule.value("process", "it"), known->second, pid));
      rule.update(effect_of(line));
      rule.update({{"function", line.at("function")}, {"skip", call - 1}, {"hits", 1}});
      rules.push_back(std::move(rule));
    } catch (const json::exception&) {
      fail("no log of the injector: " + one_line(text.substr(0, 100)));
    }
  }
  if (rules.empty() || rules.size() > most)
    fail(fmt::format("{} injections; from 1 to {} can be replayed", rules.size(), most));
  return json{{"rules", std::move(rules)}}.dump();
}

}  // namespace cufault::injector
