// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/stack_folder.hpp"

#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"
#include "reports/base/lines.hpp"
#include "reports/model/arm_lines.hpp"
#include "reports/model/cost.hpp"
#include "reports/model/operation_calls.hpp"
#include "reports/model/record_parts.hpp"
#include "reports/model/shared_texts.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

namespace fs = std::filesystem;

namespace cufault {
namespace {

/// The arm of a line as write_families() writes it; empty for others.
std::string_view arm_of_line(std::string_view line) {
  return named_first(line, R"({"arm":")");
}

bool wanted_line(const arm_filter& only, const std::string& case_name, std::string_view line) {
  if (!only) return true;
  const auto arm = arm_of_line(line);
  return arm.empty() || only(case_name, arm);
}

/// Bytes of device memory of the stack's GPU; 0 where it has none. What samples of memory say in all goes without saying where it is this.
std::uint64_t memory_of(const nlohmann::json& stack) {
  const nlohmann::json::json_pointer at{"/gpu/memory_bytes"};
  return stack.is_object() && stack.contains(at) && stack.at(at).is_number_unsigned()
             ? stack.at(at).get<std::uint64_t>()
             : 0;
}

template <class Change>
void each_sample(arm_result& arm, Change change) {
  for (observation& o : arm.trials)
    for (memory_sample& sample : o.memory) change(sample);
}

/// As it is written: what its samples of memory say in all goes without saying.
void leave_out(arm_result& arm, std::uint64_t memory) {
  each_sample(arm, [&](memory_sample& s) { s.total_bytes = s.total_bytes == memory ? 0 : s.total_bytes; });
}

std::vector<fs::path> families_in(const fs::path& folder) {
  std::vector<fs::path> families;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".jsonl" && entry.path().filename() != cost_file)
      families.push_back(entry.path());
  std::sort(families.begin(), families.end());
  return families;
}

/// Arms that are stored as differences, with their cases, by the folder of the base.
using differing_arms = std::map<std::string, std::set<std::pair<std::string, std::string>>>;

void add_differing(differing_arms& all, const std::string& name, std::string_view text) {
  case_line of;
  each_line(text, [&](std::string_view line, int number, bool /*whole*/) {
    const bool of_case = line.find(R"("case")") != line.npos;
    if (!of_case && (of.base.empty() || line.find(R"("base_)") == line.npos)) return;
    const json_cursor at{parse_json(name, line, number)};
    if (at.has("case")) {
      of = case_from(at);
    } else if (of.base.empty()) {
      return;
    } else if (const auto several = at.find("base_arms")) {
      for (const auto& [arm, place] : several->members()) all[of.base].emplace(of.name, arm);
    } else if (at.has("base_hash") && !at.has("arms")) {
      all[of.base].emplace(of.name, at.at("arm").string());
    }
  });
}

differing_arms differing_in(const fs::path& folder) {
  differing_arms all;
  for (const fs::path& family : families_in(folder)) add_differing(all, family.string(), read_text(family));
  return all;
}

const arm_result* find_arm(const record& r, const std::string& case_name, const std::string& arm) {
  for (const case_result& c : r.cases)
    if (c.name == case_name)
      for (const arm_result& a : c.arms)
        if (a.name == arm) return &a;
  return nullptr;
}

/// Cases, or arms.
template <class Named>
void sort_by_name(std::vector<Named>& all) {
  std::sort(all.begin(), all.end(), [](const Named& a, const Named& b) { return a.name < b.name; });
}

struct base_stack {
  std::string folder;
  record all;
};

/// `may_differ`: false for a base, whose arms are stored whole. `family`: only of this one, unless it is empty.
record load(const fs::path& folder, const arm_filter& only, bool may_differ, const std::string& family = {}) {
  record r;
  const json_cursor top{read_json(folder / stack_file)};
  check_schema(top);
  top.only({"schema", "stack"});
  r.stack = stack_from(top.at("stack"));
  r.complete = true;
  r.exit_code = 0;
  const fs::path recorded = fs::canonical(folder).parent_path();
  std::map<std::string, record> bases;
  const auto load_bases = [&](const std::string& name, std::string_view text) {
    differing_arms needed;
    add_differing(needed, name, text);
    for (const auto& [base, arms] : needed) {
      if (!is_folder_name(base) || !is_stack_folder(recorded / base)) continue;  // add_lines() says so
      record& into = bases[base];
      const record found = load(
          recorded / base,
          [&, &wanted_arms = arms](std::string_view case_name, std::string_view arm) {
            return wanted_arms.contains({std::string(case_name), std::string(arm)}) &&
                   (!only || only(case_name, arm));
          },
          false, family);
      into.cases.insert(into.cases.end(), found.cases.begin(), found.cases.end());
      for (case_result& c : into.cases)
        for (arm_result& arm : c.arms) leave_out(arm, memory_of(found.stack));
    }
  };
  for (const fs::path& file : families_in(folder)) {
    if (!family.empty() && file.stem() != family) continue;
    const std::string text = read_text(file);
    if (may_differ) load_bases(file.string(), text);
    add_lines(r, file.string(), text, only,
              [&](const std::string& base, const std::string& case_name, const std::string& arm) {
                const auto found = bases.find(base);
                return found == bases.end() ? nullptr : find_arm(found->second, case_name, arm);
              });
  }
  for (case_result& c : r.cases) {
    sort_by_name(c.arms);  // of those that share a line only the first is in its place
    for (const arm_result& a : c.arms) r.started = std::max(r.started, latest_run(a));
  }
  return r;
}

/// Beside the folder, and readable by its name; what cannot be read says so when it is asked for. An alias of a folder is no other stack.
std::vector<fs::path> stacks_beside(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder.parent_path()))
    if (!entry.is_symlink() && is_folder_name(entry.path().filename().string()) &&
        is_stack_folder(entry.path()) && entry.path() != folder)
      found.push_back(entry.path());
  return found;
}

/// None where it cannot be read.
std::optional<differing_arms> readable_differing_in(const fs::path& folder) {
  try {
    return differing_in(folder);
  } catch (const input_error&) {
    return std::nullopt;
  }
}

/// Of these families. Counted in lines as write_families() writes them; nothing is checked.
std::size_t arms_stored_in(const fs::path& folder, const std::set<std::string>& families) {
  std::size_t sum = 0;
  for (const fs::path& family : families_in(folder)) {
    if (!families.contains(family.stem())) continue;
    each_line(read_text(family), [&](std::string_view line, int /*number*/, bool /*whole*/) {
      if (line.starts_with(R"({"arm":)")) ++sum;
      if (!line.starts_with(R"({"arms":{)")) return;
      const std::string_view arms = line.substr(0, line.find('}'));
      sum += static_cast<std::size_t>(std::count(arms.begin(), arms.end(), ':')) - 1;
    });
  }
  return sum;
}

std::set<std::string> families_of(const record& r) {
  std::set<std::string> families;
  for (const case_result& c : r.cases) families.insert(family_of_case(c.name));
  return families;
}

/// The base of before, otherwise of the stacks that are stored whole the one with most arms of the same families. None where no other one has
/// more than `all`.
std::optional<base_stack> base_for(const fs::path& folder, const record& all) {
  if (fs::is_symlink(folder)) return std::nullopt;  // readers look beside what it points to
  if (const auto before = differing_in(folder); !before.empty())
    return base_stack{before.begin()->first, load(folder.parent_path() / before.begin()->first, {}, false)};
  std::size_t arms = 0;
  for (const case_result& c : all.cases) arms += c.arms.size();
  const auto families = families_of(all);
  fs::path found;
  for (const fs::path& other : stacks_beside(folder)) {
    const std::size_t in_other = arms_stored_in(other, families);
    const auto differing = readable_differing_in(other);
    if (in_other <= arms || !differing || !differing->empty()) continue;
    arms = in_other;
    found = other;
  }
  if (found.empty()) return std::nullopt;
  try {
    return base_stack{found.filename(), load(found, {}, false)};
  } catch (const input_error&) {  // of a newer cufault, say
    return std::nullopt;
  }
}

/// Each file is replaced whole.
void write_families(const fs::path& folder, record& all, const std::set<std::string>& families,
                    const std::optional<base_stack>& base) {
  sort_by_name(all.cases);
  for (const std::string& family : families) {
    std::map<std::string, std::string> controls;
    std::vector<case_result*> cases;
    for (case_result& c : all.cases)
      if (family_of_case(c.name) == family && !c.arms.empty()) cases.push_back(&c);
    const operation_calls calls = calls_of_operations(cases);
    std::vector<nlohmann::ordered_json> lines;
    for (case_result* each : cases) {
      case_result& c = *each;
      sort_by_name(c.arms);
      case_line shared = line_of(c);
      std::vector<nlohmann::ordered_json> arms;
      for (arm_result& arm : c.arms) {
        leave_out(arm, memory_of(all.stack));
        const arm_result* known = base ? find_arm(base->all, c.name, arm.name) : nullptr;
        nlohmann::ordered_json line;
        if (known == nullptr) {
          line = arm_json(shared, arm);
        } else {
          arm_result from = *known;
          leave_out(from, memory_of(base->all.stack));
          line = arm_json(shared, arm, from);
          if (line.contains("base_hash")) shared.base = base->folder;
        }
        arms.push_back(with_call_sign(std::move(line), calls));
      }
      lines.push_back(case_json(shared));
      for (const nlohmann::ordered_json& line : join_equal_arms(arms))
        lines.push_back(shorter_control(line, c.name, controls));
    }
    const shared_texts texts(lines);
    std::string text;
    if (!calls.empty()) text += dump_json(operations_json(calls)) + "\n";
    if (!texts.empty()) text += dump_json(texts.line()) + "\n";
    for (nlohmann::ordered_json& line : lines) text += dump_json(texts.with_signs(std::move(line))) + "\n";
    write_whole(folder / (family + ".jsonl"), text);
  }
}

/// A stack that is stored as differences from the one that is written. It is stored whole meanwhile, so that it can be read whenever this
/// process ends.
struct differing_stack {
  explicit differing_stack(const fs::path& of)
      : folder(of), lock(of, "this stack"), all(load_stack(of, {})) {}
  fs::path folder;
  folder_lock lock;
  record all;
};

}  // namespace

