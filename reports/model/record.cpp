// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/record.hpp"

#include "reports/base/files.hpp"
#include "reports/base/lines.hpp"
#include "reports/base/members.hpp"
#include "reports/model/arm_line.hpp"
#include "reports/model/cost.hpp"
#include "reports/model/record_parts.hpp"
#include "reports/model/stack_folder.hpp"
#include "reports/model/times.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <deque>
#include <future>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

namespace fs = std::filesystem;

namespace cufault {
namespace {

template <class Fields>
void describe_header(record& of, Fields& f) {
  static const record usual{};
  CUFAULT_STATED(version, commit)
  CUFAULT_OTHERS(dirty, argv, asked)
  CUFAULT_STATED(started)
  CUFAULT_OTHERS(mode, seed)
}

nlohmann::ordered_json header_json(const record& r) {
  field_writer f;
  f.required("schema", record_schema);
  describe_header(const_cast<record&>(r), f);  // only read
  f.json["stack"] = r.stack->is_null() ? nlohmann::json::object() : *r.stack;
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
  nlohmann::ordered_json end{{"ended", r.ended}, {"complete", r.complete}};
  if (r.left_out > 0) end["left_out"] = r.left_out;
  end["exit_code"] = r.exit_code;
  return end;
}

void take_end(record& r, const json_cursor& top) {
  top.only({"ended", "complete", "left_out", "exit_code"});
  r.ended = top.at("ended").string();
  if (!r.ended.empty()) check_utc(top.at("ended"));  // empty for a stack, or for a run that was killed
  r.complete = top.at("complete").boolean();
  if (const auto left_out = top.find("left_out")) {
    const auto count = left_out->integer();
    if (count < 1) left_out->fail("is absent where nothing was left out, and else at least 1");
    r.left_out = static_cast<std::uint64_t>(count);
  }
  const auto code = top.at("exit_code").integer();
  if (code < 0 || code > 255) top.at("exit_code").fail("an exit code is from 0 to 255");
  r.exit_code = static_cast<int>(code);
}

}  // namespace

stack_keys keys_of(const record& r) {
  stack_keys keys;
  if (!r.stack->is_object() || !r.stack->contains("keys")) return keys;
  for (const auto& [key, value] : (*r.stack)["keys"].items())
    if (value.is_string()) keys[key] = value.get<std::string>();
  return keys;
}

std::string stack_label(const record& r) {
  std::string label;
  const auto add = [&](std::string_view what, const std::string& value) {
    if (!value.empty()) label += fmt::format("{}{}{}", label.empty() ? "" : ", ", what, value);
  };
  add("cuBLAS ", key_of(*r.stack, "cublas"));
  add("", gpu_name(*r.stack));
  add("driver ", key_of(*r.stack, "driver"));
  return label.empty() ? "unknown stack" : label;
}

case_result& case_in(std::vector<case_result>& cases, const std::string& name) {
  if (!cases.empty() && cases.back().name == name) return cases.back();  // lines of a case stand together
  const auto known = std::ranges::find(cases, name, &case_result::name);
  if (known != cases.end()) return *known;
  return cases.emplace_back(case_result{.name = name});
}

namespace {

/// Without the trials of runs that are in `by`, too.
void leave_out_counted(arm_result& arm, const arm_result& by) {
  auto at = arm.trials.begin();
  std::erase_if(arm.runs, [&](const run_of_trials& r) {
    const auto end =
        at + std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(r.trials), arm.trials.end() - at);
    const bool counted = std::ranges::find(by.runs, r) != by.runs.end();
    at = counted ? arm.trials.erase(at, end) : end;
    return counted;
  });
}

}  // namespace

void merge_trials(case_result& into, arm_result arm) {
  const auto known = std::ranges::find(into.arms, arm.name, &arm_result::name);
  if (known == into.arms.end() || !observed(*known) || !observed(arm) || !takes_further_trials(*known) ||
      !takes_further_trials(arm))
    return merge(into, std::move(arm));
  arm_result& newer = latest_run(*known) <= latest_run(arm) ? arm : *known;
  arm_result& older = &newer == &arm ? *known : arm;
  leave_out_counted(older, newer);
  pool(newer, older);
  note_differing_trials(newer);
  if (&newer == &arm) *known = std::move(arm);
}

