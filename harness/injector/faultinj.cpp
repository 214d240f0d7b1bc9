// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/injector/faultinj.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

namespace cufault::injector {
namespace {

constexpr int trap = 0, device_assert = 1, substitute = 2;

/// Rule for a function of the driver, or of the runtime if `of` is the runtime. Nullopt if it never acts.
std::optional<rule> rule_of(const json_cursor& fault, const std::string& function, const known_library* of) {
  fault.only({"percent", "injectionType", "substituteReturnCode", "interceptionCount"});
  const auto number = [&](const char* key, std::int64_t otherwise) {
    return fault.has(key) ? fault.at(key).integer() : otherwise;
  };
  const auto percent = number("percent", 0), count = number("interceptionCount", 1),
             type = number("injectionType", substitute), code = number("substituteReturnCode", 0);
  if (percent <= 0 || count <= 0) return std::nullopt;
  rule r;
  r.function = function == "*" && of != nullptr ? std::string(of->prefix) + "*" : function;
  r.of = of;
  r.does = effect::log;  // every function can be logged: this checks only the name
  if (!why_refused(r).empty() || is_host_function(function) || library_of(r.function) != of)
    fault.fail(of != nullptr ? "no function of the CUDA runtime" : "no function of the driver");
  if (percent < 100) r.probability = static_cast<double>(percent) / 100;
  if (fault.has("interceptionCount")) r.hits = static_cast<std::uint64_t>(count);
  if (type == trap || type == device_assert) {
    r.does = type == trap ? effect::trap : effect::device_assert;
  } else if (type == substitute) {
    if (code == 0) fault.fail("substituteReturnCode is missing or 0: a rule cannot return CUDA_SUCCESS");
    if (code < 0 || code > std::numeric_limits<int>::max() ||
        !code_in(of, code_name(of, static_cast<int>(code))))
      fault.at("substituteReturnCode")
          .fail(fmt::format("{} is no {}", code, of != nullptr ? "cudaError_t" : "CUresult of cuda.h"));
    r.does = effect::fail;
    r.code = static_cast<int>(code);
    r.after = true;
    r.force = true;  // that tool substitutes any code
  } else {
    fault.at("injectionType").fail("0 (trap), 1 (device assertion) or 2 (substitute the return code)");
  }
  return r;
}

bool is_number(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

void add_faults(rule_set& found, const json_cursor& faults, const known_library* of) {
  std::optional<rule> others;  // "*" stands for functions without a fault of their own
  std::vector<std::string> named;
  for (const auto& name : faults.keys()) {
    const json_cursor fault = faults.at(name);
    if (is_number(name)) fault.fail("callback ids of CUPTI are not known here; write the function's name");
    if (name.find_first_of("*?[") != std::string::npos && name != "*")
      fault.fail("no glob: the name of a function, or \"*\"");
    auto r = rule_of(fault, name, of);
    if (name == "*") {
      others = std::move(r);
      continue;
    }
    named.push_back(name);
    if (r) found.rules.push_back(std::move(*r));
  }
  if (others) {
    others->except = named;
    found.rules.push_back(std::move(*others));
  }
}

}  // namespace

bool is_faultinj(const json_cursor& top) {
  return top.has("cudaDriverFaults") || top.has("cudaRuntimeFaults");
}

rule_set rules_of_faultinj(const json_cursor& top) {
  top.only({"logLevel", "dynamic", "seed", "cudaDriverFaults", "cudaRuntimeFaults"});
  rule_set found;
  found.reload = top.has("dynamic") && top.at("dynamic").boolean();
  if (top.has("logLevel"))
    static_cast<void>(top.at("logLevel").integer());  // concerns messages of that tool only
  const std::uint64_t seed = top.has("seed") ? top.at("seed").unsigned_integer() : 0;
  if (top.has("cudaRuntimeFaults")) add_faults(found, top.at("cudaRuntimeFaults"), library_named("cudart"));
  if (top.has("cudaDriverFaults")) add_faults(found, top.at("cudaDriverFaults"), nullptr);
  for (rule& r : found.rules) r.seed = seed;
  return found;
}

}  // namespace cufault::injector
