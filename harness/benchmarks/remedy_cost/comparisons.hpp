// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/model/cost.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

/// Work with and without remedies, both sides in one process.
namespace cufault::remedy_cost {

/// A side that is ready to run and owns its resources.
struct running {
  std::function<void(int calls)> run;  ///< may return before the device has done them. Throws setup_failed
  std::function<bool()>
      right{};  ///< poisons the result, does the work once more, and proves it; empty: nothing is proved
};

struct side {
  std::string remedy, words;
  /// Called twice, so that one-time costs of the process count for neither side. Throws setup_failed.
  std::function<running()> make;
  bool device_memory =
      true;  ///< what make() and a first call take is measured; false where memory comes and goes within a call
};

/// Sides of one kind of work, and their shared operands.
struct prepared {
  double operations = 0, bytes = 0;  ///< of a call, for the peak of the GPU; 0: not compared
  side without;
  std::vector<side> with;
};

struct comparison {
  std::string name, work, clock, type;
  std::function<prepared()> prepare;  ///< in a context. Throws setup_failed, not_provoked
};

enum class size { usual, tiny };

/// All comparisons. Calls nothing of CUDA.
std::vector<comparison> all_comparisons(size how_large);

struct measuring {
  std::uint64_t seed = 1;
  double slice_ms = 2;   ///< a sample is of as many calls as take that long
  double seconds = 1.5;  ///< of a comparison, about
  int least_rounds = 7, most_rounds = 15;
};

/// Measures one comparison. Never throws: the result tells failures. The order of the sides depends on the seed and the comparison's name
/// alone.
cost_comparison measured(const comparison& what, const measuring& how);

}  // namespace cufault::remedy_cost
