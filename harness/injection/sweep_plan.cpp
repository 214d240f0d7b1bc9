// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/injection/sweep_plan.hpp"

#include "harness/injector/driver_functions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace cufault::sweeping {
namespace {

constexpr std::string_view returned = "returned";  // word of trial::for_each_unobserved_row
constexpr std::size_t site_digits = 8;

}  // namespace

// ---- calls ----

named_row row_named(const std::string& text) {
  const auto equals = text.rfind('='), colon = text.rfind(':', equals), first = text.find(':');
  if (equals == std::string::npos || colon == std::string::npos || first == colon)
    throw setup_failed(fmt::format("{}: expected LIBRARY:FUNCTION@SITE:N[+]=CODE", text));
  named_row row{.caller = text.substr(0, first),
                .function = text.substr(first + 1, colon - first - 1),
                .code = text.substr(equals + 1)};
  if (const auto at = row.function.find('@'); at != std::string::npos) {
    row.site = row.function.substr(at + 1);
    row.function.erase(at);
    if (row.site.size() < site_digits || row.site.size() > 16 ||
        row.site.find_first_not_of("0123456789abcdef") != std::string::npos)
      throw setup_failed(fmt::format("{}: {} is no call site: 8 to 16 digits", text, row.site));
  }
  std::string number = text.substr(colon + 1, equals - colon - 1);
  row.persistent = number.ends_with('+');
  if (row.persistent) number.pop_back();
  const auto [end, bad] = std::from_chars(number.data(), number.data() + number.size(), row.ordinal);
  if (bad != std::errc{} || end != number.data() + number.size() || row.ordinal == 0)
    throw setup_failed(fmt::format("{}: {} is no number of a call", text, number));
  if (!injector::driver_code(row.code))
    throw setup_failed(fmt::format("{}: {} is no code of the driver", text, row.code));
  return row;
}

std::string short_site(const std::string& stack) {
  return stack.substr(0, site_digits);
}

std::string library_name(std::string_view file_name) {
  const auto end = file_name.find(".so");
  return end == std::string_view::npos ? "application" : std::string(file_name.substr(0, end));
}

bool only_asks(std::string_view function) {
  const auto base = injector::without_suffix(function);
  for (const std::string_view word : {"Get", "Query", "Is", "Occupancy", "CanAccess"})
    if (base.find(word) != std::string_view::npos) return true;
  // These calls only change the current context. Libraries restore it, so a group continues after them.
  return base == "cuCtxPushCurrent" || base == "cuCtxPopCurrent" || base == "cuCtxSetCurrent";
}

std::vector<driver_call> calls_from(const program_sweep::run_log& log,
                                    const std::vector<program_sweep::compared_site>& sites) {
  std::vector<driver_call> calls;
  std::map<std::size_t, std::uint64_t> ordinals;  // by site
  std::map<std::string, int> changes;
  std::string phase;
  for (const std::size_t place : log.order) {
    if (!sites[place].is_stable()) continue;
    const program_sweep::call_site& site = sites[place].site;
    driver_call call{.function = site.function,
                     .caller = library_name(site.library),
                     .site = site.stack,
                     .ordinal = ++ordinals[place],
                     .phase = phase};
    if (!only_asks(call.function)) {
      // Consecutive calls of one function are one phase.
      const bool goes_on = !calls.empty() && calls.back().function == call.function;
      if (goes_on) call.phase = calls.back().phase;
      const int n = goes_on ? changes[call.function] : ++changes[call.function];
      phase = n == 1 ? "after " + call.function : fmt::format("after {} {}", call.function, n);
    }
    calls.push_back(std::move(call));
  }
  return calls;
}

std::size_t call_named(const named_row& row, const std::vector<driver_call>& calls,
                       const std::vector<program_sweep::compared_site>& sites) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < calls.size(); ++i)
    if (calls[i].caller == row.caller && calls[i].function == row.function &&
        calls[i].site.starts_with(row.site))
      found.push_back(i);
  const auto name = fmt::format("{}:{}{}{}", row.caller, row.function, row.site.empty() ? "" : "@", row.site);
  if (!row.site.empty() && std::any_of(found.begin(), found.end(),
                                       [&](std::size_t i) { return calls[i].site != calls[found[0]].site; }))
    throw setup_failed(name + ": more than one call site; give more of its 16 digits");
  const auto left_out = std::count_if(sites.begin(), sites.end(), [&](const auto& s) {
    return !s.is_stable() && s.site.function == row.function && library_name(s.site.library) == row.caller;
  });
  if (row.site.empty() && left_out > 0)
    throw setup_failed(
        fmt::format("{}:{}: this row has no call site, and {} of {} {} left out: name the site", name,
                    row.ordinal, left_out == 1 ? "1 call site" : fmt::format("{} call sites", left_out),
                    row.function, left_out == 1 ? "was" : "were"));
  if (row.ordinal > found.size())
    throw setup_failed(fmt::format("{}:{}: a clean run makes no such call", name, row.ordinal));
  return found[row.ordinal - 1];
}

