// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   cudaGraphLaunch of a captured product, and the wait for it, by any one driver call inside of it.
// Why          The driver may make room for a graph when it is first launched.
// Documented   cuBLAS documentation lists the statuses, not what leads to them.
// What helps   `cufault atlas` says which driver failures lead to which, and what a second attempt finds.
#include "cases/sweep/captured_product.hpp"

namespace cufault::sweeping {
namespace {

class replay final : public captured_product {
 public:
  replay() {
    begin();
    require(multiply_on_stream());
    instantiate();
  }
  void prepare() override { refresh(); }
  status_record make() override {
    const cudaError_t launched = launch();
    return record_of(launched == cudaSuccess ? wait() : launched);
  }
  product_result check() override { return checked(); }
};

const register_case here{sweep_of("graph_replay", "a captured product replayed, each driver call failed",
                                  [] { return std::make_unique<replay>(); })};

}  // namespace
}  // namespace cufault::sweeping
