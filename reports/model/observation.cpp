// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/observation.hpp"

#include "reports/base/json_fields.hpp"
#include "reports/model/api_functions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>
#include <utility>

namespace cufault {
namespace {

constexpr std::string_view completed = "completed";
constexpr std::string_view never_returned = "never returned";

bool any_failing(const std::vector<step>& steps) {
  return std::ranges::any_of(steps, [](const step& s) { return !s.ok; });
}

bool any_with(const std::vector<step>& steps, numbers_found numbers) {
  return std::ranges::any_of(steps, [&](const step& s) { return s.numbers == numbers; });
}

std::string outcome_text(const observation& o) {
  const call_record* const call = call_in_flight(o);
  const auto where = call == nullptr ? std::string{} : " in " + call->what.name.api;
  if (o.ended == outcome::timed_out) return "timed out" + where;
  if (o.ended != outcome::crashed) return std::string{completed};
  if (!o.signal && o.exit_code) return fmt::format("crashed: exit {}{}", *o.exit_code, where);
  if (!o.why.empty()) return fmt::format("crashed: {}{}", o.why, where);
  return fmt::format("crashed: signal {}{}", o.signal.value_or(0), where);
}

/// A table of calls is too long to be read in a line: how many came to what.
std::string describe_table(const std::vector<step>& steps) {
  std::map<std::string, int> by_status;
  for (const step& s : steps) ++by_status[s.status];
  std::vector<std::pair<int, std::string>> most_first;
  for (const auto& [status, times] : by_status) most_first.emplace_back(-times, status);
  std::ranges::sort(most_first);
  std::string text = fmt::format("{} calls", steps.size());
  const char* separator = ":";
  for (const auto& [times, status] : most_first) {
    text += fmt::format("{} {} {}", separator, -times, status);
    separator = ",";
  }
  return text;
}

/// Long loops of equal calls are one entry with a count.
std::string describe_steps(const std::vector<step>& steps) {
  constexpr int readable = 40;
  std::string text;
  int entries = 0;
  for (auto run = steps.begin(); run != steps.end(); ++entries) {
    if (entries == readable) return describe_table(steps);
    const auto end = std::find_if(run, steps.end(), [&](const step& s) { return s != *run; });
    const auto times = end - run;
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", describe(*run),
                        times > 1 ? fmt::format(" x{}", times) : "");
    run = end;
  }
  return text;
}

/// A driver call in an operation of a library. Where it fails, the outcome differs between runs of one stack, as if the library went on with
/// a value that nobody had set.
struct varying_call {
  std::string_view api, function, caller;
};
/// By runs on H200s, driver 580.159.04, cuBLAS 13.1.0 (reports/recorded/2026-11-25-h100-h200.txt; of cublasSgemmBatched
/// 2026-11-25-one-gpu-gates.txt). All codes are left out, once and persistently: rows with equal outcomes are one row, so that what varies
/// changes the others, too.
constexpr varying_call varying_calls[] = {
    // SUCCESS, and the product behind it is right, or dies of SIGFPE, or returns NOT_SUPPORTED.
    {"cublasCreate", "cuCtxGetLimit", "libcublasLt"},
    // SUCCESS, or SIGSEGV.
    {"cublasLtMatmulAlgoGetHeuristic", "cuStreamCreate", "libcublasLt"},
    {"cublasSgemmBatched", "cuStreamCreate", "libcublasLt"}};

/// What is compared of a row of a sweep, beside its status.
fact_map facts_of(const swept_calls& s) {
  fact_map facts;
  if (s.calls > 0 && !s.reached) facts["reached"] = false;
  if (!s.numbers.empty()) facts["check"] = s.numbers;
  if (!s.again.empty() && !is_success_status(s.again)) facts["again"] = s.again;
  if (!s.handle.empty() && !is_success_status(s.handle)) facts["same_handle"] = s.handle;
  if (!s.afresh.empty()) facts["afresh"] = s.afresh;
  if (!s.ended.empty()) facts["ended_in"] = s.ended_in;
  if (s.left_bytes != 0) facts["memory_left"] = true;
  return facts;
}

/// As it is compared.
step compared_step(const call_record& c) {
  step s = c.what;
  if (s.status.empty()) {
    s.status = never_returned;
    s.ok = false;
  }
  if (c.swept) {
    s.name.variant = describe(*c.swept);
    s.facts.merge(facts_of(*c.swept));
  } else {
    s.facts = facts_that_are(fact_use::compared, s.facts);
  }
  return s;
}

nlohmann::ordered_json step_json(const step& s) {
  field_writer f;
  f.required("api", s.name.api);
  f("variant", s.name.variant);
  if (!s.ok || s.status != success_of(s.name.api)) f("status", s.status);
  f("ok", s.ok && !s.status.empty(),
    true);  // what has not returned is not ok, and cannot be read as a success
  f("numbers", s.numbers);
  if (!s.facts.empty()) f.json["facts"] = facts_json(s.facts);
  return std::move(f.json);
}

nlohmann::ordered_json steps_json(const std::vector<step>& steps) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& s : steps) list.push_back(step_json(s));
  return list;
}

