// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/doctor/node_verdict.hpp"

#include "reports/base/files.hpp"
#include "reports/base/json_fields.hpp"
#include "reports/base/prometheus.hpp"
#include "reports/model/known_issues.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <tuple>

namespace cufault {
namespace {

constexpr int code_no_memory = 2, code_devices_unavailable = 46, code_no_device = 100;

/// "7 of 8 GPUs: the driver does not show 0000:3b:00.0". Which ones is known where the bus has no more than there must be.
std::string missing_gpus(const node_facts& facts) {
  const auto& devices = facts.driver.devices;
  std::string text = fmt::format("{} of {}", devices.size(), plural_of(facts.gpus_required, "GPU"));
  std::vector<std::string> missing;
  std::copy_if(facts.pci_gpus.begin(), facts.pci_gpus.end(), std::back_inserter(missing),
               [&](const std::string& id) {
                 return std::none_of(devices.begin(), devices.end(),
                                     [&](const auto& d) { return d.bus_id.empty() || d.bus_id == id; });
               });
  if (!missing.empty() && facts.pci_gpus.size() <= facts.gpus_required)
    text += fmt::format(": the driver does not show {}", fmt::join(missing, ", "));
  if (!facts.pci_gpus.empty() && facts.pci_gpus.size() < facts.gpus_required)
    text += fmt::format("{} the PCI bus has {}", missing.empty() ? ":" : ",", facts.pci_gpus.size());
  return text + (facts.visible_devices.empty() ? "" : "; " + facts.visible_devices);
}

/// libcuda.so.1 was not loaded, or lacks functions.
node_reason reason_of_absence(const node_facts& facts) {
  node_reason r{.state = node_state::bad, .command = "cufault doctor"};
  const std::string why = one_line(facts.driver.why_absent);
  if (!facts.driver.library.empty()) {
    r.code = "driver_unusable";
    r.text = fmt::format("the driver's {} cannot be used: {}", facts.driver.library, why);
  } else if (facts.gpus_required > 0) {
    r.code = "driver_missing";
    r.text = fmt::format("no driver for the {} that the node must have: {}",
                         plural_of(facts.gpus_required, "GPU"), why);
  } else if (!facts.pci_gpus.empty()) {
    r.code = "driver_missing";
    r.text = fmt::format("no driver for {} on the PCI bus: {}", plural_of(facts.pci_gpus.size(), "GPU"), why);
  } else {
    r.state = node_state::undecided;
    r.code = "no_gpu";
    r.text = "no GPU here: " + why;
  }
  return r;
}

/// False where no trial could be made after it.
bool look_at_driver(const node_facts& facts, std::vector<node_reason>& reasons) {
  const driver_answers& driver = facts.driver;
  const bool answers = driver.initialised == 0 || driver.initialised == code_no_device;
  if (!facts.driver_silent.empty())
    reasons.push_back({.state = node_state::undecided,
                       .code = "driver_silent",
                       .text = "the driver did not answer: " + facts.driver_silent,
                       .command = "cufault doctor"});
  else if (!driver.why_absent.empty())
    reasons.push_back(reason_of_absence(facts));
  else if (answers && driver.devices.size() < facts.gpus_required)
    reasons.push_back({.state = node_state::bad,
                       .code = "gpus_missing",
                       .text = missing_gpus(facts),
                       .command = "nvidia-smi -L"});
  else if (answers && driver.devices.empty())
    reasons.push_back({.state = node_state::undecided,
                       .code = "no_gpu",
                       .text = "no GPU here: the driver shows none",
                       .command = "nvidia-smi -L"});
  else if (driver.initialised == code_no_memory || driver.initialised == code_devices_unavailable)
    reasons.push_back(
        {.state = node_state::undecided,
         .code = "busy",
         .text = fmt::format("cuInit returns {}: the GPUs or the memory of this node are in use",
                             name_of_code(driver.initialised)),
         .command = "nvidia-smi"});
  else if (driver.initialised != 0)
    reasons.push_back(
        {.state = node_state::bad,
         .code = "driver_refuses",
         .text = fmt::format("cuInit of {} returns {}", driver.library, name_of_code(driver.initialised)),
         .command = "cufault doctor"});
  return facts.driver_silent.empty() && driver.usable() && driver.devices.size() >= facts.gpus_required;
}

using users_of_gpus = std::optional<std::size_t>;

/// What failed twice proves something only where no other process can have been the reason.
void prove(node_reason& r, const users_of_gpus& others) {
  if (!others) {
    r.code = "users_unknown";
    r.text += "; twice, but NVML does not tell whether other processes used GPUs here";
  } else if (*others > 0) {
    r.code = "busy";
    r.text +=
        fmt::format("; twice, but {} other process{} used GPUs here", *others, *others == 1 ? "" : "es");
  } else {
    r.state = node_state::bad;
    r.text += "; twice";
  }
}

/// Of "device 0: cudaErrorUnknown: unknown error" the name; empty where it has none.
std::string error_in(const std::string& text) {
  const auto begin = text.find("cudaError");
  return begin == text.npos ? "" : text.substr(begin, text.find(':', begin) - begin);
}

/// The driver shows the GPU, and the runtime cannot use it.
node_reason reason_of_refusal(const node_gpu& gpu, const users_of_gpus& others) {
  node_reason r{.state = node_state::undecided,
                .code = "gpu_refused",
                .text = "the runtime cannot use it: " + one_line(gpu.refused),
                .device = gpu.device,
                .command = fmt::format("cufault stack --device {}", gpu.device)};
  const std::string error = error_in(gpu.refused);
  // cufault's own runtime may be newer than the driver: that is no fault of the node.
  if (error.empty() || error == "cudaErrorInsufficientDriver" ||
      error == "cudaErrorCallRequiresNewerDriver" || error == "cudaErrorNoDevice")
    r.code = "not_usable_by_cufault";
  else if (error == "cudaErrorMemoryAllocation" || error == "cudaErrorDevicesUnavailable")
    r.code = "busy";
  else if (error_in(gpu.refused_again) != error)
    r.code = gpu.refused_again.empty() ? "not_repeated" : "not_confirmed";
  else
    prove(r, others);
  return r;
}

/// What an arm that is not as expected says of the node.
node_reason reason_of(const node_arm& a, const node_gpu& gpu, const users_of_gpus& others) {
  const bool confirmed = a.again == a.judged;
  node_reason r{
      .state = node_state::undecided,
      .code = "trial_failed",
      .text = fmt::format("{}: {}, {}", join_key(a.case_name, a.arm), to_string(a.judged), one_line(a.why)),
      .device = gpu.device,
      .command = fmt::format("cufault run {} --device {} -v", join_key(a.case_name, a.arm), gpu.device)};
  if (a.harness_failed) {
    r.code = "harness_failed";
  } else if (!a.again) {
    r.code = "not_repeated";
    r.text += "; there was no time to repeat it";
  } else if (!confirmed) {
    r.code = "not_confirmed";
    r.text += fmt::format("; repeated, it was {}", to_string(*a.again));
  } else {
    prove(r, others);
  }
  return r;
}

void look_at_trials(const node_facts& facts, const node_gpu& gpu, std::vector<node_reason>& reasons) {
  std::map<verdict, std::size_t> seen;
  std::string not_provoked, differing;
  for (const node_arm& a : gpu.arms) {
    ++seen[a.judged];
    if (needs_repeating(a)) reasons.push_back(reason_of(a, gpu, facts.other_users));
    if (a.judged == verdict::not_provoked) not_provoked = one_line(a.why);
    if (a.judged == verdict::changed || a.judged == verdict::gone)
      differing += (differing.empty() ? "" : ", ") + join_key(a.case_name, a.arm);
  }
  if (!gpu.refused.empty())
    reasons.push_back(reason_of_refusal(gpu, facts.other_users));
  else if (!gpu.unfinished.empty())
    reasons.push_back({.state = node_state::undecided,
                       .code = "unfinished",
                       .text = one_line(gpu.unfinished),
                       .device = gpu.device});
  else if (seen[verdict::not_provoked] == gpu.arms.size())
    reasons.push_back({.state = node_state::undecided,
                       .code = "nothing_ran",
                       .text = not_provoked.empty() ? "no trial ran" : "no trial ran: " + not_provoked,
                       .device = gpu.device});
  if (!differing.empty())
    reasons.push_back({.code = "differs",
                       .text = "not as recorded for this stack: " + differing,
                       .device = gpu.device,
                       .command = "cufault merge"});
  if (const auto predicted = seen[verdict::as_predicted] + seen[verdict::differs] + seen[verdict::unrecorded];
      predicted > 0)
    reasons.push_back({.code = "predicted",
                       .text = fmt::format(
                           "{} without a record of this stack, {} as on the nearest one: only controls count",
                           plural_of(predicted, "arm"), seen[verdict::as_predicted]),
                       .device = gpu.device});
}

/// Of checks, but for known issues: those are the same on every node with this cuBLAS.
std::size_t findings_of(const node_facts& facts) {
  std::size_t found = 0;
  for (const probe_result& p : facts.checks.probes)
    if (p.name != known_issues_probe)
      found += static_cast<std::size_t>(
          std::count_if(p.report.findings.begin(), p.report.findings.end(),
                        [](const finding& f) { return f.level != finding_level::note; }));
  return found;
}

std::string subject_of(const node_facts& facts) {
  return (facts.drill ? "DRILL: " : "") + facts.host;
}

std::string line_of(const node_verdict& v, const node_facts& facts) {
  std::string text = fmt::format("{}: {}: ", name_of(v.state), subject_of(facts));
  if (v.state == node_state::usable) {
    std::size_t arms = 0, charted = 0;
    for (const node_gpu& gpu : facts.gpus)
      for (const node_arm& a : gpu.arms) {
        ++arms;
        charted += as_expected(a.judged) ? 1 : 0;
      }
    text += fmt::format("{}, {} of {} as expected", plural_of(facts.gpus.size(), "GPU"), charted,
                        plural_of(arms, "arm"));
    const std::size_t found = findings_of(facts);
    if (found > 0) text += fmt::format(", {} of checks", plural_of(found, "finding"));
    return text;
  }
  const node_reason& first = v.reasons.front();
  if (first.device) text += fmt::format("GPU {}: ", *first.device);
  text += first.text;
  const auto more = std::count_if(v.reasons.begin() + 1, v.reasons.end(),
                                  [&](const node_reason& r) { return r.state == v.state; });
  if (more > 0) text += fmt::format(" (and {} more)", more);
  return text;
}

}  // namespace

std::span<const enum_name<node_policy>> names_of(node_policy) {
  static constexpr std::array<enum_name<node_policy>, 4> names{{{node_policy::none, "none"},
                                                                {node_policy::slurm, "slurm"},
                                                                {node_policy::k8s, "k8s"},
                                                                {node_policy::nagios, "nagios"}}};
  return names;
}

std::span<const enum_name<node_state>> names_of(node_state) {
  static constexpr std::array<enum_name<node_state>, 4> names{{{node_state::usable, "usable"},
                                                               {node_state::undecided, "undecided"},
                                                               {node_state::bad, "bad"},
                                                               {node_state::failed, "failed"}}};
  return names;
}

bool needs_repeating(const node_arm& a) {
  return (a.control && a.judged == verdict::unresolved) || a.judged == verdict::worsened ||
         a.judged == verdict::remedy_broken;
}

node_verdict decide(const node_facts& facts) {
  node_verdict v;
  for (const probe_result& p : facts.checks.probes)
    if (p.name == known_issues_probe)
      for (const finding& f : p.report.findings)
        v.reasons.push_back(
            {.state = facts.refuse_wrong_numbers && f.harm == harms[0] ? node_state::bad : node_state::usable,
             .code = "known_issue",
             .text = "known issue: " + f.text,
             .command = f.command});
  if (look_at_driver(facts, v.reasons)) {
    for (const node_gpu& gpu : facts.gpus) look_at_trials(facts, gpu, v.reasons);
    if (!facts.no_trials.empty() || facts.gpus.empty())
      v.reasons.push_back(
          {.state = node_state::undecided,
           .code = "no_trials",
           .text = facts.no_trials.empty() ? "no trial was made" : one_line(facts.no_trials)});
  }
  for (const node_state state : {node_state::undecided, node_state::bad})
    if (std::any_of(v.reasons.begin(), v.reasons.end(), [&](const auto& r) { return r.state == state; }))
      v.state = state;
  std::stable_sort(v.reasons.begin(), v.reasons.end(),
                   [](const node_reason& a, const node_reason& b) { return a.state > b.state; });
  v.warned = findings_of(facts) > 0 || std::any_of(v.reasons.begin(), v.reasons.end(),
                                                   [](const node_reason& r) { return r.code == "differs"; });
  v.line = line_of(v, facts);
  return v;
}

node_verdict no_verdict(const node_facts& facts, const std::string& why) {
  node_verdict v{.state = node_state::failed};
  v.reasons.push_back({.state = node_state::failed, .code = "tool_failed", .text = one_line(why)});
  v.line = line_of(v, facts);
  return v;
}

int exit_code(const node_verdict& v, node_policy policy) {
  const bool bad = v.state == node_state::bad, failed = v.state == node_state::failed;
  switch (policy) {
    case node_policy::nagios:
      return bad ? 2 : v.state != node_state::usable ? 3 : v.warned ? 1 : 0;
    case node_policy::slurm:
    case node_policy::k8s:
      return bad ? 1 : 0;  // any other code drains a node, or restarts a container, too
    case node_policy::none:
      break;
  }
  return bad ? 1 : failed ? 2 : 0;
}

std::string line_for(const node_verdict& v, const node_facts& facts, node_policy policy) {
  if (policy != node_policy::nagios) return "cufault node: " + v.line;
  static constexpr std::array<const char*, 4> words{"OK", "WARNING", "CRITICAL", "UNKNOWN"};
  std::string text = v.line;  // what stands behind a bar would be performance data
  std::replace(text.begin(), text.end(), '|', '/');
  return fmt::format("CUFAULT {} - {} | time={:.1f}s",
                     words.at(static_cast<std::size_t>(exit_code(v, policy))), text, facts.seconds);
}

nlohmann::ordered_json node_json(const node_verdict& v, const node_facts& facts, node_policy policy) {
  auto reasons = nlohmann::ordered_json::array();
  for (const node_reason& r : v.reasons) {
    nlohmann::ordered_json one{{"state", name_of(r.state)}, {"code", r.code}, {"text", r.text}};
    if (r.device) one["device"] = *r.device;
    if (!r.command.empty()) one["command"] = r.command;
    reasons.push_back(std::move(one));
  }
  auto gpus = nlohmann::ordered_json::array();
  for (const node_gpu& gpu : facts.gpus) {
    auto arms = nlohmann::ordered_json::array();
    for (const node_arm& a : gpu.arms) {
      nlohmann::ordered_json one{{"case", a.case_name}, {"arm", a.arm}, {"verdict", to_string(a.judged)}};
      if (!a.why.empty()) one["why"] = a.why;
      if (a.again) one["again"] = to_string(*a.again);
      arms.push_back(std::move(one));
    }
    nlohmann::ordered_json one{{"device", gpu.device}, {"name", gpu.name}, {"arms", std::move(arms)}};
    if (!gpu.refused.empty()) one["refused"] = gpu.refused;
    if (!gpu.unfinished.empty()) one["unfinished"] = gpu.unfinished;
    gpus.push_back(std::move(one));
  }
  auto checks = nlohmann::ordered_json::array();
  for (const probe_result& p : facts.checks.probes) {
    nlohmann::ordered_json one{{"name", p.name}, {"findings", write_json(p.report.findings)}};
    if (const std::string& why = p.unanswered.empty() ? p.report.not_asked : p.unanswered; !why.empty())
      one["unanswered"] = why;
    checks.push_back(std::move(one));
  }
  return {{"schema", 1},
          {"cufault", facts.version},
          {"host", facts.host},
          {"boot", facts.boot},
          {"started", facts.started},
          {"seconds", facts.seconds},
          {"drill", facts.drill},
          {"policy", name_of(policy)},
          {"verdict", name_of(v.state)},
          {"exit_code", exit_code(v, policy)},
          {"line", line_for(v, facts, policy)},
          {"reasons", std::move(reasons)},
          {"gpus", std::move(gpus)},
          {"checks", std::move(checks)}};
}

std::string node_metrics(const node_verdict& v, const node_facts& facts) {
  prometheus_text page;
  page.family("cufault_node_info", "The cufault that looked at this node.");
  page.sample(1, {{"version", facts.version}});
  page.family("cufault_node_verdict", "Verdict of cufault node: 1 for the one that holds.");
  for (const auto& [state, name] : names_of(node_state::usable))
    page.sample(v.state == state ? 1 : 0, {{"verdict", std::string(name)}});
  page.family("cufault_node_warned", "1 where the node is usable, and a check found something.");
  page.sample(v.warned ? 1 : 0);
  page.family("cufault_node_drill", "1 where the failure was injected (cufault node --drill).");
  page.sample(facts.drill ? 1 : 0);
  page.family("cufault_node_reasons",
              "Reasons of the verdict, by their code and by the CUDA device they are of.");
  std::map<std::tuple<std::string, std::string, std::string>, int> reasons, arms, findings;
  for (const node_reason& r : v.reasons)
    ++reasons[{r.code, r.device ? std::to_string(*r.device) : "", std::string(name_of(r.state))}];
  for (const auto& [of, count] : reasons)
    page.sample(count, {{"code", std::get<0>(of)}, {"device", std::get<1>(of)}, {"state", std::get<2>(of)}});
  page.family("cufault_node_arms", "Arms of the trials on each GPU, by their verdict.");
  for (const node_gpu& gpu : facts.gpus)
    for (const node_arm& a : gpu.arms)
      ++arms[{std::to_string(gpu.device), gpu.name, to_string(a.again.value_or(a.judged))}];
  for (const auto& [of, count] : arms)
    page.sample(count, {{"device", std::get<0>(of)}, {"gpu", std::get<1>(of)}, {"verdict", std::get<2>(of)}});
  page.family("cufault_node_findings", "Findings of the checks, by check and level.");
  for (const probe_result& p : facts.checks.probes)
    for (const finding& one : p.report.findings) ++findings[{p.name, std::string(name_of(one.level)), ""}];
  for (const auto& [of, count] : findings)
    page.sample(count, {{"check", std::get<0>(of)}, {"level", std::get<1>(of)}});
  page.family("cufault_node_seconds", "Seconds that it took.");
  page.sample(facts.seconds);
  return page.text();
}

}  // namespace cufault
