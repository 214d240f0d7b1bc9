// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/history/history.hpp"

#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"
#include "reports/history/database.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace fs = std::filesystem;

namespace cufault {
namespace {

constexpr std::int64_t application = 0x63756674;  // "cuft"

// As SQLite keeps it: a file with other tables is not ours.
constexpr std::array<std::string_view, 5> tables{
    "CREATE TABLE stack(id INTEGER PRIMARY KEY, keys TEXT NOT NULL UNIQUE) STRICT",
    R"(CREATE TABLE run(id INTEGER PRIMARY KEY, stack INTEGER NOT NULL, started TEXT NOT NULL, seed TEXT NOT NULL,
 made_by TEXT NOT NULL, UNIQUE(stack, started, seed, made_by)) STRICT)",
    "CREATE TABLE arm(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT",
    "CREATE TABLE seen(id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, text TEXT NOT NULL) STRICT",
    R"(CREATE TABLE result(arm INTEGER NOT NULL, run INTEGER NOT NULL, seen INTEGER NOT NULL, trials INTEGER NOT NULL,
 races INTEGER NOT NULL, PRIMARY KEY(arm, run, seen)) STRICT, WITHOUT ROWID)"};

std::string new_database() {
  std::string sql =
      fmt::format("PRAGMA application_id={}; PRAGMA user_version={}; BEGIN;", application, history_schema);
  for (const auto& table : tables) sql += fmt::format("{};", table);
  return sql + "COMMIT;";
}

void check(database& in) {
  if (in.number("PRAGMA application_id") != application)
    in.fail("is no history of cufault; name another file");
  const auto version = in.number("PRAGMA user_version");
  if (version > history_schema)
    in.fail(fmt::format("made by a newer cufault: schema {}, and this one reads {}; update cufault", version,
                        history_schema));
  if (version < history_schema)
    in.fail(fmt::format("is corrupted (schema {}); restore it from a backup", version));
  if (const auto said = in.text("PRAGMA quick_check(1)"); said != "ok")
    in.fail(fmt::format("is corrupted ({}); restore it from a backup", one_line(said)));
  std::set<std::string> missing(std::begin(tables), std::end(tables));
  statement each(in, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL");
  while (each.step())
    if (missing.erase(each.text(0)) == 0) in.fail("has tables that no cufault made; name another file");
  if (!missing.empty()) in.fail("is corrupted (a table is missing); restore it from a backup");
}

/// GPU and keys, as text that is equal where the stacks are.
std::string stack_text(const record& r) {
  nlohmann::json j{{"keys", nlohmann::json::object()}, {"gpu", ""}};
  for (const auto& [key, value] : keys_of(r)) j["keys"][key] = value;
  const nlohmann::json::json_pointer at{"/gpu/name"};
  if (r.stack->is_object() && r.stack->contains(at) && r.stack->at(at).is_string())
    j["gpu"] = r.stack->at(at);
  return dump_json(j);
}

history_stack stack_from(const std::string& text, const database& in) {
  history_stack s;
  try {
    const json_cursor top{parse_json("stack", text)};
    s.gpu = top.at("gpu").string();
    for (const auto& key : top.at("keys").keys()) s.keys[key] = top.at("keys").at(key).string();
  } catch (const input_error& e) {
    in.fail(fmt::format("is corrupted ({}); restore it from a backup", e.what()));
  }
  record labelled;
  *labelled.stack = {{"keys", s.keys}, {"gpu", {{"name", s.gpu}}}};
  s.label = stack_label(labelled);
  for (const auto& [key, value] : s.keys) {
    const bool told = key == "cublas" || key == "driver" || key == "compute_capability" ||
                      (key == "cublaslt" && s.keys.contains("cublas") && s.keys.at("cublas") == value);
    if (!told && value != "none") s.label += fmt::format(", {} {}", key, value);
  }
  return s;
}

struct seen_result {
  std::string digest, text;
  std::int64_t trials = 0;
};

seen_result result_of(const std::vector<signature>& signatures, std::size_t trials) {
  std::vector<plateau> plateaus;
  for (const auto& s : signatures) plateaus.push_back({.seen = s});
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : canonical(plateaus)) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  constexpr std::size_t readable = 2000;
  std::string text = describe(signatures);
  if (text.size() > readable) text = text.substr(0, readable - 3) + "...";
  return {fmt::format("{:016x}", hash), std::move(text), static_cast<std::int64_t>(trials)};
}

