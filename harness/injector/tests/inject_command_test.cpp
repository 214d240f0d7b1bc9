// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The commands `cufault inject` and `cufault trace`.
#include "harness/injector/tests/injector_fixture.hpp"

#include <unistd.h>

#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cufault {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using testing::StartsWith;
using testing::UnorderedElementsAre;

using inject_command = injector;
const std::string calls_nothing = tree + "/bin/injector_blas_probe",
                  nothing_given = "cufault: nothing was injected: there is no --fail and no --rules";

TEST_F(inject_command, becomes_the_command) {
  EXPECT_THAT(cli("inject --log " + log().string() + " --fail cuMemAlloc_v2:3=OUT_OF_MEMORY -- " + probe +
                  " allocate 4"),
              ElementsAre("0 0 2 0", "exit code 0"));
  EXPECT_EQ(events("injected").size(), 1U);
  EXPECT_THAT(cli("inject --fail cuMemAlloc_v2:2=OUT_OF_MEMORY --fail cuMemAlloc_v2:3+=INVALID_VALUE --log " +
                  log().string() + " -- " + probe + " allocate 4"),
              ElementsAre("0 2 1 1", "exit code 0"));
  EXPECT_THAT(cli("inject --require 0 -- sh -c 'exit 7'"), ElementsAre("exit code 7"));
  EXPECT_THAT(cli("inject -- no-such-command"),
              ElementsAre("cufault: no-such-command: No such file or directory", "exit code 127"));
}

TEST_F(inject_command, does_not_run_the_command_by_wrong_rules_unless_it_is_lenient) {
  if (!emulated) {  // else echo runs on another processor than the injector
    EXPECT_THAT(cli("inject -- echo it ran"), ElementsAre("it ran", nothing_given, "exit code 0"));
  }
  EXPECT_THAT(cli("inject --lenient --fail cuMemAlloc_v2:x=OUT_OF_MEMORY -- " + probe + " allocate 1"),
              ElementsAre(HasSubstr("going on without injection"), "0", "exit code 0"));
  EXPECT_THAT(cli("inject --fail cuMemAlloc_v2:x=OUT_OF_MEMORY -- echo it ran"),
              ElementsAre(HasSubstr("N is a number from 1 on"), "exit code 2"));
  EXPECT_THAT(cli("inject --fail cuMemAlocc=OUT_OF_MEMORY -- echo it ran"),
              ElementsAre(HasSubstr("unknown function \"cuMemAlocc\""), "exit code 2"));
  EXPECT_THAT(
      cli("inject --fail cuMemFree=OUT_OF_MEMORY -- echo it ran"),
      ElementsAre(
          HasSubstr("cuMemFree cannot return CUDA_ERROR_OUT_OF_MEMORY; in a file of rules, \"force\": "
                    "true does it all the same"),
          "exit code 2"));
}

TEST_F(inject_command, requires_that_rules_acted) {
  const std::string twice = "inject --log " + log().string() +
                            " --fail cuMemAlloc:2=OUT_OF_MEMORY --fail cuMemAlloc:4=OUT_OF_MEMORY --require ";
  EXPECT_THAT(cli(twice + "2 -- " + probe + " allocate 4"), ElementsAre("0 2 0 2", "exit code 0"));
  EXPECT_THAT(
      cli(twice + "3 -- " + probe + " allocate 4"),
      ElementsAre("0 2 0 2", "cufault: rules acted 2 times, and 3 were required; the command ended with 0",
                  "exit code 3"));
  EXPECT_THAT(cli(twice + "1 -- " + calls_nothing),
              ElementsAre("cufault: rules acted 0 times, and 1 were required; the command ended with 0",
                          StartsWith("cufault: rule 0 (cuMemAlloc) never acted: cuMemAlloc was never called"),
                          StartsWith("cufault: rule 1 (cuMemAlloc) never acted: "), "exit code 3"));
  EXPECT_THAT(
      cli(twice + "2 -- sh -c '" + probe + " allocate 2 & " + probe + " allocate 3; wait; exit 7'").back(),
      "exit code 7")
      << "in two processes together";
  EXPECT_THAT(cli("inject --fail cuDriverGetVersion:2=INVALID_VALUE --require 1 -- " + tree +
                  "/bin/injector_process_probe ends kill")
                  .back(),
              "exit code 137");
  EXPECT_THAT(cli("inject --fail malloc:1=ENOMEM --require 1 -- " + probe + " version").back(), "exit code 0")
      << "before any driver call";
}

