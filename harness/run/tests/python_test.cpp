// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Errors of a Python, or of a framework in it, are reported in one line. The frameworks are fakes in a folder of PYTHONPATH.
#include "harness/run/python.hpp"

#include "harness/system/process.hpp"
#include "harness/system/temporary_folder.hpp"
#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace cufault {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

class python : public testing::Test {
 protected:
  void SetUp() override {
    // Without site-packages, to hide packages of this machine.
    script("python", "#!/bin/sh\nexec '" PYTHON3 "' -S \"$@\"\n");
    setenv("PYTHONPATH", folder.path().c_str(), 1);
    on_host.framework = "pytorch";
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
  /// A torch that can be imported as far as trials need.
  void fake_torch(const std::string& begins, const fs::path& where = {}) {
    write(where / "torch/__init__.py", begins + read_text(FRAMEWORKS "/../../tests/fake_torch.py"));
  }
  /// A torch with a version, and metadata of a version, or none.
  void release(const fs::path& where, const std::string& version, const std::string& metadata) {
    fake_torch("__version__ = '" + version + "'\n", where);
    if (!metadata.empty())
      write(where / ("torch-" + metadata + ".dist-info") / "METADATA",
            "Metadata-Version: 2.1\nName: torch\nVersion: " + metadata + "\n");
  }
  [[nodiscard]] std::string real(const fs::path& within) const {
    return fs::canonical(folder.path() / within);
  }
  python_environment environment(const std::string& interpreter = "python",
                                 std::chrono::milliseconds patience = std::chrono::seconds(60)) {
    return python_environment::all({folder.path() / interpreter}, FRAMEWORKS, {"pytorch"}, 0, -1,
                                   patience)[0];
  }

  const temporary_folder folder{"cufault-python-test-"};
  arm on_host;
};

TEST_F(python, that_is_another_program_gets_no_script) {
  script("other", "#!/bin/sh\n[ \"$1\" = --version ] || touch '" + (folder.path() / "ran").string() +
                      "'\necho other 1.0\n");
  EXPECT_THAT([&] { environment("other"); },
              ThrowsMessage<input_error>(HasSubstr("its --version is 'other 1.0'")));
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
  write("triton-3.dist-info/METADATA", "Metadata-Version: 2.1\nName: triton\n");
  write("jax-1.dist-info/RECORD", "");
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

TEST_F(python, tells_releases_whatever_they_are_builds_of) {
  // PyTorch of Debian 12; that of NVIDIA's containers.
  for (const auto& [full, release] :
       {std::pair{"1.13.0a0+gitunknown", "1.13.0"}, std::pair{"2.6.0a0+ecf3bae40a.nv25.1", "2.6.0"},
        std::pair{"2.11.0.post1", "2.11.0"}}) {
    write("torch-1.dist-info/METADATA",
          fmt::format("Metadata-Version: 2.1\nName: torch\nVersion: {}\n", full));
    const auto found = environment();
    EXPECT_EQ(found.keys().at("pytorch"), release);
    EXPECT_EQ(found.for_stack()["packages"]["torch"], full);
  }
}

/// A Python with its own prefix, as in conda and virtual environments.
class prefixed_python : public python {
 protected:
  void SetUp() override {
    python::SetUp();
    unsetenv("PYTHONPATH");
    spawn_options options;
    options.argv = {PYTHON3, "-m", "venv", "--without-pip", folder.path() / "env"};
    const auto made = run_process(options, {});
    ASSERT_EQ(made.exit_code, 0) << made.stderr_text;
  }
  /// The folder of packages.
  fs::path site_packages() {
    for (const auto& entry : fs::directory_iterator(folder.path() / "env" / "lib"))
      if (fs::exists(entry.path() / "site-packages"))
        return fs::relative(entry.path() / "site-packages", folder.path());
    throw std::runtime_error("no site-packages");
  }
  std::string cublas() { return environment("env/bin/python").cublas(); }
  [[nodiscard]] std::string at(const fs::path& within) const { return fs::canonical(folder.path() / within); }
};

TEST_F(prefixed_python, has_the_cublas_of_conda) {
  write("env/lib/libcublasLt.so.13", "");
  EXPECT_EQ(cublas(), "") << "half of a pair is none";
  write("env/lib/libcublas.so.13", "");
  EXPECT_EQ(cublas(), at("env/lib"));
}

TEST_F(prefixed_python, has_the_cublas_of_a_wheel_before_that_of_conda) {
  write("env/lib/libcublas.so.12", "");
  const fs::path packages = site_packages();
  for (const char* name : {"nvidia_cublas_cu12-12.8.4.1", "nvidia_cublas_cu12_of_nothing-1"})
    write(packages / (name + std::string(".dist-info")) / "METADATA",
          "Metadata-Version: 2.1\nName: nvidia-cublas-cu12\nVersion: 12.8.4.1\n");
  write(packages / "nvidia_cublas_cu12-12.8.4.1.dist-info" / "RECORD",
        "nvidia/cublas/lib/libcublasLt.so.12,,\nnvidia/cublas/lib/libcublas.so.12,,\n");
  EXPECT_EQ(cublas(), at("env/lib")) << "the wheel's files are gone";
  write(packages / "nvidia/cublas/lib/libcublas.so.12", "");
  EXPECT_EQ(cublas(), at(packages / "nvidia/cublas/lib"));
}

TEST_F(prefixed_python, has_none_of_its_own_where_the_system_has_one) {
  write("system/libcublas.so.13", "");
  setenv("LD_LIBRARY_PATH", (folder.path() / "system").c_str(), 1);
  const std::string found = cublas();
  unsetenv("LD_LIBRARY_PATH");
  EXPECT_EQ(found, "") << "the loader finds that, as it does for the framework";
}

TEST_F(python, tells_the_version_of_the_package_that_an_import_finds) {
  write("first/cupy_cuda13x-14.0.1.dist-info/METADATA",
        "Metadata-Version: 2.1\nName: cupy-cuda13x\nVersion: 14.0.1\n");
  write("second/cupy_cuda13x-14.2.0.dist-info/METADATA",
        "Metadata-Version: 2.1\nName: cupy-cuda13x\nVersion: 14.2.0\n");
  setenv("PYTHONPATH", fmt::format("{0}/first:{0}/second", folder.path().string()).c_str(), 1);
  EXPECT_EQ(environment().for_stack()["packages"], (nlohmann::json{{"cupy-cuda13x", "14.0.1"}}));
}

TEST_F(python, of_a_folder_before_another_tells_what_is_imported_and_not_what_metadata_say) {
  release("pack", "2.14.1+cu130", "");
  release("base", "2.11.0+cu130", "2.11.0");
  setenv("PYTHONPATH", fmt::format("{0}/pack:{0}/base", folder.path().string()).c_str(), 1);
  const auto found = environment();
  EXPECT_EQ(found.keys().at("pytorch"), "2.14.1");
  const nlohmann::json stack = found.for_stack(), expected{{"version", "2.14.1+cu130"},
                                                           {"file", real("pack/torch/__init__.py")},
                                                           {"metadata", "2.11.0"},
                                                           {"shadowed", {real("base/torch")}},
                                                           {"libraries", nlohmann::json::object()}};
  EXPECT_EQ(stack["frameworks"]["pytorch"], expected);
  EXPECT_EQ(stack["packages"]["torch"], "2.14.1+cu130");
  EXPECT_THAT(found.doubts(),
              testing::ElementsAre(AllOf(HasSubstr("imported is torch 2.14.1+cu130 of " + real("pack/torch")),
                                         HasSubstr("its metadata say 2.11.0"),
                                         HasSubstr("another is in " + real("base/torch")))));
}

TEST_F(python, that_has_not_answered_in_time_is_ended) {
  script("sleeper", "#!/bin/sh\nexec sleep 60\n");
  EXPECT_THAT([&] { environment("sleeper", std::chrono::milliseconds(100)); },
              ThrowsMessage<input_error>(HasSubstr("has not answered in time (--import-timeout)")));
}

TEST_F(python, whose_metadata_are_of_what_is_imported_is_not_doubted) {
  release("target", "2.14.1+cu130", "2.14.1");
  setenv("PYTHONPATH", (folder.path() / "target").c_str(), 1);
  const auto found = environment();
  EXPECT_THAT(found.doubts(), IsEmpty());
  EXPECT_EQ(found.for_stack()["packages"]["torch"], "2.14.1") << "as the metadata say";
  EXPECT_FALSE(found.identity("pytorch").contains("metadata"));
}

TEST_F(prefixed_python, tells_what_is_imported_however_it_got_there) {
  const fs::path site = site_packages();
  const auto imported_is = [&](const fs::path& where) {
    const auto found = environment("env/bin/python");
    EXPECT_EQ(found.identity("pytorch").value("file", ""), real(where / "torch/__init__.py"));
    return found.keys().at("pytorch");
  };
  release("user/" + site.lexically_relative("env").string(), "2.1.0", "2.9.0");
  setenv("PYTHONUSERBASE", (folder.path() / "user").c_str(), 1);
  write("env/pyvenv.cfg",
        read_text(folder.path() / "env/pyvenv.cfg") + "include-system-site-packages = true\n");
  EXPECT_EQ(imported_is("user/" + site.lexically_relative("env").string()), "2.1.0");
  unsetenv("PYTHONUSERBASE");
  release("by_pth", "2.2.0", "");
  write(site / "x.pth", (folder.path() / "by_pth").string() + "\n");
  EXPECT_EQ(imported_is("by_pth"), "2.2.0");
  fs::remove(folder.path() / site / "x.pth");
  release("source", "2.3.0a0+git1234567", "");
  write("source/torch.egg-info/PKG-INFO",
        "Metadata-Version: 2.1\nName: torch\nVersion: 2.3.0a0+git7654321\n");
  write(site / "torch.egg-link", (folder.path() / "source").string() + "\n.");
  write(site / "easy-install.pth", (folder.path() / "source").string() + "\n");
  EXPECT_EQ(imported_is("source"), "2.3.0");
  release(site, "2.4.0", "2.4.0");
  EXPECT_EQ(imported_is(site), "2.4.0");
  fs::create_directory_symlink(folder.path() / "env", folder.path() / "link");
  EXPECT_EQ(environment("link/bin/python").identity("pytorch"),
            environment("env/bin/python").identity("pytorch"));
}

/// A library that a process can load, in place of those of CUDA: libm, which has no sanitizers.
class python_with_libraries : public python {
 protected:
  void library(const fs::path& name) {
    fs::create_directories((folder.path() / name).parent_path());
    link_map* libm = nullptr;
    ASSERT_EQ(dlinfo(dlopen("libm.so.6", RTLD_LAZY), RTLD_DI_LINKMAP, &libm), 0);
    fs::copy_file(fs::canonical(libm->l_name), folder.path() / name);
  }
  void torch_that_loads(const fs::path& name) {
    fake_torch(
        "__version__ = '2.14.1'\nimport ctypes\nctypes.CDLL('" + (folder.path() / name).string() + "')\n",
        "first");
    setenv("PYTHONPATH", fmt::format("{0}/first:{0}/second", folder.path().string()).c_str(), 1);
  }
};

TEST_F(python_with_libraries, tells_those_that_the_import_mapped) {
  library("cuda/libcublas.so.13");
  torch_that_loads("cuda/libcublas.so.13");
  const auto found = environment();
  EXPECT_EQ(found.cublas(), real("cuda"));
  const nlohmann::json libraries = found.for_stack()["frameworks"]["pytorch"]["libraries"];
  ASSERT_EQ(libraries.size(), 1U) << libraries;
  EXPECT_EQ(libraries.front()["path"], real("cuda/libcublas.so.13"));
  EXPECT_GT(libraries.front()["build_id"].get<std::string>().size(), 4U);
}

TEST_F(python_with_libraries, at_a_path_that_is_no_utf_8_are_named_as_far_as_they_can_be) {
  library("pack\xff/torch/libcublas.so.13");
  fake_torch(
      "__version__ = '2.14.1'\nimport ctypes\n"
      "ctypes.CDLL(__file__.replace('__init__.py', 'libcublas.so.13'))\n",
      "pack\xff");
  setenv("PYTHONPATH", (folder.path() / "pack\xff").c_str(), 1);
  const auto found = environment();
  EXPECT_EQ(found.why_not(on_host), "");
  const std::string torch = folder.path().string() + "/pack?/torch/";
  EXPECT_EQ(found.identity("pytorch").value("file", ""), torch + "__init__.py");
  EXPECT_EQ(found.identity("pytorch")["libraries"], nlohmann::json::array({torch + "libcublas.so.13"}));
}

TEST_F(python, whose_assembler_cannot_start_says_its_triton) {
  release("pack", "2.14.1", "");
  write("pack/triton/__init__.py", "__version__ = '3.8.0'\n");
  script("pack/triton/backends/nvidia/bin/ptxas", "no program");
  setenv("PYTHONPATH", (folder.path() / "pack").c_str(), 1);
  const auto found = environment();
  EXPECT_EQ(found.identity("pytorch").value("triton", ""), "3.8.0");
  EXPECT_THAT(found.doubts(),
              testing::ElementsAre(HasSubstr(": torch 2.14.1 does not say its ptxas: OSError: ")));
}

TEST_F(python_with_libraries, has_what_a_library_refuses_to_say) {
  fake_torch(
      "__version__ = '2.14.1'\nclass backends:\n    class cudnn:\n        def version():\n"
      "            raise RuntimeError('compiled against 9.24')\n",
      "first");
  setenv("PYTHONPATH", (folder.path() / "first").c_str(), 1);
  const auto found = environment();
  EXPECT_EQ(found.identity("pytorch").value("cudnn", ""), "RuntimeError: compiled against 9.24");
  EXPECT_FALSE(found.identity("pytorch").contains("nccl"));
  EXPECT_THAT(found.doubts(),
              testing::ElementsAre(
                  EndsWith(": torch 2.14.1 does not say its cudnn: RuntimeError: compiled against 9.24")));
}

TEST_F(python, that_has_other_packages_than_the_imported_one_pins_is_doubted) {
  const auto package = [&](const std::string& name, const std::string& version, const std::string& more) {
    write("pack/" + name + "-" + version + ".dist-info/METADATA",
          "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n" + more);
  };
  release("pack", "2.14.1+cu130", "2.14.1");
  setenv("PYTHONPATH", (folder.path() / "pack").c_str(), 1);
  package(
      "torch", "2.14.1",
      "Requires-Dist: nvidia-cudnn-cu13==9.24.0.1; platform_system == \"Linux\"\n"
      "Requires-Dist: triton (==3.8.0) ; python_version >= '3.8' and extra != 'x'\n"
      "Requires-Dist: cuda-toolkit[cublas,nvtx]==13.0.2\nRequires-Dist: there==1.0\n"
      "Requires-Dist: absent==1; sys_platform == 'win32'\nRequires-Dist: absent==1; python_version < '3.2'\n"
      "Requires-Dist: extra==1; extra == 'more'\nRequires-Dist: absent>=1\nRequires-Dist: absent===1\n"
      "Requires-Dist: nvidia-nvtx<=12,>=12\nRequires-Dist: triton~=3.8; python_version == '3.12.*'\n"
      "Requires-Dist: absent==2; python_version ~= '3.8'\nRequires-Dist: there<1\n"
      "Requires-Dist: jax-cuda13-plugin<=2,>=2; extra == 'cuda13'\n");
  package("nvidia-cudnn-cu13", "9.19.0.56", "");
  package("there", "1", "");
  package("jax-cuda13-plugin", "1", "");
  package("cuda-toolkit", "13.0.2",
          "Requires-Dist: nvidia-cublas==13.1.*; extra == 'cublas'\n"
          "Requires-Dist: nvidia-nvtx==13.0.*; extra == 'nvtx'\nRequires-Dist: other==1; extra == 'other'\n");
  package("nvidia-cublas", "13.10.0.1", "");
  package("nvidia-nvtx", "13.0.85", "");
  const auto found = environment();
  EXPECT_EQ(found.identity("pytorch")["unmet"],
            (nlohmann::json{"nvidia-cudnn-cu13==9.24.0.1: 9.19.0.56 is installed",
                            "triton==3.8.0: not installed", "nvidia-cublas==13.1.*: 13.10.0.1 is installed",
                            "absent===1: not installed", "nvidia-nvtx<=12,>=12: 13.0.85 is installed",
                            "absent==2: not understood: not installed; python_version ~= '3.8'",
                            "jax-cuda13-plugin<=2,>=2: 1 is installed"}));
  EXPECT_THAT(found.doubts(),
              testing::ElementsAre(HasSubstr(": torch 2.14.1+cu130 runs with other packages than it pins: "
                                             "nvidia-cudnn-cu13==9.24.0.1: 9.19.0.56 is installed; ")));
  release("pack", "2.14.2", "");
  EXPECT_FALSE(environment().identity("pytorch").contains("unmet")) << "the pins are of another version";
}

TEST_F(python_with_libraries, of_a_torch_that_is_not_imported_is_refused) {
  release("second", "2.11.0", "");
  library("second/torch/lib/libc10.so");
  torch_that_loads("second/torch/lib/libc10.so");
  EXPECT_EQ(environment().why_not(on_host),
            fmt::format("{} is imported, and {} of another torch is in the process",
                        real("first/torch/__init__.py"), real("second/torch/lib/libc10.so")));
  library("first/torch/lib/libc10.so");
  torch_that_loads("first/torch/lib/libc10.so");
  EXPECT_EQ(environment().why_not(on_host), "") << "another torch beside it does no harm";
}

TEST_F(python, runs_no_arm_of_a_framework_that_is_left_out) {
  release("", "2.14.1", "");
  auto found = environment();
  ASSERT_EQ(found.why_not(on_host), "");
  found.leave_out("pytorch", "both import the same files");
  EXPECT_EQ(found.why_not(on_host), "both import the same files");
  EXPECT_TRUE(found.imports().empty());
}

TEST_F(python, is_found_on_the_path_by_its_name) {
  const char* const path = std::getenv("PATH");
  const std::string before = path == nullptr ? "" : path;
  setenv("PATH", (folder.path().string() + ":" + before).c_str(), 1);
  const auto found = python_environment::all({"python"}, FRAMEWORKS, {}, 0, -1, std::chrono::seconds(60))[0];
  setenv("PATH", before.c_str(), 1);
  EXPECT_EQ(found.command({"x"}).front(), (folder.path() / "python").string());
  EXPECT_THAT(found.for_stack()["python"].get<std::string>(), HasSubstr("3."));
}

TEST_F(python, imports_frameworks_side_by_side_also_of_several) {
  // Each waits until the other one has begun.
  const auto waits_for = [&](const std::string& own, const std::string& other) {
    return "import os, time\nfolder = '" + folder.path().string() + "/'\nopen(folder + '" + own +
           "', 'w').close()\nend = time.monotonic() + 20\nwhile not os.path.exists(folder + '" + other +
           "'):\n    assert time.monotonic() < end\n    time.sleep(0.01)\nraise ImportError('" + own + "')\n";
  };
  write("torch/__init__.py", waits_for("first", "second"));
  write("cupy/__init__.py", waits_for("second", "first"));
  const auto found = python_environment::all({folder.path() / "python"}, FRAMEWORKS,
                                             {"pytorch", "cupy", "jax"}, 0, -1, std::chrono::seconds(60))[0];
  const std::map<std::string, std::string> expected{{"cupy", "import cupy raises ImportError: second"},
                                                    {"pytorch", "import torch raises ImportError: first"}};
  EXPECT_EQ(found.imports(), expected);
  for (const char* name : {"first", "second"}) {
    fs::remove(folder.path() / name);
    script(fmt::format("{}_python", name),
           fmt::format("#!/bin/sh\nPYTHONPATH={0}/of_{1} exec '" PYTHON3 "' -S \"$@\"\n",
                       folder.path().string(), name));
  }
  write("of_first/torch/__init__.py", waits_for("first", "second"));
  write("of_second/torch/__init__.py", waits_for("second", "first"));
  const auto two = python_environment::all({folder.path() / "first_python", folder.path() / "second_python"},
                                           FRAMEWORKS, {"pytorch"}, 0, -1, std::chrono::seconds(60));
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(two[0].imports().at("pytorch"), "import torch raises ImportError: first");
  EXPECT_EQ(two[1].imports().at("pytorch"), "import torch raises ImportError: second");
}

}  // namespace
}  // namespace cufault