/// What trials of one run came to: of an arm that races, each signature.
std::vector<seen_result> results_of(const arm_result& arm, const std::vector<observation>& trials) {
  std::vector<seen_result> results;
  if (!arm.races.empty()) {
    for (const auto& counted : distinct_signatures(trials))
      results.push_back(result_of({counted.seen}, static_cast<std::size_t>(counted.trials)));
    return results;
  }
  // Refined levels only locate an edge, at another level in each run.
  std::vector<signature> stated;
  for (const auto& p : plateaus_of(trials))
    if (p.stated && (stated.empty() || stated.back() != p.seen)) stated.push_back(p.seen);
  return {result_of(stated, trials.size())};
}

struct id_of_row {
  std::int64_t id = 0;
  bool is_new = false;
};

/// Looks the row up by its keys, or adds it with these and `text`, where that is not empty.
id_of_row id_by(statement& find, statement& add, const std::string& text, const auto&... keys) {
  find.reset();
  (find.bind(keys), ...);
  id_of_row row;
  if (find.step()) {
    row.id = find.number(0);
  } else {
    add.reset();
    (add.bind(keys), ...);
    if (!text.empty()) add.bind(text);
    static_cast<void>(add.step());
    row = {add.number(0), true};
    add.reset();
  }
  find.reset();
  return row;
}

}  // namespace

history::history(const fs::path& file, access how) {
  std::error_code none;
  if (how == access::add) database::create(file, new_database());
  if (!fs::exists(file, none)) throw input_error(fmt::format("{}: there is no such file", file.string()));
  if (fs::is_regular_file(file, none) && fs::file_size(file, none) == 0)
    throw input_error(fmt::format("{}: is empty: no history of cufault; name another file", file.string()));
  in_ =
      std::make_unique<database>(file, how == access::add ? database::access::write : database::access::read);
  check(*in_);
}

history::~history() = default;

history::added history::add(const record& r) {
  added total;
  transaction all(*in_);
  statement find_stack(*in_, "SELECT id FROM stack WHERE keys = ?"),
      add_stack(*in_, "INSERT INTO stack(keys) VALUES(?) RETURNING id"),
      find_arm(*in_, "SELECT id FROM arm WHERE name = ?"),
      add_arm(*in_, "INSERT INTO arm(name) VALUES(?) RETURNING id"),
      find_run(*in_, "SELECT id FROM run WHERE stack = ? AND started = ? AND seed = ? AND made_by = ?"),
      add_run(*in_, "INSERT INTO run(stack, started, seed, made_by) VALUES(?, ?, ?, ?) RETURNING id"),
      find_seen(*in_, "SELECT id FROM seen WHERE digest = ?"),
      add_seen(*in_, "INSERT INTO seen(digest, text) VALUES(?, ?) RETURNING id"),
      find_results(*in_, "SELECT seen, trials FROM result WHERE arm = ? AND run = ?"),
      add_result(*in_, "INSERT INTO result(arm, run, seen, trials, races) VALUES(?, ?, ?, ?, ?)");
  const std::int64_t stack = id_by(find_stack, add_stack, {}, stack_text(r)).id;
  std::map<std::tuple<std::string, std::uint64_t, std::string>, std::int64_t> runs;
  for (const case_result& c : r.cases)
    for (const arm_result& arm : c.arms) {
      auto of = arm.runs;
      if (of.empty())
        of = {{.commit = r.commit,
               .dirty = r.dirty,
               .started = r.started,
               .seed = r.seed,
               .trials = arm.trials.size()}};
      auto from = arm.trials.begin();
      for (const run_of_trials& made : of) {
        const auto to = from + static_cast<std::ptrdiff_t>(made.trials);
        const std::vector<observation> trials(from, to);
        from = to;
        if (trials.empty() || !std::ranges::all_of(trials, comparable)) continue;
        const std::string by = made.commit + (made.dirty ? ", modified" : "");
        auto [run, fresh_run] = runs.try_emplace({made.started, made.seed, by}, 0);
        if (fresh_run) {
          const id_of_row row =
              id_by(find_run, add_run, {}, stack, made.started, std::to_string(made.seed), by);
          run->second = row.id;
          total.runs += row.is_new ? 1 : 0;
        }
        const std::int64_t name = id_by(find_arm, add_arm, {}, join_key(c.name, arm.name)).id;
        std::map<std::int64_t, std::int64_t> before, now;
        find_results.reset().bind(name).bind(run->second);
        while (find_results.step()) before[find_results.number(0)] = find_results.number(1);
        find_results.reset();
        for (const seen_result& s : results_of(arm, trials))
          now[id_by(find_seen, add_seen, s.text, s.digest).id] += s.trials;
        if (!before.empty()) {
          if (before != now)
            in_->fail(
                fmt::format("{} of the run of {} is there with another result; the record was changed after "
                            "it was added, and nothing of it was added now",
                            join_key(c.name, arm.name), one_line(made.started)));
          ++total.known;
          continue;
        }
        for (const auto& [id, count] : now)
          add_result.reset()
              .bind(name)
              .bind(run->second)
              .bind(id)
              .bind(count)
              .bind(static_cast<std::int64_t>(arm.races.empty() ? 0 : 1))
              .run();
        add_result.reset();
        ++total.arms;
      }
    }
  if (total.arms == 0) return total;  // leaves no trace
  all.commit();
  return total;
}