TEST_F(inject_command, replays_calls_by_the_number_that_its_rules_count) {
  const std::string shim = driver_folder + "/libinjector_shim.so",
                    ways = tree + "/bin/injector_process_probe ways 9";
  const std::vector<std::array<std::string, 3>> all{
      {"cudaLaunchKernel", "cudaErrorLaunchFailure",
       tree + "/bin/injector_launch_probe launch launch_ptsz launch_looked_up launch_of_old"},
      {"cuMemAlloc", "OUT_OF_MEMORY", ways},
      {"cuMemAlloc", "OUT_OF_MEMORY", "env LD_PRELOAD=" + shim + ":" + library + " " + ways},
      {"cuMemAlloc", "OUT_OF_MEMORY", "env LD_PRELOAD=" + library + ":" + shim + " " + ways}};
  for (const auto& [function, code, command] : all)
    for (const char* call : {"1", "2", "3", "4"}) {
      fs::remove(log());
      const auto said = cli("inject --log " + log().string() + " --fail " + function + ":" + call + "=" +
                            code + " -- " + command);
      ASSERT_THAT(events("injected"), SizeIs(1)) << command;
      EXPECT_EQ(cli("inject --log /dev/null --require 1 --replay " + log().string() + " -- " + command), said)
          << command << call;
    }
}

TEST_F(inject_command, tells_that_no_rule_meets_a_malloc_of_the_program_itself) {
  EXPECT_THAT(cli("inject --log " + log().string() + " --fail malloc=ENOMEM --require 1 -- " + tree +
                  "/bin/injector_own_malloc_probe allocate 1"),
              ElementsAre("0", "cufault: rules acted 0 times, and 1 were required; the command ended with 0",
                          "cufault: rule 0 (malloc) never acted: no call that libcufault_host.so sees met it",
                          "exit code 3"));
  ASSERT_THAT(events("rule"), SizeIs(1));
  EXPECT_EQ(events("rule")[0]["held"], 0);
}

TEST_F(inject_command, tells_of_each_rule_that_never_acted_why) {
  const auto told = [&](const std::string& options, const std::string& command) {
    auto said = cli("inject --log " + log().string() + " " + options + " -- " + command);
    std::erase_if(said, [](const std::string& line) { return !line.starts_with("cufault: "); });
    return said;
  };
  const auto of_rule = [&](const std::string& rule, const std::string& command) {
    std::ofstream(folder / "rules.json") << rules(rule);
    return told("--rules " + (folder / "rules.json").string(), command);
  };
  const std::string never = "cufault: rule 0 (cuMemAlloc) never acted: ", four = probe + " allocate 4";
  EXPECT_THAT(told("--fail cuMemAlloc:9=OUT_OF_MEMORY --fail cuMemAlloc:2=OUT_OF_MEMORY", four),
              ElementsAre(never + "it waits for call 9, and no process made more than 4"));
  EXPECT_THAT(told("--fail cuMemAlloc:9=OUT_OF_MEMORY", "sh -c '" + four + "; " + probe + " allocate 8'"),
              ElementsAre(never + "it waits for call 9, and no process made more than 8"))
      << "each process counts its own calls";
  EXPECT_THAT(told("--fail cuMemFree=INVALID_VALUE", probe + " version"),
              ElementsAre("cufault: rule 0 (cuMemFree) never acted: cuMemFree was never called"));
  EXPECT_THAT(
      told("--fail cuMemAlloc=OUT_OF_MEMORY", calls_nothing),
      ElementsAre(never + "cuMemAlloc was never called, and no other call was seen: programs that are "
                          "linked statically or setuid, or without LD_PRELOAD, do not load the injector"));
  EXPECT_THAT(
      of_rule(R"({"function": "cuMemAlloc", "min_bytes": 1000000, "return": "OUT_OF_MEMORY"})", four),
      ElementsAre(never + "up to 4 calls were seen in a process, and none was as its other keys ask"));
  EXPECT_THAT(of_rule(R"({"budget_bytes": 1000000})", four),
              ElementsAre("cufault: rule 0 (budget_bytes) never acted: no allocation went beyond it"));
  EXPECT_THAT(of_rule(R"({"function": "cuMemFree", "hide": true})", calls_nothing),
              ElementsAre("cufault: rule 0 (cuMemFree) never acted: nobody looked the function up"));
  EXPECT_THAT(told("--fail cuMemAlloc=OUT_OF_MEMORY", four), IsEmpty());
  EXPECT_THAT(told("--fail cuMemAlloc:9=OUT_OF_MEMORY --require 0", four), IsEmpty());
  EXPECT_THAT(told("--fail malloc:1=ENOMEM", probe + " version"), IsEmpty()) << "before any driver call";
}

