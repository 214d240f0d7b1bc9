// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/printers/frameworks.hpp"

#include "reports/explain/evidence.hpp"
#include "reports/judge/claims.hpp"
#include "reports/judge/remedy_outcome.hpp"
#include "reports/model/cell_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace cufault {
namespace {

struct framework {
  std::string_view prefix, key, name;  ///< of its functions, of its version among a stack's keys, for people
};
constexpr std::array<framework, 3> frameworks{
    {{"torch.", "pytorch", "PyTorch"}, {"jax.", "jax", "JAX"}, {"cupy.", "cupy", "CuPy"}}};

const framework* framework_called(std::string_view api) {
  const auto* const found =
      std::ranges::find_if(frameworks, [&](const framework& f) { return api.starts_with(f.prefix); });
  return found == frameworks.end() ? nullptr : found;
}

/// A product that a framework trial makes at its end, to see what the process is worth.
constexpr std::string_view next_variant = "next";

std::string word_of(const fact_map& facts, const std::string& name) {
  const auto found = facts.find(name);
  return found == facts.end() || !std::holds_alternative<std::string>(found->second)
             ? std::string()
             : std::get<std::string>(found->second);
}

/// The first sentence, without what it says in brackets.
std::string first_sentence(std::string_view text) {
  for (const char* const end : {"\n", ". ", " ("}) text = text.substr(0, text.find(end));
  if (text.ends_with('.')) text.remove_suffix(1);
  return std::string(text);
}

/// Of a call that failed: "RuntimeError: CUBLAS_STATUS_INTERNAL_ERROR of cublasCreate".
std::string seen_of(const call_record& call, const observation& o) {
  const step& s = call.what;
  if (s.numbers == numbers_found::wrong) return "no exception, and wrong numbers";
  if (s.status.empty())
    return o.ended == outcome::timed_out ? "it does not return" : fmt::format("the process ends: {}", o.why);
  const std::string exception = word_of(s.facts, "exception"), named = word_of(s.facts, "named_call");
  if (exception.empty()) return s.status;
  if (s.status != exception)
    return fmt::format("{}: {}{}{}", exception, s.status, named.empty() ? "" : " of ", named);
  const std::string at = describe(s.name);
  const auto text = std::ranges::find_if(o.notes, [&](const note& n) { return n.name == at; });
  return text == o.notes.end() ? exception : fmt::format("{}: {}", exception, first_sentence(text->text));
}

/// The first failure of a trial, before a remedy.
const call_record* first_failure(const observation& o) {
  const auto found = std::ranges::find_if(o.calls, [](const call_record& call) {
    const bool failed = !call.what.ok || call.what.numbers == numbers_found::wrong;
    return failed && !call.after_remedy && call.what.name.variant != next_variant &&
           framework_called(call.what.name.api) != nullptr;
  });
  return found == o.calls.end() ? nullptr : &*found;
}

/// What the same process can do after the failure.
std::string seen_afterwards(const observation& o) {
  for (const call_record& call : o.calls)
    if (call.what.name.variant == next_variant && !call.after_remedy) {
      if (call.what.ok && call.what.numbers == numbers_found::right) return "the next product is right";
      if (call.what.status.empty()) return "the process ends in the next product";
      if (o.context == "damaged")
        return fmt::format("the process is lost: the next product fails with {}", call.what.status);
      return call.what.ok ? "" : fmt::format("the next product fails with {}", call.what.status);
    }
  return "";
}

struct seen_failure {
  std::set<std::string> operations{}, when{}, after{}, cleared{}, not_cleared{};
  std::size_t trials = 0;
};
/// By framework, exception and case.
using failures_of_a_stack = std::map<std::tuple<std::string_view, std::string, std::string>, seen_failure>;

/// `cost`: of the remedy that the arm applies, where it was measured.
void note_arm(failures_of_a_stack& found, const case_result& c, const arm_result& arm,
              const std::string& cost) {
  const auto named = [&](const std::string& name) {
    return std::ranges::find_if(c.arms, [&](const arm_result& a) { return a.name == name; });
  };
  std::set<seen_failure*> here;
  const auto note_trial = [&](const observation& o, bool count) {
    const call_record* const call = comparable(o) ? first_failure(o) : nullptr;
    if (call == nullptr) return;
    const framework& f = *framework_called(call->what.name.api);
    seen_failure& seen = found[{f.name, seen_of(*call, o), c.name}];
    here.insert(&seen);
    if (!count) return;
    seen.operations.insert(call->what.name.api);
    const auto fault = arm.kind == arm_kind::fault ? c.arms.end() : named(without_remedy(arm.name));
    if (arm.kind == arm_kind::fault)
      seen.when.insert(arm.summary);
    else if (fault != c.arms.end())
      seen.when.insert(fault->summary);
    if (const std::string after = seen_afterwards(o); !after.empty() && arm.kind == arm_kind::fault)
      seen.after.insert(after);
    ++seen.trials;
  };
  const auto tried = remedy_outcome_of(c, arm);
  // A remedy that is in place from the start answers the failure of another arm.
  const bool from_the_start = tried && !tried->against.empty();
  for (const observation& o : arm.trials) note_trial(o, true);
  if (from_the_start) {
    here.clear();
    for (const arm_result& fault : c.arms)
      if (join_key(c.name, fault.name) == tried->against)
        for (const observation& o : fault.trials) note_trial(o, false);
  }
  if (tried)
    for (seen_failure* const seen : here) {
      if (tried->cleared)
        seen->cleared.insert(cost.empty() ? tried->words : fmt::format("{} ({})", tried->words, cost));
      else
        seen->not_cleared.insert(tried->words);
    }
}

/// "PyTorch 2.11.0": the framework's version in the stack.
std::string versioned(std::string_view name, const record& r) {
  const auto keys = keys_of(r);
  const auto* const f =
      std::ranges::find_if(frameworks, [&](const framework& one) { return one.name == name; });
  const auto version = keys.find(std::string(f->key));
  return version == keys.end() ? std::string(name) : fmt::format("{} {}", name, version->second);
}

}  // namespace

