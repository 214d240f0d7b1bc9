// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/doctor/diagnosis.hpp"
#include "reports/model/results.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cufault {

/// Who reads the exit code.
enum class node_policy { none, slurm, k8s, nagios };
std::span<const enum_name<node_policy>> names_of(node_policy);

enum class node_state {
  usable,
  undecided,  ///< nothing was proved, for a reason that is no fault of the node: busy, no GPU, no time
  bad,    ///< proved: a driver or GPU is missing, the driver refused, or a trial failed twice on idle GPUs
  failed  ///< the check itself could not be made
};
std::span<const enum_name<node_state>> names_of(node_state);

/// Why the verdict is not "usable", or what else is worth knowing.
struct node_reason {
  node_state state = node_state::usable;
  std::string code{};  ///< "no_gpu", "busy", "driver_refuses", "trial_failed", ...: for programs
  std::string text{};  ///< one line
  std::optional<int> device{};
  std::string command{};  ///< to copy
};

/// An arm on a GPU, as it was judged. `again`: the same, repeated because it was not as expected.
struct node_arm {
  std::string case_name{}, arm{};
  bool control = false;
  bool harness_failed = false;  ///< of a control that is unresolved: the harness failed, not the GPU
  verdict judged = verdict::unresolved;
  std::string why{};
  std::optional<verdict> again{};
};

struct node_gpu {
  int device = 0;
  std::string name{};
  std::vector<node_arm> arms{};
  std::string refused{};        ///< by the runtime, with its words: "cudaErrorECCUncorrectable: ..."
  std::string refused_again{};  ///< the same, when asked once more
  std::string unfinished{};     ///< why trials are missing; empty where all ran
};

/// All that was seen. A test makes its own.
struct node_facts {
  std::string version{}, host{}, boot{}, started{};  ///< started: UTC; boot: the kernel's boot ID, or empty
  bool drill = false;                                ///< the failure was injected
  std::string driver_silent{};                       ///< why the driver gave no answer; empty where it did
  driver_answers driver{};                   ///< `library` also where a file of that name cannot be loaded
  bool refuse_wrong_numbers = false;         ///< a known issue of wrong numbers makes it bad
  std::size_t gpus_required = 0;             ///< that the node must have; 0: nobody said
  std::vector<std::string> pci_gpus{};       ///< as gpus_on_pci_bus()
  std::string visible_devices{};             ///< "CUDA_VISIBLE_DEVICES=0"; empty where it is not set
  std::optional<std::size_t> other_users{};  ///< processes on GPUs; nothing: NVML does not tell
  std::string no_trials{};                   ///< why none could be made; empty where they could
  std::vector<node_gpu> gpus{};
  diagnosis checks{};
  double seconds = 0;
};

struct node_verdict {
  node_state state = node_state::usable;
  bool warned = false;                 ///< usable, and a check found a warning or a failure
  std::vector<node_reason> reasons{};  ///< those that decided it first
  std::string line{};                  ///< for people
};

/// True for a verdict that a second run has to confirm before it counts against the node.
bool needs_repeating(const node_arm& a);

/// A node is bad if GPUs are missing that it must have, if a GPU on the PCI bus has no driver, or if cuInit refuses. It is also bad if the
/// runtime or a trial fails twice while NVML shows no other process on the GPU. What checks found explains it.
/// Known issues are told and decide nothing, unless wrong numbers are refused.
node_verdict decide(const node_facts& facts);

/// A check that could not be made, for the reason given.
node_verdict no_verdict(const node_facts& facts, const std::string& why);

int exit_code(const node_verdict& v, node_policy policy);

/// With what the policy's reader expects round it.
std::string line_for(const node_verdict& v, const node_facts& facts, node_policy policy);

/// reports/schemas/node.schema.json
nlohmann::ordered_json node_json(const node_verdict& v, const node_facts& facts, node_policy policy);

/// In Prometheus' text format, without texts that differ from run to run.
std::string node_metrics(const node_verdict& v, const node_facts& facts);

}  // namespace cufault