void merge(case_result& into, arm_result arm) {
  const auto known = std::ranges::find(into.arms, arm.name, &arm_result::name);
  if (known == into.arms.end()) {
    into.arms.push_back(std::move(arm));
  } else if (const bool is_newer = latest_run(*known) <= latest_run(arm);
             observed(arm) && observed(*known) && !(is_newer ? arm : *known).races.empty()) {
    const auto counted = [&](const run_of_trials& r) {
      return std::ranges::find(known->runs, r) != known->runs.end();
    };
    if (!arm.runs.empty() && std::ranges::all_of(arm.runs, counted)) return;  // the same record
    pool(*known, arm);
  } else if ((observed(arm) || !observed(*known)) && is_newer) {
    *known = std::move(arm);
  }
}

std::vector<record> merged_by_stack(std::vector<record> records) {
  if (records.size() < 2) return records;
  std::vector<record> merged;
  for (const record& r : records) {
    const auto known =
        std::ranges::find_if(merged, [&](const record& m) { return stack_label(m) == stack_label(r); });
    if (known != merged.end()) continue;
    merged.push_back(r);
    merged.back().cases.clear();
    merged.back().asked.clear();
  }
  std::ranges::stable_sort(records, {}, &record::started);
  for (record& r : records) {
    const auto label = stack_label(r);
    const auto known = std::ranges::find_if(merged, [&](const record& m) { return stack_label(m) == label; });
    known->asked.insert(known->asked.end(), r.asked.begin(), r.asked.end());
    for (case_result& c : r.cases) {
      case_result& into = case_in(known->cases, c.name);
      if (into.arms.empty())
        into.arms = std::move(c.arms);
      else
        for (arm_result& arm : c.arms) merge(into, std::move(arm));
    }
  }
  return merged;
}

namespace {

/// The header of a run, as its trials name it.
run_of_trials run_of(const record& r) {
  run_of_trials run{
      .commit = r.commit, .dirty = r.dirty, .started = r.started, .seed = r.seed, .version = r.version};
  run.driver = key_of(*r.stack, "driver");
  using pointer = nlohmann::json::json_pointer;
  if (const pointer log("/driver/log"); r.stack->contains(log) && (*r.stack)[log].is_string())
    run.driver_log = (*r.stack)[log];
  if (const pointer hashes("/gpu/uuid_hashes"); r.stack->contains(hashes) && (*r.stack)[hashes].is_array())
    for (const auto& hash : (*r.stack)[hashes])
      if (hash.is_string()) run.gpus.push_back(hash);
  if (const pointer files("/files"); r.stack->contains(files) && (*r.stack)[files].is_object())
    for (const auto& [library, file] : (*r.stack)[files].items())
      if (file.is_object() && file.contains("build_id") && file["build_id"].is_string())
        run.build_ids[library] = file["build_id"];
  return run;
}

}  // namespace

