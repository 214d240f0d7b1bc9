// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/record.hpp"

#include "reports/json_input.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <limits>
#include <system_error>
#include <utility>

namespace cufault {
namespace {

[[noreturn]] void throw_errno(const std::filesystem::path& path, std::string_view doing) {
  throw std::system_error(errno, std::generic_category(), fmt::format("{}: cannot {}", path.string(), doing));
}

class descriptor {
 public:
  explicit descriptor(int fd) : fd_(fd) {}
  ~descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const auto wrote = ::write(fd, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

// A new name in a directory outlasts a power cut only once the directory is synced. Some file systems cannot
// do that, which is no reason to lose a run.
void sync_directory(const std::filesystem::path& directory) {
  const descriptor fd{::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (fd.get() >= 0) ::fsync(fd.get());
}

std::filesystem::path directory_of(const std::filesystem::path& file) {
  return file.has_parent_path() ? file.parent_path() : std::filesystem::path{"."};
}

nlohmann::json arm_json(const arm_result& arm) {
  nlohmann::json j = {{"name", arm.name},
                      {"kind", to_string(arm.kind)},
                      {"claims", arm.claims},
                      {"failures", arm.failures},
                      {"summary", arm.summary},
                      {"trials", arm.trials},
                      {"verdict", to_string(arm.judged)},
                      {"why", arm.why},
                      {"expectation", arm.expectation},
                      {"covered", arm.covered}};
  if (!arm.against.empty()) j["against"] = arm.against;
  if (!arm.races.empty()) j["races"] = arm.races;
  if (!arm.twin_of.empty()) j["twin_of"] = arm.twin_of;
  return j;
}

nlohmann::json header_json(const record& r) {
  return {{"schema", record_schema},
          {"version", r.version},
          {"commit", r.commit},
          {"dirty", r.dirty},
          {"argv", r.argv},
          {"started", r.started},
          {"mode", to_string(r.mode)},
          {"seed", r.seed},
          {"stack", r.stack.is_null() ? nlohmann::json::object() : r.stack}};
}

std::vector<std::string> strings_from(const json_cursor& at) {
  std::vector<std::string> list;
  for (const auto& item : at.items()) list.push_back(item.string());
  return list;
}

arm_result arm_from(const json_cursor& at) {
  at.only({"name", "kind", "claims", "failures", "summary", "trials", "verdict", "why", "expectation",
           "covered", "against", "races", "twin_of"});
  arm_result arm{.name = at.at("name").string(),
                 .kind = arm_kind_from(at.at("kind")),
                 .claims = strings_from(at.at("claims")),
                 .failures = strings_from(at.at("failures")),
                 .summary = at.at("summary").string(),
                 .trials = {},
                 .judged = verdict_from(at.at("verdict")),
                 .why = at.at("why").string(),
                 .expectation = at.at("expectation").string(),
                 .covered = at.at("covered").boolean()};
  if (at.has("against")) arm.against = at.at("against").string();
  if (at.has("races")) arm.races = at.at("races").string();
  if (at.has("twin_of")) arm.twin_of = at.at("twin_of").string();
  for (const auto& item : at.at("trials").items()) arm.trials.push_back(observation_from(item));
  return arm;
}

/// A name is used as a file's and looked up: of letters, digits, '.', '_' and '-', not only dots, and met once.
template <class Named>
void check_name(const json_cursor& at, const std::vector<Named>& before) {
  const auto name = at.string();
  const auto usual = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
  };
  if (name.empty() || name.front() == '.' || !std::all_of(name.begin(), name.end(), usual))
    at.fail("a name is of letters, digits, '.', '_' and '-'");
  if (std::any_of(before.begin(), before.end(), [&](const Named& n) { return n.name == name; }))
    at.fail("met twice");
}

void check_schema(const json_cursor& top) {
  const auto at = top.at("schema");
  if (const auto schema = at.integer(); schema != record_schema)
    at.fail(
        fmt::format("records of version {}, but this build reads version {} only", schema, record_schema));
}

nlohmann::json stack_from(const json_cursor& at) {
  if (at.has("keys"))
    for (const auto& key : at.at("keys").keys()) static_cast<void>(at.at("keys").at(key).string());
  return at.value();
}

run_mode mode_from(const json_cursor& at) {
  const auto text = at.string();
  if (text == "gate") return run_mode::gate;
  if (text != "observe") at.fail("expected one of observe, gate");
  return run_mode::observe;
}

record header_from(const json_cursor& top) {
  record r;
  r.version = top.at("version").string();
  r.commit = top.at("commit").string();
  r.dirty = top.at("dirty").boolean();
  r.argv = strings_from(top.at("argv"));
  r.started = top.at("started").string();
  r.mode = mode_from(top.at("mode"));
  r.seed = top.at("seed").unsigned_integer();
  r.stack = stack_from(top.at("stack"));
  return r;
}

void take_journal_line(record& r, const json_cursor& at) {
  at.only({"case", "case_summary", "arm"});
  const auto name = at.at("case").string();
  auto arm = arm_from(at.at("arm"));
  auto c = std::find_if(r.cases.begin(), r.cases.end(),
                        [&](const case_result& known) { return known.name == name; });
  if (c == r.cases.end())
    c = r.cases.insert(c, {.name = name, .summary = at.at("case_summary").string(), .arms = {}});
  const auto same = std::find_if(c->arms.begin(), c->arms.end(),
                                 [&](const arm_result& known) { return known.name == arm.name; });
  if (same == c->arms.end())
    c->arms.push_back(std::move(arm));
  else
    *same = std::move(arm);
}

}  // namespace

stack_keys keys_of(const record& r) {
  stack_keys keys;
  if (!r.stack.is_object() || !r.stack.contains("keys")) return keys;
  for (const auto& [key, value] : r.stack["keys"].items())
    if (value.is_string()) keys[key] = value.get<std::string>();
  return keys;
}

std::string stack_label(const record& r) {
  const auto keys = keys_of(r);
  std::string label;
  const auto add = [&](std::string_view what, const std::string& value) {
    if (!value.empty()) label += fmt::format("{}{}{}", label.empty() ? "" : ", ", what, value);
  };
  const auto key = [&](const char* name) { return keys.contains(name) ? keys.at(name) : std::string{}; };
  add("cuBLAS ", key("cublas"));
  const nlohmann::json::json_pointer gpu_name{"/gpu/name"};
  if (r.stack.is_object() && r.stack.contains(gpu_name) && r.stack.at(gpu_name).is_string())
    add("", r.stack.at(gpu_name).get<std::string>());
  add("driver ", key("driver"));
  return label.empty() ? "unknown stack" : label;
}

bool observed(const arm_result& arm) {
  return !arm.trials.empty() && std::all_of(arm.trials.begin(), arm.trials.end(), comparable);
}

namespace {

void merge(case_result& into, case_result from) {
  for (arm_result& arm : from.arms) {
    const auto known = std::find_if(into.arms.begin(), into.arms.end(),
                                    [&](const arm_result& a) { return a.name == arm.name; });
    if (known == into.arms.end())
      into.arms.push_back(std::move(arm));
    else if (observed(arm) && observed(*known) && !arm.races.empty())
      known->trials.insert(known->trials.end(), arm.trials.begin(), arm.trials.end());
    else if (observed(arm) || !observed(*known))
      *known = std::move(arm);
  }
}

}  // namespace

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
    for (case_result& c : r.cases) {
      const auto same = std::find_if(known->cases.begin(), known->cases.end(),
                                     [&](const case_result& k) { return k.name == c.name; });
      if (same == known->cases.end())
        known->cases.push_back(std::move(c));
      else
        merge(*same, std::move(c));
    }
  }
  return merged;
}

nlohmann::json to_json(const record& r) {
  auto j = header_json(r);
  j["ended"] = r.ended;
  j["complete"] = r.complete;
  j["exit_code"] = r.exit_code;
  j["cases"] = nlohmann::json::array();
  for (const auto& c : r.cases) {
    auto arms = nlohmann::json::array();
    for (const auto& arm : c.arms) arms.push_back(arm_json(arm));
    j["cases"].push_back({{"name", c.name}, {"summary", c.summary}, {"arms", std::move(arms)}});
  }
  return j;
}

std::string dump_json(const nlohmann::json& value, int indent) {
  return value.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

record record_from(const json_cursor& top) {
  check_schema(top);
  top.only({"schema", "version", "commit", "dirty", "argv", "started", "ended", "mode", "seed", "stack",
            "cases", "complete", "exit_code"});
  auto r = header_from(top);
  r.ended = top.at("ended").string();
  r.complete = top.at("complete").boolean();
  const auto code = top.at("exit_code").integer();
  if (code < 0 || code > 255) top.at("exit_code").fail("an exit code is from 0 to 255");
  r.exit_code = static_cast<int>(code);
  for (const auto& at : top.at("cases").items()) {
    at.only({"name", "summary", "arms"});
    case_result c{.name = at.at("name").string(), .summary = at.at("summary").string(), .arms = {}};
    check_name(at.at("name"), r.cases);
    for (const auto& arm : at.at("arms").items()) {
      auto a = arm_from(arm);
      check_name(arm.at("name"), c.arms);
      c.arms.push_back(std::move(a));
    }
    r.cases.push_back(std::move(c));
  }
  return r;
}

record journal_from(const std::string& name, std::string_view text) {
  record r;
  int line = 0;
  while (!text.empty()) {
    ++line;
    const auto end = text.find('\n');
    const auto entry = text.substr(0, end);
    const bool cut_off = end == std::string_view::npos;
    text.remove_prefix(cut_off ? text.size() : end + 1);
    std::shared_ptr<const json_document> parsed;
    try {
      parsed = parse_json(name, entry, line);
    } catch (const input_error&) {
      if (!cut_off || line == 1) throw;
      break;  // the run was killed while it wrote this line
    }
    const json_cursor top{parsed};
    if (line == 1) {
      check_schema(top);
      top.only({"schema", "version", "commit", "dirty", "argv", "started", "mode", "seed", "stack"});
      r = header_from(top);
    } else {
      take_journal_line(r, top);
    }
  }
  if (line == 0) throw input_error(fmt::format("{}:1: an empty journal", name));
  return r;
}

record load_record(const std::filesystem::path& file) {
  if (file.extension() == ".journal") return journal_from(file.string(), read_text(file));
  return record_from(json_cursor{read_json(file)});
}

void write_whole(const std::filesystem::path& file, std::string_view text) {
  auto beside = file;
  beside += fmt::format(".tmp-{}", ::getpid());
  const auto give_up = [&](const std::filesystem::path& path, std::string_view doing) {
    const auto error = errno;
    ::unlink(beside.c_str());
    errno = error;
    throw_errno(path, doing);
  };
  {
    const descriptor fd{::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)};
    if (fd.get() < 0) throw_errno(beside, "create");
    if (!write_all(fd.get(), text)) give_up(beside, "write");
    if (::fsync(fd.get()) != 0) give_up(beside, "sync");
  }
  if (::rename(beside.c_str(), file.c_str()) != 0) give_up(file, "replace");
  sync_directory(directory_of(file));
}

record_writer::record_writer(const std::filesystem::path& directory, const std::string& stem,
                             const record& header) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) throw std::system_error(error, fmt::format("{}: cannot create", directory.string()));
  for (int attempt = 1; fd_ < 0; ++attempt) {
    const auto name = attempt == 1 ? stem : fmt::format("{}-{}", stem, attempt);
    journal_ = directory / (name + ".journal");
    final_ = directory / (name + ".json");
    // The journal is taken first and exclusively, so that of two runs only one gets a name.
    fd_ = ::open(journal_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (fd_ < 0 && errno != EEXIST) throw_errno(journal_, "create");
    if (fd_ >= 0 && std::filesystem::exists(final_)) {
      ::unlink(journal_.c_str());
      ::close(std::exchange(fd_, -1));
    }
  }
  try {
    append(header_json(header));
  } catch (...) {  // no destructor runs for a half-made writer
    ::unlink(journal_.c_str());
    ::close(fd_);
    throw;
  }
  sync_directory(directory_of(journal_));
}

record_writer::~record_writer() {
  if (fd_ >= 0) ::close(fd_);
}

void record_writer::add(const std::string& case_name, const std::string& case_summary,
                        const arm_result& arm) {
  append({{"case", case_name}, {"case_summary", case_summary}, {"arm", arm_json(arm)}});
}

std::filesystem::path record_writer::finish(const record& whole) {
  write_whole(final_, dump_json(to_json(whole), 1) + "\n");
  if (::unlink(journal_.c_str()) != 0 && errno != ENOENT) throw_errno(journal_, "remove");
  return final_;
}

void record_writer::append(const nlohmann::json& line) {
  struct stat before {};
  if (::fstat(fd_, &before) != 0) throw_errno(journal_, "read the size of");
  if (!write_all(fd_, dump_json(line) + "\n")) {
    const auto error = errno;
    // Half a line may stand only at the end: the next one would be glued to it.
    if (::ftruncate(fd_, before.st_size) != 0) ::close(std::exchange(fd_, -1));
    errno = error;
    throw_errno(journal_, "append to");
  }
  if (::fsync(fd_) != 0) throw_errno(journal_, "sync");
}

}  // namespace cufault
