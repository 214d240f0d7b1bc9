// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/kit/memory_pressure.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>

namespace cufault {
namespace {

/// A device that gives out granules, keeps an unusable remainder, and can misbehave.
class fake_device final : public device_memory {
 public:
  explicit fake_device(std::uint64_t total, std::uint64_t unavailable = 0)
      : total_(total), unavailable_(unavailable) {}
  std::uint64_t free_bytes() override {
    if (on_ask) on_ask();
    return total_ - taken_ - others;
  }
  void* allocate(std::uint64_t bytes) override {
    ++allocations;
    const std::uint64_t rounded = (bytes + granule() - 1) / granule() * granule();
    if (bytes > largest_block || taken_ + others + rounded + unavailable_ > total_) return nullptr;
    taken_ += rounded;
    void* address = reinterpret_cast<void*>(next_ += 4096);  // NOLINT: never dereferenced
    sizes_[address] = rounded;
    return address;
  }
  void release(void* p) override {
    const auto found = sizes_.find(p);
    ASSERT_NE(found, sizes_.end()) << "released twice, or never allocated";
    taken_ -= found->second;
    sizes_.erase(found);
  }
  bool limit_to(std::uint64_t bytes) override {
    if (has_budget) limit = bytes;
    return has_budget;
  }
  void lift_limit() override { limit.reset(); }
  [[nodiscard]] std::uint64_t taken() const { return taken_; }

  bool has_budget = false;  // like an injected counterpart
  std::optional<std::uint64_t> limit;

  std::uint64_t others = 0;
  std::uint64_t largest_block = UINT64_MAX;
  int allocations = 0;
  std::function<void()> on_ask;

