// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/scheduler.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace cufault {

double weight_of(const arm& a) {
  double levels = 1;
  if (a.levels) levels = static_cast<double>(a.levels->values.size()) * (a.levels->refine_to > 0 ? 2 : 1);
  return levels * a.repeats * static_cast<double>(a.timeout.count());
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

scheduler::scheduler(std::vector<work_item> items, std::vector<std::size_t> order, std::size_t devices)
    : items_(std::move(items)), waiting_(std::move(order)), devices_(devices) {}

std::optional<std::size_t> scheduler::device_for(const work_item& item) const {
  std::optional<std::size_t> least;
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    if (devices_[d].exclusive || (item.exclusive && devices_[d].running > 0)) continue;
    if (!least || devices_[d].running < devices_[*least].running) least = d;
  }
  return least;
}

std::optional<scheduler::start> scheduler::next() {
  for (auto at = waiting_.begin(); at != waiting_.end(); ++at) {
    const work_item& item = items_[*at];
    const bool others = !running_.empty() || std::any_of(waiting_.begin(), waiting_.end(),
                                                         [&](std::size_t i) { return !items_[i].last; });
    if (item.last && others) continue;
    start s{*at, {}};
    if (item.needs_gpu) {
      s.device = device_for(item);
      if (!s.device) continue;
      ++devices_[*s.device].running;
      devices_[*s.device].exclusive = item.exclusive;
    }
    running_.insert(*at);
    waiting_.erase(at);
    return s;
  }
  return {};
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
