// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What `cufault known` is asked for; reports/answers/known.py answers.
#include "harness/cli/answer.hpp"
#include "harness/injector/driver_functions.hpp"
#include "reports/base/json_input.hpp"
#include "reports/base/words.hpp"
#include "reports/model/api_functions.hpp"
#include "reports/model/known_issues.hpp"

namespace cufault {
namespace {

using texts = std::vector<std::string>;

void require_functions(const texts& calls) {
  std::vector<std::string_view> names;
  for (const api_function& each : api_functions) names.push_back(each.name);
  for (const std::string& call : calls)
    if (const auto name = injector::without_suffix(call); library_of(name).empty())
      throw usage_error(fmt::format("--calls {}: no function of cuBLAS{}", one_line(call),
                                    did_you_mean(std::string(name), names)));
}

}  // namespace

void add_known(command_line& line) {
  const auto form = std::make_shared<print_form>();
  CLI::App* const known = line.command(
      "known",
      "What is known to be wrong in a version of cuBLAS, PyTorch, Triton, JAX or CuPy on a GPU, and what "
      "helps",
      "Measured: cufault saw it with that version on that architecture. Documented: NVIDIA's release notes "
      "say it.\n"
      "Likely affected: the releases before and behind are. Reported: users say it.\n"
      "Affected elsewhere: measured with that version on another GPU, and not on this one.\n"
      "Not measured: the nearest version has it; that is no warning.\n"
      "Without --here, --cublas, --package and --lock it lists all. It needs no GPU.\n"
      "Forced algorithm: only one that is chosen by hand meets it. Refused call: only a call that other "
      "releases refuse with a status does. --fail-on counts neither, unless --count names it.\n"
      "Exit codes: 0 also where issues are listed; 1 with --fail-on, where one of that harm is measured, "
      "documented or likely;\n"
      "2 bad input, a lock file that pins none of them, a trace without its calls, or --here without a "
      "cuBLAS.",
      [form](CLI::App& asked) {
        if (const auto* const calls = asked.get_option("--calls"); calls->count() > 0)
          require_functions(calls->as<texts>());
        return answer("known", asked);
      });
  add_passed_on(known, "TEXT", "only issues that name this: zgemv");
  known->add_flag_callback(
      "--here", [] {}, "of the cuBLAS and the GPU of this machine, as cufault stack finds them");
  add_passed_on(known, "--cublas", "VERSION", "of this version of cuBLAS: 13.1.0");
  add_passed_on<texts>(known, "--package", "NAME==VERSION",
                       "of a release of a package: torch==2.11.0; give it again for triton, jax or cupy");
  add_passed_on(known, "--gpu", "GPU",
                "on this GPU: its name, or its compute capability: H200, 9.0 (default: any)");
  add_passed_on<texts>(known, "--lock", "FILE",
                       "of the versions that a file pins: requirements.txt, uv.lock, poetry.lock, "
                       "Pipfile.lock, conda-lock.yml, or the output of pip freeze or conda list")
      ->check(CLI::ExistingFile);
  add_passed_on<texts>(known, "--calls", "FUNCTIONS",
                       "leave out issues that concern none of these functions: cublasLtMatmul,cublasSgemm")
      ->delimiter(',');
  add_passed_on(
      known, "--calls-of", "TRACE",
      "likewise of the functions in a file of cufault trace --library cublas --library cublasLt --json")
      ->check(CLI::ExistingFile);
  CLI::Option* const fail_on = add_passed_on<texts>(known, "--fail-on",
                                                    "exit with 1 where an issue of this harm is measured, "
                                                    "documented or likely; give it again for another harm")
                                   ->check(CLI::IsMember(texts(std::begin(harms), std::end(harms))));
  add_passed_on<texts>(known, "--count",
                       "what --fail-on counts in place of measured,documented,likely_affected and of "
                       "any,heuristic: more are reported, affected_elsewhere, forced_algorithm, refused_call")
      ->delimiter(',')
      ->check(CLI::IsMember({"measured", "documented", "likely_affected", "reported", "affected_elsewhere",
                             "any", "heuristic", "forced_algorithm", "refused_call"}))
      ->needs(fail_on);
  add_passed_on<texts>(known, "--except", "ISSUE",
                       "leave this issue out, by its name; give it again for another");
  add_form(known, *form, "known-issues");
  add_passed_on(known, "--measure", "DIR",
                "print cases/known_issues.json with the versions that the stacks in this folder show")
      ->check(CLI::ExistingDirectory);
}

const register_command known_here{"known", add_known, first(section::program_failed, 4)};

}  // namespace cufault
