// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Cases of a framework from the command line to the record, with small hostile programs in place of PyTorch.
#include "harness/cli/tests/end_to_end.hpp"
#include "reports/base/json_input.hpp"

#include <nlohmann/json.hpp>

#include <sys/stat.h>

#include <set>

namespace cufault {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class frameworks : public end_to_end {
 protected:
  void SetUp() override {
    end_to_end::SetUp();
    add_python("python", "packages");
    fs::create_directories(folder / "packages" / "torch");
  }
  /// An interpreter without site-packages, whatever this machine has there, that finds the packages of a folder.
  void add_python(const fs::path& name, const fs::path& packages) {
    std::ofstream(folder / name) << "#!/bin/sh\nPYTHONPATH='" << (folder / packages).string()
                                 << "' exec '" PYTHON3 "' -S \"$@\"\n";
    ASSERT_EQ(chmod((folder / name).c_str(), 0755), 0);
  }
  /// A torch that can be imported, and of which no function works; `begins`: what it does first.
  void fake_torch(const std::string& begins) {
    quiet_torch("packages", "Anything.__call__ = lambda self, *given, **named: act()\n", begins);
  }
  /// One whose functions do nothing and whose numbers are all right. `ends`: what is defined beside them.
  void quiet_torch(const fs::path& packages, const std::string& ends = {}, const std::string& begins = {}) {
    write_torch(packages, begins + read_text(FRAMEWORKS "/../../tests/fake_torch.py") + ends);
  }
  void write_torch(const fs::path& packages, const std::string& text) {
    fs::create_directories(folder / packages / "torch");
    std::ofstream(folder / packages / "torch" / "__init__.py") << text;
  }
  void add_package(const fs::path& packages, const std::string& name, const std::string& version) {
    const fs::path about = folder / packages / (name + "-" + version + ".dist-info");
    fs::create_directories(about);
    std::ofstream(about / "METADATA")
        << "Metadata-Version: 2.1\nName: " << name << "\nVersion: " << version << "\n";
  }
  process_result run_frameworks(std::vector<std::string> more) {
    more.insert(more.end(), {"--python", folder / "python"});
    return run(std::move(more), crash_by_signal());
  }
  observation trial_of(const std::string& name) {
    seen_ = load_record(files(".jsonl").at(0));
    return arm_of(seen_, name).trials.at(0);
  }
  /// A trial with a torch that begins with `before` in the process that looks, and with `then` in those of trials.
  observation second_import(const std::string& before, const std::string& then) {
    fs::remove_all(folder / "records");
    fs::remove(folder / "packages" / "seen");
    quiet_torch("packages", "",
                "import ctypes, os\nhere = os.environ['PYTHONPATH'] + '/'\n"
                "if not os.path.exists(here + 'seen'):\n    " +
                    before + "\nelse:\n    " + then + "\nopen(here + 'seen', 'w').close()\n");
    run_frameworks({"pytorch.on_the_cpu"});
    return trial_of("mixed_types");
  }

