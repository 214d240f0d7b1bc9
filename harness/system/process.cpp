// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/system/process.hpp"

#include "harness/system/child.hpp"
#include "harness/system/children.hpp"
#include "harness/system/unique_fd.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace cufault {
namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// A killed process ends at once, unless it is stuck in the kernel, for example in a driver. Freeing hundreds of GiB of pinned memory takes
// seconds.
constexpr milliseconds patience_with_killed{60'000};
// Polling interval for kernels without pidfd_open(2) (before Linux 5.3).
constexpr milliseconds look_again{10};

[[noreturn]] void fail(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), what);
}

int milliseconds_until(clock::time_point deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 1'000'000));
}

// Moves our descriptors above report_fd. A parent without stdin gets low numbers, which the child's descriptors would overwrite before they
// are copied.
unique_fd raised(int fd) {
  const unique_fd low(fd);
  unique_fd high(fcntl(fd, F_DUPFD_CLOEXEC, report_fd + 1));
  if (!high) fail(errno, "cannot duplicate a descriptor");
  return high;
}

struct pipe_ends {
  unique_fd read, write;
};

// The child's end blocks, as programs expect; ours does not.
pipe_ends make_pipe() {
  std::array<int, 2> fds{};
  if (pipe2(fds.data(), O_CLOEXEC) != 0) fail(errno, "cannot make a pipe");
  unique_fd write_guard(fds[1]);
  unique_fd read = raised(fds[0]);
  unique_fd write = raised(write_guard.release());
  if (fcntl(read.get(), F_SETFL, O_NONBLOCK) != 0) fail(errno, "cannot make a pipe non-blocking");
  return {std::move(read), std::move(write)};
}

// Keeps the beginning and the end of an output of any length.
class kept_output {
 public:
  explicit kept_output(std::size_t keep) : first_(keep / 2), last_(keep - keep / 2) {}

  void add(std::string_view bytes) {
    const auto to_head = std::min(bytes.size(), first_ - head_.size());
    head_.append(bytes.substr(0, to_head));
    bytes.remove_prefix(to_head);
    tail_.append(bytes);
    beyond_head_ += bytes.size();
    if (tail_.size() > 2 * last_) tail_.erase(0, tail_.size() - last_);  // seldom, not at every read
  }

  [[nodiscard]] std::string text() const {
    if (beyond_head_ <= last_) return head_ + tail_;
    return fmt::format("{}\n... {} bytes left out ...\n{}", head_, beyond_head_ - last_,
                       std::string_view(tail_).substr(tail_.size() - last_));
  }

 private:
  std::size_t first_, last_;
  std::string head_, tail_;
  std::size_t beyond_head_ = 0;
};

// Our end of a pipe, and the function that gets its bytes.
class stream {
 public:
  stream(unique_fd fd, std::function<void(std::string_view)> sink)
      : fd_(std::move(fd)), sink_(std::move(sink)) {}

  [[nodiscard]] int descriptor() const { return fd_.get(); }  // -1 (which poll ignores) at end of file

  /// Reads what is available, up to one buffer. Returns the number of bytes.
  std::size_t take() {
    std::array<char, 65536> buffer;
    while (fd_) {
      const auto n = read(fd_.get(), buffer.data(), buffer.size());
      if (n > 0) {
        sink_({buffer.data(), static_cast<std::size_t>(n)});
        return static_cast<std::size_t>(n);
      }
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return 0;
      fd_.reset();
    }
    return 0;
  }

  /// Reads what the ended processes left, at most the capacity of the pipe: a foreign process may hold the other end and write for ever.
  void drain() {
    if (!fd_) return;
    auto left = static_cast<long>(fcntl(fd_.get(), F_GETPIPE_SZ));
    while (left > 0) {
      const auto n = take();
      if (n == 0) return;
      left -= static_cast<long>(n);
    }
  }

 private:
  unique_fd fd_;
  std::function<void(std::string_view)> sink_;
};