history_view history::view(const std::vector<std::string>& patterns) {
  history_view view;
  in_->run("BEGIN");  // one state of it, also while another process writes
  const auto corrupted = [&] { in_->fail("is corrupted (a row is missing); restore it from a backup"); };
  std::map<std::int64_t, std::size_t> stack_at;
  for (statement each(*in_, "SELECT id, keys FROM stack"); each.step();) {
    stack_at[each.number(0)] = view.stacks.size();
    view.stacks.push_back(stack_from(each.text(1), *in_));
  }
  struct run_row {
    std::size_t stack = 0;
    std::string started;
  };
  std::map<std::int64_t, run_row> runs;
  for (statement each(*in_, "SELECT id, stack, started FROM run"); each.step();) {
    const auto at = stack_at.find(each.number(1));
    if (at == stack_at.end()) corrupted();
    const std::string started = each.text(2);
    view.first = runs.empty() ? started : std::min(view.first, started);
    view.last = std::max(view.last, started);
    ++view.stacks[at->second].runs;
    runs[each.number(0)] = {at->second, started};
  }
  view.runs = runs.size();
  std::map<std::int64_t, std::string> names;
  for (statement each(*in_, "SELECT id, name FROM arm"); each.step();) names[each.number(0)] = each.text(1);
  std::map<std::int64_t, std::string> texts;
  for (statement each(*in_, "SELECT id, text FROM seen"); each.step();) texts[each.number(0)] = each.text(1);

  statement of_arm(*in_, "SELECT run, seen, trials, races FROM result WHERE arm = ? ORDER BY run");
  for (const auto& [id, name] : names) {
    const bool asked = patterns.empty() || std::ranges::any_of(patterns, [&arm = name](const auto& p) {
                         return fnmatch(p.c_str(), arm.c_str(), 0) == 0;
                       });
    if (!asked) continue;
    history_arm arm{.name = name};
    std::map<std::size_t, std::size_t> entry_at;                            // by stack
    std::map<std::pair<std::size_t, std::int64_t>, std::size_t> result_at;  // by stack and what was seen
    std::int64_t last_run = -1;
    of_arm.reset().bind(id);
    while (of_arm.step()) {
      const auto run = runs.find(of_arm.number(0));
      const auto text = texts.find(of_arm.number(1));
      if (run == runs.end() || text == texts.end()) corrupted();
      const auto [at, fresh] = entry_at.try_emplace(run->second.stack, arm.entries.size());
      if (fresh) arm.entries.push_back({.stack = run->second.stack});
      history_entry& entry = arm.entries[at->second];
      entry.races = entry.races || of_arm.number(3) != 0;
      entry.runs += run->first == last_run ? 0 : 1;
      last_run = run->first;
      const auto [where, first_time] =
          result_at.try_emplace({run->second.stack, text->first}, entry.results.size());
      if (first_time) entry.results.push_back({.seen = text->second, .id = static_cast<int>(text->first)});
      history_result& result = entry.results[where->second];
      const std::string& started = run->second.started;
      result.first = result.runs == 0 ? started : std::min(result.first, started);
      result.last = std::max(result.last, started);
      ++result.runs;
      const auto trials = static_cast<std::size_t>(std::max<std::int64_t>(0, of_arm.number(2)));
      result.trials += trials;
      if (of_arm.number(3) != 0) entry.samples.push_back({started, result.id, trials});
    }
    if (!arm.entries.empty()) view.arms.push_back(std::move(arm));
  }
  of_arm.reset();
  in_->run("COMMIT");
  arrange(view);
  return view;
}

}  // namespace cufault
