// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Probes of the driver and of what NVML and the kernel say of the GPUs.
#include "harness/doctor/loader.hpp"
#include "harness/doctor/probe.hpp"
#include "harness/system/unique_fd.hpp"
#include "reports/base/json_input.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <map>
#include <sstream>
#include <system_error>
#include <tuple>

namespace fs = std::filesystem;

namespace cufault {
namespace {

// ---- the driver ----

/// Something on this machine says that it is meant to have a GPU.
std::string sign_of_gpu(const machine& m) {
  std::error_code ignored;
  for (const char* file : {"/proc/driver/nvidia/version", "/dev/nvidiactl"})
    if (fs::exists(m.at(file), ignored)) return file;
  const std::vector<std::string> gpus = gpus_on_pci_bus(m.root);
  return gpus.empty() ? "" : fmt::format("a GPU on the PCI bus ({})", gpus.front());
}

/// Takes the libcuda that the loader finds out of the way, where a folder of LD_LIBRARY_PATH has it.
void drop_found_driver(const machine& m, finding& f, const std::string& else_advice) {
  f.advice = else_advice;
  const auto found = find_library(m, "libcuda.so.1");
  if (!found || found->by != "LD_LIBRARY_PATH") return;
  const std::string folder = found->file.parent_path();
  f.advice = fmt::format("Take {} out of LD_LIBRARY_PATH and start the program again.", folder);
  f.command = search_path_without(m, folder);
}

void say_absent(const machine& m, const driver_answers& driver, probe_report& report) {
  const std::string sign = sign_of_gpu(m), required = m.variable("CUFAULT_REQUIRE_GPU");
  const auto found = find_library(m, "libcuda.so.1");
  finding f{.level = finding_level::failure, .case_name = "environment.driver_missing"};
  f.decides = "environment_other.driver_missing";
  if (found) {
    f.text = fmt::format("{}, found by {}, is no driver that can be used: every CUDA call fails ({})",
                         found->file.string(), found->by, driver.why_absent);
    drop_found_driver(m, f, "Install NVIDIA's driver again.");
    if (!f.command.empty()) f.remedy = "find_the_driver";
    report.findings.push_back(std::move(f));
    return;
  }
  if (!sign.empty()) {
    f.text = fmt::format("{} is there and libcuda.so.1 cannot be loaded: every CUDA call fails ({})", sign,
                         driver.why_absent);
  } else {
    f.text = fmt::format("there is no driver here: every CUDA call fails ({})", driver.why_absent);
    if (required.empty() || required == "0") f.level = finding_level::warning;
  }
  f.advice = "Install NVIDIA's driver; in a container, pass the GPU to it (docker run --gpus all).";
  for (const fs::path& file : libraries_on_disk(m, "libcuda")) {
    const fs::path folder = file.parent_path();
    std::error_code ignored;
    if (!f.command.empty() || folder.filename() == "compat" || folder.filename() == "stubs" ||
        !fs::exists(m.at(folder / "libcuda.so.1"), ignored))
      continue;
    f.advice = fmt::format("Add {} to LD_LIBRARY_PATH and start the program again.", folder.string());
    f.remedy = "find_the_driver";
    f.command = fmt::format("export LD_LIBRARY_PATH={}:$LD_LIBRARY_PATH", folder.string());
  }
  report.findings.push_back(std::move(f));
}

void say_no_device(const machine& m, finding& f) {
  const bool hidden = m.has("CUDA_VISIBLE_DEVICES");
  f.case_name = "environment.hidden_devices";
  f.decides = "environment_other.no_device";
  f.remedy = hidden ? "show_in_new_process" : "";
  f.command = hidden ? "unset CUDA_VISIBLE_DEVICES" : "nvidia-smi -L";
  f.advice = hidden ? "Unset CUDA_VISIBLE_DEVICES, or name a device in it, and start the program again."
                    : "Look whether the driver lists a GPU; in a container, pass one to it.";
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
      drop_found_driver(m, f, "Let the loader find the driver's libcuda.so.1 before this stub.");
      break;
    case 100:
      say_no_device(m, f);
      break;
    case 802:
      f.text += ": the system is not ready, of which the fabric manager is the usual part";
      f.advice = "Start the fabric manager, and wait until it is ready.";
      f.command = "systemctl status nvidia-fabricmanager";
      break;
    case 803:
    case 804:
      f.remedy = compat ? "drop_compat" : "right_driver";
      f.command = "cat /proc/driver/nvidia/version";
      drop_found_driver(m, f,
                        "Let libcuda.so.1 be of the version of the kernel module; after an update, reboot.");
      break;
    default:
      f.case_name.clear();
      f.advice = "Look at the state of the GPUs and at the kernel's log.";
      f.command = "nvidia-smi";
      break;
  }
  report.findings.push_back(std::move(f));
}

/// The newest of these libraries here, by a number that each says of itself; 0 where there is none.
std::pair<int, std::string> newest(const machine& m, std::initializer_list<const char*> stems,
                                   int (*number)(std::string_view stem, const library_answers& said)) {
  std::pair<int, std::string> best;
  for (const char* stem : stems)
    for (const fs::path& on_disk : libraries_on_disk(m, stem)) {
      const auto found = find_library(m, on_disk.filename());
      const fs::path file = found ? found->file : on_disk;
      best = std::max(best, {number(stem, m.ask(m.at(file))), file.string()});
    }
  return best;
}

void compare_versions(const machine& m, const driver_answers& driver, probe_report& report) {
  // The runtime that a library is, or has inside.
  const auto [runtime, file] =
      newest(m, {"libcublasLt", "libcudart"}, [](std::string_view stem, const library_answers& said) {
        return stem == "libcudart" ? said.version : said.runtime;
      });
  if (runtime == 0 || driver.version == 0) return;
  report.seen.push_back(fmt::format("CUDA of the driver {}, newest runtime {} ({})",
                                    runtime_version_text(driver.version), runtime_version_text(runtime),
                                    file));
  if (driver.version / 1000 < runtime / 1000)
    report.findings.push_back(
        {.level = finding_level::failure,
         .text = fmt::format(
             "the driver is of CUDA {}, {} is of CUDA {}: every call fails with cudaErrorInsufficientDriver",
             runtime_version_text(driver.version), file, runtime_version_text(runtime)),
         .advice = fmt::format("Install a driver of CUDA {} or newer, or libraries of CUDA {}.",
                               runtime_version_text(runtime), driver.version / 1000),
         .case_name = "environment.driver_missing",
         .remedy = "newer_driver",
         .command = "nvidia-smi --query-gpu=driver_version --format=csv"});
  else if (driver.version < runtime)
    report.findings.push_back(
        {.text = fmt::format("the driver is of CUDA {}, {} of {}: of one major version, which is accepted; a "
                             "feature that the driver lacks fails alone",
                             runtime_version_text(driver.version), file, runtime_version_text(runtime)),
         .advice = fmt::format("Where a feature fails, install a driver of CUDA {}.",
                               runtime_version_text(runtime)),
         .case_name = "environment.driver_mismatch"});
}

// ---- memory ----

std::string mebibytes(std::uint64_t bytes) {
  return fmt::format("{} MiB", bytes >> 20);
}

/// "13.1.0": 130100, as cuBLAS says it.
int cublas_number(const std::string& version) {
  int major = 0, minor = 0, patch = 0;
  char dot = 0;
  std::istringstream(version) >> major >> dot >> minor >> dot >> patch;
  return major * 10000 + minor * 100 + patch;
}

/// Of the records of this way to load, that of the cuBLAS `here`, or of the nearest one of its major version, or of the nearest one; the
/// newest where none is here. The largest of several.
std::optional<measured_facts::footprint> footprint_of(const machine& m, int here) {
  const bool eager = m.variable("CUDA_MODULE_LOADING") == "EAGER";
  const int wanted = here == 0 ? std::numeric_limits<int>::max() : here;
  const auto rank = [&](const measured_facts::footprint& f) {
    const int version = cublas_number(f.cublas);
    return std::tuple(version / 10000 != wanted / 10000, std::abs(wanted - version), ~f.bytes);
  };
  std::optional<measured_facts::footprint> best;
  for (const auto& f : m.measured.footprints)
    if (f.eager == eager && (!best || rank(f) < rank(*best))) best = f;
  return best;
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
         .advice = "Use another GPU, or ask its administrator to set the compute mode to default.",
         .command = "nvidia-smi --query-gpu=compute_mode --format=csv"});
  else if (users > 0 && (mode == exclusive_thread || mode == exclusive_process))
    report.findings.push_back(
        {.level = finding_level::failure,
         .text = fmt::format("{}: compute mode exclusive, and a process has it; not measured", name),
         .advice = "Wait until that process has ended, or use another GPU.",
         .command = "nvidia-smi --query-compute-apps=pid,used_memory --format=csv"});
  if (users == 0) return;
  std::uint64_t bytes = 0;
  for (const gpu_state::user& u : *gpu.users) bytes += u.bytes.value_or(0);
  report.findings.push_back(
      {.text = fmt::format("{}: {} other process{} {} it, with {} of its memory", name, users,
                           users == 1 ? "" : "es", users == 1 ? "uses" : "use", mebibytes(bytes)),
       .advice = "Where memory is short, end them or wait for them.",
       .case_name = "memory.create_under_pressure",
       .remedy = "end_other_process_and_retry_lazy",
       .command = "nvidia-smi --query-compute-apps=pid,used_memory --format=csv"});
}

