// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Of each probe: that it fires, and that it does not.
#include "harness/doctor/probe.hpp"
#include "harness/doctor/tests/made_machine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace cufault {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class probes : public made_machine {
 protected:
  /// "failure environment.driver_missing/drop_the_stub"
  static std::vector<std::string> found(const probe_report& report) {
    std::vector<std::string> all;
    for (const finding& f : report.findings)
      all.push_back(name_of(f.level) + (f.case_name.empty() ? "" : " " + f.case_name + "/" + f.remedy));
    for (const finding& f : report.findings) {
      EXPECT_TRUE(f.advice.ends_with('.') && f.advice.find(' ') != std::string::npos)
          << "no sentence that says what to do: " << f.text << ": " << f.advice;
    }
    return all;
  }
};

// ---- variables ----

TEST_F(probes, variables_with_possible_values_are_not_told) {
  set("CUDA_MODULE_LOADING", "LAZY");
  set("CUDA_VISIBLE_DEVICES", "0,1");
  set("CUBLAS_WORKSPACE_CONFIG", ":4096:2:16:8");
  set("CUDA_CACHE_MAXSIZE", "1073741824");
  set("CUDA_FORCE_PTX_JIT", "0");
  set("CUDA_CACHE_PATH", "/");
  const auto report = look_at_variables(m);
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_THAT(report.seen, ElementsAre(HasSubstr("8320 KiB")));
}

TEST_F(probes, variables_with_impossible_values_are_warned_of) {
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"CUDA_MODULE_LOADING", "lazy"},
                                                        {"CUDA_CACHE_MAXSIZE", "1G"},
                                                        {"CUDA_DEVICE_MAX_CONNECTIONS", "64"},
                                                        {"CUDA_DEVICE_ORDER", "PCI"},
                                                        {"CUDA_LAUNCH_BLOCKING", "yes"},
                                                        {"CUBLAS_WORKSPACE_CONFIG", "4096:8"},
                                                        {"CUBLAS_WORKSPACE_CONFIG", ":4096"},
                                                        {"CUBLAS_WORKSPACE_CONFIG", ":4096:8:"},
                                                        {"CUBLAS_WORKSPACE_CONFIG", ""},
                                                        {"CUDA_VISIBLE_DEVICES", "0,1,0"},
                                                        {"CUDA_CACHE_MAXSIZE", "99999999999999999999"}}) {
    m.environment = {{name, value}};
    EXPECT_THAT(found(look_at_variables(m)), ElementsAre("warning")) << name << '=' << value;
  }
}

TEST_F(probes, variables_that_hide_every_device_fail) {
  for (const char* value : {"", "-1", "NoDevFiles", "none", "-1,0"}) {
    m.environment = {{"CUDA_VISIBLE_DEVICES", value}};
    EXPECT_THAT(found(look_at_variables(m)),
                ElementsAre("failure environment.hidden_devices/show_in_new_process"))
        << value;
  }
  m.environment = {{"CUDA_VISIBLE_DEVICES", "GPU-1234"}};
  EXPECT_THAT(found(look_at_variables(m)), IsEmpty());
}

TEST_F(probes, variables_of_the_compiler_are_told) {
  set("CUDA_FORCE_PTX_JIT", "1");
  set("CUDA_DISABLE_PTX_JIT", "1");
  set("CUDA_LAUNCH_BLOCKING", "1");
  set("CUDA_CACHE_PATH", "/file/below");
  write_file(root / "file", "");
  EXPECT_THAT(found(look_at_variables(m)), ElementsAre("failure environment.wrong_code/force_no_longer",
                                                       "warning environment.wrong_code/", "note"));
  write_file(root / "is_a_file", "");
  m.environment = {{"CUDA_CACHE_PATH", "/is_a_file"}};
  EXPECT_THAT(found(look_at_variables(m)), ElementsAre("note environment.cache_unreadable/"));
}