std::vector<named_table> frameworks_in(std::span<const record> records, const cost_notes& costs) {
  std::map<std::string, failures_of_a_stack> found;  // by framework and stack, as the heading says
  for (const record& r : records)
    for (const case_result& c : r.cases) {
      if (control_unresolved(c)) continue;
      failures_of_a_stack here;
      for (const arm_result& arm : c.arms)
        if (arm.kind != arm_kind::control && !is_made_up(arm)) {
          const std::string remedy = remedy_of_arm(join_key(c.name, arm.name));
          // A new process of a framework imports it, which was not measured.
          note_arm(here, c, arm,
                   remedy == "new_process" ? std::string() : note_of(costs, stack_label(r), remedy));
        }
      for (auto& [key, seen] : here)
        found[fmt::format("{}, {}", versioned(std::get<0>(key), r), stack_label(r))][key] = std::move(seen);
    }
  std::vector<named_table> tables;
  for (const auto& [heading, failures] : found) {
    named_table& table =
        tables.emplace_back(named_table{.name = "failures",
                                        .stack = heading,
                                        .columns = {{"what you see", "failure"},
                                                    {"of", "operations"},
                                                    {"case", "case"},
                                                    {"what had happened", "what_had_happened"},
                                                    {"trials", "trials"},
                                                    {"afterwards", "afterwards"},
                                                    {"cleared by", "cleared_by"},
                                                    {"not cleared by", "not_cleared_by"}}});
    for (const auto& [key, seen] : failures) {
      const auto& [name, what, case_name] = key;
      table.rows.push_back({what, table_value::lines(seen.operations), case_name,
                            table_value::lines(seen.when), table_value::count(seen.trials),
                            table_value::lines(seen.after), table_value::lines(seen.cleared),
                            table_value::lines(seen.not_cleared)});
    }
  }
  return tables;
}

}  // namespace cufault
