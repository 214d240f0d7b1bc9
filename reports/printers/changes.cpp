// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/changes.hpp"

#include "reports/model/cell_name.hpp"
#include "reports/printers/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>

namespace cufault {
namespace {

/// The first of them, and how many more there are.
std::string the_first(const std::vector<std::string>& names, std::size_t most) {
  const std::size_t shown = names.size() > most + 1 ? most : names.size();
  std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<long>(shown), ", "));
  if (shown < names.size()) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

std::string words_of_change(const release_change& c) {
  std::string text = c.what.empty() ? fmt::format("{} → {}", c.from, c.to)
                                    : fmt::format("{}: {}", c.what, the_first(c.details, 3));
  if (c.made_up) text += " (made up)";
  return text;
}

std::string calls_of(const release_change& c) {
  std::vector<std::pair<std::size_t, std::string>> most_first;
  for (const auto& [api, times] : c.calls) most_first.emplace_back(times, api);
  std::ranges::stable_sort(most_first, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> names;
  for (const auto& [times, api] : most_first)
    names.push_back(times == 1 ? api : fmt::format("{} ({})", api, times));
  return the_first(names, 5);
}

/// Arms by case; cells of the matrix by faults and operations, or by what those that changed have in common.
std::string evidence_of(const release_change& c) {
  std::map<std::string, std::vector<std::string>> by_case;
  std::set<std::string> faults, operations;
  std::size_t cells = 0;
  for (const std::string& arm : c.arms) {
    const auto slash = arm.find('/');
    if (!arm.starts_with(matrix_family)) {
      by_case[arm.substr(0, slash)].push_back(arm.substr(slash + 1));
      continue;
    }
    ++cells;
    faults.insert(arm.substr(matrix_family.size(), slash - matrix_family.size()));
    operations.insert(arm.substr(slash + 1, arm.find('.', slash) - slash - 1));
  }
  std::vector<std::string> parts;
  const auto list = [](const std::set<std::string>& names) {
    return the_first({names.begin(), names.end()}, 5);
  };
  if (!c.where.empty())
    parts.push_back(fmt::format("{} {}", c.of, c.where));
  else if (cells > 0)
    parts.push_back(
        fmt::format("matrix: {} under {} ({})", list(operations), list(faults), plural(cells, "cell")));
  for (const auto& [name, arms] : by_case) parts.push_back(fmt::format("{}: {}", name, the_first(arms, 4)));
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string driver_words_of(const release_change& c) {
  const auto said = [](std::string text) {
    constexpr std::size_t readable = 100;
    if (text.size() > readable) text = text.substr(0, readable) + "...";
    return text;
  };
  if (c.driver_before == c.driver_since) return said(c.driver_since);
  if (c.driver_before.empty()) return fmt::format("with {}: {}", c.at_latest, said(c.driver_since));
  if (c.driver_since.empty()) return fmt::format("with {}: {}", c.after, said(c.driver_before));
  return fmt::format("{} → {}", said(c.driver_before), said(c.driver_since));
}

std::string number_of(std::size_t change) {
  return std::to_string(change + 1);
}

/// "3, 7, 9"
std::string numbers_of(const std::vector<std::size_t>& changes) {
  std::vector<std::string> all;
  for (const std::size_t c : changes) all.push_back(number_of(c));
  return fmt::format("{}", fmt::join(all, ", "));
}

bool is_shown(const release_change& c, const std::string& release) {
  return !c.left_out && (release.empty() || c.at_latest == release);
}

std::size_t left_out_of(const change_report& all) {
  return static_cast<std::size_t>(std::ranges::count_if(all.found.changes, &release_change::left_out));
}

std::vector<std::size_t> unmentioned_in(const change_report& all) {
  std::set<std::size_t> mentioned;
  for (const release_note& n : all.notes)
    for (const std::size_t c : changes_of_note(n, all.found.changes)) mentioned.insert(c);
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < all.found.changes.size(); ++i)
    if (!mentioned.contains(i) && !all.found.changes[i].left_out) others.push_back(i);
  return others;
}

class page_of_changes {
 public:
  page_of_changes(std::ostream& out, table_style style, std::size_t width)
      : out_(out), style_(style), width_(width) {}

  void heading(std::string_view text) {
    out_ << '\n';
    print_heading(out_, text, 2, style_);
  }
  void line(std::string_view text) { out_ << cell(text, style_) << '\n'; }
  void table(const table_row& head, const std::vector<table_row>& rows) {
    print_table(out_, head, rows, style_, width_);
  }
  /// Each row in lines: its first three cells in one, and each other one that is not empty indented.
  void entries(const std::vector<table_row>& rows) {
    for (const table_row& row : rows) {
      out_ << cell(fmt::format("{:>3}  {}  {}", row[0], row[1], row[2]), style_) << '\n';
      for (auto text = row.begin() + 3; text != row.end(); ++text)
        for (const std::string& part : wrapped(cell(*text, style_), width_ - entry_indent))
          if (!part.empty()) out_ << std::string(entry_indent, ' ') << part << '\n';
    }
    out_ << '\n';
  }
  [[nodiscard]] bool markdown() const { return style_ == table_style::markdown; }

 private:
  static constexpr std::size_t entry_indent = 7;
  std::ostream& out_;
  table_style style_;
  std::size_t width_;
};

void print_releases(page_of_changes& page, const change_report& all, const std::string& release) {
  page.heading("By release");
  std::vector<table_row> rows;
  for (const auto& r : all.found.releases) {
    if (!release.empty() && r.version != release) continue;
    std::size_t changes = 0;
    std::vector<std::size_t> shown;
    for (std::size_t i = 0; i < all.found.changes.size(); ++i) {
      if (all.found.changes[i].at_latest != r.version) continue;
      ++changes;
      if (!all.found.changes[i].left_out) shown.push_back(i);
    }
    std::string count = plural(changes, "change");
    if (shown.size() < changes) count += fmt::format(", {} shown", shown.size());
    rows.push_back({r.version, std::to_string(r.observed), fmt::format("{} of {}", r.changed, r.compared),
                    fmt::format("{} of {}", r.next_changed, r.next_compared), std::move(count),
                    numbers_of(shown)});
  }
  page.line(
      "An arm is compared with the last release before that observed it. A release that observed more arms "
      "than those before it shows changes of theirs, too: what the release in the line above observed as "
      "well is counted apart.");
  page.line("");
  page.table(
      {"release", "arms observed", "changed", "changed since the line above", "first seen in it", "numbers"},
      rows);
}

void print_files(page_of_changes& page, const std::vector<file_history>& files) {
  std::vector<table_row> rows;
  std::vector<std::string> never;
  for (const file_history& h : files) {
    if (h.ranges.size() < 2) {
      never.push_back(h.name);
      continue;
    }
    for (const auto& r : h.ranges)
      rows.push_back({h.name, r.first == r.last ? r.first : fmt::format("{}–{}", r.first, r.last), r.words});
  }
  if (files.empty()) return;
  page.heading("Facts of the files");
  page.line(
      "A DT_RPATH comes before LD_LIBRARY_PATH, and a DT_RUNPATH after it: see ld.so(8). GPU code is that of "
      "the file that was read, from which code of other GPUs may have been removed before.");
  page.line("");
  if (!rows.empty()) page.table({"fact", "releases", "what it is"}, rows);
  if (!never.empty()) page.line(fmt::format("The same in all that were read: {}.", fmt::join(never, ", ")));
}

void print_notes(page_of_changes& page, const change_report& all, const std::string& release) {
  if (all.notes.empty()) return;
  page.heading("What NVIDIA's release notes say");
  for (const auto& [verdict, title] : {std::pair{"confirmed", "Confirmed by our arms"},
                                       std::pair{"not_seen", "Not seen: our arms show otherwise"},
                                       std::pair{"not_tried", "Not tried here"}}) {
    std::vector<table_row> rows;
    for (const release_note& n : all.notes) {
      if (n.verdict != verdict || !(release.empty() || n.release.starts_with(release))) continue;
      const std::string address = page.markdown() ? fmt::format("[{}]({})", n.toolkit, n.address) : n.address;
      rows.push_back({n.release, address, n.says});
      if (!n.arms.empty())  // as all of this verdict
        for (std::string text :
             {n.why, the_first(n.arms, 3), numbers_of(changes_of_note(n, all.found.changes))})
          rows.back().push_back(std::move(text));
    }
    if (rows.empty()) continue;
    page.line(fmt::format("{}: {}.", title, plural(rows.size(), "note")));
    page.line("");
    table_row head{"release", "toolkit", "NVIDIA's note", "our records", "arms", "changes"};
    head.resize(rows.front().size());
    page.table(head, rows);
  }
  if (release.empty())
    page.line(
        fmt::format("Changes of arms that no confirmed note names: {}.", numbers_of(unmentioned_in(all))));
}

}  // namespace

void print_changes(std::ostream& out, const change_report& all, const std::string& release, table_style style,
                   std::size_t width) {
  page_of_changes page(out, style, width);
  const auto& releases = all.found.releases;
  page.line(fmt::format("{}, driver {}: {} of cuBLAS from {} to {}. {} never changed.", all.gpu, all.driver,
                        plural(releases.size(), "release"), releases.front().version, releases.back().version,
                        plural(all.found.steady, "arm")));
  for (std::size_t h = 0; h < kinds_of_harm; ++h) {
    std::vector<table_row> rows;
    for (std::size_t i = 0; i < all.found.changes.size(); ++i) {
      const release_change& c = all.found.changes[i];
      if (static_cast<std::size_t>(c.how) != h || !is_shown(c, release)) continue;
      rows.push_back({number_of(i), releases_of(c), words_of_change(c), calls_of(c),
                      plural(c.arms.size(), "arm"), evidence_of(c), driver_words_of(c)});
    }
    if (rows.empty()) continue;
    page.heading(fmt::format("{}: {}", title_of(static_cast<harm>(h)), plural(rows.size(), "change")));
    if (page.markdown())
      page.table({"", "releases", "what", "calls", "arms", "where", "the driver's words"}, rows);
    else
      page.entries(rows);
  }
  if (const std::size_t absent = left_out_of(all); absent > 0)
    page.line(
        fmt::format("{} of {} left out, which have the fewest arms or made-up faults: --release shows those "
                    "of one release, and --json all.",
                    absent, plural(all.found.changes.size(), "change")));
  print_releases(page, all, release);
  if (!all.found.by_cufault.empty())
    page.line(fmt::format("Of {} only what the case does is different, which is no change of cuBLAS: {}.",
                          plural(all.found.by_cufault.size(), "arm"), the_first(all.found.by_cufault, 6)));
  if (release.empty()) print_files(page, all.files);
  print_notes(page, all, release);
}

nlohmann::ordered_json to_json(const change_report& all, const std::string& release) {
  using nlohmann::ordered_json;
  const auto list = [] { return ordered_json::array(); };
  ordered_json releases = list(), changes = list(), files = list(), notes = list(), unmentioned = list();
  for (const auto& r : all.found.releases)
    releases.push_back({{"release", r.version},
                        {"observed", r.observed},
                        {"compared", r.compared},
                        {"changed", r.changed},
                        {"next_compared", r.next_compared},
                        {"next_changed", r.next_changed}});
  for (std::size_t i = 0; i < all.found.changes.size(); ++i) {
    const release_change& c = all.found.changes[i];
    if (!is_shown(c, release)) continue;
    changes.push_back({{"number", i + 1},
                       {"harm", to_string(c.how)},
                       {"since", c.since},
                       {"after", c.after},
                       {"at_latest", c.at_latest},
                       {"until", c.until},
                       {"from", c.from},
                       {"to", c.to},
                       {"what", c.what},
                       {"details", c.details},
                       {"of", c.of},
                       {"calls", c.calls},
                       {"arms", c.arms},
                       {"where", c.where},
                       {"example", c.example},
                       {"driver_before", c.driver_before},
                       {"driver_since", c.driver_since},
                       {"made_up", c.made_up},
                       {"severe", c.severe}});
  }
  for (const file_history& h : all.files) {
    ordered_json ranges = list();
    for (const auto& r : h.ranges)
      ranges.push_back({{"first", r.first}, {"last", r.last}, {"words", r.words}});
    files.push_back({{"fact", h.name}, {"ranges", std::move(ranges)}});
  }
  const auto numbers = [&](const std::vector<std::size_t>& indexes) {
    ordered_json each = list();
    for (const std::size_t i : indexes) each.push_back(i + 1);
    return each;
  };
  for (const release_note& n : all.notes)
    notes.push_back({{"id", n.id},
                     {"verdict", n.verdict},
                     {"arms", n.arms},
                     {"changes", numbers(changes_of_note(n, all.found.changes))}});
  return {{"schema", changes_schema},
          {"gpu", all.gpu},
          {"driver", all.driver},
          {"releases", std::move(releases)},
          {"changes", std::move(changes)},
          {"left_out", left_out_of(all)},
          {"steady", all.found.steady},
          {"by_cufault", all.found.by_cufault},
          {"files", std::move(files)},
          {"notes", std::move(notes)},
          {"unmentioned", numbers(unmentioned_in(all))}};
}

}  // namespace cufault