TEST_F(probes, unread_variables_are_those_of_no_library) {
  library("/lib64/libcublas.so.13", {.data = std::string("\0CUBLAS_LOGINFO_DBG\0", 20)});
  m.measured.asked = {{"CUBLAS_WORKSPACE_CONFIG", {"libcublas.so.13"}}};
  set("CUBLAS_LOGINFO_DBG", "1");
  set("CUBLAS_WORKSPACE_CONFIG", ":16:8");
  set("PATH", "/bin");
  auto report = look_at_unread_variables(m);
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_THAT(report.seen, IsEmpty());
  set("CUDA_HOME", "/cuda");
  set("CUBLAS_WORKSPACE_CONFG", ":16:8");
  report = look_at_unread_variables(m);
  EXPECT_THAT(report.seen, ElementsAre(HasSubstr("CUDA_HOME")));
  EXPECT_THAT(
      report.findings,
      ElementsAre(AllOf(
          Field(&finding::level, finding_level::warning),
          Field(&finding::command, "unset CUBLAS_WORKSPACE_CONFG; export CUBLAS_WORKSPACE_CONFIG=':16:8'"))));
}

TEST_F(probes, unread_variables_are_not_asked_for_without_a_library) {
  set("CUDA_HOME", "/cuda");
  EXPECT_EQ(look_at_unread_variables(m).not_asked, "no CUDA library was found");
}

// ---- the search path ----

TEST_F(probes, search_path_without_stubs_and_compat_is_well) {
  library("/own/libcuda.so.1");
  library("/stubs/libother.so");
  set("LD_LIBRARY_PATH", "/own:/stubs:/not/there");
  EXPECT_THAT(look_at_search_path(m).findings, IsEmpty());
}

TEST_F(probes, search_path_with_a_stub_of_the_driver_fails) {
  library("/cuda/lib64/stubs/libcuda.so.1");
  set("LD_LIBRARY_PATH", "/own:/cuda/lib64/stubs/");
  const auto report = look_at_search_path(m);
  EXPECT_THAT(found(report), ElementsAre("failure environment.driver_missing/drop_the_stub"));
  EXPECT_EQ(report.findings[0].command, "export LD_LIBRARY_PATH='/own'");
}

TEST_F(probes, search_path_with_a_stub_for_the_linker_alone_is_warned_of) {
  library("/cuda/lib64/stubs/libcuda.so");
  set("LD_LIBRARY_PATH", "/cuda/lib64/stubs");
  const auto report = look_at_search_path(m);
  EXPECT_THAT(found(report), ElementsAre("warning environment.driver_missing/drop_the_stub"));
  EXPECT_EQ(report.findings[0].command, "unset LD_LIBRARY_PATH");
}

TEST_F(probes, search_path_with_a_compat_folder_is_warned_of) {
  library("/cuda/compat/libcuda.so.1");
  set("LD_LIBRARY_PATH", "/cuda/compat");
  EXPECT_THAT(found(look_at_search_path(m)), ElementsAre("warning environment.driver_mismatch/drop_compat"));
}

// ---- libraries ----

made_elf cublas() {
  return {.soname = "libcublas.so.13", .runpath = "$ORIGIN", .needed = {"libcublasLt.so.13"}};
}

TEST_F(probes, libraries_that_lie_together_are_a_pair) {
  library("/usr/local/cuda/lib64/libcublas.so.13", cublas());
  library("/usr/local/cuda/lib64/libcublasLt.so.13");
  versions["/usr/local/cuda/lib64/libcublas.so.13"] = {.version = 130100};
  const auto report = look_at_libraries(m);
  EXPECT_THAT(report.findings, IsEmpty());
  ASSERT_THAT(report.libraries, SizeIs(5));
  EXPECT_EQ(report.libraries[0].name, "libcublas.so.13");
  EXPECT_EQ(report.libraries[0].found, "") << "no bare name finds it";
  EXPECT_THAT(report.libraries[0].on_disk, ElementsAre("/usr/local/cuda/lib64/libcublas.so.13 (13.1.0)"));
}