std::vector<std::string> environment_for(const spawn_options& options) {
  std::map<std::string, std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto equals = text.find('=');
    if (equals == text.npos) continue;
    all.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  for (const auto& [name, value] : options.environment) {
    if (value.empty()) {
      all.erase(name);
    } else {
      all[name] = value;
    }
  }
  if (!options.preload.empty()) {
    auto& libraries = all["LD_PRELOAD"];
    const auto before = libraries.empty() ? "" : ":" + libraries;
    libraries = fmt::format("{}{}", fmt::join(options.preload, ":"), before);
  }
  std::vector<std::string> entries;
  for (const auto& [name, value] : all) entries.push_back(name + "=" + value);
  return entries;
}

class spawn_setup {
 public:
  spawn_setup() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  ~spawn_setup() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  spawn_setup(const spawn_setup&) = delete;
  spawn_setup& operator=(const spawn_setup&) = delete;

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

pid_t spawn(const spawn_options& options, int in, int out, int err, int report) {
  if (options.argv.empty()) throw std::invalid_argument("run_process: no program");
  spawn_setup setup;
  // These calls fail only for lack of memory; then posix_spawn fails too.
  if (in >= 0)
    posix_spawn_file_actions_adddup2(&setup.actions, in, STDIN_FILENO);
  else
    posix_spawn_file_actions_addopen(&setup.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&setup.actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&setup.actions, err, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&setup.actions, report, report_fd);
  // Closes inherited descriptors in the trial: a hung trial with a descriptor of ctest's would hang ctest.
  std::error_code unseen;
  for (std::filesystem::directory_iterator open("/proc/self/fd", unseen), end; !unseen && open != end;
       open.increment(unseen))
    if (const int fd = std::atoi(open->path().filename().c_str()); fd > report_fd)
      posix_spawn_file_actions_addclose(&setup.actions, fd);

  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(&setup.attributes, &all);
  posix_spawnattr_setsigmask(&setup.attributes, &none);
  posix_spawnattr_setpgroup(&setup.attributes, 0);
  posix_spawnattr_setflags(&setup.attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);

  const auto environment = environment_for(options);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, options.argv[0].c_str(), &setup.actions, &setup.attributes,
                                pointers_to(options.argv).data(), pointers_to(environment).data());
  if (error != 0) fail(error, "cannot start " + options.argv[0]);
  return pid;
}

unique_fd open_pidfd(pid_t pid) {
  return unique_fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));  // close-on-exec by default
}

// True if the child has ended. Leaves it as a zombie, so that its pid is not reused.
bool has_ended(pid_t pid) {
  siginfo_t info{};
  while (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT | __WALL) != 0) {
    if (errno == ECHILD) return true;  // ended, and reaped by somebody else
    if (errno != EINTR) fail(errno, fmt::format("cannot wait for process {}", pid));
  }
  return info.si_pid == pid;
}

// Reaps a killed child. Throws if it does not end by the deadline.
siginfo_t reap(pid_t pid, clock::time_point deadline) {
  const auto pidfd = open_pidfd(pid);
  while (!has_ended(pid)) {
    if (clock::now() >= deadline) {
      fail(ETIMEDOUT, fmt::format("process {} was killed but does not end; it is stuck in the kernel", pid));
    }
    pollfd waiting{pidfd.get(), POLLIN, 0};
    const int wait = milliseconds_until(deadline);
    poll(&waiting, 1, pidfd ? wait : std::min(wait, static_cast<int>(look_again.count())));
  }
  siginfo_t info{};
  while (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | __WALL) != 0 && errno == EINTR) {
  }
  return info;
}

