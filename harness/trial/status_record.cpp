// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/trial/status_record.hpp"

#include "harness/binding/driver_api.hpp"

#include <fmt/format.h>

namespace cufault {

std::string status_record::text() const {
  if (numbers != numbers_found::unchecked)
    return numbers == numbers_found::right ? "RIGHT_NUMBERS" : "WRONG_NUMBERS";
  return status;
}

status_record status_record::with(const std::string& name, fact value) const& {
  return status_record(*this).with(name, std::move(value));
}

status_record status_record::with(const std::string& name, fact value) && {
  facts[name] = std::move(value);
  return std::move(*this);
}

status_record record_of(cudaError_t status) {
  return {.status = cudaGetErrorName(status), .ok = status == cudaSuccess};
}

status_record record_of(CUresult status) {
  const char* name = nullptr;
  if (void* entry = find_driver_entry("cuGetErrorName"); entry != nullptr)
    reinterpret_cast<decltype(&cuGetErrorName)>(entry)(status, &name);
  return {
      .status = name != nullptr ? std::string(name) : fmt::format("CUresult {}", static_cast<int>(status)),
      .ok = status == CUDA_SUCCESS};
}

status_record record_of(const load_result& result) {
  return {.status = result.ok() ? "LOADED" : "LOADER_ERROR", .ok = result.ok()};
}

status_record end_of_process(const std::string& ended) {
  constexpr std::string_view crashed = "crashed: ", exited = "exit ";
  if (ended.starts_with(crashed))
    return {.status = status_crashed, .ok = false, .facts = {{"signal", ended.substr(crashed.size())}}};
  if (ended.starts_with(exited))
    return {.status = status_exited,
            .ok = false,
            .facts = {{"exit_code", std::int64_t{std::stoi(ended.substr(exited.size()))}}}};
  return {.status = status_timed_out, .ok = false};
}

}  // namespace cufault
