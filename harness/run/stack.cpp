// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The part that needs no CUDA: asks the child, completes and prints the stack.
#include "harness/run/stack.hpp"

#include "harness/model/errors.hpp"
#include "harness/system/process.hpp"
#include "reports/base/words.hpp"
#include "reports/judge/library_files.hpp"
#include "reports/model/api_functions.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <nlohmann/json.hpp>

#include <gnu/libc-version.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <string_view>
#include <thread>
#include <vector>

namespace cufault {
namespace {

nlohmann::json host() {
  std::string system = "unknown";
  std::ifstream release("/etc/os-release");
  for (std::string line; std::getline(release, line);) {
    if (line.starts_with("PRETTY_NAME=")) system = line.substr(12);
  }
  std::erase(system, '"');
  utsname names{};
  uname(&names);
  return {{"system", system},
          {"kernel", names.release},
          {"processor", names.machine},
          {"processors", std::thread::hardware_concurrency()},
          {"libc", gnu_get_libc_version()}};
}

/// Variables that affect the driver, libraries or the loader. Of cufault's own variables only those that choose a library or rules: others,
/// such as CUFAULT_TIER, do not change the stack.
nlohmann::json relevant_environment() {
  std::vector<std::string> prefixes{"NVIDIA_TF32",   "NVIDIA_VISIBLE",       "LD_",         "CUFAULT_PYTHON",
                                    "CUFAULT_RULES", "CUFAULT_OTHER_CUBLAS", "CUFAULT_FAIL"};
  for (const step_library& each : step_libraries) {
    prefixes.emplace_back(each.environment);
    if (each.binding != library_binding::linked)
      prefixes.push_back(fmt::format("CUFAULT_{}", each.environment));
  }
  nlohmann::json found = nlohmann::json::object();
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    if (std::any_of(prefixes.begin(), prefixes.end(),
                    [&](const std::string& p) { return text.starts_with(p); })) {
      found[std::string(text.substr(0, equals))] = text.substr(equals + 1);
    }
  }
  return found;
}

std::string text_at(const nlohmann::json& j, const char* object, const char* member) {
  return j.contains(object) && j[object].is_object() ? j[object].value(member, std::string()) : std::string();
}

/// Replaces UUIDs of GPUs by hashes.
std::string without_uuids(const std::string& text) {
  static const std::regex uuid("(GPU|MIG)-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}");
  std::string kept;
  auto copied = text.begin();
  for (std::sregex_iterator found(text.begin(), text.end(), uuid), end; found != end; ++found) {
    kept.append(copied, (*found)[0].first);
    kept += found->str(1) + "-" + hash_of(found->str());
    copied = (*found)[0].second;
  }
  return kept.append(copied, text.end());
}

/// Version that the kernel driver reports itself, for machines without NVML.
std::string kernel_driver_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string word;
  while (file >> word) {
    if (word.find('.') != std::string::npos && word.find_first_not_of("0123456789.") == std::string::npos)
      return word;
  }
  return {};
}

}  // namespace

void name_driver(nlohmann::json& driver, const std::string& kernel) {
  if (!driver.is_object()) driver = nlohmann::json::object();  // the child died
  constexpr std::string_view begins = "libcuda.so.";
  const std::string name = std::filesystem::path(driver.value("library", std::string())).filename().string();
  const std::string own = name.starts_with(begins) ? name.substr(begins.size()) : std::string();
  const bool is_version = own.find('.') != own.npos && own.find('.') >= 3;  // libcuda.so.1.1 has no version
  if (const std::string& version = is_version && !kernel.empty() ? own : kernel; !version.empty())
    driver["version"] = version;
  if (is_version && !kernel.empty() && own != kernel) driver["kernel"] = kernel;
}

