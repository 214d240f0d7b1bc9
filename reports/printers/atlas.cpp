// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/atlas.hpp"

#include "reports/judge/table.hpp"
#include "reports/matrix/observed_cells.hpp"
#include "reports/model/sweep_parts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <ostream>
#include <set>
#include <string_view>
#include <utility>

namespace cufault {
namespace {

int rank(std::string_view depth) {
  return depth == every_sweep ? 2 : depth == grouped_sweep ? 1 : depth == thin_sweep ? 0 : -1;
}

bool is_end_of_process(std::string_view status) {
  return status == status_crashed || status == status_timed_out || status == status_exited;
}

/// What ended the process in a row, and in what of it.
std::string end_of_process(const call_record& row) {
  if (!row.swept->ended.empty()) return fmt::format("{} in {}", row.swept->ended, row.swept->ended_in);
  if (!is_end_of_process(row.what.status)) return {};
  const std::string facts = describe(row.what.facts);
  return fmt::format("{}{} in the operation", row.what.status, facts.empty() ? "" : " (" + facts + ")");
}

/// A row that says what a failure of the driver leads to: not that in which nothing was made to fail, nor one that was not reached. Whoever
/// died in the operation cannot say that it was reached.
bool speaks(const call_record& row) {
  return row.swept->calls > 0 && (row.swept->reached || is_end_of_process(row.what.status));
}

/// The runs of a row, as examples: each code, once and persistently.
void add_runs(std::vector<example>& runs, const call_record& row) {
  const swept_calls& s = *row.swept;
  const std::string outcome = is_end_of_process(row.what.status) ? end_of_process(row)
                              : row.what.ok ? (is_success_status(s.numbers) ? "SUCCESS" : "SUCCESS wrongly")
                                            : std::string(short_status(row.what.status));
  for (const bool once : {true, false}) {
    if (once ? !s.once : !s.persistent) continue;
    for (const std::string& code : s.codes) {
      // The number keeps apart what parts or old records may have twice.
      example e{.name = fmt::format("{} {} of call {} ({})", code, once ? "once" : "persistently", s.first,
                                    runs.size())};
      e.properties = {{"code", code}, {"persistence", std::string(once ? "once" : "persistently")}};
      // Without a site it is counted among all calls of the function.
      e.properties[s.site.empty() ? "call" : "call of the site"] = static_cast<std::int64_t>(s.first);
      if (!s.site.empty()) e.properties["site"] = s.site;
      if (!s.phase.empty()) e.properties["phase"] = s.phase;
      e.outcome = outcome;
      runs.push_back(std::move(e));
    }
  }
}

/// "cuMemAlloc_v2, cuEventCreate of libcublas; cuInit of libcublasLt".
class driver_functions {
 public:
  void add(const std::string& library, const std::string& function) { of_library_[library].insert(function); }
  [[nodiscard]] std::string text() const {
    std::vector<std::string> parts;
    for (const auto& [library, functions] : of_library_)
      parts.push_back(fmt::format("{} of {}", fmt::join(functions, ", "), library));
    return fmt::format("{}", fmt::join(parts, "; "));
  }

