// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/trial/trial.hpp"

#include "harness/model/frame.hpp"
#include "harness/system/child.hpp"
#include "harness/system/process.hpp"
#include "harness/trial/driver_log.hpp"
#include "harness/trial/observe.hpp"
#include "harness/trial/progress.hpp"
#include "kernels/product.hpp"
#include "reports/base/files.hpp"
#include "reports/base/json_fields.hpp"
#include "reports/model/api_functions.hpp"

#include <cublasLt.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <utility>
#include <vector>

namespace cufault {
namespace {

constexpr int logged_lines_kept = 100;

trial* the_trial = nullptr;  // the latest of this process
std::atomic<std::uint64_t> next_seed{0};

void apply_limits(const resource_limits& limits) {
  const auto set = [](auto resource, rlim_t value) {
    const rlimit limit{value, value};
    if (setrlimit(resource, &limit) != 0)
      throw setup_failed(fmt::format("setrlimit: {}", std::generic_category().message(errno)));
  };
  set(RLIMIT_CORE, 0);  // a core with a mapped GPU is large and tells nothing more
  if (limits.address_space_bytes) set(RLIMIT_AS, *limits.address_space_bytes);
  if (limits.open_files) set(RLIMIT_NOFILE, *limits.open_files);
}

// Records messages of cuBLASLt, which explain a refusal. cuBLAS's own log only repeats the calls, which are observed anyway, and prints
// messages about wrong arguments on stdout.
void listen_to_cublaslt() {
  constexpr int errors_and_hints = 1 | 4;
  try {
    cublasLtLoggerSetCallback([](int level, const char* function, const char* message) {
      if (the_trial != nullptr) the_trial->library_logged(level, function, message);
    });
    cublasLtLoggerSetMask(errors_and_hints);
  } catch (const missing_symbol&) {  // a pair without a logger is judged all the same
  }
}

// The library's logger may send frames from any thread.
std::mutex& channel() {
  static std::mutex mutex;
  return mutex;
}

// If the process dies while another thread sends, drop the message rather than hang.
void send_of_driver(std::string_view frame) noexcept {
  const std::unique_lock lock(channel(), std::try_to_lock);
  if (lock) write_all(report_fd, frame);
}

call_record call_of(const step_name& name, const status_record& status, std::string last_error,
                    double milliseconds) {
  for (const auto& [fact_name, value] : status.facts)
    if (const auto defect = defect_of(fact_name, value); !defect.empty()) throw setup_failed(defect);
  return {.what = {.name = name,
                   .status = status.status.empty() ? std::string(success_of(name.api)) : status.status,
                   .ok = status.ok,
                   .numbers = status.numbers,
                   .facts = status.facts},
          .last_error = std::move(last_error),
          .milliseconds = milliseconds};
}

nlohmann::ordered_json frame_of(const char* type, const nlohmann::ordered_json& members) {
  nlohmann::ordered_json frame{{"t", type}};
  frame.update(members);
  return frame;
}

}  // namespace

void skip_seeds(std::uint64_t count) {
  next_seed += count;
}

std::uint64_t fresh_seed() {
  return next_seed++;
}

trial::trial(const arm& a, trial_options options) : arm_(a), options_(std::move(options)) {
  the_trial = this;
  next_seed = options_.seed + static_cast<std::uint64_t>(options_.stage) * 1'000'000;
}

trial& trial::current() {
  if (the_trial == nullptr) throw std::logic_error("no trial is running in this process");
  return *the_trial;
}

std::int64_t trial::level() const {
  if (!options_.level) throw setup_failed("the arm has no level range, but its body asks for a level");
  return *options_.level;
}

void trial::send(const nlohmann::ordered_json& frame) {
  const std::string bytes = encode_frame(frame);
  const std::lock_guard lock(channel());
  if (!write_all(report_fd, bytes)) _exit(125);  // the parent is gone, or never existed
}

void trial::begin_call(const step_name& name) {
  if (const auto defect = defect_of(name); !defect.empty()) throw setup_failed(defect);
  in_call_ = name;
  send(frame_of("begin", call_json({.what = {.name = name}}, call_members::name)));
  if (progress_ != nullptr) {
    ++progress_->moves;  // first: wait_for_rows() reads in the reverse order
    progress_->in_call = true;
  }
  if (driver_log::hear(send_of_driver)) driver_log::begin_call();
}

void trial::end_call(const status_record& status, double milliseconds) {
  driver_log::end_call();
  if (progress_ != nullptr) {
    progress_->in_call = false;
    ++progress_->moves;
  }
  send_end(status, cudaGetErrorName(cudaPeekAtLastError()), milliseconds);
}

void trial::call_returned(const status_record& status, double milliseconds) {
  driver_log::end_call();
  send_status("returned", status, cudaGetErrorName(cudaPeekAtLastError()), milliseconds);
}

void trial::withdraw_call() {
  driver_log::end_call();
  if (progress_ != nullptr) {
    progress_->in_call = false;
    ++progress_->moves;
  }
  send({{"t", "withdraw"}});
}

void trial::send_status(const char* frame_type, const status_record& status, const char* last_error,
                        double milliseconds) {
  send(frame_of(frame_type,
                call_json(call_of(in_call_, status, last_error, milliseconds), call_members::result)));
}

void trial::send_end(const status_record& status, const char* last_error, double milliseconds) {
  send_status("end", status, last_error, milliseconds);
  if (progress_ == nullptr) return;
  progress::name& row = progress_->names[progress_->done];
  row.fill('\0');
  (status.text().empty() ? std::string(success_of(in_call_.api)) : status.text())
      .copy(row.data(), row.size() - 1);
}

void trial::apply(std::string_view text) {
  send({{"t", "apply"}, {"text", text}});
}

void trial::sample(std::string_view at) {
  std::size_t free = 0, total = 0;
  const cudaError_t left_before = cudaPeekAtLastError();
  if (cudaMemGetInfo(&free, &total) != cudaSuccess) {
    if (left_before == cudaSuccess) cudaGetLastError();  // clears the error of this check
    return;
  }
  send(frame_of("memory", write_json(memory_sample{std::string(at), free, total})));
}

void trial::measure(std::string_view name, double value, std::string_view unit) {
  if (!std::isfinite(value)) throw setup_failed(fmt::format("measured {} of {}", value, name));
  send(frame_of("measure", write_json(measurement{std::string(name), value, std::string(unit)})));
}

void trial::note(std::string_view name, std::string_view text) {
  constexpr std::size_t most = 4096;
  send(frame_of("note", write_json(cufault::note{std::string(name), std::string(text.substr(0, most))})));
}

void trial::on_library_log(log_listener listener) {
  const std::lock_guard lock(hearing_);
  listener_ = std::move(listener);
}

void trial::library_logged(int level, std::string_view function, std::string_view message) {
  if (over_) return;
  if (logged_.fetch_add(1) < logged_lines_kept)
    send({{"t", "log"}, {"line", fmt::format("{}: {}", function, message)}});
  const std::lock_guard lock(hearing_);
  if (listener_) listener_(level, message);
}

int trial::compute_capability() const {
  int major = 0, minor = 0;
  CUFAULT_REQUIRE(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device()));
  CUFAULT_REQUIRE(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device()));
  return major * 10 + minor;
}