TEST_F(inject_command, tells_that_a_process_took_the_injector_from_what_it_starts) {
  if (emulated) return;  // python3 is of another processor
  const std::string inject = "inject --fail cuMemAlloc:1=OUT_OF_MEMORY -- ",
                    python =
                        "python3 -c \"import os, subprocess; words = ['" + probe + "', 'allocate', '1']; ";
  const auto told = HasSubstr("never called; a process took LD_PRELOAD from the environment");
  for (const std::string& command :
       {python + "del os.environ['LD_PRELOAD']; os.system(' '.join(words))\"",
        python + "subprocess.run(words, env={})\"", python + "os.execve(words[0], words, {})\"",
        python + "os.posix_spawn(words[0], words, {})\"",
        python + "os.fork() == 0 and os.execve(words[0], words, {}); os.wait()\"",
        "env -u LD_PRELOAD " + probe + " allocate 1", "sh -c 'env -i " + probe + " allocate 1; true'"})
    EXPECT_THAT(cli(inject + command), Contains(told)) << command;
  const std::string c =
      "python3 -c \"import ctypes, os; a = ctypes.c_char_p; words = [b'" + probe +
      "', b'allocate', b'1']; all = (a * 4)(*words, None); none = (a * 1)(None); library = "
      "ctypes.CDLL(None); library.popen.restype = ctypes.c_void_p; kept = os.environ.pop('LD_PRELOAD'); ";
  for (const std::string& call : std::vector<std::string>{
           "execl(words[0], *words, None)", "execlp(words[0], *words, None)",
           "execle(words[0], *words, None, none)", "execvpe(words[0], all, none)",
           "fexecve(os.open(words[0], os.O_RDONLY), all, none)", "system(b' '.join(words))",
           "pclose(a(library.popen(b' '.join(words), b'r')))"}) {
    const std::string then = "library." + call + "; os.environ['LD_PRELOAD'] = kept\"";
    EXPECT_THAT(cli(inject + c + then), Contains(told)) << call;
    if (call.find("none") == call.npos) {
      EXPECT_THAT(cli(inject + c + "os.environ['LD_PRELOAD'] = kept; " + then), Not(Contains(told))) << call;
    }
  }
  for (const std::string& command :
       {c + "library.system(None); os.environ['LD_PRELOAD'] = kept\"",
        python + "subprocess.run(words[:1] + ['version'])\"", "env -u CUFAULT_NONE " + probe + " version",
        "sh -c 'env LD_PRELOAD=$LD_PRELOAD " + probe + " version'"})
    EXPECT_THAT(cli(inject + command), Not(Contains(told))) << command;
}

