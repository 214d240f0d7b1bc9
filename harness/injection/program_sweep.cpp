// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/injection/program_sweep.hpp"

#include "harness/injection/sweep_codes.hpp"
#include "harness/injector/driver_functions.hpp"
#include "harness/injector/library_functions.hpp"
#include "harness/injector/rules.hpp"
#include "reports/base/json_input.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <utility>

namespace cufault::program_sweep {
namespace {

using json = nlohmann::ordered_json;
namespace fs = std::filesystem;

std::string lower(std::string_view text) {
  std::string all(text);
  for (char& c : all) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return all;
}

// ---- sites ----

using site_key = std::pair<std::string, std::string>;  // function, stack

site_key key_of(const call_site& site) {
  return {site.function, site.stack};
}

/// What the call did to the number of allocations, where the driver made it.
int change_of_allocations(std::string_view function) {
  switch (injector::memory_function_of(function).role) {
    case injector::memory_role::allocates:
    case injector::memory_role::creates_handle:
    case injector::memory_role::retains_handle:
      return 1;
    case injector::memory_role::frees:
    case injector::memory_role::releases_handle:
      return -1;
    default:
      return 0;
  }
}

constexpr std::string_view words_of_release[]{"Destroy", "Free", "CommAbort", "DeviceReset"};

/// A function of a library that releases what it or an earlier call allocated, which nothing else can release.
bool releases(std::string_view function) {
  if (injector::library_of(function) == nullptr) return false;
  return std::any_of(std::begin(words_of_release), std::end(words_of_release),
                     [&](std::string_view word) { return function.find(word) != std::string_view::npos; });
}

/// A function that the injector knows by name: rules for others are refused.
bool is_known(std::string_view function) {
  if (const auto* of = injector::library_of(function)) return injector::function_in(*of, function) != nullptr;
  const auto all = injector::driver_functions();
  return std::any_of(all.begin(), all.end(),
                     [&](const auto& f) { return injector::matches_function(function, f.name); });
}

std::string without_prefix(const std::string& code) {
  constexpr std::string_view prefix = "CUDA_ERROR_";
  return code.starts_with(prefix) ? code.substr(prefix.size()) : code;
}

/// Statuses of a library, without its prefix. No header says which function returns which of them.
struct statuses {
  std::string_view library;
  std::string_view allocating, computing, other;  ///< the first to try, by what the function does
  std::vector<std::string_view> further;
};
const std::vector<statuses>& all_statuses() {
  static const std::vector<std::string_view> of_blas{"NOT_INITIALIZED", "INTERNAL_ERROR", "NOT_SUPPORTED",
                                                     "ARCH_MISMATCH",   "MAPPING_ERROR",  "LICENSE_ERROR"},
      of_solvers{"NOT_INITIALIZED", "INTERNAL_ERROR", "NOT_SUPPORTED"};
  static const std::vector<statuses> all{
      {"cudart", "MemoryAllocation", "LaunchFailure", "InvalidValue", {"InitializationError", "Unknown"}},
      {"cublas", "ALLOC_FAILED", "EXECUTION_FAILED", "INVALID_VALUE", of_blas},
      {"cublasLt", "ALLOC_FAILED", "EXECUTION_FAILED", "INVALID_VALUE", of_blas},
      {"cudnn", "ALLOC_FAILED", "EXECUTION_FAILED", "BAD_PARAM", of_solvers},
      {"cusolver", "ALLOC_FAILED", "EXECUTION_FAILED", "INVALID_VALUE", of_solvers},
      {"nccl",
       "UnhandledCudaError",
       "RemoteError",
       "InvalidArgument",
       {"SystemError", "InternalError", "InvalidUsage"}},
      {"nvml",
       "DRIVER_NOT_LOADED",
       "GPU_IS_LOST",
       "NOT_SUPPORTED",
       {"INVALID_ARGUMENT", "NO_PERMISSION", "UNKNOWN"}}};
  return all;
}

std::vector<std::string> codes_of_library(const injector::known_library& of, std::string_view function) {
  const auto known = std::find_if(all_statuses().begin(), all_statuses().end(),
                                  [&](const statuses& each) { return each.library == of.name; });
  if (known == all_statuses().end()) return {};
  const std::string name = lower(function);
  const auto has = [&](std::string_view word) { return name.find(word) != std::string::npos; };
  const bool allocates = !releases(function) && (has("alloc") || has("create") || has("init"));
  const std::string_view first = allocates ? known->allocating
                                 : injector::can_be_dropped(of, injector::function_name(function))
                                     ? known->computing
                                     : known->other;
  std::vector<std::string_view> all{first, known->allocating, known->computing, known->other};
  all.insert(all.end(), known->further.begin(), known->further.end());
  std::vector<std::string> codes;
  for (const std::string_view each : all)
    if (injector::code_in(&of, each) && std::find(codes.begin(), codes.end(), each) == codes.end())
      codes.emplace_back(each);  // an older header may lack one
  return codes;
}

// ---- planning ----

/// Calls in the order in which a budget takes them.
void order_by_novelty(std::vector<planned_call>& calls, const std::vector<compared_site>& sites) {
  std::set<std::string> functions;
  std::set<site_key> functions_of_libraries;
  std::vector<std::pair<int, planned_call>> ranked;
  for (planned_call& call : calls) {
    const call_site& site = sites[call.site].site;
    const bool new_function = functions.insert(site.function).second;
    const bool new_library = functions_of_libraries.insert({site.function, site.library}).second;
    ranked.emplace_back(new_function ? 0 : new_library ? 1 : 2, std::move(call));
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < calls.size(); ++i) calls[i] = std::move(ranked[i].second);
}

bool is_swept(const compared_site& s) {
  return s.is_stable() && why_left_alone(s.site).empty();
}

// ---- what a run came to ----

std::set<std::string> lines_in(const std::string& text) {
  std::set<std::string> found;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) found.insert(line);
  return found;
}

/// Lines of the one that the other has not.
/// "took 12 ms" -> "took # ms"
std::string without_digits(const std::string& text) {
  std::string masked;
  for (const char c : text)
    if (c < '0' || c > '9')
      masked += c;
    else if (masked.empty() || masked.back() != '#')
      masked += '#';
  return masked;
}

/// Lines that clean runs do not print; where those differ from one another, whatever their numbers are.
std::vector<std::string> new_lines(const std::string& text, const std::string& clean, bool clean_is_same) {
  const auto known = lines_in(clean_is_same ? clean : without_digits(clean));
  std::vector<std::string> found;
  for (const std::string& line : lines_in(text))
    if (!known.contains(clean_is_same ? line : without_digits(line)) &&
        line.find_first_not_of(" \t\r") != std::string::npos)
      found.push_back(line);
  return found;
}

/// "out of memory" of "OUT_OF_MEMORY", as cuGetErrorString has it; "launch failure" of "LaunchFailure".
std::string in_words(const std::string& code) {
  std::string words;
  for (std::size_t i = 0; i < code.size(); ++i) {
    const bool begins = i > 0 && std::isupper(static_cast<unsigned char>(code[i])) != 0 &&
                        std::islower(static_cast<unsigned char>(code[i - 1])) != 0;
    if (begins) words += ' ';
    words += code[i] == '_' ? ' ' : code[i];
  }
  return lower(words);
}

bool tells_of_failure(const std::vector<std::string>& lines, const std::string& code) {
  const std::string words = in_words(without_prefix(code));
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
    const std::string text = lower(line);
    const auto has = [&](std::string_view word) { return text.find(word) != std::string::npos; };
    return has("error") || has("fail") || has("exception") || has("cannot") || has("could not") ||
           has("out of memory") || has(lower(without_prefix(code))) || has(words);
  });
}

