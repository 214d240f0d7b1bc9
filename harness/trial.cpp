// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/trial.hpp"

#include "harness/driver_api.hpp"
#include "harness/frame.hpp"
#include "harness/process.hpp"
#include "harness/unique_fd.hpp"
#include "kernels/product.hpp"

#include <cublasLt.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
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
#include <new>
#include <span>
#include <utility>
#include <vector>

namespace cufault {
namespace {

constexpr int logged_lines_kept = 100;

trial* the_trial = nullptr;  // one trial a process
std::atomic<std::uint64_t> next_seed{0};

std::string cublas_status_name(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_MAPPING_ERROR:
      return "CUBLAS_STATUS_MAPPING_ERROR";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    case CUBLAS_STATUS_LICENSE_ERROR:
      return "CUBLAS_STATUS_LICENSE_ERROR";
  }
  return fmt::format("CUBLAS_STATUS_{}", static_cast<int>(status));
}

void apply_limits(const resource_limits& limits) {
  const auto set = [](auto resource, rlim_t value) {
    const rlimit limit{value, value};
    if (setrlimit(resource, &limit) != 0)
      throw setup_failed(fmt::format("setrlimit: {}", std::generic_category().message(errno)));
  };
  set(RLIMIT_CORE, 0);  // a crash is an observation; a core of a process with a GPU mapped is only large
  if (limits.address_space_bytes) set(RLIMIT_AS, *limits.address_space_bytes);
  if (limits.open_files) set(RLIMIT_NOFILE, *limits.open_files);
}

// cuBLASLt says why it refuses something; cuBLAS's own log only repeats the calls, which are observed anyway,
// and what it has to say about a wrong argument it prints on stdout.
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

/// In a child, for which fork forgot it: die with the parent, also if it is gone already.
void tie_to(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(125);
}

// Frames may come from the library's logger in any thread.
std::mutex& channel() {
  static std::mutex mutex;
  return mutex;
}

void* loaded_driver_entry(const char* name) {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  void* entry = driver != nullptr ? dlsym(driver, name) : nullptr;
  if (driver != nullptr) dlclose(driver);  // the runtime keeps it loaded
  return entry;
}

}  // namespace

void* driver_entry(const char* name) {
  if (void* entry = loaded_driver_entry(name)) return entry;
  throw not_provoked(fmt::format("the driver that is loaded here has no {}", name));
}

cublasHandle_t new_handle() {
  cublasHandle_t handle = nullptr;
  require(cublasCreate(&handle));
  return handle;
}

std::uint64_t fresh_seed() {
  return next_seed++;
}

status_record record_of(cublasStatus_t status) {
  return {cublas_status_name(status), static_cast<int>(status)};
}

status_record record_of(const told_product& told) {
  status_record record = record_of(told.result);
  record.detail = told.detail;
  return record;
}

status_record record_of(cudaError_t status) {
  return {cudaGetErrorName(status), static_cast<int>(status)};
}

status_record record_of(CUresult status) {
  const char* name = nullptr;
  if (void* entry = loaded_driver_entry("cuGetErrorName"); entry != nullptr)
    reinterpret_cast<decltype(&cuGetErrorName)>(entry)(status, &name);
  return {name != nullptr ? std::string(name) : fmt::format("CUresult {}", static_cast<int>(status)),
          static_cast<int>(status)};
}

status_record record_of(const load_result& result) {
  return result.ok() ? status_record{"LOADED", 0} : status_record{"LOADER_ERROR", -1};
}

status_record record_of(const product_result& result) {
  if (result.status != CUBLAS_STATUS_SUCCESS) return record_of(result.status);
  if (result.waited != cudaSuccess) return record_of(result.waited);
  return result.right ? status_record{"RIGHT_NUMBERS", 0} : status_record{"WRONG_NUMBERS", -1};
}

trial::trial(const arm& a, trial_options options) : arm_(a), options_(std::move(options)) {
  the_trial = this;
  next_seed = options_.seed + static_cast<std::uint64_t>(options_.stage) * 1'000'000;
}

trial& trial::current() {
  if (the_trial == nullptr) throw std::logic_error("no trial is running in this process");
  return *the_trial;
}

std::int64_t trial::rung() const {
  if (!options_.rung) throw setup_failed("the arm has no ladder, but its body asks for a rung");
  return *options_.rung;
}

void trial::send(const nlohmann::json& frame) {
  const std::string bytes = encode_frame(frame);
  const std::lock_guard lock(channel());
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t n = write(report_fd, bytes.data() + sent, bytes.size() - sent);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) _exit(125);  // the parent is gone, or there never was one
    sent += static_cast<std::size_t>(n);
  }
}

