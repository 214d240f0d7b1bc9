// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/history/transitions.hpp"

#include "reports/judge/comparison.hpp"
#include "reports/judge/judge.hpp"
#include "reports/matrix/observed_cells.hpp"

#include <algorithm>
#include <utility>

namespace cufault {
namespace {

/// Names the calls of a trial.
class call_counter {
 public:
  call_name operator()(bool after, const step_name& name) {
    return {after, name.api, name.variant, times_[{after, name.api, name.variant}]++};
  }

 private:
  std::map<std::tuple<bool, std::string, std::string>, int> times_;
};

/// The calls of all trials of an arm: by status, whether numbers were looked at.
using made_calls = std::map<call_name, std::map<std::string, bool>>;
made_calls calls_made_by(const arm_result& arm) {
  made_calls made;
  for (const observation& o : arm.trials) {
    call_counter name;
    for (const call_record& c : o.calls) {
      bool& looked_at = made[name(c.after_remedy, c.what.name)][c.what.status];
      looked_at = looked_at || c.what.numbers != numbers_found::unchecked;
    }
  }
  return made;
}

std::set<std::string> measured_by(const arm_result& arm) {
  std::set<std::string> names;
  for (const observation& o : arm.trials)
    for (const measurement& m : o.measurements) names.insert(m.name);
  return names;
}

/// Fact of a call that succeeded where the other returned an error, and behind which the device reported one.
constexpr const char* later_error = "later_error";

/// The arm with what the other could have shown, too. `facts`: that the other's case recorded anywhere. `cut`: a process ended in a call that
/// the other did not make.
arm_result in_common(arm_result arm, const arm_result& with, const std::set<std::string>& facts, bool& cut) {
  const made_calls other = calls_made_by(with);
  const std::set<std::string> measured = measured_by(with);
  for (observation& o : arm.trials) {
    std::erase_if(o.measurements, [&](const measurement& m) { return !measured.contains(m.name); });
    call_counter name;
    std::vector<call_record> kept;
    bool returned_otherwise = false;  // the last of `kept`, and the other's
    for (call_record& c : o.calls) {
      const auto there = other.find(name(c.after_remedy, c.what.name));
      if (there == other.end()) {
        if (returned_otherwise && kept.back().what.ok && !c.what.ok &&
            c.what.name.variant == "after_operation")
          kept.back().what.facts[later_error] = c.what.status;
        if (!c.what.status.empty()) continue;
        cut = true;
        o.ended = outcome::completed;
        continue;
      }
      if (const auto same = there->second.find(c.what.status); same != there->second.end()) {
        if (!same->second && c.what.numbers != numbers_found::unchecked) {
          c.what.ok =
              c.what.ok || (c.what.numbers == numbers_found::wrong && is_success_status(c.what.status));
          c.what.numbers = numbers_found::unchecked;
        }
        std::erase_if(c.what.facts, [&](const auto& fact) { return !facts.contains(fact.first); });
      }
      returned_otherwise = !there->second.contains(c.what.status);
      kept.push_back(std::move(c));
    }
    o.calls = std::move(kept);
  }
  return arm;
}

/// late: it returned success, and the device reported the error afterwards.
enum class condition_of_call { fine, failed, late, hung, crashed, wrong };

bool writes_outside(const fact_map& facts) {
  if (facts.contains("written_beyond")) return true;
  const auto written = facts.find("written");
  const auto* operands =
      written == facts.end() ? nullptr : std::get_if<std::vector<std::string>>(&written->second);
  return operands != nullptr && std::ranges::find(*operands, "outside") != operands->end();
}

bool never_returned(const step& s) {
  return s.status.empty() || s.status == "never returned";
}

condition_of_call condition_of(const std::string& outcome) {
  return outcome == "completed"             ? condition_of_call::fine
         : outcome.starts_with("timed out") ? condition_of_call::hung
                                            : condition_of_call::crashed;
}
condition_of_call condition_of(const step& s, const signature& in) {
  if (s.numbers == numbers_found::wrong || writes_outside(s.facts)) return condition_of_call::wrong;
  if (s.status == status_timed_out) return condition_of_call::hung;
  if (never_returned(s)) return condition_of(in.outcome);
  if (s.status == status_crashed || s.status == status_exited || s.facts.contains("then"))
    return condition_of_call::crashed;
  if (s.facts.contains(later_error)) return condition_of_call::late;
  return s.ok ? condition_of_call::fine : condition_of_call::failed;
}

harm harm_of(condition_of_call was, condition_of_call is) {
  using enum condition_of_call;
  if (was == is) return harm::other;
  if (is == wrong) return harm::wrong_numbers;
  if (was == wrong) return harm::better;
  if (is == crashed) return harm::crash;
  if (was == crashed) return harm::better;
  if (is == hung) return harm::hang;
  return was < is ? harm::worse_status : harm::better;
}

/// Of a process that ended: how, and in which function.
std::pair<std::string, std::string> end_and_call(const std::string& outcome) {
  const auto in = outcome.find(" in ");
  std::string end = outcome.substr(0, in);
  if (const auto colon = end.find(": "); colon != end.npos) end.erase(0, colon + 2);
  return {end == "completed" ? "ends" : end, in == outcome.npos ? std::string() : outcome.substr(in + 4)};
}

/// What a step came to. Of its facts what the other does not share, where nothing else tells them apart.
std::string word_for(const step& s, const step& other, const signature& in) {
  if (never_returned(s)) return end_and_call(in.outcome).first;
  std::string word(short_status(s.status));
  if (const auto signal = s.facts.find("signal"); signal != s.facts.end())
    if (const auto* name = std::get_if<std::string>(&signal->second)) word = *name;
  if (s.numbers == numbers_found::wrong)
    word += ", wrong numbers";
  else if (s.numbers == numbers_found::right && other.numbers == numbers_found::wrong)
    word += ", right numbers";
  else if (writes_outside(s.facts))
    word += ", writes outside";
  if (s.facts.contains("then") || s.facts.contains(later_error)) word += ", then an error of the device";
  return word;
}

/// In which facts two steps differ.
std::string differing_facts(const step& was, const step& is) {
  std::set<std::string> names;
  for (const auto& [one, other] : {std::pair{&was, &is}, std::pair{&is, &was}})
    for (const auto& [name, value] : one->facts)
      if (const auto there = other->facts.find(name); there == other->facts.end() || there->second != value)
        names.insert(name);
  std::string text;
  for (const std::string& name : names) {
    std::string words = name;
    std::ranges::replace(words, '_', ' ');
    text += (text.empty() ? "" : ", ") + words;
  }
  return text;
}

void set_harm(transition& t, condition_of_call was, condition_of_call is) {
  t.how = harm_of(was, is);
  t.severe = std::max(was, is) > condition_of_call::late;
}

std::map<call_name, const step*> named_steps(const signature& s) {
  std::map<call_name, const step*> all;
  call_counter name;
  for (const step& one : s.fault) all[name(false, one.name)] = &one;
  for (const step& one : s.after) all[name(true, one.name)] = &one;
  return all;
}

void join(std::vector<transition>& all, transition t) {
  const auto same = std::ranges::find_if(all, [&](const transition& o) {
    return std::tie(o.how, o.from, o.to, o.what) == std::tie(t.how, t.from, t.to, t.what);
  });
  if (same == all.end())
    all.push_back(std::move(t));
  else
    for (const call_name& name : t.names)
      if (same->names.insert(name).second) ++same->calls[std::get<1>(name)];
}

std::vector<transition> transitions_between(const signature& was, const signature& is) {
  std::vector<transition> all;
  const auto before = named_steps(was), now = named_steps(is);
  for (const auto& [name, step_now] : now) {
    const auto there = before.find(name);
    if (there == before.end() || *there->second == *step_now) continue;
    const step& then = *there->second;
    transition t{.from = word_for(then, *step_now, was),
                 .to = word_for(*step_now, then, is),
                 .calls = {{then.name.api, 1}},
                 .names = {name},
                 .first = then.name};
    set_harm(t, condition_of(then, was), condition_of(*step_now, is));
    if (t.from == t.to) {
      t.what = "facts of calls";
      t.detail = differing_facts(then, *step_now);
      t.from = t.to = "";
    }
    join(all, std::move(t));
  }
  const bool damaged = is.context == "damaged" && was.context != "damaged";
  if (damaged && was.context != "unchecked") {
    if (all.empty()) all.push_back({.from = "context " + was.context});
    transition& first = all.front();
    first.how = std::min(first.how, harm::crash);
    first.severe = true;
    first.to += first.to.empty() ? "context damaged" : ", context damaged";
  }
  if (all.empty() && was.outcome != is.outcome) {
    const auto [end_before, call_before] = end_and_call(was.outcome);
    const auto [end_now, call_now] = end_and_call(is.outcome);
    transition t{.from = end_before, .to = end_now};
    if (const std::string& call = call_now.empty() ? call_before : call_now; !call.empty()) {
      t.calls = {{call, 1}};
      t.names = {{false, call, "", 0}};
    }
    set_harm(t, condition_of(was.outcome), condition_of(is.outcome));
    all.push_back(std::move(t));
  }
  if (all.empty() && was.context != is.context)
    all.push_back({.how = was.context == "damaged" ? harm::better : harm::other,
                   .from = "context " + was.context,
                   .to = "context " + is.context});
  return all;
}

/// A cell has this step in place of its operation where that cannot be prepared, and there alone.
bool is_unprepared(const arm_result& arm) {
  return std::ranges::any_of(arm.trials, [](const observation& o) {
    return !o.calls.empty() && o.calls.front().what.name.api == "check.preparation";
  });
}
/// Of an arm whose operation was made in one of two releases, and could not be prepared in the other.
std::vector<transition> transition_of_preparation(const arm_result& made, bool before) {
  if (made.trials.front().calls.empty()) return {};
  const step& call = made.trials.front().calls.front().what;
  const auto came_to = condition_of(call, signature_of(made.trials.front()));
  transition t{.from = std::string(short_status(call.status)),
               .to = "could not be prepared",
               .calls = {{call.name.api, 1}},
               .names = {{false, call.name.api, call.name.variant, 0}},
               .first = call.name};
  set_harm(t, before ? came_to : condition_of_call::failed, before ? condition_of_call::failed : came_to);
  if (!before) std::swap(t.from, t.to);
  return {t};
}

const plateau* plateau_with(const std::vector<plateau>& all, const signature& s) {
  const auto found = std::ranges::find(all, s, &plateau::seen);
  return found == all.end() ? nullptr : &*found;
}

/// The plateau of the level, or the nearest; of an arm without levels the one in its place.
const plateau& opposite(const std::vector<plateau>& all, const plateau& of, std::size_t place) {
  if (!of.first_level) return all[std::min(place, all.size() - 1)];
  const auto away = [&](const plateau& p) {
    const auto level = *of.first_level, first = p.first_level.value_or(level),
               last = p.last_level.value_or(level);
    return std::max({first - level, level - last, std::int64_t{0}});
  };
  return *std::ranges::min_element(all,
                                   [&](const plateau& a, const plateau& b) { return away(a) < away(b); });
}

/// Of an arm that compare_arms() finds to differ, for the reason `why`.
std::vector<transition> transitions_of(const arm_result& before, const arm_result& now,
                                       const std::string& why) {
  const auto was = arm_plateaus(before), is = arm_plateaus(now);
  std::vector<transition> all;
  if (!before.races.empty() || !now.races.empty()) {
    const auto severe = [](const plateau& p) { return severity(p.seen) == 2; };
    const auto shared = [&](const plateau& p) { return plateau_with(was, p.seen) != nullptr; };
    const auto fresh = std::ranges::find_if(is, [&](const plateau& p) { return severe(p) && !shared(p); });
    if (fresh != is.end() && std::ranges::none_of(was, severe))
      all = transitions_between(was[0].seen, fresh->seen);
    else if (std::ranges::none_of(is, shared))
      all = transitions_between(was[0].seen, is[0].seen);
  } else {
    for (std::size_t i = 0; i < is.size(); ++i)
      if (plateau_with(was, is[i].seen) == nullptr)
        for (transition& t : transitions_between(opposite(was, is[i], i).seen, is[i].seen))
          join(all, std::move(t));
    for (std::size_t i = 0; i < was.size() && all.empty(); ++i)
      if (plateau_with(is, was[i].seen) == nullptr)
        all = transitions_between(was[i].seen, opposite(is, was[i], i).seen);
  }
  if (!all.empty()) return all;
  transition moved{.detail = why.substr(0, why.find(" (band"))};
  if (why.starts_with("rate moved"))
    moved.what = "rates of outcomes";
  else
    moved.what = disagreement(was, is).empty() ? "values" : "levels of outcomes";
  return {moved};
}

}  // namespace

std::set<std::string> facts_recorded_by(const case_result& c) {
  std::set<std::string> names;
  for (const arm_result& a : c.arms)
    for (const observation& o : a.trials)
      for (const call_record& call : o.calls)
        for (const auto& [name, value] : call.what.facts) names.insert(name);
  return names;
}

bool keep_what_came_after(arm_result& arm) {
  if (arm.kind == arm_kind::control || arm.kind == arm_kind::fault) return true;
  for (observation& o : arm.trials) {
    o.measurements.clear();
    std::erase_if(o.calls, [](const call_record& c) { return !c.after_remedy; });
  }
  std::erase_if(arm.trials, [](const observation& o) { return o.calls.empty(); });
  return !arm.trials.empty();
}

arm_change change_of_arm(const arm_result& before, const std::set<std::string>& facts_before,
                         const arm_result& now, const std::set<std::string>& facts_now) {
  judgement found = compare_arms(&before, &now);
  if (is_same(found.v)) return {};
  if (const bool made_before = !is_unprepared(before); made_before == is_unprepared(now))
    return {transition_of_preparation(made_before ? before : now, made_before), true, found.why};
  bool cut = false;
  arm_result was = in_common(before, now, facts_now, cut), is = in_common(now, before, facts_before, cut);
  for (arm_result* one : {&was, &is})
    for (observation& o : one->trials)
      if (cut) o.context = "unchecked";
  found = compare_arms(&was, &is);
  if (is_same(found.v)) return {{}, true, found.why};
  arm_change change{transitions_of(was, is, found.why), true, found.why};
  for (transition& t : change.transitions)
    if (before.undefined || now.undefined) t.how = harm::other, t.severe = false;
  return change;
}

}  // namespace cufault
