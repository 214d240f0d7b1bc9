// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// A libcublas.so.13 and a libcublasLt.so.13. What they were called with they write as a line to the file FAKE_SAYS, in words that mean the
// same in another process, and the status that they return follows from the words alone. FAKE_STATUS: they return that. They compute nothing,
// but products with FAKE_ERROR, which is added to their last element, unless it is empty.
// NOLINTBEGIN(performance-no-int-to-ptr): arguments come as integers
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <sys/uio.h>
#include <unistd.h>

#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#define FAKE extern "C" __attribute__((visibility("default")))
using word = std::uint64_t;

extern "C" int cuPointerGetAttributes(unsigned count, const int* attributes, void** data, word address);
extern "C" int cuStreamIsCapturing(const void* stream, int* status);
extern "C" int cuStreamGetFlags(const void* stream, unsigned* flags);

namespace {

/// A handle, or a descriptor of cuBLASLt.
struct object {
  char padding[64];
  std::map<int, std::vector<std::uint8_t>> attributes;
  std::map<std::string, word> settings;
};

struct known_parameters {
  std::string_view name, said;
};
constexpr known_parameters listed[]{
#include "parameters.inc"
};

bool read_memory(word address, void* to, std::size_t bytes) {
  const iovec here{to, bytes}, there{reinterpret_cast<void*>(address), bytes};
  return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

char kind_of(word address) {
  if (address == 0) return '0';
  int type = 0, managed = 0;
  const int attributes[]{2, 8};
  void* data[]{&type, &managed};
  cuPointerGetAttributes(2, attributes, data, address);
  char byte = 0;
  return type == 0      ? (read_memory(address, &byte, 1) ? 'h' : '-')
         : managed != 0 ? 'm'
         : type == 1    ? 'p'
                        : 'd';
}

/// Kind and offset; "nowhere" without an address.
std::string place(word address) {
  const char kind = kind_of(address);
  if (kind == '-') return "nowhere";
  return std::string(1, kind) + (kind == '0' ? "" : std::to_string(address % 256));
}

std::string in_hex(word address, std::size_t bytes) {
  std::vector<std::uint8_t> all(bytes);
  if (!read_memory(address, all.data(), bytes)) return "";
  std::string text = "=";
  char digits[3];
  for (const std::uint8_t each : all) text += (std::snprintf(digits, sizeof digits, "%02x", each), digits);
  return text;
}

std::string words_of(std::string_view type, std::string_view name, word value) {
  if (type == "cublasHandle_t") {
    std::string text = value == 0 ? "none" : "handle";
    if (value != 0)
      for (const auto& [setting, its] : reinterpret_cast<const object*>(value)->settings)
        text += its == 0 ? ""
                         : " " + setting +
                               (setting.find("Stream") != setting.npos ? words_of("cudaStream_t", "", its)
                                : setting.find("Workspace") != setting.npos ? place(its)
                                                                            : std::to_string(its));
    return text;
  }
  if (type == "cudaStream_t") {
    int recording = 0;
    unsigned flags = 0;
    if (value <= 2) return std::to_string(value);
    cuStreamIsCapturing(reinterpret_cast<void*>(value), &recording);
    cuStreamGetFlags(reinterpret_cast<void*>(value), &flags);
    return "stream flags " + std::to_string(flags) + " recording " + std::to_string(recording);
  }
  if (type == "cublasLtHandle_t") return value == 0 ? "none" : "handle";
  if (type.substr(0, 8) == "cublasLt" &&
      (type.find("Desc_t") != type.npos || type.find("Layout_t") != type.npos ||
       type.find("Preference_t") != type.npos)) {
    if (value == 0) return "none";
    std::string text;
    for (const auto& [number, bytes] : reinterpret_cast<const object*>(value)->attributes) {
      word its = 0;
      std::memcpy(&its, bytes.data(), bytes.size());
      const bool pointer = type == "cublasLtMatmulDesc_t" && number == 8;
      text += " " + std::to_string(number) + ":" + (pointer ? place(its) : std::to_string(its));
    }
    return text;
  }
  if (type.back() != '*') {
    const bool wide = type == "int64_t" || type == "long long int" || type == "size_t" || type == "uint64_t";
    return std::to_string(wide ? static_cast<std::int64_t>(value) : static_cast<std::int32_t>(value));
  }
  std::string text = place(value);
  if (text.front() == '0' || text == "nowhere") return text;
  if (type.find("* const*") != type.npos) {
    word first = 0;
    return read_memory(value, &first, sizeof first) ? text + " of " + place(first) : text;
  }
  if (name.substr(0, 5) == "alpha" || name.substr(0, 4) == "beta")
    text += in_hex(value, type.find("double") != type.npos ? 8 : 4);
  if (name == "algo") text += in_hex(value, 64);
  return text;
}

using complex = std::complex<double>;
template <class T>
complex get_as(word at) {
  T value;
  std::memcpy(&value, reinterpret_cast<void*>(at), sizeof value);
  if constexpr (sizeof(T) == 2)
    return static_cast<double>(static_cast<float>(value));
  else
    return complex(value);
}
template <class T>
void put_as(word at, complex value) {
  if constexpr (std::is_same_v<T, std::complex<float>>)
    new (reinterpret_cast<void*>(at)) T(value);
  else if constexpr (sizeof(T) == 2)
    new (reinterpret_cast<void*>(at)) T(static_cast<float>(value.real()));
  else
    new (reinterpret_cast<void*>(at)) T(static_cast<T>(value.real()));
}
/// By number of cudaDataType.
struct kind_of_number {
  int type, bytes;
  complex (*get)(word);
  void (*put)(word, complex);
};
constexpr kind_of_number kinds_of_numbers[]{{0, 4, get_as<float>, put_as<float>},
                                            {1, 8, get_as<double>, put_as<double>},
                                            {2, 2, get_as<__half>, put_as<__half>},
                                            {3, 1, get_as<std::int8_t>, put_as<std::int8_t>},
                                            {4, 8, get_as<std::complex<float>>, put_as<std::complex<float>>},
                                            {10, 4, get_as<int>, put_as<int>},
                                            {14, 2, get_as<__nv_bfloat16>, put_as<__nv_bfloat16>}};
struct operand {
  word at;
  std::int64_t type, rows, columns, ld, stride;
  std::int64_t op;
  [[nodiscard]] const kind_of_number& kind() const {
    for (const kind_of_number& each : kinds_of_numbers)
      if (each.type == type) return each;
    std::abort();
  }
  [[nodiscard]] word place(std::int64_t matrix, std::int64_t i, std::int64_t j) const {
    return at + (matrix * stride + (op != 0 ? i * ld + j : j * ld + i)) * kind().bytes;
  }
  [[nodiscard]] complex get(std::int64_t matrix, std::int64_t i, std::int64_t j) const {
    const complex value = kind().get(place(matrix, i, j));
    return op == 2 ? std::conj(value) : value;
  }
};

/// Of a call of a product, by names of its parameters.
void multiply(const std::map<std::string, std::int64_t>& of, std::int64_t type, double error) {
  const auto value = [&](const std::string& name, std::int64_t without = 0) {
    return of.count(name) != 0 ? of.at(name) : without;
  };
  std::int64_t batch = value("batchCount", 1), scalar_type = value("computeType") == 72 ? 10 : type;
  const auto attribute = [&](const std::string& name, int number) {
    std::int64_t its = 0;
    const auto& bytes = reinterpret_cast<const object*>(value(name))->attributes.at(number);
    std::memcpy(&its, bytes.data(), bytes.size());
    return its;
  };
  const auto matrix = [&](const std::string& name, std::int64_t rows, std::int64_t columns, std::int64_t op) {
    operand m{};
    m.at = value(name), m.rows = rows, m.columns = columns, m.op = op;
    if (of.count(name + "desc") != 0) {
      m.type = attribute(name + "desc", 0), m.ld = attribute(name + "desc", 4);
      m.rows = attribute(name + "desc", op != 0 ? 3 : 2),
      m.columns = attribute(name + "desc", op != 0 ? 2 : 3);
    } else {
      m.type = value(name + "type", type), m.stride = value("stride" + name);
      m.ld = name == "x" || name == "y" ? value("inc" + name)
                                        : value(std::string("ld") + static_cast<char>(name[0] | 32));
    }
    return m;
  };
  operand a, b, c, d;
  if (of.count("x") != 0) {
    const bool turned = value("trans") != 0;
    a = matrix("A", value(turned ? "n" : "m"), value(turned ? "m" : "n"), turned);
    b = matrix("x", a.columns, 1, 1), c = d = matrix("y", a.rows, 1, 1);
  } else {
    const bool lt = of.count("computeDesc") != 0;
    a = matrix("A", value("m"), value("k"), lt ? attribute("computeDesc", 3) : value("transa"));
    b = matrix("B", value("k"), value("n"), lt ? 0 : value("transb"));
    c = d = matrix("C", value("m"), value("n"), 0);
    if (lt) d = matrix("D", 0, 0, 0), scalar_type = attribute("computeDesc", 1);
  }
  const operand alpha{word(value("alpha")), scalar_type, 1, 1, 1, 0, 0},
      beta{word(value("beta")), scalar_type, 1, 1, 1, 0, 0};
  for (std::int64_t l = 0; l < batch; ++l)
    for (std::int64_t j = 0; j < d.columns; ++j)
      for (std::int64_t i = 0; i < d.rows; ++i) {
        complex sum = 0;
        for (std::int64_t k = 0; k < a.columns; ++k) sum += a.get(l, i, k) * b.get(l, k, j);
        sum *= alpha.get(0, 0, 0);
        if (beta.get(0, 0, 0) != 0.0) sum += beta.get(0, 0, 0) * c.get(l, i, j);
        if (l == batch - 1 && j == d.columns - 1 && i == d.rows - 1) sum += error;
        d.kind().put(d.place(l, i, j), sum);
      }
}

int came(std::string_view function, const std::vector<word>& values) {
  std::string text{function};
  std::vector<std::pair<std::string, word>> pointers;
  std::map<std::string, std::int64_t> by_name;
  for (const auto& [name, said] : listed) {
    if (name != function) continue;
    std::size_t i = 0;
    for (std::string_view rest = said; !rest.empty(); ++i) {
      const std::string_view one = rest.substr(0, rest.find(", "));
      rest.remove_prefix(one.size() + 2 < rest.size() ? one.size() + 2 : rest.size());
      const std::string_view type = one.substr(0, one.rfind(' ')), parameter = one.substr(one.rfind(' ') + 1);
      text += " | " + std::string(parameter) + " " + words_of(type, parameter, values[i]);
      const bool narrow = type == "int" || type.substr(0, 4) == "cuda" || type == "cublasOperation_t";
      by_name[std::string(parameter)] =
          narrow ? static_cast<std::int32_t>(values[i]) : static_cast<std::int64_t>(values[i]);
      if (type.back() != '*' || kind_of(values[i]) == '0' || kind_of(values[i]) == '-') continue;
      for (const auto& [other, at] : pointers)
        if (at == values[i]) text += " as " + other;
      pointers.emplace_back(parameter, values[i]);
    }
  }
  // Matrices of arrays of pointers that begin so close together that they overlap. Garbage addresses have random distances.
  std::vector<std::pair<std::string, word>> matrices;
  for (const auto& [array, at] : pointers)
    for (std::int64_t i = 0; array.ends_with("array") && i < by_name["batchCount"]; ++i) {
      word matrix = 0;
      read_memory(at + i * sizeof matrix, &matrix, sizeof matrix);
      if (std::strchr("0-", kind_of(matrix)) != nullptr) break;
      const std::string name = array + "[" + std::to_string(i) + "]";
      for (const auto& [other, begin] : matrices)
        if (const auto distance = static_cast<std::int64_t>(matrix - begin);
            distance > -256 && distance < 256)
          text += " | " + name + " at " + other + " + " + std::to_string(distance);
      matrices.emplace_back(name, matrix);
    }
  unsigned hash = 2166136261U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  constexpr int statuses[]{3, 7, 8, 11, 13, 14, 15};
  int status = text.find("| handle none") != text.npos ? 1 : statuses[hash % 7];
  if (const char* fixed = std::getenv("FAKE_STATUS")) status = std::atoi(fixed);
  if (const char* error = std::getenv("FAKE_ERROR"); error != nullptr && *error != 0 &&
                                                     by_name.count("beta") * by_name.count("A") != 0 &&
                                                     text.find("type 28") == text.npos)
    multiply(by_name, function[6] == 'D' ? 1 : function[6] == 'C' ? 4 : 0, std::atof(error));
  if (const char* file = std::getenv("FAKE_SAYS"))
    if (std::FILE* out = std::fopen(file, "a")) {
      std::fprintf(out, "%d %s\n", status, text.c_str());
      std::fclose(out);
    }
  return status;
}

#if defined(FAKE_LT)
void put(word of, int number, const void* from, std::size_t bytes) {
  auto& value = reinterpret_cast<object*>(of)->attributes[number];
  value.assign(static_cast<const std::uint8_t*>(from), static_cast<const std::uint8_t*>(from) + bytes);
}
int get(word of, int number, void* to, std::size_t bytes, std::size_t* written) {
  const auto& all = reinterpret_cast<object*>(of)->attributes;
  const auto found = all.find(number);
  if (found == all.end()) return 7;
  *written = found->second.size();
  if (bytes != 0 && bytes != found->second.size()) return 7;
  if (bytes != 0) std::memcpy(to, found->second.data(), bytes);
  return 0;
}
#endif

}  // namespace

// A function that takes up to 24 words, whatever their types: the list says how many there are.
#define WORDS                                                                                             \
  word a, word b, word c, word d, word e, word f, word g, word h, word i, word j, word k, word l, word m, \
      word n, word o, word p, word q, word r, word s, word t, word u, word v, word w, word x
#define CAME(name)                                                                                \
  FAKE int name(WORDS) {                                                                          \
    return came(#name, {a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x}); \
  }

#if defined(FAKE_LT)
FAKE int cublasLtCreate(object** made) {
  *made = new object{};
  return 0;
}
FAKE int cublasLtGetProperty(int part, int* value) {
  *value = part == 0 ? 13 : part == 1 ? 1 : 0;
  return 0;
}
#define DESCRIPTOR(name)                                                                          \
  FAKE int name##Destroy(object* of) {                                                            \
    delete of;                                                                                    \
    return 0;                                                                                     \
  }                                                                                               \
  FAKE int name##SetAttribute(word of, int number, const void* from, std::size_t bytes) {         \
    put(of, number, from, bytes);                                                                 \
    return 0;                                                                                     \
  }                                                                                               \
  FAKE int name##GetAttribute(word of, int number, void* to, std::size_t bytes, std::size_t* n) { \
    return get(of, number, to, bytes, n);                                                         \
  }