void trial::open_context() {
  CUFAULT_REQUIRE(cudaSetDevice(options_.device));
  bool right = false;
  CUFAULT_REQUIRE(prove_context(fresh_seed(), &right));
  if (!right) throw setup_failed("our own product was wrong before anything was provoked");
  opened_ = true;
  sample(memory_sample::context_opened);
}

void trial::require_own_process(const char* what) const {
  if (options_.shares_process)
    throw setup_failed(fmt::format("the arm says that it shares a process, but {}", what));
}

std::vector<std::string> trial::words_of_next(pid_t parent) const {
  require_own_process("it goes on in a new one");
  std::vector<std::string> words;
  {
    std::ifstream line("/proc/self/cmdline", std::ios::binary);
    for (std::string word; std::getline(line, word, '\0');) words.push_back(word);
  }
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "--stage") words[i + 1] = std::to_string(options_.stage + 1);
    if (words[i] == "--parent") words[i + 1] = std::to_string(parent);
  }
  return words;
}

void trial::continue_in_its_place() {
  std::vector<std::string> words = words_of_next(getppid());
  fcntl(report_fd, F_SETFD, 0);
  close_range(report_fd + 1, ~0U, 0);
  execv("/proc/self/exe", pointers_to(words).data());
  _exit(125);
}

