// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/sweep_parts.hpp"

#include "reports/model/sweep_names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>

namespace cufault {
namespace {

/// Adds what is counted; what a clean run showed is the same in all parts, and a rate is of one part.
void add(std::vector<measurement>& to, const measurement& more) {
  const auto known = std::ranges::find(to, more.name, &measurement::name);
  if (known == to.end())
    to.push_back(more);
  else if (more.name != clean_calls && more.name != unstable_sites)
    known->value += more.value;
}

}  // namespace

std::pair<int, int> which_part(const observation& o) {
  const measurement* const part = find_measurement(o, part_of_sweep);
  if (part == nullptr) return {1, 1};
  int of = 0;
  if (part->unit.starts_with("of "))
    std::from_chars(part->unit.data() + 3, part->unit.data() + part->unit.size(), of);
  return {static_cast<int>(part->value), of};
}

bool is_part(const observation& o) {
  return which_part(o) != std::pair{1, 1};
}

std::string why_not_whole(const std::vector<const observation*>& parts) {
  const auto of = which_part(*parts.front()).second;
  const auto value = [](const observation& o, std::string_view name) {
    const measurement* const m = find_measurement(o, name);
    return m == nullptr ? 0 : m->value;
  };
  const auto unstable = [](const observation& o) {
    const auto named = std::ranges::find(o.notes, unstable_sites, &note::name);
    return named == o.notes.end() ? std::string() : named->text;
  };
  std::map<int, int> there;
  std::vector<const call_record*> rows;
  for (const observation* o : parts) {
    const auto [part, of_these] = which_part(*o);
    if (part == 0) return "it has only the rows that were named";
    if (part < 0 || part > of_these) return fmt::format("there is no part {} of {}", part, of_these);
    if (of_these != of) return fmt::format("part {} is of {}, not of {}", part, of_these, of);
    if (++there[part] > 1) return fmt::format("part {} is given twice", part);
    if (o->ended != outcome::completed) return fmt::format("part {} was not completed", part);
    for (const char* name : {clean_calls, unstable_sites})
      if (value(*o, name) != value(*parts.front(), name))
        return fmt::format("part {} counts {} {}, not {}", part, value(*o, name), name,
                           value(*parts.front(), name));
  }
  for (const observation* o : parts) {
    if (unstable(*o) != unstable(*parts.front())) return "parts left out other call sites";
    for (const call_record& row : o->calls) {
      if (fails_nothing(row)) continue;
      if (std::ranges::any_of(rows, [&](const call_record* known) {
            return known->what == row.what && known->swept == row.swept;
          }))
        return fmt::format("two parts have the row \"{}\"", row.swept ? describe(*row.swept) : "");
    }
    for (const call_record& row : o->calls)
      if (!fails_nothing(row)) rows.push_back(&row);
  }
  std::vector<int> missing;
  for (int part = 1; part <= of; ++part)
    if (!there.contains(part)) missing.push_back(part);
  if (missing.empty()) return {};
  return fmt::format("part{} {} of {} {} missing", missing.size() > 1 ? "s" : "", fmt::join(missing, ", "),
                     of, missing.size() > 1 ? "are" : "is");
}

observation joined(std::vector<const observation*> parts) {
  std::ranges::sort(
      parts, [](const observation* a, const observation* b) { return which_part(*a) < which_part(*b); });
  observation whole;
  whole.ended = outcome::completed;
  whole.exit_code = parts.front()->exit_code;
  whole.gpu = parts.front()->gpu;
  whole.context = parts.front()->context;
  std::vector<call_record> clean;
  for (const observation* o : parts) {
    for (const call_record& row : o->calls) {
      if (!fails_nothing(row))
        whole.calls.push_back(row);
      else if (std::ranges::none_of(clean, [&](const call_record& known) {
                 return known.what == row.what && known.swept == row.swept;
               }))
        clean.push_back(row);
    }
    for (const measurement& m : o->measurements)
      if (m.name != part_of_sweep && m.name != rows_per_second) add(whole.measurements, m);
    for (const note& n : o->notes)
      if (std::ranges::find(whole.notes, n) == whole.notes.end()) whole.notes.push_back(n);
    whole.library_log.insert(whole.library_log.end(), o->library_log.begin(), o->library_log.end());
    whole.stdout_text += o->stdout_text;
    whole.stderr_text += o->stderr_text;
    whole.milliseconds += o->milliseconds;
    if (o->context == "damaged") whole.context = o->context;
    if (o->gpu != whole.gpu) whole.gpu.clear();
  }
  whole.calls.insert(whole.calls.end(), clean.begin(), clean.end());
  whole.notes.push_back(
      {parts_of_sweep,
       fmt::format("{}, each swept by a run of its own; the record names one of these runs", parts.size())});
  return whole;
}

}  // namespace cufault