/// The signal that ended it, or that a shell or launcher tells of by 128 and its number; 0 for none.
int fatal_signal(const process_result& process) {
  if (process.how == ending::signalled) return process.signal;
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGKILL})
    if (process.how == ending::exited && process.exit_code == 128 + signal) return signal;
  return 0;
}

std::string words_of_end(const process_result& process) {
  if (process.how == ending::timed_out) return "timed out";
  if (process.how == ending::signalled) return signal_name(process.signal);
  return fmt::format("exit {}", process.exit_code);
}

outcome outcome_of(const row& r, const run_seen& seen, const clean_runs& clean) {
  const process_result& p = seen.process;
  if (r.injections == 0) return outcome::not_reached;
  if (fatal_signal(p) != 0) return outcome::crashed;
  if (p.how == ending::timed_out) return outcome::hung;
  if (r.left.processes > 0 || !r.left.shared_memory.empty()) return outcome::leaked;
  if (p.exit_code == 0 && r.left.device_allocations > 0) return outcome::leaked;
  if (p.exit_code != 0) return outcome::reported;
  const auto said = new_lines(p.stdout_text, clean.output, clean.same_output),
             warned = new_lines(p.stderr_text, clean.errors, clean.same_errors);
  if (tells_of_failure(said, r.code) || tells_of_failure(warned, r.code)) return outcome::reported;
  if (clean.same_errors && !warned.empty()) return outcome::reported;  // a clean run does not say it
  const bool other = (clean.same_output && p.stdout_text != clean.output) ||
                     (clean.same_errors && p.stderr_text != clean.errors);
  return other ? outcome::other_output : outcome::swallowed;
}

