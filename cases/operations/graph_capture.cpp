// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasSgemm while its stream is captured: what it would do at once becomes nodes of a graph.
#include "cases/operations/captured_product.hpp"

namespace cufault::operations {
namespace {

class captured_call final : public captured_product {
 public:
  void prepare() override {
    stream.end();
    refresh();
  }
  void enter() override { stream.begin(); }
  status_record make() override { return record_of(multiply_on_stream()); }
  product_result check() override {
    if (const product_result made = stream.instantiate(); made.waited != cudaSuccess) return made;
    return replayed();
  }
  product_result multiply() override {
    stream.end();
    return captured_product::multiply();
  }
};

const register_operation here{{.name = "graph_capture",
                               .step = {"cublasSgemm", "captured"},
                               .summary = "cublasSgemm under capture",
                               .fresh = fresh<captured_call>,
                               .uses_private_stream = true}};

}  // namespace
}  // namespace cufault::operations
