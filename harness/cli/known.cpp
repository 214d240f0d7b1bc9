// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// known: what is known to be wrong in a version of cuBLAS on a GPU.
#include "harness/cli/command_line.hpp"
#include "harness/doctor/known_issues.hpp"
#include "harness/injector/driver_functions.hpp"
#include "harness/run/nvml.hpp"
#include "harness/run/stack.hpp"
#include "reports/base/json_input.hpp"
#include "reports/base/lines.hpp"
#include "reports/base/words.hpp"
#include "reports/evidence/distance.hpp"
#include "reports/model/api_functions.hpp"
#include "reports/printers/table.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace fs = std::filesystem;

namespace cufault {
namespace {

struct known_arguments : print_form {
  std::string cublas{}, gpu{}, text{};
  std::vector<fs::path> locks{};
  std::vector<std::string> except{}, fail_on{}, calls{};
  fs::path calls_of{};
  fs::path measure{};  ///< folder of stacks
  bool here = false, count_all = false;
};

std::string spaced(std::string text) {
  std::ranges::replace(text, '_', ' ');
  return text;
}

std::string workarounds_of(const known_entry& e) {
  std::string text;
  for (const known_workaround& w : e.workarounds)
    text += fmt::format("{}{}{}", text.empty() ? "" : " ", w.text,
                        w.arm.empty() ? "" : fmt::format(" ({})", w.arm));
  return text;
}

/// Which versions, on which GPUs.
std::string versions_of(const known_entry& e) {
  std::vector<std::string> parts;
  for (const auto& [from, before] : e.ranges) parts.push_back(fmt::format("{} to before {}", from, before));
  std::string text = fmt::format("{}", fmt::join(parts, ", "));
  if (!e.ranges.empty() && !e.architectures.empty())
    text += fmt::format(" on {}", fmt::join(e.architectures, ", "));
  for (const auto& [architecture, m] : e.measured) {
    if (!text.empty()) text += ". ";
    if (m.affected.empty()) {
      const bool in_range = std::ranges::any_of(m.not_affected, [&](const std::string& v) {
        return std::ranges::any_of(e.ranges, [&](const auto& range) {
          return version_from(range.first) <= version_from(v) && version_from(v) < version_from(range.second);
        });
      });
      text += fmt::format("{} on {} with {}{}", in_range ? "Tried" : "Not tried in this range;", architecture,
                          fmt::join(m.not_affected, ", "), in_range ? ": not seen" : " it was not seen");
    } else {
      text += fmt::format("On {}: {}", architecture, fmt::join(m.affected, ", "));
      if (!m.not_affected.empty()) text += fmt::format("; not {}", fmt::join(m.not_affected, ", "));
      text += ". " + span_text(e, architecture);
    }
  }
  return text;
}

std::string evidence_of(const known_entry& e) {
  std::set<std::string> met;
  std::vector<std::string> all;
  for (const known_evidence& one : e.evidence)
    if (met.insert(one.arm).second) all.push_back(one.arm);
  all.insert(all.end(), e.addresses.begin(), e.addresses.end());
  return fmt::format("{}", fmt::join(all, " "));
}

/// What is measured, documented or reported in blocks, and the rest in lines behind them; as Markdown a table for each harm.
void print_issues(const std::vector<found_issue>& found, bool markdown) {
  std::map<std::size_t, std::vector<table_row>> rows;  // by harm
  bool told = false;
  for (const auto& [entry, level, because] : found) {
    const known_entry& e = *entry;
    const std::string how = spaced(to_string(level)) + (e.reach == "any" ? "" : ", " + spaced(e.reach));
    rows[rank_of_harm(e.harm)].push_back({e.id, how, e.what, because, workarounds_of(e), evidence_of(e)});
    if (markdown) continue;
    if (level == known_level::not_measured) {
      if (!std::exchange(told, true)) std::cout << "Not measured with this version, which is no warning:\n";
      print_entry(std::cout, e.id + "  ", fmt::format("[{}] {}", spaced(e.harm), because));
      continue;
    }
    print_entry(
        std::cout, e.id + "  ",
        fmt::format("[{}, {}, {}]", how, spaced(e.harm), e.library == "cublas" ? "cuBLAS" : "cuBLASLt"));
    print_entry(std::cout, "  ", e.what);
    print_entry(std::cout, "  ", because);
    if (!e.workarounds.empty()) print_entry(std::cout, "  what helps: ", workarounds_of(e));
    print_entry(std::cout, "  see: ", evidence_of(e));
    std::cout << '\n';
  }
  for (const auto& [harm, of_harm] : rows) {
    if (!markdown) break;
    print_heading(std::cout, spaced(std::string(harms[harm])), 2, table_style::markdown);
    print_table(std::cout, {"issue", "known how", "what", "versions", "what helps", "evidence"}, of_harm,
                table_style::markdown);
  }
}

/// Worst harm first, each with what is known of its versions.
std::vector<found_issue> all_issues(const known_issues_list& known) {
  std::vector<found_issue> all;
  for (const known_entry& e : known.issues)
    for (const auto level : {known_level::measured, known_level::documented, known_level::reported})
      if (to_string(level) == e.sort) all.push_back({&e, level, versions_of(e)});
  std::ranges::stable_sort(
      all, {}, [](const found_issue& f) { return std::pair(rank_of_harm(f.entry->harm), f.level); });
  return all;
}

/// What is asked for: versions, each on one architecture or on any.
struct question {
  std::string cublas{}, architecture{}, where{};  ///< where: the file that pins it
};

std::string title_of(const question& q) {
  return fmt::format("cuBLAS {}{}{}", q.cublas, q.architecture.empty() ? "" : " on " + q.architecture,
                     q.where.empty() ? "" : ", pinned in " + q.where);
}

/// A lock file without comments, which begin a line or stand behind a space. Of Pipfile.lock, whose versions stand behind hashes, each package as
/// in requirements.txt.
std::string text_of_lock(const fs::path& file) {
  const std::string whole = read_text(file);
  std::string text;
  each_line(whole, [&](std::string_view line, int, bool) {
    for (auto at = line.find('#'); at != line.npos; at = line.find('#', at + 1))
      if (at == 0 || line[at - 1] == ' ' || line[at - 1] == '\t') {
        line = line.substr(0, at);
        break;
      }
    text.append(line).append("\n");
  });
  if (const auto json = nlohmann::json::parse(whole, nullptr, false);
      json.is_object() && json.contains("_meta"))
    for (const auto& section : json)
      for (const auto& [name, package] : section.items())
        if (package.is_object() && package.contains("version") && package["version"].is_string())
          text += fmt::format("{}{}\n", name, package["version"].get<std::string>());
  return text;
}

/// The versions behind these names of a package, each once. In requirements.txt, pip freeze, names of wheels, uv.lock, poetry.lock, conda-lock,
/// conda list.
std::vector<std::string> versions_behind(const std::regex& name, const std::string& text) {
  static const std::regex version(
      R"re(^["']?(?:[ \t]*={1,3}[ \t]*|[-_]|[ \t]+|["',\s]+"?version"?[ \t]*[:=][ \t]*["']?)["']?([0-9]{1,4}\.[0-9]{1,4}\.[0-9]{1,4}(?:\.[0-9]{1,4})?(?![0-9])))re");
  constexpr std::ptrdiff_t far = 80;
  std::vector<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), name), none; at != none; ++at) {
    const auto in_front = at->position() > 0
                              ? static_cast<unsigned char>(text[static_cast<std::size_t>(at->position()) - 1])
                              : ' ';
    if (std::isalnum(in_front) != 0 || in_front == '-' || in_front == '_' || in_front == '.')
      continue;  // of another package
    const std::string behind(
        at->suffix().first,
        at->suffix().first + std::min(far, std::distance(at->suffix().first, at->suffix().second)));
    std::smatch match;
    if (std::regex_search(behind, match, version, std::regex_constants::match_continuous) &&
        std::ranges::find(found, match.str(1)) == found.end())
      found.push_back(match[1]);
  }
  return found;
}

