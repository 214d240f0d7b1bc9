// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Handles of both libraries, and their settings.
#include "cases/operations/operations.hpp"

#include <vector>

namespace cufault::operations {
namespace {

/// cublasCreate and cublasLtCreate. Handles live to the end; the last one computes a product.
template <class Owned, auto create, auto product_by>
class creation final : public operation {
 public:
  status_record make() override {
    typename Owned::pointer handle = nullptr;
    const cublasStatus_t status = create(&handle);
    if (status == CUBLAS_STATUS_SUCCESS) made_.emplace_back(handle);
    return record_of(status);
  }
  product_result check() override { return product_by(made_.back().get()); }
  product_result multiply() override {
    return made_.empty() ? product_result{.status = CUBLAS_STATUS_NOT_INITIALIZED} : check();
  }

 private:
  std::vector<Owned> made_;
};
using create_handle = creation<owned_handle, cublasCreate, [](cublasHandle_t by) { return product(by); }>;
using create_lt_handle =
    creation<owned_lt_handle, cublasLtCreate, [](cublasLtHandle_t by) { return lt_product(by); }>;

/// Destroys a handle that has computed: it releases streams, events and memory.
class destroy_handle final : public operation {
 public:
  void prepare() override {
    if (handle_ == nullptr) handle_.reset(new_handle());
    CUFAULT_REQUIRE(product(handle_.get()));
  }
  status_record make() override { return record_of(cublasDestroy(handle_.release())); }
  product_result check() override { return multiply(); }
  product_result multiply() override { return product_by_new_handle(); }
  [[nodiscard]] cublasHandle_t handle() const override { return handle_.get(); }

 private:
  owned_handle handle_;
};

/// Destroys a used cuBLASLt handle.
class destroy_lt_handle final : public operation {
 public:
  void prepare() override {
    if (lt_ == nullptr) lt_.reset(new_lt_handle());
    CUFAULT_REQUIRE(lt_product(lt_.get()));
  }
  status_record make() override { return record_of(cublasLtDestroy(lt_.release())); }
  product_result check() override { return multiply(); }
  product_result multiply() override {
    cublasLtHandle_t lt = nullptr;
    product_result result{.status = cublasLtCreate(&lt)};
    if (result.status != CUBLAS_STATUS_SUCCESS) return result;
    result = lt_product(lt);
    cublasLtDestroy(lt);
    return result;
  }
  [[nodiscard]] cublasLtHandle_t lt() const override { return lt_.get(); }

 private:
  owned_lt_handle lt_;
};

/// The major version must equal that of cublasGetProperty.
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

class set_math_mode final : public by_handle {
 public:
  void prepare() override { CUFAULT_REQUIRE(cublasSetMathMode(handle(), CUBLAS_DEFAULT_MATH)); }
  status_record make() override { return record_of(cublasSetMathMode(handle(), CUBLAS_PEDANTIC_MATH)); }
  product_result check() override {
    cublasMath_t mode = CUBLAS_DEFAULT_MATH;
    product_result result{.status = cublasGetMathMode(handle(), &mode)};
    if (result.status == CUBLAS_STATUS_SUCCESS) result = multiply();
    result.right = result.right && mode == CUBLAS_PEDANTIC_MATH;
    return result;
  }
};

class set_pointer_mode final : public by_handle {
 public:
  void prepare() override { CUFAULT_REQUIRE(cublasSetPointerMode(handle(), CUBLAS_POINTER_MODE_HOST)); }
  status_record make() override {
    return record_of(cublasSetPointerMode(handle(), CUBLAS_POINTER_MODE_DEVICE));
  }
  product_result check() override {
    cublasPointerMode_t mode = CUBLAS_POINTER_MODE_HOST;
    product_result result{.status = cublasGetPointerMode(handle(), &mode)};
    if (result.status == CUBLAS_STATUS_SUCCESS) result = multiply();
    result.right = result.right && mode == CUBLAS_POINTER_MODE_DEVICE;
    return result;
  }
  product_result multiply() override {
    cublasSetPointerMode(handle(), CUBLAS_POINTER_MODE_HOST);  // its scalars are on the host
    return by_handle::multiply();
  }
};

/// cuBLAS 13.1.0 makes no driver call in it, and none in cublasSetWorkspace.
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

class set_workspace final : public by_handle {
 public:
  status_record make() override { return record_of(cublasSetWorkspace(handle(), workspace_.get(), bytes)); }
  product_result check() override { return multiply(); }

 private:
  static constexpr std::size_t bytes = 32 << 20;
  owned_memory workspace_ = new_memory(bytes);
};

const register_operations here{
    // It makes hundreds of driver calls, and one status tells its caller which failed: NOT_INITIALIZED, ALLOC_FAILED or INVALID_VALUE by
    // the cuBLAS documentation. Apart: on a full H200 with eager loading (cuBLAS 13.1.0) a cold call returned NOT_INITIALIZED alone, and
    // ALLOC_FAILED with other operations made ready in the process. After a failure, later calls may fail too (the fault failed_create).
    {.name = "cublas_create",
     .step = {"cublasCreate"},
     .fresh = fresh<create_handle>,
     .handle = own_handle::none,
     .needs_context = false,
     .representative = true,
     .apart = true},
    {.name = "cublas_destroy",
     .step = {"cublasDestroy"},
     .fresh = fresh<destroy_handle>,
     .product = by_new_handle},
    // It makes the driver calls of cublasCreate, but creates no stream and allocates no memory. Apart: after a kernel failed (H200, cuBLAS
    // 13.1.0), a cold call returned INTERNAL_ERROR alone, and NOT_INITIALIZED with other operations made ready in the process.
    {.name = "lt_create",
     .step = {"cublasLtCreate"},
     .fresh = fresh<create_lt_handle>,
     .handle = own_handle::none,
     .needs_context = false,
     .representative = true,
     .apart = true,
     .product = by_same_lt_handle},
    {.name = "lt_destroy",
     .step = {"cublasLtDestroy"},
     .fresh = fresh<destroy_lt_handle>,
     .handle = own_handle::cublaslt,
     .product = by_new_lt_handle},
    {.name = "get_version", .step = {"cublasGetVersion"}, .fresh = fresh<get_version>},
    {.name = "set_math_mode", .step = {"cublasSetMathMode"}, .fresh = fresh<set_math_mode>},
    {.name = "set_pointer_mode", .step = {"cublasSetPointerMode"}, .fresh = fresh<set_pointer_mode>},
    {.name = "set_stream", .step = {"cublasSetStream"}, .fresh = fresh<set_stream>},
    {.name = "set_workspace", .step = {"cublasSetWorkspace"}, .fresh = fresh<set_workspace>}};

}  // namespace
}  // namespace cufault::operations
