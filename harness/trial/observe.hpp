// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/errors.hpp"
#include "harness/trial/trial.hpp"
#include "reports/model/api_functions.hpp"

#include <chrono>
#include <exception>
#include <string>
#include <string_view>

namespace cufault {

/// A library that throws through its C interface ends its callers: this counts as a crash. Exceptions of cases and harness pass.
template <class Call>
auto or_terminate(Call&& call) {
  try {
    return call();
  } catch (const not_provoked&) {
    throw;
  } catch (const setup_failed&) {
    throw;
  } catch (const missing_symbol&) {
    throw;
  } catch (const binding_error&) {
    throw;
  } catch (...) {
    std::terminate();
  }
}

/// The name of a step, checked on construction: an unknown API name does not compile, or throws setup_failed if built at run time.
class observed_name {
 public:
  /// E.g. "cublasCreate(&handle)" gives cublasCreate; "driver::cuInit(0)" gives cuInit. Other text does not compile.
  static consteval observed_name of_call(const char* text) {
    std::string_view name(text);
    name = name.substr(0, name.find('('));
    while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
    if (const auto scope = name.rfind(':'); scope != std::string_view::npos) name.remove_prefix(scope + 1);
    if (!is_step_name(name)) throw "no API function: name it with CUFAULT_OBSERVE_AS";
    return {name, {}};
  }
  consteval observed_name(const char* api, const char* variant) : api_(api), variant_(variant) {
    if (!is_step_name(api_))
      throw "no API function, and no work of our own; reports/model/api_functions.hpp lists both";
  }
  [[nodiscard]] step_name name() const { return {std::string(api_), std::string(variant_)}; }

 private:
  constexpr observed_name(std::string_view api, std::string_view variant) : api_(api), variant_(variant) {}
  std::string_view api_, variant_;
};

/// Makes the call, reports it to the parent before and after, and returns its result.
template <class Call>
auto observe_call(const step_name& name, Call&& call) {
  trial& t = trial::current();
  t.begin_call(name);
  const auto start = std::chrono::steady_clock::now();
  auto status = [&] {
    try {
      return or_terminate(call);
    } catch (const missing_symbol&) {  // no call was made
      t.withdraw_call();
      throw;
    }
  }();
  const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
  t.end_call(record_of(status), taken.count());
  return status;
}

/// For set-up calls: if one fails, the trial proves nothing.
template <class Status>
void require_call(const char* text, const Status& status) {
  if (const status_record r = record_of(status); !r.ok)
    throw setup_failed(std::string(text) + " returned " + r.text());
}

}  // namespace cufault

/// An API call that the case is about: `CUFAULT_OBSERVE(cublasCreate(&handle))`. The function names the step; the macro's value is the
/// call's.
#define CUFAULT_OBSERVE(...) \
  ::cufault::observe_call(::cufault::observed_name::of_call(#__VA_ARGS__).name(), [&] { return __VA_ARGS__; })
/// The same with a variant, or for a helper: `CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(handle))`. Records keep these names, so
/// they must not change with the code.
#define CUFAULT_OBSERVE_AS(api, variant, ...) \
  ::cufault::observe_call(::cufault::observed_name(api, variant).name(), [&] { return __VA_ARGS__; })
/// A call that only prepares: `CUFAULT_REQUIRE(cudaMalloc(&p, bytes))`.
#define CUFAULT_REQUIRE(...) ::cufault::require_call(#__VA_ARGS__, __VA_ARGS__)