 private:
  record seen_;
};

TEST_F(frameworks, need_a_python) {
  const auto seen = run({"pytorch.on_the_cpu"});
  EXPECT_EQ(seen.exit_code, 77);
  EXPECT_THAT(seen.stdout_text, HasSubstr("needs a Python: cufault run --python /path/to/env/bin/python"));
}

TEST_F(frameworks, that_are_absent_keep_no_other_case_from_running) {
  fs::remove_all(folder / "packages" / "torch");
  const auto seen = run_frameworks({"pytorch.on_the_cpu", "road.create"});
  EXPECT_EQ(seen.exit_code, 0) << seen.stderr_text;
  EXPECT_THAT(seen.stdout_text, HasSubstr("has no PyTorch"));
  EXPECT_EQ(trial_of("fault").calls.size(), 1U);
}

TEST_F(frameworks, that_fail_are_told_step_by_step_whatever_they_print) {
  fake_torch(R"(
import os, signal, sys
print("CF1 3\n{}" * 1000)
os.write(1, b"more")
sys.stdin.close()
for number in (signal.SIGTERM, signal.SIGSEGV, signal.SIGINT):
    signal.signal(number, lambda *_: None)
def act():
    print("noise")
    raise RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`")
)");
  const auto seen = run_frameworks({"pytorch.on_the_cpu", "--separate"});
  EXPECT_EQ(seen.stragglers, 0);
  EXPECT_THAT(seen.stdout_text, HasSubstr("UNRESOLVED")) << "the control fails";
  const observation& o = trial_of("mixed_types");
  EXPECT_EQ(o.ended, outcome::completed) << o.why;
  ASSERT_EQ(o.calls.size(), 2U);
  EXPECT_EQ(describe(o.calls[0].what),
            "torch.matmul fp32_by_fp64: CUBLAS_STATUS_ALLOC_FAILED (exception RuntimeError; named call "
            "cublasCreate)");
  EXPECT_EQ(o.calls[1].what.name.variant, "next");
  EXPECT_EQ(o.notes.at(0).name, "torch.matmul fp32_by_fp64");
  EXPECT_EQ(o.context, "none");
  EXPECT_THAT(o.stdout_text, AllOf(HasSubstr("more"), HasSubstr("noise")));
  EXPECT_FALSE(trial_of("integer_weights+float").applied.empty());
}

TEST_F(frameworks, that_crash_end_the_process_of_one_trial) {
  fake_torch(R"(
import os, signal
def act():
    os.kill(os.getpid(), signal.SIGSEGV)
)");
  const auto seen = run_frameworks({"pytorch.on_the_cpu"});
  EXPECT_EQ(seen.stragglers, 0);
  for (const char* name : {"mixed_types", "incompatible_shapes"}) {
    const observation& o = trial_of(name);
    EXPECT_EQ(o.ended, outcome::crashed) << o.why;
    EXPECT_EQ(o.why, "SIGSEGV");
  }
}

TEST_F(frameworks, that_end_the_interpreter_are_told_from_those_that_return) {
  fake_torch("import os\ndef act():\n    os._exit(7)\n");
  run_frameworks({"pytorch.on_the_cpu"});
  EXPECT_EQ(trial_of("mixed_types").ended, outcome::crashed);
  EXPECT_EQ(trial_of("mixed_types").why, "exit 7");
}

TEST_F(frameworks, that_hang_in_a_trial_are_ended_and_the_other_arms_go_on) {
  quiet_torch("packages", R"(
import signal
def bmm(*given):
    while True:
        signal.pause()
)");
  for (const bool separate : {false, true}) {
    fs::remove_all(folder / "records");
    std::vector<std::string> words{"pytorch.operations", "--jobs", "1"};
    if (separate) words.emplace_back("--separate");
    const auto seen = run_frameworks(words);
    EXPECT_EQ(seen.exit_code, 0) << seen.stderr_text;
    EXPECT_EQ(seen.stragglers, 0);
    EXPECT_EQ(trial_of("bmm").ended, outcome::timed_out) << trial_of("bmm").why;
    for (const char* other : {"control", "addmm"}) {
      EXPECT_EQ(trial_of(other).ended, outcome::completed) << trial_of(other).why;
      EXPECT_FALSE(trial_of(other).calls.empty());
    }
  }
}

TEST_F(frameworks, leave_out_a_remedy_where_nothing_fails_by_an_expectation_of_this_stack) {
  quiet_torch("packages", R"(
class Layer(Anything):
    def __init__(self, *given, **named):
        pass
nn.Linear = Layer
nn.functional = Anything()
)");
  add_package("packages", "torch", "2.11.0");
  const auto left_out = [&](const std::vector<std::string>& more) {
    fs::remove_all(folder / "records");
    std::vector<std::string> words{"pytorch.on_the_cpu"};
    words.insert(words.end(), more.begin(), more.end());
    run_frameworks(words);
    return load_record(files(".jsonl").at(0)).left_out;
  };
  ASSERT_EQ(left_out({}), 0U) << "nothing is recorded yet";
  fs::copy_file(files(".jsonl").at(0), folder / "made.jsonl");
  ASSERT_EQ(add(folder / "made.jsonl").exit_code, 0);
  EXPECT_EQ(left_out({}), 1U) << "integer_weights+float";
  EXPECT_EQ(left_out({"--tier", "nightly"}), 0U);
  EXPECT_EQ(left_out({"pytorch.on_the_cpu/integer_weights+float"}), 0U) << "it is named";
}

TEST_F(frameworks, without_a_cublas_of_their_own_get_the_loaders_and_that_is_said) {
  quiet_torch("packages");
  const fs::path given = fs::path(fake_cublas_folder) / "a";
  const auto run_it = [&](const std::string& library_path) {
    return cufault({"run", "--records", folder / "records", "--baseline", folder / "baseline", "road.create",
                    "pytorch.on_the_cpu", "--python", folder / "python"},
                   {{"LD_LIBRARY_PATH", library_path}});
  };
  const auto seen = run_it(given);
  EXPECT_EQ(seen.exit_code, 0) << seen.stderr_text;
  const std::string taken = (*load_record(files(".jsonl").at(0)).stack)["cublas"]["path"];
  EXPECT_EQ(fs::path(taken).parent_path(), given);
  EXPECT_THAT(seen.stderr_text,
              HasSubstr("python has no cuBLAS of its own (no package nvidia-cublas, none in "));
  EXPECT_THAT(seen.stderr_text, HasSubstr(": taken is the loader's, " + taken + "\n"));
}

TEST_F(frameworks, with_a_cublas_of_their_own_or_one_that_is_named_get_that) {
  quiet_torch("packages");
  add_package("packages", "nvidia-cublas", "13.1");
  fs::create_directories(folder / "packages" / "nvidia" / "cu13");
  fs::create_directory_symlink(fs::path(fake_cublas_folder) / "b",
                               folder / "packages" / "nvidia" / "cu13" / "lib");
  std::ofstream(folder / "packages" / "nvidia-cublas-13.1.dist-info" / "RECORD")
      << "nvidia/cu13/lib/libcublas.so.13,,\n";
  const std::vector<std::string> words{
      "run",      "--records",      folder / "records", "road.create", "pytorch.on_the_cpu",
      "--python", folder / "python"};
  const auto own = cufault(words);
  EXPECT_EQ(own.exit_code, 0) << own.stderr_text;
  EXPECT_THAT(own.stderr_text, Not(HasSubstr("no cuBLAS of its own")));
  const auto folder_of = [&] {
    return fs::path((*load_record(files(".jsonl").back()).stack)["cublas"]["path"].get<std::string>())
        .parent_path();
  };
  EXPECT_EQ(folder_of(), fs::path(fake_cublas_folder) / "b");
  fs::remove_all(folder / "records");
  fs::remove_all(folder / "packages" / "nvidia-cublas-13.1.dist-info");
  const auto named = run_frameworks({"road.create", "pytorch.on_the_cpu"});
  EXPECT_THAT(named.stderr_text, Not(HasSubstr("no cuBLAS of its own")));
  EXPECT_EQ(folder_of(), fs::path(fake_cublas_folder) / "a");
}

TEST_F(frameworks, share_an_interpreter_and_are_processes_of_their_own) {
  fake_torch(R"(
import os
with open(os.environ["PYTHONPATH"] + "/imports", "a") as file:
    file.write("x")
print("imported")
def act():
    print("process", os.getpid())
    raise RuntimeError("no")
)");
  const auto seen = run_frameworks({"pytorch.on_the_cpu", "--jobs", "1"});
  EXPECT_NE(trial_of("mixed_types").stdout_text, trial_of("integer_model").stdout_text);
  EXPECT_EQ(read_text(folder / "packages" / "imports"), "xx") << "one to look, one for all trials";
}

TEST_F(frameworks, that_touch_cuda_when_imported_get_an_interpreter_for_each_trial) {
  fake_torch(R"(
import ctypes, os
ctypes.CDLL(")" FAKE_DRIVER R"(/libcuda.so.1").cuInit(0)
with open(os.environ["PYTHONPATH"] + "/imports", "a") as file:
    file.write("x")
def act():
    raise RuntimeError("no")
)");
  run_frameworks({"pytorch.on_the_cpu", "--jobs", "1"});
  EXPECT_EQ(trial_of("mixed_types").ended, outcome::completed) << trial_of("mixed_types").why;
  EXPECT_EQ(trial_of("mixed_types").calls.size(), 2U);
  std::size_t trials = 0;
  const record made = load_record(files(".jsonl").at(0));
  for (const arm_result& a : made.cases.at(0).arms) trials += a.trials.size();
  EXPECT_EQ(read_text(folder / "packages" / "imports"), std::string(2 + trials, 'x'))
      << "one to look, one to fork from, and one for each trial";
}

TEST_F(frameworks, of_another_version_than_the_stack_says_fail_the_trial) {
  const observation other = second_import("__version__ = '2.11.0'", "__version__ = '2.14.1'");
  EXPECT_EQ(other.ended, outcome::harness_failed);
  EXPECT_EQ(other.why, "version of the imported torch is '2.14.1', and the stack says '2.11.0'");
  EXPECT_TRUE(other.calls.empty());
  const observation same = second_import("__version__ = '2.11.0'", "__version__ = '2.11.0'");
  EXPECT_EQ(same.ended, outcome::completed) << same.why;
}

TEST_F(frameworks, with_another_library_than_the_stack_says_fail_the_trial) {
  for (const char* name : {"a", "b"}) {
    fs::create_directories(folder / "packages" / name);
    fs::copy_file(FAKE_DRIVER "/libcuda.so.1", folder / "packages" / name / "libcublas.so.13");
  }
  const auto loads = [](const std::string& name) {
    return "ctypes.CDLL(here + '" + name + "/libcublas.so.13')";
  };
  const observation other = second_import(loads("a"), loads("b"));
  EXPECT_EQ(other.ended, outcome::harness_failed);
  EXPECT_EQ(other.why, fs::canonical(folder / "packages/b/libcublas.so.13").string() +
                           " is in the process, and the stack says another libcublas.so.13");
  for (const std::string& then : {loads("a"), loads("a") + "; " + loads("b"), std::string("pass")})
    EXPECT_EQ(second_import(loads("a"), then).ended, outcome::completed) << then;
}

TEST_F(frameworks, of_two_pythons_have_a_record_each) {
  quiet_torch("packages");
  quiet_torch("others");
  add_package("packages", "torch", "2.11.0");
  add_package("others", "torch", "2.12.0");
  add_python("other_python", "others");
  const auto seen = run_frameworks({"pytorch.on_the_cpu", "--python", folder / "other_python"});
  EXPECT_EQ(seen.exit_code, 0) << seen.stderr_text;
  const auto made = files(".jsonl");
  ASSERT_EQ(made.size(), 2U);
  std::set<std::string> versions;
  for (const auto& file : made) versions.insert((*load_record(file).stack)["keys"]["pytorch"]);
  EXPECT_THAT(versions, testing::ElementsAre("2.11.0", "2.12.0"));
}

TEST_F(frameworks, of_two_pythons_make_no_single_report) {
  EXPECT_THAT(run_frameworks({"pytorch.on_the_cpu", "--json", "--python", folder / "python"}).stderr_text,
              HasSubstr("give one --python with them"));
}

TEST_F(frameworks, with_a_python_that_is_none_are_bad_input_before_anything_runs) {
  quiet_torch("packages");
  const auto refused = [&](const process_result& seen, const std::string& python) {
    expect_refused(seen, "cufault: " + python + " is no usable Python 3: ");
    EXPECT_TRUE(files(".jsonl").empty());
  };
  const std::string nothing = folder / "nothing";
  refused(run_frameworks({"pytorch.on_the_cpu", "road.create", "--python", nothing}), nothing);
  refused(run({"road.create", "--python", "/bin/true"}), "/bin/true");
  refused(run({"road.create"}, {{"CUFAULT_PYTHON", nothing}}), nothing);
}

TEST_F(frameworks, that_are_gone_fail_the_gate_with_the_arms_named) {
  quiet_torch("packages");
  add_package("packages", "torch", "2.11.0");
  ASSERT_EQ(run_frameworks({"pytorch.on_the_cpu"}).exit_code, 0);
  ASSERT_EQ(add(files(".jsonl").at(0)).exit_code, 0);
  fs::remove_all(folder / "packages" / "torch");
  const auto seen = run_frameworks({"pytorch.on_the_cpu", "--mode", "gate"});
  EXPECT_EQ(seen.exit_code, 1) << seen.stdout_text;
  EXPECT_THAT(seen.stdout_text,
              HasSubstr("arms recorded on this stack NOT_PROVOKED, and --not-provoked-budget is 0: "
                        "pytorch.on_the_cpu/"));
  const auto json =
      nlohmann::json::parse(run_frameworks({"pytorch.on_the_cpu", "--mode", "gate", "--json"}).stdout_text);
  EXPECT_EQ(json["reasons"][0]["exit_code"], 1);
  EXPECT_GT(json["reasons"][0]["arms"].size(), 1U);
}

/// Two environments, whose frameworks are fakes.
class gate_of_pythons : public frameworks {
 protected:
  void SetUp() override {
    frameworks::SetUp();
    for (const char* packages : {"before", "after"}) {
      add_python(std::string("python_") + packages, packages);
      quiet_torch(packages);
      add_package(packages, "numpy", "2.5.2");
    }
    add_package("before", "torch", "2.11.0");
  }
  process_result gate(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"gate", "--records", folder / "records", "--cublas",
                               fs::path(fake_cublas_folder) / "a", "--baseline-python",
                               folder / "python_before", "--candidate-python", folder / "python_after"});
    return cufault(more);
  }
};

TEST_F(gate_of_pythons, passes_between_equal_ones) {
  add_package("after", "torch", "2.11.0");
  const auto seen = gate();
  EXPECT_EQ(seen.exit_code, 0) << seen.stdout_text << seen.stderr_text;
  EXPECT_THAT(seen.stdout_text, HasSubstr("gate: passed"));
  EXPECT_THAT(seen.stderr_text, HasSubstr("The packages that matter are equal."));
  EXPECT_EQ(files(".jsonl").size(), 2U);
}

TEST_F(gate_of_pythons, tells_first_which_packages_differ) {
  add_package("after", "torch", "2.12.0");
  const auto seen = gate({"--json"});
  EXPECT_EQ(seen.exit_code, 0) << seen.stderr_text;
  EXPECT_THAT(seen.stderr_text, HasSubstr("torch 2.11.0 → 2.12.0"));
  EXPECT_THAT(seen.stderr_text, Not(HasSubstr("numpy")));
  const auto report = nlohmann::json::parse(seen.stdout_text);
  EXPECT_EQ(report["stacks"][0]["name"], "pytorch");
  EXPECT_EQ(report["stacks"][0]["values"], nlohmann::json({"2.11.0", "2.12.0"}));
}

TEST_F(gate_of_pythons, tells_what_is_imported_where_the_metadata_are_of_another_folder) {
  quiet_torch("before", "", "__version__ = '2.11.0'\n");
  quiet_torch("after", "", "__version__ = '2.14.1'\n");
  add_python("python_after", "after:" + (folder / "before").string());
  const auto seen = gate();
  EXPECT_THAT(seen.stderr_text,
              AllOf(HasSubstr("torch 2.11.0 → 2.14.1"), HasSubstr("metadata of pytorch - → 2.11.0"),
                    HasSubstr("; its metadata say 2.11.0; another is in "), Not(HasSubstr("are equal"))));
  const auto made = files(".jsonl");
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ((*load_record(made[1]).stack)["keys"]["pytorch"], "2.14.1");
  EXPECT_THAT(seen.stdout_text, Not(HasSubstr("stacks are equal")));
}

TEST_F(gate_of_pythons, refuses_two_that_import_the_same_files) {
  const auto refused = [&] {
    expect_refused(gate(), "both Pythons import the same files: " +
                               fs::canonical(folder / "before/torch/__init__.py").string());
    EXPECT_TRUE(files(".jsonl").empty());
  };
  fs::remove_all(folder / "after");
  fs::create_directory_symlink(folder / "before", folder / "after");
  refused();
  fs::remove(folder / "after");
  fs::create_directories(folder / "after/torch");
  fs::create_hard_link(folder / "before/torch/__init__.py", folder / "after/torch/__init__.py");
  add_package("after", "torch", "2.11.0");
  add_package("after", "numpy", "2.5.2");
  refused();
  add_package("after", "nvidia-cudnn-cu13", "9.24");
  refused();
}

TEST_F(gate_of_pythons, says_that_a_copy_is_the_same_build) {
  for (const char* packages : {"before", "after"})
    quiet_torch(packages, "version.git_version = 'abc'\n", "__version__ = '2.11.0'\n");
  const std::string one = "pytorch of both looks like one build at two places";
  EXPECT_THAT(gate().stderr_text, HasSubstr(one));
  quiet_torch("after", "version.git_version = 'abd'\n", "__version__ = '2.11.0'\n");
  EXPECT_THAT(gate().stderr_text, Not(HasSubstr(one)));
  for (const char* packages : {"before", "after"}) quiet_torch(packages, "", "__version__ = '2.11.0'\n");
  EXPECT_THAT(gate().stderr_text, HasSubstr(one)) << "others have no git version";
}

TEST_F(gate_of_pythons, refuses_one_without_cuda_where_the_other_has_a_gpu) {
  const std::string has_gpu = "version.cuda = '13.0'\ncuda.is_available = staticmethod(lambda: True)\n";
  const std::string why = "PyTorch has no GPU: this PyTorch was built without CUDA";
  quiet_torch("before", has_gpu);
  auto seen = gate();
  EXPECT_EQ(seen.exit_code, 1);
  EXPECT_THAT(seen.stderr_text,
              HasSubstr("--candidate-python " + (folder / "python_after").string() + ": " + why));
  quiet_torch("before");
  quiet_torch("after", has_gpu);
  seen = gate();
  EXPECT_EQ(seen.exit_code, 2);
  EXPECT_THAT(seen.stderr_text,
              HasSubstr("--baseline-python " + (folder / "python_before").string() + ": " + why));
  quiet_torch("after");
  expect_refused(gate({"pytorch.operations/on_a_gpu"}), why);
  EXPECT_TRUE(files(".jsonl").empty());
}

TEST_F(gate_of_pythons, fails_where_a_failure_is_another_one) {
  add_package("after", "torch", "2.11.0");
  quiet_torch("after", "nn.functional = Anything()\n");
  const auto seen = gate();
  EXPECT_EQ(seen.exit_code, 1) << seen.stdout_text;
  EXPECT_THAT(seen.stdout_text, HasSubstr("pytorch.on_the_cpu/index_out_of_range"));
}

TEST_F(gate_of_pythons, is_unresolved_where_the_candidate_crashes_in_its_control) {
  quiet_torch("after", "def matmul(*given):\n    import os\n    os.abort()\n");
  EXPECT_EQ(gate().exit_code, 2);
}

TEST_F(gate_of_pythons, needs_two_pythons) {
  fs::remove(folder / "python_after");
  const auto seen = gate();
  EXPECT_EQ(seen.exit_code, 2);
  EXPECT_THAT(seen.stderr_text, HasSubstr("python_after is no usable Python 3"));
  EXPECT_TRUE(files(".jsonl").empty()) << "nothing runs";
  EXPECT_EQ(cufault({"gate", "--baseline-python", folder / "python_before"}).exit_code, 2);
}

TEST_F(gate_of_pythons, alone_takes_a_cublas) {
  expect_refused(cufault({"gate", "--baseline", folder, "--candidate", folder, "--cublas", "/nowhere"}),
                 "--cublas is taken with --baseline-python");
}

TEST_F(gate_of_pythons, needs_a_baseline_whose_framework_can_be_imported) {
  write_torch("before", "raise ImportError('libnothing.so')\n");
  auto seen = gate();
  EXPECT_EQ(seen.exit_code, 2);
  EXPECT_THAT(seen.stderr_text, HasSubstr("import torch raises ImportError: libnothing.so"));
  fs::remove_all(folder / "before" / "torch");
  seen = gate();
  EXPECT_EQ(seen.exit_code, 2);
  EXPECT_THAT(seen.stderr_text, HasSubstr("it has no framework of the cases that are to run"));
}

TEST_F(gate_of_pythons, fails_a_candidate_that_crashes_at_import_or_lacks_the_framework) {
  write_torch("after", "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n");
  auto seen = gate();
  EXPECT_EQ(seen.exit_code, 1);
  EXPECT_THAT(seen.stderr_text, HasSubstr("the process that imports torch died of SIGSEGV"));
  EXPECT_EQ(seen.stragglers, 0);
  fs::remove_all(folder / "after" / "torch");
  seen = gate();
  EXPECT_EQ(seen.exit_code, 1);
  EXPECT_THAT(seen.stderr_text, HasSubstr("it has no framework that the baseline has"));
}

TEST_F(gate_of_pythons, ends_a_candidate_that_hangs_at_import) {
  write_torch("after", "import signal\nwhile True: signal.pause()\n");
  const auto seen = gate({"--import-timeout", "5"});
  EXPECT_EQ(seen.exit_code, 1);
  EXPECT_THAT(seen.stderr_text, HasSubstr("the process that imports torch has not answered in time"));
  EXPECT_EQ(seen.stragglers, 0);
}

/// Rules of libcufault.so in a trial, with a fake driver, of which the fake torch asks for memory.
class injected_trials : public frameworks {
 protected:
  void SetUp() override {
    frameworks::SetUp();
    quiet_torch("packages", R"py(
import ctypes
def matmul(*given):
    code = ctypes.CDLL("libcuda.so.1").cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t(1024))
    if code != 0:
        raise RuntimeError(f"CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)` ({code})")
    return Anything()
)py");
  }
  std::string trial(const std::string& arm, bool preloaded = true) {
    spawn_options options;
    options.argv = {folder / "python",  "-B", std::string(FRAMEWORKS) + "/run_trials.py", "trial",
                    "pytorch.injected", arm};
    options.environment = {{"LD_LIBRARY_PATH", FAKE_DRIVER}, {"CUFAULT_LOG", "/dev/null"}};
    if (preloaded) options.preload = {INJECTOR};
    std::string said;
    const auto ended = run_process(options, [&](std::string_view bytes) { said += bytes; });
    EXPECT_EQ(ended.exit_code, 0) << ended.stderr_text;
    return said;
  }
};

