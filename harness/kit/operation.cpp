// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/kit/operation.hpp"

#include "harness/binding/cublas_binding.hpp"
#include "harness/model/registry.hpp"
#include "reports/model/api_functions.hpp"

#include <utility>

namespace cufault {

std::string defect_of(const operation_type& o) {
  if (!is_word(o.name)) return "its name is not of a-z, 0-9 and '_'";
  for (const step_name& step : {o.step, o.product})
    if (!is_step_name(step.api)) return step.api + " is no API function";
  if (!o.fresh) return "nothing makes one";
  return {};
}

const std::vector<operation_type>& all_operations() {
  return registry<operation_type>::all();
}

const operation_type* find_operation(const std::string& name) {
  return registry<operation_type>::find(name);
}

register_operations::register_operations(std::initializer_list<operation_type> all) {
  for (operation_type each : all) {
    if (each.summary.empty()) each.summary = each.step.api;
    for (const step_library& its : step_libraries)
      if (its.binding == library_binding::own && its.key == library_of(each.step.api))
        each.fresh = [key = its.key, fresh = std::move(each.fresh)] {
          need_library(key);
          return fresh();
        };
    registry<operation_type>::add("operation", std::move(each));
  }
}

}  // namespace cufault