nlohmann::json read_stack(const std::filesystem::path& self, const target& where, const nvml& management,
                          int stop) {
  spawn_options options;
  options.argv = argv_of_child(self, {"probe-stack"}, where);
  std::string said;
  const process_result ended = run_process(
      options, [&](std::string_view bytes) { said += bytes; }, stop);
  if (ended.how == ending::interrupted) throw interrupted{};
  nlohmann::json stack = nlohmann::json::parse(said, nullptr, false);
  if (!stack.is_object()) {
    std::string how = fmt::format("exit code {}", ended.exit_code);
    if (ended.how == ending::signalled) how = fmt::format("signal {}", ended.signal);
    if (ended.how == ending::timed_out) how = "no answer in 60 s";
    stack = {{"gpu", nullptr},
             {"error", fmt::format("the process that looks at the stack did not end well ({}): something "
                                   "that it loads breaks at start; {}",
                                   how, ended.stderr_text)}};
  }
  stack["memory_watch"] = management.driver_version() ? "nvml" : "none";
  stack["host"] = host();
  stack["environment"] = relevant_environment();
  name_driver(stack["driver"],
              management.driver_version() ? *management.driver_version() : kernel_driver_version());
  nlohmann::json keys = nlohmann::json::object();
  const auto key = [&](const char* name, const std::string& value) {
    if (!value.empty()) keys[name] = value;
  };
  for (const step_library& each : step_libraries)
    if (const std::string name(each.key); each.binding != library_binding::linked)
      key(name.c_str(), text_at(stack, name.c_str(), "version"));
  key("other_cublas", stack.value("other_cublas", std::string()));
  key("driver", text_at(stack, "driver", "version"));
  key("runtime", text_at(stack, "runtime", "version"));
  key("compute_capability", text_at(stack, "gpu", "compute_capability"));
  if (stack.contains("gpu") && stack["gpu"].is_object()) {
    if (const std::string uuid = text_at(stack, "gpu", "uuid"); !uuid.empty())
      stack["gpu"]["uuid_hashes"] = nlohmann::json::array({hash_of(uuid)});
    if (stack["gpu"].contains("memory_bytes"))
      key("memory_gib", std::to_string(stack["gpu"].value("memory_bytes", std::uint64_t{0}) >> 30));
  }
  key("module_loading", stack["environment"].value("CUDA_MODULE_LOADING", std::string()));
  stack["keys"] = keys;
  return stack;
}

void print_stack(std::ostream& out, const nlohmann::json& stack) {
  const auto line = [&](const char* name, const std::string& value) {
    if (!value.empty()) fmt::print(out, "{:<20}{}\n", name, value);
  };
  if (stack.contains("gpu") && stack["gpu"].is_object()) {
    const auto& gpu = stack["gpu"];
    std::string text = gpu.value("name", "");
    if (gpu.contains("memory_bytes"))
      text += fmt::format(", {:.1f} GiB", gpu["memory_bytes"].get<double>() / (1 << 30));
    if (gpu.contains("multiprocessors"))
      text += fmt::format(", {} multiprocessors", gpu.value("multiprocessors", 0));
    line("GPU", text);
    line("compute capability", gpu.value("compute_capability", ""));
  } else {
    line("GPU", "none: " + stack.value("no_gpu", std::string("unknown")));
  }
  line("driver", text_at(stack, "driver", "version"));
  line("kernel driver", text_at(stack, "driver", "kernel"));
  line("driver's CUDA", text_at(stack, "driver", "cuda"));
  line("driver library", text_at(stack, "driver", "library"));
  line("CUDA runtime", text_at(stack, "runtime", "version"));
  for (const step_library& each : step_libraries) {
    if (each.binding == library_binding::linked) continue;
    const std::string name(each.key), title(each.title);
    const std::string version = text_at(stack, name.c_str(), "version"),
                      path = text_at(stack, name.c_str(), "path");
    if (!version.empty() || !path.empty())
      line(title.c_str(), (version.empty() ? "version not known" : version) + "  " + path);
  }
  for (const auto& other : stack.value("libraries", nlohmann::json::array()))
    if (const std::string path = other.value("path", "");
        path != text_at(stack, "cublas", "path") && path != text_at(stack, "cublaslt", "path"))
      line("also here",
           fmt::format("{}  {}  {}", other.value("version", ""), path, other.value("found_by", "")));
  for (const auto& [library, words] : words_of_files(stack)) line((library + " file").c_str(), words);
  const std::string own = text_at(stack, "cublaslt", "called_by_cublas");
  if (own != text_at(stack, "cublaslt", "path")) line("cuBLAS calls", own);
  line("error", stack.value("error", std::string()));
  if (stack.contains("host")) {
    const auto& h = stack["host"];
    line("host", fmt::format("{}, kernel {}, {} x {}, libc {}", h.value("system", ""), h.value("kernel", ""),
                             h.value("processors", 0), h.value("processor", ""), h.value("libc", "")));
  }
  const nlohmann::json environment = stack.value("environment", nlohmann::json::object());
  for (const auto& [name, value] : environment.items()) {
    line("environment", name + "=" + value.get<std::string>());
  }
}

nlohmann::json for_record(nlohmann::json stack) {
  if (stack.contains("gpu") && stack["gpu"].is_object()) stack["gpu"].erase("uuid");
  stack.erase("devices");
  if (stack.contains("environment"))
    for (auto& value : stack["environment"]) value = without_uuids(value.get<std::string>());
  return stack;
}

}  // namespace cufault