// Restores SIGCHLD while an object lives. If it is ignored (as a service manager or shell may set), the kernel reaps children, and how they
// ended is lost.
class waitable_children {
 public:
  waitable_children() {
    sigaction(SIGCHLD, nullptr, &before_);
    if (before_.sa_handler != SIG_IGN && (before_.sa_flags & SA_NOCLDWAIT) == 0) return;
    struct sigaction normal {};
    normal.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &normal, nullptr);
    changed_ = true;
  }
  ~waitable_children() {
    if (changed_) sigaction(SIGCHLD, &before_, nullptr);
  }
  waitable_children(const waitable_children&) = delete;
  waitable_children& operator=(const waitable_children&) = delete;

 private:
  struct sigaction before_ {};
  bool changed_ = false;
};

/// True if the child is dead, dying, or has a pending SIGKILL.
bool is_ending(pid_t pid) {
  std::ifstream stat(fmt::format("/proc/{}/stat", pid)), status(fmt::format("/proc/{}/status", pid));
  std::string line;
  std::getline(stat, line);
  std::istringstream behind_name(line.substr(std::min(line.size(), line.rfind(')') + 1)));
  char state = ' ';
  long skipped = 0;
  unsigned long flags = 0;  // flags of the kernel's task (proc(5))
  behind_name >> state >> skipped >> skipped >> skipped >> skipped >> skipped >> flags;
  constexpr unsigned long exiting = 4;
  if (state == 'Z' || state == 'X' || (flags & exiting) != 0) return true;
  constexpr std::uint64_t sigkill = std::uint64_t{1} << (SIGKILL - 1);
  while (std::getline(status, line))
    if ((line.starts_with("SigPnd:") || line.starts_with("ShdPnd:")) &&
        (std::stoull(line.substr(7), nullptr, 16) & sigkill) != 0)
      return true;
  return false;
}

/// Resident processes of this one: none is a descendant of another.
std::set<pid_t>& residents() {
  static std::set<pid_t> all;
  return all;
}

// A started program and all its descendants. None of them outlives this object.
class process_tree {
 public:
  process_tree(pid_t leader, std::set<pid_t> strangers)
      : leader_(leader), earlier_children_(std::move(strangers)) {}
  ~process_tree() {
    try {
      end();
    } catch (...) {  // only on the way out with another exception, which says what really happened
    }
  }
  process_tree(const process_tree&) = delete;
  process_tree& operator=(const process_tree&) = delete;

  /// Kills and reaps all of them. Returns how the leader ended.
  siginfo_t end() {
    if (ended_) return how_;
    ended_ = true;
    residents().erase(leader_);
    const auto deadline = clock::now() + patience_with_killed;
    std::set<pid_t> ending;  // killed by others, or ended with their parent
    for (const auto pid : children_of_this_process())
      if (is_ending(pid)) ending.insert(pid);
    // Must precede reaping the leader, after which its group's number may be reused.
    kill(-leader_, SIGKILL);
    kill(leader_, SIGKILL);  // in case it left its group
    how_ = reap(leader_, deadline);
    // We are subreaper, so orphans become our children, repeatedly. A child stays listed until reaped: a round without children means that
    // none is left.
    while (true) {
      const auto children = children_of_this_process();
      bool found = false;
      for (const auto pid : children) {
        if (is_strange(pid)) continue;
        found = true;
        kill(pid, SIGKILL);
        const auto how = reap(pid, deadline);
        if (how.si_code != CLD_EXITED && how.si_status == SIGKILL && !ending.contains(pid)) ++stragglers_;
      }
      if (!found) return how_;
      if (clock::now() >= deadline)
        fail(ETIMEDOUT, "a trial's descendants start others faster than they can be ended");
    }
  }

  [[nodiscard]] pid_t leader() const { return leader_; }
  [[nodiscard]] int stragglers() const { return stragglers_; }

  /// Number of orphans so far. They are ended with the program.
  [[nodiscard]] int others() const {
    const auto children = children_of_this_process();
    return static_cast<int>(std::count_if(children.begin(), children.end(),
                                          [&](pid_t pid) { return pid != leader_ && !is_strange(pid); }));
  }

 private:
  [[nodiscard]] bool is_strange(pid_t pid) const {
    return earlier_children_.contains(pid) || residents().contains(pid);
  }

