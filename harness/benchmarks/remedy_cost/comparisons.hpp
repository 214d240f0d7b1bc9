// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/model/cost.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

/// Work with and without remedies, both sides in one process.
namespace cufault::remedy_cost {

/// A side that is ready: what it needs it owns.
struct running {
  std::function<void(int calls)> run;  ///< may return before the device has done them. Throws setup_failed
  std::function<bool()>
      right{};  ///< poisons the result, does the work once more, and proves it; empty: nothing is proved
};

struct side {
  std::string remedy, words;
  /// Called twice: what the first call loads and keeps in the process is charged to nobody. Throws setup_failed.
  std::function<running()> make;
  bool device_memory =
      true;  ///< what make() and a first call take is measured; false where memory comes and goes within a call
};

/// Sides of one kind of work, and the operands that they share.
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

/// All of them. Nothing of CUDA is called.
std::vector<comparison> all_comparisons(size how_large);

struct measuring {
  std::uint64_t seed = 1;
  double slice_ms = 2;   ///< a sample is of as many calls as take that long
  double seconds = 1.5;  ///< of a comparison, about
  int least_rounds = 7, most_rounds = 15;
};

/// Measures one. What fails is told in the result; nothing is thrown. The order of the sides is drawn from the
/// seed and the comparison's name: it does not depend on what was measured before.
cost_comparison measured(const comparison& what, const measuring& how);

}  // namespace cufault::remedy_cost
