// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The part without a GPU: how much to allocate, and whether the amounts match.
#include "harness/kit/memory_pressure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace cufault {

bool memory_pressure::hold(std::uint64_t bytes) {
  void* address = device_.allocate(bytes);
  if (address == nullptr) return false;
  blocks_.push_back({address, bytes});
  held_ += bytes;
  return true;
}

memory_pressure::memory_pressure(device_memory& device, std::uint64_t leave_free, unsigned blocks)
    : device_(device) {
  const auto start = std::chrono::steady_clock::now();
  const std::uint64_t granule = device_.granule();
  const std::uint64_t before = device_.free_bytes();
  if (before + granule < leave_free) {
    throw not_enough_memory(fmt::format("cannot leave {} bytes free: only {} are", leave_free, before));
  }
  if (device_.limit_to(leave_free)) {
    limited_ = true;
    free_ = leave_free;
    return;
  }
  try {
    // One large block is fast; ever smaller ones fill the rest.
    free_ = before;
    std::uint64_t largest = std::max(granule, (before - std::min(before, leave_free)) / std::max(1U, blocks));
    while (free_ >= leave_free + granule) {
      const std::uint64_t wanted = std::min(largest, free_ - leave_free) / granule * granule;
      if (wanted < granule) break;
      if (!hold(wanted)) {
        if (wanted == granule) break;  // the remainder that nobody can allocate
        largest = std::max(granule, wanted / 2);
      }
      free_ = device_.free_bytes();
    }
    // Page tables and the like may cost a granule for every block; more comes from another process.
    const std::uint64_t slack = granule * (2 + blocks_.size());
    const std::uint64_t accounted = before - held_;
    const bool adds_up = held_ <= before && free_ <= accounted + slack && accounted <= free_ + slack;
    if (!adds_up) {
      throw memory_moved(
          fmt::format("another process moved device memory during the squeeze: {} bytes were free, {} were "
                      "taken, {} are free now",
                      before, held_, free_));
    }
  } catch (...) {
    release();
    throw;
  }
  milliseconds_ = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

memory_pressure::~memory_pressure() {
  release();
}

void memory_pressure::release() {
  for (const block& b : blocks_) device_.release(b.address);
  forget();
}

void memory_pressure::release_half() {
  if (limited_) return release();
  std::uint64_t returned = 0;
  const std::uint64_t half = held_ / 2;
  while (!blocks_.empty() && returned < half) {
    device_.release(blocks_.back().address);
    returned += blocks_.back().bytes;
    held_ -= blocks_.back().bytes;
    blocks_.pop_back();
  }
}

void memory_pressure::forget() {
  if (std::exchange(limited_, false)) device_.lift_limit();
  blocks_.clear();
  held_ = 0;
}

renewable_pressure::renewable_pressure(device_memory& device, std::uint64_t leave_free)
    : device_(device), leave_free_(leave_free) {
  renew();
}

void renewable_pressure::renew() {
  if (held_ && device_.free_bytes() == held_->free_bytes()) return;
  held_.reset();
  try {
    held_ = std::make_unique<memory_pressure>(device_, leave_free_);
  } catch (const memory_moved&) {
    held_ = std::make_unique<memory_pressure>(device_, leave_free_);
  }
}

}  // namespace cufault
