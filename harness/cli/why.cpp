// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// `cufault why -- COMMAND`: runs the command once, and says why it failed. What processes say of failed calls lies in a folder, a file each
// (harness/injector/watch.cpp); so does the driver's own log.
#include "harness/cli/capture.hpp"
#include "harness/cli/command_line.hpp"
#include "harness/cli/inject.hpp"
#include "harness/cli/why_answer.hpp"
#include "harness/doctor/loader.hpp"
#include "harness/injector/counts_reader.hpp"
#include "harness/system/temporary_folder.hpp"
#include "harness/system/unique_fd.hpp"
#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"
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
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fs = std::filesystem;

namespace cufault {
namespace {

constexpr std::size_t most_threads = 16;
constexpr off_t longest_driver_log = 16 << 20;

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
  return !found || std::ranges::none_of(found->elf.needed, [](const std::string& name) {
    return name.find("musl") != name.npos;
  });
}

void say(const std::string& text) {
  write_all(STDERR_FILENO, text);
}

}  // namespace

int why_command(const why_arguments& arguments, const diagnosis* checks, std::set<std::string>* libraries) {
  passed_command command;
  command.words = arguments.command;
  // A `why` inside of another one: the outer one sees all.
  if (!variable("CUFAULT_WATCH").empty()) return run_passed(command).as_of_a_shell();

  std::optional<log_folder> made;
  try {
    made.emplace();
  } catch (const usage_error& error) {
    say(fmt::format("cufault why: no log and no answer: {}; set XDG_STATE_HOME or TMPDIR\n", error.what()));
    return run_passed(command).as_of_a_shell();
  }
  log_folder& folder = *made;
  why_run run;
  run.logs = folder.path();
  run.one_of_several = !job_of_launcher().empty();
  run.began = fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::gmtime(std::time(nullptr)));
  run.command = one_line(fmt::format("{}", fmt::join(arguments.command, " ")));
  if (run.command.size() > 48) run.command = run.command.substr(0, 45) + "...";
  run.preloaded = !arguments.no_preload && can_be_preloaded(arguments.command.front());
  command.environment = watch_variables(folder.path(), folder.counts());
  const fs::path trace_log = folder.path() / "trace";
  if (run.preloaded) {
    std::vector<std::string> files{"libcufault_why.so"};
    if (arguments.verbose) {
      files.emplace_back("libcufault_host.so");
      command.environment.merge(trace_variables(trace_log, folder.counts(), allocating_functions));
    }
    command.environment["LD_PRELOAD"] = preload_with(files);
  }
  const fs::path call = folder.path() / "call";
  if (run.preloaded && !arguments.capture.empty())
    command.environment.merge(capture_variables(call, {.output = arguments.capture}));
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
  run.end = run_passed(command);
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

  if (fs::exists(call)) {
    say(captured(call, {.output = arguments.capture}));
    remove_folder(call);
  }
  const int code = run.end.as_of_a_shell();
  if (code == 0) {
    write_json_beside(arguments.json, why_json(run));
    say(fmt::format("cufault why: {} succeeded after {:.1f} s\n", run.command, run.end.seconds));
    return 0;
  }
  folder.keep();
  std::ofstream(folder.path() / "output.log") << run.end.last_output;
  std::string text;
  try {
    const why_words answer = why_answer(run, checks);
    text = answer.text;
    write_json_beside(arguments.json, answer.json);
  } catch (const std::exception& error) {
    text = fmt::format("cufault why: {} {}; no answer: {}\nFull log: {}\n", run.command, ended_text(run.end),
                       one_line(error.what()), folder.path().string());
  }
  std::ofstream(folder.path() / "answer.txt") << text;
  const std::size_t first = text.find('\n');
  say(painted(text.substr(0, first), paint::bad, terminal_of(std::cerr)) + text.substr(first));
  return code;
}

namespace {

void add_why(command_line& line) {
  const std::string example = "cufault why -- python3 train.py";
  const auto said = std::make_shared<why_arguments>();
  CLI::App* command = line.command(
      "why", "Run a command; if it fails, say which call failed, and what caused it",
      "The command runs unchanged, with what it prints. On standard error follow, where it failed, at most "
      "25 lines: its own line of code, the library call that failed, the driver call that failed inside it "
      "with the driver's words (CUDA 12.9 or newer), up to three causes, what clears the first, and the "
      "folder of the full log. Where it succeeded, one line. Several processes each have a file in the "
      "folder; the one that failed first is named.\n"
      "SIGQUIT (Ctrl-\\) prints in which calls its threads wait. The command goes on, and ignores SIGQUIT "
      "itself.\n" +
          passed_exit_codes,
      [said, example, &line] {
        said->command = command_behind(line, example);
        return why_command(*said);
      });
  add_seconds(command, "--after", said->after,
              "print in which calls threads wait when the command has run so long, as 60s; it goes on");
  command->add_flag(
      "--no-preload", said->no_preload,
      "preload nothing: the driver's own log (CUDA_LOG_FILE) alone, for containers with an older C library");
  add_named(command, "--capture", said->capture, "FILE",
            "make this .cu file of the first call of cuBLAS or cuBLASLt that fails, as cufault capture")
      ->check(new_file);
  add_json_file(command, said->json, "the answer", "why");
  command->add_flag("--verbose,-v", said->verbose,
                    "driver calls, allocations and environment look-ups, too, as cufault trace");
  add_command_behind(line, command, example);
}

const register_command why_here{"why", add_why, first(section::program_failed, 1), {needs::cuda_header}};

}  // namespace
}  // namespace cufault
