// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Mistakes of shape and type in PyTorch, on the CPU: what the framework itself refuses, before any library is called.
#include "cases/frameworks/framework_case.hpp"

namespace cufault {
namespace {

std::vector<failure_case> on_the_cpu(std::string_view only) {
  failure_case c{.name = "pytorch.on_the_cpu",
                 .summary = "PyTorch refuses shapes and types before a GPU is asked"};
  c.add_framework("control", arm_kind::control, "a product on the CPU");
  fault_arms(c, "incompatible_shapes", "10x10 by 5x10");
  fault_arms(c, "ten_by_ten_times_ten_by_five", "10x10 by 10x5, which a document calls wrong");
  fault_arms(c, "integer_model", "a model that is moved to an integer type");
  fault_arms(c, "integer_weights", "weights of an integer type, and an input of float")
      .remedy("float", "a model of the type of its input");
  fault_arms(c, "mixed_types", "a product of FP32 and FP64");
  fault_arms(c, "index_out_of_range", "an index beyond the table of an embedding");
  fault_arms(c, "example_2", "inputs of 1x20x10 and of 1x10x20 for a layer of 10 features");
  for (arm& a : c.arms) a.needs = need::host;
  return those_named(only, {std::move(c)});
}

const register_cases here{"pytorch", on_the_cpu};

}  // namespace
}  // namespace cufault
