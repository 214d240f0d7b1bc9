// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What `cufault capture` reads of a process: the first call of cuBLAS or cuBLASLt that fails, as call.json in the folder CUFAULT_CAPTURE;
// reports/answers/capture.py makes a program of it. Types and names of all parameters are known (parameters.txt). Handles are asked by each
// getter that has a setter, descriptors for each attribute, and the driver where pointers lie: that before the call, which may damage the
// context, and all else after it. CUFAULT_CAPTURE_CALL: only functions of this name or glob. CUFAULT_CAPTURE_DATA: operands, too.
// CUFAULT_CAPTURE_NUMBERS: a product that is wrong counts as failed (numbers.hpp); in the folder "numbers" each call adds a byte to a file,
// whose name is "checked", or why it was not.
#include "harness/injector/counts.hpp"
#include "harness/injector/numbers.hpp"
#include "harness/injector/slots.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <dlfcn.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>
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

template <class... A>
int driver(const char* function, A... arguments) {
  constexpr int not_found = 500;
  auto* at = reinterpret_cast<int (*)(A...)>(driver_function_at(function));
  return at != nullptr ? at(arguments...) : not_found;
}

// ---- before the call ----

constexpr std::size_t most_parameters = 32;
constinit thread_local std::array<memory_at, most_parameters> memory_before
    __attribute__((tls_model("initial-exec"))){};
constinit thread_local int inside __attribute__((tls_model("initial-exec"))) = 0;  // of such calls
constinit thread_local const checked_product* expected __attribute__((tls_model("initial-exec"))) = nullptr;
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

using attributes = std::map<int, std::vector<std::uint8_t>>;  // by number
std::string attribute_name(const descriptor_kind& kind, int attribute) {
  if (const parameters* names = parameters_of(kind.prefix))
    for (const parameter& each : *names)
      if (each.name == std::to_string(attribute)) return std::string(each.type);
  return "";
}
/// 0 without it.
word number_in(const attributes& all, int attribute) {
  const auto found = all.find(attribute);
  word value = 0;
  if (found != all.end()) memcpy(&value, found->second.data(), std::min(sizeof value, found->second.size()));
  return value;
}