// ---- the record ----

constexpr int schema = 1;
constexpr std::array<std::string_view, outcomes> names{"reported",     "swallowed", "crashed",    "hung",
                                                       "other_output", "leaked",    "not_reached"};

std::string line(const json& value) {
  return value.dump(-1, ' ', true, json::error_handler_t::replace) + '\n';
}

void add_site(json& to, const call_site& site) {
  to["library"] = site.library;
  to["offset"] = site.offset;
  to["function"] = site.function;
  to["stack"] = site.stack;
}

call_site site_from(const json_cursor& at) {
  return {at.at("library").string(), at.at("offset").string(), at.at("function").string(),
          at.at("stack").string()};
}

outcome outcome_from(const json_cursor& at) {
  const auto found = outcome_named(at.string());
  if (!found) at.fail("no outcome of a sweep");
  return *found;
}

header header_from(const json_cursor& at) {
  if (at.at("schema").unsigned_integer() != schema) at.at("schema").fail("another version of such records");
  header h;
  h.version = at.at("version").string();
  h.began = at.at("began").string();
  for (const auto& word : at.at("command").items()) h.command.push_back(word.string());
  if (at.has("libraries"))
    for (const auto& name : at.at("libraries").items()) h.libraries.push_back(name.string());
  h.depth = at.at("depth").string();
  if (at.has("ok")) h.ok = at.at("ok").string();
  h.timeout_seconds = at.at("timeout_seconds").number();
  h.shard = at.at("shard").unsigned_integer();
  h.shards = at.at("shards").unsigned_integer();
  h.sites = at.at("sites").unsigned_integer();
  return h;
}

compared_site compared_from(const json_cursor& at) {
  const auto count = [&](const char* key) {
    return site_count{at.at(key).at("calls").unsigned_integer(),
                      at.at(key).at("processes").unsigned_integer()};
  };
  return {site_from(at), count("first"), count("second")};
}

row row_from(const json_cursor& at) {
  row r;
  r.site = site_from(at);
  r.ordinal = at.at("ordinal").unsigned_integer();
  r.code = at.at("code").string();
  r.came_to = outcome_from(at.at("outcome"));
  r.ended = at.at("ended").string();
  r.acceptable = at.at("acceptable").boolean();
  r.injections = at.at("injections").unsigned_integer();
  r.seconds = at.at("seconds").number();
  if (at.has("left")) {
    const auto left = at.at("left");
    r.left.processes = static_cast<int>(left.at("processes").unsigned_integer());
    for (const auto& file : left.at("shared_memory").items()) r.left.shared_memory.push_back(file.string());
    r.left.device_allocations = left.at("device_allocations").integer();
  }
  if (at.has("repeats"))
    for (const auto& each : at.at("repeats").items()) r.repeats.push_back(outcome_from(each));
  return r;
}

json memory_rules() {
  json rules = json::array();
  std::set<std::string> named;
  for (const auto& each : injector::driver_functions()) {
    const std::string base(each.name.base());
    if (change_of_allocations(each.name.text) != 0 && named.insert(base).second)
      rules.push_back({{"function", base}, {"log", true}});
  }
  return rules;
}

}  // namespace