// ---- rows ----

std::vector<call_group> groups_of(const std::vector<driver_call>& calls, depth deep) {
  std::vector<call_group> groups;
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> place;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const driver_call& c = calls[i];
    if (deep != depth::every) {
      const auto [at, is_new] = place.try_emplace({c.function, c.caller, c.phase}, groups.size());
      if (!is_new) {
        groups[at->second].push_back(i);
        continue;
      }
    }
    groups.push_back({i});
  }
  return groups;
}

namespace {

void add_rows(std::vector<planned_row>& rows, const std::vector<driver_call>& calls, std::size_t call) {
  for (const std::string& code : codes_for(calls[call].function))
    for (const bool persistent : {false, true}) rows.push_back({call, code, persistent});
}

}  // namespace

std::vector<planned_row> plan(const std::vector<driver_call>& calls, const std::vector<call_group>& groups,
                              depth deep) {
  std::vector<planned_row> rows;
  for (const call_group& group : groups) {
    if (deep == depth::thin) {
      rows.push_back({group.front(), codes_for(calls[group.front()].function).front(), false});
      continue;
    }
    add_rows(rows, calls, group.front());
    if (group.size() > 1) add_rows(rows, calls, group.back());
  }
  return rows;
}

bool did_run(const row_result& r) {
  const std::string_view end = r.end;
  return !end.empty() && (end != returned || r.over);
}

bool same_result(const row_result& a, const row_result& b) {
  const auto all = [](const row_result& r) {
    return std::tuple(r.over, r.reached, r.ok, std::string_view(r.end), std::string_view(r.in),
                      std::string_view(r.status), std::string_view(r.numbers), std::string_view(r.again),
                      std::string_view(r.handle), std::string_view(r.later), std::string_view(r.afresh));
  };
  return all(a) == all(b);
}

namespace {

/// Two calls of a group with different results and no run between them: their positions in the group.
struct difference {
  std::size_t group = 0, first = 0, last = 0;
  std::string code{};
  bool persistent = false;
};

std::vector<difference> differences(const std::vector<call_group>& groups,
                                    const std::vector<planned_row>& rows,
                                    std::span<const row_result> results) {
  std::map<std::size_t, std::pair<std::size_t, std::size_t>>
      place;  // key: call; value: its group, and its position there
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (std::size_t i = 0; i < groups[g].size(); ++i) place[groups[g][i]] = {g, i};
  std::map<std::tuple<std::size_t, std::string, bool>, std::map<std::size_t, const row_result*>> ran;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto at = place.find(rows[i].call);
    if (at == place.end() || !did_run(results[i])) continue;
    const auto [group, within] = at->second;
    ran[{group, rows[i].code, rows[i].persistent}][within] = &results[i];
  }
  std::vector<difference> found;
  for (const auto& [key, calls] : ran)
    for (auto next = std::next(calls.begin()); next != calls.end(); ++next) {
      const auto call = std::prev(next);
      if (same_result(*call->second, *next->second)) continue;
      const auto& [group, code, persistent] = key;
      found.push_back({group, call->first, next->first, code, persistent});
    }
  return found;
}

}  // namespace

std::vector<planned_row> rows_between(const std::vector<call_group>& groups,
                                      const std::vector<planned_row>& rows,
                                      std::span<const row_result> results) {
  std::vector<planned_row> between;
  for (const difference& d : differences(groups, rows, results)) {
    if (d.last - d.first == 1) continue;
    const planned_row halfway{groups[d.group][d.first + (d.last - d.first) / 2], d.code, d.persistent};
    if (std::find(rows.begin(), rows.end(), halfway) == rows.end()) between.push_back(halfway);
  }
  return between;
}

std::size_t count_differing_groups(const std::vector<call_group>& groups,
                                   const std::vector<planned_row>& rows,
                                   std::span<const row_result> results) {
  std::set<std::size_t> differ;
  for (const difference& d : differences(groups, rows, results)) differ.insert(d.group);
  return differ.size();
}

std::string why_it_proves_nothing(const row_result& nothing_made_to_fail, std::string_view when) {
  const row_result& r = nothing_made_to_fail;
  const std::string_view end = r.end;
  const std::string by_itself = fmt::format("at the {}, with nothing made to fail, ", when);
  if (!end.empty() && end != returned)
    return fmt::format("{}the process ended in {}: {}", by_itself, r.in, end);
  if (!r.over) return {};
  if (r.reached) return by_itself + "a call failed";
  for (const auto& [what, came_to] :
       {std::pair{"the operation", r.ok ? r.numbers : r.status}, std::pair{"the repeated operation", r.again},
        std::pair{"a product by the same handle", r.handle}})
    if (!is_success_status(came_to)) return fmt::format("{}{} came to {}", by_itself, what, came_to);
  return {};
}

// ---- results ----