  pid_t leader_;
  std::set<pid_t> earlier_children_;  // earlier children of ours
  bool ended_ = false;
  siginfo_t how_{};
  int stragglers_ = 0;
};

// Reads the streams until the process exits by itself, the deadline passes, stop is readable, or enough was read (nullopt).
std::optional<ending> watch(pid_t pid, const std::vector<stream*>& streams, clock::time_point deadline,
                            int stop, const std::function<bool()>& enough = {}) {
  const auto pidfd = open_pidfd(pid);
  while (!enough || !enough()) {
    std::vector<pollfd> waiting;
    for (const stream* s : streams) waiting.push_back({s->descriptor(), POLLIN, 0});
    const std::size_t ends = waiting.size(), stops = ends + 1;
    waiting.push_back({pidfd.get(), POLLIN, 0});
    waiting.push_back({stop, POLLIN, 0});
    int wait = milliseconds_until(deadline);
    if (!pidfd) wait = std::min(wait, static_cast<int>(look_again.count()));
    if (poll(waiting.data(), waiting.size(), wait) < 0) {
      if (errno == EINTR) continue;
      fail(errno, "cannot wait for a process");
    }
    if ((waiting[ends].revents != 0 || !pidfd) && has_ended(pid)) return ending::exited;
    if (waiting[stops].revents != 0) return ending::interrupted;
    if (clock::now() >= deadline) return ending::timed_out;
    for (std::size_t i = 0; i < streams.size(); ++i) {
      if (waiting[i].revents != 0) streams[i]->take();
    }
  }
  return {};
}

void set_ending(process_result& result, const siginfo_t& how) {
  const bool exited = how.si_code == CLD_EXITED;
  result.how = exited ? ending::exited : ending::signalled;
  (exited ? result.exit_code : result.signal) = how.si_status;
}

// Pipes for what a process prints, and what is kept of it.
struct captured {
  kept_output kept_out, kept_err;
  pipe_ends out_pipe = make_pipe(), err_pipe = make_pipe();
  stream out, err;
  unique_fd out_end, err_end;  // of the process

  explicit captured(std::size_t keep)
      : kept_out(keep),
        kept_err(keep),
        out(std::move(out_pipe.read), [this](std::string_view bytes) { kept_out.add(bytes); }),
        err(std::move(err_pipe.read), [this](std::string_view bytes) { kept_err.add(bytes); }),
        out_end(std::move(out_pipe.write)),
        err_end(std::move(err_pipe.write)) {}
  ~captured() = default;
  captured(const captured&) = delete;
  captured& operator=(const captured&) = delete;
  void close_ends() {
    out_end.reset();
    err_end.reset();
  }
};

// Watches a process until it ends, its time is over, `stop` is readable or what it has said is `enough`. Ends what is left of it, but for the
// last, and returns false for that.
bool follow(process_tree& tree, captured& output, std::vector<stream*> streams, clock::time_point start,
            milliseconds timeout, int stop, process_result& result,
            const std::function<bool()>& enough = {}) {
  streams.insert(streams.end(), {&output.out, &output.err});
  const auto how = watch(tree.leader(), streams, start + timeout, stop, enough);
  const siginfo_t ended = how ? tree.end() : siginfo_t{};
  result.milliseconds = std::chrono::duration<double, std::milli>(clock::now() - start).count();
  // Processes that it left behind are ended with it.
  result.stragglers = how ? tree.stragglers() : tree.others();
  // Nobody writes any more, or not now: read the rest of the pipes.
  for (auto* each : streams) each->drain();
  result.stdout_text = output.kept_out.text();
  result.stderr_text = output.kept_err.text();
  if (!how) return false;
  if (ended.si_pid != tree.leader())
    fail(ECHILD, fmt::format("somebody else has reaped process {}", tree.leader()));
  result.how = *how;
  if (*how == ending::exited) set_ending(result, ended);
  return true;
}