TEST_F(probes, libraries_of_two_versions_are_a_mixed_pair) {
  library("/usr/local/cuda/lib64/libcublas.so.13", cublas());
  library("/usr/local/cuda/lib64/libcublasLt.so.13");
  library("/other/libcublasLt.so.13");
  set("LD_LIBRARY_PATH", "/other");
  versions["/usr/local/cuda/lib64/libcublasLt.so.13"] = {.version = 131000};
  versions["/other/libcublasLt.so.13"] = {.version = 130100};
  EXPECT_THAT(found(look_at_libraries(m)), ElementsAre("failure environment.mixed_libraries/drop_folder"));
  versions["/other/libcublasLt.so.13"] = {.version = 131100};
  EXPECT_THAT(found(look_at_libraries(m)), ElementsAre("warning environment.mixed_libraries/drop_folder"))
      << "newer";
  versions["/other/libcublasLt.so.13"] = {.version = 131000};
  EXPECT_THAT(found(look_at_libraries(m)), IsEmpty()) << "the same";
}

TEST_F(probes, libraries_without_their_other_half_fail) {
  library("/usr/local/cuda/lib64/libcublas.so.13", cublas());
  EXPECT_THAT(found(look_at_libraries(m)), ElementsAre("failure environment.mixed_libraries/preload_right"));
}

TEST_F(probes, libraries_that_are_none_are_warned_of) {
  write_file(root / "usr/local/cuda/lib64/libcublas.so.13", "no library");
  EXPECT_THAT(found(look_at_libraries(m)), ElementsAre("warning"));
}

TEST_F(probes, libraries_are_not_asked_for_where_there_are_none) {
  EXPECT_EQ(look_at_libraries(m).not_asked, "no CUDA library was found");
}

// ---- the driver ----

TEST_F(probes, driver_that_works_is_well) {
  const auto report = look_at_driver(m);
  EXPECT_TRUE(report.driver_usable);
  EXPECT_THAT(report.findings, IsEmpty());
}

TEST_F(probes, driver_that_is_absent_fails_only_where_there_is_a_gpu) {
  driver = {.why_absent = "cannot open"};
  auto report = look_at_driver(m);
  EXPECT_FALSE(report.driver_usable);
  EXPECT_THAT(found(report), ElementsAre("warning environment.driver_missing/"));
  EXPECT_EQ(report.findings[0].command, "");
  library("/usr/local/cuda/lib64/stubs/libcuda.so");
  EXPECT_EQ(look_at_driver(m).findings[0].command, "") << "a stub is no driver";
  write_file(root / "proc/driver/nvidia/version", "NVRM");
  library("/usr/local/nvidia/lib64/libcuda.so.1");
  report = look_at_driver(m);
  EXPECT_THAT(found(report), ElementsAre("failure environment.driver_missing/find_the_driver"));
  EXPECT_EQ(report.findings[0].command, "export LD_LIBRARY_PATH=/usr/local/nvidia/lib64:$LD_LIBRARY_PATH");
}

TEST_F(probes, driver_that_is_absent_fails_where_the_pci_bus_has_a_gpu) {
  driver = {.why_absent = "cannot open"};
  write_file(root / "sys/bus/pci/devices/0000:3b:00.0/vendor", "0x10de\n");
  write_file(root / "sys/bus/pci/devices/0000:3b:00.0/class", "0x030200\n");
  const auto report = look_at_driver(m);
  EXPECT_THAT(found(report), ElementsAre("failure environment.driver_missing/"));
  EXPECT_THAT(report.findings[0].text, HasSubstr("0000:3b:00.0"));
}

TEST_F(probes, driver_that_cannot_be_loaded_is_taken_out_of_the_search_path) {
  driver = {.why_absent = "invalid ELF header"};
  library("/broken/libcuda.so.1");
  set("LD_LIBRARY_PATH", "/own:/broken/");
  auto report = look_at_driver(m);
  EXPECT_THAT(found(report), ElementsAre("failure environment.driver_missing/find_the_driver"));
  EXPECT_EQ(report.findings[0].command, "export LD_LIBRARY_PATH='/own'");
  EXPECT_THAT(report.findings[0].advice, HasSubstr("Take /broken out of LD_LIBRARY_PATH"));
  set("LD_LIBRARY_PATH", "");
  library("/lib64/libcuda.so.1");
  report = look_at_driver(m);
  EXPECT_THAT(found(report), ElementsAre("failure environment.driver_missing/"));
  EXPECT_EQ(report.findings[0].command, "");
  EXPECT_THAT(report.findings[0].text, HasSubstr("found by default folder"));
}

