// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What remedies cost, as a picture: SVG that needs no other file.
#include "reports/model/record.hpp"
#include "reports/printers/cost.hpp"
#include "reports/printers/html_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace cufault {
namespace {

constexpr double picture_width = 960, remedies_width = 250, memory_width = 150, line_height = 18,
                 head_height = 44;

/// Times on a logarithmic scale.
struct scale {
  double least, most;
  [[nodiscard]] double at(double ratio) const {
    const double part = std::log(std::clamp(ratio, least, most) / least) / std::log(most / least);
    return remedies_width + part * (picture_width - remedies_width - memory_width);
  }
};

std::string text(double x, double y, const char* anchor, const std::string& said, std::size_t most = 40) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     html_escaped(beginning_of(said, most)));
}

std::string row_of(const std::vector<judged_cost>& works, double y, const scale& x) {
  std::string drawn;
  for (const judged_cost& j : works) {
    const bool noise = j.verdict == cost_verdict::inside_noise;
    const std::string title =
        fmt::format("{}: {} ({} to {}){}", j.where->name, ratio_text(j.ratio.median), ratio_text(j.ratio.low),
                    ratio_text(j.ratio.high), noise ? ", inside the noise" : "");
    drawn += fmt::format(
        "<g class=\"{}\"><title>{}</title><line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>"
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"/></g>\n",
        noise                ? "n"
        : j.ratio.median > 1 ? "s"
                             : "f",
        html_escaped(title), x.at(j.ratio.low), x.at(j.ratio.high), y, y, x.at(j.ratio.median), y);
  }
  return drawn;
}

std::string memory_of(const std::vector<judged_cost>& all, const std::string& remedy) {
  for (const remedy_cost_summary& s : summed_up(all)) {
    if (s.remedy != remedy || !s.most_bytes) continue;
    const std::string low = bytes_text(*s.least_bytes), high = bytes_text(*s.most_bytes);
    return low == high ? high : fmt::format("{} to {}", low, high);
  }
  return {};
}

}  // namespace

std::string costs_svg(std::span<const cost_record> records) {
  std::string body;
  double y = 0;
  for (const cost_record& r : records) {
    const auto all = judged(r);
    std::map<std::string, std::vector<judged_cost>> rows;
    scale x{0.5, 2};
    for (const judged_cost& j : all) {
      if (j.verdict != cost_verdict::measured && j.verdict != cost_verdict::inside_noise) continue;
      rows[j.what->remedy].push_back(j);
      x.least = std::min(x.least, j.ratio.median / 1.2);
      x.most = std::max(x.most, j.ratio.median * 1.2);
    }
    record of_stack;
    of_stack.stack = r.stack;
    body += text(8, y + 16, "start",
                 stack_label(of_stack) + (r.size == "tiny" ? " (--tiny: figures mean nothing)" : "") +
                     (r.complete ? "" : " (the run did not come to its end)"),
                 120);
    const double top = y + head_height, bottom = top + line_height * static_cast<double>(rows.size());
    for (double tick = 1.0 / 1024; tick <= x.most; tick *= x.most / x.least > 64 ? 4 : 2) {
      if (tick < x.least) continue;
      body += fmt::format("<line class=\"{}\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>\n",
                          tick == 1 ? "one" : "tick", x.at(tick), x.at(tick), top - 6, bottom);
      body += text(x.at(tick), top - 10, "middle",
                   tick >= 1 ? fmt::format("{:.0f}x", tick) : fmt::format("1/{:.0f}", 1 / tick));
    }
    body += text(picture_width - 8, top - 10, "end", "device memory");
    double at = top + line_height / 2;
    for (const auto& [remedy, works] : rows) {
      body += text(remedies_width - 10, at + 4, "end", remedy);
      body += row_of(works, at, x);
      body += text(picture_width - 8, at + 4, "end", memory_of(all, remedy));
      at += line_height;
    }
    y = bottom + 24;
  }
  if (records.empty()) {
    body = text(8, 20, "start", "What remedies cost: not measured yet.", 60);
    y = 32;
  } else {
    body += text(8, y + 4, "start",
                 "Time with a remedy by time without it, a dot for each kind of work; lines: 95 % intervals; "
                 "grey: inside the noise; logarithmic.",
                 160);
    y += 16;
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" role=\"img\" "
      "aria-label=\"What remedies cost\">\n"
      "<style>text{{font:12px sans-serif;fill:#222}}.tick{{stroke:#ddd}}.one{{stroke:#666}}.n "
      "line{{stroke:#aaa}}.n circle{{fill:#aaa}}"
      ".s line{{stroke:#b2182b}}.s circle{{fill:#b2182b}}.f line{{stroke:#2166ac}}.f "
      "circle{{fill:#2166ac}}</style>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{2}</svg>\n",
      picture_width, y, body);
}

}  // namespace cufault
