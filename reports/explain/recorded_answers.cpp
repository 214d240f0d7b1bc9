// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/explain/recorded_answers.hpp"

#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

namespace fs = std::filesystem;

namespace cufault {
namespace {

using json = nlohmann::json;

json row_of(const recorded_failure& f, const lexicon& known) {
  return {known.causes[f.cause].id,
          f.call,
          f.status,
          f.natural,
          f.by_driver,
          f.framework,
          f.arms,
          f.stacks,
          f.injected,
          f.trials,
          f.observed};
}
json row_of(const recorded_remedy& r) {
  json failures = json::array();
  for (const failure_seen& f : r.failures) failures.push_back({f.status, f.call});
  return {r.arm, r.words, r.answers, failures, r.cleared_on, r.failed_on};
}

recorded_failure failure_from(const json& row, const std::map<std::string, std::size_t>& causes) {
  recorded_failure f{.cause = causes.at(row.at(0)), .call = row.at(1), .status = row.at(2)};
  row.at(3).get_to(f.natural);
  row.at(4).get_to(f.by_driver);
  row.at(5).get_to(f.framework);
  row.at(6).get_to(f.arms);
  row.at(7).get_to(f.stacks);
  row.at(8).get_to(f.injected);
  row.at(9).get_to(f.trials);
  row.at(10).get_to(f.observed);
  return f;
}
recorded_remedy remedy_from(const json& row) {
  recorded_remedy r{.arm = row.at(0), .words = row.at(1)};
  row.at(2).get_to(r.answers);
  for (const json& f : row.at(3)) r.failures.push_back({f.at(0), f.at(1)});
  row.at(4).get_to(r.cleared_on);
  row.at(5).get_to(r.failed_on);
  return r;
}

std::string hash_of_text(std::string_view text) {
  return fmt::format("{:016x}", std::hash<std::string_view>()(text));
}

}  // namespace

std::string digest_of(const std::vector<fs::path>& folders, std::string_view program) {
  std::vector<std::pair<std::string, fs::path>> files;
  for (const fs::path& folder : folders)
    for (const auto& entry :
         fs::recursive_directory_iterator(folder, fs::directory_options::follow_directory_symlink))
      if (entry.is_regular_file() && entry.path().extension().string().starts_with(".json"))
        files.emplace_back(entry.path().lexically_relative(folder.parent_path()), entry.path());
  std::ranges::sort(files);
  std::string text(program);
  for (const auto& [name, path] : files) text += fmt::format("\n{} {}", name, hash_of_text(read_text(path)));
  return hash_of_text(text);
}

recorded_answers answers_in(std::span<const record> judged, const lexicon& known) {
  recorded_answers all{.seen = evidence_in(judged, known)};
  for (const record& r : judged)
    for (const case_result& c : r.cases)
      for (const arm_result& a : c.arms)
        for (const observation& o : a.trials)
          for (const call_record& call : o.calls) all.statuses.insert(call.what.status);
  return all;
}

void write_answers(const fs::path& file, const recorded_answers& all, const lexicon& known,
                   const std::string& digest) {
  std::string text;
  const auto add = [&text](const char* what, json row) {
    text += json::array({what, std::move(row)}).dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
  };
  add("digest", digest);
  for (const recorded_failure& f : all.seen.failures) add("failure", row_of(f, known));
  for (const recorded_remedy& r : all.seen.remedies) add("remedy", row_of(r));
  add("unassigned", all.seen.unassigned);
  add("statuses", all.statuses);
  add("end", hash_of_text(text));
  write_whole(file, text);
}

std::optional<recorded_answers> read_answers(const fs::path& file, const lexicon& known,
                                             const std::string& digest) {
  std::map<std::string, std::size_t> causes;
  for (std::size_t i = 0; i < known.causes.size(); ++i) causes[known.causes[i].id] = i;
  try {
    const std::string text = read_text(file);
    recorded_answers all;
    for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
      const json pair = json::parse(std::string_view(text).substr(at, end - at));
      const std::string what = pair.at(0);
      const json& row = pair.at(1);
      if (what == "digest" && row != digest) return {};
      if (what == "failure") all.seen.failures.push_back(failure_from(row, causes));
      if (what == "remedy") all.seen.remedies.push_back(remedy_from(row));
      if (what == "unassigned") row.get_to(all.seen.unassigned);
      if (what == "statuses") row.get_to(all.statuses);
      if (what == "end" && row == hash_of_text(std::string_view(text).substr(0, at))) return all;
    }
  } catch (const input_error&) {  // it cannot be read
  } catch (const json::exception&) {
  } catch (const std::out_of_range&) {  // a cause that is no more
  }
  return {};
}

}  // namespace cufault
