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
#include <system_error>

namespace cufault {
namespace {

const measurement* measured(const observation& o, std::string_view name) {
  const auto found = std::find_if(o.measurements.begin(), o.measurements.end(),
                                  [&](const measurement& m) { return m.name == name; });
  return found == o.measurements.end() ? nullptr : &*found;
}

/// A row in which nothing was made to fail.
bool fails_nothing(const call_record& row) {
  return row.swept && row.swept->calls == 0;
}

/// Adds what is counted; what a clean run showed is the same in all parts, and a rate is of one part.
void add(std::vector<measurement>& to, const measurement& more) {
  const auto known =
      std::find_if(to.begin(), to.end(), [&](const measurement& m) { return m.name == more.name; });
  if (known == to.end())
    to.push_back(more);
  else if (more.name != clean_calls && more.name != unstable_sites)
    known->value += more.value;
}

}  // namespace

std::pair<int, int> part_of(const observation& o) {
  const measurement* const part = measured(o, part_of_sweep);
  if (part == nullptr) return {1, 1};
  int of = 0;
  if (part->unit.starts_with("of "))
    std::from_chars(part->unit.data() + 3, part->unit.data() + part->unit.size(), of);
  return {static_cast<int>(part->value), of};
}

bool is_part(const observation& o) {
  return part_of(o) != std::pair{1, 1};
}

std::string why_not_whole(const std::vector<const observation*>& parts) {
  const auto of = part_of(*parts.front()).second;
  const auto value = [](const observation& o, std::string_view name) {
    const measurement* const m = measured(o, name);
    return m == nullptr ? 0 : m->value;
  };
  std::map<int, int> there;
  for (const observation* o : parts) {
    const auto [part, of_these] = part_of(*o);
    if (part == 0) return "it has only the rows that were named";
    if (of_these != of) return fmt::format("part {} is of {}, not of {}", part, of_these, of);
    if (++there[part] > 1) return fmt::format("part {} is there twice", part);
    if (o->ended != outcome::completed) return fmt::format("part {} was not completed", part);
    for (const char* name : {clean_calls, unstable_sites})
      if (value(*o, name) != value(*parts.front(), name))
        return fmt::format("part {} counts {} {}, not {}", part, value(*o, name), name,
                           value(*parts.front(), name));
  }
  std::vector<int> missing;
  for (int part = 1; part <= of; ++part)
    if (!there.contains(part)) missing.push_back(part);
  if (missing.empty()) return {};
  return fmt::format("part{} {} of {} {} missing", missing.size() > 1 ? "s" : "", fmt::join(missing, ", "),
                     of, missing.size() > 1 ? "are" : "is");
}

observation joined(std::vector<const observation*> parts) {
  std::sort(parts.begin(), parts.end(),
            [](const observation* a, const observation* b) { return part_of(*a) < part_of(*b); });
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
      else if (std::none_of(clean.begin(), clean.end(), [&](const call_record& known) {
                 return known.what == row.what && known.swept == row.swept;
               }))
        clean.push_back(row);
    }
    for (const measurement& m : o->measurements)
      if (m.name != part_of_sweep && m.name != rows_per_second) add(whole.measurements, m);
    for (const note& n : o->notes)
      if (std::find(whole.notes.begin(), whole.notes.end(), n) == whole.notes.end()) whole.notes.push_back(n);
    whole.library_log.insert(whole.library_log.end(), o->library_log.begin(), o->library_log.end());
    whole.stdout_text += o->stdout_text;
    whole.stderr_text += o->stderr_text;
    whole.milliseconds += o->milliseconds;
    if (o->context == "damaged") whole.context = o->context;
    if (o->gpu != whole.gpu) whole.gpu.clear();
  }
  whole.calls.insert(whole.calls.end(), clean.begin(), clean.end());
  whole.notes.push_back(
      {part_of_sweep,
       fmt::format("{}, each in a run of its own; the run named is that of part 1", parts.size())});
  return whole;
}

}  // namespace cufault