/// Written by the process that runs rows, read by the one that waits for it.
struct trial::progress {
  std::atomic<std::size_t> done{0};  ///< rows that are over
  std::atomic<bool> in_call{false};
  std::atomic<bool> damaged{false};  ///< by the last row that is over
  std::atomic<rows_left> left{rows_left::nobody_knows};
  /// What each row came to, behind this.
  using name = std::array<char, 64>;
  name* names() { return reinterpret_cast<name*>(this + 1); }
};

void trial::begin_call(const char* text) {
  send({{"t", "begin"}, {"text", text}});
  if (progress_ != nullptr) progress_->in_call = true;
}

void trial::end_call(const status_record& status, double milliseconds) {
  if (progress_ != nullptr) progress_->in_call = false;
  send_end(status, cudaGetErrorName(cudaPeekAtLastError()), milliseconds);
}

void trial::send_end(const status_record& status, const char* last_error, double milliseconds) {
  nlohmann::json frame{{"t", "end"},
                       {"status", status.name},
                       {"value", status.value},
                       {"last_error", last_error},
                       {"ms", milliseconds}};
  if (!status.detail.empty()) frame["detail"] = status.detail;
  send(frame);
  if (progress_ == nullptr) return;
  progress::name& row = progress_->names()[progress_->done];
  row.fill('\0');
  status.name.copy(row.data(), row.size() - 1);
}

void trial::apply(std::string_view text) {
  send({{"t", "apply"}, {"text", text}});
}

void trial::sample(std::string_view at) {
  std::size_t free = 0, total = 0;
  const cudaError_t left_before = cudaPeekAtLastError();
  if (cudaMemGetInfo(&free, &total) != cudaSuccess) {
    if (left_before == cudaSuccess) cudaGetLastError();  // looking leaves no trace
    return;
  }
  send({{"t", "memory"}, {"at", at}, {"free", free}, {"total", total}});
}

void trial::measure(std::string_view name, double value, std::string_view unit) {
  if (!std::isfinite(value)) throw setup_failed(fmt::format("measured {} of {}", value, name));
  send({{"t", "measure"}, {"name", name}, {"value", value}, {"unit", unit}});
}

void trial::conclude(std::string_view claim, bool holds, std::string_view why) {
  find("finding", claim, holds, why);
}

void trial::foresee(std::string_view claim, bool holds, std::string_view why) {
  find("foresee", claim, holds, why);
}

void trial::find(const char* frame, std::string_view claim, bool holds, std::string_view why) {
  if (std::find(arm_.claims.begin(), arm_.claims.end(), claim) == arm_.claims.end())
    throw setup_failed(fmt::format("the arm concludes on {}, which is not among its claims", claim));
  send({{"t", frame}, {"claim", claim}, {"holds", holds}, {"why", why}});
}

void trial::hear_library_log(log_listener listener) {
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
  require(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device()));
  require(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device()));
  return major * 10 + minor;
}

void trial::open_context() {
  require(cudaSetDevice(options_.device));
  bool right = false;
  require(prove_context(fresh_seed(), &right));
  if (!right) throw setup_failed("our own product was wrong before anything was provoked");
  opened_ = true;
  sample("context opened");
}

std::size_t free_device_memory() {
  std::size_t free = 0, total = 0;
  require(cudaMemGetInfo(&free, &total));
  return free;
}

std::size_t resident_host_memory() {
  std::ifstream statm("/proc/self/statm");
  std::size_t size = 0, resident = 0;
  statm >> size >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

cublasStatus_t sgemm(cublasHandle_t handle, const product_operands& on) {
  using shape = product_shape;
  const float one = 1, zero = 0;
  return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, shape::m, shape::n, shape::k, &one, on.a, shape::lda,
                     on.b, shape::ldb, &zero, on.c, shape::ldc);
}

product_result product(cublasHandle_t handle) {
  product_result result;
  product_operands on_device;
  cudaStream_t stream = nullptr;
  cublasGetStream(handle, &stream);  // of a bad handle: none, and cublasSgemm has its say
  if ((result.waited = prepare_product(fresh_seed(), &on_device, stream)) != cudaSuccess) return result;
  result.status = sgemm(handle, on_device);
  if (result.status != CUBLAS_STATUS_SUCCESS) return result;
  if ((result.waited = cudaDeviceSynchronize()) != cudaSuccess) return result;
  product_check check;
  if ((result.waited = check_product(&check)) != cudaSuccess) return result;
  result.right = check.right();
  return result;
}

large_product::large_product(const product_extents& extents) : extents_(extents) {
  require(cudaMalloc(&block_, bytes()));
}

large_product::~large_product() {
  cudaFree(block_);
}

