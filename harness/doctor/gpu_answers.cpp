// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Entry points and layouts as in the references of the CUDA driver and of NVML: those of a _v2 or _v3 name, or frozen since their first
// release, so that no header is needed.
#include "harness/doctor/gpu_answers.hpp"

#include "reports/base/words.hpp"

#include <fmt/format.h>

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <type_traits>
#include <utility>

namespace cufault {
namespace {

/// Never closed: the process ends soon, and a driver's library does not like to be unloaded.
class loaded_library {
 public:
  explicit loaded_library(const char* name) : handle_(dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) why_ = dlerror();
  }
  [[nodiscard]] const std::string& why_absent() const { return why_; }
  template <class Function>
  Function* function(const char* name) const {
    static_assert(std::is_function_v<Function>);
    return reinterpret_cast<Function*>(dlsym(handle_, name));  // NOLINT: what dlsym is for
  }
  [[nodiscard]] std::string file() const {
    link_map* map = nullptr;
    if (handle_ == nullptr || dlinfo(handle_, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0) return {};
    std::error_code failed;
    const auto real = std::filesystem::canonical(map->l_name, failed);
    return failed ? map->l_name : real.string();
  }

 private:
  void* handle_;
  std::string why_;
};

constexpr int attribute_major = 75, attribute_minor = 76;
constexpr std::size_t most_devices = 256;

using nvml_device = void*;
struct nvml_memory {
  unsigned long long total, free, used;
};
struct nvml_process {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance, compute_instance;
};
struct nvml_bus {  // nvmlPciInfo_t of nvmlDeviceGetPciInfo_v3
  std::array<char, 16> old_id;
  unsigned domain, bus, device, device_id, subsystem_id;
  std::array<char, 32> id;
};
constexpr unsigned long long not_available = ~0ULL;

class management {
 public:
  explicit management(const loaded_library& library) : library_(library) {}

  template <class T, class... Arguments>
  std::optional<T> get(const char* name, Arguments... arguments) const {
    T value{};
    auto* const ask = library_.function<int(Arguments..., T*)>(name);
    if (ask == nullptr || ask(arguments..., &value) != 0) return std::nullopt;
    return value;
  }
  template <class T>
  std::optional<std::pair<T, T>> two(const char* name, nvml_device of) const {
    std::pair<T, T> values{};
    auto* const ask = library_.function<int(nvml_device, T*, T*)>(name);
    if (ask == nullptr || ask(of, &values.first, &values.second) != 0) return std::nullopt;
    return values;
  }

  [[nodiscard]] gpu_state state_of(nvml_device gpu) const {
    gpu_state s;
    std::array<char, 96> text{};
    if (auto* const name = library_.function<int(nvml_device, char*, unsigned)>("nvmlDeviceGetName");
        name != nullptr && name(gpu, text.data(), text.size()) == 0)
      s.name = text.data();
    if (const auto bus = get<nvml_bus>("nvmlDeviceGetPciInfo_v3", gpu)) s.bus_id = bus->id.data();
    if (const auto c = two<int>("nvmlDeviceGetCudaComputeCapability", gpu))
      s.capability = static_cast<unsigned>(c->first * 10 + c->second);
    if (const auto m = get<nvml_memory>("nvmlDeviceGetMemoryInfo", gpu)) {
      s.total_bytes = m->total;
      s.free_bytes = m->free;
    }
    const auto flag = [](std::optional<int> value) {
      return value ? std::optional<bool>(*value != 0) : std::nullopt;
    };
    const auto first_flag = [](const auto& pair) {
      return pair ? std::optional<bool>(pair->first != 0) : std::nullopt;
    };
    s.mig = first_flag(two<unsigned>("nvmlDeviceGetMigMode", gpu));
    s.ecc = first_flag(two<int>("nvmlDeviceGetEccMode", gpu));
    s.persistence = flag(get<int>("nvmlDeviceGetPersistenceMode", gpu));
    s.compute_mode = get<int>("nvmlDeviceGetComputeMode", gpu);
    constexpr int corrected = 0, uncorrected = 1, volatile_counts = 0;
    s.corrected_errors =
        get<unsigned long long>("nvmlDeviceGetTotalEccErrors", gpu, corrected, volatile_counts);
    s.uncorrected_errors =
        get<unsigned long long>("nvmlDeviceGetTotalEccErrors", gpu, uncorrected, volatile_counts);
    if (auto* const rows = library_.function<int(nvml_device, unsigned*, unsigned*, unsigned*, unsigned*)>(
            "nvmlDeviceGetRemappedRows")) {
      gpu_state::rows r;
      unsigned pending = 0, failed = 0;
      if (rows(gpu, &r.corrected, &r.uncorrected, &pending, &failed) == 0) {
        r.pending = pending != 0;
        r.failed = failed != 0;
        s.remapped = r;
      }
    }
    s.users = users_of(gpu);
    return s;
  }

