// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What is wrong with a Python, and with a framework in it, is said in one line. The frameworks are fakes in a folder of PYTHONPATH.
#include "harness/run/python.hpp"

#include "harness/system/temporary_folder.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

namespace cufault {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class python : public testing::Test {
 protected:
  void SetUp() override {
    // Without site-packages: whatever this machine has there.
    script("python", "#!/bin/sh\nexec '" PYTHON3 "' -S \"$@\"\n");
    setenv("PYTHONPATH", folder.path().c_str(), 1);
    on_host.framework = on_gpu.framework = "pytorch";
    on_host.needs = need::host;
  }
  void TearDown() override { unsetenv("PYTHONPATH"); }

  void write(const fs::path& name, const std::string& text) {
    fs::create_directories((folder.path() / name).parent_path());
    std::ofstream(folder.path() / name) << text;
  }
  void script(const fs::path& name, const std::string& text) {
    write(name, text);
    ASSERT_EQ(chmod((folder.path() / name).c_str(), 0755), 0);
  }
  /// A torch that can be imported as far as its trials need.
  void fake_torch(const std::string& begins) {
    write("torch/__init__.py", begins + R"(
class version:
    cuda = None
class Anything:
    def __getattr__(self, name):
        return Anything()
    def __call__(self, *given, **named):
        raise RuntimeError("the fake computes nothing")
def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Anything()
)");
  }
  python_environment environment(const std::string& interpreter = "python",
                                 std::chrono::milliseconds patience = std::chrono::seconds(60)) {
    return {folder.path() / interpreter, FRAMEWORKS, {"pytorch"}, 0, -1, patience};
  }

  const temporary_folder folder{"cufault-python-test-"};
  arm on_host, on_gpu;
};

TEST_F(python, that_is_not_there_is_named) {
  EXPECT_THAT(
      environment("nothing").why_not(on_host),
      AllOf(HasSubstr("nothing is no usable Python 3"), HasSubstr("No such file"), Not(HasSubstr("\n"))));
}

TEST_F(python, that_is_another_program_gets_no_script) {
  script("other", "#!/bin/sh\n[ \"$1\" = --version ] || touch '" + (folder.path() / "ran").string() +
                      "'\necho other 1.0\n");
  const auto found = environment("other");
  EXPECT_THAT(found.why_not(on_host), EndsWith("its --version is 'other 1.0'"));
  EXPECT_TRUE(found.for_stack().is_null());
  EXPECT_TRUE(found.keys().empty());
  EXPECT_FALSE(fs::exists(folder.path() / "ran"));
}

TEST_F(python, without_the_framework_is_named) {
  EXPECT_THAT(environment().why_not(on_host), EndsWith("python has no PyTorch"));
}

TEST_F(python, tells_the_versions_of_packages_and_where_cublas_is) {
  write("torch-2.11.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: torch\nVersion: 2.11.0+cu130\n");
  write("cupy_cuda13x-14.2.0.dist-info/METADATA",
        "Metadata-Version: 2.1\nName: cupy-cuda13x\nVersion: 14.2.0\n");
  write("other-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: other\nVersion: 1.0\n");
  write("nvidia_cublas-13.1.dist-info/METADATA",
        "Metadata-Version: 2.1\nName: nvidia-cublas\nVersion: 13.1\n");
  write("nvidia_cublas-13.1.dist-info/RECORD", "nvidia/cu13/lib/libcublas.so.13,,\n");
  write("nvidia/cu13/lib/libcublas.so.13", "");
  const auto found = environment();
  const nlohmann::json expected{
      {"torch", "2.11.0+cu130"}, {"cupy-cuda13x", "14.2.0"}, {"nvidia-cublas", "13.1"}};
  EXPECT_EQ(found.for_stack()["packages"], expected);
  EXPECT_THAT(found.for_stack()["python"].get<std::string>(), HasSubstr("3."));
  const std::map<std::string, std::string> keys{{"cupy", "14.2.0"}, {"pytorch", "2.11.0"}};
  EXPECT_EQ(found.keys(), keys);
  EXPECT_EQ(found.cublas(), fs::canonical(folder.path() / "nvidia/cu13/lib").string());
}

TEST_F(python, tells_the_version_of_the_package_that_an_import_finds) {
  write("first/cupy_cuda13x-14.0.1.dist-info/METADATA",
        "Metadata-Version: 2.1\nName: cupy-cuda13x\nVersion: 14.0.1\n");
  write("second/cupy_cuda13x-14.2.0.dist-info/METADATA",
        "Metadata-Version: 2.1\nName: cupy-cuda13x\nVersion: 14.2.0\n");
  setenv("PYTHONPATH", fmt::format("{0}/first:{0}/second", folder.path().string()).c_str(), 1);
  EXPECT_EQ(environment().for_stack()["packages"], (nlohmann::json{{"cupy-cuda13x", "14.0.1"}}));
}

TEST_F(python, is_found_on_the_path_by_its_name) {
  const char* const path = std::getenv("PATH");
  const std::string before = path == nullptr ? "" : path;
  setenv("PATH", (folder.path().string() + ":" + before).c_str(), 1);
  const python_environment found("python", FRAMEWORKS, {}, 0, -1);
  setenv("PATH", before.c_str(), 1);
  EXPECT_EQ(found.command({"x"}).front(), (folder.path() / "python").string());
  EXPECT_THAT(found.for_stack()["python"].get<std::string>(), HasSubstr("3."));
}

TEST_F(python, whose_framework_raises_is_quoted) {
  fake_torch("raise ImportError('libnothing.so: cannot open')\n");
  EXPECT_EQ(environment().why_not(on_host), "import torch raises ImportError: libnothing.so: cannot open");
}

TEST_F(python, whose_framework_crashes_is_told) {
  fake_torch("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)\n");
  EXPECT_EQ(environment().why_not(on_host), "the process that imports torch died of SIGSEGV");
}

TEST_F(python, whose_framework_hangs_is_told_and_ended) {
  fake_torch("import signal\nwhile True: signal.pause()\n");
  EXPECT_THAT(environment("python", std::chrono::seconds(2)).why_not(on_host),
              HasSubstr("has not answered in time"));
}

TEST_F(python, whose_framework_was_built_without_cuda_runs_what_needs_no_gpu) {
  fake_torch("print('noise' * 1000)\n");
  const auto found = environment();
  EXPECT_THAT(found.why_not(on_host), IsEmpty());
  EXPECT_EQ(found.why_not(on_gpu), "PyTorch has no GPU: this PyTorch was built without CUDA");
}

TEST_F(python, imports_frameworks_side_by_side) {
  // Each waits until the other one has begun.
  const auto waits_for = [&](const std::string& own, const std::string& other) {
    return "import os, time\nfolder = '" + folder.path().string() + "/'\nopen(folder + '" + own +
           "', 'w').close()\nend = time.monotonic() + 20\nwhile not os.path.exists(folder + '" + other +
           "'):\n    assert time.monotonic() < end\n    time.sleep(0.01)\nraise ImportError('" + own + "')\n";
  };
  write("torch/__init__.py", waits_for("first", "second"));
  write("cupy/__init__.py", waits_for("second", "first"));
  const python_environment found(folder.path() / "python", FRAMEWORKS, {"pytorch", "cupy", "jax"}, 0, -1);
  const std::map<std::string, std::string> expected{{"cupy", "import cupy raises ImportError: second"},
                                                    {"pytorch", "import torch raises ImportError: first"}};
  EXPECT_EQ(found.imports(), expected);
}

}  // namespace
}  // namespace cufault
