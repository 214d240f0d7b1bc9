// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cudaGraphLaunch of a captured product, and the wait for it: the driver may make room for a graph when it is first launched.
#include "cases/operations/captured_product.hpp"

namespace cufault::operations {
namespace {

class replay final : public captured_product {
 public:
  replay() { capture(); }
  void prepare() override { refresh(); }
  status_record make() override {
    const cudaError_t launched = stream.launch();
    return record_of(launched == cudaSuccess ? stream.wait() : launched);
  }
  product_result check() override { return checked(); }
};

const register_operation here{{.name = "graph_replay",
                               .step = {"cudaGraphLaunch"},
                               .summary = "a captured product replayed",
                               .fresh = fresh<replay>,
                               .representative = true,
                               .uses_private_stream = true}};

}  // namespace
}  // namespace cufault::operations