TEST_F(injected_trials, fail_for_one_operation) {
  const std::string said = trial("matmul.memory");
  const auto failed = said.find(R"("status": "CUBLAS_STATUS_ALLOC_FAILED")");
  ASSERT_NE(failed, said.npos) << said;
  EXPECT_THAT(said, HasSubstr(R"("named_call": "cublasCreate")"));
  EXPECT_THAT(said, HasSubstr(R"("driver calls of this process that rules acted on", "value": 1.0)"));
  EXPECT_THAT(said.substr(failed), AllOf(HasSubstr(R"("variant": "next"})"), HasSubstr(R"("status": "OK")")));
  EXPECT_THAT(said, Not(HasSubstr("not_provoked")));
}

TEST_F(injected_trials, are_forked_from_one_interpreter) {
  spawn_options options;
  options.argv = {folder / "python", "-B", std::string(FRAMEWORKS) + "/run_trials.py", "serve", "--gpu"};
  options.environment = {{"LD_LIBRARY_PATH", FAKE_DRIVER}, {"CUFAULT_LOG", "/dev/null"}};
  options.preload = {INJECTOR};
  forking_process server(options);
  for (const char* arm : {"matmul.memory", "matmul.memory_once"}) {
    std::string said;
    const auto seen =
        server.run(nlohmann::json{{"case", "pytorch.injected"}, {"arm", arm}, {"seed", 5}}.dump(),
                   std::chrono::seconds(60), [&](std::string_view bytes) { said += bytes; });
    ASSERT_TRUE(seen) << server.why_not();
    EXPECT_THAT(said, AllOf(HasSubstr("CUBLAS_STATUS_ALLOC_FAILED"), HasSubstr(R"("t": "done")")));
    EXPECT_THAT(said, HasSubstr(R"("driver calls of this process that rules acted on", "value": 1.0)"));
  }
}