run_log read_log(const fs::path& log) {
  run_log seen;
  struct of_site {
    call_site site;
    std::map<std::uint64_t, std::uint64_t> calls;  // by process
  };
  std::vector<of_site> all;
  std::map<site_key, std::size_t> place;
  std::ifstream in(log);
  for (std::string text; std::getline(in, text);) {
    try {
      const json_cursor line{parse_json(log.string(), text)};
      const std::string event = line.at("event").string();
      if (event == "began") ++seen.programs;
      if (event == "injected") ++seen.injections;
      if (event != "call") continue;
      const std::string function = line.at("function").string();
      if (line.at("result").string() == "CUDA_SUCCESS")
        seen.device_allocations += change_of_allocations(function);
      if (!line.has("stack")) continue;
      const call_site site{line.at("caller").string(), line.has("offset") ? line.at("offset").string() : "",
                           function, line.at("stack").string()};
      const auto [at, is_new] = place.try_emplace(key_of(site), all.size());
      if (is_new) all.push_back({site, {}});
      ++all[at->second].calls[line.at("pid").unsigned_integer()];
      seen.order.push_back(at->second);
    } catch (const input_error&) {
      ++seen.unread;
    }
  }
  for (const of_site& each : all) {
    site_count count{0, each.calls.size()};
    for (const auto& [process, calls] : each.calls) count.calls = std::max(count.calls, calls);
    seen.sites.push_back({each.site, count});
  }
  return seen;
}

std::string rules_that_log_all(const std::vector<std::string>& libraries) {
  const auto of = [](const std::string& glob) {
    return json{{"function", glob}, {"log", true}, {"stack", true}};
  };
  if (libraries.empty()) return json{{"rules", json::array({of("*")})}}.dump();
  json rules = memory_rules();
  for (const std::string& name : libraries)
    if (const auto* library = injector::library_named(name))
      rules.push_back(of(std::string(library->prefix) + "*"));
  return json{{"rules", rules}}.dump();
}

std::string rules_that_log_memory() {
  return json{{"rules", memory_rules()}}.dump();
}

std::vector<compared_site> compare(const std::vector<counted_site>& first,
                                   const std::vector<counted_site>& second) {
  std::vector<compared_site> all;
  std::map<site_key, std::size_t> place;
  for (const counted_site& each : first) {
    place[key_of(each.site)] = all.size();
    all.push_back({each.site, each.count, {}});
  }
  for (const counted_site& each : second) {
    const auto [at, is_new] = place.try_emplace(key_of(each.site), all.size());
    if (is_new) all.push_back({each.site, {}, {}});
    all[at->second].second = each.count;
  }
  return all;
}

std::string why_left_alone(const call_site& site) {
  return is_known(site.function) ? "" : "the cuda.h that cufault was built with does not have the function";
}

std::vector<std::string> codes_of(std::string_view function) {
  if (const auto* of = injector::library_of(function)) return codes_of_library(*of, function);
  std::vector<std::string> codes;
  const injector::function_name name(function);
  for (std::string& code : sweeping::codes_for(function))
    if (injector::can_return(name, *injector::driver_code(code))) codes.push_back(std::move(code));
  if (!codes.empty()) return codes;
  for (const auto& each : injector::driver_functions()) {
    if (each.name.base() != name.base()) continue;
    std::istringstream documented(each.codes);
    for (int code = 0; documented >> code;)
      if (code != 0 && injector::can_return(name, code))
        return {without_prefix(injector::driver_code_name(code))};
  }
  return codes;
}

std::vector<planned_call> plan_thin(const std::vector<compared_site>& sites) {
  std::vector<planned_call> calls;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const auto codes = codes_of(sites[i].site.function);
    if (is_swept(sites[i]) && !codes.empty()) calls.push_back({i, 1, codes.front()});
  }
  order_by_novelty(calls, sites);
  return calls;
}

std::vector<planned_call> plan_every(const std::vector<compared_site>& sites) {
  std::vector<planned_call> calls;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    if (!is_swept(sites[i])) continue;
    for (std::uint64_t ordinal = 1; ordinal <= sites[i].first.calls; ++ordinal)
      for (const std::string& code : codes_of(sites[i].site.function)) calls.push_back({i, ordinal, code});
  }
  order_by_novelty(calls, sites);
  return calls;
}