TEST_F(probes, driver_that_is_absent_fails_where_a_gpu_is_required) {
  driver = {.why_absent = "cannot open"};
  set("CUFAULT_REQUIRE_GPU", "1");
  EXPECT_THAT(found(look_at_driver(m)), ElementsAre("failure environment.driver_missing/"));
  set("CUFAULT_REQUIRE_GPU", "0");
  EXPECT_THAT(found(look_at_driver(m)), ElementsAre("warning environment.driver_missing/"));
}

TEST_F(probes, driver_that_refuses_is_told_by_its_code) {
  const auto with_code = [&](int code) {
    driver.initialised = code;
    driver.devices.clear();
    return found(look_at_driver(m));
  };
  EXPECT_THAT(with_code(34), ElementsAre("failure environment.driver_missing/drop_the_stub"));
  EXPECT_THAT(with_code(100), ElementsAre("failure environment.hidden_devices/"));
  EXPECT_THAT(with_code(802), ElementsAre("failure environment.driver_mismatch/"));
  EXPECT_THAT(with_code(803), ElementsAre("failure environment.driver_mismatch/right_driver"));
  EXPECT_THAT(with_code(999), ElementsAre("failure"));
  driver.library = "/usr/local/cuda/compat/libcuda.so.1";
  EXPECT_THAT(with_code(804), ElementsAre("failure environment.driver_mismatch/drop_compat"));
  set("CUDA_VISIBLE_DEVICES", "7");
  EXPECT_THAT(with_code(100), ElementsAre("failure environment.hidden_devices/show_in_new_process"));
  EXPECT_THAT(with_code(0), ElementsAre("failure environment.hidden_devices/show_in_new_process"));
  m.environment.clear();
  EXPECT_THAT(with_code(0), ElementsAre("failure environment.hidden_devices/")) << "without a device";
}

TEST_F(probes, driver_that_refuses_leaves_the_search_path_where_it_was_found_there) {
  library("/cuda/stubs/libcuda.so.1");
  set("LD_LIBRARY_PATH", "/cuda/stubs:/own");
  driver.initialised = 34;
  EXPECT_EQ(look_at_driver(m).findings[0].command, "export LD_LIBRARY_PATH='/own'");
  set("LD_LIBRARY_PATH", "/own");
  library("/lib64/libcuda.so.1");
  EXPECT_EQ(look_at_driver(m).findings[0].command, "");
}

TEST_F(probes, driver_is_compared_with_the_newest_runtime) {
  library("/lib64/libcublasLt.so.13");
  versions["/lib64/libcublasLt.so.13"] = {.version = 130100, .runtime = 13000};
  EXPECT_THAT(found(look_at_driver(m)), IsEmpty());
  driver.version = 12090;
  EXPECT_THAT(found(look_at_driver(m)), ElementsAre("failure environment.driver_missing/newer_driver"));
  driver.version = 13000;
  versions["/lib64/libcublasLt.so.13"].runtime = 13010;
  EXPECT_THAT(found(look_at_driver(m)), ElementsAre("note environment.driver_mismatch/"));
}

// ---- code ----

TEST_F(probes, gpu_code_for_this_gpu_is_well) {
  library("/lib64/libcublas.so.13", {.fatbin = made_container({{2, 90}})});
  const auto report = look_at_gpu_code(m);
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_EQ(report.not_asked, "");
}

TEST_F(probes, gpu_code_as_ptx_alone_is_warned_of_and_none_fails) {
  library("/lib64/libcublas.so.13", {.fatbin = made_container({{2, 80}, {1, 80}})});
  EXPECT_THAT(found(look_at_gpu_code(m)), ElementsAre("warning environment.wrong_code/"));
  library("/lib64/libcublas.so.13", {.fatbin = made_container({{2, 80}, {1, 120}})});
  EXPECT_THAT(found(look_at_gpu_code(m)), ElementsAre("failure environment.wrong_code/add_ptx"));
}

TEST_F(probes, gpu_code_is_not_asked_for_without_cublas) {
  library("/lib64/libcublas.so.13");
  EXPECT_EQ(look_at_gpu_code(m).not_asked, "no cuBLAS with code for GPUs was found");
}

// ---- known issues ----

