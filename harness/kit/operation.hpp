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

/// Something that a program does and that can fail, with its handle, operands and reference. The matrix (harness/matrix) and the sweeps
/// (harness/injection) use one list of operations. The destructor releases everything.
class operation {
 public:
  operation() = default;
  virtual ~operation() = default;
  operation(const operation&) = delete;
  operation& operator=(const operation&) = delete;

  /// Loads the kernels that only check() launches, since a full device could not load them later. Called once when a cell makes its
  /// operation ready, before the fault; not if the fault comes before the operation. Throws setup_failed.
  virtual void load_for_check() {}
  virtual void prepare() {}  ///< before each make(): fresh numbers, on the device. Throws setup_failed
  /// Called directly before make(), under the fault: opens what may not be open earlier, such as the capture of a stream. Throws
  /// setup_failed.
  virtual void enter() {}
  virtual status_record make() = 0;    ///< the operation, and nothing else. Does not wait for the device
  virtual product_result check() = 0;  ///< after a make() that succeeded: waits, and proves what it computed
  virtual product_result multiply() = 0;  ///< a product by its handle, or, where it has none, by a new one

  /// The handle that faults act on; null if the operation has none.
  [[nodiscard]] virtual cublasHandle_t handle() const { return nullptr; }
  [[nodiscard]] virtual cublasLtHandle_t lt() const { return nullptr; }
  /// Device memory of cudaMalloc that the operation reads. A fault may free it; the operation is then never destroyed.
  [[nodiscard]] virtual void* operand() const { return nullptr; }
};

/// Makes an operation in a working context. May throw setup_failed; not_provoked if the device or the headers lack it.
using make_operation = std::function<std::unique_ptr<operation>()>;

/// For operations of a library whose headers the build may lack.
[[noreturn]] inline std::unique_ptr<operation> without_headers() {
  throw not_provoked("cufault was built without the headers of this library");
}

/// The handle that an operation calls through, so that a fault can act on it. None: calls of the CUDA runtime or of another library, and
/// calls that make a handle.
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
  /// Under a lasting fault (isolation::lasting) each cell has its own process, because earlier operations in the process change its
  /// outcome.
  bool apart = false;
  /// Uses managed memory: on a full device more than fits. Such cells run only by name, as CASE/ARM.
  bool takes_managed_memory = false;
  bool uses_private_stream = false;   ///< it runs on a stream of its own, whatever the stream of its handle
  std::vector<std::string> claims{};  ///< that its sweep tests
  step_name product{"cublasSgemm", "split_k_by_same_handle"};  ///< operation::multiply() as a step
};

/// All operations linked into this program, sorted by name.
const std::vector<operation_type>& all_operations();
/// Null if there is none of that name.
const operation_type* find_operation(const std::string& name);
/// Why it cannot be registered; "" if it can.
std::string defect_of(const operation_type& o);

/// Adds operations at program start. The default summary is the name of the function. A malformed operation ends the program with a
/// message.
struct register_operations {
  register_operations(std::initializer_list<operation_type> all);
};

}  // namespace cufault
