// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/benchmarks/remedy_cost/comparisons.hpp"
#include "harness/benchmarks/remedy_cost/device_timer.hpp"
#include "harness/benchmarks/samples.hpp"
#include "harness/kit/memory_readings.hpp"
#include "harness/trial/observe.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <random>
#include <utility>

namespace cufault::remedy_cost {
namespace {

/// Milliseconds of a call.
double slice(const running& of, int calls, bool by_device) {
  double milliseconds = 0;
  if (by_device) {
    static const device_timer timer;
    milliseconds = timer.milliseconds([&] { of.run(calls); });
  } else {
    const auto start = std::chrono::steady_clock::now();
    of.run(calls);
    CUFAULT_REQUIRE(cudaDeviceSynchronize());
    milliseconds =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  }
  return milliseconds / calls;
}

/// A side under measurement. After a failure it is not run again.
struct measured_side {
  const side* what;
  cost_side result{};
  std::optional<running> ready{};
  int calls = 1;
  double milliseconds = 0;  ///< of a call, roughly
};

template <class Work>
void attempt(measured_side& s, Work&& work) {
  if (!s.result.failed.empty()) return;
  try {
    work();
  } catch (const std::exception& e) {
    s.result.failed = e.what();
    s.result.milliseconds.clear();
    s.ready.reset();
    cudaGetLastError();
  }
}

void run_once(const running& r) {
  r.run(1);
  CUFAULT_REQUIRE(cudaDeviceSynchronize());
}

void make_ready(measured_side& s) {
  attempt(s, [&] {
    const auto before = static_cast<std::int64_t>(free_device_memory());
    s.ready = s.what->make();
    run_once(*s.ready);
    if (s.what->device_memory)
      s.result.device_bytes = before - static_cast<std::int64_t>(free_device_memory());
  });
}

void calibrate(measured_side& s, const measuring& how, bool by_device) {
  attempt(s, [&] {
    s.milliseconds = slice(*s.ready, 1, by_device);
    // The time of a single call is mostly the wait for it.
    if (s.milliseconds < how.slice_ms)
      s.milliseconds = slice(
          *s.ready, std::clamp(static_cast<int>(how.slice_ms / 4 / std::max(s.milliseconds, 1e-4)), 2, 200),
          by_device);
    s.calls = std::clamp(static_cast<int>(how.slice_ms / std::max(s.milliseconds, 1e-4)), 1, 2000);
  });
}

void prove(measured_side& s) {
  attempt(s, [&] {
    if (s.ready->right) s.result.numbers = s.ready->right() ? "right" : "wrong";
  });
}

}  // namespace

cost_comparison measured(const comparison& what, const measuring& how) {
  cost_comparison result;
  result.name = what.name;
  result.work = what.work;
  const auto fails = [&](const std::string& why) {
    cost_comparison failed;
    failed.name = what.name;
    failed.work = what.work;
    failed.failed = why.empty() ? "unknown" : why;
    return failed;
  };
  try {
    const prepared all = what.prepare();
    const bool by_device = what.clock == "device";
    // The work without a remedy, again as the control, then with each remedy.
    std::vector<measured_side> sides{{&all.without}, {&all.without}};
    for (const side& each : all.with) sides.push_back({&each});
    for (measured_side& s : sides) {
      s.result.remedy = s.what->remedy;
      s.result.words = s.what->words;
      if (&s != &sides[1]) attempt(s, [&] { run_once(s.what->make()); });
    }
    for (measured_side& s : sides) make_ready(s);
    for (measured_side& s : sides) calibrate(s, how, by_device);
    for (const std::size_t i : {0U, 1U})
      if (!sides[i].result.failed.empty()) return fails(sides[i].result.failed);

    double round_ms = 0;
    for (const measured_side& s : sides)
      if (s.ready) round_ms += s.milliseconds * s.calls;
    const int rounds = std::clamp(static_cast<int>(how.seconds * 1000 / std::max(round_ms, 1e-3)),
                                  how.least_rounds, how.most_rounds);
    std::mt19937_64 random(how.seed ^ std::hash<std::string>{}(what.name));
    in_rounds(rounds, sides.size(), random, [&](std::size_t i) {
      attempt(sides[i], [&] {
        sides[i].result.milliseconds.push_back(slice(*sides[i].ready, sides[i].calls, by_device));
      });
    });
    for (measured_side& s : sides) prove(s);
    for (const std::size_t i : {0U, 1U})
      if (!sides[i].result.failed.empty()) return fails(sides[i].result.failed);

    result.clock = what.clock;
    result.type = what.type;
    result.operations = all.operations;
    result.bytes = all.bytes;
    result.without = std::move(sides[0].result);
    result.again = std::move(sides[1].result.milliseconds);
    for (std::size_t i = 2; i < sides.size(); ++i) result.with.push_back(std::move(sides[i].result));
    return result;
  } catch (const std::exception& e) {
    cudaGetLastError();
    return fails(e.what());
  }
}

}  // namespace cufault::remedy_cost