/// Of cuBLAS. Throws usage_error where there is none.
std::vector<question> pinned_in(const fs::path& file, const std::string& architecture) {
  static const std::regex cublas(
      R"((?:nvidia[-_.]+cublas(?:[-_.]+cu[0-9]{1,3})?|libcublas)(?:\[[^\]\n]{0,60}\])?(?![-_.]dev))",
      std::regex::icase);
  static const std::regex torch("torch", std::regex::icase);
  const std::string text = text_of_lock(file);
  std::vector<question> found;
  for (const std::string& version : versions_behind(cublas, text))
    found.push_back({version, architecture, file.string()});
  if (found.empty())
    throw usage_error(one_line(file.string()) +
                      (versions_behind(torch, text).empty()
                           ? ": it pins no version of nvidia-cublas, nvidia-cublas-cu12 or libcublas"
                           : ": it pins torch, and not the nvidia-cublas that torch brings; where that is "
                             "installed, pip freeze >lock.txt, and give --lock lock.txt"));
  return found;
}

/// Each version of cuBLAS that lies here.
std::vector<question> this_stack() {
  const interrupt_guard guard;
  const nvml management;
  const nlohmann::json stack = read_stack(own_path(), {}, management, guard.descriptor());
  const auto keys = stack.value("keys", nlohmann::json::object());
  std::vector<question> all;
  const auto add = [&](const std::string& version) {
    if (!version.empty() && std::ranges::find(all, version, &question::cublas) == all.end())
      all.push_back({.cublas = version, .architecture = keys.value("compute_capability", "")});
  };
  add(keys.value("cublas", ""));
  for (const auto& library : stack.value("libraries", nlohmann::json::array()))
    if (library.value("name", "").starts_with("libcublas.so")) add(library.value("version", ""));
  if (all.empty())
    throw usage_error("no cuBLAS is found here: name a version, as in cufault known --cublas 13.1.0");
  return all;
}

