// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/injector/rules.hpp"

#include "harness/injector/faultinj.hpp"
#include "reports/base/words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fnmatch.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <span>
#include <utility>

namespace cufault::injector {
namespace {

constexpr std::array<std::string_view, 8> host_functions{
    "malloc", "calloc", "realloc", "memalign", "aligned_alloc", "posix_memalign", "strdup", "mmap"};

constexpr std::array<std::pair<std::string_view, corruption>, 4> corruptions{
    {{"bit", corruption::bit},
     {"element", corruption::element},
     {"nan", corruption::nan},
     {"tile", corruption::tile}}};
constexpr const char* about_pattern = "X for a call to act on and O for another, at least one X, as in XOOXO";

bool is_pattern(std::string_view text) {
  return text.find('X') != text.npos && text.find_first_not_of("XO") == text.npos && text.size() <= 4096;
}

bool is_glob(std::string_view text) {
  return text.find_first_of("*?[") != std::string_view::npos;
}

/// Matches a pattern with * and ? as its only special characters.
bool simple_glob(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, behind_star = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      behind_star = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;  // let the star match one more character
      t = ++behind_star;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

/// Compares up to the first special character of the pattern.
bool begins_alike(std::string_view pattern, std::string_view text) {
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '*' || c == '?' || c == '[' || c == '\\') return true;
    if (i == text.size() || text[i] != c) return false;
  }
  return true;
}

/// Matches as a shell does. Simple patterns have a fast path, because each new rule is compared with hundreds of names.
bool glob(std::string_view pattern, std::string_view text) {
  if (pattern.find_first_of("[\\") == std::string_view::npos) return simple_glob(pattern, text);
  return fnmatch(std::string{pattern}.c_str(), std::string{text}.c_str(), 0) == 0;
}

/// True if is_so() holds for any function that a rule of this library, or of the driver, can name.
bool is_any_function(const known_library* of, const auto& is_so) {
  if (of != nullptr) return std::any_of(of->functions.begin(), of->functions.end(), is_so);
  const auto all = driver_functions();
  return std::any_of(all.begin(), all.end(), [&](const auto& f) { return is_so(f.name); });
}

/// Finds the known names nearest to a misspelt one.
class nearest {
 public:
  explicit nearest(std::string_view text)
      : text_(text), distance_(std::max<std::size_t>(2, text.size() / 4)) {}
  void consider(std::string_view name) {
    const auto longer = std::max(name.size(), text_.size()), shorter = std::min(name.size(), text_.size());
    if (longer - shorter > distance_) return;
    const auto d = edit_distance(in_lower_case(text_), in_lower_case(name));
    if (d > distance_) return;
    if (d < distance_) names_.clear();
    distance_ = d;
    if (std::find(names_.begin(), names_.end(), name) == names_.end()) names_.push_back(name);
  }
  /// "; did you mean A, B or C?", or "" if no name is near.
  [[nodiscard]] std::string asked() const {
    if (names_.empty()) return {};
    const bool all = names_.size() <= most_named;
    const std::span told{names_.data(), all ? names_.size() - 1 : most_named};
    return fmt::format("; did you mean {}{}{}?", fmt::join(told, ", "), told.empty() ? "" : " or ",
                       all ? names_.back() : "others");
  }

