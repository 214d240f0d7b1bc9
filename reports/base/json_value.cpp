// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/base/json_value.hpp"

#include <nlohmann/json.hpp>

#include <utility>

namespace cufault {

json_value::json_value() : json_value(nlohmann::json()) {}
json_value::json_value(nlohmann::json value) : value_(std::make_unique<nlohmann::json>(std::move(value))) {}
json_value::json_value(const json_value& other) : json_value(*other) {}
json_value::json_value(json_value&&) noexcept = default;
json_value& json_value::operator=(const json_value& other) {
  return *this = json_value(other);
}
json_value& json_value::operator=(json_value&&) noexcept = default;
json_value::~json_value() = default;

}  // namespace cufault
