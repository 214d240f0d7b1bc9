// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Probes of the driver and of what NVML and the kernel say of the GPUs.
#include "harness/doctor/loader.hpp"
#include "harness/doctor/probe.hpp"
#include "harness/system/unique_fd.hpp"
#include "reports/base/json_input.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <system_error>

namespace fs = std::filesystem;

namespace cufault {
namespace {

// ---- the driver ----

/// Something on this machine says that it is meant to have a GPU.
std::string sign_of_gpu(const machine& m) {
  std::error_code ignored;
  for (const char* file : {"/proc/driver/nvidia/version", "/dev/nvidiactl"})
    if (fs::exists(m.at(file), ignored)) return file;
  return {};
}

void say_absent(const machine& m, const driver_answers& driver, probe_report& report) {
  const std::string sign = sign_of_gpu(m);
  const bool required = m.variable("CUFAULT_REQUIRE_GPU") == "1";
  finding f{
      .level = sign.empty() && !required ? finding_level::warning : finding_level::failure,
      .text = sign.empty()
                  ? fmt::format("there is no driver here: every CUDA call fails ({})", driver.why_absent)
                  : fmt::format("{} is there and libcuda.so.1 cannot be loaded: every CUDA call fails ({})",
                                sign, driver.why_absent),
      .case_name = "environment.driver_missing",
      .remedy = "find_the_driver"};
  for (const fs::path& file : libraries_on_disk(m, "libcuda"))
    if (file.filename().string().starts_with("libcuda.so.") && file.parent_path().filename() != "compat" &&
        f.command.empty())
      f.command = fmt::format("export LD_LIBRARY_PATH={}:$LD_LIBRARY_PATH", file.parent_path().string());
  report.findings.push_back(std::move(f));
}

void say_refused(const machine& m, const driver_answers& driver, probe_report& report) {
  const bool compat = driver.library.find("/compat/") != driver.library.npos;
  finding f{.level = finding_level::failure,
            .text = fmt::format("cuInit of {} returns {}", driver.library, name_of_code(driver.initialised)),
            .case_name = "environment.driver_mismatch"};
  switch (driver.initialised) {
    case 34:
      f.case_name = "environment.driver_missing";
      f.remedy = "drop_the_stub";
      f.command = "unset LD_LIBRARY_PATH";
      break;
    case 100:
      f.case_name = "environment.hidden_devices";
      f.remedy = m.has("CUDA_VISIBLE_DEVICES") ? "show_in_new_process" : "";
      f.command = m.has("CUDA_VISIBLE_DEVICES") ? "unset CUDA_VISIBLE_DEVICES" : "nvidia-smi -L";
      break;
    case 802:
      f.text += ": the system is not ready, of which the fabric manager is the usual part";
      f.command = "systemctl status nvidia-fabricmanager";
      break;
    case 803:
    case 804:
      f.remedy = compat ? "drop_compat" : "right_driver";
      f.command = compat ? "unset LD_LIBRARY_PATH" : "cat /proc/driver/nvidia/version";
      break;
    default:
      f.case_name.clear();
      f.command = "nvidia-smi";
      break;
  }
  report.findings.push_back(std::move(f));
}

/// The newest runtime that a library here is, or has inside.
std::pair<int, std::string> newest_runtime(const machine& m) {
  std::pair<int, std::string> newest;
  for (const char* stem : {"libcublasLt", "libcudart"})
    for (const fs::path& on_disk : libraries_on_disk(m, stem)) {
      const auto found = find_library(m, on_disk.filename());
      const fs::path file = found ? found->file : on_disk;
      const library_answers said = m.ask(m.at(file));
      const int runtime = std::string_view(stem) == "libcudart" ? said.version : said.runtime;
      newest = std::max(newest, {runtime, file.string()});
    }
  return newest;
}

void compare_versions(const machine& m, const driver_answers& driver, probe_report& report) {
  const auto [runtime, file] = newest_runtime(m);
  if (runtime == 0 || driver.version == 0) return;
  report.seen.push_back(fmt::format("CUDA of the driver {}, newest runtime {} ({})",
                                    runtime_version_text(driver.version), runtime_version_text(runtime),
                                    file));
  if (driver.version / 1000 < runtime / 1000)
    report.findings.push_back(
        {.level = finding_level::failure,
         .text = fmt::format("the driver is of CUDA {}, {} is of CUDA {}: every call fails with "
                             "cudaErrorInsufficientDriver",
                             runtime_version_text(driver.version), file, runtime_version_text(runtime)),
         .case_name = "environment.driver_missing",
         .remedy = "newer_driver",
         .command = "nvidia-smi --query-gpu=driver_version --format=csv"});
  else if (driver.version < runtime)
    report.findings.push_back(
        {.text = fmt::format(
             "the driver is of CUDA {}, {} of {}: of one major version, which is accepted; a feature "
             "that the driver lacks fails alone",
             runtime_version_text(driver.version), file, runtime_version_text(runtime)),
         .case_name = "environment.driver_mismatch"});
}

// ---- memory ----

std::string mebibytes(std::uint64_t bytes) {
  return fmt::format("{} MiB", bytes >> 20);
}

std::optional<measured_facts::footprint> footprint_here(const machine& m) {
  const bool eager = m.variable("CUDA_MODULE_LOADING") == "EAGER";
  std::optional<measured_facts::footprint> most;
  for (const auto& f : m.measured.footprints)
    if (f.eager == eager && (!most || f.bytes > most->bytes)) most = f;
  return most;
}

// ---- GPUs ----

std::string name_of(const gpu_state& gpu, std::size_t index) {
  return fmt::format("GPU {} ({})", index, gpu.name.empty() ? "name unknown" : gpu.name);
}

void look_at_users(const gpu_state& gpu, const std::string& name, probe_report& report) {
  constexpr int exclusive_thread = 1, prohibited = 2, exclusive_process = 3;
  const auto mode = gpu.compute_mode.value_or(0);
  const std::size_t users = gpu.users ? gpu.users->size() : 0;
  if (mode == prohibited)
    report.findings.push_back(
        {.level = finding_level::failure,
         .text = name + ": compute mode prohibited, no process may use it; not measured",
         .command = "nvidia-smi --query-gpu=compute_mode --format=csv"});
  else if (users > 0 && (mode == exclusive_thread || mode == exclusive_process))
    report.findings.push_back(
        {.level = finding_level::failure,
         .text = fmt::format("{}: compute mode exclusive, and a process has it; not measured", name),
         .command = "nvidia-smi --query-compute-apps=pid,used_memory --format=csv"});
  if (users == 0) return;
  std::uint64_t bytes = 0;
  for (const gpu_state::user& u : *gpu.users) bytes += u.bytes.value_or(0);
  report.findings.push_back(
      {.text = fmt::format("{}: {} other process{} {} it, with {} of its memory", name, users,
                           users == 1 ? "" : "es", users == 1 ? "uses" : "use", mebibytes(bytes)),
       .case_name = "memory.create_under_pressure",
       .remedy = "end_other_process_and_retry_lazy",
       .command = "nvidia-smi --query-compute-apps=pid,used_memory --format=csv"});
}

void look_at_health(const gpu_state& gpu, const std::string& name, probe_report& report) {
  const auto warn = [&](const std::string& text, const char* command) {
    report.findings.push_back(
        {.level = finding_level::warning, .text = name + ": " + text, .command = command});
  };
  if (gpu.uncorrected_errors.value_or(0) > 0)
    warn(fmt::format("{} ECC errors that could not be corrected, since the driver was loaded",
                     *gpu.uncorrected_errors),
         "nvidia-smi -q -d ECC");
  if (!gpu.remapped) return;
  if (gpu.remapped->failed)
    warn("a memory row could not be remapped: the GPU needs service", "nvidia-smi -q -d ROW_REMAPPER");
  else if (gpu.remapped->pending)
    warn("a memory row is remapped at the next reset of the GPU", "nvidia-smi -q -d ROW_REMAPPER");
}

std::string describe(const gpu_state& gpu) {
  const auto state = [](std::optional<bool> on) { return !on ? "not told" : *on ? "on" : "off"; };
  std::string text =
      fmt::format("MIG {}, persistence {}, ECC {}", state(gpu.mig), state(gpu.persistence), state(gpu.ecc));
  if (gpu.corrected_errors) text += fmt::format(", {} corrected errors", *gpu.corrected_errors);
  if (gpu.remapped)
    text += fmt::format(", {} remapped rows", gpu.remapped->corrected + gpu.remapped->uncorrected);
  return text;
}

// ---- the kernel's log ----

/// Of "NVRM: Xid (PCI:0000:3b:00): 79, pid=..." the number; 0 where it is something else.
int xid_of(std::string_view line) {
  const auto begin = line.find("NVRM: Xid (");
  if (begin == line.npos) return 0;
  const auto end = line.find("): ", begin);
  if (end == line.npos) return 0;
  int number = 0;
  for (const char c : line.substr(end + 3, 4)) {
    if (c < '0' || c > '9') break;
    number = number * 10 + (c - '0');
  }
  return number;
}

/// Of the applications that ran, by NVIDIA's catalogue; of the others the GPU or the driver may be the cause.
bool of_a_program(int xid) {
  constexpr std::array<int, 4> programs{13, 31, 43, 45};
  return std::find(programs.begin(), programs.end(), xid) != programs.end();
}

/// One message a read of /dev/kmsg; any number of lines a read of a file.
std::string read_log(const fs::path& file, std::string& why) {
  constexpr std::size_t most = 8 << 20;
  const unique_fd log(open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!log) {
    why = fmt::format("{}: {}", file.string(), std::strerror(errno));
    return {};
  }
  std::string text;
  std::array<char, 16384> piece{};
  while (text.size() < most) {
    const ssize_t got = read(log.get(), piece.data(), piece.size());
    if (got < 0 && (errno == EPIPE || errno == EINTR)) continue;  // messages were lost meanwhile
    if (got < 0 && errno != EAGAIN && text.empty())
      why = fmt::format("{}: {}", file.string(), std::strerror(errno));
    if (got <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace

probe_report look_at_driver(const machine& m) {
  probe_report report;
  const driver_answers driver = m.driver();
  if (!driver.why_absent.empty()) {
    say_absent(m, driver, report);
    return report;
  }
  report.driver_usable = driver.usable();
  if (driver.initialised != 0)
    say_refused(m, driver, report);
  else if (driver.devices.empty())
    report.findings.push_back({.level = finding_level::failure,
                               .text = "the driver shows no device: every call fails with cudaErrorNoDevice",
                               .case_name = "environment.hidden_devices",
                               .command = "nvidia-smi -L"});
  for (const driver_answers::device& d : driver.devices)
    report.seen.push_back(
        fmt::format("{}, compute capability {}.{}", d.name, d.capability / 10, d.capability % 10));
  compare_versions(m, driver, report);
  return report;
}

probe_report look_at_memory(const machine& m) {
  probe_report report;
  const auto footprint = footprint_here(m);
  const management_answers management = m.management();
  if (!management.why_absent.empty()) {
    report.not_asked = management.why_absent;
    return report;
  }
  if (!footprint) {
    report.not_asked = "no record has measured what a handle takes";
    return report;
  }
  const std::string record = fmt::format("{} for the first cublasCreate (record: {}, {})",
                                         mebibytes(footprint->bytes), footprint->arm, footprint->stack);
  bool any = false;
  for (std::size_t i = 0; i < management.gpus.size(); ++i) {
    const gpu_state& gpu = management.gpus[i];
    if (!gpu.free_bytes || gpu.mig.value_or(false)) continue;
    any = true;
    report.seen.push_back(
        fmt::format("{}: {} free; {}", name_of(gpu, i), mebibytes(*gpu.free_bytes), record));
    if (*gpu.free_bytes >= footprint->bytes) continue;
    report.findings.push_back(
        {.level = finding_level::failure,
         .text = fmt::format("{}: {} are free, less than {}", name_of(gpu, i), mebibytes(*gpu.free_bytes),
                             record),
         .case_name = "memory.create_under_pressure",
         .remedy = footprint->eager ? "load_lazily_eager" : "end_other_process_and_retry_lazy",
         .command = footprint->eager ? "export CUDA_MODULE_LOADING=LAZY"
                                     : "nvidia-smi --query-compute-apps=pid,used_memory --format=csv"});
  }
  if (!any) report.not_asked = "NVML tells no GPU's free memory";
  return report;
}

probe_report look_at_gpus(const machine& m) {
  probe_report report;
  const management_answers management = m.management();
  if (!management.why_absent.empty()) {
    report.not_asked = management.why_absent;
    return report;
  }
  if (management.gpus.empty()) report.not_asked = "NVML shows no GPU";
  for (std::size_t i = 0; i < management.gpus.size(); ++i) {
    const gpu_state& gpu = management.gpus[i];
    const std::string name = name_of(gpu, i);
    look_at_users(gpu, name, report);
    look_at_health(gpu, name, report);
    report.seen.push_back(name + ": " + describe(gpu));
  }
  return report;
}

probe_report look_at_kernel_log(const machine& m) {
  probe_report report;
  const std::string log = read_log(m.at("/dev/kmsg"), report.not_asked);
  if (!report.not_asked.empty()) return report;
  std::map<int, int> seen;
  std::map<int, std::string> last;
  for (std::size_t at = 0; at < log.size();) {
    const std::size_t end = std::min(log.find('\n', at), log.size());
    const std::string_view line = std::string_view(log).substr(at, end - at);
    if (const int xid = xid_of(line); xid > 0) {
      ++seen[xid];
      last[xid] = line.substr(line.find("NVRM:"));
    }
    at = end + 1;
  }
  for (const auto& [xid, count] : seen)
    report.findings.push_back(
        {.level = of_a_program(xid) ? finding_level::note : finding_level::warning,
         .text = fmt::format("Xid {}, {} time{} since the start of the kernel's log; the last: {}", xid,
                             count, count == 1 ? "" : "s", one_line(last[xid])),
         .case_name = of_a_program(xid) ? "sticky.device_fault" : "",
         .command = "dmesg | grep Xid"});
  return report;
}

}  // namespace cufault
