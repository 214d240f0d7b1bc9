// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/record.hpp"

#include "reports/base/files.hpp"
#include "reports/base/lines.hpp"
#include "reports/model/arm_lines.hpp"
#include "reports/model/cost.hpp"
#include "reports/model/times.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstddef>
#include <future>
#include <memory>
#include <set>
#include <system_error>
#include <utility>

namespace fs = std::filesystem;

namespace cufault {
namespace {

constexpr const char* stack_file = "stack.json";

/// `others`: characters that it may have beside letters, digits, '_' and '-'.
bool is_name(std::string_view name, std::string_view others = ".") {
  const auto usual = [&](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || others.find(static_cast<char>(c)) != others.npos;
  };
  return !name.empty() && name.front() != '.' && std::all_of(name.begin(), name.end(), usual);
}

void check_schema(const json_cursor& top) {
  if (!top.has("schema")) top.fail("\"schema\" is missing: the first line of a record has it");
  const auto at = top.at("schema");
  const auto schema = at.integer();
  if (schema > record_schema)
    at.fail(fmt::format("made by a newer cufault: schema {}, and this one reads {}; update cufault", schema,
                        record_schema));
  if (schema < record_schema)
    at.fail(fmt::format("made by an older cufault: schema {}, and this one reads {}; run it again", schema,
                        record_schema));
}

nlohmann::json stack_from(const json_cursor& at) {
  if (at.has("keys"))
    for (const auto& key : at.at("keys").keys()) static_cast<void>(at.at("keys").at(key).string());
  return at.value();
}

template <class Record, class Fields>
void describe_header(Record& r, Fields& f) {
  f.required("version", r.version);
  f.required("commit", r.commit);
  f("dirty", r.dirty);
  f("argv", r.argv);
  f.required("started", r.started);
  f("mode", r.mode, run_mode::observe);
  f("seed", r.seed);
}

nlohmann::ordered_json header_json(const record& r) {
  field_writer f;
  f.required("schema", record_schema);
  describe_header(const_cast<record&>(r), f);  // NOLINT(cppcoreguidelines-pro-type-const-cast): only read
  f.json["stack"] = r.stack.is_null() ? nlohmann::json::object() : r.stack;
  return std::move(f.json);
}

record header_from(const json_cursor& top) {
  check_schema(top);
  record r;
  field_reader f{top};
  int schema = 0;
  f.required("schema", schema);
  describe_header(r, f);
  nlohmann::json stack;
  f.required("stack", stack);
  f.finish();
  check_utc(top.at("started"));
  r.stack = stack_from(top.at("stack"));
  return r;
}

nlohmann::ordered_json end_json(const record& r) {
  return {{"ended", r.ended}, {"complete", r.complete}, {"exit_code", r.exit_code}};
}

void take_end(record& r, const json_cursor& top) {
  top.only({"ended", "complete", "exit_code"});
  r.ended = top.at("ended").string();
  if (!r.ended.empty()) check_utc(top.at("ended"));  // empty for a stack, or for a run that was killed
  r.complete = top.at("complete").boolean();
  const auto code = top.at("exit_code").integer();
  if (code < 0 || code > 255) top.at("exit_code").fail("an exit code is from 0 to 255");
  r.exit_code = static_cast<int>(code);
}

/// Takes `begin` and a text that ends at the next quote from a line. Empty where it does not begin so.
std::string_view named_first(std::string_view& line, std::string_view begin) {
  if (!line.starts_with(begin)) return {};
  const auto text = line.substr(begin.size(), line.find('"', begin.size()) - begin.size());
  line.remove_prefix(begin.size() + text.size());
  return text;
}

void check_case_name(const json_cursor& at) {
  if (!is_name(at.text())) at.fail("a name is of letters, digits, '.', '_' and '-'");
}

void take_arm(record& r, const std::string& case_name, arm_result arm, const json_cursor& at) {
  if (!is_name(arm.name, ".+")) at.at("arm").fail("a name is of letters, digits, '.', '_', '-' and '+'");
  case_result& c = case_in(r.cases, case_name);
  if (std::any_of(c.arms.begin(), c.arms.end(), [&](const arm_result& a) { return a.name == arm.name; }))
    at.at("arm").fail(fmt::format("{}/{} stands twice; leave one line", case_name, arm.name));
  c.arms.push_back(std::move(arm));
}

/// Of a line that begins as cufault writes it: otherwise it is read.
bool wanted(const arm_filter& only, std::string_view line) {
  if (!only) return true;
  const auto case_name = named_first(line, R"({"case":")"), arm = named_first(line, R"(","arm":")");
  return arm.empty() || only(case_name, arm);
}
bool wanted(const arm_filter& only, const std::string& case_name, std::string_view line) {
  if (!only) return true;
  const auto arm = named_first(line, R"({"arm":")");
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

std::string key_of(const nlohmann::json& stack, const char* name) {
  if (!stack.is_object() || !stack.contains("keys") || !stack["keys"].contains(name)) return {};
  return stack["keys"][name].is_string() ? stack["keys"][name].get<std::string>() : std::string();
}

std::string gpu_name(const nlohmann::json& stack) {
  const nlohmann::json::json_pointer at{"/gpu/name"};
  return stack.is_object() && stack.contains(at) && stack.at(at).is_string() ? stack.at(at).get<std::string>()
                                                                             : std::string();
}

std::string family_of(const std::string& case_name) {
  return case_name.substr(0, case_name.find('.'));
}

void make_directories(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw std::system_error(error, fmt::format("{}: cannot create", folder.string()));
}

/// Nobody else files in this folder while this lives.
class folder_lock {
 public:
  explicit folder_lock(const fs::path& folder)
      : fd_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (fd_.get() < 0) throw_errno(folder, "open");
    if (::flock(fd_.get(), LOCK_EX | LOCK_NB) != 0)
      throw std::system_error(
          errno, std::generic_category(),
          fmt::format("{}: another cufault writes this stack; try again when it has ended", folder.string()));
  }

 private:
  descriptor fd_;
};

}  // namespace

stack_keys keys_of(const record& r) {
  stack_keys keys;
  if (!r.stack.is_object() || !r.stack.contains("keys")) return keys;
  for (const auto& [key, value] : r.stack["keys"].items())
    if (value.is_string()) keys[key] = value.get<std::string>();
  return keys;
}

std::string stack_label(const record& r) {
  std::string label;
  const auto add = [&](std::string_view what, const std::string& value) {
    if (!value.empty()) label += fmt::format("{}{}{}", label.empty() ? "" : ", ", what, value);
  };
  add("cuBLAS ", key_of(r.stack, "cublas"));
  add("", gpu_name(r.stack));
  add("driver ", key_of(r.stack, "driver"));
  return label.empty() ? "unknown stack" : label;
}

std::string stack_folder(const nlohmann::json& stack) {
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
  if (cublas.empty() || !is_name(folder))
    throw input_error("the record does not say which cuBLAS it was made on");
  return folder;
}

case_result& case_in(std::vector<case_result>& cases, const std::string& name) {
  if (!cases.empty() && cases.back().name == name) return cases.back();  // lines of a case stand together
  const auto known =
      std::find_if(cases.begin(), cases.end(), [&](const case_result& c) { return c.name == name; });
  if (known != cases.end()) return *known;
  return cases.emplace_back(case_result{.name = name});
}

void merge(case_result& into, arm_result arm) {
  const auto known = std::find_if(into.arms.begin(), into.arms.end(),
                                  [&](const arm_result& a) { return a.name == arm.name; });
  if (known == into.arms.end()) {
    into.arms.push_back(std::move(arm));
  } else if (observed(arm) && observed(*known) && !arm.races.empty()) {
    const auto counted = [&](const run_of_trials& r) {
      return std::find(known->runs.begin(), known->runs.end(), r) != known->runs.end();
    };
    if (!arm.runs.empty() && std::all_of(arm.runs.begin(), arm.runs.end(), counted))
      return;  // the same record
    known->trials.insert(known->trials.end(), arm.trials.begin(), arm.trials.end());
    known->runs.insert(known->runs.end(), arm.runs.begin(), arm.runs.end());
  } else if ((observed(arm) || !observed(*known)) && latest_run(*known) <= latest_run(arm)) {
    *known = std::move(arm);
  }
}

std::vector<record> merged_by_stack(std::vector<record> records) {
  std::vector<record> merged;
  for (const record& r : records) {
    const auto known = std::find_if(merged.begin(), merged.end(),
                                    [&](const record& m) { return stack_label(m) == stack_label(r); });
    if (known != merged.end()) continue;
    merged.push_back(r);
    merged.back().cases.clear();
  }
  std::stable_sort(records.begin(), records.end(),
                   [](const record& a, const record& b) { return a.started < b.started; });
  for (record& r : records) {
    const auto label = stack_label(r);
    const auto known =
        std::find_if(merged.begin(), merged.end(), [&](const record& m) { return stack_label(m) == label; });
    for (case_result& c : r.cases)
      for (arm_result& arm : c.arms) merge(case_in(known->cases, c.name), std::move(arm));
  }
  return merged;
}

record record_from(const std::string& name, std::string_view text, const arm_filter& only) {
  record r;
  if (text.empty()) throw input_error(fmt::format("{}:1: an empty record", name));
  bool ended = false;
  std::size_t room = most_copied;
  each_line(text, [&](std::string_view line, int number, bool whole) {
    if (number > 1 && !wanted(only, line)) return;
    std::shared_ptr<const json_document> parsed;
    try {
      parsed = parse_json(name, line, number);
    } catch (const input_error&) {
      // Version 1 was one object over many lines.
      if (number == 1 && text.substr(0, 2) == "{\n")
        throw input_error(fmt::format(
            "{}:1: schema: made by an older cufault: schema 1, and this one reads {}; run it again", name,
            record_schema));
      if (whole || number == 1) throw;
      return;  // the run was killed while it wrote this line
    }
    const json_cursor top{parsed};
    if (number == 1) {
      r = header_from(top);
    } else if (ended) {
      top.fail("a line behind the last one");
    } else if (top.has("ended")) {
      take_end(r, top);
      ended = true;
    } else {
      case_result c = arm_from(top, room);
      check_case_name(top.at("case"));
      take_arm(r, c.name, std::move(c.arms[0]), top);
    }
  });
  for (case_result& c : r.cases)
    for (arm_result& a : c.arms)
      if (a.runs.empty())
        a.runs = {{.commit = r.commit,
                   .dirty = r.dirty,
                   .started = r.started,
                   .seed = r.seed,
                   .trials = a.trials.size()}};
  return r;
}

void add_lines(record& r, const std::string& name, std::string_view text, const arm_filter& only) {
  case_line of;
  std::size_t room = most_copied;
  const std::uint64_t memory = memory_of(r.stack);
  std::set<std::string> stated;
  for (const case_result& c : r.cases) stated.insert(c.name);  // by another file
  each_line(text, [&](std::string_view line, int number, bool /*whole*/) {
    if (!of.name.empty() && !wanted(only, of.name, line)) return;
    const json_cursor at{parse_json(name, line, number)};
    if (at.has("case")) {
      of = case_from(at);
      check_case_name(at.at("case"));
      if (!stated.insert(of.name).second)
        at.at("case").fail(fmt::format("{} stands twice; leave one line, with all arms behind it", of.name));
      return;
    }
    if (of.name.empty()) at.fail("an arm stands in front of the line of its case: {\"case\": ...}");
    arm_result arm = arm_from(at, of, room);
    if (only && !only(of.name, arm.name)) return;
    each_sample(arm, [&](memory_sample& s) { s.total_bytes = s.total_bytes == 0 ? memory : s.total_bytes; });
    take_arm(r, of.name, std::move(arm), at);
  });
}

bool is_stack_folder(const fs::path& path) {
  std::error_code none;
  return fs::exists(path / stack_file, none);
}

namespace {

/// Throws if the file is only a part of the folder of a stack: the folder is the record.
void refuse_part_of_a_stack(const fs::path& file, std::string_view text) {
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  if (text.starts_with(R"({"cost_schema")"))
    throw input_error(
        fmt::format("{}: holds costs of remedies, and is no record; use `cufault cost`", file.string()));
  if (file.filename() != stack_file && !text.starts_with(R"({"case":)")) return;
  throw input_error(fmt::format("{}: is part of the record of a stack; name {}", file.string(),
                                is_stack_folder(folder)
                                    ? fmt::format("its folder, {}", folder.string())
                                    : fmt::format("the folder that it and {} are of", stack_file)));
}

/// That is none of a stack's.
[[noreturn]] void refuse_folder(const fs::path& folder) {
  const auto inside = records_in({folder});
  if (!inside.empty() && !fs::is_directory(inside.front()))
    refuse_part_of_a_stack(inside.front(), read_text(inside.front()));
  throw input_error(fmt::format(
      "{}: is not the folder of a stack, because it has no {}; name {}", folder.string(), stack_file,
      inside.empty() ? "the record of a run (.jsonl), or the folder of a stack"
                     : fmt::format("a record in it, as {}", inside.front().string())));
}

}  // namespace

record load_record(const fs::path& file, const arm_filter& only) {
  if (!is_stack_folder(file)) {
    if (fs::is_directory(file)) refuse_folder(file);
    const std::string text = read_text(file);
    refuse_part_of_a_stack(file, text);
    return record_from(file.string(), text, only);
  }
  record r;
  const json_cursor top{read_json(file / stack_file)};
  check_schema(top);
  top.only({"schema", "stack"});
  r.stack = stack_from(top.at("stack"));
  r.complete = true;
  r.exit_code = 0;
  std::vector<fs::path> families;
  for (const auto& entry : fs::directory_iterator(file))
    if (entry.path().extension() == ".jsonl" && entry.path().filename() != cost_file)
      families.push_back(entry.path());
  std::sort(families.begin(), families.end());
  for (const fs::path& family : families) add_lines(r, family.string(), read_text(family), only);
  for (const case_result& c : r.cases)
    for (const arm_result& a : c.arms) r.started = std::max(r.started, latest_run(a));
  return r;
}

std::vector<fs::path> records_in(const std::vector<fs::path>& named) {
  std::vector<fs::path> found;
  for (const fs::path& name : named) {
    if (!fs::is_directory(name) || is_stack_folder(name)) {
      found.push_back(name);
      continue;
    }
    for (const auto& entry : fs::directory_iterator(name))
      if ((entry.path().extension() == ".jsonl" && entry.path().filename() != cost_file) ||
          is_stack_folder(entry.path()))
        found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

void each_record(const std::vector<fs::path>& named, const std::function<void(const fs::path&, record)>& take,
                 const std::function<void(const std::string&)>& bad) {
  const auto tolerant = [&](const fs::path& name, auto read) {
    try {
      read();
    } catch (const input_error& e) {
      bad(e.what());
    } catch (const std::system_error& e) {
      bad(one_line(fmt::format("{}: cannot be read: {}", name.string(), e.code().message())));
    }
  };
  std::vector<fs::path> files;
  for (const fs::path& name : named)
    tolerant(name, [&] {
      for (fs::path& file : records_in({name})) files.push_back(std::move(file));
    });
  // The next record is read while one is taken.
  const auto begin_reading = [&](std::size_t at) {
    return at < files.size()
               ? std::async(std::launch::async, [&file = files[at]] { return load_record(file); })
               : std::future<record>();
  };
  std::future<record> current = begin_reading(0);
  for (std::size_t at = 0; at < files.size(); ++at) {
    std::future<record> next = begin_reading(at + 1);
    tolerant(files[at], [&] { take(files[at], current.get()); });
    current = std::move(next);
  }
}

std::string record_text(const record& r) {
  std::string text = dump_json(header_json(r)) + "\n";
  for (const auto& c : r.cases)
    for (const auto& arm : c.arms) text += dump_json(arm_json(c.name, arm)) + "\n";
  return text + dump_json(end_json(r)) + "\n";
}

fs::path file_in_stack(const fs::path& recorded, const record& r) {
  fs::path folder = recorded / stack_folder(r.stack);
  make_directories(folder);
  const folder_lock lock(folder);
  record all;
  if (is_stack_folder(folder)) {
    all = load_record(folder);
  } else {
    all.stack = r.stack;
    const nlohmann::ordered_json file{{"schema", record_schema}, {"stack", r.stack}};
    write_whole(folder / stack_file,
                file.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  }
  const std::uint64_t memory = memory_of(all.stack);
  std::set<std::string> changed;
  for (const case_result& c : r.cases) {
    case_result& into = case_in(all.cases, c.name);
    for (const arm_result& arm : c.arms) {
      std::erase_if(into.arms, [&](const arm_result& a) { return a.name == arm.name; });
      into.arms.push_back(arm);
      for (observation& o : into.arms.back().trials) shorten(o);
    }
    changed.insert(family_of(c.name));
  }
  const auto by_name = [](const auto& a, const auto& b) { return a.name < b.name; };
  std::sort(all.cases.begin(), all.cases.end(), by_name);
  for (const std::string& family : changed) {
    std::string text;
    for (case_result& c : all.cases) {
      if (family_of(c.name) != family || c.arms.empty()) continue;
      std::sort(c.arms.begin(), c.arms.end(), by_name);
      const case_line shared = line_of(c);
      text += dump_json(case_json(shared)) + "\n";
      for (arm_result& arm : c.arms) {
        each_sample(arm,
                    [&](memory_sample& s) { s.total_bytes = s.total_bytes == memory ? 0 : s.total_bytes; });
        text += dump_json(arm_json(shared, arm)) + "\n";
      }
    }
    write_whole(folder / (family + ".jsonl"), text);
  }
  return folder;
}

record_writer::record_writer(const fs::path& directory, const std::string& stem, const record& header) {
  make_directories(directory);
  for (int attempt = 1; fd_ < 0; ++attempt) {
    file_ = directory / ((attempt == 1 ? stem : fmt::format("{}-{}", stem, attempt)) + ".jsonl");
    // Exclusively, so that of two runs only one gets a name.
    fd_ = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (fd_ < 0 && errno != EEXIST) throw_errno(file_, "create");
  }
  try {
    append(header_json(header));
  } catch (...) {  // no destructor runs for a half-made writer
    ::unlink(file_.c_str());
    ::close(fd_);
    throw;
  }
  sync_directory_of(file_);
}

record_writer::~record_writer() {
  if (fd_ >= 0) ::close(fd_);
}

void record_writer::add(const std::string& case_name, const arm_result& arm) {
  arm_result of_this_run = arm;
  of_this_run.runs.clear();  // the header says it
  append(arm_json(case_name, of_this_run));
}

fs::path record_writer::finish(const record& whole) {
  append(end_json(whole));
  return file_;
}

void record_writer::append(const nlohmann::ordered_json& line) {
  struct stat before {};
  if (::fstat(fd_, &before) != 0) throw_errno(file_, "read the size of");
  if (!write_all(fd_, dump_json(line) + "\n")) {
    const auto error = errno;
    // Half a line may stand only at the end: the next one would be glued to it.
    if (::ftruncate(fd_, before.st_size) != 0) ::close(std::exchange(fd_, -1));
    errno = error;
    throw_errno(file_, "append to");
  }
  if (::fsync(fd_) != 0) throw_errno(file_, "sync");
}

}  // namespace cufault