 private:
  static constexpr std::size_t most_named = 3;
  std::string_view text_;
  std::size_t distance_;
  std::vector<std::string_view> names_;  ///< of equal distance, in the order of the headers
};

std::string function_meant(std::string_view text) {
  if (is_glob(text) || text.size() > 100) return {};
  nearest found(text);
  const auto consider = [&](const function_name& name) {
    found.consider(name.base());
    found.consider(name.text);
  };
  for (const auto& f : driver_functions()) consider(f.name);
  for (const known_library& of : libraries())
    for (const auto& name : of.functions) consider(name);
  for (const auto name : host_functions) found.consider(name);
  return found.asked();
}

/// Error text for a function that no list has, else "".
std::string unknown_function(const rule& r) {
  const auto is_this = [&](const function_name& name) { return matches_function(r.function, name); };
  if (is_host_function(r.function) || is_any_function(r.of, is_this)) return {};
  if (r.of != nullptr)
    return fmt::format("unknown function \"{}\": the headers of {} have none that returns a status{}",
                       r.function, r.of->name, function_meant(r.function));
  if (r.force) return {};
  return fmt::format("unknown function \"{}\"{}; in a file of rules, \"force\": true takes it all the same",
                     r.function, function_meant(r.function));
}

/// Why `function` cannot return this code, or cannot be dropped; "" if it can.
std::string refusal(const rule& r) {
  const bool some =
      is_any_function(r.of, [&](const function_name& name) { return is_for_function(r, name); });
  if (r.does == effect::drop)
    return some ? ""
                : fmt::format(
                      "{} cannot be dropped: its caller needs what it returns through a pointer, or it is no "
                      "work, wait or free",
                      r.function);
  if (r.does == effect::corrupt) {
    if (!some)
      return fmt::format("the result of {} is not known: corrupt takes {}", r.function, known_results);
    const bool kernels = r.of == nullptr;
    if (kernels != r.argument.has_value() || kernels != (r.elements != 0))
      return kernels ? "corrupt of a kernel needs argument and elements"
                     : "argument, elements and format are of kernels: a product says them itself";
  }
  if (r.does != effect::fail) return {};
  if (is_host_function(r.function))
    return r.code == ENOMEM ? "" : fmt::format("{} can only fail with ENOMEM", r.function);
  if (r.of != nullptr) return {};
  if (r.code == ENOMEM)  // the host's code is no CUresult
    return fmt::format("{} is no function of the host: it cannot return ENOMEM", r.function);
  if (r.force) return {};
  if (r.sticky && !is_sticky(r.code))
    return fmt::format("{} is not said to lose its context; \"force\": true makes it sticky all the same",
                       driver_code_name(r.code));
  return some ? ""
              : fmt::format("{} cannot return {}; in a file of rules, \"force\": true does it all the same",
                            r.function, driver_code_name(r.code));
}

/// Code of a function of a library, the driver or the host.
int code_of(const known_library* of, std::string_view name, const auto& fail) {
  if (of == nullptr && name == "ENOMEM") return ENOMEM;
  const auto code = code_in(of, name);
  if (!code && of == nullptr) {
    nearest meant(name.substr(0, 100));
    constexpr std::string_view prefix = "CUDA_ERROR_";
    for (int number = 1; number < 1000; ++number)
      if (const std::string_view full = known_code_name(number); full.starts_with(prefix)) {
        meant.consider(full);
        meant.consider(full.substr(prefix.size()));
      }
    fail(fmt::format(
        "unknown code \"{}\"; take one of CUresult, as OUT_OF_MEMORY or 2, or ENOMEM for a host function{}",
        name, meant.asked()));
  }
  if (!code) {
    nearest meant(name.substr(0, 100));
    for (const auto& [full, number] : of->codes) {
      meant.consider(full);
      if (full.starts_with(of->code_prefix)) meant.consider(full.substr(of->code_prefix.size()));
    }
    fail(fmt::format("unknown status \"{}\": the headers of {} have none of that name{}", name, of->name,
                     meant.asked()));
  }
  if (*code == 0) fail(fmt::format("a rule cannot return {}", code_name(of, 0)));
  return *code;
}

/// Replaces a number such as "2" by the name of its code; returns other text unchanged.
std::string code_by_number(const known_library* of, std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::string(text);
  const std::string name = of == nullptr ? std::string(known_code_name(number)) : code_name(of, number);
  return code_in(of, name) ? name : std::string(text);
}

/// Parses 16 hexadecimal digits as a log prints them: "0f3a…".
std::optional<std::uint64_t> stack_from(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  if (text.size() != 16 || text.find_first_not_of(digits) != std::string_view::npos) return {};
  std::uint64_t stack = 0;
  std::from_chars(text.data(), text.data() + text.size(), stack, 16);
  return stack;
}

template <class Number>
Number number_within(const json_cursor& field, std::uint64_t most = std::numeric_limits<Number>::max()) {
  const auto value = field.unsigned_integer();
  if (value > most) field.fail(fmt::format("at most {}", most));
  return static_cast<Number>(value);
}

template <class Number>
Number at_least_one(const json_cursor& field) {
  const auto value = number_within<Number>(field);
  if (value == 0) field.fail("at least 1");
  return value;
}

/// Keys of a rule, in the order of the help.
constexpr std::array<std::pair<std::string_view, std::string_view>, 36> rule_keys{
    {{"function",
      "a function of the driver or of a library, with or without its suffix, or a glob; or one of the host "
      "(see below)"},
     {"return",
      "the call fails with this code, of the driver or the library: OUT_OF_MEMORY, ...; a host function "
      "with ENOMEM"},
     {"drop_call",
      "true: the call is not made and returns SUCCESS: a launch, copy, memset, event, wait or free"},
     {"delay_ms", "delay the call by this many milliseconds"},
     {"kernel", "\"trap\" or \"assert\": start a kernel that fails so before the call"},
     {"fail",
      "in place of function, return, skip, hits, pattern and stack: FUNCTION:3=OUT_OF_MEMORY, as --fail"},
     {"spin", "true: the call does not come before the rule ends: a wait for a kernel that never ends"},
     {"corrupt",
      "after the call change its result: \"bit\" (one bit), \"element\" (all bits of one element), \"nan\" "
      "or "
      "\"tile\" (16 by 16 elements). For cublas*gemm* of one matrix or strided, cublasGemmEx and its like, "
      "cublasLtMatmul, and launches of kernels"},
     {"argument", "with corrupt, of a kernel: its parameter, from 0, that points to the result"},
     {"elements", "with argument: so many elements, of \"format\""},
     {"format", "with argument: f64, f32 (default), f16, bf16, e4m3, e5m2, i32, i8"},
     {"driver_version", "value that cuDriverGetVersion returns"},
     {"hide", "true: look-ups of the function fail, as if the driver lacked it"},
     {"budget_bytes", "without a function: device allocations beyond it fail, and cuMemGetInfo agrees"},
     {"log", "true: write a log line for each matching call"},
     {"when", "\"before\" (default) the call, which is not made, or \"after\" it, which was: with return"},
     {"sticky",
      "true: later calls in the same context return the code, too, as after a kernel's fault: with return"},
     {"caller",
      "only calls by \"application\" (and a shared libcudart), \"cublas\" or another of the libraries below, "
      "\"other\", or a library's file name or glob"},
     {"process", "only in programs of this file name or glob: \"python*\""},
     {"environment", "only in processes with these variables: {\"LOCAL_RANK\": \"3\"}; values may be globs"},
     {"pid", "only in the process of this ID, and in none that it forks"},
     {"began_before",
      "only in programs that began before this time, in seconds since 1970: not behind an exec"},
     {"thread", "only of this thread, counted from 1 in the order of their first call of such a function"},
     {"device", "only while this device's context is current"},
     {"min_bytes", "only allocations of at least this many bytes"},
     {"max_bytes", "only allocations of at most this many bytes"},
     {"skip", "ignore the first N matching calls"},
     {"hits", "act on at most N calls (default: all)"},
     {"every", "act only on every N-th matching call"},
     {"pattern", "\"XOOXO\": act on matching calls with an X; at its end it begins again"},
     {"once_per", "\"stack\": only the first call of each call stack; skip, hits and every count those"},
     {"stack",
      "true: lines of the log tell a hash of the call stack; such a hash: only calls of that stack, which "
      "skip, hits and every count"},
     {"then_any_stack",
      "true, where stack is a hash: once the rule has acted, it holds for calls of any call stack"},
     {"probability", "act with this probability, up to 1; hits limits how often"},
     {"seed", "seed of the random numbers of probability and corrupt"},
     {"force",
      "true: also a code that the function cannot return, and a driver function that cuda.h lacks"}}};

/// Refuses keys that can never match a call of this rule.
void refuse_what_never_holds(const json_cursor& entry, const rule& r) {
  const bool host = is_host_function(r.function);
  for (const char* key : {"once_per", "stack"})
    if (entry.has(key) && (host || r.does == effect::hide))
      entry.at(key).fail(host ? "the call stack of a host function is not walked"
                              : "a look-up by name has no call stack");
  if (host && r.device) entry.at("device").fail("a host function has no device");
  if (r.of != nullptr && r.does == effect::hide)
    entry.at("hide").fail("only functions of the driver can be hidden");
  if (r.of != nullptr && r.sized)
    entry.at(entry.has("min_bytes") ? "min_bytes" : "max_bytes")
        .fail("only of allocations by the driver and the host it is known how large they are");
  const auto all = driver_functions();
  const auto allocates = [&](const driver_function& f) {
    return matches_function(r.function, f.name) && memory_function_of(f.name.text).bytes != nullptr;
  };
  if (r.sized && !host && std::none_of(all.begin(), all.end(), allocates))
    entry.at(entry.has("min_bytes") ? "min_bytes" : "max_bytes").fail(r.function + " allocates nothing");
}

/// What the keys of `corrupt` say of the result.
void take_result(const json_cursor& entry, rule& r) {
  const bool corrupts = r.does == effect::corrupt;
  for (const char* key : {"argument", "elements", "format"})
    if (entry.has(key) && !corrupts) entry.at(key).fail("only of corrupt");
  if (!corrupts) return;
  const auto how = entry.at("corrupt").string();
  const auto* const known =
      std::find_if(corruptions.begin(), corruptions.end(), [&](const auto& c) { return c.first == how; });
  if (known == corruptions.end()) entry.at("corrupt").fail("\"bit\", \"element\", \"nan\" or \"tile\"");
  r.how = known->second;
  if (entry.has("argument")) r.argument = number_within<unsigned>(entry.at("argument"), 1023);
  if (entry.has("elements")) r.elements = at_least_one<std::uint64_t>(entry.at("elements"));
  r.format = format_named(entry.has("format") ? entry.at("format").string() : "f32");
  if (r.format == nullptr) entry.at("format").fail("f64, f32, f16, bf16, e4m3, e5m2, i32 or i8");
  if (r.how == corruption::nan && r.format->nan == 0) entry.at("format").fail("an integer is never NaN");
}

rule rule_from(const json_cursor& entry) {
  std::array<std::string_view, rule_keys.size()> known;
  std::transform(rule_keys.begin(), rule_keys.end(), known.begin(),
                 [](const auto& key) { return key.first; });
  entry.only(known);
  rule r;
  const bool is_text = entry.has("fail");
  if (is_text) {
    for (const char* key : {"function", "return", "skip", "hits", "pattern", "stack", "force"})
      if (entry.has(key)) entry.at(key).fail("\"fail\" says that already");
    try {
      r = rule_from_text(entry.at("fail").string());
    } catch (const input_error& error) {
      entry.at("fail").fail(error.what());
    }
  }
  if (entry.has("force")) r.force = entry.at("force").boolean();
  if (entry.has("function")) r.function = entry.at("function").string();
  r.of = library_of(r.function);

  std::string code;
  int effects = is_text ? 1 : 0;
  const auto takes = [&](const char* key, effect does) {
    if (!entry.has(key)) return false;
    ++effects;
    r.does = does;
    return true;
  };
  if (takes("return", effect::fail)) code = entry.at("return").string();
  if (takes("drop_call", effect::drop) && !entry.at("drop_call").boolean())
    entry.at("drop_call").fail("only true means something here");
  if (takes("delay_ms", effect::delay))
    r.delay = std::chrono::milliseconds{number_within<std::int64_t>(entry.at("delay_ms"), 86'400'000)};
  if (takes("driver_version", effect::driver_version))
    r.driver_version = number_within<int>(entry.at("driver_version"));
  if (takes("budget_bytes", effect::budget)) r.budget = entry.at("budget_bytes").unsigned_integer();
  if (takes("hide", effect::hide) && !entry.at("hide").boolean())
    entry.at("hide").fail("only true means something here");
  if (takes("log", effect::log) && !entry.at("log").boolean())
    entry.at("log").fail("only true means something here");
  if (takes("spin", effect::spin) && !entry.at("spin").boolean())
    entry.at("spin").fail("only true means something here");
  takes("corrupt", effect::corrupt);
  if (entry.has("kernel")) {
    ++effects;
    const auto kernel = entry.at("kernel").string();
    if (kernel != "trap" && kernel != "assert") entry.at("kernel").fail("\"trap\" or \"assert\"");
    r.does = kernel == "trap" ? effect::trap : effect::device_assert;
  }
  if (effects != 1)
    entry.fail(
        "a rule does one of: return (or fail), drop_call, delay_ms, spin, corrupt, kernel, driver_version, "
        "hide, budget_bytes, log");

  if (r.does == effect::budget) {
    if (!r.function.empty())
      entry.at("function").fail("a budget is of all that allocates: leave the function out");
    for (const char* key : {"skip", "hits", "every", "pattern", "probability", "seed", "min_bytes",
                            "max_bytes", "once_per", "stack"})
      if (entry.has(key)) entry.at(key).fail("a budget holds for every call: leave it out");
    r.function = "cuMem*";
  } else if (r.does == effect::driver_version && r.function.empty()) {
    r.function = "cuDriverGetVersion";
  }
  if (r.function.empty()) entry.fail("\"function\" is missing");
  if (const auto why = unknown_function(r); !why.empty()) entry.at("function").fail(why);
  if (r.does == effect::fail && !is_text)
    r.code = code_of(r.of, code, [&](const std::string& what) { entry.at("return").fail(what); });
  if (r.does == effect::driver_version && r.function != "cuDriverGetVersion")
    entry.at("function").fail("only cuDriverGetVersion tells a driver_version");
  if (is_host_function(r.function) && r.does != effect::fail)
    entry.fail(fmt::format("{} is a function of the host: it can only return ENOMEM", r.function));

  if (entry.has("when")) {
    const auto when = entry.at("when").string();
    if (when != "before" && when != "after") entry.at("when").fail("\"before\" or \"after\" the call");
    r.after = when == "after";
    if (r.after && (r.does != effect::fail || is_host_function(r.function)))
      entry.at("when").fail("only a \"return\" can come after the call, and not that of a host function");
  }
  if (entry.has("sticky")) {
    r.sticky = entry.at("sticky").boolean();
    if (r.sticky && (r.does != effect::fail || is_host_function(r.function) || r.of != nullptr))
      entry.at("sticky").fail("only a driver function's \"return\" can be sticky");
  }
  if (entry.has("once_per")) {
    r.once_per_stack = true;
    if (entry.at("once_per").string() != "stack") entry.at("once_per").fail("\"stack\" is all there is");
  }
  if (entry.has("stack") && entry.at("stack").is_string()) {
    r.at_stack = stack_from(entry.at("stack").string());
    if (!r.at_stack) entry.at("stack").fail("true, or a hash of 16 digits as lines of the log tell it");
    r.stack = true;
  } else if (entry.has("stack")) {
    r.stack = entry.at("stack").boolean();
  }
  r.stack |= r.once_per_stack;
  if (entry.has("then_any_stack")) {
    r.then_any_stack = entry.at("then_any_stack").boolean();
    if (r.then_any_stack && !r.at_stack)
      entry.at("then_any_stack").fail("only a rule whose \"stack\" is a hash holds for one stack first");
  }
  if (entry.has("caller")) r.caller = entry.at("caller").string();
  if (entry.has("process")) r.process = entry.at("process").string();
  if (entry.has("pid")) r.pid = at_least_one<int>(entry.at("pid"));
  if (entry.has("began_before")) r.began_before = entry.at("began_before").number();
  if (entry.has("environment"))
    for (const auto& name : entry.at("environment").keys())
      r.environment.emplace_back(name, entry.at("environment").at(name).string());
  if (entry.has("thread")) r.thread = at_least_one<unsigned>(entry.at("thread"));
  if (entry.has("device")) r.device = number_within<int>(entry.at("device"));
  r.sized = entry.has("min_bytes") || entry.has("max_bytes");
  if (entry.has("min_bytes")) r.min_bytes = entry.at("min_bytes").unsigned_integer();
  if (entry.has("max_bytes")) r.max_bytes = entry.at("max_bytes").unsigned_integer();
  if (r.min_bytes > r.max_bytes) entry.at("min_bytes").fail("larger than max_bytes");
  if (entry.has("skip")) r.skip = entry.at("skip").unsigned_integer();
  if (entry.has("hits")) r.hits = at_least_one<std::uint64_t>(entry.at("hits"));
  if (entry.has("every")) r.every = at_least_one<std::uint64_t>(entry.at("every"));
  if (entry.has("pattern")) {
    r.pattern = entry.at("pattern").string();
    if (!is_pattern(r.pattern)) entry.at("pattern").fail(about_pattern);
    for (const char* key : {"every", "probability"})
      if (entry.has(key)) entry.at(key).fail("the pattern says which calls");
  }
  if (entry.has("seed")) r.seed = entry.at("seed").unsigned_integer();
  if (entry.has("probability")) {
    r.probability = entry.at("probability").number();
    if (!(r.probability > 0 && r.probability <= 1)) entry.at("probability").fail("above 0, and at most 1");
  }
  take_result(entry, r);
  refuse_what_never_holds(entry, r);
  if (const auto why = refusal(r); !why.empty())
    entry.at(is_text ? "fail" : r.does == effect::fail ? "return" : "function").fail(why);
  return r;
}

/// True if the rule decides every call of its functions, so that no later rule is asked.
bool decides_all(const rule& r) {
  const bool decides = r.does == effect::fail || (r.does == effect::drop && !is_glob(r.function));
  return decides && !r.once_per_stack && !r.at_stack && r.except.empty() && r.caller.empty() &&
         r.process.empty() && r.environment.empty() && !r.pid && !r.began_before && r.pattern.empty() &&
         !r.thread && !r.device && !r.sized && r.skip == 0 && r.every == 1 &&
         r.hits == std::numeric_limits<std::uint64_t>::max() && r.probability >= 1;
}

void refuse_rules_behind_others(const rule_set& set) {
  for (std::size_t i = 0; i < set.rules.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const rule &before = set.rules[j], &r = set.rules[i];
      if (!decides_all(before) || before.function != r.function) continue;
      if (r.does == effect::hide || r.does == effect::log)
        continue;  // hide is looked up elsewhere; log acts in any case
      if (is_glob(r.function) && !before.force && before.code != r.code)
        continue;  // other functions of this pattern may return r.code alone
      throw input_error(fmt::format("rules[{}] can never act: rules[{}] {} every call of {}", i, j,
                                    before.does == effect::drop ? "drops" : "fails", one_line(r.function)));
    }
}

const double this_program_began = [] {  // libcufault.so is loaded with it
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}();

constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;

}  // namespace

