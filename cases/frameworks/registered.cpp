// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Cases of every framework, each by its table.
#include "cases/frameworks/frameworks.hpp"
#include "reports/model/frameworks.hpp"

namespace cufault {
namespace {

const std::vector<register_cases> here = [] {
  std::vector<register_cases> all;
  for (const python_framework& f : python_frameworks)
    all.emplace_back(std::string(f.name), [family = std::string(f.name)](std::string_view only) {
      return framework_cases(family, only);
    });
  return all;
}();

}  // namespace
}  // namespace cufault