std::string family_of_case(const std::string& case_name) {
  return case_name.substr(0, case_name.find('.'));
}

std::string stack_folder_name(const nlohmann::json& stack) {
  const auto cublas = key_of(stack, "cublas"), driver = key_of(stack, "driver"),
             other = key_of(stack, "other_cublas");
  std::string gpu = gpu_name(stack);
  gpu.erase(0, gpu.starts_with("NVIDIA ") ? 7 : 0);
  const auto of_framework = [&](const char* name) {
    const std::string version = key_of(stack, name);
    return version.empty() ? version : fmt::format("{}-{}", name, version);
  };
  std::string folder;
  for (const std::string& part : {gpu, driver, cublas.empty() ? "" : "cublas-" + cublas,
                                  other.empty() || other == "none" ? "" : "other-" + other,
                                  of_framework("pytorch"), of_framework("jax"), of_framework("cupy")}) {
    if (part.empty()) continue;
    folder += folder.empty() ? "" : "-";
    for (const char c : part) {
      const auto byte = static_cast<unsigned char>(c);
      folder += std::isalnum(byte) != 0 || c == '.' || c == '-' ? static_cast<char>(std::tolower(byte)) : '-';
    }
  }
  if (cublas.empty() || !is_folder_name(folder))
    throw input_error("the record does not say which cuBLAS it was made on");
  return folder;
}