std::vector<std::vector<planned_call>> plan_groups(const std::vector<compared_site>& sites) {
  std::vector<planned_call> leaders;  // of groups, for their order
  std::map<site_key, std::vector<planned_call>> groups;
  const auto group_of = [&](std::size_t site) {
    return site_key{sites[site].site.function, sites[site].site.library};
  };
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const auto codes = codes_of(sites[i].site.function);
    if (!is_swept(sites[i]) || codes.empty()) continue;
    auto& group = groups[group_of(i)];
    if (group.empty()) leaders.push_back({i, 1, codes.front()});
    for (std::uint64_t ordinal = 1; ordinal <= sites[i].first.calls; ++ordinal)
      group.push_back({i, ordinal, codes.front()});
  }
  order_by_novelty(leaders, sites);
  std::vector<std::vector<planned_call>> all;
  for (const planned_call& each : leaders) all.push_back(std::move(groups[group_of(each.site)]));
  return all;
}

std::string fail_text(const call_site& site, std::uint64_t ordinal, const std::string& code) {
  return fmt::format("{}@{}:{}={}", site.function, site.stack, ordinal, code);
}

std::string_view name_of(outcome o) {
  return names.at(static_cast<std::size_t>(o));
}

std::optional<outcome> outcome_named(std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return {};
  return static_cast<outcome>(found - names.begin());
}

bool is_acceptable(outcome o) {
  return o == outcome::reported || o == outcome::swallowed || o == outcome::not_reached;
}

bool wants_repeating(outcome o) {
  return !is_acceptable(o);
}

clean_runs agreed(const run_seen& first, const run_seen& second) {
  clean_runs clean;
  clean.output = first.process.stdout_text;
  clean.errors = first.process.stderr_text;
  clean.same_output = first.process.stdout_text == second.process.stdout_text;
  clean.same_errors = first.process.stderr_text == second.process.stderr_text;
  // Lines that either of them prints are no news.
  if (!clean.same_output) clean.output += "\n" + second.process.stdout_text;
  if (!clean.same_errors) clean.errors += "\n" + second.process.stderr_text;
  clean.processes = std::max(first.process.stragglers, second.process.stragglers);
  clean.shared_memory = std::max(first.shared_memory.size(), second.shared_memory.size());
  clean.device_allocations = std::max(first.log.device_allocations, second.log.device_allocations);
  clean.milliseconds = std::max(first.process.milliseconds, second.process.milliseconds);
  return clean;
}

bool row::is_repeatable() const {
  return std::all_of(repeats.begin(), repeats.end(), [&](outcome each) { return each == came_to; });
}

row judged(const call_site& site, const planned_call& call, const run_seen& seen, const clean_runs& clean) {
  row r;
  r.site = site;
  r.ordinal = call.ordinal;
  r.code = call.code;
  r.ended = words_of_end(seen.process);
  r.injections = seen.log.injections;
  r.seconds = seen.process.milliseconds / 1000;
  // Of a process that was killed the rest had to be killed, too.
  const bool by_itself = seen.process.how == ending::exited;
  if (by_itself) r.left.processes = std::max(0, seen.process.stragglers - clean.processes);
  if (seen.shared_memory.size() > clean.shared_memory) r.left.shared_memory = seen.shared_memory;
  // A release that was made to fail released nothing, and nobody could help it.
  const std::int64_t not_released =
      change_of_allocations(site.function) < 0 ? static_cast<std::int64_t>(r.injections) : 0;
  if (by_itself && !releases(site.function))
    r.left.device_allocations =
        std::max<std::int64_t>(0, seen.log.device_allocations - clean.device_allocations - not_released);
  r.came_to = outcome_of(r, seen, clean);
  r.acceptable = is_acceptable(r.came_to);
  return r;
}

bool same_result(const row& a, const row& b) {
  return a.came_to == b.came_to && a.ended == b.ended && a.acceptable == b.acceptable;
}

std::string quoted(const std::vector<std::string>& command) {
  constexpr std::string_view plain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
  std::string text;
  for (const std::string& word : command) {
    if (!text.empty()) text += ' ';
    if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) {
      text += word;
      continue;
    }
    text += '\'';
    for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += '\'';
  }
  return text;
}

