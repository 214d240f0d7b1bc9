// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Cases of a framework from the command line to the record, with small hostile programs in place of PyTorch.
#include "harness/cli/tests/end_to_end.hpp"

#include <sys/stat.h>

namespace cufault {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class frameworks : public end_to_end {
 protected:
  void SetUp() override {
    end_to_end::SetUp();
    // Without site-packages: whatever this machine has there.
    std::ofstream(folder / "python") << "#!/bin/sh\nexec '" PYTHON3 "' -S \"$@\"\n";
    ASSERT_EQ(chmod((folder / "python").c_str(), 0755), 0);
    fs::create_directories(folder / "packages" / "torch");
  }
  /// A torch that can be imported, and of which no function works; `begins`: what it does first.
  void fake_torch(const std::string& begins) {
    std::ofstream(folder / "packages" / "torch" / "__init__.py") << begins << R"(
class version:
    cuda = None
class Anything:
    def __getattr__(self, name):
        return Anything()
    def __call__(self, *given, **named):
        act()
class nn:
    Module = Linear = Embedding = Anything
class cuda:
    is_initialized = staticmethod(lambda: False)
def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Anything()
)";
  }
  process_result run_frameworks(std::vector<std::string> more) {
    more.insert(more.end(), {"--python", folder / "python"});
    return run(std::move(more), {{"PYTHONPATH", folder / "packages"}, {"ASAN_OPTIONS", "handle_segv=0"}});
  }
  observation trial_of(const std::string& name) {
    seen_ = load_record(files(".jsonl").at(0));
    return arm_of(seen_, name).trials.at(0);
  }

 private:
  record seen_;
};

TEST_F(frameworks, are_listed_without_a_python) {
  const auto seen = cufault({"list", "pytorch"});
  EXPECT_EQ(seen.exit_code, 0);
  EXPECT_THAT(seen.stdout_text, AllOf(HasSubstr("pytorch.on_the_cpu"), HasSubstr("integer_weights+float")));
}

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
  std::stringstream imports;
  imports << std::ifstream(folder / "packages" / "imports").rdbuf();
  EXPECT_EQ(imports.str(), "xx") << "one to look, one for all trials";
}

}  // namespace
}  // namespace cufault