nlohmann::ordered_json signature_json(const signature& s) {
  nlohmann::ordered_json j{{"fault", steps_json(s.fault)}};
  if (s.applied) j["after"] = steps_json(s.after);
  j["outcome"] = s.outcome;
  j["context"] = s.context;
  j["numbers"] = s.numbers;
  return j;
}

// ---- levels ----

/// Where a signature may be seen, as far as one plateau says.
struct span_of_levels {
  double from = 0, to = 0;
};
span_of_levels allowed(const std::vector<plateau>& all, std::size_t i) {
  const auto first = static_cast<double>(*all[i].first_level), last = static_cast<double>(*all[i].last_level);
  span_of_levels s{first - std::abs(first) * edge_band, last + std::abs(last) * edge_band};
  if (i > 0) s.from = std::min(s.from, static_cast<double>(*all[i - 1].last_level));
  if (i + 1 < all.size()) s.to = std::max(s.to, static_cast<double>(*all[i + 1].first_level));
  return s;
}

bool allows(const std::vector<plateau>& all, std::int64_t level, const signature& seen) {
  const auto at = static_cast<double>(level);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].seen == seen)
      if (const auto s = allowed(all, i); s.from <= at && at <= s.to) return true;
  return false;
}

bool have_levels(const std::vector<plateau>& all) {
  return !all.empty() && std::ranges::all_of(all, [](const plateau& p) { return p.first_level.has_value(); });
}

std::string levels_text(const plateau& p) {
  if (!p.first_level) return {};
  return *p.first_level == *p.last_level ? fmt::format("at {}: ", *p.first_level)
                                         : fmt::format("from {} to {}: ", *p.first_level, *p.last_level);
}

/// The plateau of a level, or the next one. nullptr where there is none.
const plateau* plateau_at(const std::vector<plateau>& all, std::int64_t level) {
  const auto away = [&](const plateau& p) {
    return std::max({*p.first_level - level, level - *p.last_level, std::int64_t{0}});
  };
  const auto nearest =
      std::ranges::min_element(all, [&](const plateau& a, const plateau& b) { return away(a) < away(b); });
  return nearest == all.end() ? nullptr : &*nearest;
}

// ---- differences ----

/// What a step came to. Of numbers and facts what the other step does not share.
std::string came_to(const step& s, const step& other) {
  fact_map own = s.facts;
  std::erase_if(own, [&](const auto& f) {
    const auto there = other.facts.find(f.first);
    return there != other.facts.end() && there->second == f.second;
  });
  std::string text = s.status;
  if (s.numbers != other.numbers && s.numbers != numbers_found::unchecked)
    text += fmt::format(", numbers {}", name_of(s.numbers));
  if (!own.empty()) text += fmt::format(" ({})", describe(own));
  return text;
}

