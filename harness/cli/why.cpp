// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// `cufault why -- COMMAND`: runs the command once, and says why it failed. What processes say of failed calls lies in a folder, a file each
// (harness/injector/watch.cpp); so does the driver's own log.
#include "harness/cli/cli.hpp"
#include "harness/cli/doctor.hpp"
#include "harness/cli/passed_through.hpp"
#include "harness/cli/traced.hpp"
#include "harness/doctor/loader.hpp"
#include "harness/injector/counts_reader.hpp"
#include "harness/system/temporary_folder.hpp"
#include "harness/system/unique_fd.hpp"
#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"
#include "reports/explain/events.hpp"
#include "reports/explain/explanation.hpp"
#include "reports/explain/text_pattern.hpp"
#include "reports/judge/cost.hpp"
#include "reports/judge/judge.hpp"
#include "reports/model/driver_message.hpp"
#include "reports/model/failures.hpp"
#include "reports/printers/table.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace fs = std::filesystem;

namespace cufault {
namespace {

constexpr std::size_t width = 100, most_lines = 25, most_threads = 16, most_measured = 3, most_cures = 4;
constexpr std::uintmax_t most_of_a_log = 1 << 20;
constexpr off_t longest_driver_log = 16 << 20;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// That a launcher gave all ranks; "" without one, where no other process can be a rank of the same run.
std::string job_of_launcher() {
  struct launcher {
    const char *job, *part, *rank;
  };
  for (const launcher& of : {launcher{"TORCHELASTIC_RUN_ID", "MASTER_PORT", "RANK"},
                             {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_PROCID"},
                             {"PMIX_NAMESPACE", "", "PMIX_RANK"},
                             {"OMPI_MCA_ess_base_jobid", "", "OMPI_COMM_WORLD_RANK"}}) {
    std::string job = variable(of.job);
    const std::string part = variable(of.part);
    if (job.empty() || variable(of.rank).empty()) continue;
    const bool slurm = std::string_view(of.rank) == "SLURM_PROCID";
    if (slurm && (part.empty() || variable("SLURM_STEP_NUM_TASKS") == "1"))
      continue;                                               // a shell in an allocation
    if (job == "none") job += fmt::format("-{}", getppid());  // torchrun's default
    job += "-" + part;
    std::replace_if(
        job.begin(), job.end(), [](unsigned char c) { return std::isalnum(c) == 0 && c != '-'; }, '_');
    return job.substr(0, 64);
  }
  return {};
}

/// Of one run. Ranks that are each started by `why` have theirs beside one another. Kept, or removed with all that is in it.
class log_folder {
 public:
  /// Throws usage_error.
  log_folder() {
    made_.emplace(make);
    path_ = made_->path();
    std::error_code why;
    fs::create_directory(counts(), why);
  }
  ~log_folder() {
    std::error_code none;
    remove_folder(made_ ? path() : counts());
    if (made_) fs::remove(path().parent_path(), none);  // of the job, where it is empty
  }
  log_folder(const log_folder&) = delete;
  log_folder& operator=(const log_folder&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }
  [[nodiscard]] fs::path counts() const { return path() / "counts"; }
  [[nodiscard]] fs::path driver_log() const { return path() / "driver.log"; }
  void keep() { made_.reset(); }  // a signal removes it no more

 private:
  static fs::path make() {
    const std::string state = variable("XDG_STATE_HOME"), temporary = variable("TMPDIR");
    const std::string job = job_of_launcher();
    fs::path beside = temporary.empty() ? "/tmp" : temporary;
    if (state.starts_with('/')) beside = fs::path(state) / "cufault";
    std::error_code none;
    if (state.starts_with('/')) fs::create_directories(beside, none);
    const fs::path shared = beside / fmt::format("cufault-why-{}-{}", getuid(), job.empty() ? "runs" : job);
    constexpr int most_tries = 100;  // another `why` may remove it meanwhile
    for (int tries = 0; tries < most_tries; ++tries) {
      struct stat made {};
      if (mkdir(shared.c_str(), 0700) != 0 && errno != EEXIST) break;
      if (lstat(shared.c_str(), &made) == 0) {
        if (!S_ISDIR(made.st_mode) || made.st_uid != getuid()) break;
        if (const auto folder = new_folder(shared / fmt::format("{}.XXXXXX", getpid()))) return *folder;
      }
      if (errno != ENOENT) break;
    }
    if (const auto own = new_folder(beside / fmt::format("cufault-why-{}.XXXXXX", getuid())))
      if (const auto folder = new_folder(*own / fmt::format("{}.XXXXXX", getpid()))) return *folder;
    throw usage_error(fmt::format("{}: {}", beside.string(), std::strerror(errno)));
  }
  static std::optional<fs::path> new_folder(std::string name) {
    if (mkdtemp(name.data()) == nullptr) return std::nullopt;
    return name;
  }
  std::optional<const signal_cleanup> made_{};
  fs::path path_{};
};

// ---- what processes said ----

/// A line of a process's file.
struct said_line {
  std::string when;  ///< "2026-11-27 22:21:32.099"; empty in the driver's own log
  std::string call;  ///< "cublasCreate_v2#12" in which it came; "-" where there was none
  std::string who;   ///< "CUDA": a message of the driver; "cublas": that call returned `text`
  std::string thread, text;
  std::string process;        ///< "rank 1, pid 123"
  bool of_other_run = false;  ///< of a rank that another `why` started
};

/// "2026-11-27 cublasCreate_v2#12 [22:21:32.099][25642][cublas][E] TEXT"
std::optional<said_line> said_line_of(const std::string& line) {
  said_line one;
  const auto day = line.find(' '), call = line.find(" [", day + 1);
  if (day != 10 || call == line.npos) return std::nullopt;
  std::vector<std::string> fields;
  std::size_t at = call + 1;
  while (fields.size() < 4 && at < line.size() && line[at] == '[') {
    const auto end = line.find(']', at);
    if (end == line.npos) return std::nullopt;
    fields.push_back(line.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  if (fields.size() != 4) return std::nullopt;
  one.when = line.substr(0, day) + " " + fields[0];
  one.call = line.substr(day + 1, call - day - 1);
  one.thread = fields[1];
  one.who = fields[2];
  one.text = at < line.size() ? line.substr(at + 1) : "";
  return one;
}

/// "rank1.pid123.log" -> "rank 1, pid 123".
std::string process_of(const fs::path& file) {
  std::string name = file.stem().string(), rank;
  if (const auto dot = name.find('.'); name.starts_with("rank") && dot != name.npos) {
    rank = "rank " + name.substr(4, dot - 4) + ", ";
    name.erase(0, dot + 1);
  }
  return rank + (name.starts_with("pid") ? "pid " + name.substr(3) : name);
}

template <class Take>
void each_line(const fs::path& file, std::uintmax_t from, const Take& take) {
  std::ifstream in(file);
  in.seekg(static_cast<std::streamoff>(from));
  std::uintmax_t read = 0;
  for (std::string line; read < most_of_a_log && std::getline(in, line);) {
    read += line.size() + 1;
    take(line);
  }
}

/// Of all processes below the folder since `began`, the earliest first; else the driver's own log. `own`: the folder of this run.
std::vector<said_line> lines_below(const fs::path& folder, const fs::path& own, const std::string& began,
                                   const fs::path& driver_log, std::uintmax_t from) {
  std::vector<said_line> all;
  std::error_code none;
  for (const auto& entry : fs::recursive_directory_iterator(folder, none)) {
    const fs::path& file = entry.path();
    if (!file.filename().string().starts_with("rank") && !file.filename().string().starts_with("pid"))
      continue;
    if (file.extension() != ".log" || !entry.is_regular_file(none)) continue;
    each_line(file, 0, [&](const std::string& line) {
      if (auto one = said_line_of(line); one && one->when >= began) {
        one->process = process_of(file);
        one->of_other_run = file.parent_path() != own;
        all.push_back(std::move(*one));
      }
    });
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.when < b.when; });
  if (std::any_of(all.begin(), all.end(), [](const auto& one) { return one.who == "CUDA"; })) return all;
  each_line(driver_log, from, [&](const std::string& line) {
    const auto read = driver_log_line_of(line);
    if (!read || read->severity != "E") return;
    const auto end = line.rfind("[E]");
    all.push_back({.when = {},
                   .call = "-",
                   .who = "CUDA",
                   .thread = std::string(read->thread),
                   .text = line.substr(end == line.npos ? 0 : std::min(end + 4, line.size())),
                   .process = "thread " + std::string(read->thread)});
  });
  return all;
}

/// What is chosen of them.
struct first_failure {
  const said_line* call = nullptr;         ///< of a library; null: none failed
  std::optional<driver_message> driver{};  ///< inside that call, or before it; without a call, the first
  std::vector<std::string> messages{};     ///< that are that one
  bool inside = false;
  const said_line* of_driver = nullptr;
};

class chooser {
 public:
  explicit chooser(const lexicon& words) {
    for (const event_pattern& e : words.events)
      if (e.role == event_role::noise)
        for (const std::string& text : e.match) harmless_.emplace_back(text);
  }

  /// `status`: of the failure that the command told; "" where it told none. `told_else`: it told something that is no failure of a GPU library.
  [[nodiscard]] first_failure choose(const std::vector<said_line>& all, const lexicon& words,
                                     const std::string& status, bool told_else) const {
    first_failure first;
    const auto is_call = [](const said_line& one) { return one.who != "CUDA"; };
    const auto status_of = [](const said_line& one) {
      constexpr std::string_view head = "returned ";
      if (!one.text.starts_with(head)) return std::string();
      return one.text.substr(head.size(), one.text.find(' ', head.size()) - head.size());
    };
    const auto tells_status = [&](const said_line& one) {
      return is_call(one) && !status.empty() && words.canonical(status_of(one)) == status;
    };
    // Calls that only ask fail in healthy programs, too.
    const auto is_question = [&](const said_line& one) {
      return is_call(one) && words.is_question(status_of(one), one.call.substr(0, one.call.find('#')));
    };
    const auto is_failure = [&](const said_line& one) { return is_call(one) && !is_question(one); };
    auto found = std::find_if(all.begin(), all.end(), tells_status);
    if (found == all.end()) found = std::find_if(all.begin(), all.end(), is_failure);
    if (found == all.end() && !told_else)
      if (const auto last = std::find_if(all.rbegin(), all.rend(), is_call); last != all.rend())
        found = last.base() - 1;
    std::set<std::tuple<std::string, std::string, std::string>> questions;
    const auto call_of = [](const said_line& one) { return std::tuple{one.process, one.thread, one.call}; };
    for (const said_line& one : all)
      if (is_question(one)) questions.insert(call_of(one));
    if (found != all.end()) {
      first.call = &*found;
      take_driver(first, all, [&](const said_line& one) { return call_of(one) == call_of(*found); });
      first.inside = first.driver.has_value();
    }
    // Work that failed before is told by the next call of any thread.
    const auto is_before = [&](const said_line& one) {
      return !questions.contains(call_of(one)) &&
             (!first.call || (one.process == first.call->process && &one < first.call));
    };
    if (!first.driver)
      take_driver(first, all, [&](const said_line& one) {
        const driver_message_parts parts = driver_message_parts_of(one.text);
        return is_before(one) &&
               !words.is_question("CUDA_ERROR_" + std::string(parts.code), std::string(parts.function));
      });
    if (!first.driver && !first.call && !told_else) take_driver(first, all, is_before);
    return first;
  }

 private:
  template <class Belongs>
  void take_driver(first_failure& first, const std::vector<said_line>& all, const Belongs& belongs) const {
    std::string reason;
    const said_line* harmless = nullptr;  // a reason, whose code follows
    first.messages.clear();
    for (const said_line& one : all) {
      if (one.who != "CUDA") continue;
      const driver_message_parts parts = driver_message_parts_of(one.text);
      const bool goes_on = harmless != nullptr && harmless->process == one.process &&
                           harmless->thread == one.thread && !parts.function.empty();
      harmless = nullptr;
      if (goes_on || !belongs(one)) continue;
      if (is_harmless(one.text)) {
        if (parts.function.empty()) harmless = &one;
        reason.clear();
        first.messages.clear();
        continue;
      }
      if (first.of_driver == nullptr) first.of_driver = &one;
      if (parts.function.empty()) {
        if (reason.empty()) first.messages = {reason = one.text};
        continue;
      }
      first.of_driver = &one;
      first.messages.push_back(one.text);
      first.driver = driver_message{.function = std::string(parts.function),
                                    .code = std::string(parts.code),
                                    .text = parts.text.empty() ? reason : std::string(parts.text)};
      return;
    }
    if (!reason.empty()) first.driver = driver_message{.function = {}, .code = {}, .text = reason};
  }
  [[nodiscard]] bool is_harmless(const std::string& text) const {
    if (text.find("CUDA_ERROR_NOT_READY") != text.npos) return true;
    return std::any_of(harmless_.begin(), harmless_.end(),
                       [&](const text_pattern& pattern) { return pattern.find(text).has_value(); });
  }
  std::vector<text_pattern> harmless_;
};

// ---- what the command printed ----

std::string_view trimmed_line(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  return text;
}

/// Of Python. Lines of ranks can be mixed: "[rank1]: Traceback (most recent call last):".
struct traceback {
  std::string rank;       ///< "rank1"; empty where its lines name none
  std::string frame;      ///< "train.py:17 in step: loss = model(x)", the innermost of the user; empty: none
  std::string exception;  ///< its first line
};

/// A package's, the standard library's, or that of a program of the environment (bin/torchrun).
bool is_frame_of_user(std::string_view file) {
  if (file.starts_with('<') || file.find("-packages/") != file.npos) return false;
  if (file.find("/lib/python3") != file.npos || file.find("/lib64/python3") != file.npos) return false;
  return file.ends_with(".py") || !fs::path(file).parent_path().string().ends_with("/bin");
}

struct printed_output {
  std::vector<traceback> tracebacks;
  std::string last_line;
};

printed_output printed_output_of(const std::string& output) {
  std::vector<std::pair<std::string, std::string>> lines;  // rank and text
  line_cutter cutter([&](const log_line& line) {
    std::string_view text = line.text, rank;
    if (const auto end = text.find("]: "); text.starts_with("[rank") && end != text.npos) {
      rank = text.substr(1, end - 1);
      text.remove_prefix(end + 3);
    }
    lines.emplace_back(rank, text);
  });
  cutter.add(output);
  cutter.end();
  printed_output found;
  std::map<std::string, std::size_t> open;  // by rank
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto& [rank, line] = lines[i];
    const std::string_view text = trimmed_line(line);
    if (text.empty()) continue;
    found.last_line = text;
    const bool begins = text == "Traceback (most recent call last):", is_frame = text.starts_with("File \"");
    if (begins || (is_frame && !open.contains(rank))) {  // the beginning of the output may be lost
      open[rank] = found.tracebacks.size();
      found.tracebacks.push_back({rank, {}, {}});
    }
    if (begins || !open.contains(rank)) continue;
    traceback& of = found.tracebacks[open[rank]];
    if (line[0] != ' ' && line[0] != '\t') {
      of.exception = text;
      open.erase(rank);
    }
    const auto name_end = text.find('"', 6), line_at = text.find(", line ");
    if (!is_frame || name_end == text.npos || line_at == text.npos) continue;
    const std::string_view file = text.substr(6, name_end - 6);
    if (!is_frame_of_user(file)) continue;
    const auto in = text.find(", in ");
    const auto number = text.substr(line_at + 7, in == text.npos ? in : in - line_at - 7);
    const auto code = std::find_if(lines.begin() + static_cast<std::ptrdiff_t>(i) + 1, lines.end(),
                                   [&of](const auto& next) { return next.first == of.rank; });
    of.frame = fmt::format("{}:{}{}: {}", file, number,
                           in == text.npos ? "" : fmt::format(" in {}", text.substr(in + 5)),
                           code == lines.end() ? "" : trimmed_line(code->second));
  }
  return found;
}

/// Of the rank that failed, if one of its lines names it, the first whose exception is a failure of a GPU library; else the last with a frame
/// of the user. Null: none.
template <class Find>
const traceback* traceback_of(const std::vector<traceback>& all, const std::string& rank, const Find& find) {
  std::vector<const traceback*> those;
  for (const traceback& each : all)
    if (!rank.empty() && each.rank == rank) those.push_back(&each);
  if (those.empty())
    for (const traceback& each : all) those.push_back(&each);
  std::string exceptions;
  for (const traceback* each : those) exceptions += each->exception + '\n';
  for (const log_event& event : find(exceptions).events)
    if (event.role == event_role::failure && event.line > 0 && event.line <= those.size())
      return those[event.line - 1];
  const auto last =
      std::find_if(those.rbegin(), those.rend(), [](const auto* t) { return !t->frame.empty(); });
  return last != those.rend() ? *last : those.empty() ? nullptr : those.back();
}

// ---- the answer ----

class answer {
 public:
  void line(const std::string& text) { lines_.push_back(one_line(text)); }
  void row(std::string_view head, const std::string& text) {
    if (!text.empty()) line(fmt::format("  {:<12} {}", head, text));
  }
  /// Lines that are too long go on in a second one where there is room for all, and are cut else. The last one stays.
  [[nodiscard]] std::string text() const {
    std::vector<std::string> shown;
    for (const std::string& each : lines_) {
      shown.push_back(each.substr(0, width));
      if (each.size() <= width) continue;
      const auto space = shown.back().rfind(' ');
      const auto at = space != std::string::npos && space > width / 2 ? space + 1 : width;
      shown.back().resize(at == width ? width : space);
      shown.push_back(std::string(15, ' ') + cut(each.substr(at), width - 15));
    }
    if (shown.size() > most_lines) {
      shown.clear();
      for (const std::string& each : lines_) shown.push_back(cut(each, width));
    }
    if (shown.size() > most_lines) shown.erase(shown.begin() + most_lines - 1, shown.end() - 1);
    return fmt::format("{}\n", fmt::join(shown, "\n"));
  }

 private:
  static std::string cut(const std::string& text, std::size_t size) {
    return text.size() > size ? text.substr(0, size - 3) + "..." : text;
  }
  std::vector<std::string> lines_;
};

std::string ended_text(const passed_end& end) {
  if (end.signal != 0) return fmt::format("ended by signal {} ({})", end.signal, strsignal(end.signal));
  return fmt::format("failed with exit code {}", end.exit_code);
}

void add_causes(answer& out, const explanation& e, const cost_notes& costs) {
  std::size_t place = 0;
  for (const ranked_cause& c : e.causes) {
    out.line(fmt::format("{}. {} ({}): {}", ++place, c.what->id, to_string(c.sure), c.what->text));
    for (const std::string& found : c.machine) out.row("this machine", found);
    if (c.next) out.row("check", fmt::format("{}: {}", c.next->text, c.next->says));
  }
  if (e.causes.empty()) return;
  const ranked_cause& c = e.causes.front();
  std::vector<std::string> cures;
  for (const tried_remedy& t : c.clears) {
    if (cures.size() == most_measured) break;
    const std::string cost = note_of(costs, "", remedy_of_arm(t.arm));
    cures.push_back(fmt::format("{} (measured on {}{}{})", t.words, plural(t.cleared, "stack"),
                                cost.empty() ? "" : "; ", cost));
  }
  for (const std::string& said : c.cures)
    if (cures.size() < most_cures) cures.push_back(said + " (not measured)");
  for (const std::string& each : cures) out.row(&each == cures.data() ? "clears 1" : "", each);
}

/// Of the process that failed first, as lines of its traceback begin: "rank1"; "" where it has none.
std::string rank_of(const first_failure& first) {
  const said_line* one = first.call != nullptr ? first.call : first.of_driver;
  if (one == nullptr || !one->process.starts_with("rank ")) return {};
  return "rank" + one->process.substr(5, one->process.find(',') - 5);
}

/// "rank 1, pid 123 failed first, of 2 processes"; "" where one process without a rank has a file.
std::string who_failed(const first_failure& first, const std::vector<said_line>& all) {
  const said_line* one = first.call != nullptr ? first.call : first.of_driver;
  if (one == nullptr) return {};
  std::set<std::string> processes;
  for (const said_line& each : all) processes.insert(each.process);
  if (processes.size() < 2 && !one->of_other_run && !one->process.starts_with("rank")) return {};
  return fmt::format("{} failed first{}", one->process,
                     processes.size() > 1 ? fmt::format(", of {}", plural(processes.size(), "process")) : "");
}

struct run_facts {
  std::string command;
  std::string began;  ///< "2026-11-27 22:21:32", in UTC
  passed_end end;
  bool loaded = true;  ///< the preloaded library, by any program
  bool preloaded = true;
  std::string ended_in;  ///< calls that were in flight when a signal ended the command
  std::uintmax_t driver_log_began = 0;
  fs::path driver_log;
};

std::string why_not_seen(const run_facts& run) {
  if (run.end.last_output.find("libcufault_why.so") != std::string::npos &&
      run.end.last_output.find("GLIBC_") != std::string::npos)
    return "the C library there is older than cufault's: run it again with --no-preload";
  if (!run.preloaded)
    return "nothing was preloaded: calls are not known, only the driver's own log (CUDA 12.9)";
  if (!run.loaded)
    return "no program loaded cufault's library (static, setuid, another C library, or no such file there): "
           "only "
           "the driver's own log (CUDA 12.9) is known";
  return {};
}

std::string answer_of(const run_facts& run, const log_folder& folder, const diagnosis* checks) {
  answer out;
  out.line(
      fmt::format("cufault why: {} {} after {:.1f} s", run.command, ended_text(run.end), run.end.seconds));
  const lexicon known = load_lexicon(explain_folder());
  event_finder finder(known);
  const auto find = [&](const std::string& text) {
    finder.add(text);
    return finder.finish();
  };
  // Ranks that are each started by `why` have their folders beside this one.
  const fs::path below = job_of_launcher().empty() ? folder.path() : folder.path().parent_path();
  const std::vector<said_line> all =
      lines_below(below, folder.path(), run.began, run.driver_log, run.driver_log_began);
  const log_findings printed = find(run.end.last_output);
  const auto told = std::find_if(printed.events.begin(), printed.events.end(),
                                 [](const log_event& e) { return e.role == event_role::failure; });
  const bool tells = told != printed.events.end();
  const printed_output words = printed_output_of(run.end.last_output);
  const first_failure first = chooser(known).choose(all, known, tells ? told->status : std::string(),
                                                    !tells && !words.tracebacks.empty());

  out.row("who", who_failed(first, all));
  const traceback* trace = traceback_of(words.tracebacks, rank_of(first), find);
  if (trace != nullptr) out.row("your line", trace->frame);
  out.row("it said", trace != nullptr && !trace->exception.empty() ? trace->exception : words.last_line);
  std::string log;
  if (first.call != nullptr) {
    const std::string name = first.call->call.substr(0, first.call->call.find('#'));
    out.row("failed call", fmt::format("{} {}", name, first.call->text));
    log = fmt::format("{}: {}\n", name, first.call->text);
  }
  if (first.driver) {
    out.row(first.inside            ? "inside it"
            : first.call != nullptr ? "before it"
                                    : "driver call",
            describe(*first.driver));
    std::string messages;
    for (const std::string& text : first.messages)
      messages += fmt::format("[00:00:00.000][{}][CUDA][E] {}\n", first.of_driver->thread, text);
    log.insert(0, messages);
  }
  out.row("ended in", run.ended_in);
  out.row("not seen", why_not_seen(run));

  const log_findings found = find(log + run.end.last_output);
  const auto says_something = [](const log_event& event) {
    return event.role != event_role::condition && event.role != event_role::noise;
  };
  const bool seen_in_calls = first.call != nullptr || first.driver;
  if (!seen_in_calls && std::none_of(found.events.begin(), found.events.end(), says_something)) {
    out.line("No failure of a GPU library was seen: neither a call that failed nor words of one.");
  } else {
    const std::vector<fs::path> recorded{default_recorded()};
    std::vector<record> records = load_records(recorded);
    for (record& r : records)
      for (case_result& c : r.cases) judge(c, {}, keys_of(r));
    const auto reports = reports_of_causes(load_failures(failures_file()), known);
    const evidence seen = evidence_in(records, known);
    const auto here = checks == nullptr ? look_at_machine(records)
                                        : looked_at_machine{.findings = findings_of_cases(*checks)};
    const explanation e =
        explain(found, {known, seen, reports, here ? here->findings : std::vector<machine_finding>()});
    if (e.causes.empty())
      out.line(e.failure || seen_in_calls ? "No cause of this failure is known."
                                          : "No failure of a GPU library was seen.");
    if (e.aside)
      out.row("other", e.aside->words + (e.aside_cause == nullptr ? "" : ": " + e.aside_cause->text));
    add_causes(out, e, measured_costs(recorded));
  }
  out.line(fmt::format("Full log: {}", folder.path().string()));
  return out.text();
}

/// Where threads wait, and since when calls in flight are the same.
class waits {
 public:
  void look(const fs::path& counts, bool names) {
    const auto now = std::chrono::steady_clock::now();
    threads_ = injector::threads_in(counts, names);
    std::map<std::pair<std::uint32_t, std::uint32_t>, seen> next;
    for (const auto& one : threads_) {
      const std::pair key{one.pid, one.thread};
      const auto before = since_.find(key);
      const bool same = before != since_.end() && before->second.begun == one.begun &&
                        before->second.depth == one.waits_in.size();
      next[key] = same ? before->second : seen{one.begun, one.waits_in.size(), now};
    }
    since_ = std::move(next);
    if (names) std::erase_if(threads_, [](const auto& one) { return !one.is_there; });
  }
  [[nodiscard]] std::string text(const std::string& when) const {
    std::string all = fmt::format("cufault why: {}: where threads wait in CUDA; the command goes on\n", when);
    std::size_t told = 0, others = 0;
    for (const auto& one : threads_) {
      if (one.waits_in.empty()) {
        ++others;
        continue;
      }
      if (++told > most_threads) continue;
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                                           since_.at({one.pid, one.thread}).since)
                                 .count();
      all += one_line(fmt::format("  pid {} thread {}: in {} for {}", one.pid, one.thread,
                                  fmt::join(one.waits_in, " > "),
                                  seconds < 1 ? "less than 1 s" : fmt::format("{:.0f} s or more", seconds))) +
             '\n';
    }
    if (told > most_threads) all += fmt::format("  and {} more\n", told - most_threads);
    if (threads_.empty())
      all += "  none: no process has made a call that is watched, or those have ended (SIGQUIT asks again)\n";
    else if (told == 0)
      all += "  none: no thread is inside a call that was watched\n";
    if (others > 0) {
      all += fmt::format("  {} not inside a call", plural(others, "thread"));
      for (const auto& one : threads_)
        if (one.waits_in.empty() && !one.last.empty()) {
          all += fmt::format("; the last of pid {} thread {}: {}", one.pid, one.thread, one.last.back());
          break;
        }
      all += '\n';
    }
    return all;
  }

 private:
  struct seen {
    std::uint32_t begun;
    std::size_t depth;
    std::chrono::steady_clock::time_point since;
  };
  std::vector<injector::watched_thread> threads_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, seen> since_;
};

/// The first and the last megabyte stay; what is between takes no room. Where the file system cannot do that, the first one stays.
void limit(const fs::path& log) {
  struct stat now {};
  if (stat(log.c_str(), &now) != 0 || now.st_blocks * 512 < longest_driver_log) return;
  const unique_fd file(open(log.c_str(), O_WRONLY | O_CLOEXEC));
  constexpr off_t kept = 1 << 20;
  if (!file ||
      fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, kept, now.st_size - 2 * kept) == 0)
    return;
  [[maybe_unused]] const int cut = ftruncate(file.get(), kept);
}

/// A program with musl would end: what is preloaded needs glibc.
bool can_be_preloaded(const std::string& program) {
  const auto found = program_of(this_machine(), program);
  return !found || std::none_of(found->elf.needed.begin(), found->elf.needed.end(),
                                [](const std::string& name) { return name.find("musl") != name.npos; });
}

void say(const std::string& text) {
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t put = write(STDERR_FILENO, rest.data(), rest.size());
    if (put < 0 && errno != EINTR) return;
    rest.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(put, 0)));
  }
}

}  // namespace