constexpr known_issue made_issue(std::string_view harm, std::string_view reach = "any") {
  return {.id = "made",
          .library = "cublas",
          .harm = harm,
          .what = "It is bad.",
          .reach = reach,
          .workarounds = "Do not.\nOr else."};
}
constexpr known_issue made_wrong = made_issue("wrong_numbers"), made_status = made_issue("worse_status"),
                      made_hang = made_issue("hang"), made_refused = made_issue("crash", "refused_call");

TEST_F(probes, known_issues_are_warned_of_where_they_were_measured_documented_or_likely_and_it_says_which) {
  library("/lib64/libcublas.so.13");
  versions["/lib64/libcublas.so.13"] = {.version = 130100};
  m.known = [](std::string_view version, std::string_view architecture, std::string_view library) {
    EXPECT_EQ(library, "cublas");
    EXPECT_EQ(version, "13.1.0");
    EXPECT_EQ(architecture, "9.0");
    return std::vector<known_match>{{&made_wrong, known_level::measured, "measured with 13.1.0 on 9.0"},
                                    {&made_status, known_level::measured, {}},
                                    {&made_hang, known_level::documented, "documented by NVIDIA"},
                                    {&made_hang, known_level::likely_affected, "not measured; between two"},
                                    {&made_hang, known_level::affected_elsewhere, {}},
                                    {&made_hang, known_level::not_measured, {}},
                                    {&made_refused, known_level::measured, {}}};
  };
  const auto report = look_at_known_issues(m);
  ASSERT_EQ(report.findings.size(), 3U) << "one of a status alone, and one that was measured with another "
                                           "version, and one of a call that others refuse, are counted";
  EXPECT_EQ(report.findings[0].level, finding_level::warning);
  EXPECT_EQ(report.findings[0].text, "cuBLAS 13.1.0 on 9.0, made: It is bad. (measured with 13.1.0 on 9.0)");
  EXPECT_THAT(report.findings[1].text, HasSubstr("(documented by NVIDIA)"));
  EXPECT_THAT(report.findings[2].text, HasSubstr("(not measured; between two)"));
  EXPECT_EQ(report.findings[0].advice, "Do not.");
  EXPECT_EQ(report.findings[0].harm, "wrong_numbers");
  EXPECT_THAT(report.seen, ElementsAre(HasSubstr("4 more known: cufault known --cublas 13.1.0 --gpu 9.0")));
}

TEST_F(probes, known_issues_of_other_versions_and_gpus_are_no_findings) {
  library("/lib64/libcublas.so.13");
  versions["/lib64/libcublas.so.13"] = {.version = 130100};
  m.known = [](std::string_view, std::string_view, std::string_view) {
    return std::vector<known_match>{{&made_wrong, known_level::not_measured, {}}};
  };
  EXPECT_THAT(look_at_known_issues(m).findings, IsEmpty());
  m.known = {};
  EXPECT_EQ(look_at_known_issues(m).not_asked, "there is no list of known issues");
}

TEST_F(probes, known_issues_are_not_asked_for_without_cublas) {
  m.known = [](std::string_view, std::string_view, std::string_view) { return std::vector<known_match>(); };
  EXPECT_EQ(look_at_known_issues(m).not_asked, "the loader finds no cuBLAS");
}

TEST_F(probes, known_issues_of_frameworks_are_told_in_a_line_each) {
  m.packages = {{"jax", "0.8.1"}, {"torch", "2.9.0"}};
  m.known = [](std::string_view version, std::string_view, std::string_view library) {
    return library == "torch" && version == "2.9.0"
               ? std::vector<known_match>{{&made_wrong, known_level::reported, {}}}
               : std::vector<known_match>();
  };
  const auto report = look_at_known_issues(m);
  EXPECT_THAT(report.findings, IsEmpty()) << "nobody measured it";
  EXPECT_THAT(report.not_asked, IsEmpty()) << "torch brings a cuBLAS that the loader does not find";
  EXPECT_THAT(report.seen, ElementsAre("torch 2.9.0 on 9.0: 1 more known, 1 reported by users: cufault known "
                                       "--package torch==2.9.0 --gpu 9.0"));
}

// ---- NVML ----