/// nullptr: that call was not made.
std::string before_and_now(const step* was, const step* is) {
  if (was != nullptr && is != nullptr && was->name == is->name)
    return fmt::format("{}: {} → {}", describe(was->name), came_to(*was, *is), came_to(*is, *was));
  if (was != nullptr && is != nullptr)
    return fmt::format("{}: {} → {}: {}", describe(was->name), was->status, describe(is->name), is->status);
  return was != nullptr ? fmt::format("{}: {} → not made", describe(was->name), was->status)
                        : fmt::format("{}: not made → {}", describe(is->name), is->status);
}

bool same_calls(const std::vector<step>& a, const std::vector<step>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const step& one, const step& other) { return one.name == other.name; });
}

}  // namespace

bool is_success_status(std::string_view status) {
  return status == "CUBLAS_STATUS_SUCCESS" || status == "cudaSuccess" || status == "CUDA_SUCCESS" ||
         status == "RIGHT_NUMBERS";
}

std::string describe(const swept_calls& s) {
  if (s.calls == 0) return "nothing made to fail";
  return fmt::format("{} of {}{}{}: {} {}", s.function, s.caller, s.phase.empty() ? "" : " ", s.phase,
                     fmt::join(s.codes, ", "),
                     s.once && s.persistent ? "once or persistently"
                     : s.once               ? "once"
                                            : "persistently");
}

bool nearly_full(const memory_sample& s) {
  return s.free_bytes < s.total_bytes / 50;
}

const measurement* find_measurement(const observation& o, std::string_view name) {
  const auto found = std::ranges::find(o.measurements, name, &measurement::name);
  return found == o.measurements.end() ? nullptr : &*found;
}

bool fails_nothing(const call_record& row) {
  return row.swept && row.swept->calls == 0;
}

const call_record* call_in_flight(const observation& o) {
  return !o.calls.empty() && o.calls.back().what.status.empty() ? &o.calls.back() : nullptr;
}

bool comparable(const observation& o) {
  return o.ended == outcome::completed || o.ended == outcome::crashed ||
         (o.ended == outcome::timed_out && !ran_out_of_time(o));
}

bool ran_out_of_time(const observation& o) {
  const bool at_exit = o.context != "unchecked";  // which is told behind all calls
  return o.ended == outcome::timed_out && call_in_flight(o) == nullptr && !at_exit;
}

std::string why_not_comparable(const observation& o) {
  if (!o.why.empty()) return o.why;
  if (!ran_out_of_time(o)) return "no reason was given";
  return fmt::format(
      "time ran out {}; run it beside less, give the arm a longer timeout, or observe the call that waits",
      o.calls.empty() ? "before the first observed call" : "behind " + describe(o.calls.back().what.name));
}

bool varies_between_runs(const call_record& c) {
  return c.swept &&
         std::any_of(std::begin(varying_calls), std::end(varying_calls), [&](const varying_call& with) {
           return with.api == c.what.name.api && with.function == c.swept->function &&
                  with.caller == c.swept->caller;
         });
}

namespace {
void sort_by_text(std::vector<step>& steps) {
  std::vector<std::pair<std::string, step>> by_text;
  for (step& one : steps) by_text.emplace_back(describe(one), std::move(one));
  std::ranges::stable_sort(by_text, [](const auto& a, const auto& b) { return a.first < b.first; });
  std::transform(by_text.begin(), by_text.end(), steps.begin(),
                 [](auto& sorted) { return std::move(sorted.second); });
}
}  // namespace