bool is_stack_folder(const fs::path& path) {
  std::error_code none;
  return fs::exists(path / stack_file, none);
}

record load_stack(const fs::path& folder, const arm_filter& only) {
  return load(folder, only, true);
}

record load_family(const fs::path& folder, const std::string& family) {
  return load(folder, {}, true, family);
}

void add_lines(record& r, const std::string& name, std::string_view text, const arm_filter& only,
               const base_arms& bases) {
  case_line of;
  earlier_controls controls(name);
  std::size_t room = most_copied;
  const std::uint64_t memory = memory_of(r.stack);
  operation_calls calls;
  shared_texts texts;
  bool has_texts = false;
  std::set<std::string> stated;
  for (const case_result& c : r.cases) stated.insert(c.name);  // by another file
  const auto wanted = [&](const std::string& arm) { return !only || only(of.name, arm); };
  const auto take = [&](arm_result arm, const json_cursor& named) {
    each_sample(arm, [&](memory_sample& s) { s.total_bytes = s.total_bytes == 0 ? memory : s.total_bytes; });
    take_arm(r, of.name, std::move(arm), named);
  };
  const auto take_whole = [&](const json_cursor& at, std::string_view line) {
    if (!may_have_call_sign(line)) return take_arms(at, of, wanted, room, take);
    restore_calls(at, calls, wanted, room,
                  [&](const json_cursor& own, const auto& of_it) { take_arms(own, of, of_it, room, take); });
  };
  const auto take_differing = [&](const json_cursor& at, std::string_view line, int number) {
    const json_cursor place = at.at("base_hash");
    if (of.base.empty())
      place.fail(
          "the line of the case has no \"base\", so the difference that this line states cannot be read");
    const auto arm_name = at.at("arm").string();
    const arm_result* base = bases ? bases(of.base, of.name, arm_name) : nullptr;
    if (base == nullptr)
      place.fail(
          fmt::format("differs from {}/{} of {}, which is missing beside this folder or is itself stored "
                      "as a difference; copy both "
                      "folders from one commit",
                      of.name, arm_name, of.base));
    take_whole(json_cursor{document_of(name, whole_line(at, of, *base, room), number)}, line);
  };
  each_line(text, [&](std::string_view stored, int number, bool /*whole*/) {
    const bool is_unwanted = !of.name.empty() && !wanted_line(only, of.name, stored);
    if (is_unwanted && arm_of_line(stored) != control_arm) return;
    const bool is_of_case = !of.name.empty() || stored.starts_with(R"({"case")");
    const std::string line = is_of_case ? texts.restored(stored, name, number, room) : std::string(stored);
    if (is_unwanted) return controls.add(of, line, number);
    const json_cursor at{parse_json(name, line, number)};
    if (at.has("case")) {
      of = case_from(at);
      check_case_name(at.at("case"));
      if (!of.base.empty() && !is_folder_name(of.base))
        at.at("base").fail("the name of a folder is of letters, digits, '.', '_' and '-'");
      if (!stated.insert(of.name).second)
        at.at("case").fail(fmt::format("{} stands twice; leave one line, with all arms behind it", of.name));
      return;
    }
    if (at.has("operations")) {
      if (!of.name.empty() || !calls.empty())
        at.at("operations").fail("must be in the first line of the file, once");
      calls = operations_from(at);
      return;
    }
    if (at.has("texts")) {
      if (!of.name.empty() || std::exchange(has_texts, true))
        at.at("texts").fail("must be in front of the cases of the file, once");
      texts = shared_texts(at);
      return;
    }
    if (of.name.empty()) at.fail("an arm stands in front of the line of its case: {\"case\": ...}");
    if (at.has("as")) {
      const json_cursor named = at.at("arm");
      if (wanted(named.string())) take(controls.restore(at, of, room), named);
    }
    if (const auto arm = at.find("arm"); arm && arm->is_string() && arm->text() == control_arm)
      controls.add(of, line, number);
    if (at.has("as")) return;
    if (at.has("base_arms"))
      return each_differing_arm(at, of, wanted, room, [&](const nlohmann::ordered_json& own) {
        take_differing(json_cursor{document_of(name, own, number)}, line, number);
      });
    if (at.has("base_hash") && !at.has("arms")) return take_differing(at, line, number);
    take_whole(at, line);
  });
}