 private:
  std::map<std::string, std::set<std::string>> of_library_;
};

std::string afterwards(const swept_calls& s) {
  std::vector<std::string> words;
  if (!s.again.empty()) words.push_back(fmt::format("again {}", short_status(s.again)));
  if (!s.handle.empty())
    words.push_back(fmt::format("a product by the same handle {}", short_status(s.handle)));
  if (!s.later.empty()) words.push_back(fmt::format("once more {}", short_status(s.later)));
  if (!s.afresh.empty()) words.push_back(fmt::format("by a new handle {}", short_status(s.afresh)));
  return fmt::format("{}", fmt::join(words, ", "));
}

using operations = std::vector<swept_operation>;

named_table overview_of(const operations& all) {
  named_table table{.name = "overview",
                    .columns = {{"operation", "operation"},
                                {"driver calls", "driver_calls"},
                                {"", "unstable_sites"},
                                {"runs with one failed", "runs"},
                                {"", "depth"},
                                {"", "unresolved"},
                                {"statuses", "statuses"},
                                {"swallowed", "swallowed"},
                                {"succeeded wrongly", "succeeded_wrongly"},
                                {"fails again by the handle", "fails_again_by_the_handle"},
                                {"fails by a new handle too", "fails_by_a_new_handle_too"},
                                {"most bytes left", "most_bytes_left"},
                                {"nothing failed", "right_with_nothing_failed"}}};
  const table_value none("", nullptr);
  for (const swept_operation& o : all) {
    if (!o.unresolved.empty()) {
      table.rows.push_back({title(o),
                            none,
                            none,
                            {o.depth, nullptr},
                            o.depth,
                            o.unresolved,
                            {o.unresolved, nullptr},
                            none,
                            none,
                            none,
                            none,
                            none,
                            none});
      continue;
    }
    const swept_counts n = counts_of(o);
    std::vector<std::string> counts;
    std::map<std::string, std::int64_t> statuses;
    for (const auto& [status, runs] : n.statuses) {
      counts.push_back(fmt::format("{} {}", runs, status));
      statuses[status] = static_cast<std::int64_t>(runs);
    }
    const auto left_out =
        o.unstable_sites > 0 ? fmt::format(", {} {}", o.unstable_sites, unstable_sites) : std::string();
    const auto whole = [](double count) { return static_cast<std::int64_t>(count); };
    table.rows.push_back({title(o),
                          {fmt::format("{}{}", o.driver_calls, left_out), whole(o.driver_calls)},
                          {"", whole(o.unstable_sites)},
                          {fmt::format("{}, {}", n.runs, o.depth), static_cast<std::int64_t>(n.runs)},
                          o.depth,
                          none,
                          {fmt::format("{}", fmt::join(counts, ", ")), statuses},
                          table_value::count(n.swallowed),
                          table_value::count(n.wrong),
                          table_value::count(n.fails_again),
                          table_value::count(n.poisons_process),
                          {std::to_string(n.most_bytes_left), n.most_bytes_left},
                          {n.clean ? "right" : "not seen to be right", n.clean}});
  }
  return table;
}

constexpr const char* legend =
    "Counted are the runs in which the operation reached the driver call that was failed:\n\n"
    "- statuses: what the operation returned, where not SUCCESS, or how it ended the process\n"
    "- swallowed: SUCCESS, and it had done what it should\n"
    "- succeeded wrongly: SUCCESS, and it had not\n"
    "- fails again by the handle: the same once more, with nothing failed, fails; by a new handle it does "
    "not\n"
    "- fails by a new handle too: the same with nothing failed, and with a new handle, fails\n"
    "- most bytes left: of device memory, when all handles are destroyed, beyond what a run with nothing "
    "failed leaves\n"
    "- nothing failed: the run in which no driver call was failed\n\n";

using chosen_rows = std::function<bool(const call_record&)>;
using word_of_row = std::function<table_value(const call_record&)>;

/// Every row that `which` holds for, by operation and a word about it: the driver functions.
named_table functions_of(const operations& all, const char* name, const char* heading,
                         const chosen_rows& which) {
  std::map<std::pair<std::string, std::string>, driver_functions> found;
  for (const swept_operation& o : all)
    for (const call_record& row : o.rows)
      if (speaks(row) && which(row))
        found[{afterwards(*row.swept), title(o)}].add(row.swept->caller, row.swept->function);
  named_table table{
      .name = name,
      .title = heading,
      .columns = {
          {"afterwards", "afterwards"}, {"operation", "operation"}, {"driver calls", "driver_calls"}}};
  for (const auto& [key, functions] : found) table.rows.push_back({key.first, key.second, functions.text()});
  return table;
}

/// Every row that `which` holds for, by itself.
named_table rows_of(const operations& all, const char* name, const char* heading, const table_column& what,
                    const chosen_rows& which, const word_of_row& word) {
  named_table table{.name = name,
                    .title = heading,
                    .columns = {{"operation", "operation"},
                                {"driver call that failed", "driver_call"},
                                {"it returned", "status"},
                                what,
                                {"to see it again", "repeat"}}};
  for (const swept_operation& o : all)
    for (const call_record& row : o.rows)
      if (speaks(row) && which(row))
        table.rows.push_back({title(o), describe(*row.swept), std::string(short_status(row.what.status)),
                              word(row), repeats(o, *row.swept)});
  return table;
}

std::vector<named_table> details_of(const operations& all) {
  named_table failures{.name = "leads_to",
                       .title = "What the failure of a driver call leads to, and on what that depends",
                       .columns = {{"operation", "operation"},
                                   {"driver calls", "driver_calls"},
                                   {"what the operation returns", "leads_to"}}};
  for (const driver_failure& f : driver_failures_of(all))
    failures.rows.push_back({f.operation, f.functions, f.leads_to});
  return {
      failures,
      functions_of(all, "poisons_the_process",
                   "What poisons the process: the operation fails again, by a new handle too",
                   [](const call_record& row) { return poisons_process(*row.swept); }),
      functions_of(all, "fails_again", "What fails again by the same handle, and not by a new one",
                   [](const call_record& row) { return fails_again(*row.swept); }),
      functions_of(
          all, "spoils_another",
          "What spoils another operation: this one works again, and a product by the same handle does not",
          [](const call_record& row) { return spoils_another(*row.swept); }),
      rows_of(
          all, "leaves_memory", "What leaves device memory behind, when every handle is destroyed",
          {"bytes left", "bytes_left"}, [](const call_record& row) { return row.swept->left_bytes > 0; },
          [](const call_record& row) {
            return table_value(std::to_string(row.swept->left_bytes), row.swept->left_bytes);
          }),
      functions_of(
          all, "swallowed", "What is swallowed: SUCCESS, and right numbers",
          [](const call_record& row) { return row.what.ok && is_success_status(row.swept->numbers); }),
      rows_of(
          all, "succeeds_wrongly", "What ends in SUCCESS, and has not done what it should",
          {"what came of it", "numbers"},
          [](const call_record& row) { return row.what.ok && !is_success_status(row.swept->numbers); },
          [](const call_record& row) { return row.swept->numbers; }),
      rows_of(
          all, "ends_the_process", "What crashes or hangs", {"how it ended", "ended"},
          [](const call_record& row) { return !end_of_process(row).empty(); }, end_of_process)};
}

double measured(const observation& o, std::string_view name) {
  const measurement* const found = find_measurement(o, name);
  return found == nullptr ? 0 : found->value;
}

}  // namespace

std::map<std::string, std::vector<swept_operation>> operations_in(std::span<const record> records) {
  // stack -> operation and whether it is the first -> depth and number of parts -> part -> the latest that was seen; or depth -> the
  // latest that cannot be compared
  struct sweep_seen {
    std::string started, depth;
    const observation* what = nullptr;
  };
  using parts = std::map<int, sweep_seen>;
  struct sweeps_of {
    std::map<std::pair<int, int>, parts> compared;
    parts unresolved;
  };
  std::map<std::string, std::map<std::pair<std::string, bool>, sweeps_of>> found;
  for (const record& r : records) {
    for (const case_result& c : r.cases) {
      if (!c.name.starts_with(sweep_family)) continue;
      for (const arm_result& a : c.arms) {
        const bool first = a.name.starts_with(first_of_process);
        const std::string depth = first ? a.name.substr(first_of_process.size()) : a.name;
        if (rank(depth) < 0) continue;
        for (const observation& o : a.trials) {
          const auto [part, of] = which_part(o);
          if (part == 0) continue;  // rows that were named
          sweeps_of& sweeps = found[stack_label(r)][{c.name.substr(sweep_family.size()), first}];
          sweep_seen& seen =
              comparable(o) ? sweeps.compared[{rank(depth), of}][part] : sweeps.unresolved[rank(depth)];
          const std::string started = std::max(r.started, latest_run(a));
          if (seen.what == nullptr || seen.started <= started) seen = {started, depth, &o};
        }
      }
    }
  }
  std::map<std::string, std::vector<swept_operation>> by_stack;
  for (const auto& [stack, operations] : found) {
    for (const auto& [name, sweeps] : operations) {
      const auto whole = [](const auto& sweep) {
        return static_cast<int>(sweep.second.size()) == sweep.first.second;
      };
      const auto& compared = sweeps.compared;
      const auto best = std::ranges::max_element(compared, [&](const auto& one, const auto& other) {
        return std::pair{whole(one), one.first} < std::pair{whole(other), other.first};
      });
      if (best != compared.end()) {
        swept_operation o{
            .name = name.first, .first = name.second, .depth = best->second.begin()->second.depth};
        for (const auto& [part, seen] : best->second) {
          o.driver_calls = measured(*seen.what, clean_calls);
          o.unstable_sites = measured(*seen.what, unstable_sites);
          std::ranges::copy_if(seen.what->calls, std::back_inserter(o.rows),
                               [](const call_record& call) { return call.swept.has_value(); });
        }
        if (!whole(*best))
          o.depth += fmt::format(", {} of {} parts", best->second.size(), best->first.second);
        by_stack[stack].push_back(std::move(o));
      }
      const int deepest = best != compared.end() ? best->first.first : -1;
      for (auto at = sweeps.unresolved.upper_bound(deepest); at != sweeps.unresolved.end(); ++at) {
        const auto& [depth, seen] = *at;
        by_stack[stack].push_back(
            {.name = name.first,
             .first = name.second,
             .depth = seen.depth,
             .unresolved = fmt::format(
                 "{}: {}", seen.what->ended == outcome::not_provoked ? "not provoked" : "unresolved",
                 why_not_comparable(*seen.what))});
      }
    }
  }
  return by_stack;
}

std::string title(const swept_operation& o) {
  return o.name + (o.first ? ", the first of its process" : "");
}

swept_counts counts_of(const swept_operation& o) {
  swept_counts counts;
  for (const call_record& row : o.rows) {
    const swept_calls& s = *row.swept;
    counts.clean = counts.clean || (fails_nothing(row) && row.what.ok && is_success_status(s.numbers));
    if (!speaks(row)) continue;
    const auto n = runs_of(s);
    counts.runs += n;
    if (!row.what.ok) counts.statuses[std::string(short_status(row.what.status))] += n;
    if (row.what.ok) (is_success_status(s.numbers) ? counts.swallowed : counts.wrong) += n;
    if (fails_again(s)) counts.fails_again += n;
    if (poisons_process(s)) counts.poisons_process += n;
    counts.most_bytes_left = std::max(counts.most_bytes_left, s.left_bytes);
  }
  return counts;
}

std::vector<driver_failure> driver_failures_of(const operations& all) {
  std::vector<driver_failure> failures;
  for (const swept_operation& o : all) {
    // library and function -> its runs
    std::map<std::pair<std::string, std::string>, std::vector<example>> runs;
    std::map<std::pair<std::string, std::string>, std::set<std::string>> statuses;
    for (const call_record& row : o.rows) {
      if (!speaks(row)) continue;
      const std::pair of{row.swept->caller, row.swept->function};
      add_runs(runs[of], row);
      if (!row.what.ok && !is_end_of_process(row.what.status)) statuses[of].insert(row.what.status);
    }
    // What it leads to, and which statuses that are -> driver calls
    std::map<std::pair<std::string, std::set<std::string>>, driver_functions> by_outcome;
    constexpr std::array<std::string_view, 6> preferred{"code", "persistence", "phase",
                                                        "call", "site",        "call of the site"};
    for (auto& [of, examples] : runs) {
      if (!statuses.contains(of)) continue;
      const auto rules = rules_for(std::move(examples), {.preferred = preferred, .least_gain = 1});
      by_outcome[{in_one_line(rules), statuses[of]}].add(of.first, of.second);
    }
    for (const auto& [key, functions] : by_outcome)
      failures.push_back({title(o), functions.text(), key.first, {key.second.begin(), key.second.end()}});
  }
  return failures;
}

void write_driver_failures(row_writer& to, std::span<const record> records) {
  to.begin("driver_failures", "what the failure of driver calls inside of an operation leads to, by sweeps",
           {{"stack", "the stack in words"},
            {"operation", "that was swept"},
            {"driver_calls", "all of which this holds for"},
            {"leads_to", "what the operation returns, in words"},
            {"statuses", "among them, as JSON"}});
  for (const auto& [stack, all] : operations_in(records))
    for (const driver_failure& f : driver_failures_of(all))
      to.row({stack, f.operation, f.functions, f.leads_to, f.statuses});
}

std::uint64_t runs_of(const swept_calls& row) {
  const std::uint64_t often = (row.once ? 1 : 0) + (row.persistent ? 1 : 0);
  return row.calls * std::max<std::uint64_t>(1, row.codes.size()) * often;
}

bool poisons_process(const swept_calls& row) {
  return !row.afresh.empty() && !is_success_status(row.afresh);
}

bool fails_again(const swept_calls& row) {
  return is_success_status(row.afresh) && !row.again.empty() && !is_success_status(row.again);
}

bool spoils_another(const swept_calls& row) {
  return is_success_status(row.again) && !row.handle.empty() && !is_success_status(row.handle);
}

std::string repeats(const swept_operation& o, const swept_calls& row) {
  return fmt::format("cufault sweep {}/{} --row {}:{}{}{}:{}{}={}", o.name, o.first ? "first" : "further",
                     row.caller, row.function, row.site.empty() ? "" : "@", row.site, row.first,
                     row.once ? "" : "+", row.codes.empty() ? "" : row.codes.front());
}

std::vector<named_table> atlas_tables(std::span<const record> records, atlas_extent extent) {
  std::vector<named_table> tables;
  for (const auto& [stack, all] : operations_in(records)) {
    std::vector<named_table> of_stack{overview_of(all)};
    if (extent == atlas_extent::all) std::ranges::move(details_of(all), std::back_inserter(of_stack));
    for (named_table& table : of_stack) {
      table.stack = stack;
      tables.push_back(std::move(table));
    }
  }
  return tables;
}

void print_atlas(std::ostream& out, const std::vector<named_table>& atlas, table_style style) {
  if (std::ranges::any_of(atlas, [](const named_table& t) { return t.name != "overview"; })) out << legend;
  print_tables(out, atlas, 3, style);
}

}  // namespace cufault
