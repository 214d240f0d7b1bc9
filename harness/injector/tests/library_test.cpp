// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Rules for functions of libraries, on a stand-in libcublas (programs/fake_blas.cpp), called in every way, and a stand-in libcudart
// (programs/fake_cudart.cpp).
#include "harness/injector/tests/injector_fixture.hpp"

#include <set>

namespace cufault {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

const std::string blas = driver_folder + "/blas", linked_probe = tree + "/bin/injector_blas_linked_probe",
                  unlinked_probe = tree + "/bin/injector_blas_probe", of_13 = blas + "/new/libcublas.so.13",
                  bundled = blas + "/bundled/libcublas-1a2b3c.so.13",
                  launch_probe = tree + "/bin/injector_launch_probe",
                  blas_shim = blas + "/libinjector_blas_shim.so";

std::string user(const std::string& which) {
  return blas + "/libinjector_blas_user_" + which + ".so";
}
std::string front(const std::string& name) {
  return tree + "/lib/cufault/libcufault_" + name + ".so:";
}

class libraries : public injector {
 protected:
  std::vector<std::string> under(const std::string& preload, const std::string& program,
                                 const std::string& rule = "", const std::string& more = "") {
    const std::string quoted = rule.empty() ? "" : " CUFAULT_RULES='" + rules(rule) + "' ";
    return run("CUFAULT_LOG=" + log().string() + quoted + " " + more, preload, program);
  }
  /// Lines of a program under rules for cuBLAS.
  std::vector<std::string> said(const std::string& program, const std::string& rule = "",
                                const std::string& more = "") {
    return under(front("cublas") + library, program, rule, more);
  }
  std::vector<std::string> bare(const std::string& program) { return run("", "", program); }
};

const std::string second =
    R"({"function": "cublasSgemm", "skip": 1, "hits": 1, "return": "EXECUTION_FAILED"})";

TEST_F(libraries, fail_however_they_are_called) {
  for (const std::string& program :
       {linked_probe + " linked 3", linked_probe + " default 3", linked_probe + " next 3",
        unlinked_probe + " plugin " + user("new") + " 3",
        unlinked_probe + " plugin " + user("bundled") + " 3", unlinked_probe + " dlsym " + of_13 + " 3",
        unlinked_probe + " dlsym " + bundled + " 3"}) {
    EXPECT_THAT(bare(program), ElementsAre("0 0 0 made 3")) << program;
    EXPECT_THAT(said(program), ElementsAre("0 0 0 made 3")) << program;
    fs::remove(log());
    EXPECT_THAT(said(program, second), ElementsAre("0 13 0 made 2")) << program;
    ASSERT_THAT(events("injected"), SizeIs(1)) << program;
    const json one = events("injected")[0];
    EXPECT_EQ(one["function"], "cublasSgemm_v2");
    EXPECT_EQ(one["did"], "CUBLAS_STATUS_EXECUTION_FAILED");
    EXPECT_EQ(one["ordinal"], 2);
  }
}

TEST_F(libraries, are_left_alone_by_rules_for_others) {
  EXPECT_THAT(
      said(linked_probe + " linked 3", R"({"function": "cublasGemmEx", "return": "EXECUTION_FAILED"})"),
      ElementsAre("0 0 0 made 3"));
  EXPECT_THAT(events("injected"), IsEmpty());
  EXPECT_THAT(said(linked_probe + " linked 3", R"({"function": "cu*", "delay_ms": 0})"),
              ElementsAre("0 0 0 made 3"));
  EXPECT_THAT(events("injected"), IsEmpty()) << "a glob of the driver's functions is of those alone";
  EXPECT_THAT(said(linked_probe + " nested 1",
                   R"({"function": "cublas*", "caller": "nobody", "return": "NOT_SUPPORTED"})"),
              ElementsAre("0"));
}

TEST_F(libraries, keep_their_own_functions_where_no_rule_asks) {
  const std::string where = unlinked_probe + " where " + of_13 + " ";
  EXPECT_THAT(said(where + "cublasSgemm_v2"), ElementsAre("libcufault.so"));
  EXPECT_THAT(said(where + "cublasGetCudartVersion"), ElementsAre("libcublas.so.13"))
      << "it returns no status";
  EXPECT_THAT(said(where + "cublasNothing"), ElementsAre("nowhere"));
  EXPECT_THAT(under(library, where + "cublasSgemm_v2"), ElementsAre("libcublas.so.13"));
  EXPECT_THAT(under(front("cudart") + library, where + "cublasSgemm_v2"), ElementsAre("libcublas.so.13"));
  EXPECT_THAT(said(unlinked_probe + " unloaded"), ElementsAre("null"));
}

TEST_F(libraries, get_all_their_arguments) {
  const std::string linked = linked_probe + " arguments 1",
                    looked_up = unlinked_probe + " arguments_of " + of_13;
  const std::string function = R"({"function": "cublasGemmStridedBatchedEx", )";
  for (const std::string& program : {linked, looked_up}) {
    EXPECT_THAT(bare(program), ElementsAre("0"));
    EXPECT_THAT(said(program), ElementsAre("0"));
    EXPECT_THAT(said(program, function + R"("delay_ms": 0})"), ElementsAre("0"));
    EXPECT_THAT(said(program, function + R"("return": "INTERNAL_ERROR", "when": "after"})"),
                ElementsAre("14"))
        << "the call itself succeeds, or it would say 7";
    EXPECT_THAT(said(program, function + R"("log": true})"), ElementsAre("0"));
  }
  EXPECT_EQ(events("call").at(0)["result"], "CUBLAS_STATUS_SUCCESS");
}

TEST_F(libraries, are_met_with_their_suffixes_and_by_globs) {
  const std::string program = linked_probe + " linked 1 wide 1";
  const auto failing = [&](const std::string& function) {
    return said(program, R"({"function": ")" + function + R"(", "return": "ALLOC_FAILED"})");
  };
  EXPECT_THAT(failing("cublasSgemm"), ElementsAre("3 made 0", "3 made 0"));
  EXPECT_THAT(failing("cublasSgemm_v2"), ElementsAre("3 made 0", "3 made 0"));
  EXPECT_THAT(failing("cublasSgemm_64"), ElementsAre("0 made 1", "3 made 0"));
  EXPECT_THAT(failing("cublas[SD]gemm"), ElementsAre("3 made 0", "3 made 0"));
  EXPECT_THAT(failing("cublasSgemm*_64"), ElementsAre("0 made 1", "3 made 0"));
}

TEST_F(libraries, of_two_versions_stay_apart) {
  const std::string versions =
      unlinked_probe + " version " + user("new") + " version " + user("old") + " version " + user("new");
  EXPECT_THAT(bare(versions), ElementsAre("13", "12", "13"));
  EXPECT_THAT(said(versions), ElementsAre("13", "12", "13"));
  EXPECT_THAT(said(versions, R"({"function": "cublasGetVersion", "delay_ms": 0})"),
              ElementsAre("13", "12", "13"));
  EXPECT_THAT(
      said(versions,
           R"({"function": "cublasGetVersion", "caller": "*user_old.so", "return": "NOT_SUPPORTED"})"),
      ElementsAre("13", "-15", "13"));
  const std::string underlinked =
      unlinked_probe + " version " + user("new") + " version " + blas + "/libinjector_blas_both.so";
  EXPECT_THAT(bare(underlinked), ElementsAre("13", "12"));
  EXPECT_THAT(said(underlinked), ElementsAre("13", "12"));
}

TEST_F(libraries, call_each_other_and_rules_meet_both) {
  const std::string nested = linked_probe + " nested 1";
  const std::string inner = R"({"function": "cublasLtMatmul", "return": "ARCH_MISMATCH"})";
  EXPECT_THAT(under(front("cublasLt") + library, nested, inner), ElementsAre("8"));
  ASSERT_THAT(events("injected"), SizeIs(1));
  EXPECT_EQ(events("injected")[0]["caller"], "libcublas.so.13");
  fs::remove(log());
  EXPECT_THAT(under(front("cublas") + front("cublasLt") + library, nested,
                    inner + R"(, {"function": "cublasGemmEx", "return": "INTERNAL_ERROR", "when": "after"})"),
              ElementsAre("8"));
  EXPECT_EQ(counts()["cublasLtMatmul by libcublas.so.13"], 1);
  EXPECT_EQ(counts()["cublasGemmEx by injector_blas_linked_probe"], 1);
}

TEST_F(libraries, have_the_same_call_stack_inside_of_a_call_that_is_logged) {
  const std::string nested = linked_probe + " nested 1", ours = front("cublas") + front("cublasLt") + library;
  const auto stack_of_inner = [&](const std::string& rule) {
    fs::remove(log());
    under(ours, nested, rule);
    std::string found;
    for (const json& each : events("call"))
      if (each["function"] == "cublasLtMatmul") found = each["stack"];
    return found;
  };
  const std::string inner = R"({"function": "cublasLtMatmul", "log": true, "stack": true})",
                    outer = R"({"function": "cublasGemmEx", "log": true, "stack": true})";
  const std::string alone = stack_of_inner(inner);
  EXPECT_THAT(alone, SizeIs(16));
  EXPECT_EQ(stack_of_inner(inner + ", " + outer), alone) << "a frame of the injector is no caller";
}

TEST_F(libraries, take_what_rules_for_the_driver_take) {
  const std::string four = linked_probe + " linked 4";
  const auto with = [&](const std::string& more) {
    return said(four, R"({"function": "cublasSgemm", "return": "EXECUTION_FAILED")" + more + "}").at(0);
  };
  EXPECT_EQ(with(R"(, "every": 2)"), "0 13 0 13 made 2");
  EXPECT_EQ(with(R"(, "once_per": "stack")"), "13 0 0 0 made 3");
  EXPECT_EQ(with(R"(, "probability": 1, "hits": 2, "seed": 3)"), "13 13 0 0 made 2");
  EXPECT_EQ(with(R"(, "caller": "application")"), "13 13 13 13 made 0");
  EXPECT_EQ(with(R"(, "caller": "cublas")"), "0 0 0 0 made 4");
  EXPECT_EQ(with(R"(, "thread": 2)"), "0 0 0 0 made 4");
  EXPECT_EQ(with(R"(, "process": "other")"), "0 0 0 0 made 4");
  EXPECT_EQ(with(R"(, "when": "after")"), "13 13 13 13 made 4");
  EXPECT_THAT(said(four, R"({"function": "cublasSgemm", "drop_call": true, "hits": 3})"),
              ElementsAre("0 0 0 0 made 1"));
  EXPECT_THAT(said(four, "", "CUFAULT_FAIL='cublasSgemm:3+=CUBLAS_STATUS_INVALID_VALUE'"),
              ElementsAre("0 0 7 7 made 2"));
  fs::remove(log());
  said(four, R"({"function": "cublasSgemm", "log": true, "stack": true})");
  ASSERT_THAT(events("call"), SizeIs(4));
  EXPECT_THAT(events("call")[0]["stack"].get<std::string>(), SizeIs(16));
  EXPECT_THAT(events("began").at(0)["libraries"], ElementsAre("cublas"));
  EXPECT_EQ(events("rule").at(0)["held"], 4);
}

TEST_F(libraries, lose_no_call_of_many_threads) {
  EXPECT_THAT(said(unlinked_probe + " threads " + of_13 + " 8 1000",
                   R"({"function": "cublasSgemm", "every": 4, "return": "INTERNAL_ERROR"})"),
              ElementsAre("2000 failed"));
  EXPECT_THAT(events("injected"), SizeIs(2000));
}

TEST_F(libraries, end_no_cancelled_thread_where_rules_wait_or_write) {
  const std::string looked_up =
      tree + "/bin/injector_process_probe cancelled_before_call_of " + of_13 + " cublasGetVersion_v2";
  const auto rule = [](const std::string& function, const std::string& effect) {
    return R"({"function": ")" + function + R"(", )" + effect + "}";
  };
  for (const std::string effect : {R"("log": true)", R"("delay_ms": 1)"}) {
    EXPECT_THAT(said(looked_up, rule("cublasGetVersion", effect)), ElementsAre("returned 0")) << effect;
    EXPECT_THAT(said(linked_probe + " cancelled 2", rule("cublasSgemm", effect)), ElementsAre("0 0 made 2"))
        << effect;
  }
  const std::string fails = R"("return": "EXECUTION_FAILED")";
  EXPECT_THAT(said(looked_up, rule("cublasGetVersion", fails)), ElementsAre("returned 13"));
  EXPECT_THAT(said(linked_probe + " cancelled 2", rule("cublasSgemm", fails)), ElementsAre("13 13 made 0"));
}

TEST_F(libraries, work_beside_others_that_stand_in_front) {
  const std::string looked_up = unlinked_probe + " dlsym " + of_13 + " 3",
                    linked = linked_probe + " linked 3", ours = front("cublas") + library;
  for (const std::string& preload :
       {limiter + ":" + ours, ours + ":" + limiter, sharer + ":" + ours, ours + ":" + sharer}) {
    EXPECT_THAT(under(preload, looked_up, second), ElementsAre("0 13 0 made 2")) << preload;
    EXPECT_THAT(under(preload, linked, second), ElementsAre("0 13 0 made 2")) << preload;
  }
  for (const std::string& preload : {blas_shim + ":" + ours, ours + ":" + blas_shim}) {
    fs::remove(log());
    EXPECT_THAT(under(preload, linked, second), ElementsAre(EndsWith("0 13 0 made 2"))) << preload;
    EXPECT_THAT(under(preload, linked), ElementsAre("shim shim shim 0 0 0 made 3")) << preload;
    EXPECT_THAT(events("injected"), SizeIs(1)) << "once for each call: " << preload;
  }
}

TEST_F(libraries, outlive_being_closed) {
  EXPECT_THAT(said(unlinked_probe + " again " + of_13, second), ElementsAre("0 made 1", "13 made 0"));
}

TEST_F(libraries, can_be_asked_for_by_the_process) {
  const std::string set = " set cublasSgemm:1=ALLOC_FAILED linked 2";
  EXPECT_THAT(said(linked_probe + set), ElementsAre("set 0", "3 0 made 1"));
  EXPECT_THAT(
      under(library, linked_probe + set),
      ElementsAre(HasSubstr("set -1rules for functions of cublas need libcufault_cublas.so"), "0 0 made 2"));
}

TEST_F(libraries, that_a_file_of_rules_asks_for_too_late_are_named) {
  const fs::path file = folder / "rules.json";
  const std::string late = " reload " + file.string() + " '" + rules(second) + "' ",
                    both = rules(second + R"(, {"function": "cublasLtMatmul", "delay_ms": 0})");
  const auto told = [&](const std::string& libraries, const std::string& fronts, const std::string& options) {
    return "cufault: " + file.string() + ": rules for functions of " + libraries + " need " + fronts +
           " preloaded in front of libcufault.so; start the program with `cufault inject " + options +
           "`; the rules from before go on to hold";
  };
  const std::string alone = told("cublas", "libcufault_cublas.so", "--library cublas");
  const auto by = [&](const std::string& program) {
    std::ofstream(file) << R"({"rules": []})";
    return run("CUFAULT_RULES=" + file.string(), library, program);
  };
  // Neither calls the driver.
  EXPECT_THAT(by(linked_probe + late + "linked 1"), ElementsAre(alone, "0 made 1"));
  EXPECT_THAT(by(unlinked_probe + " dlsym " + of_13 + " 1" + late), ElementsAre("0 made 1", alone));
  EXPECT_THAT(by(linked_probe + " reload " + file.string() + " '" + both + "'"),
              ElementsAre(told("cublas, cublasLt", "libcufault_cublas.so, libcufault_cublasLt.so",
                               "--library cublas --library cublasLt")));
}

TEST_F(libraries, of_nvml_fail_too) {
  const std::string program =
      tree + "/bin/injector_process_probe calls " + driver_folder + "/nvml/libnvidia-ml.so.1 nvmlInit_v2 3";
  EXPECT_THAT(bare(program), ElementsAre("0 0 0"));
  EXPECT_THAT(under(front("nvml") + library, program,
                    R"({"function": "nvmlInit", "skip": 1, "hits": 1, "return": "DRIVER_NOT_LOADED"})"),
              ElementsAre("0 9 0"));
  ASSERT_THAT(events("injected"), SizeIs(1));
  EXPECT_EQ(events("injected")[0]["function"], "nvmlInit_v2");
  EXPECT_EQ(events("injected")[0]["did"], "NVML_ERROR_DRIVER_NOT_LOADED");
}

TEST_F(libraries, that_are_never_loaded_meet_no_rule) {
  EXPECT_THAT(said(unlinked_probe, second), IsEmpty());
  EXPECT_EQ(events("rule").at(0)["held"], 0);
}

class runtime : public libraries {
 protected:
  /// Results of the probe's calls under rules for the runtime.
  std::vector<std::string> calls(const std::string& words, const std::string& rule = "") {
    fs::remove(log());
    return under(front("cudart") + library, launch_probe + " " + words, rule);
  }
  static std::string failing(const std::string& function, const std::string& more = "") {
    return R"({"function": ")" + function + R"(", "return": "LaunchFailure")" + more + "}";
  }
};

using launches = runtime;

TEST_F(launches, are_met_by_rules_for_cudaLaunchKernel) {
  const std::string each = "launch launch_ptsz launch_looked_up launch_of_old";
  EXPECT_THAT(bare(launch_probe + " " + each), ElementsAre("0 0 0 0 made 4"));
  EXPECT_THAT(calls(each), ElementsAre("0 0 0 0 made 4"));
  for (const char* all : {"cudaLaunchKernel", "cudaLaunchKernel*", "cudaLaunch*"})
    EXPECT_THAT(calls(each, failing(all)), ElementsAre("719 719 719 719 made 0")) << all;
  EXPECT_THAT(calls(each, failing("__cudaLaunchKernel")), ElementsAre("719 719 719 0 made 1"));
  EXPECT_THAT(calls(each, failing("__cuda*")), ElementsAre("719 719 719 0 made 1"));
  EXPECT_THAT(calls(each, failing("cudaLaunchKernel_ptsz")), ElementsAre("0 719 0 0 made 3"));
  EXPECT_THAT(calls(each, failing("cudaLaunchKernelExC")), ElementsAre("0 0 0 0 made 4"));
  EXPECT_THAT(calls(each, R"({"function": "cudaLaunchKernel", "drop_call": true})"),
              ElementsAre("0 0 0 0 made 0"));
}

TEST_F(launches, are_logged_and_counted_by_their_names) {
  EXPECT_THAT(calls("launch launch launch_ptsz", failing("cudaLaunchKernel", R"(, "skip": 1)")),
              ElementsAre("0 719 719 made 1"));
  ASSERT_THAT(events("injected"), SizeIs(2));
  EXPECT_EQ(events("injected")[0]["function"], "__cudaLaunchKernel");
  EXPECT_EQ(events("injected")[0]["did"], "cudaErrorLaunchFailure");
  EXPECT_EQ(events("injected")[1]["function"], "__cudaLaunchKernel_ptsz");
  EXPECT_EQ(counts()["__cudaLaunchKernel by injector_launch_probe"], 2);
  EXPECT_EQ(counts()["__cudaLaunchKernel_ptsz by injector_launch_probe"], 1);
}

TEST_F(launches, that_fail_are_seen_by_who_asks_for_the_last_error) {
  EXPECT_THAT(calls("launch peek get get launch get", failing("cudaLaunchKernel", R"(, "hits": 1)")),
              ElementsAre("719 719 719 0 0 0 made 1"));
}

using last_error = runtime;

TEST_F(last_error, is_told_once_of_a_call_that_a_rule_failed) {
  const std::string once = failing("cudaLaunchKernel", R"(, "hits": 1)");
  EXPECT_THAT(calls("launch_of_old get get", once), ElementsAre("719 719 0 made 0"));
  EXPECT_THAT(calls("launch_of_old peek peek get peek", once), ElementsAre("719 719 719 719 0 made 0"));
  EXPECT_THAT(calls("get launch_of_old launch_of_old get", once), ElementsAre("0 719 0 719 made 1"))
      << "a call that succeeds resets nothing";
  EXPECT_THAT(calls("malloc get get", failing("cudaMalloc")), ElementsAre("719 719 0 made 0"));
  EXPECT_THAT(calls("malloc no_rules malloc get get", failing("cudaMalloc")),
              ElementsAre("719 0 0 719 0 made 0"))
      << "it outlives its rule";
}

TEST_F(last_error, is_of_the_thread_that_called) {
  EXPECT_THAT(calls("malloc thread get get", failing("cudaMalloc")), ElementsAre("719 0 719 made 0"));
  EXPECT_THAT(calls("thread malloc get", failing("cudaMalloc")), ElementsAre("719 0 made 0"));
}

TEST_F(last_error, is_that_of_the_runtime_where_no_rule_failed_a_call) {
  EXPECT_THAT(calls("malloc_nothing get get"), ElementsAre("1 1 0 made 0"));
  const std::string late = failing("cudaMalloc", R"(, "when": "after")");
  EXPECT_THAT(calls("malloc_nothing get get", late), ElementsAre("1 1 0 made 0"));
  EXPECT_THAT(calls("malloc get get", late), ElementsAre("719 719 0 made 0"));
  EXPECT_THAT(calls("malloc get", R"({"function": "cudaMalloc", "delay_ms": 0})"), ElementsAre("0 0 made 0"));
}

TEST_F(last_error, is_one_beside_that_of_the_runtime) {
  EXPECT_THAT(calls("malloc_nothing malloc get get", failing("cudaMalloc", R"(, "skip": 1)")),
              ElementsAre("1 719 719 0 made 0"));
}

TEST_F(last_error, is_not_set_by_what_is_no_error) {
  EXPECT_THAT(calls("query get", R"({"function": "cudaEventQuery", "return": "NotReady"})"),
              ElementsAre("600 0 made 0"));
  EXPECT_THAT(calls("query get", failing("cudaEventQuery")), ElementsAre("719 719 made 0"));
  EXPECT_THAT(calls("launch_of_old get", R"({"function": "cudaLaunchKernel", "drop_call": true})"),
              ElementsAre("0 0 made 0"));
}

TEST_F(last_error, is_told_where_rules_for_those_who_tell_it_do_not_act) {
  const std::string last = R"({"function": "cudaGetLastError", "hits": 1, "return": "Unknown")",
                    both = failing("cudaMalloc", R"(, "hits": 1)") + ", " + last;
  EXPECT_THAT(calls("get get peek", last + "}"), ElementsAre("999 0 0 made 0"))
      << "what it returns is not kept";
  EXPECT_THAT(calls("malloc get get get", both + "}"), ElementsAre("719 999 719 0 made 0"));
  EXPECT_THAT(calls("malloc get get", both + R"(, "when": "after"})"), ElementsAre("719 719 0 made 0"))
      << "only a call that succeeds is told otherwise";
  EXPECT_THAT(
      calls("malloc get", failing("cudaMalloc") + R"(, {"function": "cudaGetLastError", "log": true})"),
      ElementsAre("719 719 made 0"));
  EXPECT_EQ(events("call").at(0)["result"], "cudaErrorLaunchFailure");
}

using library_command = libraries;

TEST_F(library_command, stands_in_front_of_libraries_that_rules_name) {
  EXPECT_THAT(cli("inject --log " + log().string() +
                  " --fail cublasSgemm:2=EXECUTION_FAILED --require 1 -- " + linked_probe + " linked 3"),
              ElementsAre("0 13 0 made 2", "exit code 0"));
  EXPECT_THAT(cli("inject --fail cublasSgemm=EXECUTION_FAILED --require 1 -- " + unlinked_probe),
              ElementsAre("cufault: rules acted 0 times, and 1 were required; the command ended with 0",
                          HasSubstr("cublasSgemm was never called"), "exit code 3"));
  EXPECT_THAT(cli("inject --require 0 --fail cublasLtMatmul=ALLOC_FAILED --fail cublasSgemm=ALLOC_FAILED -- "
                  "sh -c 'echo "
                  "$LD_PRELOAD'"),
              ElementsAre(front("cublas") + front("cublasLt") + library, "exit code 0"));
  setenv("CUFAULT_FAIL", "cublasSgemm:1=ALLOC_FAILED", 1);  // like the pytest plugin
  const auto by_environment = cli("inject --log /dev/null -- " + linked_probe + " linked 2");
  unsetenv("CUFAULT_FAIL");
  EXPECT_THAT(by_environment, ElementsAre("3 0 made 1", "exit code 0"));
  EXPECT_THAT(cli("inject --log /dev/null --library cublas -- " + linked_probe +
                  " set cublasSgemm:1=ALLOC_FAILED linked 2"),
              ElementsAre("set 0", "3 0 made 1", "exit code 0"));
}

TEST_F(library_command, refuses_what_headers_do_not_have) {
  const auto refused = [&](const std::string& rule) {
    return cli("inject --fail " + rule + " -- echo it ran");
  };
  EXPECT_THAT(
      refused("cublasGemEx=INTERNAL_ERROR"),
      ElementsAre(
          HasSubstr("unknown function \"cublasGemEx\": the headers of cublas have none that returns a "
                    "status; did you mean cublasGemmEx?"),
          "exit code 2"));
  EXPECT_THAT(
      refused("cublasGemmEx=EXECUTION_FAILD"),
      ElementsAre(
          HasSubstr("unknown status \"EXECUTION_FAILD\": the headers of cublas have none of that name; "
                    "did you mean EXECUTION_FAILED?"),
          "exit code 2"));
  EXPECT_THAT(cli("inject --library cufft -- echo it ran"),
              ElementsAre(HasSubstr("--library cufft: one of cudart, cublas, cublasLt"), "exit code 2"));
}

TEST_F(library_command, traces_a_library_where_asked) {
  const std::string program = " -- " + linked_probe + " linked 3 nested 1";
  EXPECT_THAT(cli("trace --library cublas --library cublasLt" + program),
              testing::IsSupersetOf({"calls of cublas, by the library that calls or resolved the function",
                                     "  injector_blas_linked_probe", "               3 cublasSgemm_v2",
                                     "               1 cublasGemmEx", "  libcublas.so.13",
                                     "               1 cublasLtMatmul"}));
  EXPECT_THAT(cli("trace" + program), Not(Contains(HasSubstr("cublasSgemm"))));
  EXPECT_THAT(cli("trace --library cudart" + program), Contains("  none that could be seen"));
  const fs::path file = folder / "trace.json";
  EXPECT_EQ(cli("trace --library cublas --chrome " + file.string() + program).back(), "exit code 0");
  std::multiset<std::string> calls;
  for (const json& each : read_trace_events(file))
    if (each["ph"] == "X") calls.insert(each["name"]);
  EXPECT_EQ(calls.count("cublasSgemm_v2"), 3U);
  EXPECT_EQ(calls.count("cublasGemmEx"), 1U);
  EXPECT_EQ(calls.count("cublasLtMatmul"), 0U);
}

TEST_F(library_command, traces_a_call_inside_of_another_as_such) {
  const fs::path file = folder / "trace.json";
  cli("trace --library cublas --library cublasLt --chrome " + file.string() + " -- " + linked_probe +
      " nested 1 linked 1");
  std::map<std::string, std::pair<double, double>> times;
  for (const json& each : read_trace_events(file))
    if (each["ph"] == "X")
      times[each["name"]] = {each["ts"], each["ts"].get<double>() + each["dur"].get<double>()};
  const auto &outer = times.at("cublasGemmEx"), &inner = times.at("cublasLtMatmul");
  EXPECT_LT(outer.first, inner.first);
  EXPECT_GT(outer.second, inner.second);
  EXPECT_GT(times.at("cublasSgemm_v2").first, outer.second);
}

TEST_F(library_command, traces_launches_of_nvcc) {
  const auto said = cli("trace --library cudart -- " + launch_probe + " launch launch launch_of_old");
  EXPECT_THAT(said, testing::IsSupersetOf(
                        {"               2 __cudaLaunchKernel", "               1 cudaLaunchKernel"}));
}

}  // namespace
}  // namespace cufault
