// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/injector/rules.hpp"

#include "harness/injector/driver_functions.hpp"

#include <fmt/format.h>

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <memory>
#include <utility>

namespace cufault::injector {
namespace {

constexpr std::array<std::string_view, 8> host_functions{
    "malloc", "calloc", "realloc", "memalign", "aligned_alloc", "posix_memalign", "strdup", "mmap"};

bool is_glob(std::string_view text) {
  return text.find_first_of("*?[") != std::string_view::npos;
}

bool glob(std::string_view pattern, std::string_view text) {
  return fnmatch(std::string{pattern}.c_str(), std::string{text}.c_str(), 0) == 0;
}

bool is_any_function(std::string_view pattern) {
  const auto all = driver_functions();
  return is_host_function(pattern) || std::any_of(all.begin(), all.end(), [&](const auto& f) {
           return matches_function(pattern, f.name);
         });
}

/// Why `function` cannot fail so; empty if it can.
std::string refusal(const rule& r) {
  if (r.does != effect::fail) return {};
  if (is_host_function(r.function))
    return r.code == ENOMEM ? "" : fmt::format("{} can only fail with ENOMEM", r.function);
  if (r.code == ENOMEM)  // no CUresult
    return fmt::format("{} is no function of the host: it cannot return ENOMEM", r.function);
  if (r.force) return {};
  const auto all = driver_functions();
  const bool some = std::any_of(all.begin(), all.end(), [&](const auto& f) {
    return matches_function(r.function, f.name) && can_return(f.name, r.code);
  });
  return some ? ""
              : fmt::format("{} cannot return {}; \"force\": true does it all the same", r.function,
                            driver_code_name(r.code));
}

int code_of(std::string_view name, const auto& fail) {
  if (name == "ENOMEM") return ENOMEM;
  const auto code = driver_code(name);
  if (!code)
    fail(fmt::format(
        "unknown code \"{}\"; take one of CUresult, as OUT_OF_MEMORY, or ENOMEM for a host function", name));
  if (*code == 0) fail("a rule cannot return CUDA_SUCCESS");
  return *code;
}

void check_function(const rule& r, const auto& fail) {
  if (!r.force && !is_any_function(r.function))
    fail(fmt::format("unknown function \"{}\"; \"force\": true takes it all the same", r.function));
}

template <class Number>
Number number_within(const json_cursor& field, std::uint64_t most = std::numeric_limits<Number>::max()) {
  const auto value = field.unsigned_integer();
  if (value > most) field.fail(fmt::format("at most {}", most));
  return static_cast<Number>(value);
}

std::uint64_t at_least_one(const json_cursor& field) {
  const auto value = field.unsigned_integer();
  if (value == 0) field.fail("at least 1");
  return value;
}

rule rule_from(const json_cursor& entry) {
  entry.only({"function",     "return", "delay_ms", "kernel",      "driver_version", "hide",      "log",
              "budget_bytes", "when",   "caller",   "thread",      "device",         "min_bytes", "max_bytes",
              "skip",         "hits",   "every",    "probability", "seed",           "force"});
  rule r;
  if (entry.has("force")) r.force = entry.at("force").boolean();
  if (entry.has("function")) r.function = entry.at("function").string();

  int effects = 0;
  const auto takes = [&](const char* key, effect does) {
    if (!entry.has(key)) return false;
    ++effects;
    r.does = does;
    return true;
  };
  if (takes("return", effect::fail))
    r.code =
        code_of(entry.at("return").string(), [&](const std::string& what) { entry.at("return").fail(what); });
  if (takes("delay_ms", effect::delay))
    r.delay = std::chrono::milliseconds{number_within<std::int64_t>(entry.at("delay_ms"), 86'400'000)};
  if (takes("driver_version", effect::driver_version))
    r.driver_version = number_within<int>(entry.at("driver_version"));
  if (takes("budget_bytes", effect::budget)) r.budget = entry.at("budget_bytes").unsigned_integer();
  if (takes("hide", effect::hide) && !entry.at("hide").boolean())
    entry.at("hide").fail("only true means something here");
  if (takes("log", effect::log) && !entry.at("log").boolean())
    entry.at("log").fail("only true means something here");
  if (entry.has("kernel")) {
    ++effects;
    const auto kernel = entry.at("kernel").string();
    if (kernel != "trap" && kernel != "assert") entry.at("kernel").fail("\"trap\" or \"assert\"");
    r.does = kernel == "trap" ? effect::trap : effect::device_assert;
  }
  if (effects != 1)
    entry.fail("a rule does one of: return, delay_ms, kernel, driver_version, hide, budget_bytes, log");

  if (r.does == effect::budget) {
    if (!r.function.empty())
      entry.at("function").fail("a budget is of all that allocates: leave the function out");
    for (const char* key : {"skip", "hits", "every", "probability", "seed"})
      if (entry.has(key)) entry.at(key).fail("a budget holds for every call: leave it out");
    r.function = "cuMem*";
  } else if (r.does == effect::driver_version && r.function.empty()) {
    r.function = "cuDriverGetVersion";
  }
  if (r.function.empty()) entry.fail("\"function\" is missing");
  check_function(r, [&](const std::string& what) { entry.at("function").fail(what); });
  if (r.does == effect::driver_version && r.function != "cuDriverGetVersion")
    entry.at("function").fail("only cuDriverGetVersion tells a driver_version");
  if (is_host_function(r.function) && r.does != effect::fail)
    entry.fail(fmt::format("{} is a function of the host: it can only return ENOMEM", r.function));

  if (entry.has("when")) {
    const auto when = entry.at("when").string();
    if (when != "before" && when != "after") entry.at("when").fail("\"before\" or \"after\" the call");
    r.after = when == "after";
    if (r.after && (r.does != effect::fail || is_host_function(r.function)))
      entry.at("when").fail("only a driver function's \"return\" can come after the call");
  }
  if (entry.has("caller")) r.caller = entry.at("caller").string();
  if (entry.has("thread")) r.thread = number_within<unsigned>(entry.at("thread"));
  if (entry.has("device")) r.device = number_within<int>(entry.at("device"));
  r.sized = entry.has("min_bytes") || entry.has("max_bytes");
  if (entry.has("min_bytes")) r.min_bytes = entry.at("min_bytes").unsigned_integer();
  if (entry.has("max_bytes")) r.max_bytes = entry.at("max_bytes").unsigned_integer();
  if (r.min_bytes > r.max_bytes) entry.at("min_bytes").fail("larger than max_bytes");
  if (entry.has("skip")) r.skip = entry.at("skip").unsigned_integer();
  if (entry.has("hits")) r.hits = at_least_one(entry.at("hits"));
  if (entry.has("every")) r.every = at_least_one(entry.at("every"));
  if (entry.has("seed")) r.seed = entry.at("seed").unsigned_integer();
  if (entry.has("probability")) {
    r.probability = entry.at("probability").number();
    if (!(r.probability >= 0 && r.probability <= 1)) entry.at("probability").fail("between 0 and 1");
  }
  if (const auto why = refusal(r); !why.empty()) entry.at("return").fail(why);
  return r;
}

/// Even over 64 bits, and the same for the same seed and n (the finaliser of SplitMix64).
std::uint64_t scattered(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

bool is_host_function(std::string_view name) {
  return std::find(host_functions.begin(), host_functions.end(), name) != host_functions.end();
}

bool matches_function(std::string_view pattern, std::string_view name) {
  if (!is_glob(pattern)) return pattern == name || pattern == without_suffix(name);
  return glob(pattern, name);
}

bool matches_caller(const rule& r, std::string_view library) {
  const bool light = library.starts_with("libcublasLt.");
  const bool cublas = library.starts_with("libcublas.");
  const bool shared_object = library.find(".so") != std::string_view::npos;
  const bool application = !shared_object || library.starts_with("libcudart.");
  if (r.caller.empty()) return true;
  if (r.caller == "cublasLt") return light;
  if (r.caller == "cublas") return cublas;
  if (r.caller == "application") return application;
  if (r.caller == "other") return !light && !cublas && !application;
  return is_glob(r.caller) ? glob(r.caller, library) : r.caller == library;
}

bool holds_for_any_caller(const rule& r, const call_facts& call) {
  if (r.sized && !(call.bytes && *call.bytes >= r.min_bytes && *call.bytes <= r.max_bytes)) return false;
  if (r.thread && *r.thread != call.thread) return false;
  return !r.device || r.device == call.device;
}

bool holds_for(const rule& r, const call_facts& call) {
  return holds_for_any_caller(r, call) && matches_caller(r, call.caller);
}

bool acts_on(const rule& r, std::uint64_t n) {
  if (n <= r.skip) return false;
  const auto later = n - r.skip;
  if (later % r.every != 0 || later / r.every > r.hits) return false;
  if (r.probability >= 1) return true;
  return static_cast<double>(scattered(r.seed ^ scattered(n)) >> 11) * 0x1p-53 < r.probability;
}

rule_set rules_from(const json_cursor& top) {
  top.only({"rules", "log_environment"});
  rule_set found;
  for (const auto& entry : top.at("rules").items()) found.rules.push_back(rule_from(entry));
  if (top.has("log_environment")) found.log_environment = top.at("log_environment").boolean();
  return found;
}

rule rule_from_text(std::string_view text) {
  const auto fail = [&](std::string_view what) {
    throw input_error(
        fmt::format("--fail {}: {}; it reads FUNCTION[:N[+]]=CODE, as cuMemAlloc_v2:3=OUT_OF_MEMORY",
                    one_line(text), one_line(what)));
  };
  const auto equals = text.find('=');
  if (equals == std::string_view::npos) fail("no '='");
  auto function = text.substr(0, equals);
  rule r;
  if (const auto colon = function.find(':'); colon != std::string_view::npos) {
    auto number = function.substr(colon + 1);
    function = function.substr(0, colon);
    const bool later = number.ends_with('+');
    if (later) number.remove_suffix(1);
    std::uint64_t n = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), n);
    if (error != std::errc{} || end != number.data() + number.size() || n == 0)
      fail("N is a number from 1 on");
    r.skip = n - 1;
    if (!later) r.hits = 1;
  }
  r.function = function;
  r.code = code_of(text.substr(equals + 1), fail);
  check_function(r, fail);
  if (const auto why = refusal(r); !why.empty()) fail(why);
  return r;
}

rule_set rules_of(const char* file_or_json, const char* texts) {
  rule_set found;
  if (file_or_json != nullptr && *file_or_json != '\0') {
    found = rules_from(json_cursor{*file_or_json == '{' ? parse_json("CUFAULT_RULES", file_or_json)
                                                        : read_json(file_or_json)});
  }
  std::string_view rest = texts != nullptr ? texts : "";
  while (!rest.empty()) {
    const auto end = std::min(rest.find(' '), rest.size());
    if (end != 0) found.rules.push_back(rule_from_text(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return found;
}

}  // namespace cufault::injector
