// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   cublasSgemm while its stream is captured, by any one driver call inside of it.
// Why          What it would do at once becomes nodes of a graph.
// Documented   cuBLAS documentation lists the statuses, not what leads to them.
// What helps   `cufault atlas` says which driver failures lead to which, and what a second attempt finds.
#include "cases/sweep/captured_product.hpp"

namespace cufault::sweeping {
namespace {

class capture final : public captured_product {
 public:
  void prepare() override {
    end();
    refresh();
    begin();
  }
  status_record make() override { return record_of(multiply_on_stream()); }
  product_result check() override {
    instantiate();
    return replayed();
  }
  product_result multiply() override {
    end();
    return captured_product::multiply();
  }
};

const register_case here{sweep_of("graph_capture", "cublasSgemm under capture, each driver call failed",
                                  [] { return std::make_unique<capture>(); })};

}  // namespace
}  // namespace cufault::sweeping