std::vector<question> questions_of(const known_arguments& asked, const known_issues_list& known) {
  std::string architecture;
  if (!asked.gpu.empty()) {
    architecture = architecture_of(known, asked.gpu);
    if (architecture.empty())
      throw usage_error(fmt::format(
          "--gpu {}: not known by name; give its compute capability, as in --gpu 9.0", one_line(asked.gpu)));
  }
  std::vector<question> all;
  if (asked.here) all = this_stack();
  if (!architecture.empty())
    for (question& q : all) q.architecture = architecture;
  for (const fs::path& lock : asked.locks)
    for (question& q : pinned_in(lock, architecture)) all.push_back(std::move(q));
  if (!asked.cublas.empty()) {
    if (!is_version(asked.cublas))
      throw usage_error(
          fmt::format("--cublas {}: no version of cuBLAS; one is 13.1.0", one_line(asked.cublas)));
    all.push_back({asked.cublas, architecture, {}});
  }
  if (all.empty() && !asked.gpu.empty()) throw usage_error("--gpu needs --cublas, --lock or --here");
  return all;
}

nlohmann::ordered_json json_of(const fs::path& file, const std::vector<found_issue>& found) {
  std::map<std::string, nlohmann::ordered_json> by_id;
  const auto json = nlohmann::ordered_json::parse(read_text(file));
  for (const auto& issue : json["issues"]) by_id.emplace(issue["id"].get<std::string>(), issue);
  auto all = nlohmann::ordered_json::array();
  for (const found_issue& f : found) {
    nlohmann::ordered_json issue = by_id.at(f.entry->id);
    issue["level"] = to_string(f.level);
    issue["because"] = f.because;
    all.push_back(std::move(issue));
  }
  return all;
}

/// `left_out`: issues of functions that are not called.
void print_answer(const question& q, const std::vector<found_issue>& found, const known_issues_list& known,
                  std::size_t left_out, bool markdown) {
  std::string more = left_out == 0 ? "" : fmt::format("; {} of other functions left out", left_out);
  if (!any_measured(known, q.cublas, q.architecture)) more += "; nothing was measured with it";
  if (found.empty()) {
    print_entry(std::cout, title_of(q) + ": ",
                (left_out == 0 ? "nothing is known" : "nothing is known of these functions") + more);
    return;
  }
  std::map<known_level, std::size_t> counts;
  for (const found_issue& f : found) ++counts[f.level];
  std::vector<std::string> parts;
  for (const auto& [level, count] : counts)
    parts.push_back(fmt::format("{} {}", count, spaced(to_string(level))));
  print_entry(
      std::cout, markdown ? "# " : "",
      fmt::format("{}: {}: {}{}", title_of(q), plural(found.size(), "issue"), fmt::join(parts, ", "), more));
  std::cout << '\n';
  print_issues(found, markdown);
}

/// In its name, its calls or what it says, in any case of letters.
bool names(const known_entry& e, const std::string& text) {
  std::string all = e.id + " " + e.what;
  for (const std::string& call : e.calls) all += " " + call;
  return std::search(all.begin(), all.end(), text.begin(), text.end(), [](unsigned char a, unsigned char b) {
           return std::tolower(a) == std::tolower(b);
         }) != all.end();
}

