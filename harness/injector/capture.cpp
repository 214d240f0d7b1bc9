// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What `cufault capture` reads of a process: the first call of cuBLAS or cuBLASLt that fails, as call.json in the folder CUFAULT_CAPTURE;
// reports/answers/capture.py makes a program of it. Types and names of all parameters are known (parameters.txt). Handles are asked by each
// getter that has a setter, descriptors for each attribute, and the driver where pointers lie: that before the call, which may damage the
// context, and all else after it. CUFAULT_CAPTURE_CALL: only functions of this name or glob. CUFAULT_CAPTURE_DATA: operands, too.
#include "harness/injector/counts.hpp"
#include "harness/injector/slots.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <dlfcn.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <fstream>
#include <unordered_map>

namespace cufault::injector {
namespace {

using json = nlohmann::ordered_json;
using word = std::uint64_t;

struct known_parameters {
  std::string_view name, said;
};
constexpr known_parameters listed[]{
#include "parameters.inc"  // generated from parameters.txt by CMakeLists.txt
};
/// "const float* A"; of an attribute "TRANSA 3".
struct parameter {
  std::string_view type, name;
  [[nodiscard]] bool points() const { return type.ends_with('*'); }
};
using parameters = std::vector<parameter>;

const std::unordered_map<std::string_view, parameters>& known() {
  static const auto* const all = [] {
    auto* made = new std::unordered_map<std::string_view, parameters>;
    for (const auto& [name, said] : listed)
      for (std::string_view rest = said; !rest.empty();) {
        const std::string_view one = rest.substr(0, rest.find(", "));
        rest.remove_prefix(std::min(rest.size(), one.size() + 2));
        (*made)[name].push_back({one.substr(0, one.rfind(' ')), one.substr(one.rfind(' ') + 1)});
      }
    return made;
  }();
  return *all;
}
const parameters* parameters_of(std::string_view function) {
  const auto found = known().find(function);
  return found != known().end() ? &found->second : nullptr;
}

/// No parameter is of a type that is passed in a vector register.
word argument(const call_frame& frame, std::size_t i) {
#if defined(__x86_64__)
  constexpr std::size_t in_registers = 6;
#else
  constexpr std::size_t in_registers = 8;
#endif
  return i < in_registers ? frame.integers[i] : static_cast<const word*>(frame.stack)[i - in_registers];
}

/// The bytes that could be read there: none where no memory is.
std::size_t read_memory(word address, void* to, std::size_t bytes) {
  const iovec here{to, bytes}, there{reinterpret_cast<void*>(address), bytes};  // NOLINT: any number
  return static_cast<std::size_t>(std::max<ssize_t>(process_vm_readv(getpid(), &here, 1, &there, 1, 0), 0));
}

template <class... A>
int driver(const char* function, A... arguments) {
  constexpr int not_found = 500;
  auto* at = reinterpret_cast<int (*)(A...)>(driver_function_at(function));
  return at != nullptr ? at(arguments...) : not_found;
}

struct memory_at {
  char kind;  ///< '0' null, 'd'evice, 'm'anaged, 'p'inned, 'h'ost, '-' no memory, '?' the driver does not say
  word left;  ///< bytes up to the end of the allocation; 0: not known
};
memory_at memory_of(word address) {
  if (address == 0) return {'0', 0};
  constexpr int memory_type = 2, is_managed = 8, range_start = 11, range_size = 12, host = 1;
  std::array<int, 4> attributes{memory_type, is_managed, range_start, range_size};
  word type = 0, managed = 0, start = 0, size = 0;
  std::array<void*, 4> data{&type, &managed, &start, &size};
  static auto* const ask =
      reinterpret_cast<int (*)(unsigned, int*, void**, word)>(driver_function_at("cuPointerGetAttributes"));
  const int code = ask != nullptr ? ask(4, attributes.data(), data.data(), address) : -1;
  char byte = 0;
  if (code == 0 && type != 0)
    return {managed != 0   ? 'm'
            : type == host ? 'p'
                           : 'd',
            address - start < size ? start + size - address : 0};
  return {read_memory(address, &byte, 1) != 0 ? 'h' : code == 0 ? '-' : '?', 0};
}

// ---- before the call ----

constexpr std::size_t most_parameters = 32;
constinit thread_local std::array<memory_at, most_parameters> memory_before
    __attribute__((tls_model("initial-exec"))){};
constinit thread_local int inside __attribute__((tls_model("initial-exec"))) = 0;  // of such calls
constinit std::atomic<bool> taken{false};

/// cublasSetWorkspace has no getter.
struct own_workspace {
  word handle, address, bytes;
};
constinit std::array<own_workspace, 64> workspaces{};

void remember_workspace(const slot& s, const call_frame& frame) {
  const bool set = s.function.base() == "cublasSetWorkspace";
  if (!set && s.function.base() != "cublasSetStream" && s.function.base() != "cublasDestroy") return;
  const locked w;
  const auto of = [](word handle) {
    return std::find_if(workspaces.begin(), workspaces.end(),
                        [=](const own_workspace& each) { return each.handle == handle; });
  };
  auto* at = of(argument(frame, 0));
  if (at == workspaces.end() && set) at = of(0);
  if (at == workspaces.end()) return;
  *at = {};  // a new stream takes it away
  if (set) *at = {argument(frame, 0), argument(frame, 1), argument(frame, 2)};
}

// ---- the call that failed ----

struct descriptor_kind {
  std::string_view type, of, prefix;
  std::array<int, 4> creation;  ///< attributes that its Create takes; -1: no more
};
constexpr descriptor_kind descriptor_kinds[]{
    {"cublasLtMatmulDesc_t", "cublasLtMatmulDesc", "CUBLASLT_MATMUL_DESC_", {0, 1, -1, -1}},
    {"cublasLtMatrixLayout_t", "cublasLtMatrixLayout", "CUBLASLT_MATRIX_LAYOUT_", {0, 2, 3, 4}},
    {"cublasLtMatmulPreference_t", "cublasLtMatmulPreference", "CUBLASLT_MATMUL_PREF_", {-1, -1, -1, -1}},
    {"cublasLtMatrixTransformDesc_t",
     "cublasLtMatrixTransformDesc",
     "CUBLASLT_MATRIX_TRANSFORM_DESC_",
     {0, -1, -1, -1}},
    {"cublasLtEmulationDesc_t", "cublasLtEmulationDesc", "CUBLASLT_EMULATION_DESC_", {-1, -1, -1, -1}},
    {"const cublasLtMatmulAlgo_t*", "cublasLtMatmulAlgoConfig", "CUBLASLT_ALGO_CONFIG_", {-1, -1, -1, -1}}};

class captured_call {
 public:
  captured_call(const slot& s, const call_frame& frame, const parameters& of, int result)
      : slot_(s), frame_(frame), of_(of), result_(result) {
    if (dladdr(s.real, &file_) != 0) library_ = dlopen(file_.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  }
  ~captured_call() {
    if (library_ != nullptr) dlclose(library_);
  }
  captured_call(const captured_call&) = delete;
  captured_call& operator=(const captured_call&) = delete;

  json whole() {
    json all{{"function", slot_.function.text},
             {"library", slot_.of->name},
             {"status", result_},
             {"status_name", code_name(slot_.of, result_)},
             {"program", program_path()},
             {"pid", getpid()},
             {"caller", library_at(frame_.caller)},
             {"file", library_ != nullptr ? file_.dli_fname : ""}};
    int number = 0, device = 0;
    std::array<char, 256> name{};
    for (const int part : {0, 1, 2})
      if (call(fmt::format("{}GetProperty", slot_.of->name), part, &number) == 0)
        all["version"].push_back(number);
    if (driver("cuDriverGetVersion", &number) == 0) all["driver"] = number;
    if (driver("cuCtxGetDevice", &device) == 0) {
      if (driver("cuDeviceGetName", name.data(), 255, device) == 0) all["gpu"] = name.data();
      for (const int compute_capability : {75, 76})
        if (driver("cuDeviceGetAttribute", &number, compute_capability, device) == 0)
          all["compute_capability"].push_back(number);
    }
    for (std::size_t i = 0; i < of_.size(); ++i) {
      if (of_[i].type == "cublasHandle_t") all["handle"] = handle(argument(frame_, i));
      if (of_[i].type == "cudaStream_t") take_stream(argument(frame_, i));
    }
    all["stream"] = stream_;
    for (std::size_t i = 0; i < of_.size(); ++i) {
      const word value = argument(frame_, i);
      json one{{"name", of_[i].name}, {"type", of_[i].type}, {"value", value}};
      if (of_[i].points()) one["memory"] = memory(of_[i], memory_before[i], value);
      const auto* kind = std::find_if(std::begin(descriptor_kinds), std::end(descriptor_kinds),
                                      [&](const descriptor_kind& k) { return k.type == of_[i].type; });
      std::array<char, 64> bytes{};
      if (kind != std::end(descriptor_kinds) &&
          read_memory(value, bytes.data(), bytes.size()) == bytes.size())
        one["descriptor"] = descriptor(*kind, value);
      all["parameters"].push_back(one);
    }
    return all;
  }

 private:
  template <class... A>
  int call(const std::string& function, A... arguments) const {
    void* at = library_ != nullptr ? dlsym(library_, function.c_str()) : nullptr;
    return at != nullptr ? reinterpret_cast<int (*)(A...)>(at)(arguments...) : -1;
  }

  void take_stream(word stream) {
    constexpr word last_default = 2;  // cudaStreamPerThread
    unsigned flags = 0;
    int priority = 0;
    stream_ = {{"value", stream}};
    if (driver("cuStreamIsCapturing", stream, &recording_) == 0) stream_["capturing"] = recording_;
    if (stream > last_default && driver("cuStreamGetFlags", stream, &flags) == 0) stream_["flags"] = flags;
    if (stream > last_default && driver("cuStreamGetPriority", stream, &priority) == 0)
      stream_["priority"] = priority;
  }

  json handle(word handle) {
    constexpr int not_initialized = 1;
    char byte = 0;
    json all = json::object();
    if (handle == 0 || result_ == not_initialized || read_memory(handle, &byte, 1) == 0) return all;
    for (const auto& [getter, of] : known()) {
      if (!getter.starts_with("cublasGet") || of.size() != 2 || of[0].type != "cublasHandle_t") continue;
      const std::string setter = fmt::format("cublasSet{}", getter.substr(strlen("cublasGet")));
      const parameters* set = parameters_of(setter);
      word value = 0;
      if (set == nullptr || set->size() != 2 || (*set)[1].points() ||
          call(std::string(getter), handle, &value) != 0)
        continue;
      if ((*set)[1].type == "cudaStream_t")
        take_stream(value);
      else
        all["set"][setter] = {{"type", (*set)[1].type}, {"value", static_cast<std::int32_t>(value)}};
    }
    for (const own_workspace& each : workspaces)
      if (each.handle == handle && each.address != 0)
        all["workspace"] = {
            {"value", each.address},
            {"bytes", each.bytes},
            {"memory", memory({"void*", "handle_workspace"}, memory_of(each.address), each.address)}};
    return all;
  }

  using attributes = std::map<int, std::vector<std::uint8_t>>;  // by number
  attributes attributes_of(const descriptor_kind& kind, word of) const {
    constexpr int most = 64;
    attributes all;
    for (int i = 0; i < most; ++i) {
      std::size_t bytes = 0;
      const std::string getter = fmt::format("{}GetAttribute", kind.of);
      if (call(getter, of, i, nullptr, std::size_t{0}, &bytes) != 0 || bytes == 0 || bytes > most) continue;
      std::vector<std::uint8_t> value(bytes);
      if (call(getter, of, i, value.data(), value.size(), &bytes) == 0) all[i] = value;
    }
    return all;
  }

  /// Says of each attribute whether a new descriptor has the same.
  json descriptor(const descriptor_kind& kind, word of) {
    const auto number = [](const std::vector<std::uint8_t>& bytes) {
      word value = 0;
      memcpy(&value, bytes.data(), std::min(sizeof value, bytes.size()));
      return value;
    };
    attributes all = attributes_of(kind, of), fresh;
    std::array<word, 4> given{};
    for (std::size_t i = 0; i < given.size(); ++i)
      if (kind.creation[i] >= 0) given[i] = number(all[kind.creation[i]]);
    word made = 0;
    if (call(fmt::format("{}Create", kind.of), &made, given[0], given[1], given[2], given[3]) == 0) {
      fresh = attributes_of(kind, made);
      call(fmt::format("{}Destroy", kind.of), made);
    }
    json said{{"of", kind.of}, {"create", json::array()}, {"attributes", json::array()}};
    for (const int i : kind.creation)
      if (i >= 0) said["create"].push_back(i);
    const parameters* names = parameters_of(kind.prefix);
    for (const auto& [i, bytes] : all) {
      json one{
          {"number", i}, {"bytes", bytes.size()}, {"value", number(bytes)}, {"fresh", fresh[i] == bytes}};
      for (const parameter& each : names != nullptr ? *names : parameters{})
        if (each.name == std::to_string(i)) one["name"] = each.type;
      const std::string name = one.value("name", "");
      if (name.ends_with("POINTER"))
        one["memory"] = memory({"void*", name}, memory_of(number(bytes)), number(bytes));
      said["attributes"].push_back(one);
    }
    return said;
  }

  /// Copies to the host; of device memory only where that disturbs no capture.
  std::vector<std::uint8_t> bytes_at(const memory_at& at, word address, std::size_t most) const {
    std::vector<std::uint8_t> all(at.left != 0 ? std::min<word>(most, at.left) : most);
    if (at.kind != 'd')
      all.resize(read_memory(address, all.data(), all.size()));
    else if (recording_ != 0 || driver("cuMemcpyDtoH_v2", all.data(), address, all.size()) != 0)
      all.clear();
    return all;
  }

  json memory(const parameter& p, const memory_at& at, word address) const {
    json said{{"kind", std::string(1, at.kind)}, {"left", at.left}};
    if (at.kind == '0' || at.kind == '-' || at.kind == '?') return said;
    constexpr std::size_t small = 512, scalar = 16, most_elements = 1024, most_data = 256 << 20;
    for (const std::uint8_t each : bytes_at(at, address, at.kind == 'd' ? scalar : small))
      said["begins"] = said.value("begins", "") + fmt::format("{:02x}", each);
    if (p.type.find('*') + 1 < p.type.size()) {  // pointers to pointers
      std::size_t count = 1;
      for (std::size_t i = 0; i < of_.size(); ++i)
        if (of_[i].name == "batchCount")
          count = std::clamp<std::size_t>(argument(frame_, i) & INT32_MAX, 1, most_elements);
      const auto read = bytes_at(at, address, count * sizeof(word));
      for (std::size_t i = 0; i < read.size() / sizeof(word); ++i) {
        word element = 0;
        memcpy(&element, &read[i * sizeof element], sizeof element);
        const memory_at its = memory_of(element);
        said["elements"].push_back(
            {{"kind", std::string(1, its.kind)}, {"left", its.left}, {"value", element}});
      }
    } else if (environment("CUFAULT_CAPTURE_DATA") != nullptr && at.left != 0) {
      const auto data = bytes_at(at, address, most_data);
      if (!data.empty()) said["data"] = fmt::format("{}.bin", p.name);
      std::ofstream(fmt::format("{}/{}.bin", asked_for().capture, p.name), std::ios::binary)
          .write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
    }
    return said;
  }

  const slot& slot_;
  const call_frame& frame_;
  const parameters& of_;
  int result_, recording_ = 0;  // by the stream
  Dl_info file_{};
  void* library_ = nullptr;
  json stream_;
};

/// Of this thread, from the oldest on, and each once in a row.
json last_calls() {
  json all = json::array();
  if (cufault_counts == nullptr) return all;
  const thread_calls& now = reinterpret_cast<const counts_block*>(cufault_counts)->now;
  for (std::uint32_t n = now.begun - std::min(32U, now.begun); n < now.begun; ++n)
    if (const auto name = slots[now.last[n % now.last.size()]].function.text;
        all.empty() || all.back() != name)
      all.push_back(name);
  return all;
}

void write(const slot& s, const call_frame& frame, int result) {
  const std::string folder = asked_for().capture, file = folder + "/call.json";
  const char* only = environment("CUFAULT_CAPTURE_CALL");
  const parameters* of = parameters_of(s.function.text);
  if (of == nullptr || of->size() > most_parameters)
    return say(fmt::format("{} failed, and is not captured: its parameters are not known", s.function.text));
  const auto is_meant = [&](std::string_view name) {
    return fnmatch(only, std::string(name).c_str(), 0) == 0;
  };
  if (only != nullptr && *only != '\0' && !is_meant(s.function.text) && !is_meant(s.function.base())) return;
  const int claimed = open((folder + "/claimed").c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  taken = true;
  if (claimed < 0) return;  // another process was first
  close(claimed);
  json all = captured_call(s, frame, *of, result).whole();
  all["calls_before"] = last_calls();
  std::ofstream(file + ".new") << all.dump(1, ' ', true, json::error_handler_t::replace) << '\n';
  rename((file + ".new").c_str(), file.c_str());  // whole, or not there
}

}  // namespace

void begin_captured(std::uint32_t index, const call_frame& frame) {
  if (inside++ != 0 || taken) return;
  const exempt_from_rules alone_now;
  const parameters* of = parameters_of(slots[index].function.text);
  for (std::size_t i = 0; of != nullptr && i < std::min(of->size(), most_parameters); ++i)
    if ((*of)[i].points()) memory_before[i] = memory_of(argument(frame, i));
}

void end_captured(std::uint32_t index, const call_frame& frame, int result) {
  if (--inside != 0 || taken) return;
  const exempt_from_rules alone_now;
  if (result == 0) return remember_workspace(slots[index], frame);
  try {
    write(slots[index], frame, result);
  } catch (const std::exception& error) {
    say(fmt::format("{} failed, and could not be captured: {}", slots[index].function.text, error.what()));
  }
}

}  // namespace cufault::injector
