// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <memory>

namespace cufault {

/// A JSON value as a member of a type in a header: who reads the value includes nlohmann/json.hpp, which takes a second to compile; who only
/// includes the header does not. Null at first; copies are deep. After a move it can only be destroyed or assigned to.
class json_value {
 public:
  json_value();
  json_value(nlohmann::json value);  // NOLINT(google-explicit-constructor): it is that value
  json_value(const json_value& other);
  json_value(json_value&&) noexcept;
  json_value& operator=(const json_value& other);
  json_value& operator=(json_value&&) noexcept;
  ~json_value();

  nlohmann::json& operator*() { return *value_; }
  const nlohmann::json& operator*() const { return *value_; }
  nlohmann::json* operator->() { return value_.get(); }
  const nlohmann::json* operator->() const { return value_.get(); }

 private:
  std::unique_ptr<nlohmann::json> value_;
};

}  // namespace cufault