/// A server of trials of pytorch.on_the_cpu, by the given environment and what a trial prints.
class served_trials : public frameworks {
 protected:
  std::vector<std::string> printed(const std::vector<nlohmann::json>& environments) {
    spawn_options options;
    options.argv = {folder / "python", "-B", std::string(FRAMEWORKS) + "/run_trials.py", "serve"};
    options.environment = {{"CUDA_LAUNCH_BLOCKING", "0"}};
    forking_process server(options);
    std::vector<std::string> all;
    for (const nlohmann::json& environment : environments) {
      const nlohmann::json request{
          {"case", "pytorch.on_the_cpu"}, {"arm", "mixed_types"}, {"seed", 5}, {"environment", environment}};
      const auto seen = server.run(request.dump(), std::chrono::seconds(60), [](std::string_view) {});
      EXPECT_TRUE(seen) << server.why_not();
      all.push_back(seen ? seen->stdout_text : "");
    }
    return all;
  }
};

TEST_F(served_trials, have_variables_of_their_own) {
  fake_torch(R"(
import os
def act():
    print(os.environ.get("CUDA_LAUNCH_BLOCKING", "unset"), os.popen("echo $CUBLAS_WORKSPACE_CONFIG").read())
    raise RuntimeError("no")
)");
  const auto seen = printed({{{"CUDA_LAUNCH_BLOCKING", "1"}, {"CUBLAS_WORKSPACE_CONFIG", ":0:0"}},
                             nlohmann::json::object(),
                             nlohmann::json::object({{"CUDA_LAUNCH_BLOCKING", ""}})});
  EXPECT_THAT(seen[0], testing::StartsWith("1 :0:0\n"));
  EXPECT_THAT(seen[1], testing::StartsWith("0 \n")) << "of another trial";
  EXPECT_THAT(seen[2], testing::StartsWith("unset \n"));
}

TEST_F(served_trials, of_a_framework_whose_import_fails_import_it_anew) {
  fake_torch(R"(
import sys
print(hasattr(sys, "tried"))
sys.tried = True
raise ImportError("no")
)");
  EXPECT_THAT(printed({nlohmann::json::object()})[0], testing::EndsWith("False\n"));
}

TEST_F(injected_trials, are_not_provoked_where_no_call_is_meant) {
  EXPECT_THAT(trial("matmul.stream"),
              HasSubstr(R"("why": "the operation made no driver call that the rule is for")"));
}

TEST_F(injected_trials, are_not_provoked_without_the_injector) {
  EXPECT_THAT(trial("matmul.memory", false), HasSubstr("libcufault.so is not preloaded"));
}

}  // namespace
}  // namespace cufault