TEST_F(inject_command, tells_that_rules_for_a_runtime_that_is_linked_statically_cannot_act) {
  if (emulated) GTEST_SKIP() << "the toolkit's runtime is for this processor";
  const std::string fail = "inject --fail cudaDeviceReset=cudaErrorInvalidValue -- ",
                    never = "cufault: rule 0 (cudaDeviceReset) never acted: ";
  EXPECT_THAT(
      cli(fail + tree + "/bin/injector_runtime_probe version"),
      Contains(never +
               "no shared CUDA runtime was called; rules for cudart cannot act where it is linked "
               "statically: use the driver's function, as cuMemAlloc_v2, or link with -cudart shared"));
  EXPECT_THAT(cli(fail + tree + "/bin/injector_launch_probe launch"),
              Contains(never + "cudaDeviceReset was never called"));
}

TEST_F(inject_command, tells_why_no_program_loaded_the_injector) {
  const std::string fail = "inject --fail cuMemAlloc=OUT_OF_MEMORY -- ",
                    none = "cufault: nothing was injected: no program of the command loaded the injector: ";
  EXPECT_THAT(cli(fail + tree + "/bin/injector_static_probe"),
              ElementsAre(none + "it is linked statically", "exit code 7"));
  EXPECT_THAT(cli("inject -- " + tree + "/bin/injector_static_probe"),
              ElementsAre(none + "it is linked statically", "exit code 7"));
  if (getuid() != 0 || emulated) GTEST_SKIP() << "only root can make a program of another user";
  const fs::path copied = folder / "probe";
  fs::copy_file(probe, copied);
  ASSERT_EQ(chown(copied.c_str(), 65534, 65534), 0);
  fs::permissions(folder, fs::perms::others_all, fs::perm_options::add);
  fs::permissions(copied, fs::perms::set_uid | fs::perms::others_all, fs::perm_options::add);
  const auto said = cli(fail + copied.string() + " allocate 1");
  if (said.back() == "exit code 0" && said.size() == 2)
    GTEST_SKIP() << "this file system has no setuid programs";
  EXPECT_THAT(said, Contains(none + "it is setuid"));
}

TEST_F(inject_command, leaves_what_there_is_to_tell_to_the_cufault_around_it) {
  EXPECT_THAT(
      cli("inject --fail cuMemAlloc:9=OUT_OF_MEMORY -- " + tested_command + " inject -- " + probe +
          " allocate 4"),
      ElementsAre(
          "0 0 0 0",
          "cufault: rule 0 (cuMemAlloc) never acted: it waits for call 9, and no process made more than 4",
          "exit code 0"));
}

TEST_F(inject_command, writes_counts_to_the_log_that_is_asked_for) {
  EXPECT_EQ(cli("inject --log " + log().string() + " --require 1 --fail cuMemAlloc:2=OUT_OF_MEMORY -- " +
                probe + " allocate 4")
                .back(),
            "exit code 0");
  EXPECT_EQ(counts()["cuMemAlloc_v2 by injector_probe"], 4);
}

TEST_F(inject_command, comes_behind_what_is_preloaded_already) {
  EXPECT_THAT(cli("inject --require 0 -- sh -c 'echo $LD_PRELOAD'"), ElementsAre(library, "exit code 0"));
  const std::string other = driver_folder + "/libinjector_library.so";
  setenv("LD_PRELOAD", other.c_str(), 1);
  const auto said = cli("inject --require 0 -- sh -c 'echo $LD_PRELOAD'");
  unsetenv("LD_PRELOAD");
  EXPECT_THAT(said, ElementsAre(other + ":" + library, "exit code 0"));
}

TEST_F(inject_command, traces_by_library) {
  const auto said = cli("trace -- " + probe + " sizes");
  EXPECT_THAT(said, testing::IsSupersetOf({"0", "  injector_probe", "               3 cuMemAlloc_v2",
                                           "  injector_probe: 3 allocations, 1110 bytes, the largest 1000",
                                           "exit code 0"}));
  EXPECT_EQ(cli("trace -- sh -c 'kill -9 $$'").back(), "exit code 137");
  EXPECT_THAT(cli("trace -- " + calls_nothing), Contains(HasSubstr("none: the command called no function")));
  EXPECT_THAT(cli("trace -- no-such-command"),
              ElementsAre("cufault: no-such-command: No such file or directory", "exit code 127"));
  EXPECT_THAT(cli("trace -- " + tree + "/bin/injector_static_probe"),
              Contains(HasSubstr("unknown: no program of the command loaded")));
}