void look_at_health(const gpu_state& gpu, const std::string& name, probe_report& report) {
  const auto warn = [&](const std::string& text, const char* advice, const char* command) {
    report.findings.push_back(
        {.level = finding_level::warning, .text = name + ": " + text, .advice = advice, .command = command});
  };
  if (gpu.uncorrected_errors.value_or(0) > 0)
    warn(fmt::format("{} ECC errors that could not be corrected, since the driver was loaded",
                     *gpu.uncorrected_errors),
         "Ask for a reset of the GPU; where the count grows again, have it replaced.",
         "nvidia-smi -q -d ECC");
  if (!gpu.remapped) return;
  if (gpu.remapped->failed)
    warn("a memory row could not be remapped", "Have the GPU replaced.", "nvidia-smi -q -d ROW_REMAPPER");
  else if (gpu.remapped->pending)
    warn("a memory row is remapped at the next reset of the GPU",
         "Ask for a reset of the GPU when it is idle.", "nvidia-smi -q -d ROW_REMAPPER");
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

/// A kernel of a program failed, by NVIDIA's catalogue; of the others the GPU or the driver may be the cause.
bool of_a_kernel(int xid) {
  constexpr std::array<int, 3> kernels{13, 31, 43};
  return std::find(kernels.begin(), kernels.end(), xid) != kernels.end();
}

void say_xid(int xid, const std::string& seen, probe_report& report) {
  constexpr int clean_up = 45;  // after another error, by the same catalogue
  finding f{
      .level = finding_level::warning,
      .text = seen,
      .advice = "Look the number up in NVIDIA's catalogue of Xid errors; use another GPU until it is known.",
      .command = "dmesg | grep Xid"};
  if (xid == clean_up) {
    f.level = finding_level::note;
    f.advice = "Look for the error before it.";
  } else if (of_a_kernel(xid)) {
    f.level = finding_level::note;
    f.advice = "End the process whose kernel failed and start a new one: its context is lost.";
    f.case_name = "sticky.device_fault";
    f.remedy = "new_process_*";
  }
  report.findings.push_back(std::move(f));
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
    say_no_device(m, report.findings.emplace_back(finding{
                         .level = finding_level::failure,
                         .text = "the driver shows no device: every call fails with cudaErrorNoDevice"}));
  for (const driver_answers::device& d : driver.devices)
    report.seen.push_back(
        fmt::format("{}, compute capability {}.{}", d.name, d.capability / 10, d.capability % 10));
  compare_versions(m, driver, report);
  return report;
}

probe_report look_at_memory(const machine& m) {
  probe_report report;
  const management_answers management = m.management();
  if (!management.why_absent.empty()) {
    report.not_asked = management.why_absent;
    return report;
  }
  const int here = newest(m, {"libcublas"}, [](std::string_view, const library_answers& said) {
                     return said.version;
                   }).first;
  const auto footprint = footprint_of(m, here);
  if (!footprint) {
    report.not_asked = "no record has measured what a handle takes";
    return report;
  }
  const int recorded = cublas_number(footprint->cublas);
  const std::string other = here == 0          ? "no cuBLAS was found here; "
                            : here != recorded ? fmt::format("cuBLAS {} is here and has none; the nearest ",
                                                             cublas_version_text(here))
                                               : "";
  const std::string record =
      fmt::format("{} for the first cublasCreate ({}record: {}, {})", mebibytes(footprint->bytes), other,
                  footprint->arm, footprint->stack);
  const bool same_minor = here / 100 == recorded / 100;
  bool any = false;
  for (std::size_t i = 0; i < management.gpus.size(); ++i) {
    const gpu_state& gpu = management.gpus[i];
    if (!gpu.free_bytes || gpu.mig.value_or(false)) continue;
    any = true;
    report.seen.push_back(
        fmt::format("{}: {} free; {}", name_of(gpu, i), mebibytes(*gpu.free_bytes), record));
    if (*gpu.free_bytes >= footprint->bytes) continue;
    report.findings.push_back(
        {.level = same_minor ? finding_level::failure : finding_level::warning,
         .text = fmt::format("{}: {} are free, less than {}", name_of(gpu, i), mebibytes(*gpu.free_bytes),
                             record),
         .advice = footprint->eager
                       ? "Set CUDA_MODULE_LOADING=LAZY and start the program again."
                       : "End the other processes on this GPU, or use less memory before cublasCreate.",
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
    say_xid(xid,
            fmt::format("Xid {}, {} time{} since the start of the kernel's log; the last: {}", xid, count,
                        count == 1 ? "" : "s", one_line(last[xid])),
            report);
  return report;
}

}  // namespace cufault
