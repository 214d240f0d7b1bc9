// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasSetStream: cuBLAS 13.1.0 makes no driver call in it.
#include "cases/operations/operations.hpp"

namespace cufault::operations {
namespace {

class set_stream final : public by_handle {
 public:
  set_stream() = default;
  ~set_stream() override { cublasSetStream(handle(), nullptr); }
  set_stream(const set_stream&) = delete;
  set_stream& operator=(const set_stream&) = delete;
  status_record make() override { return record_of(cublasSetStream(handle(), stream_.get())); }
  product_result check() override { return multiply(); }

 private:
  owned_stream stream_ = new_stream();
};

const register_operation here{{.name = "set_stream",
                               .step = {"cublasSetStream"},
                               .summary = "cublasSetStream",
                               .fresh = fresh<set_stream>}};

}  // namespace
}  // namespace cufault::operations