TEST_F(inject_command, traces_a_command_however_it_ends) {
  const std::string ends = tree + "/bin/injector_process_probe ends ";
  for (const std::string how : {"exit", "segv", "abort", "kill", "_exit", "exec true"})
    EXPECT_THAT(cli("trace -- " + ends + how), Contains("               5 cuDriverGetVersion")) << how;
  EXPECT_THAT(cli("trace -- " + ends + "kill"), Contains("  until signal 9 (Killed) ended the command"));
  EXPECT_THAT(cli("trace -- " + ends + "fork"), Contains("               6 cuDriverGetVersion"))
      << "and its child's";
  EXPECT_THAT(cli("trace -- " + ends + "exec " + ends + "kill"),
              Contains("              10 cuDriverGetVersion"));
}

TEST_F(inject_command, writes_every_call_of_all_processes_as_a_chrome_trace) {
  const fs::path file = folder / "trace.json";
  const std::string ends = tree + "/bin/injector_process_probe ends ";
  EXPECT_EQ(cli("trace --chrome " + file.string() + " -- sh -c '" + probe + " threads 2 3 & " + ends +
                "kill; wait; exit 7'")
                .back(),
            "exit code 7");
  std::map<std::string, std::set<long>> threads;
  std::map<long, std::string> programs;
  std::map<std::string, int> calls;
  const json trace = read_trace_events(file);
  for (const json& each : trace)
    if (each["ph"] == "M") programs[each["pid"]] = each["args"]["name"];
  for (const json& each : trace) {
    if (each["name"] != "cuDriverGetVersion") continue;
    const std::string program = programs.at(each["pid"]);
    ++calls[program];
    threads[program].insert(each["tid"].get<long>());
    EXPECT_THAT(each["args"]["caller"].get<std::string>(), testing::Not(IsEmpty()));
    EXPECT_EQ(each["args"]["result"], "CUDA_SUCCESS");
    EXPECT_THAT(each["args"]["offset"].get<std::string>(), StartsWith("0x"));
  }
  EXPECT_THAT(calls, UnorderedElementsAre(Pair("injector_probe", 6), Pair("injector_process_probe", 5)))
      << "the second was killed";
  EXPECT_THAT(threads["injector_probe"], SizeIs(2));
  EXPECT_THAT(threads["injector_process_probe"], SizeIs(2));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1) << "its log is gone";
  EXPECT_THAT(cli("trace --chrome " + folder.string() + " -- echo it ran"),
              ElementsAre(HasSubstr("Is a directory"), "exit code 2"));
}

TEST_F(inject_command, reads_a_configuration_of_faultinj) {
  const fs::path file = folder / "faultinj.json";
  const std::string inject = "inject --faultinj " + file.string() + " ";
  std::ofstream(file) << R"({"cudaDriverFaults": {"cuMemAlloc_v2":
    {"percent": 100, "injectionType": 2, "substituteReturnCode": 719, "interceptionCount": 2}}})";
  EXPECT_THAT(cli(inject + "--require 2 -- " + probe + " allocate 3"), Contains("719 719 0"));
  EXPECT_THAT(cli(inject + "--rules " + file.string() + " -- echo it ran"),
              ElementsAre(HasSubstr("rules come from one file"), "exit code 2"));
  std::ofstream(file) << R"({"cudaRuntimeFaults": {"cudaNothing": {"percent": 100, "injectionType": 0}}})";
  EXPECT_THAT(cli(inject + "-- echo it ran"),
              ElementsAre(HasSubstr("no function of the CUDA runtime"), "exit code 2"));
  std::ofstream(file) << rules("");
  EXPECT_THAT(cli(inject + "-- echo it ran"),
              ElementsAre(HasSubstr("no configuration of faultinj"), "exit code 2"));
}

}  // namespace
}  // namespace cufault