void trial::continue_in_new_process(const std::map<std::string, std::string>& environment) {
  const std::vector<std::string> words = words_of_next(getpid());
  for (const auto& [name, value] : environment) {
    if (value.empty()) {
      unsetenv(name.c_str());
    } else {
      setenv(name.c_str(), value.c_str(), 1);
    }
  }
  const pid_t next = start_self(words, {{report_fd, report_fd}});
  continued_ = true;
  const int status = wait_for(next);
  // End by the same signal: the parent must see a crash of the second process too.
  if (WIFSIGNALED(status)) raise(WTERMSIG(status));
  exit_code_of_next_ = WEXITSTATUS(status);
}

void trial::in_forked_child(const std::function<void()>& child) {
  in_forked_children(1, [&](int) { child(); });
}

void trial::in_forked_children(int count, const std::function<void(int)>& child) {
  require_own_process("it forks");
  std::vector<pid_t> forked;
  for (int i = 0; i < count; ++i) {
    forked.push_back(fork_child([&] { tell_exceptions([&] { child(i); }); }));
    skip_seeds(1'000);  // the new process continues the sequence of seeds
  }
  for (const pid_t one : forked) {
    const int status = wait_for(one);
    if (WIFSIGNALED(status)) raise(WTERMSIG(status));  // its crash is ours
    if (WEXITSTATUS(status) != 0) _exit(WEXITSTATUS(status));
  }
}

void trial::swept(const step_name& operation, const status_record& status, double milliseconds,
                  const swept_calls& calls) {
  call_record row = call_of(operation, status, {}, milliseconds);
  row.swept = calls;
  send(frame_of("swept", call_json(row)));
}

std::filesystem::path trial::scratch() const {
  const char* folder = std::getenv("CUFAULT_SCRATCH");
  if (folder == nullptr || *folder == '\0')
    throw setup_failed("the trial was started without a scratch folder");
  return folder;
}

cublas_paths trial::other_libraries() {
  const char* folder = std::getenv("CUFAULT_OTHER_CUBLAS");
  if (folder == nullptr || *folder == '\0')
    throw setup_failed("the arm takes a second cuBLAS but does not say so: other_cublas");
  return {folder, folder};
}

std::string trial::probe_context() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return opened_ ? "damaged" : "none";
  bool right = false;
  const cudaError_t e = prove_context(fresh_seed(), &right);
  return e == cudaSuccess && right ? "usable" : "damaged";
}

void trial::tell_exceptions(const std::function<void()>& work) {
  const auto stop = [this](const char* how, const char* why) { send({{"t", how}, {"why", why}}); };
  try {
    work();
  } catch (const memory_moved& e) {
    stop("memory_moved", e.what());
  } catch (const not_provoked& e) {
    stop("not_provoked", e.what());
  } catch (const missing_symbol& e) {
    stop("not_provoked", e.what());
  } catch (const out_of_time& e) {
    stop("out_of_time", e.what());
  } catch (const std::exception& e) {
    stop("harness_failed", e.what());
  }
}

void trial::run_body() {
  tell_exceptions([this] {
    apply_limits(arm_.limits);
    if (!arm_.binds_itself) {
      if (bound_cublas().cublas.empty()) bind_cublas(options_.libraries);
      listen_to_cublaslt();
      if (needs_gpu()) driver_log::load_and_hear(send_of_driver);
    }
    arm_.body(*this);
  });
}

void trial::report_context() {
  // A new context for this check alone would cost as much as one for the rows.
  const bool of_rows = !opened_ && !context_of_rows_.empty();
  const auto state = [&] { return of_rows ? context_of_rows_ : probe_context(); };
  send({{"t", "context"}, {"state", arm_.needs == need::gpu ? state() : std::string("none")}});
}

void trial::report_done() {
  over_ = true;
  send({{"t", "done"}});
}

void trial::end_through_exit() {
  require_own_process("it exits");
  report_context();
  ends_through_exit_ = true;
  std::exit(0);  // the arm asked for it
}

int trial::run(const arm& a, const trial_options& options) {
  trial& t = *new trial(a, options);  // never destroyed: exit handlers may still observe
  t.run_body();
  if (t.continued_) return t.exit_code_of_next_;
  t.report_context();
  t.report_done();
  return 0;
}

void trial::after_exit_handlers() {
  if (the_trial != nullptr && the_trial->ends_through_exit_) the_trial->report_done();
}

namespace {
/// Behind every exit handler and static destructor of this program.
__attribute__((destructor)) void at_the_very_end() {
  trial::after_exit_handlers();
}
}  // namespace
}  // namespace cufault
