// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Tables of Python frameworks: their arms, and the implementation in frameworks/python. Trials run with small fakes of the frameworks.
#include "reports/model/frameworks.hpp"

#include "harness/model/case.hpp"
#include "harness/system/process.hpp"
#include "harness/system/temporary_folder.hpp"
#include "reports/base/json_input.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace cufault {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Reports of run_trials.py, by a Python without site-packages.
std::string reported(const std::vector<std::string>& words, spawn_options options = {},
                     const fs::path& scripts = FRAMEWORKS) {
  options.argv = {PYTHON3, "-S", "-B", scripts / "run_trials.py"};
  options.argv.insert(options.argv.end(), words.begin(), words.end());
  std::string said;
  const process_result ended = run_process(options, [&](std::string_view bytes) { said += bytes; });
  EXPECT_EQ(ended.exit_code, 0) << ended.stderr_text;
  return said;
}

TEST(text_of_an_exception, names_a_status) {
  const auto status_named_by = [](const std::string& text) {
    constexpr const char* program =
        "import sys; sys.path.insert(0, sys.argv[1]); from framework_trials import errors; "
        "print(errors.named_status(sys.argv[2]), end='')";
    spawn_options options;
    options.argv = {PYTHON3, "-S", "-B", "-c", program, FRAMEWORKS, text};
    const process_result ended = run_process(options, [](std::string_view /*bytes*/) {});
    EXPECT_EQ(ended.exit_code, 0) << ended.stderr_text;
    return ended.stdout_text;
  };
  EXPECT_EQ(status_named_by("NOT_FOUND: All configs failed: EXECUTION FAILED: RESOURCE_EXHAUSTED: Out"),
            "NOT_FOUND");
  EXPECT_EQ(status_named_by("RESOURCE_EXHAUSTED: : CUDA_ERROR_OUT_OF_MEMORY: out of memory"),
            "CUDA_ERROR_OUT_OF_MEMORY")
      << "a status of CUDA comes first";
  EXPECT_EQ(status_named_by("the file was NOT_FOUND"), "None") << "XLA begins its messages with the code";
}

TEST(tables_of_frameworks, name_what_python_has_and_nothing_else) {
  for (const python_framework& f : python_frameworks) EXPECT_EQ(reported({"check", std::string(f.name)}), "");
}

TEST(tables_of_frameworks, that_name_something_else_are_told) {
  const temporary_folder folder{"cufault-frameworks-test-"};
  fs::copy(FRAMEWORKS, folder.path() / "python", fs::copy_options::recursive);
  const fs::path file = folder.path() / "python/framework_trials/jax.json";
  std::ifstream in(file);
  nlohmann::json table = nlohmann::json::parse(in);
  auto& cases = table["cases"];
  cases["operations"]["arms"].push_back({{"arm", "no_such"}, {"summary", "without a fault"}});
  cases["cached_arrays"]["arms"][0]["dead_ends"]["delete_all"] = nlohmann::json::array();
  cases.erase("index_out_of_range");
  table["functions"].erase(0);
  std::ofstream(file) << table;
  EXPECT_EQ(reported({"check", "jax"}, {}, folder.path() / "python"),
            "no operation no_such\nno fault operations\nno remedy delete_all\nno arm for operation take\n"
            "no row for arm index_out_of_range/take\nno function jax.Array.delete");
}

TEST(tables_of_frameworks, become_arms) {
  const arm* const given_less = find_arm("pytorch.live_tensors", "matmul.8+no_workspace");
  ASSERT_NE(given_less, nullptr);
  EXPECT_EQ(given_less->kind, arm_kind::remedy);
  EXPECT_EQ(given_less->against, "matmul.8");
  EXPECT_EQ(given_less->environment.at("CUBLAS_WORKSPACE_CONFIG"), ":0:0");
  EXPECT_TRUE(given_less->shares_process);
  EXPECT_FALSE(find_arm("pytorch.mixed_pair", "control")->shares_process);
  EXPECT_THAT(given_less->claims, testing::ElementsAre("S2-12"));
  const arm* const tried = find_arm("pytorch.live_tensors", "matmul.8+retry");
  ASSERT_NE(tried, nullptr);
  EXPECT_EQ(tried->kind, arm_kind::dead_end);
  EXPECT_EQ(tried->against, "");
  const arm* const diagnosed = find_arm("pytorch.index_out_of_range", "matmul+blocking_launches");
  ASSERT_NE(diagnosed, nullptr);
  EXPECT_EQ(diagnosed->kind, arm_kind::diagnosis);
  const arm* const injected = find_arm("jax.injected", "later_matmul.event");
  ASSERT_NE(injected, nullptr);
  EXPECT_EQ(injected->repeats, 5);
  EXPECT_EQ(injected->environment.at("XLA_PYTHON_CLIENT_PREALLOCATE"), "false");
  EXPECT_EQ(injected->environment.at("CUFAULT_STRICT"), "1");
  EXPECT_EQ(find_arm("jax.injected", "later_matmul.event+retry"), nullptr);
  EXPECT_EQ(find_arm("pytorch.upgrades", "errors")->tier, std::nullopt) << "as its case";
  EXPECT_EQ(find_arm("pytorch.upgrades_beyond", "mm_of_rows_far_apart")->tier, test_tier::full);
  EXPECT_EQ(find_arm("pytorch.upgrades_beyond", "bmm_outer")->tier, std::nullopt) << "its row says quick";
}