 private:
  [[nodiscard]] std::optional<std::vector<gpu_state::user>> users_of(nvml_device gpu) const {
    auto* const ask = library_.function<int(nvml_device, unsigned*, nvml_process*)>(
        "nvmlDeviceGetComputeRunningProcesses_v3");
    if (ask == nullptr) return std::nullopt;
    std::vector<nvml_process> found(1024);
    auto count = static_cast<unsigned>(found.size());
    if (ask(gpu, &count, found.data()) != 0) return std::nullopt;
    std::vector<gpu_state::user> users;
    for (std::size_t i = 0; i < std::min<std::size_t>(count, found.size()); ++i)
      users.push_back({found[i].pid, found[i].bytes == not_available
                                         ? std::nullopt
                                         : std::optional<std::uint64_t>(found[i].bytes)});
    return users;
  }
  const loaded_library& library_;
};

std::string first_word_of(const std::filesystem::path& file) {
  std::string word;
  std::ifstream(file) >> word;
  return word;
}

}  // namespace

std::vector<std::string> gpus_on_pci_bus(const std::filesystem::path& root) {
  namespace fs = std::filesystem;
  std::vector<std::string> found;
  std::error_code failed;
  for (fs::directory_iterator at(root / "sys/bus/pci/devices", failed), end; !failed && at != end;
       at.increment(failed)) {
    const fs::path& device = at->path();
    const std::string kind = first_word_of(device / "class");
    std::error_code ignored;
    if (first_word_of(device / "vendor") == "0x10de" &&
        (kind.starts_with("0x0300") || kind.starts_with("0x0302")) &&
        !fs::exists(device / "physfn", ignored) &&
        fs::read_symlink(device / "driver", ignored).filename() != "vfio-pci")
      found.push_back(device.filename());
  }
  std::sort(found.begin(), found.end());
  return found;
}

driver_answers ask_driver() {
  driver_answers said;
  const loaded_library library("libcuda.so.1");
  said.why_absent = library.why_absent();
  if (!said.why_absent.empty()) return said;
  said.library = library.file();
  auto* const version = library.function<int(int*)>("cuDriverGetVersion");
  auto* const init = library.function<int(unsigned)>("cuInit");
  auto* const count = library.function<int(int*)>("cuDeviceGetCount");
  if (version == nullptr || init == nullptr || count == nullptr) {
    said.why_absent = said.library + " lacks functions that every driver has";
    return said;
  }
  if (version(&said.version) != 0) said.version = 0;
  said.initialised = init(0);
  int devices = 0;
  if (said.initialised != 0 || count(&devices) != 0) return said;
  auto* const get = library.function<int(int*, int)>("cuDeviceGet");
  auto* const name = library.function<int(char*, int, int)>("cuDeviceGetName");
  auto* const attribute = library.function<int(int*, int, int)>("cuDeviceGetAttribute");
  auto* const bus_id = library.function<int(char*, int, int)>("cuDeviceGetPCIBusId");
  for (int i = 0; i < std::min<int>(devices, most_devices); ++i) {
    driver_answers::device d;
    int device = 0, major = 0, minor = 0;
    std::array<char, 128> text{};
    if (get != nullptr && get(&device, i) == 0) {
      if (name != nullptr && name(text.data(), static_cast<int>(text.size() - 1), device) == 0)
        d.name = text.data();
      if (attribute != nullptr && attribute(&major, attribute_major, device) == 0 &&
          attribute(&minor, attribute_minor, device) == 0)
        d.capability = static_cast<unsigned>(major * 10 + minor);
      text = {};
      if (bus_id != nullptr && bus_id(text.data(), static_cast<int>(text.size() - 1), device) == 0)
        d.bus_id = in_lower_case(text.data());
    }
    said.devices.push_back(std::move(d));
  }
  return said;
}

std::string name_of_code(int code) {
  static constexpr std::array<std::pair<int, const char*>, 9> names{
      {{3, "cudaErrorInitializationError"},
       {34, "cudaErrorStubLibrary"},
       {35, "cudaErrorInsufficientDriver"},
       {46, "cudaErrorDevicesUnavailable"},
       {100, "cudaErrorNoDevice"},
       {802, "cudaErrorSystemNotReady"},
       {803, "cudaErrorSystemDriverMismatch"},
       {804, "cudaErrorCompatNotSupportedOnDevice"},
       {999, "cudaErrorUnknown"}}};
  const auto* const known =
      std::find_if(names.begin(), names.end(), [&](const auto& n) { return n.first == code; });
  return known == names.end() ? fmt::format("code {}", code) : fmt::format("{} ({})", known->second, code);
}

management_answers ask_management() {
  management_answers said;
  const loaded_library library("libnvidia-ml.so.1");
  said.why_absent = library.why_absent();
  if (!said.why_absent.empty()) return said;
  auto* const init = library.function<int()>("nvmlInit_v2");
  const int started = init != nullptr ? init() : -1;
  if (started != 0) {
    said.why_absent = fmt::format("nvmlInit_v2 of {} returned {}", library.file(), started);
    return said;
  }
  std::array<char, 96> text{};
  if (auto* const version = library.function<int(char*, unsigned)>("nvmlSystemGetDriverVersion");
      version != nullptr && version(text.data(), text.size()) == 0)
    said.driver = text.data();
  const management nvml(library);
  const unsigned count = nvml.get<unsigned>("nvmlDeviceGetCount_v2").value_or(0);
  for (unsigned i = 0; i < std::min<unsigned>(count, most_devices); ++i)
    if (const auto gpu = nvml.get<nvml_device>("nvmlDeviceGetHandleByIndex_v2", i))
      said.gpus.push_back(nvml.state_of(*gpu));
  return said;
}

}  // namespace cufault