 private:
  std::uint64_t total_, unavailable_, taken_ = 0;
  std::uintptr_t next_ = 0x10000;
  std::map<void*, std::uint64_t> sizes_;
};

TEST(memory_pressure, leaves_what_it_was_asked_to_leave_to_one_granule) {
  for (const std::uint64_t leave : {0_MiB, 2_MiB, 48_MiB, 64_MiB, 1000_MiB}) {
    fake_device device(140_GiB + 1152_KiB);
    const memory_pressure held(device, leave);
    EXPECT_GE(held.free_bytes(), leave);
    EXPECT_LT(held.free_bytes(), leave + device.granule());
    EXPECT_EQ(held.free_bytes() + held.held_bytes(), 140_GiB + 1152_KiB);
  }
}

TEST(memory_pressure, takes_the_bulk_in_one_allocation) {
  fake_device device(140_GiB);
  const memory_pressure held(device, 64_MiB);
  EXPECT_EQ(held.allocations(), 1U);
}

TEST(memory_pressure, takes_the_bulk_in_as_many_equal_blocks_as_asked) {
  fake_device device(128_GiB);
  memory_pressure held(device, 0, 4);
  EXPECT_EQ(held.allocations(), 4U);
  held.release_half();
  EXPECT_EQ(device.taken(), 64_GiB);
}

TEST(memory_pressure, gives_everything_back_when_it_ends_or_is_told_to) {
  fake_device device(10_GiB);
  {
    memory_pressure held(device, 0);
    EXPECT_EQ(device.taken(), 10_GiB);
    held.release();
    EXPECT_EQ(device.taken(), 0U);
  }
  { const memory_pressure held(device, 0); }
  EXPECT_EQ(device.taken(), 0U);
}

TEST(memory_pressure, forgets_blocks_that_a_reset_destroyed) {
  fake_device device(10_GiB);
  {
    memory_pressure held(device, 0);
    held.forget();
    EXPECT_EQ(held.held_bytes(), 0U);
  }
  EXPECT_EQ(device.taken(), 10_GiB) << "the destructor must not touch them";
}

TEST(memory_pressure, takes_nothing_of_a_device_with_a_budget) {
  fake_device device(10_GiB);
  device.has_budget = true;
  {
    memory_pressure held(device, 48_MiB);
    EXPECT_EQ(device.limit, 48_MiB);
    EXPECT_EQ(held.free_bytes(), 48_MiB);
    EXPECT_EQ(held.held_bytes(), 0U);
    held.release_half();
    EXPECT_EQ(device.limit, std::nullopt);
  }
  { const memory_pressure held(device, 0); }
  EXPECT_EQ(device.limit, std::nullopt) << "its end must lift the limit";
  EXPECT_EQ(device.allocations, 0);
  EXPECT_THROW(memory_pressure(device, 20_GiB), not_enough_memory);
  EXPECT_EQ(device.limit, std::nullopt);
}

TEST(memory_pressure, ends_at_the_remainder_that_nobody_can_have) {
  fake_device device(10_GiB + 1152_KiB, 3_MiB);
  const memory_pressure held(device, 0);
  EXPECT_LE(held.free_bytes(), 3_MiB + device.granule());
  EXPECT_EQ(device.allocate(device.granule()), nullptr);
}

TEST(memory_pressure, fills_a_device_that_has_no_large_block_left) {
  fake_device device(1_GiB);
  device.largest_block = 100_MiB;
  const memory_pressure held(device, 10_MiB);
  EXPECT_LT(held.free_bytes(), 12_MiB);
  EXPECT_LT(device.allocations, 80) << "halving, not creeping";
}

TEST(memory_pressure, refuses_to_leave_more_than_there_is) {
  fake_device device(1_GiB);
  EXPECT_THROW(memory_pressure(device, 2_GiB), not_enough_memory);
}

TEST(memory_pressure, is_inconclusive_when_another_process_takes_memory_meanwhile) {
  fake_device device(10_GiB);
  int asked = 0;
  device.on_ask = [&] {
    if (++asked == 2) device.others = 100_MiB;
  };
  EXPECT_THROW(memory_pressure(device, 1_GiB), memory_moved);
  EXPECT_EQ(device.taken(), 0U) << "what it held is given back all the same";
}

TEST(memory_pressure, is_inconclusive_when_another_process_frees_memory_meanwhile) {
  fake_device device(10_GiB);
  device.others = 1_GiB;
  int asked = 0;
  device.on_ask = [&] {
    if (++asked == 2) device.others = 0;
  };
  EXPECT_THROW(memory_pressure(device, 2_GiB), memory_moved);
  EXPECT_EQ(device.taken(), 0U);
}

TEST(renewable_pressure, comes_to_its_level_again_whatever_was_taken_or_given_back) {
  fake_device device(10_GiB);
  renewable_pressure held(device, 64_MiB);
  for (const std::uint64_t others : {32_MiB, 1_GiB, 0_MiB}) {
    device.others = others;
    held.renew();
    EXPECT_EQ(device.free_bytes(), 64_MiB);
  }
  held.release();
  EXPECT_EQ(device.taken(), 0U);
  held.renew();
  EXPECT_EQ(device.free_bytes(), 64_MiB);
}

TEST(renewable_pressure, moves_nothing_where_nothing_changed) {
  fake_device device(10_GiB);
  renewable_pressure held(device, 64_MiB);
  const int before = device.allocations;
  held.renew();
  EXPECT_EQ(device.allocations, before);
}

TEST(renewable_pressure, squeezes_again_where_the_driver_gave_back_what_it_had_kept) {
  fake_device device(10_GiB);
  device.others = 128_MiB;  // held by the driver, which reports it as used
  device.largest_block = 8_GiB;
  device.on_ask = [&] {
    if (device.allocations > 0) device.others = 0;  // once an allocation has failed
  };
  EXPECT_THROW(memory_pressure(device, 0), memory_moved);
  device.allocations = 0;
  device.others = 128_MiB;
  const renewable_pressure held(device, 0);
  EXPECT_LT(device.free_bytes(), device.granule());
}

TEST(renewable_pressure, is_inconclusive_when_memory_goes_on_moving) {
  fake_device device(10_GiB);
  device.on_ask = [&] { device.others += 300_MiB; };
  EXPECT_THROW(renewable_pressure(device, 1_GiB), memory_moved);
  EXPECT_EQ(device.taken(), 0U);
}

}  // namespace
}  // namespace cufault
