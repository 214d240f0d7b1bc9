// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The members of a struct for json_fields.hpp, where JSON has the names that the struct has:
//   CUFAULT_MEMBERS(framework_cure, CUFAULT_STATED(of, text))
#pragma once

#include "reports/base/json_fields.hpp"

#define CUFAULT_STATED_MEMBER(member) f.required(#member, of.member);
#define CUFAULT_OTHER_MEMBER(member) f(#member, of.member, usual.member);
/// Members that are always there.
#define CUFAULT_STATED(...) NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(CUFAULT_STATED_MEMBER, __VA_ARGS__))
/// Members that are left out where they are as in a new struct.
#define CUFAULT_OTHERS(...) NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(CUFAULT_OTHER_MEMBER, __VA_ARGS__))
/// What follows the type is one of these, or both. Stands in the type's namespace.
#define CUFAULT_MEMBERS(type, ...)              \
  template <class Fields>                       \
  void describe_fields(type& of, Fields& f) {   \
    [[maybe_unused]] static const type usual{}; \
    __VA_ARGS__                                 \
  }
