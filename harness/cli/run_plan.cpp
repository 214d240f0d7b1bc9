// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/run_plan.hpp"

#include "harness/model/properties.hpp"
#include "harness/run/shared_process.hpp"
#include "reports/judge/judge.hpp"
#include "reports/model/cell_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

namespace cufault {
namespace {

/// Weight, relative to the arm that starts the process of a batch, of an arm without a known time that finds it started.
constexpr double weight_in_batch = 0.02;

}  // namespace

std::string job::name() const {
  const std::string first = of->name + "/" + arms.front().second->name;
  return arms.size() == 1 ? first : fmt::format("{} and {} more", first, arms.size() - 1);
}

arm as_often_as_asked(arm a, const run_arguments& arguments) {
  constexpr int below_nightly = 5;
  const int most = arguments.repeats.value_or(arguments.tier < test_tier::nightly ? below_nightly : 0);
  if (!a.races.empty() && most > 0) a.repeats = std::min(a.repeats, most);
  return a;
}

run_plan::run_plan(const run_arguments& arguments, const baselines& recorded, const record& of,
                   const runner_options& options, const std::vector<selected_case>& selected)
    : arguments_(arguments), recorded_(recorded), keys_(keys_of(of)) {
  for (const selected_case& s : selected) take_up(s, options);
  run_host_items_in_addition(items_);
}

void run_plan::take_up(const selected_case& s, const runner_options& options) {
  const failure_case& c = *s.what;
  pending p{{c.name, {}}, std::vector<std::optional<arm_result>>(s.arms.size()), 0};
  // Injected counterparts of arms that fill the device take no memory; a control of such arms is as alone as they are.
  const bool squeezes = std::ranges::any_of(
      s.arms, [](const arm* a) { return a->kind != arm_kind::control && a->counterpart_of.empty(); });
  std::map<std::string, std::size_t> batches;
  for (std::size_t i = 0; i < s.arms.size(); ++i) {
    const arm& a = *s.arms[i];
    if (is_left_out(s, a)) {
      ++left_out_;
      continue;
    }
    const reference* const known = recorded_.find(c.name, a.name, keys_);
    if (!why_not_run(a, options).empty()) {
      p.arms[i] = run_arm(c, a, options);
      judge(*p.arms[i], known);
      continue;
    }
    ++p.left;
    const double weight =
        weight_of(as_often_as_asked(a, arguments_), known == nullptr || known->undefined
                                                        ? std::span<const observation>()
                                                        : std::span(known->from.front().shown->trials));
    if (!a.batch.empty() && !arguments_.separate) {
      const auto [there, fresh] = batches.try_emplace(a.batch, jobs_.size());
      if (!fresh) {
        jobs_[there->second].arms.emplace_back(i, &a);
        // What its trials took earlier was in a process that they found ready.
        const bool has_time = known != nullptr && !known->undefined;
        items_[there->second].weight += (has_time ? 1 : weight_in_batch) * weight;
        continue;
      }
    }
    add_job(s, i, a, weight, squeezes);
  }
  cases_.push_back(std::move(p));
  if (cases_.back().left == 0) finish(cases_.back());
}

void run_plan::add_job(const selected_case& s, std::size_t index, const arm& a, double weight,
                       bool squeezes) {
  const case_properties& properties = properties_of(*s.what);
  jobs_.push_back({cases_.size(), s.what, {{index, &a}}});
  work_item item;
  item.needs_gpu = a.needs == need::gpu;
  item.exclusive = item.needs_gpu && squeezes && a.counterpart_of.empty() && !a.beside_others &&
                   properties.memory == memory_class::exclusive;
  item.last = properties.last;
  item.in_addition = a.rarely_calls_driver;
  item.weight = weight;
  // Processes from which trials of frameworks are forked have no memory of the GPU.
  const bool may_share = !item.exclusive || !a.framework.empty();
  if (!arguments_.separate && may_share && a.batch.empty()) item.process = shared_process_key(a);
  // Trials of a framework are forks of an interpreter that they cannot change, so their order inside a lane does not matter.
  item.stays_in_lane = !arguments_.shuffle || !a.framework.empty();
  items_.push_back(std::move(item));
}

/// A cell of the matrix or an arm of a framework with a remedy is left out where the arm without it does not fail, by a record of this stack:
/// there is nothing to clear. The arm without it still runs, and would show a change. A record says nothing of trials with variables that were chosen by options: then no arm is left out.
bool run_plan::is_left_out(const selected_case& s, const arm& a) const {
  if (arguments_.tier >= test_tier::nightly || !arguments_.chosen.empty() || s.named.contains(a.name))
    return false;
  const std::string without = without_remedy(a.name);
  if (without.empty()) return false;
  const reference* const fault = recorded_.find(s.what->name, without, keys_);
  if (fault == nullptr || fault->distance > 0 || fault->undefined) return false;
  return count_failures(fault->from.front().shown->trials).none();
}

bool run_plan::is_surprise(const job& j, arm_result& r) const {
  judge(r, recorded_.find(j.of->name, r.name, keys_));
  return is_change(r.judged) && observed(r) && takes_further_trials(r);
}

const arm_result& run_plan::add_result(const job& j, std::size_t index, arm_result r) {
  judge(r, recorded_.find(j.of->name, r.name, keys_));
  pending& p = cases_[j.case_index];
  --p.left;
  return p.arms[j.arms.at(index).first].emplace(std::move(r));
}

const case_result* run_plan::case_if_ended(const job& j) {
  pending& p = cases_[j.case_index];
  if (p.left > 0) return nullptr;
  finish(p);
  return &p.result;
}

void run_plan::finish(pending& p) const {
  for (auto& a : p.arms)
    if (a) p.result.arms.push_back(*std::move(a));
  p.arms.clear();
  judge(p.result, recorded_, keys_);
}

std::vector<case_result> run_plan::results() && {
  std::vector<case_result> all;
  for (pending& p : cases_) {
    if (p.left > 0) finish(p);
    if (!p.result.arms.empty()) all.push_back(std::move(p.result));
  }
  return all;
}

}  // namespace cufault