record record_from(const std::string& name, std::string_view text) {
  record r;
  if (text.empty()) throw input_error(fmt::format("{}:1: an empty record", name));
  bool ended = false;
  std::shared_ptr<const json_document> parsed;
  each_line(text, [&](std::string_view line, int number, bool whole) {
    try {
      parsed = parse_json(name, line, number, std::move(parsed));
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
      case_result c = arm_from(top);
      check_case_name(top.at("case"));
      take_arm(r, c.name, std::move(c.arms[0]), top.at("arm"));
    }
  });
  const run_of_trials run = run_of(r);
  for (case_result& c : r.cases)
    for (arm_result& a : c.arms)
      if (a.runs.empty()) {
        a.runs.push_back(run);
        a.runs[0].trials = a.trials.size();
      }
  return r;
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

record load_record(const fs::path& file) {
  if (is_stack_folder(file)) return load_stack(file);
  if (fs::is_directory(file)) refuse_folder(file);
  const std::string text = read_text(file);
  refuse_part_of_a_stack(file, text);
  return record_from(file.string(), text);
}

std::vector<fs::path> records_in(const std::vector<fs::path>& named) {
  std::vector<fs::path> found;
  for (const fs::path& name : named) {
    try {
      if (!fs::is_directory(name) || is_stack_folder(name)) {
        found.push_back(name);
        continue;
      }
      for (const auto& entry : fs::directory_iterator(name))
        if ((entry.path().extension() == ".jsonl" && entry.path().filename() != cost_file &&
             entry.path().filename() != release_files) ||
            is_stack_folder(entry.path()))
          found.push_back(entry.path());
    } catch (const std::system_error& error) {
      throw cannot_be_read(name, error.code());
    }
  }
  std::ranges::sort(found);
  return found;
}

struct record_reader::state {
  std::vector<fs::path> files;
  read_file read;
  bool in_threads = true;
  std::size_t begun = 0;
  std::deque<std::future<record>> reading{};
};

record_reader::record_reader(std::vector<fs::path> files, read_file read)
    : state_(std::make_unique<state>(state{std::move(files), std::move(read)})) {
  // Each thread reserves address space for its stack and its heap, far more than it uses.
  rlimit space{};
  state_->in_threads = getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur == RLIM_INFINITY;
}
record_reader::~record_reader() = default;

record record_reader::next() {
  state& s = *state_;
  // Twice as many as processors: a large file does not hold up the others. No more: each takes memory until its turn.
  constexpr unsigned fewest = 4, most = 16;
  const std::size_t ahead = std::clamp(2 * std::thread::hardware_concurrency(), fewest, most);
  for (; s.begun < s.files.size() && s.reading.size() < ahead; ++s.begun) {
    const auto begin = [&](std::launch how) {
      s.reading.push_back(std::async(how, [&s, file = s.files[s.begun]] { return s.read(file); }));
    };
    try {
      begin(s.in_threads ? std::launch::async : std::launch::deferred);
    } catch (const std::system_error&) {  // no thread can be had: when it is asked for
      begin(std::launch::deferred);
    }
  }
  std::future<record> first = std::move(s.reading.front());
  s.reading.pop_front();
  return first.get();
}

std::vector<record> load_records(const std::vector<fs::path>& named, record_reader::read_file read) {
  const std::vector<fs::path> files = records_in(named);
  record_reader reader(files, std::move(read));
  std::vector<record> loaded;
  for (std::size_t i = 0; i < files.size(); ++i) loaded.push_back(reader.next());
  return loaded;
}

void each_record(const std::vector<fs::path>& named, const std::function<void(const fs::path&, record)>& take,
                 const std::function<void(const std::string&)>& bad) {
  const auto tolerant = [&](const fs::path& name, auto read) {
    try {
      read();
    } catch (const input_error& e) {
      bad(e.what());
    } catch (const std::system_error& e) {
      bad(cannot_be_read(name, e.code()).what());
    }
  };
  std::vector<fs::path> files;
  for (const fs::path& name : named)
    tolerant(name, [&] {
      for (fs::path& file : records_in({name})) files.push_back(std::move(file));
    });
  record_reader reader(files);
  for (const fs::path& file : files) tolerant(file, [&] { take(file, reader.next()); });
}

std::string record_text(const record& r) {
  std::string text = dump_json(header_json(r)) + "\n";
  for (const auto& c : r.cases)
    for (const auto& arm : c.arms) text += dump_json(arm_json(c.name, arm)) + "\n";
  return text + dump_json(end_json(r)) + "\n";
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
    add(dump_json(header_json(header)));
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

fs::path record_writer::finish(const record& whole) {
  add(dump_json(end_json(whole)));
  return file_;
}

void record_writer::add(std::string_view line) {
  struct stat before {};
  if (::fstat(fd_, &before) != 0) throw_errno(file_, "read the size of");
  if (!write_all(fd_, std::string(line) + "\n")) {
    const auto error = errno;
    // Half a line may stand only at the end: the next one would be glued to it.
    if (::ftruncate(fd_, before.st_size) != 0) ::close(std::exchange(fd_, -1));
    errno = error;
    throw_errno(file_, "append to");
  }
  if (::fsync(fd_) != 0) throw_errno(file_, "sync");
}

}  // namespace cufault