std::string line_of(const header& h) {
  json value{{"line", "sweep"}, {"schema", schema}, {"version", h.version}, {"began", h.began}};
  value["command"] = h.command;
  if (!h.libraries.empty()) value["libraries"] = h.libraries;
  value["depth"] = h.depth;
  if (!h.ok.empty()) value["ok"] = h.ok;
  value["timeout_seconds"] = h.timeout_seconds;
  value["shard"] = h.shard;
  value["shards"] = h.shards;
  value["sites"] = h.sites;
  value["clean"] = {
      {"seconds", h.clean.milliseconds / 1000},      {"same_output", h.clean.same_output},
      {"same_errors", h.clean.same_errors},          {"processes_left", h.clean.processes},
      {"shared_memory_left", h.clean.shared_memory}, {"device_allocations_left", h.clean.device_allocations}};
  return line(value);
}

std::string line_of(const compared_site& s) {
  json value{{"line", "site"}};
  add_site(value, s.site);
  const auto count = [](const site_count& c) { return json{{"calls", c.calls}, {"processes", c.processes}}; };
  value["first"] = count(s.first);
  value["second"] = count(s.second);
  value["stable"] = s.is_stable();
  if (const auto why = why_left_alone(s.site); !why.empty()) value["left_alone"] = why;
  return line(value);
}

std::string line_of(const row& r, const std::vector<std::string>& command) {
  json value{{"line", "row"}};
  add_site(value, r.site);
  value["ordinal"] = r.ordinal;
  value["code"] = r.code;
  value["outcome"] = name_of(r.came_to);
  value["ended"] = r.ended;
  value["acceptable"] = r.acceptable;
  value["injections"] = r.injections;
  value["seconds"] = r.seconds;
  if (r.left != left_behind{})
    value["left"] = {{"processes", r.left.processes},
                     {"shared_memory", r.left.shared_memory},
                     {"device_allocations", r.left.device_allocations}};
  if (!r.repeats.empty()) {
    value["repeats"] = json::array();
    for (const outcome each : r.repeats) value["repeats"].push_back(name_of(each));
    value["repeatable"] = r.is_repeatable();
  }
  value["again"] = "cufault inject --fail " + r.name() + " -- " + quoted(command);
  return line(value);
}

std::string line_of(const group_result& g) {
  return line({{"line", "group"},
               {"function", g.function},
               {"library", g.library},
               {"code", g.code},
               {"outcome", name_of(g.came_to)},
               {"calls", g.calls}});
}

std::string line_of(const totals& t) {
  return line({{"line", "end"},
               {"rows", t.rows},
               {"findings", t.findings},
               {"not_reached", t.not_reached},
               {"left_out", t.left_out},
               {"interrupted", t.interrupted},
               {"exit_code", t.exit_code}});
}

row read_row(std::string_view text) {
  return row_from(json_cursor{parse_json("row", text)});
}

earlier_record read_record(const fs::path& file) {
  const std::string text = read_text(file);
  earlier_record found;
  std::set<std::string> rows;
  int number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = text.find('\n', at);
    if (end == std::string::npos) break;
    const json_cursor line{parse_json(file.string(), std::string_view(text).substr(at, end - at), ++number)};
    const std::string kind = line.at("line").string();
    if ((number == 1) != (kind == "sweep")) line.fail("a record of a sweep begins with one line \"sweep\"");
    if (kind == "sweep") found.head = header_from(line);
    if (kind == "site") found.sites.push_back(compared_from(line));
    if (kind == "row") {
      found.rows.push_back(row_from(line));
      // Behind a line "end" come only rows that were left: a sweep that goes on runs no row again.
      if (!rows.insert(found.rows.back().name()).second)
        line.fail(fmt::format(
            "the row {} is there twice: two sweeps wrote this record; begin it anew with --record",
            one_line(found.rows.back().name())));
    }
    if (kind == "group") found.groups.push_back(text.substr(at, end + 1 - at));
    at = found.bytes = end + 1;
  }
  if (number == 0) throw input_error(file.string() + ": has no whole line; begin it anew with --record");
  if (found.sites.size() < found.head.sites)
    throw input_error(file.string() + ": was cut off before its first run; begin it anew with --record");
  return found;
}

}  // namespace cufault::program_sweep
