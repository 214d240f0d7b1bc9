// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cudaGraphLaunch of a captured product, without the wait that graph_replay has in it.
#include "cases/operations/captured_product.hpp"

namespace cufault::operations {
namespace {

class launch final : public captured_product {
 public:
  launch() { capture(); }
  void prepare() override { refresh(); }
  status_record make() override { return record_of(stream.launch()); }
  product_result check() override { return checked(); }
};

const register_operation here{{.name = "graph_launch",
                               .step = {"cudaGraphLaunch", "without_wait"},
                               .summary = "cudaGraphLaunch of a captured product",
                               .fresh = fresh<launch>,
                               .uses_private_stream = true}};

}  // namespace
}  // namespace cufault::operations
