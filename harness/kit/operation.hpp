// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/kit/products.hpp"
#include "harness/model/errors.hpp"
#include "harness/trial/status_record.hpp"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace cufault {

/// Something a program does that can fail, with all that it needs: handle, operands, reference. One list of operations serves the matrix
/// (harness/matrix) and the sweeps (harness/injection). Its end gives everything back.
class operation {
 public:
  operation() = default;
  virtual ~operation() = default;
  operation(const operation&) = delete;
  operation& operator=(const operation&) = delete;

  /// Loads the kernels that only check() launches: on a device that is full by then they could not be loaded, and the result could not be checked.
  /// Called once, when a cell makes its operation ready, before the fault; not where the fault comes before the operation. Throws setup_failed.
  virtual void load_for_check() {}
  virtual void prepare() {}  ///< before each make(): fresh numbers, on the device. Throws setup_failed
  /// Directly before make(), with the fault there: what may not be open before, as the capture of a stream. Throws setup_failed.
  virtual void enter() {}
  virtual status_record make() = 0;    ///< the operation, and nothing else. Does not wait for the device
  virtual product_result check() = 0;  ///< after a make() that succeeded: waits, and proves what it computed
  virtual product_result multiply() = 0;  ///< a product by its handle, or, where it has none, by a new one

  /// What faults act on; null where the operation has none of its own.
  [[nodiscard]] virtual cublasHandle_t handle() const { return nullptr; }
  [[nodiscard]] virtual cublasLtHandle_t lt() const { return nullptr; }
  /// Device memory that it reads, which cudaMalloc gave: a fault may free it, and the operation is then never destroyed.
  [[nodiscard]] virtual void* operand() const { return nullptr; }
};

/// Makes one, in a context that computes. May throw setup_failed; not_provoked where the device or the headers have no such operation.
using make_operation = std::function<std::unique_ptr<operation>()>;

/// For operations of a library whose headers the toolkit of the build need not have.
[[noreturn]] inline std::unique_ptr<operation> without_headers() {
  throw not_provoked("cufault was built without the headers of this library");
}

/// Which handle an operation calls through, so that a fault can act on it. None: a call of the CUDA runtime or of another library, or one that makes a handle.
enum class own_handle { none, cublas, cublaslt };

struct operation_type {
  std::string name{};     ///< unique: a-z, 0-9, '_'; cells and the sweep are called by it: "sgemm_split_k"
  step_name step{};       ///< its identity in records: "cublasSgemm", "split_k"
  std::string summary{};  ///< a few words: "cublasSgemm that splits k"; empty: the function
  make_operation fresh{};
  bool has_operand = false;  ///< operation::operand() is not null
  std::string smaller{},
      lower_precision{};  ///< names of operations that remedies put in its place; empty: none
  own_handle handle = own_handle::cublas;
  bool needs_context =
      true;  ///< a context must be there before it; false: the first one of a process makes it
  bool representative = false;  ///< remedies are tried with it in the full tier
  /// Under a fault that lasts (isolation::lasting) its cells have a process each, because what other operations did before it in the process
  /// changes its outcome.
  bool apart = false;
  /// It takes managed memory: where no device memory is left, more than fits on the device. Such cells run only when they are named, as CASE/ARM.
  bool takes_managed_memory = false;
  bool uses_private_stream = false;   ///< it runs on a stream of its own, whatever the stream of its handle
  std::vector<std::string> claims{};  ///< that its sweep tests
  step_name product{"cublasSgemm", "split_k_by_same_handle"};  ///< operation::multiply() as a step
};

/// All operations linked into this program, by name.
const std::vector<operation_type>& all_operations();
/// nullptr where there is none of that name.
const operation_type* find_operation(const std::string& name);
/// Why it cannot be registered; empty if it can.
std::string defect_of(const operation_type& o);

/// Adds operations at program start. One without a summary gets the name of its function. A malformed one ends the program with a line that says why.
struct register_operations {
  register_operations(std::initializer_list<operation_type> all);
};

}  // namespace cufault
