// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/scheduler.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace cufault {

double weight_of(const arm& a, std::span<const observation> earlier) {
  double levels = 1;
  if (a.levels) levels = static_cast<double>(a.levels->values.size()) * (a.levels->refine_to > 0 ? 2 : 1);
  double milliseconds = 0, trials = 0;
  for (const observation& o : earlier) {
    if (o.milliseconds <= 0) continue;
    milliseconds += o.milliseconds;
    ++trials;
  }
  constexpr double of_timeout = 0.1;  // assumed duration of an unknown trial, as a share of its timeout
  const double seconds =
      trials > 0 ? milliseconds / 1000 / trials : of_timeout * static_cast<double>(a.timeout.count());
  return levels * a.repeats * seconds;
}

namespace {

std::vector<std::size_t> in_order_given(const std::vector<work_item>& items) {
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

void put_last(const std::vector<work_item>& items, std::vector<std::size_t>& order) {
  std::stable_partition(order.begin(), order.end(), [&](std::size_t i) { return !items[i].last; });
}

}  // namespace

void run_host_items_in_addition(std::vector<work_item>& items) {
  if (std::ranges::none_of(items, &work_item::needs_gpu)) return;
  for (work_item& item : items) item.in_addition |= !item.needs_gpu;
}

std::vector<std::size_t> longest_first(const std::vector<work_item>& items) {
  const auto key = [&](std::size_t i) {
    const work_item& item = items[i];
    const int room = !item.needs_gpu ? 2 : item.exclusive ? 1 : 0;
    return std::tuple(room, -item.weight, item.process);
  };
  auto order = in_order_given(items);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  put_last(items, order);
  return order;
}

std::vector<std::size_t> shuffled(const std::vector<work_item>& items, std::uint64_t seed) {
  auto order = in_order_given(items);
  std::uint64_t state = seed;
  for (std::size_t left = order.size(); left > 1; --left)
    std::swap(order[left - 1], order[next_random(state) % left]);
  put_last(items, order);
  return order;
}

std::vector<std::size_t> worth_a_second_look(std::span<const surprise> all, double seconds) {
  constexpr std::array worst_first{verdict::worsened, verdict::remedy_broken, verdict::changed,
                                   verdict::gone};
  std::map<std::pair<verdict, std::string>, std::size_t> alike;
  std::vector<std::tuple<std::size_t, std::ptrdiff_t, std::size_t>> order;
  for (std::size_t i = 0; i < all.size(); ++i)
    order.emplace_back(alike[{all[i].judged, all[i].change}]++,
                       std::ranges::find(worst_first, all[i].judged) - worst_first.begin(), i);
  std::ranges::sort(order);
  std::vector<std::size_t> chosen;
  for (const auto& [nth, urgency, i] : order) {
    if (all[i].seconds > seconds) continue;
    seconds -= all[i].seconds;
    chosen.push_back(i);
  }
  return chosen;
}

std::uint64_t stable_hash(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t z = state += 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

namespace {
/// How many items that rarely call the driver may run beside `jobs` others. With one job none, so that items begin in their order.
std::size_t beside(std::size_t jobs) {
  return jobs / 2;
}
}  // namespace

scheduler::scheduler(std::vector<work_item> items, std::vector<std::size_t> order, std::size_t devices,
                     std::size_t jobs)
    : items_(std::move(items)), waiting_(std::move(order)), devices_(devices), jobs_(jobs) {}

std::size_t scheduler::lanes_for(const std::vector<work_item>& items, std::size_t jobs) {
  const auto light = static_cast<std::size_t>(
      std::ranges::count_if(items, [](const work_item& i) { return i.in_addition; }));
  return std::min(jobs + std::min(light, beside(jobs)), items.size());
}

bool scheduler::has_lane(const work_item& item) const {
  const auto light = static_cast<std::size_t>(
      std::ranges::count_if(running_, [this](std::size_t i) { return items_[i].in_addition; }));
  const std::size_t jobs = running_.size() - std::min(light, beside(jobs_));
  if (!item.in_addition || beside(jobs_) == 0) return jobs < jobs_;
  // If nothing else can begin, these items use jobs too.
  const auto wants_a_job = [this](std::size_t i) {
    const work_item& other = items_[i];
    return !other.in_addition && !other.last && (!other.needs_gpu || device_for(other).has_value());
  };
  return light < beside(jobs_) || (jobs < jobs_ && std::ranges::none_of(waiting_, wants_a_job));
}

std::optional<std::size_t> scheduler::device_for(const work_item& item) const {
  std::optional<std::size_t> least;
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    if (devices_[d].exclusive || (item.exclusive && devices_[d].running > 0)) continue;
    if (!least || devices_[d].running < devices_[*least].running) least = d;
  }
  return least;
}

bool scheduler::can_begin(std::size_t i) const {
  const work_item& item = items_[i];
  const auto is_before_last = [this](std::size_t other) { return !items_[other].last; };
  const bool others =
      std::ranges::any_of(running_, is_before_last) || std::ranges::any_of(waiting_, is_before_last);
  if ((item.last && others) || !has_lane(item)) return false;
  return !item.needs_gpu || device_for(item).has_value();
}

/// Among items as eligible as the first: one of the lane's key, else one of the key with most work per lane.
std::vector<std::size_t>::iterator scheduler::share_of(std::vector<std::size_t>::iterator first,
                                                       const std::string& process) {
  const work_item& leads = items_[*first];
  if (leads.process.empty() || !leads.stays_in_lane) return first;
  const auto as_well = [&](std::size_t i) {
    const work_item& item = items_[i];
    return !item.process.empty() && item.stays_in_lane && item.exclusive == leads.exclusive &&
           item.needs_gpu == leads.needs_gpu && can_begin(i);
  };
  struct share {
    std::vector<std::size_t>::iterator first;
    double work = 0, lanes = 1;  // of the key; lanes include the asking one
  };
  std::map<std::string, share> keys;
  for (auto at = first; at != waiting_.end(); ++at)
    if (as_well(*at))
      keys.try_emplace(items_[*at].process, share{at}).first->second.work += items_[*at].weight;
  if (const auto own = keys.find(process); own != keys.end()) return own->second.first;
  if (running_.empty()) return first;
  for (const std::size_t i : running_)
    if (const auto key = keys.find(items_[i].process); key != keys.end()) ++key->second.lanes;
  return std::max_element(keys.begin(), keys.end(),
                          [](const auto& x, const auto& y) {
                            return x.second.work / x.second.lanes < y.second.work / y.second.lanes;
                          })
      ->second.first;
}

std::optional<scheduler::start> scheduler::next(const std::string& process) {
  auto at = std::find_if(waiting_.begin(), waiting_.end(), [this](std::size_t i) { return can_begin(i); });
  if (at == waiting_.end()) return {};
  at = share_of(at, process);
  const work_item& item = items_[*at];
  start s{*at, {}};
  if (item.needs_gpu) {
    s.device = device_for(item);
    ++devices_[*s.device].running;
    devices_[*s.device].exclusive = item.exclusive;
  }
  running_.insert(*at);
  waiting_.erase(at);
  return s;
}

bool scheduler::gpu_waiting() const {
  return std::any_of(waiting_.begin(), waiting_.end(), [&](std::size_t i) { return items_[i].needs_gpu; });
}

void scheduler::over(const start& ended) {
  running_.erase(ended.item);
  if (!ended.device) return;
  --devices_[*ended.device].running;
  devices_[*ended.device].exclusive = false;
}

}  // namespace cufault