/// Functions without version and _64: "cublasSgemm" of "cublasSgemm_v2_64".
std::set<std::string> functions_called(const known_arguments& asked) {
  std::set<std::string> all;
  std::vector<std::string_view> names;
  for (const api_function& each : api_functions) names.push_back(each.name);
  for (const std::string& call : asked.calls) {
    const auto& name = *all.emplace(injector::without_suffix(call)).first;
    if (library_of(name).empty())
      throw usage_error(
          fmt::format("--calls {}: no function of cuBLAS{}", one_line(call), did_you_mean(name, names)));
  }
  if (asked.calls_of.empty()) return all;
  const json_cursor trace{read_json(asked.calls_of)};
  std::vector<std::string> libraries;
  if (const auto named = trace.find("libraries"))
    for (const json_cursor& one : named->items()) libraries.push_back(one.string());
  bool any = false;
  for (const auto& [library, functions] : trace.at("calls").members())
    for (const auto& [function, times] : functions.members())
      any |= all.emplace(injector::without_suffix(function)).first->starts_with("cublas");
  for (const char* needed : {"cublas", "cublasLt"})
    if (!any || std::ranges::find(libraries, needed) == libraries.end())
      throw usage_error(
          fmt::format("--calls-of {}: it does not have the calls of cuBLAS; cufault trace --library cublas "
                      "--library cublasLt --json FILE -- COMMAND",
                      one_line(asked.calls_of.string())));
  return all;
}

bool concerns(const known_entry& e, const std::set<std::string>& called) {
  return e.calls.empty() || std::ranges::any_of(e.calls, [&](const std::string& call) {
           return called.contains(std::string(injector::without_suffix(call)));
         });
}

int show_known(const known_arguments& asked) {
  const fs::path file = known_issues_file();
  if (!asked.measure.empty()) {
    std::cout << measured_again(file, asked.measure);
    return 0;
  }
  const known_issues_list whole = load_known_issues(file);
  known_issues_list known = whole;
  std::vector<std::string> ids;
  for (const known_entry& e : known.issues) ids.push_back(e.id);
  for (const std::string& id : asked.except)
    if (std::ranges::none_of(known.issues, [&](const known_entry& e) { return e.id == id; }))
      throw usage_error(fmt::format("--except {}: no issue has this name; cufault known lists them{}",
                                    one_line(id), did_you_mean(id, ids)));
  if (!asked.text.empty()) {
    std::erase_if(known.issues, [&](const known_entry& e) { return !names(e, asked.text); });
    if (known.issues.empty())
      throw usage_error(
          fmt::format("no known issue names {0}; cufault known {1}", one_line(asked.text),
                      std::isdigit(static_cast<unsigned char>(asked.text[0])) != 0
                          ? fmt::format("--cublas {} lists those of a version", one_line(asked.text))
                          : "lists all"));
  }
  const known_issues_list of_any_call = known;
  if (!asked.calls.empty() || !asked.calls_of.empty())
    std::erase_if(known.issues,
                  [called = functions_called(asked)](const known_entry& e) { return !concerns(e, called); });
  const std::vector<question> questions = questions_of(asked, known);
  if (questions.empty()) {
    if (!asked.fail_on.empty()) throw usage_error("--fail-on needs --cublas, --lock or --here");
    if (asked.json && known.issues.size() == whole.issues.size())
      std::cout << read_text(file);
    else if (asked.json)
      throw usage_error("TEXT, --calls and --calls-of with --json need --cublas, --lock or --here");
    else if (known.issues.empty())
      std::cout << "nothing is known of these functions\n";
    else
      print_issues(all_issues(known), asked.markdown);
    return 0;
  }
  auto answers = nlohmann::ordered_json::array();
  std::vector<std::string> failing;
  std::set<std::string> not_counted;
  for (const question& q : questions) {
    std::vector<found_issue> found = issues_of(known, q.cublas, q.architecture);
    const std::size_t left_out = issues_of(of_any_call, q.cublas, q.architecture).size() - found.size();
    std::erase_if(found, [&](const found_issue& f) {
      return std::ranges::find(asked.except, f.entry->id) != asked.except.end();
    });
    for (const found_issue& f : found)
      if (f.level <= known_level::documented &&
          std::ranges::find(asked.fail_on, f.entry->harm) != asked.fail_on.end()) {
        if (f.entry->reach == "any" || asked.count_all)
          failing.push_back(f.entry->id);
        else
          not_counted.insert(f.entry->id);
      }
    if (asked.json) {
      nlohmann::ordered_json one{{"cublas", q.cublas}, {"architecture", q.architecture}};
      if (!q.where.empty()) one["pinned_in"] = q.where;
      one["any_measured"] = any_measured(whole, q.cublas, q.architecture);
      one["issues"] = json_of(file, found);
      answers.push_back(std::move(one));
    } else {
      print_answer(q, found, whole, left_out, asked.markdown);
    }
  }
  if (asked.json) print_json({{"schema", 1}, {"answers", answers}});
  std::cout << std::flush;
  if (!not_counted.empty())
    fmt::print(std::cerr,
               "cufault: not counted, {} that only a forced algorithm or a call that other releases refuse "
               "meets: {}; --count-all counts them\n",
               not_counted.size(), fmt::join(not_counted, ", "));
  if (failing.empty()) return 0;
  fmt::print(std::cerr, "cufault: {} with {}: {}\n", plural(failing.size(), "known issue"),
             spaced(fmt::format("{}", fmt::join(asked.fail_on, " or "))), fmt::join(failing, ", "));
  return exit_gate;
}

}  // namespace