signature signature_of(const observation& o) {
  signature s{.fault = {},
              .after = {},
              .applied = !o.applied.empty(),
              .outcome = outcome_text(o),
              .context = o.context,
              .numbers = "unchecked"};
  for (const auto& c : o.calls) {
    if (varies_between_runs(c)) continue;
    auto& part = c.after_remedy ? s.after : s.fault;
    part.push_back(compared_step(c));
    s.applied = s.applied || c.after_remedy;
  }
  // The order in which rows of a sweep ran says nothing: parts of it take groups in turn.
  if (std::ranges::any_of(o.calls, [](const call_record& c) { return c.swept.has_value(); }))
    sort_by_text(s.fault);
  for (const auto& [found, word] :
       {std::pair{numbers_found::wrong, "wrong"}, std::pair{numbers_found::right, "right"}})
    if (any_with(s.fault, found) || any_with(s.after, found)) {
      s.numbers = word;
      break;
    }
  return s;
}

std::vector<plateau> plateaus_of(const std::vector<observation>& trials) {
  std::vector<const observation*> by_level;
  for (const auto& o : trials) by_level.push_back(&o);
  if (std::ranges::all_of(trials, [](const observation& o) { return o.level.has_value(); }))
    std::ranges::stable_sort(
        by_level, [](const observation* a, const observation* b) { return *a->level < *b->level; });
  std::vector<plateau> all;
  for (const observation* const trial : by_level) {
    const observation& o = *trial;
    auto s = signature_of(o);
    if (!all.empty() && all.back().seen == s) {
      if (o.level) {
        all.back().first_level = std::min(*o.level, all.back().first_level.value_or(*o.level));
        all.back().last_level = std::max(*o.level, all.back().last_level.value_or(*o.level));
      }
      all.back().stated = all.back().stated || !o.refined;
      continue;
    }
    all.push_back({std::move(s), o.level, o.level, !o.refined});
  }
  return all;
}

std::string disagreement(const std::vector<plateau>& before, const std::vector<plateau>& now) {
  if (!have_levels(before) || !have_levels(now)) {
    const bool one = before.size() == 1 && now.size() == 1;
    for (std::size_t i = 0; i < std::max(before.size(), now.size()); ++i) {
      const std::string which = one ? "" : fmt::format("result {}: ", i + 1);
      if (i >= before.size()) return fmt::format("{}none → {}", which, shortened(describe(now[i].seen)));
      if (i >= now.size()) return fmt::format("{}{} → none", which, shortened(describe(before[i].seen)));
      if (before[i].seen != now[i].seen) return which + difference(before[i].seen, now[i].seen);
    }
    return {};
  }
  const auto at = [&](std::int64_t level) {
    const plateau *was = plateau_at(before, level), *is = plateau_at(now, level);
    const auto has = [](const std::vector<plateau>& all, const signature& s) {
      return std::ranges::any_of(all, [&](const plateau& p) { return p.seen == s; });
    };
    const char* const edge = has(before, is->seen) && has(now, was->seen) ? "the edge moved: " : "";
    return fmt::format("{}at {}: {}", edge, level,
                       was->seen == is->seen
                           ? fmt::format("a further level with {}", shortened(describe(is->seen)))
                           : difference(was->seen, is->seen));
  };
  for (const plateau& p : now)
    for (const auto level : {*p.first_level, *p.last_level})
      if (!allows(before, level, p.seen)) return at(level);
  for (const plateau& p : before)
    if (p.stated && !allows(now, *p.first_level, p.seen) && !allows(now, *p.last_level, p.seen))
      return at(*p.first_level);
  return {};
}

bool failed(const signature& s) {
  if (s.outcome != completed || s.context == "damaged") return true;
  if (s.applied)
    return s.after.empty() || any_failing(s.after) || any_with(s.after, numbers_found::wrong) ||
           (s.context != "none" && !any_with(s.after, numbers_found::right));
  return s.numbers == "wrong" || any_failing(s.fault);
}

int severity(const signature& s) {
  if (s.outcome != completed || s.context == "damaged" || s.numbers == "wrong") return 2;
  return any_failing(s.fault) || any_failing(s.after) ? 1 : 0;
}