class captured_call {
 public:
  captured_call(const slot& s, const call_frame& frame, const parameters& of, int result,
                const wrong_number* wrong = nullptr)
      : slot_(s), frame_(frame), of_(of), result_(result), wrong_(wrong) {
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
    for (char** each = environ; *each != nullptr; ++each)
      if (const std::string_view one = *each;
          one.starts_with("CUBLAS") || one.starts_with("NVIDIA_TF32_OVERRIDE"))
        all["environment"].push_back(one);
    if (driver("cuCtxGetDevice", &device) == 0) {
      all["device"] = device;
      if (driver("cuDeviceGetName", name.data(), 255, device) == 0) all["gpu"] = name.data();
      for (const int compute_capability : {75, 76})
        if (driver("cuDeviceGetAttribute", &number, compute_capability, device) == 0)
          all["compute_capability"].push_back(number);
    }
    if (wrong_ != nullptr)
      all["number"] = {{"row", wrong_->row},
                       {"column", wrong_->column},
                       {"matrix", wrong_->matrix},
                       {"in_d", wrong_->in_d},
                       {"in_c", wrong_->in_c},
                       {"type", wrong_->type},
                       {"is", fmt::format("{:.17g}", wrong_->is)},
                       {"right", wrong_->right},
                       {"allowed", wrong_->allowed},
                       {"before", wrong_->before}};
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

  /// The product that the call is to be. Throws std::runtime_error, which says why none is known.
  [[nodiscard]] product computes() const {
    product p = has("computeDesc") ? of_cublas_lt() : of_cublas();
    int recording = 0;
    if (driver("cuStreamIsCapturing", p.stream, &recording) != 0 || recording != 0)
      throw std::runtime_error("a stream that records a graph");
    for (const char* emulated : {"CUBLAS_EMULATE_SINGLE_PRECISION", "CUBLAS_EMULATE_DOUBLE_PRECISION"})
      if (const char* value = environment(emulated); value != nullptr && *value != '0')
        throw std::runtime_error(emulated);
    const char* tf32 = environment("NVIDIA_TF32_OVERRIDE");
    p.rounds_to_tf32 |= tf32 != nullptr && *tf32 == '1';
    return p;
  }

 private:
  template <class... A>
  int call(const std::string& function, A... arguments) const {
    void* at = library_ != nullptr ? dlsym(library_, function.c_str()) : nullptr;
    return at != nullptr ? reinterpret_cast<int (*)(A...)>(at)(arguments...) : -1;
  }

  [[nodiscard]] std::size_t place(std::string_view name) const {
    return static_cast<std::size_t>(std::ranges::find(of_, name, &parameter::name) - of_.begin());
  }
  [[nodiscard]] bool has(std::string_view name) const { return place(name) != of_.size(); }
  [[nodiscard]] std::int64_t value(std::string_view name, std::int64_t without = 0) const {
    if (!has(name)) return without;
    const word all = argument(frame_, place(name));
    for (const std::string_view narrow : {"int", "cublasOperation_t", "cudaDataType", "cublasComputeType_t"})
      if (of_[place(name)].type == narrow) return static_cast<std::int32_t>(all);
    return static_cast<std::int64_t>(all);
  }
  [[nodiscard]] word address(std::string_view name) const { return static_cast<word>(value(name)); }

  /// Of the numbers that it points to: a cudaDataType, or -1.
  [[nodiscard]] int type_of(const std::string& name) const {
    std::string_view type = of_[place(name)].type;
    if (type.starts_with("const ")) type.remove_prefix(strlen("const "));
    constexpr std::pair<std::string_view, int> types[]{{"float*", 0},           {"double*", 1},
                                                       {"__half*", 2},          {"cuComplex*", 4},
                                                       {"cuDoubleComplex*", 5}, {"__nv_bfloat16*", 14}};
    for (const auto& [typed, number] : types)
      if (type == typed) return number;
    return static_cast<int>(value(name + "type", -1));
  }
  [[nodiscard]] matrix_operand operand(const std::string& name, std::string_view pitch,
                                       std::int64_t op) const {
    if (op < 0 || op > 2) throw std::runtime_error("an operation that is not known");
    return {address(name), type_of(name), value(pitch), value("stride" + name), op != 0, op == 2};
  }

  [[nodiscard]] product of_cublas() const {
    const bool by_vector = has("trans") && has("lda") && has("x") && has("incy") && !has("kl");
    if (!by_vector && !(has("transa") && has("k") && has("A") && has("B") && has("beta")))
      throw std::runtime_error("no product that is checked here");
    product p;
    p.m = value("m"), p.n = value("n"), p.k = value("k"), p.batch = value("batchCount", 1);
    p.alpha = address("alpha"), p.beta = address("beta");
    if (by_vector) {
      p.a = operand("A", "lda", value("trans"));
      p.k = p.a.by_row ? p.m : p.n;
      p.m = p.a.by_row ? p.n : p.m;
      p.n = 1;
      p.b = operand("x", "incx", 0);
      p.c = operand("y", "incy", 0);
      p.b.by_row = p.c.by_row = true;
      if (p.b.pitch <= 0 || p.c.pitch <= 0) throw std::runtime_error("a vector that is read backwards");
    } else {
      p.a = operand("A", "lda", value("transa"));
      p.b = operand("B", "ldb", value("transb"));
      p.c = operand("C", "ldc", 0);
    }
    p.d = p.c;
    constexpr int half = 2, complex = 4, of_half = 64, of_float = 68, of_double = 70, of_int = 72;
    p.scale_type = type_of("alpha");
    p.compute_type = static_cast<int>(value("computeType", p.scale_type == half          ? of_half
                                                           : p.scale_type % complex == 1 ? of_double
                                                                                         : of_float));
    if (p.scale_type < 0) {  // by the computation
      const int real = p.compute_type / 2 * 2;
      p.scale_type = real == of_half ? half : real == of_double ? 1 : real == of_int ? 10 : 0;
      if (p.c.type >= complex && p.c.type < 2 * complex && real != of_int) p.scale_type += complex;
    }
    int pointers = 0, math = 0;
    const word handle = address("handle");
    char byte = 0;
    if (read_memory(handle, &byte, 1) == 0 || call("cublasGetStream_v2", handle, &p.stream) != 0 ||
        call("cublasGetPointerMode_v2", handle, &pointers) != 0 ||
        call("cublasGetMathMode", handle, &math) != 0)
      throw std::runtime_error("a handle that does not answer");
    constexpr int kinds = 15, pedantic = 2, tf32 = 3;  // behind them is what sums are rounded to
    if ((math & kinds) > tf32) throw std::runtime_error(fmt::format("cublasMath {}", math));
    p.scalars_on_device = pointers != 0;
    p.rounds_to_tf32 = (math & kinds) != 0 && (math & kinds) != pedantic;
    return p;
  }

  [[nodiscard]] product of_cublas_lt() const {
    const auto read = [&](std::string_view name) {
      std::array<char, 64> bytes{};
      const auto* kind = std::ranges::find(descriptor_kinds, of_[place(name)].type, &descriptor_kind::type);
      if (read_memory(address(name), bytes.data(), bytes.size()) != bytes.size())
        throw std::runtime_error("a descriptor that cannot be read");
      return attributes_of(*kind, address(name));
    };
    const attributes all = read("computeDesc");
    constexpr std::pair<int, word> defaults[]{{5, 0},  {6, 2},  {7, 1},  {17, 0}, {18, 0},
                                              {19, 0}, {20, 0}, {36, 0}, {38, 0}};
    for (const auto& [attribute, usual] :
         defaults)  // of C's operation, triangle, epilogue, scales, emulation
      if (const word is = number_in(all, attribute); is != 0 && is != usual)
        throw std::runtime_error(
            fmt::format("{} of cublasLtMatmulDesc", attribute_name(descriptor_kinds[0], attribute)));
    product p;
    attributes layout;
    const auto operand = [&](const std::string& name, word op) {
      layout = read(name + "desc");
      const word order = number_in(layout, 1);
      if (op > 2 || order > 1 || number_in(layout, 7) != 0 || number_in(layout, 8) != 0)
        throw std::runtime_error("an operation or order that is not known");
      return matrix_operand{address(name),
                            static_cast<int>(number_in(layout, 0)),
                            static_cast<std::int64_t>(number_in(layout, 4)),
                            static_cast<std::int64_t>(number_in(layout, 6)),
                            (order != 0) != (op != 0),
                            op == 2};
    };
    constexpr int rows = 2, columns = 3, batch = 5;
    p.a = operand("A", number_in(all, 3));
    p.k = static_cast<std::int64_t>(number_in(layout, number_in(all, 3) != 0 ? rows : columns));
    p.b = operand("B", number_in(all, 4));
    p.c = operand("C", 0);
    p.d = operand("D", 0);
    p.m = static_cast<std::int64_t>(number_in(layout, rows));
    p.n = static_cast<std::int64_t>(number_in(layout, columns));
    p.batch = std::max<std::int64_t>(static_cast<std::int64_t>(number_in(layout, batch)), 1);
    p.alpha = address("alpha"), p.beta = address("beta"), p.stream = address("stream");
    p.compute_type = static_cast<int>(number_in(all, 0)), p.scale_type = static_cast<int>(number_in(all, 1));
    const word pointers = number_in(all, 2);
    if (pointers > 1) throw std::runtime_error("a vector of alpha");
    p.scalars_on_device = pointers != 0;
    return p;
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
    const std::array<own_workspace, 64> kept = [] {
      const locked w;
      return workspaces;
    }();
    for (const own_workspace& each : kept)
      if (each.handle == handle && each.address != 0)
        all["workspace"] = {
            {"value", each.address},
            {"bytes", each.bytes},
            {"memory", memory({"void*", "handle_workspace"}, memory_of(each.address), each.address)}};
    return all;
  }

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
    attributes all = attributes_of(kind, of), fresh;
    std::array<word, 4> given{};
    for (std::size_t i = 0; i < given.size(); ++i)
      if (kind.creation[i] >= 0) given[i] = number_in(all, kind.creation[i]);
    word made = 0;
    if (call(fmt::format("{}Create", kind.of), &made, given[0], given[1], given[2], given[3]) == 0) {
      fresh = attributes_of(kind, made);
      call(fmt::format("{}Destroy", kind.of), made);
    }
    json said{{"of", kind.of}, {"create", json::array()}, {"attributes", json::array()}};
    for (const int i : kind.creation)
      if (i >= 0) said["create"].push_back(i);
    for (const auto& [i, bytes] : all) {
      json one{
          {"number", i}, {"bytes", bytes.size()}, {"value", number_in(all, i)}, {"fresh", fresh[i] == bytes}};
      const std::string name = attribute_name(kind, i);
      if (!name.empty()) one["name"] = name;
      if (name.ends_with("POINTER"))
        one["memory"] = memory({"void*", name}, memory_of(one["value"]), one["value"]);
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
    } else if ((wrong_ != nullptr || environment("CUFAULT_CAPTURE_DATA") != nullptr) && at.left != 0 &&
               !p.name.ends_with("workspace")) {
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
  const wrong_number* wrong_;
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

/// By CUFAULT_CAPTURE_CALL.
bool is_meant(const slot& s) {
  const char* only = environment("CUFAULT_CAPTURE_CALL");
  const auto matches = [&](std::string_view name) {
    return fnmatch(only, std::string(name).c_str(), 0) == 0;
  };
  return only == nullptr || *only == '\0' || matches(s.function.text) || matches(s.function.base());
}

void write(const slot& s, const call_frame& frame, int result, const wrong_number* wrong) {
  const std::string folder = asked_for().capture, file = folder + "/call.json";
  if (!is_meant(s)) return;
  const parameters* of = parameters_of(s.function.text);
  if (of == nullptr || of->size() > most_parameters)
    return say(fmt::format("{} failed, and is not captured: its parameters are not known", s.function.text));
  const int claimed = open((folder + "/claimed").c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  taken = true;
  if (claimed < 0) return;  // another process was first
  close(claimed);
  json all = captured_call(s, frame, *of, result, wrong).whole();
  all["calls_before"] = last_calls();
  std::ofstream(file + ".new") << all.dump(1, ' ', true, json::error_handler_t::replace) << '\n';
  rename((file + ".new").c_str(), file.c_str());  // whole, or not there
}

/// A byte for a call whose numbers came to that.
void count_numbers(std::string what) {
  std::ranges::replace(what, '/', ' ');
  const std::string file = fmt::format("{}/numbers/{}", asked_for().capture, what);
  const int to = open(file.c_str(), O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0600);
  if (to < 0) return;
  [[maybe_unused]] const ssize_t written = ::write(to, ".", 1);
  close(to);
}

/// Runs `check`, and counts why it could not be made.
template <class Check>
void check_numbers(const slot& s, Check&& check) {
  try {
    check();
  } catch (const std::exception& error) {
    count_numbers(fmt::format("{}: {}", s.function.base(), error.what()));
  }
}

/// While an object lives, calls of this thread end no capture of another thread.
class beside_captures {
 public:
  beside_captures() : changed_(driver("cuThreadExchangeStreamCaptureMode", &mode_) == 0) {}
  ~beside_captures() {
    if (changed_) driver("cuThreadExchangeStreamCaptureMode", &mode_);
  }
  beside_captures(const beside_captures&) = delete;
  beside_captures& operator=(const beside_captures&) = delete;

 private:
  int mode_ = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED, and then what it was
  bool changed_;
};

/// Functions of handles that set and tell nothing.
bool computes(std::string_view function, const parameters& of) {
  if (function.starts_with("cublasLt"))
    return function == "cublasLtMatmul" || function == "cublasLtMatrixTransform";
  for (const std::string_view other : {"cublasGet", "cublasSet", "cublasDestroy"})
    if (function.starts_with(other)) return false;
  return !of.empty() && of[0].type == "cublasHandle_t";
}

}  // namespace

void begin_captured(std::uint32_t index, const call_frame& frame) {
  if (inside++ != 0 || taken) return;
  const exempt_from_rules alone_now;
  const slot& s = slots[index];
  const parameters* of = parameters_of(s.function.text);
  if (of == nullptr) return;
  for (std::size_t i = 0; i < std::min(of->size(), most_parameters); ++i)
    if ((*of)[i].points()) memory_before[i] = memory_of(argument(frame, i));
  if (environment("CUFAULT_CAPTURE_NUMBERS") == nullptr || !computes(s.function.text, *of) || !is_meant(s))
    return;
  const beside_captures relaxed;
  check_numbers(s, [&] { expected = new checked_product(captured_call(s, frame, *of, 0).computes()); });
}

void end_captured(std::uint32_t index, const call_frame& frame, int result) {
  if (--inside != 0) return;
  const std::unique_ptr<const checked_product> product(std::exchange(expected, nullptr));
  if (taken) return;
  const exempt_from_rules alone_now;
  const slot& s = slots[index];
  if (result == 0 && !product) return remember_workspace(s, frame);
  const beside_captures relaxed;
  std::optional<wrong_number> wrong;
  if (result == 0)
    check_numbers(s, [&] {
      wrong = product->wrong();
      count_numbers("checked");
    });
  if (result == 0 && !wrong) return;
  try {
    write(s, frame, result, wrong ? &*wrong : nullptr);
  } catch (const std::exception& error) {
    say(fmt::format("{} failed, and could not be captured: {}", s.function.text, error.what()));
  }
}

}  // namespace cufault::injector