int why_command(const why_arguments& arguments, const diagnosis* checks, std::set<std::string>* libraries) {
  passed_command command;
  command.words = arguments.command;
  // A `why` inside of another one: the outer one sees all.
  if (!variable("CUFAULT_WATCH").empty()) return run_passed_through(command).as_of_a_shell();

  std::optional<log_folder> made;
  try {
    made.emplace();
  } catch (const usage_error& error) {
    say(fmt::format("cufault why: no log and no answer: {}; set XDG_STATE_HOME or TMPDIR\n", error.what()));
    return run_passed_through(command).as_of_a_shell();
  }
  log_folder& folder = *made;
  run_facts run;
  run.began = fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::gmtime(std::time(nullptr)));
  run.command = one_line(fmt::format("{}", fmt::join(arguments.command, " ")));
  if (run.command.size() > 48) run.command = run.command.substr(0, 45) + "...";
  run.preloaded = !arguments.no_preload && can_be_preloaded(arguments.command.front());
  command.environment = {{"CUFAULT_WATCH", folder.path().string()},
                         {"CUFAULT_COUNTS", folder.counts().string()}};
  const fs::path trace_log = folder.path() / "trace";
  if (run.preloaded) {
    std::vector<std::string> files{"libcufault_why.so"};
    if (arguments.verbose) {
      files.emplace_back("libcufault_host.so");
      command.environment.merge(trace_variables(trace_log, folder.counts(), allocating_functions));
    }
    command.environment["LD_PRELOAD"] = preload_with(files);
  }
  const std::string own_log = variable("CUDA_LOG_FILE");
  run.driver_log = own_log.empty() ? folder.driver_log() : fs::path(own_log);
  if (own_log.empty()) command.environment["CUDA_LOG_FILE"] = folder.driver_log().string();
  std::error_code none;
  if (const auto size = fs::file_size(run.driver_log, none); !none) run.driver_log_began = size;

  waits waiting;
  command.on_second = [&] {
    waiting.look(folder.counts(), false);
    if (own_log.empty()) limit(folder.driver_log());
  };
  if (arguments.after) command.after = std::chrono::milliseconds(std::lround(*arguments.after * 1000));
  std::vector<std::string> own_words;
  command.on_question = [&](bool asked) {
    waiting.look(folder.counts(), true);
    own_words.push_back(
        waiting.text(asked ? "SIGQUIT" : fmt::format("after {:g} s", arguments.after.value_or(0))));
    say(own_words.back());
  };
  run.end = run_passed_through(command);
  for (const std::string& words : own_words)  // of a file that was read back
    if (const auto at = run.end.last_output.find(words); at != std::string::npos)
      run.end.last_output.erase(at, words.size());
  run.loaded = fs::remove(folder.counts() / "loaded", none);
  const injector::counted counted = injector::counted_in(folder.counts());
  run.loaded |= counted.programs != 0;
  if (run.end.signal != 0)
    for (const auto& one : injector::threads_in(folder.counts(), true))
      if (one.pid == static_cast<std::uint32_t>(run.end.pid) && !one.waits_in.empty() && run.ended_in.empty())
        run.ended_in = fmt::format("{} (thread {})", fmt::join(one.waits_in, " > "), one.thread);
  if (libraries != nullptr)
    for (const auto& [library, functions] : counted.calls) libraries->insert(library);
  if (arguments.verbose && run.preloaded)
    print_trace(trace_log, folder.counts(), {}, run.end.signal, libraries);

  const int code = run.end.as_of_a_shell();
  if (code == 0) {
    say(fmt::format("cufault why: {} succeeded after {:.1f} s\n", run.command, run.end.seconds));
    return 0;
  }
  folder.keep();
  std::ofstream(folder.path() / "output.log") << run.end.last_output;
  std::string text;
  try {
    text = answer_of(run, folder, checks);
  } catch (const std::exception& error) {
    text = fmt::format("cufault why: {} {}; no answer: {}\nFull log: {}\n", run.command, ended_text(run.end),
                       one_line(error.what()), folder.path().string());
  }
  std::ofstream(folder.path() / "answer.txt") << text;
  say(text);
  return code;
}

}  // namespace cufault