cublasStatus_t large_product::start(cublasHandle_t handle) {
  result_ = {};
  product_operands on_device;
  const float one = 1, zero = 0;
  const auto& [m, n, k] = extents_;
  cudaStream_t stream = nullptr;
  cublasGetStream(handle, &stream);
  result_.waited = prepare_product(extents_, block_, fresh_seed(), &on_device, stream);
  if (result_.waited == cudaSuccess)
    result_.status = cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, on_device.a, m, on_device.b,
                                 k, &zero, on_device.c, extents_.ldc());
  return result_.status;
}

product_result large_product::finish() {
  if (result_.status != CUBLAS_STATUS_SUCCESS || result_.waited != cudaSuccess) return result_;
  if ((result_.waited = cudaDeviceSynchronize()) != cudaSuccess) return result_;
  product_check check;
  if ((result_.waited = check_product(extents_, block_, &check)) != cudaSuccess) return result_;
  result_.right = check.right();
  return result_;
}

product_result large_product::multiply(cublasHandle_t handle) {
  start(handle);
  return finish();
}

cublasStatus_t create_and_multiply() {
  cublasHandle_t handle = nullptr;
  const cublasStatus_t status = observe(cublasCreate(&handle));
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  observe(product(handle));
  observe(cublasDestroy(handle));
  return status;
}

void libraries_answer(trial& /*t*/) {
  int major = 0;
  observe(cublasGetProperty(MAJOR_VERSION, &major));
  observe(cublasLtGetProperty(MAJOR_VERSION, &major));
}

void trial::continue_in_new_process(const std::map<std::string, std::string>& environment) {
  std::vector<std::string> words;
  {
    std::ifstream line("/proc/self/cmdline", std::ios::binary);
    for (std::string word; std::getline(line, word, '\0');) words.push_back(word);
  }
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "--stage") words[i + 1] = std::to_string(options_.stage + 1);
    if (words[i] == "--parent") words[i + 1] = std::to_string(getpid());
  }
  for (const auto& [name, value] : environment) {
    if (value.empty()) {
      unsetenv(name.c_str());
    } else {
      setenv(name.c_str(), value.c_str(), 1);
    }
  }
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, report_fd, report_fd);  // clears close-on-exec in the child only
  pid_t next = 0;
  const int failed = posix_spawn(&next, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0)
    throw setup_failed(
        fmt::format("cannot start the next stage: {}", std::generic_category().message(failed)));
  continued_ = true;
  int status = 0;
  while (waitpid(next, &status, 0) < 0 && errno == EINTR) {
  }
  // End as it ended: the parent must see a crash of the second process too.
  if (WIFSIGNALED(status)) raise(WTERMSIG(status));
  exit_code_of_next_ = WEXITSTATUS(status);
}

void trial::in_forked_child(const std::function<void()>& child) {
  in_forked_children(1, [&](int) { child(); });
}