// State that interrupt_guard's handler uses.
std::atomic<int> interrupt_pipe{-1};
std::atomic<int> interrupt_signal{0};
std::atomic<pid_t> interrupted_process{0};
static_assert(std::atomic<int>::is_always_lock_free);
constexpr std::array interrupting{SIGINT, SIGTERM, SIGHUP, SIGPIPE};
std::array<struct sigaction, interrupting.size()> before_guard;
unique_fd guard_read_end;

void note_interrupt(int signal) {
  const int saved = errno;
  if (signal == SIGPIPE && getpid() != interrupted_process) {  // a forked child has its own output
    ::signal(SIGPIPE, SIG_DFL);
    raise(SIGPIPE);
    return;
  }
  int none = 0;
  interrupt_signal.compare_exchange_strong(none, signal);  // keep the first signal
  // A full pipe is readable anyway.
  [[maybe_unused]] const auto written = write(interrupt_pipe, "", 1);
  errno = saved;
}

}  // namespace

process_result run_process(const spawn_options& options,
                           const std::function<void(std::string_view)>& on_report, int stop) {
  // Orphans among our descendants become our children instead of init's.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const waitable_children waitable;
  auto strangers = children_of_this_process();
  captured output(options.keep_output);
  auto report_pipe = make_pipe();
  const auto start = clock::now();
  process_tree tree(spawn(options, -1, output.out_end.get(), output.err_end.get(), report_pipe.write.get()),
                    std::move(strangers));
  report_pipe.write.reset();
  output.close_ends();
  stream report(std::move(report_pipe.read), [&](std::string_view bytes) {
    if (on_report) on_report(bytes);
  });
  process_result result;
  follow(tree, output, {&report}, start, options.timeout, stop, result);
  return result;
}

namespace {

// A program that stays, and its end of a channel.
struct resident {
  spawn_options options;
  waitable_children waitable;
  captured output;  // since it began, or since it was asked
  unique_fd theirs;
  std::optional<stream> channel;
  std::string said;  // on the channel, since it was asked
  std::optional<process_tree> tree;

  resident(const spawn_options& asked, int type) : options(asked), output(asked.keep_output) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends.data()) != 0) fail(errno, "cannot make a channel");
    theirs = raised(ends[1]);
    channel.emplace(raised(ends[0]), [this](std::string_view bytes) { said += bytes; });
    if (fcntl(channel->descriptor(), F_SETFL, O_NONBLOCK) != 0)
      fail(errno, "cannot make a channel non-blocking");
  }
  ~resident() = default;
  resident(const resident&) = delete;
  resident& operator=(const resident&) = delete;

  void start(int in, int report) {
    auto strangers = children_of_this_process();
    tree.emplace(spawn(options, in, output.out_end.get(), output.err_end.get(), report),
                 std::move(strangers));
    residents().insert(tree->leader());
    theirs.reset();
    output.close_ends();
  }

  /// Waits for what it says. Returns false if it has been ended: `result` says how.
  bool hears(process_result& result, clock::time_point start, milliseconds timeout, int stop,
             const std::function<bool()>& enough, std::vector<stream*> streams = {}) {
    streams.push_back(&*channel);
    if (!follow(*tree, output, std::move(streams), start, timeout, stop, result, enough)) return true;
    channel->take();  // it may have spoken last
    tree.reset();
    return false;
  }
};

}  // namespace

struct forking_process::state : resident {
  process_result before;  // what it printed until it stopped; how it ended
  std::string why_not;
  using resident::resident;

  /// Waits for a message.
  bool hears_a_message(clock::time_point start, milliseconds timeout, int stop) {
    said.clear();
    if (hears(before, start, timeout, stop, [this] { return !said.empty() || channel->descriptor() < 0; }) &&
        !said.empty())
      return true;
    if (tree) set_ending(before, tree->end());  // it has closed the channel, by ending perhaps
    why_not = before.how == ending::timed_out ? "it made no call that is seen in time"
              : before.how == ending::interrupted
                  ? "interrupted"
                  : "it ended before a call that is seen, or closed a descriptor that it inherited";
    tree.reset();
    return !said.empty();
  }
};

