// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/binding/cublas_binding.hpp"
#include "reports/model/step.hpp"

#include <cublas_v2.h>
#include <cuda.h>
#include <cuda_runtime.h>

#include <string>
#include <type_traits>
#include <typeinfo>

namespace cufault {

/// Result of a step as it is recorded: a step without its name.
struct status_record {
  std::string status{};  ///< the library's name; empty: the success of the step's own API
  bool ok = true;
  numbers_found numbers = numbers_found::unchecked;
  fact_map facts{};

  /// One word: RIGHT_NUMBERS, WRONG_NUMBERS, or the status.
  [[nodiscard]] std::string text() const;
  /// A copy with one more fact.
  [[nodiscard]] status_record with(const std::string& name, fact value) const&;
  [[nodiscard]] status_record with(const std::string& name, fact value) &&;
};
inline const status_record& record_of(const status_record& r) {
  return r;
}
/// For a status of a library in libraries.json: "CUBLAS_STATUS_NOT_INITIALIZED". 0 is success.
template <class Status>
requires std::is_enum_v<Status> status_record record_of(Status status) {
  return {.status = name_of_status(typeid(Status), static_cast<int>(status)), .ok = status == Status{}};
}
status_record record_of(cudaError_t status);
status_record record_of(CUresult status);            ///< "CUDA_ERROR_NO_BINARY_FOR_GPU"
status_record record_of(const load_result& result);  ///< LOADED, or LOADER_ERROR

/// For a call in which its process ended: "crashed: SIGSEGV", "timed out", "exit 3".
status_record end_of_process(const std::string& ended);

}  // namespace cufault