namespace {

// Everything about a row's result, and what failed: function, caller, phase. Not a local class: GCC 13 cannot compare tuples of these.
struct fault {
  std::string function, caller, phase;
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes part of what is generated for a 0
  auto operator<=>(const fault&) const = default;
};

struct came_to {
  std::string status, numbers, again, handle, later, afresh, ended, ended_in;
  bool ok = true, reached = false;
  std::int64_t left_bytes = 0;
  // NOLINTNEXTLINE(modernize-use-nullptr): likewise
  auto operator<=>(const came_to&) const = default;
};

}  // namespace

std::vector<grouped_row> grouped(const std::vector<driver_call>& calls, const std::vector<planned_row>& rows,
                                 std::span<const row_result> results) {
  struct rows_of {
    std::set<std::size_t> calls;
    double milliseconds = 0;
    std::size_t count = 0;
  };
  std::map<std::tuple<fault, came_to, bool, std::string>, rows_of> by_code;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const planned_row& r = rows[i];
    const row_result& seen = results[i];
    const std::string_view end = seen.end;
    if (!did_run(seen)) continue;
    const bool any = r.call != no_call;
    const fault f =
        any ? fault{calls[r.call].function, calls[r.call].caller, calls[r.call].phase} : fault{"*", "", ""};
    const bool ended = end != returned;
    const bool in_operation = ended && *seen.status == '\0';
    came_to c{.status = in_operation ? std::string(end) : seen.status,
              .numbers = seen.numbers,
              .again = seen.again,
              .handle = seen.handle,
              .later = seen.later,
              .afresh = seen.afresh,
              .ended = ended ? std::string(end) : "",
              .ended_in = ended ? seen.in : "",
              .ok = seen.ok && !in_operation,
              .reached = seen.reached || in_operation,
              .left_bytes = seen.left_bytes};
    rows_of& of = by_code[{f, c, r.persistent, r.code}];
    of.calls.insert(r.call);
    of.milliseconds += seen.milliseconds;
    ++of.count;
  }

  // First merges codes of equal calls with equal results, then once and persistently of equal calls and codes.
  using call_set = std::set<std::size_t>;
  struct row_data {
    std::vector<std::string> codes;
    double milliseconds = 0;
    std::size_t count = 0;
  };
  std::map<std::tuple<fault, came_to, bool, call_set>, row_data> by_mode;
  for (const auto& [key, of] : by_code) {
    const auto& [f, c, persistent, code] = key;
    row_data& row = by_mode[{f, c, persistent, of.calls}];
    if (!code.empty()) row.codes.push_back(code);
    row.milliseconds += of.milliseconds;
    row.count += of.count;
  }
  struct modes {
    bool once = false, persistent = false;
    double milliseconds = 0;
    std::size_t count = 0;
  };
  std::map<std::tuple<fault, came_to, call_set, std::vector<std::string>>, modes> merged;
  for (const auto& [key, row] : by_mode) {
    const auto& [f, c, persistent, of] = key;
    modes& m = merged[{f, c, of, row.codes}];
    (persistent ? m.persistent : m.once) = true;
    m.milliseconds += row.milliseconds;
    m.count += row.count;
  }

  std::vector<std::pair<std::size_t, grouped_row>> found;
  for (const auto& [key, m] : merged) {
    const auto& [f, c, of, codes] = key;
    grouped_row g;
    const bool nothing = f.function == "*";
    g.calls = {.function = f.function,
               .caller = f.caller,
               .phase = f.phase,
               .codes = codes,
               .once = m.once && !nothing,
               .persistent = m.persistent,
               .calls = nothing ? 0 : of.size(),
               .reached = nothing || c.reached,
               .site = nothing ? "" : short_site(calls[*of.begin()].site),
               .first = nothing ? 0 : calls[*of.begin()].ordinal,
               .numbers = c.numbers,
               .again = c.again,
               .handle = c.handle,
               .later = c.later,
               .afresh = c.afresh,
               .ended = c.ended,
               .ended_in = c.ended_in,
               .left_bytes = c.left_bytes};
    g.status = !c.ended.empty() && c.status == c.ended ? end_of_process(c.ended)
                                                       : status_record{.status = c.status, .ok = c.ok};
    g.milliseconds = m.milliseconds / static_cast<double>(std::max<std::size_t>(1, m.count));
    found.emplace_back(nothing ? calls.size() : *of.begin(), std::move(g));
  }
  // Sorts rows of one call by code, persistent failures first.
  const auto order = [](const auto& each) {
    const swept_calls& c = each.second.calls;
    const int modes = !c.once ? 0 : !c.persistent ? 1 : 2;
    return std::pair(each.first, fmt::format("{} {}", fmt::join(c.codes, ", "), modes));
  };
  std::stable_sort(found.begin(), found.end(),
                   [&](const auto& a, const auto& b) { return order(a) < order(b); });
  std::vector<grouped_row> in_order;
  for (auto& [first, g] : found) in_order.push_back(std::move(g));
  return in_order;
}

}  // namespace cufault::sweeping
