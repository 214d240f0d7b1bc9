// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// `cufault why`, of a program on the fake driver and the library that stands for cuBLAS, and of commands that are unusual.
#include "harness/system/process.hpp"
#include "harness/system/temporary_folder.hpp"
#include "harness/system/tests/plain_environment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <poll.h>
#include <pty.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace cufault {
namespace {

namespace fs = std::filesystem;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

const std::string tree = BUILD_TREE, probe = tree + "/bin/injector_why_probe",
                  fakes = tree + "/lib/injector_tests:" + tree + "/lib/injector_tests/blas/new";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

/// What the shell prints until nothing writes to it any longer.
std::string printed_by(const std::string& line) {
  std::FILE* const said = popen(line.c_str(), "r");
  std::string all;
  std::array<char, 4096> piece;
  for (std::size_t got = 0; (got = fread(piece.data(), 1, piece.size(), said)) > 0;)
    all.append(piece.data(), got);
  pclose(said);
  return all;
}

class why_command : public testing::Test {
 protected:
  using variables = std::map<std::string, std::string>;
  void SetUp() override {
    forget_settings_of_cufault();
    for (const char* name :
         {"RANK", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "SLURM_PROCID", "SLURM_JOB_ID", "SLURM_STEP_ID",
          "SLURM_STEP_NUM_TASKS", "PMIX_NAMESPACE", "PMI_RANK", "OMPI_MCA_ess_base_jobid",
          "OMPI_COMM_WORLD_RANK", "XDG_STATE_HOME", "CUDA_LOG_FILE"})
      unsetenv(name);
    fs::create_directory(temporary());
    setenv("TMPDIR", temporary().c_str(), 1);
    setenv("LD_LIBRARY_PATH", fakes.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("LD_LIBRARY_PATH");
    unsetenv("TMPDIR");
  }

  [[nodiscard]] fs::path temporary() const { return folder.path() / "temporary"; }
  static std::vector<std::string> words_of(const std::vector<std::string>& options,
                                           const std::vector<std::string>& command) {
    std::vector<std::string> words{TEST_PROGRAM, "why"};
    words.insert(words.end(), options.begin(), options.end());
    words.emplace_back("--");
    words.insert(words.end(), command.begin(), command.end());
    return words;
  }
  static process_result why(const std::vector<std::string>& command, variables environment = {},
                            const std::vector<std::string>& options = {}) {
    spawn_options started;
    started.argv = words_of(options, command);
    started.environment = std::move(environment);
    started.keep_output = 4U << 20;
    return run_process(started, {});
  }
  static process_result shell(const std::string& script, variables environment = {}) {
    return why({"sh", "-c", script}, std::move(environment));
  }
  /// What is said of a command that fails, or that succeeded, in lines.
  static std::vector<std::string> answer(const process_result& said) {
    const auto at = said.stderr_text.find("cufault why: ");
    return lines_of(at == std::string::npos ? "" : said.stderr_text.substr(at));
  }
  static fs::path log_of(const process_result& said) {
    const auto lines = answer(said);
    constexpr std::string_view head = "Full log: ";
    return lines.empty() || !lines.back().starts_with(head) ? "" : lines.back().substr(head.size());
  }
  static std::string file_of_a_process(const process_result& said) {
    std::string all;
    for (const auto& entry : fs::directory_iterator(log_of(said)))
      if (const std::string name = entry.path().filename();
          name.starts_with("pid") || name.starts_with("rank"))
        all += text_of(entry.path());
    return all;
  }

  temporary_folder folder{"cufault-why-test-"};
};

TEST_F(why_command, answers_also_where_its_json_cannot_be_written) {
  const fs::path there = folder.path() / "there.json", gone = folder.path() / "gone";
  const auto written = why({"sh", "-c", "exit 3"}, {}, {"--json", there});
  EXPECT_EQ(written.exit_code, 3);
  EXPECT_THAT(text_of(there), StartsWith("{\n  \"schema\": 1,\n"));
  EXPECT_THAT(written.stderr_text, Not(HasSubstr("--json")));
  for (const auto& [script, code] : {std::pair{"rmdir ", 0}, std::pair{"rmdir ", 3}}) {
    fs::create_directory(gone);
    const auto said = why({"sh", "-c", script + gone.string() + "; exit " + std::to_string(code)}, {},
                          {"--json", gone / "answer.json"});
    EXPECT_EQ(said.exit_code, code) << said.stderr_text;
    EXPECT_THAT(said.stderr_text, HasSubstr("cufault: --json: " + (gone / "answer.json").string()));
    EXPECT_THAT(said.stderr_text, HasSubstr(code == 0 ? " succeeded after " : "Full log: "));
    EXPECT_THAT(said.stderr_text, Not(HasSubstr("no answer")));
  }
}

TEST_F(why_command, shows_the_driver_call_that_failed_inside_the_library_call) {
  const auto said = why({probe, "product"}, {{"FAKE_BLAS_FAILS", "1"}});
  EXPECT_EQ(said.exit_code, 1);
  EXPECT_THAT(said.stderr_text,
              StartsWith("product: cublasSgemm failed with CUBLAS_STATUS_EXECUTION_FAILED\n"));
  EXPECT_THAT(said.stderr_text, HasSubstr("It said      product: cublasSgemm failed with "));
  EXPECT_THAT(said.stderr_text,
              HasSubstr("Failed call  cublasSgemm_v2 returned CUBLAS_STATUS_EXECUTION_FAILED to "));
  EXPECT_THAT(said.stderr_text, HasSubstr("Inside it    cuEventRecord: INVALID_HANDLE (event did not come "
                                          "from expected device context)\n"));
  EXPECT_THAT(said.stderr_text, HasSubstr("\nCause        a handle, stream or buffer of one context"))
      << "by the driver's words";
  EXPECT_LE(answer(said).size(), 21U);
  for (const std::string& line : answer(said)) EXPECT_LE(line.size(), 100U) << line;
  EXPECT_THAT(file_of_a_process(said),
              HasSubstr("] returned CUBLAS_STATUS_EXECUTION_FAILED to injector_why_probe"));
  EXPECT_THAT(said.stdout_text, IsEmpty());
}

TEST_F(why_command, says_so_in_one_line_where_the_command_succeeds_and_leaves_nothing) {
  const auto said = why({probe, "product"});
  EXPECT_EQ(said.exit_code, 0);
  EXPECT_THAT(answer(said), ElementsAre(EndsWith(" s")));
  EXPECT_THAT(said.stderr_text, HasSubstr(" succeeded after "));
  EXPECT_TRUE(fs::is_empty(temporary()));
}

TEST_F(why_command, knows_the_call_by_its_result_where_the_driver_has_no_log) {
  const auto said = why({probe, "product"}, {{"FAKE_BLAS_FAILS", "1"}, {"FAKE_NO_LOG", "1"}});
  EXPECT_THAT(said.stderr_text, HasSubstr("Inside it    cuEventRecord: INVALID_HANDLE\n"));
}

TEST_F(why_command, works_with_the_driver_s_log_alone_and_says_so) {
  const auto said = why({probe, "product"}, {{"FAKE_BLAS_FAILS", "1"}}, {"--no-preload"});
  EXPECT_THAT(said.stderr_text, HasSubstr("Driver call  cuEventRecord: INVALID_HANDLE (event did not come"));
  EXPECT_THAT(said.stderr_text, HasSubstr("Not seen     nothing was preloaded"));
  EXPECT_THAT(said.stderr_text, Not(HasSubstr("failed call")));
}

TEST_F(why_command, reads_a_log_of_the_driver_that_the_user_has_asked_for_from_where_it_began) {
  const fs::path own = folder.path() / "own.log";
  std::ofstream(own)
      << "[22:21:32.099][1][CUDA][E] Returning 2 (CUDA_ERROR_OUT_OF_MEMORY) from cuMemAlloc_v2\n";
  const auto said =
      why({probe, "product"}, {{"FAKE_BLAS_FAILS", "1"}, {"CUDA_LOG_FILE", own}}, {"--no-preload"});
  EXPECT_THAT(said.stderr_text, HasSubstr("cuEventRecord: INVALID_HANDLE"));
  EXPECT_THAT(said.stderr_text, Not(HasSubstr("OUT_OF_MEMORY")));
  EXPECT_THAT(text_of(own), HasSubstr("from cuEventRecord"));
}

TEST_F(why_command, names_the_rank_that_failed_first) {
  const std::string one = "FAKE_BLAS_FAILS=1 RANK=1 " + probe + " product",
                    other = "FAKE_BLAS_FAILS=1 RANK=0 " + probe + " product";
  const auto said = shell(one + "; sleep 0.01; " + other);
  EXPECT_THAT(said.stderr_text, HasSubstr("Who          rank 1, pid "));
  EXPECT_THAT(said.stderr_text, HasSubstr(" failed first, of 2 processes\n"));
}

TEST_F(why_command, has_the_exit_code_of_the_command) {
  EXPECT_EQ(shell("exit 7").exit_code, 7);
  EXPECT_EQ(shell("kill -9 $$").exit_code, 137);
  EXPECT_EQ(shell("exec sh -c 'exit 5'").exit_code, 5);
  const std::string text = folder.path() / "text";
  std::ofstream{text} << "no program";
  const auto absent = why({"no-such-command"}), refused = why({text});
  EXPECT_EQ(absent.exit_code, 127);
  EXPECT_EQ(absent.stderr_text, "cufault: no-such-command: No such file or directory\n");
  EXPECT_EQ(refused.exit_code, 126);
  EXPECT_THAT(lines_of(refused.stderr_text), SizeIs(1));
}

TEST_F(why_command, runs_the_command_where_no_folder_can_be_made_and_says_so) {
  const auto said = why({"sh", "-c", "echo ran; exit 3"}, {{"TMPDIR", "/nonexistent"}});
  EXPECT_EQ(said.exit_code, 3);
  EXPECT_EQ(said.stdout_text, "ran\n");
  EXPECT_THAT(said.stderr_text,
              HasSubstr("no log and no answer: /nonexistent: No such file or directory; set "));
  EXPECT_THAT(lines_of(said.stderr_text), SizeIs(1));
}

TEST_F(why_command, makes_a_folder_of_its_own_where_the_common_one_is_no_folder) {
  const std::string common = temporary() / ("cufault-why-" + std::to_string(getuid()) + "-runs");
  std::ofstream{common} << "a file";
  const auto failed = shell("exit 3"), well = shell("exit 0");
  EXPECT_THAT(log_of(failed).string(), HasSubstr("/cufault-why-" + std::to_string(getuid()) + "."));
  EXPECT_TRUE(fs::exists(log_of(failed) / "answer.txt"));
  EXPECT_EQ(std::distance(fs::directory_iterator(temporary()), {}), 2) << "that of the other run is removed";
}

TEST_F(why_command, says_that_no_failure_of_a_gpu_library_was_seen) {
  const auto said = shell("echo last words >&2; exit 3");
  EXPECT_THAT(said.stderr_text, HasSubstr("It said      last words\n"));
  EXPECT_THAT(said.stderr_text, HasSubstr("No failure of a GPU library was seen"));
  EXPECT_THAT(said.stderr_text, Not(HasSubstr("\n1. ")));
}

TEST_F(why_command, shows_the_frame_of_the_user_and_the_exception) {
  const std::string script = folder.path() / "traceback.sh";
  std::ofstream(script)
      << "cat >&2 <<'E'\nTraceback (most recent call last):\n"
         "  File \"train.py\", line 17, in step\n    loss = model(x)\n"
         "  File \"/usr/lib/python3/dist-packages/torch/nn.py\", line 1, in call\n    return f()\n"
         "RuntimeError: CUDA error: CUBLAS_STATUS_INTERNAL_ERROR when calling `cublasCreate(handle)`\n"
         "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\nE\nexit 1\n";
  const auto said = why({"sh", script});
  EXPECT_THAT(said.stderr_text, HasSubstr("Your line    train.py:17 in step: loss = model(x)\n"));
  EXPECT_THAT(said.stderr_text,
              HasSubstr("It said      RuntimeError: CUDA error: CUBLAS_STATUS_INTERNAL_ERROR"));
}

TEST_F(why_command, tells_what_is_known_of_the_framework_that_the_traceback_names) {
  const fs::path packages = folder.path() / "site-packages";
  fs::create_directories(packages / "torch-2.14.0.dist-info");
  const auto release = [&](const char* version) {
    std::ofstream(packages / "torch-2.14.0.dist-info/METADATA")
        << "Name: torch\nVersion: " << version << '\n';
  };
  release("2.14.0+cu130");
  const std::string script = folder.path() / "traceback.sh";
  const auto fails_with = [&](const std::string& exception) {
    std::ofstream(script)
        << "cat >&2 <<'E'\nTraceback (most recent call last):\n  File \"train.py\", line 17, in "
           "step\n    y = torch.bmm(a, b)\n  File \"" +
               packages.string() + "/torch/_native.py\", line 1, in bmm\n    go()\n" + exception +
               "\nE\nexit 1\n";
    return why({"sh", script}).stderr_text;
  };
  const std::string compiler = "subprocess.CalledProcessError: Command '['gcc']' returned exit status 1.";
  EXPECT_THAT(fails_with(compiler),
              HasSubstr("Known        torch 2.14.0 has a known issue, torch-bmm-needs-a-compiler"));
  EXPECT_THAT(fails_with("ValueError: no"), Not(HasSubstr("known issue"))) << "another message";
  release("2.12.1");
  EXPECT_THAT(fails_with(compiler), Not(HasSubstr("known issue"))) << "another release";
}

/// What torchrun prints where a rank fails: the other ranks' tracebacks and its own come behind.
const std::string output_of_ranks = R"([rank1]: Traceback (most recent call last):
[rank0]: Traceback (most recent call last):
[rank1]:   File "/home/one/ranks.py", line 10, in step
[rank0]:   File "/home/one/ranks.py", line 12, in <module>
[rank1]:     loss = table(index) @ weight
[rank0]:     dist.barrier()
[rank0]:   File "/env/lib/python3.12/site-packages/torch/distributed/c10d.py", line 5, in barrier
[rank0]:     work.wait()
[rank0]: RuntimeError: [/pytorch/third_party/gloo/pair.cc:547] Connection closed by peer [127.0.0.1]:2
[rank1]: RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm( handle)`
Traceback (most recent call last):
  File "/env/bin/torchrun", line 10, in <module>
    sys.exit(main())
  File "/env/lib/python3.12/site-packages/torch/distributed/launcher/api.py", line 317, in launch_agent
    raise ChildFailedError(
torch.distributed.elastic.multiprocessing.errors.ChildFailedError: 
ranks.py FAILED
)";

TEST_F(why_command, shows_the_traceback_of_the_failure_of_a_gpu_library_among_several) {
  std::ofstream(folder.path() / "output") << output_of_ranks;
  const auto said = shell("cat >&2 " + (folder.path() / "output").string() + "; exit 1");
  EXPECT_THAT(said.stderr_text,
              HasSubstr("Your line    /home/one/ranks.py:10 in step: loss = table(index) @ weight\n"
                        "It said      RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED"));
}

TEST_F(why_command, shows_the_traceback_of_the_rank_that_failed_first) {
  std::ofstream(folder.path() / "output") << output_of_ranks;
  const auto said = shell("cat >&2 " + (folder.path() / "output").string() +
                          "; FAKE_BLAS_FAILS=1 RANK=0 exec " + probe + " product");
  EXPECT_THAT(said.stderr_text, HasSubstr("Your line    /home/one/ranks.py:12 in <module>: dist.barrier()\n"
                                          "It said      RuntimeError: [/pytorch/third_party/gloo"));
}

TEST_F(why_command, shows_no_frame_of_a_launcher) {
  std::ofstream(folder.path() / "output") << output_of_ranks.substr(output_of_ranks.find("\nTraceback") + 1);
  const auto said = shell("cat >&2 " + (folder.path() / "output").string() + "; exit 1");
  EXPECT_THAT(said.stderr_text, Not(HasSubstr("Your line")));
  EXPECT_THAT(said.stderr_text, HasSubstr("It said      torch.distributed.elastic"));
}

#ifndef SANITIZED  // the few records that come with a sanitized program have no remedy of it
TEST_F(why_command, tells_what_documents_say_and_what_cleared_it_in_records) {
  const auto said = shell(
      "echo 'torch.AcceleratorError: CUDA error: an illegal memory access was encountered' >&2; exit 1");
  EXPECT_THAT(said.stderr_text,
              ContainsRegex("\nFix  .*\\(not[ \n]+measured\\)\nTried +cleared it: do it in a new process"));
}
#endif

TEST_F(why_command, names_the_driver_that_is_missing_before_what_records_show) {
  setenv("LD_LIBRARY_PATH", folder.path().c_str(), 1);
  const auto said = shell("echo 'cublasCreate: CUBLAS_STATUS_NOT_INITIALIZED' >&2; exit 1");
  if (fs::exists("/proc/driver/nvidia/version")) GTEST_SKIP() << "a driver is here";
  EXPECT_THAT(said.stderr_text, HasSubstr("\nCause        no driver is installed or loaded"));
  EXPECT_THAT(said.stderr_text, HasSubstr("\nWhy          named by this machine\n"));
  EXPECT_THAT(said.stderr_text, HasSubstr("\nCheck        made on this machine: there is no driver here: "));
}

TEST_F(why_command, takes_no_harmless_message_of_the_driver_for_the_failure) {
  const std::string context =
      "[22:21:32.099][7][CUDA][E] No CUDA context is current to the calling thread\n"
      "[22:21:32.099][7][CUDA][E] Returning 201 (CUDA_ERROR_INVALID_CONTEXT) from cuCtxGetDevice_v2\n";
  const std::string assertion =
      "[22:21:33.099][7][CUDA][E] Sticky error detected\n"
      "[22:21:33.099][7][CUDA][E] Returning 710 (CUDA_ERROR_ASSERT) from cuKernelGetFunction\n";
  const auto shown = [&](const std::string& log) {
    return shell("printf '" + log + "' > $CUDA_LOG_FILE; exit 1").stderr_text;
  };
  EXPECT_THAT(shown(context + assertion),
              HasSubstr("Driver call  cuKernelGetFunction: ASSERT (Sticky error detected)\n"));
  EXPECT_THAT(shown(context), HasSubstr("No failure of a GPU library was seen"));
  const auto exits = shell(
      "echo \"$(date -u +%Y-%m-%d) cuDevicePrimaryCtxRelease#310 [23:59:59.999][7][CUDA][E] Returning 4 "
      "(CUDA_ERROR_DEINITIALIZED) from cuDevicePrimaryCtxRelease\" > $CUFAULT_WATCH/pid7.log; exit 1");
  EXPECT_THAT(exits.stderr_text, HasSubstr("No failure of a GPU library was seen")) << "it is ending";
}

/// As a process writes it, today and late.
std::string line_of_process(const std::string& call, const std::string& who, const std::string& text) {
  return "echo \"$(date -u +%Y-%m-%d) " + call + " [23:59:59.999][7][" + who + "][E] " + text +
         "\" >> $CUFAULT_WATCH/pid7.log; ";
}
const std::string refused_question =
    line_of_process("cudnnBackendFinalize#3", "CUDA",
                    "Returning 719 (CUDA_ERROR_LAUNCH_FAILED) from cuInit") +
    line_of_process("cudnnBackendFinalize#3", "cudnn", "returned CUDNN_STATUS_NOT_SUPPORTED to libtorch.so");

TEST_F(why_command, takes_no_refused_question_for_the_failure_behind_which_the_program_tells_another) {
  const std::string exception =
      "printf 'Traceback (most recent call last):\n  File \"a.py\", line 1, in b\n    c()\nValueError: d\n' "
      ">&2; exit 1";
  const auto said = shell(refused_question + exception);
  EXPECT_THAT(said.stderr_text, HasSubstr("No failure of a GPU library was seen"));
  EXPECT_THAT(said.stderr_text, Not(HasSubstr("failed call")));
  EXPECT_THAT(said.stderr_text, Not(HasSubstr("driver call")));
  const std::string failure =
      line_of_process("cublasCreate_v2#4", "cublas", "returned CUBLAS_STATUS_ALLOC_FAILED to libtorch.so");
  EXPECT_THAT(shell(refused_question + failure + exception).stderr_text,
              HasSubstr("Failed call  cublasCreate_v2 returned CUBLAS_STATUS_ALLOC_FAILED"));
}

TEST_F(why_command, takes_a_refused_question_where_the_program_tells_its_status_or_nothing) {
  const std::string call = "Failed call  cudnnBackendFinalize returned CUDNN_STATUS_NOT_SUPPORTED to ";
  EXPECT_THAT(shell(refused_question + "exit 1").stderr_text, HasSubstr(call));
  EXPECT_THAT(
      shell(refused_question + "printf 'Traceback (most recent call last):\n  File \"a.py\", line 1, in b\n"
                               "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_SUPPORTED\n' >&2; exit 1")
          .stderr_text,
      HasSubstr(call));
}

TEST_F(why_command, shows_no_driver_call_before_the_failed_call_that_came_after_it) {
  const std::string failed =
      line_of_process("cublasCreate_v2#4", "cublas", "returned CUBLAS_STATUS_ALLOC_FAILED to a");
  const std::string driver =
      line_of_process("-", "CUDA", "Returning 719 (CUDA_ERROR_LAUNCH_FAILED) from cuMemFree_v2");
  EXPECT_THAT(shell(failed + driver + "exit 1").stderr_text, Not(HasSubstr("before it")));
  EXPECT_THAT(shell(driver + failed + "exit 1").stderr_text,
              HasSubstr("Before it    cuMemFree_v2: LAUNCH_FAILED\n"));
}

TEST_F(why_command, passes_input_and_output_on_as_they_are) {
  // The same pipe for both: their order is kept.
  const std::string script = folder.path() / "script";
  std::ofstream(script)
      << "while read -r line; do echo out $line; echo err $line >&2; done; printf '\\000\\377 end'";
  spawn_options started;
  started.argv = {"/bin/sh", "-c",
                  "seq 300 | " + std::string(TEST_PROGRAM) + " why -- sh " + script + " 2>&1"};
  started.keep_output = 1U << 20;
  const auto said = run_process(started, {});
  std::string expected;
  for (int i = 1; i <= 300; ++i) expected += "out " + std::to_string(i) + "\nerr " + std::to_string(i) + "\n";
  expected += std::string("\0\377 end", 6);
  EXPECT_THAT(said.stdout_text, StartsWith(expected));
}

TEST_F(why_command, passes_on_a_flood_in_bounded_memory) {
  constexpr long bytes = 300'000'000;
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    execl(TEST_PROGRAM, TEST_PROGRAM, "why", "--", probe.c_str(), "flood", std::to_string(bytes).c_str(),
          nullptr);
    _exit(125);
  }
  close(ends[1]);
  std::vector<char> piece(1 << 20);
  long arrived = 0;
  for (ssize_t got = 0; (got = read(ends[0], piece.data(), piece.size())) > 0;)
    arrived += std::count(piece.begin(), piece.begin() + got, 'x');
  close(ends[0]);
  int status = 0;
  rusage used{};
  wait4(child, &status, 0, &used);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(arrived, bytes / 100 * 99);
#ifndef SANITIZED
  EXPECT_LT(used.ru_maxrss, 100'000) << "kilobytes";
#endif
}

TEST_F(why_command, loses_nothing_of_processes_that_the_command_leaves) {
  // It writes once the answer is there.
  const std::string done = folder.path() / "done";
  const std::string late = "(while test ! -e " + done + "; do sleep 0.01; done; echo late >&2) & exit 3";
  const std::string all = printed_by(std::string(TEST_PROGRAM) + " why -- sh -c '" + late +
                                     "' 2>&1; echo exit code $?; touch " + done);
  EXPECT_THAT(lines_of(all), testing::IsSupersetOf({"exit code 3", "late"}));
}

TEST_F(why_command, says_nothing_of_a_process_whose_first_call_comes_when_the_folder_is_removed) {
  const std::string done = folder.path() / "done";
  const std::string late =
      "(while test ! -e " + done + "; do sleep 0.01; done; " + probe + " product; echo late >&2) & exit 0";
  const std::string all =
      printed_by(std::string(TEST_PROGRAM) + " why -- sh -c '" + late + "' 2>&1; touch " + done);
  EXPECT_THAT(lines_of(all), testing::UnorderedElementsAre(HasSubstr(" succeeded after "), "late"));
}

TEST_F(why_command, holds_no_standard_output_for_processes_that_the_command_leaves) {
  // That of the substitution is read to its end; the process that is left holds standard error alone, for 20 s at most.
  const std::string done = folder.path() / "done", script = folder.path() / "script";
  std::ofstream(script) << "(n=0; while test ! -e " << done
                        << " && test $n -lt 2000; do sleep 0.01; n=$((n+1)); done; test -e " << done
                        << " || echo held >&2) > /dev/null < /dev/null &\n";
  const std::string all = printed_by("{ x=$(" + std::string(TEST_PROGRAM) + " why -- sh " + script +
                                     "); echo read; touch " + done + "; } 2>&1 | cat");
  EXPECT_THAT(all, HasSubstr("read\n"));
  EXPECT_THAT(all, Not(HasSubstr("held")));
}

TEST_F(why_command, goes_on_where_the_command_closes_its_standard_error) {
  const auto said = shell("exec 2>&-; echo still; exit 4");
  EXPECT_EQ(said.exit_code, 4);
  EXPECT_EQ(said.stdout_text, "still\n");
}

TEST_F(why_command, writes_each_message_of_the_driver_once) {
  const auto said = why({probe, "many"}, {{"FAKE_BLAS_FAILS", "1"}, {"CUDA_LOG_FILE", "/dev/null"}});
  EXPECT_THAT(said.stderr_text, HasSubstr("Inside it    cuEventRecord: INVALID_HANDLE"))
      << "within the call it is another message";
  EXPECT_LT(file_of_a_process(said).size(), 4000U);
}

TEST_F(why_command, tells_of_a_process_that_dies) {
  const auto said = why({probe, "dies"});
  EXPECT_EQ(said.exit_code, 128 + SIGSEGV);
  EXPECT_THAT(said.stderr_text, HasSubstr("ended by signal 11 (Segmentation"));
  EXPECT_THAT(said.stderr_text, HasSubstr("Driver call  cuEventRecord: INVALID_HANDLE"));
}

TEST_F(why_command, prints_what_trace_prints_only_if_asked) {
  EXPECT_THAT(why({probe, "product"}).stderr_text, Not(HasSubstr("driver calls")));
  const auto said = why({probe, "product"}, {{"FAKE_BLAS_FAILS", "1"}}, {"-v"});
  EXPECT_THAT(said.stderr_text, HasSubstr("driver calls, by the library that resolved the function"));
  EXPECT_THAT(said.stderr_text, HasSubstr("Inside it    cuEventRecord"));
}

/// One that runs, of which standard error is read meanwhile.
class running_why {
 public:
  explicit running_why(const std::vector<std::string>& words, bool terminal = false) {
    std::array<int, 2> ends{};
    if (terminal) {
      winsize size{.ws_row = 20, .ws_col = 77, .ws_xpixel = 0, .ws_ypixel = 0};
      pid_ = forkpty(&read_, nullptr, nullptr, &size);
    } else {
      if (pipe(ends.data()) != 0) return;
      read_ = ends[0];
      pid_ = fork();
    }
    if (pid_ != 0) {
      if (!terminal) close(ends[1]);
      return;
    }
    if (!terminal) dup2(ends[1], STDERR_FILENO);
    std::vector<char*> argv;
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    execv(argv[0], argv.data());
    _exit(125);
  }
  ~running_why() { close(read_); }
  running_why(const running_why&) = delete;
  running_why& operator=(const running_why&) = delete;
  /// Until that was said, or nothing more comes.
  const std::string& read_until(const std::string& words) {
    pollfd ready{read_, POLLIN, 0};
    std::array<char, 4096> piece;
    while (said_.find(words) == std::string::npos && poll(&ready, 1, 60'000) == 1) {
      const ssize_t got = read(read_, piece.data(), piece.size());
      if (got <= 0) break;
      said_.append(piece.data(), static_cast<std::size_t>(got));
    }
    return said_;
  }
  void send(int signal) const { kill(pid_, signal); }
  int exit_code() const {
    int status = 0;
    waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = -1;
  int read_ = -1;
  std::string said_;
};

TEST_F(why_command, says_where_threads_wait_and_does_not_end_them) {
  running_why hangs(words_of({"--after", "2s"}, {probe, "hang_in_threads"}));
  EXPECT_THAT(hangs.read_until("the command goes on\n"), HasSubstr("cufault why: after 2 s: "));
  hangs.read_until(": in cuCtxSynchronize for ");
  hangs.send(SIGQUIT);
  const std::string said = hangs.read_until("SIGQUIT: where threads wait");
  EXPECT_THAT(said, HasSubstr("SIGQUIT: where threads wait in CUDA; the command goes on"));
  hangs.send(SIGTERM);
  EXPECT_THAT(hangs.read_until("Full log: "), HasSubstr("ended by signal 15"));
  EXPECT_THAT(hangs.read_until("Full log: "), HasSubstr("Ended in     cuCtxSynchronize (thread "));
  EXPECT_EQ(hangs.exit_code(), 128 + SIGTERM);
}

TEST_F(why_command, tells_of_no_thread_of_a_process_that_has_ended) {
  running_why outlives(
      words_of({}, {"sh", "-c",
                    "FAKE_TELLS=1 " + probe +
                        " hang & echo pid $! began >&2; wait $!; echo it ended >&2; exec sleep 600"}));
  const std::string began = outlives.read_until(" began");
  const pid_t hangs = std::stoi(began.substr(began.find("pid ") + 4));
  outlives.read_until("fake: waits");
  outlives.send(SIGQUIT);
  EXPECT_THAT(outlives.read_until("in cuCtxSynchronize for"),
              HasSubstr("  pid " + std::to_string(hangs) + " thread "));
  kill(hangs, SIGKILL);
  outlives.read_until("it ended\n");
  outlives.send(SIGQUIT);
  EXPECT_THAT(outlives.read_until("  none: "), HasSubstr("the command goes on\n  none: "));
  outlives.send(SIGTERM);
  EXPECT_THAT(outlives.read_until("Full log: "), HasSubstr("ended by signal 15"));
  EXPECT_THAT(outlives.read_until("Full log: "), Not(HasSubstr("ended in")));
  EXPECT_EQ(outlives.exit_code(), 128 + SIGTERM);
}

TEST_F(why_command, says_so_where_no_call_was_made_yet) {
  running_why imports(words_of({"--after", "0.2s"}, {"sleep", "600"}));
  EXPECT_THAT(imports.read_until("asks again"),
              testing::AllOf(HasSubstr(": after 0.2 s: "), HasSubstr("  none: no process has made a call")));
  imports.send(SIGTERM);
  EXPECT_EQ(imports.exit_code(), 128 + SIGTERM);
}

TEST_F(why_command, names_the_rank_that_failed_first_where_each_rank_is_started_by_it) {
  const std::string go_on = folder.path() / "go_on";
  setenv("TORCHELASTIC_RUN_ID", "a job", 1);
  setenv("FAKE_BLAS_FAILS", "1", 1);
  setenv("RANK", "0", 1);
  running_why later(words_of({}, {"sh", "-c",
                                  "echo began >&2; while test ! -e " + go_on +
                                      "; do sleep 0.01; done; exec " + probe + " product"}));
  later.read_until("began");
  const auto first = why({probe, "product"}, {{"RANK", "1"}});
  std::ofstream{go_on} << "now";
  EXPECT_THAT(first.stderr_text, HasSubstr("Who          rank 1, pid "));
  EXPECT_THAT(later.read_until("Full log: "), HasSubstr("Who          rank 1, pid "));
  EXPECT_EQ(later.exit_code(), 1);
  for (const char* name : {"TORCHELASTIC_RUN_ID", "FAKE_BLAS_FAILS", "RANK"}) unsetenv(name);
}

TEST_F(why_command, mixes_no_commands_of_a_shell_in_an_allocation_or_of_jobs_without_a_name) {
  // The log of another command, which failed while this one runs.
  const std::string other =
      "mkdir -p $CUFAULT_WATCH/../other; cd $CUFAULT_WATCH/../other; CUFAULT_WATCH=$PWD; " +
      line_of_process("cublasCreate_v2#4", "cublas", "returned CUBLAS_STATUS_ALLOC_FAILED to a") + "exit 1";
  using all = variables;
  for (const all& alone : {all{{"SLURM_JOB_ID", "7"}}, all{{"SLURM_JOB_ID", "7"}, {"SLURM_PROCID", "0"}},
                           all{{"SLURM_JOB_ID", "7"},
                               {"SLURM_PROCID", "0"},
                               {"SLURM_STEP_ID", "4294967290"},
                               {"SLURM_STEP_NUM_TASKS", "1"}},
                           all{{"TORCHELASTIC_RUN_ID", "none"}}})
    EXPECT_THAT(shell(other, alone).stderr_text, Not(HasSubstr("failed call")));
  const auto beside = shell(other, {{"SLURM_JOB_ID", "7"}, {"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "0"}});
  EXPECT_THAT(beside.stderr_text, HasSubstr("Failed call  cublasCreate_v2 "));
  EXPECT_THAT(beside.stderr_text, HasSubstr("Who          pid 7 failed first"));
  const auto folder_of = [](const variables& job) { return log_of(shell("exit 1", job)).parent_path(); };
  const variables none{{"TORCHELASTIC_RUN_ID", "none"}, {"RANK", "0"}};
  EXPECT_EQ(folder_of(none), folder_of(none)) << "by the process that started them";
  EXPECT_THAT(folder_of(none).string(), HasSubstr("none-" + std::to_string(getpid())));
}

TEST_F(why_command, keeps_the_log_where_a_signal_ends_it_during_the_answer) {
  // It waits for a reader of the answer.
  running_why fails(
      words_of({}, {"sh", "-c", "mkfifo $CUFAULT_WATCH/answer.txt; echo $CUFAULT_WATCH >&2; exit 3"}));
  const std::string said = fails.read_until("\n");
  const fs::path log = said.substr(0, said.find('\n'));
  while (!fs::exists(log / "output.log")) usleep(10'000);
  fails.send(SIGINT);
  EXPECT_EQ(fails.exit_code(), -1);
  EXPECT_TRUE(fs::exists(log / "output.log"));
}

TEST_F(why_command, leaves_a_terminal_a_terminal) {
  running_why runs(words_of({}, {probe, "terminals"}), true);
  EXPECT_THAT(runs.read_until("Full log: "), StartsWith("111 77\r\n"));
  EXPECT_EQ(runs.exit_code(), 3);
}

#ifndef SANITIZED  // the inner one would have a library in front of its sanitizer
TEST_F(why_command, lets_an_outer_one_tell) {
  const auto said = why({TEST_PROGRAM, "why", "--", probe, "product"}, {{"FAKE_BLAS_FAILS", "1"}});
  EXPECT_EQ(said.exit_code, 1);
  const auto lines = answer(said);
  EXPECT_EQ(
      std::count_if(lines.begin(), lines.end(), [](const auto& l) { return l.starts_with("cufault why: "); }),
      1);
  EXPECT_THAT(said.stderr_text, HasSubstr("Inside it    cuEventRecord: INVALID_HANDLE"));
}
#endif

}  // namespace
}  // namespace cufault