std::vector<std::string> known_of_failure(const std::string& call, const std::string& status,
                                          const std::string& cublas, const std::string& gpu) {
  try {
    const known_issues_list known = load_known_issues(known_issues_file());
    return issues_of_failure(known, call, status, cublas, architecture_of(known, gpu));
  } catch (const input_error& error) {
    return {fmt::format("the list of known issues cannot be read: {}", error.what())};
  }
}

void add_known(command_line& line) {
  const auto asked = std::make_shared<known_arguments>();
  CLI::App* known = line.command(
      "known", "What is known to be wrong in a version of cuBLAS on a GPU, and what helps",
      "Measured: cufault saw it with that version on that architecture. Documented: NVIDIA's "
      "release notes say it.\n"
      "Reported: users say it. Not measured: the nearest version or another architecture has "
      "it; that is no warning.\n"
      "Without --here, --cublas and --lock it lists all. It needs no GPU.\n"
      "Forced algorithm: only one that is chosen by hand meets it. Refused call: only a call that other "
      "releases refuse with a status does. --fail-on counts neither.\n"
      "Exit codes: 0 also where issues are listed; 1 with --fail-on, where one of that harm is "
      "measured or documented;\n"
      "2 bad input, a lock file that pins no cuBLAS, a trace without its calls, or --here without a cuBLAS.",
      [asked] { return show_known(*asked); });
  known->add_option("TEXT", asked->text, "only issues that name this: zgemv")->check(not_empty);
  known->add_flag("--here", asked->here,
                  "of the cuBLAS and the GPU of this machine, as cufault stack finds them");
  known->add_option("--cublas", asked->cublas, "of this version of cuBLAS: 13.1.0")
      ->type_name("VERSION")
      ->check(not_empty);
  known
      ->add_option("--gpu", asked->gpu,
                   "on this GPU: its name, or its compute capability: H200, 9.0 (default: any)")
      ->type_name("GPU")
      ->check(not_empty);
  known
      ->add_option("--lock", asked->locks,
                   "of the versions that a file pins: requirements.txt, uv.lock, poetry.lock, "
                   "Pipfile.lock, conda-lock.yml, or the output of pip freeze or conda list")
      ->allow_extra_args(false)
      ->type_name("FILE")
      ->check(CLI::ExistingFile);
  known
      ->add_option("--calls", asked->calls,
                   "leave out issues that concern none of these functions: cublasLtMatmul,cublasSgemm")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("FUNCTIONS")
      ->check(not_empty);
  known
      ->add_option(
          "--calls-of", asked->calls_of,
          "likewise of the functions in a file of cufault trace --library cublas --library cublasLt --json")
      ->type_name("TRACE")
      ->check(CLI::ExistingFile);
  CLI::Option* const fail_on =
      known
          ->add_option("--fail-on", asked->fail_on,
                       "exit with 1 where an issue of this harm is measured or documented; give it again for "
                       "another harm")
          ->allow_extra_args(false)
          ->check(CLI::IsMember(std::vector<std::string>(std::begin(harms), std::end(harms))));
  known
      ->add_flag("--count-all", asked->count_all, "--fail-on counts forced algorithms and refused calls, too")
      ->needs(fail_on);
  known->add_option("--except", asked->except, "leave this issue out, by its name; give it again for another")
      ->allow_extra_args(false)
      ->type_name("ISSUE");
  add_form(known, *asked, "known-issues");
  known
      ->add_option("--measure", asked->measure,
                   "print cases/known_issues.json with the versions that the stacks in this folder show")
      ->type_name("DIR")
      ->check(CLI::ExistingDirectory);
}

const register_command known_here{"known", add_known, first(section::program_failed, 4)};

}  // namespace cufault