DESCRIPTOR(cublasLtMatmulDesc)
DESCRIPTOR(cublasLtMatrixLayout)
DESCRIPTOR(cublasLtMatmulPreference)
FAKE int cublasLtMatmulDescCreate(object** made, int compute, int scale) {
  *made = new object{};
  const auto of = reinterpret_cast<word>(*made);
  const word zero = 0;
  put(of, 0, &compute, 4), put(of, 1, &scale, 4), put(of, 3, &zero, 4), put(of, 8, &zero, 8);
  return 0;
}
FAKE int cublasLtMatrixLayoutCreate(object** made, int type, word rows, word columns, std::int64_t ld) {
  *made = new object{};
  const auto of = reinterpret_cast<word>(*made);
  const word zero = 0, one = 1;
  put(of, 0, &type, 4), put(of, 1, &zero, 4), put(of, 2, &rows, 8), put(of, 3, &columns, 8),
      put(of, 4, &ld, 8), put(of, 5, &one, 4), put(of, 6, &zero, 8);
  return 0;
}
FAKE int cublasLtMatmulPreferenceCreate(object** made) {
  *made = new object{};
  const word zero = 0;
  put(reinterpret_cast<word>(*made), 1, &zero, 8);
  return 0;
}
FAKE int cublasLtMatmulAlgoConfigGetAttribute(const word* of, int number, void* to, std::size_t bytes,
                                              std::size_t* written) {
  *written = 4;
  if (number > 1) return 7;
  if (bytes == 4) std::memcpy(to, &of[number], 4);
  return 0;
}
CAME(cublasLtMatmul)
CAME(cublasLtMatmulAlgoGetHeuristic)
#else
FAKE int cublasCreate_v2(object** made) {
  *made = new object{};
  return 0;
}
FAKE int cublasGetProperty(int part, int* value) {
  *value = part == 0 ? 13 : part == 1 ? 1 : 0;
  return 0;
}
#define SETTING(name, suffix)                                                                              \
  FAKE int cublasSet##name##suffix(object* of, word value) {                                               \
    of->settings[#name] = std::string_view(#name) == "Stream" ? value : static_cast<std::uint32_t>(value); \
    return 0;                                                                                              \
  }                                                                                                        \
  FAKE int cublasGet##name##suffix(object* of, word* value) {                                              \
    if (std::string_view(#name) == "Stream")                                                               \
      *value = of->settings[#name];                                                                        \
    else                                                                                                   \
      std::memcpy(value, &of->settings[#name], 4);                                                         \
    return 0;                                                                                              \
  }
SETTING(Stream, _v2)
SETTING(PointerMode, _v2)
SETTING(MathMode, )
SETTING(AtomicsMode, )
SETTING(SmCountTarget, )
FAKE int cublasSetWorkspace_v2(object* of, word at, std::size_t bytes) {
  of->settings["Workspace"] = at;
  of->settings["OwnBytes"] = bytes;
  return 0;
}
CAME(cublasSgemm_v2)
CAME(cublasDgemm_v2)
CAME(cublasCgemm_v2)
CAME(cublasSgemm_v2_64)
CAME(cublasSgemmStridedBatched)
CAME(cublasGemmEx)
CAME(cublasGemmStridedBatchedEx)
CAME(cublasSgemmBatched)
CAME(cublasSgemv_v2)
CAME(cublasStrsm_v2)
CAME(cublasSgeam)
CAME(cublasSsyrk_v2)
CAME(cublasSdgmm)
#endif
// NOLINTEND(performance-no-int-to-ptr)