TEST_F(probes, memory_that_is_free_is_told_with_its_record) {
  const auto report = look_at_memory(m);
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_THAT(report.seen, ElementsAre(AllOf(HasSubstr("66 MiB"), HasSubstr("control_lazy, a stack"))));
}

TEST_F(probes, memory_that_does_not_hold_a_handle_fails) {
  library("/lib64/libcublas.so.13");
  versions["/lib64/libcublas.so.13"] = {.version = 130100};
  management.gpus[0].free_bytes = 65ULL << 20;
  EXPECT_THAT(found(look_at_memory(m)),
              ElementsAre("failure memory.create_under_pressure/end_other_process_and_retry_lazy"));
  versions["/lib64/libcublas.so.13"] = {.version = 130200};
  EXPECT_THAT(found(look_at_memory(m)),
              ElementsAre("warning memory.create_under_pressure/end_other_process_and_retry_lazy"))
      << "measured with another cuBLAS";
}

TEST_F(probes, memory_is_compared_with_the_record_of_the_cublas_that_is_here) {
  const auto record = [](const char* cublas, std::uint64_t mebibytes) {
    return measured_facts::footprint{
        .stack = std::string("cuBLAS ") + cublas, .arm = "x", .cublas = cublas, .bytes = mebibytes << 20};
  };
  m.measured.footprints = {record("12.0.1", 258), record("12.8.4", 80), record("13.1.0", 70),
                           record("13.1.0", 66), record("13.10.0", 90)};
  library("/lib64/libcublas.so.13");
  const auto seen_with = [&](int version) {
    versions["/lib64/libcublas.so.13"] = {.version = version};
    return look_at_memory(m).seen.at(0);
  };
  EXPECT_THAT(seen_with(130100), HasSubstr("70 MiB for the first cublasCreate (record: x, cuBLAS 13.1.0)"));
  EXPECT_THAT(seen_with(130200), HasSubstr("70 MiB for the first cublasCreate (cuBLAS 13.2.0 is here and has "
                                           "none; the nearest record: x, cuBLAS 13.1.0)"));
  EXPECT_THAT(seen_with(130001), HasSubstr("cuBLAS 13.1.0)"));
  EXPECT_THAT(seen_with(120900), HasSubstr("cuBLAS 12.8.4)"));
  EXPECT_THAT(seen_with(110000), HasSubstr("cuBLAS 12.0.1)"));
  std::filesystem::remove(root / "lib64/libcublas.so.13");
  EXPECT_THAT(look_at_memory(m).seen.at(0),
              HasSubstr("(no cuBLAS was found here; record: x, cuBLAS 13.10.0)"));
}

TEST_F(probes, memory_of_eager_loading_is_its_own_record) {
  set("CUDA_MODULE_LOADING", "EAGER");
  EXPECT_EQ(look_at_memory(m).not_asked, "no record has measured what a handle takes");
  m.measured.footprints.push_back(
      {.stack = "a stack", .arm = "x/control_eager", .cublas = "13.1.0", .eager = true, .bytes = 1ULL << 40});
  EXPECT_THAT(found(look_at_memory(m)), ElementsAre("warning memory.create_under_pressure/load_lazily_eager"))
      << "no cuBLAS is here";
  library("/lib64/libcublas.so.13");
  versions["/lib64/libcublas.so.13"] = {.version = 130100};
  EXPECT_THAT(found(look_at_memory(m)),
              ElementsAre("failure memory.create_under_pressure/load_lazily_eager"));
}

TEST_F(probes, memory_and_gpus_are_not_asked_for_without_nvml) {
  management = {.why_absent = "cannot open libnvidia-ml.so.1"};
  EXPECT_EQ(look_at_memory(m).not_asked, "cannot open libnvidia-ml.so.1");
  EXPECT_EQ(look_at_gpus(m).not_asked, "cannot open libnvidia-ml.so.1");
}

TEST_F(probes, gpus_that_are_well_are_described) {
  management.gpus[0].mig = false;
  management.gpus[0].ecc = true;
  management.gpus[0].users = std::vector<gpu_state::user>{};
  const auto report = look_at_gpus(m);
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_THAT(report.seen, ElementsAre(HasSubstr("MIG off, persistence not told, ECC on")));
}