/// Reports of a trial that forks in the way `how` and does this in the child.
std::string reported_of_forked(const std::string& how) {
  const std::string script = "import sys; sys.path.insert(0, '" FRAMEWORKS R"py(')
import os, time
from framework_trials import cells, protocol
trial = protocol.Trial("pytorch.forked_child", "matmul", 1, 0)
trial.on_gpu = False
def step(work):
    return lambda: 0 if trial.observe("torch.matmul", "forked", work) else 1
)py" + how;
  spawn_options options;
  options.argv = {PYTHON3, "-S", "-B", "-c", script};
  std::string said;
  const process_result ended = run_process(options, [&](std::string_view bytes) { said += bytes; });
  EXPECT_EQ(ended.exit_code, 0) << ended.stderr_text;
  return said;
}

TEST(forked_process_of_a_trial, that_crashes_in_a_step_ends_the_step_and_not_the_trial) {
  const std::string said =
      reported_of_forked("assert cells.in_forked_child(trial, step(os.abort)) is None\ntrial.done()");
  EXPECT_THAT(said, AllOf(HasSubstr(R"("status": "CRASHED")"), HasSubstr(R"("signal": "SIGABRT")"),
                          HasSubstr(R"({"t": "done"})")));
}

TEST(forked_process_of_a_trial, that_hangs_in_a_step_is_ended_and_ends_the_step) {
  const std::string said = reported_of_forked(
      "assert cells.in_forked_child(trial, step(lambda: time.sleep(600)), 0.2) is None\ntrial.done()");
  EXPECT_THAT(said, AllOf(HasSubstr(R"("status": "TIMED_OUT")"), HasSubstr(R"({"t": "done"})")));
}

TEST(forked_process_of_a_trial, that_ends_by_itself_is_left_alone) {
  const std::string said =
      reported_of_forked("assert cells.in_forked_child(trial, step(lambda: None), 30.0) == 0");
  EXPECT_THAT(said, AllOf(HasSubstr(R"("status": "OK")"), Not(HasSubstr("TIMED_OUT"))));
}

TEST(forked_process_of_a_trial, that_hangs_outside_of_a_step_fails_the_trial) {
  reported_of_forked(R"py(try:
    cells.in_forked_child(trial, lambda: time.sleep(600), 0.2)
    sys.exit(1)
except RuntimeError as error:
    assert "was in no step" in str(error)
)py");
}

TEST(diagnosis_of_a_framework, ends_with_the_first_call_of_the_fault_that_fails) {
  const auto said_with = [](const std::string& fails) {
    return reported_of_forked(R"py(
class Product(cells.Operation):
    api, variant = "torch.matmul", "fp32"
    def __call__(self):
        return True
def fault(world):
    def call():
        if )py" + fails + R"py(:
            raise RuntimeError("CUDA error: device-side assert triggered")
        return [1]
    world.make("torch.nn.Embedding", "index_out_of_range", call)
framework = cells.Framework({"remedies": {"look": {"in_place": True, "diagnosis": True}}}, {"matmul": Product}, {"fault": fault},
                            {"look": cells.Remedy()}, next_product="matmul")
trial.arm = "matmul+look"
cells.run_cell(cells.World(trial, framework, None), "fault")
)py");
  };
  const std::string diagnosed = said_with("True"), found_nothing = said_with("False");
  EXPECT_THAT(diagnosed, AllOf(HasSubstr(R"("api": "torch.nn.Embedding")"), HasSubstr("device-side assert"),
                               Not(HasSubstr("torch.matmul"))));
  EXPECT_THAT(found_nothing, AllOf(HasSubstr("torch.nn.Embedding"), HasSubstr("torch.matmul")));
}

