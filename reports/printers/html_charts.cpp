// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The parts of the page that are drawn. What is drawn is in a table below it, too.
#include "reports/printers/html.hpp"
#include "reports/printers/html_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

namespace cufault {
namespace {

constexpr double width = 960, label_width = 420, row_height = 20;

std::string svg(const std::string& title, double height, const std::string& body) {
  return fmt::format(
      "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{0}\"><svg class=\"wide\" "
      "role=\"img\" aria-label=\"{0}\" "
      "viewBox=\"0 0 {1:.0f} {2:.0f}\" width=\"{1:.0f}\" height=\"{2:.0f}\">{3}</svg></div>\n",
      html_escaped(title), width, height, body);
}

std::string label_at(double y, const std::string& text) {
  return fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"end\">{}</text>", label_width - 8,
                     y + row_height - 6, html_shortened(text, 60));
}

std::string bar(const char* css, double x, double y, double w, const std::string& title) {
  return fmt::format(
      "<rect class=\"b f-{}\" x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" "
      "height=\"{:.0f}\"><title>{}</title></rect>",
      css, x, y + 2, std::max(w, 0.5), row_height - 4, html_escaped(title));
}

/// On a bar: every fill but one is light, and that one has no text.
std::string dark_text(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.0f}\" text-anchor=\"{}\" style=\"fill:#000\">{}</text>", x,
                     y + row_height - 6, anchor, html_escaped(text));
}

// ---- edges ----

struct joined_edge {
  memory_edge edge;
  std::vector<std::string> letters;
};

std::string edges_chart(const std::string& unit, const std::vector<joined_edge>& edges) {
  double most = 1;
  for (const joined_edge& e : edges)
    if (std::isfinite(e.edge.smallest_succeeding)) most = std::max(most, e.edge.smallest_succeeding * 2);
  const double room = width - label_width - 10;
  const auto at = [&](double value) {
    const double part = std::log2(1 + std::clamp(value, 0.0, most)) / std::log2(1 + most);
    return label_width + room * (std::isfinite(part) ? part : 0);
  };
  std::string body;
  double y = 0;
  for (const joined_edge& e : edges) {
    const double fails = at(e.edge.largest_failing), succeeds = at(e.edge.smallest_succeeding);
    body += label_at(y, fmt::format("{} ({})", e.edge.name, fmt::join(e.letters, ", ")));
    body += bar("fails", label_width, y, fails - label_width,
                fmt::format("fails up to {}", e.edge.largest_failing)) +
            bar("right", succeeds, y, width - 10 - succeeds,
                fmt::format("succeeds from {}", e.edge.smallest_succeeding));
    if (fails - label_width > 50)
      body += dark_text(fails - 4, y, "end", fmt::format("✕ {}", e.edge.largest_failing));
    if (width - 10 - succeeds > 50)
      body += dark_text(succeeds + 4, y, "start", fmt::format("✓ {}", e.edge.smallest_succeeding));
    y += row_height;
  }
  for (double tick = 1; tick < most; tick *= 4)
    body += fmt::format(
        "<line class=\"axis\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.0f}\" y2=\"{2:.0f}\"/><text "
        "x=\"{0:.1f}\" y=\"{3:.0f}\" "
        "text-anchor=\"middle\">{4:.0f}</text>",
        at(tick), y, y + 4, y + 18, tick);
  body += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"end\">{}, logarithmic</text>",
                      width - 10, y + 34, html_shortened(unit, 60));
  return svg(fmt::format("Edges between failure and success, in {}", unit), y + 42, body);
}

std::string edges_part(const report& r, std::size_t room) {
  std::map<std::string, std::map<std::tuple<std::string, double, double>, joined_edge>> by_unit;
  for (const memory_edge& e : r.edges) {
    joined_edge& joined = by_unit[e.unit][{e.name, e.largest_failing, e.smallest_succeeding}];
    joined.edge = e;
    joined.letters.push_back(e.stack);
  }
  std::string text = "<h3>Edges</h3>\n";
  if (by_unit.empty())
    return text + "<p>Not measured: no arm of these records has an edge between failure and success.</p>\n";
  text +=
      "<p>Below the edge an arm fails (✕, left), above it succeeds (✓, right); between the two nothing was "
      "tried.</p>\n";
  constexpr std::size_t most_rows = 60;  // of a chart
  std::vector<std::string> rows;
  for (const auto& [unit, edges] : by_unit) {
    std::vector<joined_edge> shown;
    for (const auto& [key, e] : edges) {
      if (shown.size() < most_rows) shown.push_back(e);
      rows.push_back(fmt::format(
          "<tr data-f><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
          html_escaped(e.edge.name), fmt::join(e.letters, ", "), e.edge.largest_failing,
          e.edge.smallest_succeeding, html_shortened(unit, 100)));
    }
    const std::string chart = edges_chart(unit, shown);
    if (text.size() + chart.size() < room / 2) text += chart;
  }
  return text + "<details><summary>The numbers</summary>" +
         html_table("Edges", {"arm", "stacks", "largest failing", "smallest succeeding", "unit"}, rows,
                    room - std::min(room, text.size())) +
         "</details>\n";
}