fs::path file_in_stack(const fs::path& recorded, const record& r) {
  fs::path folder = recorded / stack_folder_name(r.stack);
  make_directories(folder);
  const folder_lock lock(folder, "this stack");
  // What differs from what is looked up and rewritten by one process at a time.
  const descriptor together(::open(recorded.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (together.get() < 0 || ::flock(together.get(), LOCK_EX) != 0) throw_errno(recorded, "lock");
  record all;
  if (is_stack_folder(folder)) {
    all = load_stack(folder, {});
  } else {
    all.stack = r.stack;
    const nlohmann::ordered_json file{{"schema", record_schema}, {"stack", r.stack}};
    write_whole(folder / stack_file,
                file.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  }
  for (const case_result& c : r.cases) {
    case_result& into = case_in(all.cases, c.name);
    for (const arm_result& arm : c.arms) {
      std::erase_if(into.arms, [&](const arm_result& a) { return a.name == arm.name; });
      into.arms.push_back(arm);
      for (observation& o : into.arms.back().trials) shorten(o);
    }
  }
  std::deque<differing_stack> differing;
  for (const fs::path& other : stacks_beside(folder)) {
    const auto stored = readable_differing_in(other);
    if (stored && stored->contains(folder.filename())) differing.emplace_back(other);
  }
  for (differing_stack& f : differing) write_families(f.folder, f.all, families_of(f.all), std::nullopt);
  write_families(folder, all, families_of(r), differing.empty() ? base_for(folder, all) : std::nullopt);
  if (differing.empty()) return folder;
  const base_stack now{folder.filename(), load_stack(folder, {})};
  for (differing_stack& f : differing) write_families(f.folder, f.all, families_of(f.all), now);
  return folder;
}

}  // namespace cufault