forking_process::forking_process(const spawn_options& options, int stop)
    : state_(std::make_unique<state>(options, SOCK_SEQPACKET)) {
  state& s = *state_;
  const auto inode_of = [](const unique_fd& file) {
    struct stat is {};
    fstat(file.get(), &is);
    return is.st_ino;
  };
  s.options.environment["CUFAULT_FORKS"] = fmt::format(
      "{}:{}:{}:{}", report_fd, inode_of(s.theirs), inode_of(s.output.out_end), inode_of(s.output.err_end));
  const auto start = clock::now();
  s.start(-1, s.theirs.get());
  if (const std::string own = fmt::format("{}", s.tree->leader());
      !s.hears_a_message(start, options.timeout, stop) || s.said == own)
    return;
  const bool tells = s.said.find_first_not_of("0123456789") != std::string::npos;
  s.why_not = tells ? s.said : "its first call comes in a process that it starts";
  s.tree.reset();
}

forking_process::~forking_process() = default;

const std::string& forking_process::why_not() const {
  return state_->why_not;
}

const process_result& forking_process::ended() const {
  return state_->before;
}

std::optional<process_result> forking_process::run(const std::string& request, milliseconds timeout,
                                                   const std::function<void(std::string_view)>& on_report,
                                                   int stop) {
  state& s = *state_;
  if (!s.tree) return {};
  auto strangers = children_of_this_process();
  captured output(s.options.keep_output);
  auto report_pipe = make_pipe();
  stream report(std::move(report_pipe.read), on_report);
  const auto start = clock::now();
  const std::array given{output.out_end.get(), output.err_end.get(), report_pipe.write.get()};
  const std::size_t bytes = (on_report ? 3 : 2) * sizeof given[0];
  iovec text{const_cast<char*>(request.data()), request.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof given)> control{};
  msghdr message{};
  message.msg_iov = &text;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = CMSG_SPACE(bytes);
  cmsghdr& passes = *CMSG_FIRSTHDR(&message);
  passes.cmsg_level = SOL_SOCKET;
  passes.cmsg_type = SCM_RIGHTS;
  passes.cmsg_len = CMSG_LEN(bytes);
  std::memcpy(CMSG_DATA(&passes), given.data(), bytes);
  static_cast<void>(sendmsg(s.channel->descriptor(), &message, MSG_NOSIGNAL));  // its end is noticed below
  if (!s.hears_a_message(start, timeout, stop)) return {};
  const int child = std::atoi(s.said.c_str());
  if (child <= 0) {
    s.why_not = fmt::format("it cannot fork: {}", std::strerror(-child));
    s.tree.reset();
    return {};
  }
  report_pipe.write.reset();
  output.close_ends();
  process_tree tree(child, std::move(strangers));
  process_result result;
  follow(tree, output, {&report}, start, timeout, stop, result);
  result.stdout_text = s.before.stdout_text + result.stdout_text;
  result.stderr_text = s.before.stderr_text + result.stderr_text;
  return result;
}

struct resident_process::state : resident {
  const std::function<void(std::string_view)>* on_report = nullptr;
  std::optional<stream> report;
  using resident::resident;
};

resident_process::resident_process(const spawn_options& options)
    : state_(std::make_unique<state>(options, SOCK_STREAM)) {
  state& s = *state_;
  auto report_pipe = make_pipe();
  s.report.emplace(std::move(report_pipe.read), [&s](std::string_view bytes) {
    if (s.on_report != nullptr && *s.on_report) (*s.on_report)(bytes);
  });
  s.start(s.theirs.get(), report_pipe.write.get());
}

resident_process::~resident_process() = default;