// ---- leaks ----

std::string leaks_part(const report& r, std::size_t room) {
  std::string text = "<h3>Handles that are never destroyed</h3>\n";
  if (r.leaks.empty()) return text + "<p>Not measured: no arm of these records leaks handles.</p>\n";
  constexpr double gib = 1024.0 * 1024 * 1024, left = 60, height = 300, bottom = height - 40;
  std::vector<leak_line> lines = r.leaks;
  std::sort(lines.begin(), lines.end(), [](const leak_line& a, const leak_line& b) {
    return std::tie(a.what, a.stack, a.handles, a.bytes_per_handle, a.names) <
           std::tie(b.what, b.stack, b.handles, b.bytes_per_handle, b.names);
  });
  double most_handles = 1, most_bytes = 1;
  for (const leak_line& l : lines) {
    if (!std::isfinite(l.handles) || !std::isfinite(l.bytes_per_handle)) continue;
    most_handles = std::max(most_handles, l.handles);
    most_bytes = std::max(most_bytes, l.handles * l.bytes_per_handle);
  }
  // Logarithmic: one arm fills a device, others a few GiB.
  const double least = std::log2(most_bytes) - 24;
  const auto x = [&](double handles) {
    return left +
           (width - left - 20) * std::log2(std::max(handles, 1.0)) / std::max(std::log2(most_handles), 1.0);
  };
  const auto y = [&](double bytes) {
    const double part = (std::log2(std::max(bytes, 1.0)) - least) / 24;
    return bottom - (bottom - 10) * std::clamp(part, 0.0, 1.0);
  };
  std::string body = fmt::format(
      "<line class=\"axis\" x1=\"{0:.0f}\" x2=\"{1:.0f}\" y1=\"{2:.0f}\" y2=\"{2:.0f}\"/><line "
      "class=\"axis\" "
      "x1=\"{0:.0f}\" x2=\"{0:.0f}\" y1=\"10\" y2=\"{2:.0f}\"/>",
      left, width - 20, bottom);
  for (double tick = 1; tick <= most_handles; tick *= 4)
    body += fmt::format("<text x=\"{:.1f}\" y=\"{:.0f}\" text-anchor=\"middle\">{:.0f}</text>", x(tick),
                        bottom + 16, tick);
  for (double tick = gib / 1024; tick <= most_bytes; tick *= 16)
    body += fmt::format(
        "<text x=\"{:.0f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", left - 6, y(tick) + 4,
        tick < gib ? fmt::format("{:.0f} MiB", tick / gib * 1024) : fmt::format("{:.0f} GiB", tick / gib));
  body += fmt::format(
      "<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"end\">handles, logarithmic; device memory upwards, "
      "likewise</text>",
      width - 20, bottom + 34);
  std::vector<std::string> rows;
  std::set<std::string> drawn;
  for (const leak_line& l : lines) {
    const bool good = std::isfinite(l.handles) && std::isfinite(l.bytes_per_handle) && l.handles >= 1;
    const double taken = l.handles * l.bytes_per_handle;
    if (good && drawn.size() < 40) {
      const std::string line = fmt::format("<polyline class=\"l\" points=\"{:.1f},{:.1f} {:.1f},{:.1f}\"/>",
                                           x(1), y(l.bytes_per_handle), x(l.handles), y(taken));
      if (drawn.insert(line).second)
        body += fmt::format(
            "{}<circle class=\"b f-mixed\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\"><title>{} handles, {:.2f} MiB "
            "each</title></circle>",
            line, x(l.handles), y(taken), l.handles, l.bytes_per_handle / gib * 1024);
    }
    rows.push_back(fmt::format(
        "<tr data-f><th "
        "scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{:.3f}</td><td>{:.2f}</td><td>{}</td></tr>\n",
        html_shortened(fmt::format("{}", fmt::join(l.names, ", ")), 600), l.stack, l.handles,
        l.bytes_per_handle / gib * 1024, taken / gib, html_shortened(l.what, 100)));
  }
  text +=
      "<p>Each line ends where creation failed, or where the arm stopped: that end was measured. The line to "
      "it has the mean of each "
      "handle.</p>\n" +
      svg("Device memory taken by handles that are never destroyed", height, body);
  return text + html_table("Handles that are never destroyed",
                           {"arms", "stack", "handles", "MiB each", "GiB in all", "measured"}, rows,
                           room - std::min(room, text.size()));
}

