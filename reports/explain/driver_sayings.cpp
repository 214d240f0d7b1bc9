// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/explain/driver_sayings.hpp"

#include "reports/explain/evidence.hpp"
#include "reports/model/sweep_names.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>
#include <tuple>

namespace cufault {
namespace {

/// A call of a trial, and whether the trial heard the driver's log.
using visit_call = std::function<void(const case_result&, const arm_result&, const call_record&, bool heard)>;
/// Without sweeps and what is made up: what they make fail, the driver does not know of.
void each_call(const record& r, const visit_call& visit) {
  for (const case_result& c : r.cases) {
    if (c.name.starts_with(sweep_family)) continue;
    for (const arm_result& a : c.arms) {
      if (is_made_up(a) || !a.counterpart_of.empty()) continue;
      for (std::size_t i = 0; i < a.trials.size(); ++i)
        if (comparable(a.trials[i]))
          for (const call_record& call : a.trials[i].calls) visit(c, a, call, heard_driver_log(a, i));
    }
  }
}

bool call_failed(const call_record& c) {
  return !c.what.ok && !c.what.status.empty() && !is_success_status(c.what.status);
}

}  // namespace

driver_sayings driver_sayings_in(std::span<const record> records, const lexicon& known) {
  driver_sayings result;
  std::map<std::string, driver_saying> by_key;
  const auto saying_of = [&](const driver_message& m, const std::string& stack) -> driver_saying& {
    driver_saying& s = by_key[key_of(m)];
    if (s.stacks.empty()) {
      s.said = m;
      s.said.times = 1;
    }
    s.stacks.insert(stack);
    return s;
  };
  for (const record& r : records) {
    const std::string stack = stack_label(r);
    const usual_messages usual(r);
    each_call(r, [&](const case_result& c, const arm_result& a, const call_record& call, bool heard) {
      if (call.what.ok)
        for (const driver_message& m : call.driver) ++saying_of(m, stack).succeeded;
      if (!call_failed(call) || !heard) return;
      const driver_message* const why = usual.reason(call);
      ++(why != nullptr ? result.heard : result.silent);
      if (why == nullptr) return;
      driver_saying& s = saying_of(*why, stack);
      ++s.failed;
      ++s.behind[fmt::format("{}: {}", call.what.name.api, call.what.status)];
      s.arms.insert(join_key(c.name, a.name));
      if (const auto cause = cause_of_arm(known, c.name, a)) ++s.causes[*cause];
    });
  }
  for (auto& [key, saying] : by_key) result.all.push_back(std::move(saying));
  std::ranges::stable_sort(result.all, [](const driver_saying& a, const driver_saying& b) {
    return std::tie(b.failed, b.succeeded) < std::tie(a.failed, a.succeeded);
  });
  return result;
}

void write_sayings(row_writer& to, const driver_sayings& said, const lexicon& known) {
  using json = nlohmann::ordered_json;
  to.begin("driver_log", "calls that failed in runs which heard the driver's error log",
           {{"heard", "how many with a reason"}, {"silent", "how many without"}});
  to.row({said.heard, said.silent});
  to.begin("driver_sayings", "a message of the driver; those behind most failed calls first",
           {{"function", "the driver call"},
            {"code", "what it returned"},
            {"number", "of that code"},
            {"text", "an example: other messages differ by numbers and names alone"},
            {"failed", "failed calls, of which it was the first message that no control has"},
            {"succeeded", "calls that succeeded"},
            {"causes", "of failed calls of fault arms, as JSON: [[cause, its words, calls]]"},
            {"behind", "what calls returned, as JSON: {CALL: STATUS: calls}"},
            {"arms", "of failed calls, as JSON"},
            {"stacks", "in words, as JSON"}});
  for (const driver_saying& s : said.all) {
    const auto codes = library_of_status("cuda")->codes;
    const auto error =
        std::ranges::find(codes, known.canonical("CUDA_ERROR_" + s.said.code), &library_code::name);
    json causes = json::array();
    for (const auto& [cause, calls] : s.causes)
      causes.push_back({known.causes[cause].id, known.causes[cause].text, calls});
    to.row({s.said.function, s.said.code, error == codes.end() ? json() : json(error->number), s.said.text,
            s.failed, s.succeeded, std::move(causes), s.behind, s.arms, s.stacks});
  }
}

bool agrees(const std::map<std::string, std::uint64_t>& natural,
            const std::map<std::string, std::uint64_t>& injected) {
  return std::ranges::all_of(natural, [&](const auto& each) { return injected.contains(each.first); });
}

std::vector<nature_and_injection> nature_and_injection_in(std::span<const record> records) {
  std::map<std::tuple<std::string, std::string, std::string, std::string>, nature_and_injection> pairs;
  for (const record& r : records) {
    const std::string stack = stack_label(r);
    const usual_messages usual(r);
    each_call(r, [&](const case_result&, const arm_result&, const call_record& call, bool) {
      if (!call_failed(call)) return;
      const driver_message* const why = usual.reason(call);
      if (why == nullptr || why->function.empty() || why->code.empty()) return;
      nature_and_injection& pair = pairs[{stack, call.what.name.api, why->function, why->code}];
      ++pair.natural[call.what.status];
    });
  }
  std::set<std::pair<std::string, std::string>> swept;  // stack, call
  for (const record& r : records) {
    const std::string stack = stack_label(r);
    for (const case_result& c : r.cases) {
      if (!c.name.starts_with(sweep_family)) continue;
      for (const arm_result& a : c.arms)
        for (const observation& o : a.trials)
          for (const call_record& row : o.calls) {
            if (!row.swept || !row.swept->reached) continue;
            swept.insert({stack, row.what.name.api});
            for (auto& [key, pair] : pairs) {
              if (std::tie(std::get<0>(key), std::get<1>(key), std::get<2>(key)) !=
                  std::tie(stack, row.what.name.api, row.swept->function))
                continue;
              for (const std::string& code : row.swept->codes)
                (code == std::get<3>(key) ? pair.injected : pair.with_other_codes)[row.what.status] +=
                    std::max<std::uint64_t>(row.swept->calls, 1);
            }
          }
    }
  }
  std::vector<nature_and_injection> all;
  for (auto& [key, pair] : pairs) {
    if (!swept.contains({std::get<0>(key), std::get<1>(key)})) continue;
    std::tie(pair.stack, pair.call, pair.function, pair.code) = key;
    all.push_back(std::move(pair));
  }
  return all;
}

}  // namespace cufault