TEST(remedy_of_a_framework, that_raises_is_a_step_of_the_trial_and_one_that_works_is_none) {
  const auto said_with = [](const std::string& does, const std::string& api = "torch.cuda.empty_cache") {
    return reported_of_forked(R"py(
from framework_trials import server
class Product(cells.Operation):
    api, variant = "torch.matmul", "fp32"
    def __call__(self):
        raise RuntimeError("an illegal memory access was encountered")
class AcceleratorError(RuntimeError):
    pass
def after(world):
    )py" + does + R"py(
said = {"free": {"words": "torch.cuda.empty_cache()", "api": ")py" +
                              api + R"py("}}
server.framework_of = lambda family: cells.Framework({"remedies": said}, {"matmul": Product}, {"fault": lambda world: None},
                                                     {"free": cells.Remedy(after=after)}, next_product="matmul")
trial.case, trial.arm = "pytorch.fault", "matmul+free"
server.part(trial)
)py");
  };
  const std::string steps = R"("api": "torch.cuda.empty_cache", "variant": "remedy")";
  const std::string raised =
      said_with("raise AcceleratorError('CUDA error: an illegal memory access was encountered')");
  const auto step = raised.find(steps);
  ASSERT_NE(step, raised.npos) << raised;
  EXPECT_LT(raised.find(R"("t": "apply")"), step);
  EXPECT_THAT(raised.substr(step),
              AllOf(HasSubstr(R"("exception": "AcceleratorError")"), HasSubstr(R"("api": "torch.matmul")")))
      << "the operation is tried all the same";
  EXPECT_THAT(raised, Not(HasSubstr("harness_failed")));
  EXPECT_THAT(said_with("pass"), AllOf(Not(HasSubstr(steps)), Not(HasSubstr("harness_failed"))));
  for (const auto& [does, how] :
       {std::pair{"raise protocol.SetUpFailed('no')", R"("harness_failed", "why": "no")"},
        {"raise protocol.NotProvoked('no')", R"("not_provoked", "why": "no")"}})
    EXPECT_THAT(said_with(does), AllOf(HasSubstr(how), Not(HasSubstr(steps))));
  EXPECT_THAT(said_with("raise ValueError('ours')", ""), HasSubstr("harness_failed"))
      << "a remedy that calls no function of the framework";
}

/// Packages of a folder in place of the frameworks.
class fakes_of_frameworks : public testing::Test {
 protected:
  void write(const std::string& module, const std::string& text) {
    const fs::path file = folder.path() / module;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::string trial(const std::string& name, const std::string& arm, spawn_options options = {}) {
    options.environment["PYTHONPATH"] = folder.path();
    options.environment["CUFAULT_LOG"] = "/dev/null";
    return reported({"trial", name, arm}, std::move(options));
  }
  const temporary_folder folder{"cufault-frameworks-test-"};
};

/// A torch whose products call a cuBLAS of the injector's tests.
class torch_with_cublas : public fakes_of_frameworks {
 protected:
  void SetUp() override {
    write("torch/__init__.py", read_text(FRAMEWORKS "/../../tests/fake_torch.py") + R"py(
import ctypes
NAMES = {1: "NOT_INITIALIZED", 3: "ALLOC_FAILED", 13: "EXECUTION_FAILED", 14: "INTERNAL_ERROR"}
cublas = ctypes.CDLL(")py" FAKE_BLAS R"py(/libcublas.so.13")
def matmul(*given):
    handle, c = ctypes.c_void_p(), ctypes.c_float()
    for name, arguments in (("cublasCreate_v2", [ctypes.byref(handle)]), ("cublasSgemm_v2", [None] * 12 + [ctypes.byref(c), 0])):
        code = getattr(cublas, name)(*arguments)
        if code != 0:
            raise RuntimeError(f"CUDA error: CUBLAS_STATUS_{NAMES[code]} when calling `{name}(handle)`")
    return Anything()
)py");
  }
  std::string injected(const std::string& arm, const std::set<std::string>& libraries) {
    spawn_options options;
    options.environment["LD_LIBRARY_PATH"] = FAKE_DRIVER ":" FAKE_BLAS "/..";
    for (const std::string& library : libraries)
      options.preload.push_back(fmt::format("{}/libcufault_{}.so", INJECTOR_FOLDER, library));
    options.preload.push_back(std::string(INJECTOR_FOLDER) + "/libcufault.so");
    return trial("pytorch.injected_in_libraries", arm, std::move(options));
  }
};

TEST_F(torch_with_cublas, gets_a_failure_of_cublas_for_one_operation) {
  const std::string said = injected("matmul.create_internal_error", {"cublas", "cublasLt", "cudart"});
  const auto failed = said.find(R"("status": "CUBLAS_STATUS_INTERNAL_ERROR")");
  ASSERT_NE(failed, said.npos) << said;
  EXPECT_THAT(said, HasSubstr(R"("named_call": "cublasCreate_v2")"));
  EXPECT_THAT(said, HasSubstr(R"("library calls of this process that rules acted on", "value": 1.0)"));
  EXPECT_THAT(said.substr(failed), AllOf(HasSubstr(R"("variant": "next"})"), HasSubstr(R"("status": "OK")")));
  EXPECT_THAT(said, Not(HasSubstr("not_provoked")));
}

TEST_F(torch_with_cublas, gets_a_failure_of_one_product) {
  EXPECT_THAT(injected("matmul.product_execution_failed_once", {"cublas"}),
              AllOf(HasSubstr("CUBLAS_STATUS_EXECUTION_FAILED"), HasSubstr(R"("value": 1.0)")));
}

TEST_F(torch_with_cublas, is_not_provoked_where_no_call_is_meant) {
  EXPECT_THAT(injected("linear.lt_matmul_not_supported", {"cublas", "cublasLt"}),
              HasSubstr(R"("why": "the operation made no library call that the rule is for")"));
}

TEST_F(torch_with_cublas, is_not_provoked_without_the_library_in_front) {
  EXPECT_THAT(injected("matmul.cuda_malloc", {"cublas"}), HasSubstr("libcufault_cudart.so is not preloaded"));
}

/// A CuPy in which everything fails, and whose runtime has an error.
class cupy_with_an_error : public fakes_of_frameworks {
 protected:
  void SetUp() override {
    const std::string nothing = R"py(
def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return name
)py";
    write("numpy/__init__.py", nothing);
    write("cupy/linalg.py", nothing);
    write("cupy/__init__.py", R"py(
class Device:
    def __init__(self, number):
        pass
    def use(self):
        raise RuntimeError("cudaErrorMemoryAllocation: out of memory")
class CUDARuntimeError(RuntimeError):
    def __init__(self, code):
        super().__init__({2: "cudaErrorMemoryAllocation: out of memory"}[code])
class runtime:
    CUDARuntimeError = CUDARuntimeError
class cuda:
    Device, runtime = Device, runtime
def get_default_memory_pool():
    raise RuntimeError("none")
)py");
  }
};

