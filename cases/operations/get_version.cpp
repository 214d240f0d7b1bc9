// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cublasGetVersion: the major version must be that of cublasGetProperty.
#include "cases/operations/operations.hpp"

namespace cufault::operations {
namespace {

class get_version final : public by_handle {
 public:
  void prepare() override { version_ = 0; }
  status_record make() override { return record_of(cublasGetVersion(handle(), &version_)); }
  product_result check() override {
    int major = 0;
    product_result result{.status = cublasGetProperty(MAJOR_VERSION, &major)};
    result.right = major > 0 && version_ / 10000 == major;
    return result;
  }

 private:
  int version_ = 0;
};

const register_operation here{{.name = "get_version",
                               .step = {"cublasGetVersion"},
                               .summary = "cublasGetVersion",
                               .fresh = fresh<get_version>}};

}  // namespace
}  // namespace cufault::operations
