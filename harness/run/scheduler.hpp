// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/case.hpp"
#include "reports/model/results.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {

/// What the scheduler needs to know of an arm.
struct work_item {
  bool needs_gpu = false;
  bool exclusive = false;  ///< alone on its GPU
  /// May leave its GPU unusable: begins after all items that cannot, and may run beside other such items.
  bool last = false;
  /// Counts against no job: it rarely calls the driver, or needs no GPU while others do.
  bool in_addition = false;
  double weight = 0;      ///< how long it may take, relative to others
  std::string process{};  ///< arms of one key can share a process; empty: it shares none
  /// A lane that ran an item of this key prefers further ones. False if the drawn order must be kept: with --shuffle, if a trial can affect
  /// the next one in the process.
  bool stays_in_lane = true;
};

/// Expected duration of an arm in seconds: its number of trials times their mean duration in `earlier`. Without a duration there, a tenth
/// of its timeout for each.
double weight_of(const arm& a, std::span<const observation> earlier = {});

/// Marks items without need of a GPU as in_addition, if any item needs one.
void run_host_items_in_addition(std::vector<work_item>& items);

/// Indices of the items in starting order: first on a shared GPU, then alone on it, then without a GPU. The longest first; items that can
/// share a process are adjacent.
std::vector<std::size_t> longest_first(const std::vector<work_item>& items);
/// An order drawn from the seed, equal with every standard library. Items with `last` stay last.
std::vector<std::size_t> shuffled(const std::vector<work_item>& items, std::uint64_t seed);

/// An arm that came out otherwise than recorded: how, and how long a second look at it may take, in seconds.
struct surprise {
  verdict judged = verdict::changed;
  std::string change{};  ///< arms that changed alike share it
  double seconds = 0;
};
/// Indices of those that are to be looked at again, in this order, as many as fit into so many seconds: one of each change before a second
/// one of any; what costs the user most first; else in the given order.
std::vector<std::size_t> worth_a_second_look(std::span<const surprise> all, double seconds);

/// FNV-1a, 64 bits: equal on every machine.
std::uint64_t stable_hash(std::string_view text);
/// The next number of a sequence (splitmix64), equal on every machine.
std::uint64_t next_random(std::uint64_t& state);

/// Decides what can begin now. Keeps exclusive items alone on their GPU; items without a GPU run beside anything. On one lane, items that
/// do not stay in a lane keep their order. On several lanes an exclusive item waits until its GPU is idle, and others pass it. At most
/// `jobs` items run at a time, plus at most half as many in_addition.
class scheduler {
 public:
  scheduler(std::vector<work_item> items, std::vector<std::size_t> order, std::size_t devices,
            std::size_t jobs);
  /// As many lanes as can be of use.
  static std::size_t lanes_for(const std::vector<work_item>& items, std::size_t jobs);

  struct start {
    std::size_t item = 0;
    std::optional<std::size_t> device{};  ///< empty for an item that needs no GPU
  };
  /// The next item, marked as running; nullopt if none can begin yet. `process`: key of the lane's process, or "". Items with stays_in_lane
  /// prefer a lane of their key. Other lanes get the key with most work per lane, because starting a process may take seconds. All other
  /// items begin in the given order.
  std::optional<start> next(const std::string& process = {});
  void over(const start& ended);

  [[nodiscard]] bool done() const { return waiting_.empty() && running_.empty(); }
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }
  [[nodiscard]] const std::set<std::size_t>& running() const { return running_; }
  [[nodiscard]] bool gpu_waiting() const;  ///< whether an item that needs a GPU has not begun
  [[nodiscard]] bool idle(std::size_t device) const { return devices_[device].running == 0; }

 private:
  struct device {
    std::size_t running = 0;
    bool exclusive = false;
  };
  [[nodiscard]] std::optional<std::size_t> device_for(const work_item& item) const;
  [[nodiscard]] bool has_lane(const work_item& item) const;
  [[nodiscard]] bool can_begin(std::size_t i) const;
  [[nodiscard]] std::vector<std::size_t>::iterator share_of(std::vector<std::size_t>::iterator first,
                                                            const std::string& process);
  std::vector<work_item> items_;
  std::vector<std::size_t> waiting_;
  std::vector<device> devices_;
  std::size_t jobs_;
  std::set<std::size_t> running_;
};

}  // namespace cufault