TEST_F(cupy_with_an_error, is_asked_for_it) {
  std::ofstream(folder.path() / "cupy/__init__.py", std::ios::app)
      << "runtime.peekAtLastError = staticmethod(lambda: 2)\n";
  EXPECT_THAT(trial("cupy.variables", "matmul.eager"),
              HasSubstr(R"("last_error": "cudaErrorMemoryAllocation")"));
}

TEST_F(cupy_with_an_error, says_nothing_of_it_where_it_has_no_function) {
  EXPECT_THAT(trial("cupy.variables", "matmul.eager"), HasSubstr(R"("last_error": "")"));
}

TEST(driver_log_of_python, keeps_what_the_trial_in_c_keeps) {
  constexpr const char* script = R"(
import json, sys, threading
sys.path.insert(0, sys.argv[1])
from framework_trials.protocol import DriverLog

class Said(DriverLog):
    def __init__(self, lines):
        super().__init__(False)
        self._lines = lines

    def text(self):
        return "\n".join(self._lines)

own, other = threading.get_ident(), 1
def line(text, thread=own, function=""):
    return f"[22:12:03.576][{thread}][CUDA][E]{function} {text}"

print(json.dumps(Said([
    "not a line of the log",
    line("Sticky error detected"),
    line("Returning 719 (CUDA_ERROR_LAUNCH_FAILED) from cuMemFree_v2"),
    line("Sticky error detected"),
    line("Returning 719 (CUDA_ERROR_LAUNCH_FAILED) from cuMemFree_v2"),
    line("Kernel (a) cannot be found"),
    line("Kernel (b) cannot be found"),
    line("why \"\u00e9\", Returning 400 from cuEventRecord", other),
    line("buffer cannot be NULL", function="[cuLogsDumpToMemory]"),
]).messages()))
)";
  spawn_options options;
  options.argv = {PYTHON3, "-S", "-B", "-c", script, FRAMEWORKS};
  const process_result ended = run_process(options, {});
  ASSERT_EQ(ended.exit_code, 0) << ended.stderr_text;
  EXPECT_EQ(nlohmann::json::parse(ended.stdout_text), nlohmann::json::parse(R"([
    {"function": "cuMemFree_v2", "code": "LAUNCH_FAILED", "text": "Sticky error detected", "times": 2},
    {"function": "cuEventRecord", "code": "400", "text": "why '?'", "other_thread": true},
    {"function": "cuLogsDumpToMemory", "text": "Kernel (a) cannot be found; buffer cannot be NULL"}
  ])"));
}

}  // namespace
}  // namespace cufault