std::string describe(const signature& s) {
  std::string text = s.fault.empty() ? std::string{s.applied ? "" : "no calls"} : describe_steps(s.fault);
  if (s.applied)
    text += fmt::format("{}then {}", text.empty() ? "" : "; ",
                        s.after.empty() ? std::string{"nothing"} : describe_steps(s.after));
  if (s.outcome != completed) text += "; " + s.outcome;
  if (s.context != "unchecked") text += "; context " + s.context;
  if (s.numbers != "unchecked") text += "; numbers " + s.numbers;
  return text;
}

std::string describe(const std::vector<plateau>& plateaus) {
  std::string text;
  for (const auto& p : plateaus)
    text += fmt::format("{}{}{}", text.empty() ? "" : " | ", plateaus.size() > 1 ? levels_text(p) : "",
                        describe(p.seen));
  return text;
}

std::string describe(const std::vector<signature>& each) {
  std::string text;
  for (const auto& s : each) text += fmt::format("{}{}", text.empty() ? "" : " | ", describe(s));
  return text;
}

std::vector<std::string> differing_steps(const signature& before, const signature& now) {
  std::vector<std::string> found;
  for (const auto part : {&signature::fault, &signature::after}) {
    const auto &was = before.*part, &is = now.*part;
    const bool same = same_calls(was, is);
    for (std::size_t i = 0; i < std::max(was.size(), is.size()); ++i) {
      const step *a = i < was.size() ? &was[i] : nullptr, *b = i < is.size() ? &is[i] : nullptr;
      if (a != nullptr && b != nullptr && *a == *b) continue;
      found.push_back(before_and_now(a, b));
      if (!same) break;
    }
    if (!same) break;
  }
  if (before.applied != now.applied)
    found.emplace_back(now.applied ? "the remedy: not applied → applied"
                                   : "the remedy: applied → not applied");
  const bool ended_alike = before.outcome == now.outcome;
  if (!ended_alike) found.push_back(fmt::format("the process: {} → {}", before.outcome, now.outcome));
  if (before.context != now.context &&
      (ended_alike || (before.context != "unchecked" && now.context != "unchecked")))
    found.push_back(fmt::format("context: {} → {}", before.context, now.context));
  for (std::string& line : found) line = shortened(std::move(line));
  return found;
}

std::string difference(const signature& before, const signature& now) {
  auto lines = differing_steps(before, now);
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  constexpr std::size_t enough = 5;
  const std::size_t more = lines.size() - std::min(lines.size(), enough);
  lines.resize(lines.size() - more);
  return fmt::format("{}{}", fmt::join(lines, "; "), more > 0 ? fmt::format("; and {} more", more) : "");
}

std::string noted_difference(const std::vector<observation>& before, const std::vector<observation>& now) {
  const auto noted_in = [](const std::vector<observation>& trials) {
    std::map<std::string, std::string> facts;  // by step; of its first trial
    for (const observation& o : trials)
      for (const call_record& c : o.calls)
        if (auto noted = facts_that_are(fact_use::noted, c.what.facts); !noted.empty())
          facts.try_emplace(describe(c.what.name), describe(noted));
    return facts;
  };
  std::string text;
  const auto is = noted_in(now);
  for (const auto& [step, was] : noted_in(before))
    if (const auto there = is.find(step); there != is.end() && there->second != was)
      text += fmt::format("{}{}: {} → {}", text.empty() ? "" : "; ", step, was, there->second);
  return text;
}

std::string shortened(std::string text) {
  constexpr std::string_view prefix = "CUBLAS_STATUS_";
  for (auto at = text.find(prefix); at != text.npos; at = text.find(prefix, at))
    text.erase(at, prefix.size());
  return text;
}

std::string canonical(const std::vector<plateau>& plateaus) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& p : plateaus) {
    auto j = signature_json(p.seen);
    if (p.first_level) j["levels"] = {*p.first_level, *p.last_level};
    list.push_back(std::move(j));
  }
  return list.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace cufault