// ---- the atlas ----

bool ends_process(const std::string& status) {
  return status == status_crashed || status == status_timed_out || status == status_exited;
}

std::string bars_of(const swept_counts& counts, double y) {
  std::string body;
  double x = label_width;
  const double room = width - label_width - 10;
  const auto add = [&](const char* css, const std::string& word, std::uint64_t runs) {
    if (runs == 0) return;
    const double w = room * static_cast<double>(runs) / static_cast<double>(counts.runs);
    body += bar(css, x, y, w, fmt::format("{}: {} of {} runs", word, runs, counts.runs));
    // A character is about 7 wide.
    if (w > 7.0 * static_cast<double>(word.size()) + 8) body += dark_text(x + 4, y, "start", word);
    x += w;
  };
  add("right", "✓ swallowed", counts.swallowed);
  for (const auto& [status, runs] : counts.statuses)
    if (!ends_process(status)) add("fails", "✕ " + status, runs);
  add("worse", "‼ succeeded wrongly", counts.wrong);
  for (const auto& [status, runs] : counts.statuses)
    if (ends_process(status)) add("worse", "‼ " + status, runs);
  return body;
}

}  // namespace

std::string html_memory(const report& r, std::size_t room) {
  return edges_part(r, room / 2) + leaks_part(r, room / 2);
}

std::string html_atlas(const report& r, std::size_t room) {
  if (r.atlas.empty())
    return "<p>Not measured: these records have no sweep. <code>cufault sweep</code> makes them.</p>\n";
  std::string text =
      "<p>Each driver call inside an operation was made to fail, alone: made up, not seen in nature. A bar "
      "is all runs of an operation; its "
      "parts are what the operation came to. <code>cufault atlas</code> says on what that depends.</p><ul "
      "class=\"key\"><li><span class=\"tag "
      "right\">✓</span> swallowed: success, and right numbers</li><li><span class=\"tag fails\">✕</span> a "
      "status</li><li><span class=\"tag "
      "worse\">‼</span> success and wrong numbers, a crash or a hang</li></ul>\n";
  for (const auto& [stack, operations] : r.atlas) {
    std::string body;
    std::vector<std::string> rows;
    double y = 0;
    for (const swept_operation& o : operations) {
      const std::string name = html_escaped(title(o));
      if (!o.unresolved.empty()) {
        rows.push_back(
            fmt::format("<tr data-f><th scope=\"row\">{}</th><td>{}</td><td colspan=\"4\">{}</td></tr>\n",
                        name, html_escaped(o.depth), html_shortened(o.unresolved, 200)));
        continue;
      }
      const swept_counts counts = counts_of(o);
      std::vector<std::string> words;
      for (const auto& [status, runs] : counts.statuses) words.push_back(fmt::format("{} {}", runs, status));
      rows.push_back(
          fmt::format("<tr data-f><th scope=\"row\">{}</th><td>{}, "
                      "{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                      name, counts.runs, html_escaped(o.depth),
                      html_shortened(fmt::format("{}", fmt::join(words, ", ")), 400), counts.swallowed,
                      counts.wrong, counts.poisons_process));
      if (counts.runs == 0 || y > 60 * row_height) continue;
      body += label_at(y, title(o)) + bars_of(counts, y);
      y += row_height;
    }
    std::string part = fmt::format("<h3>{}</h3>\n", html_escaped(stack));
    if (y > 0) part += svg("What operations come to when one driver call fails, on " + stack, y + 4, body);
    if (text.size() + part.size() > room) break;
    text += part + "<details><summary>The numbers</summary>" +
            html_table("Atlas of " + stack,
                       {"operation", "runs with one call failed", "statuses", "swallowed",
                        "succeeded wrongly", "fails by a new handle too"},
                       rows, room - std::min(room, text.size() + part.size())) +
            "</details>\n";
  }
  return text;
}

}  // namespace cufault