TEST_F(probes, gpus_are_told_with_users_errors_and_rows) {
  gpu_state& gpu = management.gpus[0];
  gpu.users = {{12, 1ULL << 30}, {13, std::nullopt}};
  gpu.uncorrected_errors = 2;
  gpu.remapped = gpu_state::rows{.corrected = 1, .uncorrected = 0, .pending = true, .failed = false};
  EXPECT_THAT(found(look_at_gpus(m)),
              ElementsAre("note memory.create_under_pressure/end_other_process_and_retry_lazy", "warning",
                          "warning"));
  gpu = {.name = "busy"};
  gpu.compute_mode = 3;
  gpu.users = {{12, std::nullopt}};
  EXPECT_THAT(found(look_at_gpus(m)),
              ElementsAre("failure", "note memory.create_under_pressure/end_other_process_and_retry_lazy"));
  gpu.users = std::nullopt;
  EXPECT_THAT(found(look_at_gpus(m)), IsEmpty());
  gpu.compute_mode = 2;
  EXPECT_THAT(found(look_at_gpus(m)), ElementsAre("failure"));
}

TEST_F(probes, kernel_log_without_xid_is_well) {
  write_file(root / "dev/kmsg", "6,1,2,-;eth0: link is up\n6,2,3,-;NVRM: loading\n");
  const auto report = look_at_kernel_log(m);
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_EQ(report.not_asked, "");
}

TEST_F(probes, kernel_log_with_xid_is_told_by_number) {
  write_file(root / "dev/kmsg",
             "4,1,2,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus\n"
             "4,2,3,-;NVRM: Xid (PCI:0000:3b:00): 13, pid=7, first\n"
             "4,3,4,-;NVRM: Xid (PCI:0000:3b:00): 13, pid=8, second\n"
             "4,4,5,-;NVRM: Xid (PCI:0000:3b:00): 31, pid=8, x\n"
             "4,5,6,-;NVRM: Xid (PCI:0000:3b:00): 43, pid=8, x\n"
             "4,6,7,-;NVRM: Xid (PCI:0000:3b:00): 45, pid=8, x\nNVRM: Xid (PCI");
  const auto report = look_at_kernel_log(m);
  EXPECT_THAT(found(report),
              ElementsAre("note sticky.device_fault/new_process_*", "note sticky.device_fault/new_process_*",
                          "note sticky.device_fault/new_process_*", "note", "warning"));
  EXPECT_THAT(report.findings[0].text, AllOf(HasSubstr("Xid 13, 2 times"), HasSubstr("second")));
}

TEST_F(probes, kernel_log_that_may_not_be_read_is_not_asked) {
  EXPECT_THAT(look_at_kernel_log(m).not_asked, HasSubstr("dev/kmsg"));
}

// ---- what is loaded ----

TEST_F(probes, loaded_libraries_of_one_folder_are_well) {
  m.loaded = [] {
    return std::vector<std::filesystem::path>{"/a/libcublas.so.13", "/a/libcublasLt.so.13", "/b/libc.so.6"};
  };
  const auto report = look_at_loaded_libraries(m);
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_THAT(report.libraries, ElementsAre(Field(&library_row::loaded, "/a/libcublas.so.13"),
                                            Field(&library_row::loaded, "/a/libcublasLt.so.13")));
}

TEST_F(probes, loaded_libraries_of_two_folders_are_warned_of) {
  m.loaded = [] {
    return std::vector<std::filesystem::path>{"/a/libcublas.so.13", "/b/libcublasLt.so.13",
                                              "/c/libcublasLt.so.12"};
  };
  EXPECT_THAT(look_at_loaded_libraries(m).findings, SizeIs(2));
}

TEST_F(probes, loaded_libraries_are_not_asked_for_where_no_product_is_made) {
  EXPECT_THAT(look_at_loaded_libraries(m).not_asked, HasSubstr("without CUDA"));
  m.loaded = []() -> std::vector<std::filesystem::path> { throw std::runtime_error("no memory"); };
  EXPECT_EQ(look_at_loaded_libraries(m).not_asked, "no memory");
}

}  // namespace
}  // namespace cufault