void trial::in_forked_children(int count, const std::function<void(int)>& child) {
  std::vector<pid_t> forked;
  const pid_t parent = getpid();
  for (int i = 0; i < count; ++i) {
    const pid_t one = fork();
    if (one < 0) throw setup_failed(fmt::format("cannot fork: {}", std::generic_category().message(errno)));
    if (one == 0) {
      tie_to(parent);
      tell_exceptions([&] { child(i); });
      _exit(0);
    }
    forked.push_back(one);
    next_seed += 1'000;  // the next one goes on from where this process was
  }
  for (const pid_t one : forked) {
    int status = 0;
    while (waitpid(one, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(status)) raise(WTERMSIG(status));  // its crash is ours
    if (WEXITSTATUS(status) != 0) _exit(WEXITSTATUS(status));
  }
}

std::string context_of(std::span<const rows_left> processes) {
  for (const auto& [what, state] :
       {std::pair{rows_left::a_damaged_one, "damaged"}, std::pair{rows_left::a_usable_one, "usable"},
        std::pair{rows_left::nobody_knows, "unchecked"}})
    if (std::find(processes.begin(), processes.end(), what) != processes.end()) return state;
  return {};
}

std::vector<std::string> trial::each_row(std::size_t rows, const std::function<row_function()>& set_up,
                                         std::chrono::milliseconds patience) {
  const auto set_up_observed = [&]() -> quiet_row_function {
    return [this, run_row = set_up()](std::size_t row) {
      run_row(row);
      return !opened_ || cudaDeviceSynchronize() == cudaSuccess;
    };
  };
  return in_processes(rows, set_up_observed, patience, /*observing=*/true);
}

std::vector<std::string> trial::each_quiet_row(std::size_t rows,
                                               const std::function<quiet_row_function()>& set_up,
                                               std::chrono::milliseconds patience) {
  return in_processes(rows, set_up, patience, /*observing=*/false);
}

void trial::swept(std::string_view text, const status_record& status, double milliseconds,
                  const swept_calls& calls) {
  send({{"t", "swept"},
        {"text", text},
        {"status", status.name},
        {"value", status.value},
        {"detail", status.detail},
        {"ms", milliseconds},
        {"swept", calls}});
}

std::vector<std::string> trial::in_processes(std::size_t rows,
                                             const std::function<quiet_row_function()>& set_up,
                                             std::chrono::milliseconds patience, bool observing) {
  const std::size_t bytes = sizeof(progress) + rows * sizeof(progress::name);
  void* const shared = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw setup_failed("no memory to share with the processes that run rows");
  progress& now = *new (shared) progress;
  progress_ = &now;
  const auto came_to = [&](std::size_t row, std::string_view what) {
    progress::name& name = now.names()[row];
    name.fill('\0');
    what.copy(name.data(), name.size() - 1);
  };
  std::vector<rows_left> left;
  while (now.done < rows) {
    const std::size_t first = now.done;
    now.damaged = false;
    now.left = rows_left::nobody_knows;
    const pid_t parent = getpid();
    const pid_t forked = fork();
    if (forked < 0)
      throw setup_failed(fmt::format("cannot fork: {}", std::generic_category().message(errno)));
    if (forked == 0) {
      tie_to(parent);
      tell_exceptions([&] {
        const quiet_row_function run_row = set_up();
        for (std::size_t row = first; row < rows && !now.damaged; ++row) {
          if (!observing) now.in_call = true;
          now.damaged = !run_row(row);
          if (!observing) {
            now.in_call = false;
            came_to(row, "returned");
          }
          now.done = row + 1;
        }
        now.left = !opened_                                      ? rows_left::no_context
                   : !now.damaged && context_state() == "usable" ? rows_left::a_usable_one
                                                                 : rows_left::a_damaged_one;
      });
      now.in_call = false;  // a call that threw came to nothing: why is told
      _exit(0);
    }
    next_seed += 1'000;
    const std::string ended = wait_for_rows(forked, patience);
    left.push_back(now.left);
    if (now.in_call) {
      if (observing)
        send_end({ended, -1}, "", 0);
      else
        came_to(now.done, ended);
      now.in_call = false;
      ++now.done;
    } else if (ended != "exit 0") {
      throw setup_failed(fmt::format("row {}: {} outside of a call", now.done.load(), ended));
    } else if (now.done < rows && !now.damaged) {
      break;  // set_up or a row has said why
    }
  }
  if (observing) context_of_rows_ = context_of(left);  // a quiet row says what became of its own
  std::vector<std::string> all;
  for (std::size_t row = 0; row < rows; ++row) all.emplace_back(now.names()[row].data());
  progress_ = nullptr;
  munmap(shared, bytes);
  return all;
}

/// How it ended: "exit 0", "crashed: SIGSEGV", "timed out", where no row was over for as long as the patience lasts.
std::string trial::wait_for_rows(pid_t child, std::chrono::milliseconds patience) {
  using clock = std::chrono::steady_clock;
  const unique_fd handle(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  if (handle.get() < 0) throw setup_failed("the kernel gives no handle of a process (pidfd_open)");
  std::size_t seen = progress_->done;
  auto since = clock::now();
  bool impatient = false;
  for (pollfd ends{handle.get(), POLLIN, 0}; poll(&ends, 1, 100) <= 0;) {
    if (const std::size_t done = progress_->done; done != seen) {
      seen = done;
      since = clock::now();
    } else if (!impatient && clock::now() - since > patience) {
      impatient = true;
      kill(child, SIGKILL);
    }
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (impatient) return "timed out";
  if (WIFSIGNALED(status)) return "crashed: " + signal_name(WTERMSIG(status));
  return fmt::format("exit {}", WEXITSTATUS(status));
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

std::string trial::context_state() {
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
  } catch (const not_provoked& e) {
    stop("not_provoked", e.what());
  } catch (const missing_symbol& e) {
    stop("not_provoked", e.what());
  } catch (const std::exception& e) {
    stop("harness_failed", e.what());
  }
}

void trial::run_body() {
  tell_exceptions([this] {
    apply_limits(arm_.limits);
    if (!arm_.binds_itself) {
      bind_cublas(options_.libraries);
      listen_to_cublaslt();
    }
    arm_.body(*this);
  });
}

void trial::report_context() {
  // A context made here, only to be proved, would cost as much as one of the rows'.
  const bool of_rows = !opened_ && !context_of_rows_.empty();
  const auto state = [&] { return of_rows ? context_of_rows_ : context_state(); };
  send({{"t", "context"}, {"state", arm_.needs == need::gpu ? state() : std::string("none")}});
}

void trial::report_done() {
  over_ = true;
  send({{"t", "done"}});
}

void trial::end_through_exit() {
  report_context();
  ends_through_exit_ = true;
  std::exit(0);  // that is what the arm is about
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