std::uint64_t scattered(std::uint64_t x) {  // the finaliser of SplitMix64
  x += golden;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

bool is_host_function(std::string_view name) {
  return std::find(host_functions.begin(), host_functions.end(), name) != host_functions.end();
}

bool needs_host_library(const rule_set& rules) {
  return rules.log_environment || std::any_of(rules.rules.begin(), rules.rules.end(),
                                              [](const rule& r) { return is_host_function(r.function); });
}

std::vector<const known_library*> libraries_needed(const rule_set& rules) {
  std::vector<const known_library*> found;
  for (const rule& r : rules.rules)
    if (r.of != nullptr && std::find(found.begin(), found.end(), r.of) == found.end()) found.push_back(r.of);
  return found;
}

bool matches_function(std::string_view pattern, const function_name& name) {
  if (name.is_for_compilers() && matches_function(pattern, function_name{name.text.substr(2)})) return true;
  // A cheap test first: hundreds of names are compared for each new rule. All shorter forms of a name begin alike.
  if (!begins_alike(pattern.ends_with("_64") ? pattern.substr(0, pattern.size() - 3) : pattern, name.text))
    return false;
  if (!is_glob(pattern)) {
    // cublasSgemm_64 is documented, but the exported name is cublasSgemm_v2_64.
    constexpr std::string_view wide = "_64";
    if (pattern.ends_with(wide) && name.text.ends_with(wide) &&
        pattern.substr(0, pattern.size() - wide.size()) == name.base())
      return true;
    return pattern == name.text || pattern == name.base() || pattern == name.without_stream();
  }
  if (glob(pattern, name.text)) return true;
  if (pattern.ends_with('*')) return false;  // the star matches the longer name too
  return (name.base_size != name.text.size() && glob(pattern, name.base())) ||
         (name.without_stream_size != name.base_size && name.without_stream_size != name.text.size() &&
          glob(pattern, name.without_stream()));
}

bool is_for_function(const rule& r, const function_name& name) {
  if (!matches_function(r.function, name)) return false;
  const auto is_this = [&](std::string_view other) { return matches_function(other, name); };
  if (std::any_of(r.except.begin(), r.except.end(), is_this)) return false;
  if (r.does == effect::corrupt) return result_place_of(name.base()) != nullptr;
  if (r.of != nullptr) return r.does != effect::drop || can_be_dropped(*r.of, name);
  if (r.does == effect::drop) return can_be_dropped(name);
  return r.does != effect::fail || r.force || can_return(name, r.code);
}

std::string why_refused(const rule& r) {
  if (auto why = unknown_function(r); !why.empty()) return why;
  return refusal(r);
}

bool matches_caller(const rule& r, std::string_view library) {
  const auto is_by = [&](std::string_view name) { return is_file_of(*library_named(name), library); };
  const bool shared_object = library.find(".so") != std::string_view::npos;
  const bool application = !shared_object || is_by("cudart");
  if (r.caller.empty()) return true;
  if (r.caller == "application") return application;
  if (r.caller == "other") return !is_by("cublasLt") && !is_by("cublas") && !application;
  if (library_named(r.caller) != nullptr) return is_by(r.caller);
  return is_glob(r.caller) ? glob(r.caller, library) : r.caller == library;
}

bool matches_process(const rule& r, std::initializer_list<std::string_view> programs,
                     const char* (*variable)(const char* name)) {
  const auto is_like = [](std::string_view pattern, std::string_view text) {
    return is_glob(pattern) ? glob(pattern, text) : pattern == text;
  };
  const auto is_this = [&](std::string_view program) { return is_like(r.process, program); };
  if (!r.process.empty() && std::none_of(programs.begin(), programs.end(), is_this)) return false;
  return std::all_of(r.environment.begin(), r.environment.end(), [&](const auto& wanted) {
    const char* value = variable(wanted.first.c_str());
    return value != nullptr && is_like(wanted.second, value);
  });
}

bool holds_for_any_caller(const rule& r, const call_facts& call) {
  if (r.pid && *r.pid != getpid()) return false;
  if (r.began_before && this_program_began >= *r.began_before) return false;
  if (r.sized && !(call.bytes && *call.bytes >= r.min_bytes && *call.bytes <= r.max_bytes)) return false;
  if (r.thread && *r.thread != call.thread) return false;
  return !r.device || r.device == call.device;
}

bool holds_for(const rule& r, const call_facts& call) {
  return holds_for_any_caller(r, call) && matches_caller(r, call.caller);
}

bool acts_on(const rule& r, std::uint64_t n, std::uint64_t stream) {
  if (n <= r.skip) return false;
  const auto later = n - r.skip;
  if (!r.pattern.empty()) {
    const auto marked = [&](std::size_t end) {
      const auto head = std::string_view(r.pattern).substr(0, end);
      return static_cast<std::uint64_t>(std::count(head.begin(), head.end(), 'X'));
    };
    const auto rounds = (later - 1) / r.pattern.size(), at = (later - 1) % r.pattern.size();
    return r.pattern[at] == 'X' && rounds * marked(r.pattern.size()) + marked(at) < r.hits;
  }
  if (later % r.every != 0) return false;
  if (r.probability >= 1) return later / r.every <= r.hits;
  return static_cast<double>(scattered((r.seed + stream * golden) ^ scattered(n)) >> 11) * 0x1p-53 <
         r.probability;
}

rule_set rules_from(const json_cursor& top) {
  if (is_faultinj(top)) return rules_of_faultinj(top);
  top.only({"rules", "log_environment"});
  rule_set found;
  for (const auto& entry : top.at("rules").items()) found.rules.push_back(rule_from(entry));
  if (top.has("log_environment")) found.log_environment = top.at("log_environment").boolean();
  refuse_rules_behind_others(found);
  return found;
}

std::string rules_help() {
  std::string help =
      "Rules: {\"rules\": [{\"function\": \"cuMemAlloc_v2\", \"return\": \"OUT_OF_MEMORY\"}, ...]}. A rule "
      "can hold:\n";
  for (const auto& [key, what] : rule_keys) help += fmt::format("  {:<15} {}\n", key, what);
  help += fmt::format(
      "It does one of return (or fail), drop_call, delay_ms, spin, corrupt, kernel, driver_version, hide, "
      "budget_bytes, log. Host functions: "
      "{}.\n"
      "Libraries: {}; a function belongs to the one that its name, or that of a glob, begins with; those "
      "that "
      "return a status.\n",
      fmt::join(host_functions, ", "), library_names());
  return help + "Beside \"rules\", \"log_environment\": true tells who asks for which variable.\n";
}

rule rule_from_text(std::string_view text) {
  const auto fail = [&](std::string_view what) {
    const known_library* of = library_of(text);
    throw input_error(fmt::format(
        "--fail {}: {}; expected FUNCTION[@STACK][:N[+]|:PATTERN]=CODE, for example {}", one_line(text),
        one_line(what), of != nullptr ? of->example : "cuMemAlloc_v2:3=OUT_OF_MEMORY"));
  };
  const auto equals = text.find('=');
  if (equals == std::string_view::npos) fail("no '='");
  auto function = text.substr(0, equals);
  rule r;
  if (const auto colon = function.find(':'); colon != std::string_view::npos) {
    auto number = function.substr(colon + 1);
    function = function.substr(0, colon);
    if (is_pattern(number)) {
      r.pattern = number;
    } else {
      const bool later = number.ends_with('+');
      if (later) number.remove_suffix(1);
      std::uint64_t n = 0;
      const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), n);
      if (error != std::errc{} || end != number.data() + number.size() || n == 0)
        fail("N is a number from 1 on, or a pattern as XOOXO");
      r.skip = n - 1;
      if (!later) r.hits = 1;
    }
  }
  if (const auto at = function.find('@'); at != std::string_view::npos) {
    r.at_stack = stack_from(function.substr(at + 1));
    if (!r.at_stack) fail("STACK is a hash of 16 digits as lines of the log tell it");
    r.stack = true;
    function = function.substr(0, at);
  }
  r.function = function;
  r.of = library_of(function);
  if (const auto why = unknown_function(r); !why.empty()) fail(why);
  r.code = code_of(r.of, code_by_number(r.of, text.substr(equals + 1)), fail);
  if (r.at_stack && is_host_function(function)) fail("the call stack of a host function is not walked");
  if (const auto why = refusal(r); !why.empty()) fail(why);
  return r;
}

rule_set rules_of(const std::string& file_or_json, std::string_view texts) {
  rule_set found;
  if (file_or_json.starts_with('{')) {
    found = rules_from(json_cursor{parse_json("CUFAULT_RULES", file_or_json)});
  } else if (!file_or_json.empty()) {
    std::error_code none;
    if (std::filesystem::exists(file_or_json, none) && !std::filesystem::is_regular_file(file_or_json, none))
      throw input_error(file_or_json + ": is no ordinary file, which could be read again when it changes");
    found = rules_from(json_cursor{read_json(file_or_json)});
  }
  std::string_view rest = texts;
  while (!rest.empty()) {
    const auto end = std::min(rest.find(' '), rest.size());
    if (end != 0) found.rules.push_back(rule_from_text(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  refuse_rules_behind_others(found);
  return found;
}

}  // namespace cufault::injector