int resident_process::end() {
  if (!state_->tree) return 0;
  state_->tree->end();
  const int left = state_->tree->stragglers();
  state_->tree.reset();
  return left;
}

resident_process::answer resident_process::ask(std::string_view request, std::chrono::milliseconds timeout,
                                               const std::function<void(std::string_view)>& on_report,
                                               int stop) {
  state& s = *state_;
  if (!s.tree) throw std::logic_error("a request to a process that has ended");
  const auto start = clock::now();
  s.said.clear();
  s.output.kept_out = s.output.kept_err = kept_output(s.options.keep_output);
  s.on_report = &on_report;
  const std::string line = std::string(request) + "\n";
  // A request fits into the channel, since the process reads nothing else. watch() notices if it has ended.
  static_cast<void>(send(s.channel->descriptor(), line.data(), line.size(), MSG_NOSIGNAL));
  answer a;
  a.answered =
      s.hears(a.process, start, timeout, stop, [&s] { return s.said.ends_with('\n'); }, {&*s.report});
  s.on_report = nullptr;
  if (a.answered) a.text = s.said.substr(0, s.said.size() - 1);
  return a;
}

void tie_to_parent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have died before prctl(); nobody would read our results.
  if (getppid() != parent) _exit(125);
  fcntl(report_fd, F_SETFD, FD_CLOEXEC);  // fails harmlessly without a listener
}

interrupt_guard::interrupt_guard() {
  if (guard_read_end) throw std::logic_error("interrupt_guard: there is one already");
  auto ends = make_pipe();
  if (fcntl(ends.write.get(), F_SETFL, O_NONBLOCK) != 0) fail(errno, "cannot make a pipe non-blocking");
  guard_read_end = std::move(ends.read);
  interrupt_signal = 0;
  interrupted_process = getpid();
  interrupt_pipe = ends.write.release();
  // A handler instead of signalfd(2), which needs the signals blocked in every thread of every library.
  struct sigaction noting {};
  noting.sa_handler = note_interrupt;
  noting.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < interrupting.size(); ++i) {
    sigaction(interrupting[i], nullptr, &before_guard[i]);
    // nohup, or a shell for background jobs, ignores signals on purpose.
    if (before_guard[i].sa_handler != SIG_IGN) sigaction(interrupting[i], &noting, nullptr);
  }
}

interrupt_guard::~interrupt_guard() {
  for (std::size_t i = 0; i < interrupting.size(); ++i) sigaction(interrupting[i], &before_guard[i], nullptr);
  const unique_fd write_end(interrupt_pipe.exchange(-1));
  guard_read_end.reset();
}

int interrupt_guard::descriptor() const {
  return guard_read_end.get();
}

int interrupt_guard::signal() const {
  return interrupt_signal;
}

std::string as_a_shell_finds(const std::string& name) {
  const char* const path = name.find('/') != name.npos ? "" : std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/bin:/usr/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::filesystem::path found = std::filesystem::path(folder.empty() ? "." : folder) / name;
    std::error_code none;
    if (std::filesystem::is_regular_file(found, none) && access(found.c_str(), X_OK) == 0) return found;
  }
  return name;
}

std::string signal_name(int signal) {
  // Linux signals from 1; the C library has their names since 2.32.
  static constexpr std::array<const char*, 31> names{
      "HUP",  "INT",  "QUIT", "ILL",    "TRAP",   "ABRT",  "BUS",  "FPE",  "KILL", "USR1", "SEGV",
      "USR2", "PIPE", "ALRM", "TERM",   "STKFLT", "CHLD",  "CONT", "STOP", "TSTP", "TTIN", "TTOU",
      "URG",  "XCPU", "XFSZ", "VTALRM", "PROF",   "WINCH", "POLL", "PWR",  "SYS"};
  const auto at = static_cast<std::size_t>(signal) - 1;
  return at < names.size() ? fmt::format("SIG{}", names[at]) : fmt::format("signal {}", signal);
}

}  // namespace cufault
