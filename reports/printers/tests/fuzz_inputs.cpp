// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Bad outside data may only ever end in an input_error: anything else that leaves a reader ends the fuzzer.
#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"
#include "reports/judge/claims.hpp"
#include "reports/judge/judge.hpp"
#include "reports/model/arm_line.hpp"
#include "reports/model/failures.hpp"
#include "reports/model/record.hpp"
#include "reports/model/stack_folder.hpp"
#include "reports/printers/atlas.hpp"
#include "reports/printers/comparison.hpp"
#include "reports/printers/merge.hpp"
#include "reports/printers/printers.hpp"
#include "reports/printers/render.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace cufault;

template <typename Read>
void tolerate(Read read) {
  try {
    read();
  } catch (const input_error& e) {
    if (std::string_view{e.what()}.find('\n') != std::string_view::npos)
      std::abort();  // promised to be one line
  }
}

/// What was read is expected, too: nothing can differ.
void judge_by_itself(arm_result& arm) {
  const arm_result shown = arm;
  const expectation itself = expectation_of(shown, !arm.races.empty());
  judge_by(arm, &itself);
  if (arm.judged == verdict::changed || arm.judged == verdict::gone || arm.judged == verdict::worsened ||
      arm.judged == verdict::remedy_broken || arm.judged == verdict::unrecorded)
    std::abort();
}

// What was read must survive being judged, written and shown.
void use(record r) {
  for (auto& c : r.cases)
    for (auto& arm : c.arms) {
      judge_by(arm, nullptr);
      if (observed(arm)) judge_by_itself(arm);
    }
  std::ostringstream out;
  print_verdicts(out, r, table_style::text);
  print_verdicts(out, r, table_style::markdown);
  const std::array twice{r, r};
  // What is compared with itself has not changed, whatever it is.
  const comparison gate = compare(twice, {.today = "2026-11-22"});
  for (const compared_arm& a : gate.arms)
    if (!is_same(a.found.v) && a.found.v != verdict::unrecorded && a.found.v != verdict::unresolved)
      std::abort();
  print_comparison(out, gate, "diff", table_style::text, arm_extent::whole);
  print_comparison(out, gate, "gate", table_style::markdown);
  static_cast<void>(to_json(gate).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  merging merged;
  merged.add("a", r);
  record other = r;
  ++other.seed;
  merged.add("b", other);
  for (const merged_arm& a : merged.result().arms)
    if (!a.outliers.empty() || a.no_majority) std::abort();
  print_merged(out, merged.result(), table_style::text);
  report_builder builder;
  builder.add("a.jsonl", r);
  builder.add_green("b.jsonl", r);
  report whole = builder.result({}, {});
  whole.change = builder.change_since("b.jsonl", r, whole);
  for (const report& shown : {report_of_run(report_of(r), "a.jsonl"), whole})
    for (const report_printer* format : report_printers()) static_cast<void>(format->print(shown));
  const std::string page = print_as("html", whole);
  if (page.size() > html_limit || page.find("<script") != page.rfind("<script")) std::abort();
  print_atlas(out, atlas_tables(twice), table_style::markdown);
  print_counterparts(out, compare_counterparts({r, r}), table_style::text);
  tolerate([&] { static_cast<void>(stack_folder_name(*r.stack)); });
  const auto text = record_text(r);
  if (record_text(record_from("again", text)) != text) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  tolerate([&] { use(record_from("record", text)); });
  tolerate([&] {  // a line of a stack
    const json_cursor at{parse_json("family", text)};
    std::vector<run_of_trials> runs{{.commit = "a"}, {.commit = "b"}};
    const case_result c = filed_arm_from(at, runs);
    const auto line = filed_arm_json(c.name, c.arms[0], runs);
    const case_result again = filed_arm_from(json_cursor{parse_json("again", dump_json(line))}, runs);
    if (filed_arm_json(again.name, again.arms[0], runs) != line) std::abort();
    use({.cases = {again}});
  });
  tolerate([&] {
    const json_cursor top{parse_json("input", text)};
    tolerate([&] { static_cast<void>(failures_from(top)); });
    tolerate([&] { static_cast<void>(allowances_from(top)); });
    tolerate([&] { static_cast<void>(judge_claims(claims_from(top), {})); });
  });
  return 0;
}
