// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/binding/cublas_binding.hpp"

#include "harness/model/errors.hpp"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace fs = std::filesystem;

extern "C" {
extern void* cufault_slots[];  // defined in assembler
[[noreturn]] void cufault_missing(int index);
}

namespace cufault {
namespace {

// Bindings.cmake generates bound_libraries.inc with these.
enum class library;
struct library_code {
  std::string_view name;
  int number;
};
struct status_type {
  std::string_view type, prefix;
  std::span<const library_code> codes;
};
struct own_library {
  std::string_view key;
  library number;
  std::string stem;      ///< "libcusolver.so"
  const char* property;  ///< the function that tells its version
  std::string_view wheel;
};
#include "bound_libraries.inc"

struct bound_function {
  const char* name;
  library from;
};

// A plain array: some compilers cannot deduce a std::array of this many elements.
constexpr bound_function function_list[] = {
#define CUFAULT_FUNCTION(name, from) bound_function{#name, library::from},
#include "bound_functions.inc"
#undef CUFAULT_FUNCTION
};
constexpr std::span functions{function_list};

bound_paths bound;  // one pair at a time, like the slots
std::map<std::string, std::string, std::less<>> named_libraries;
std::map<std::string_view, bound_library> bound_libraries;

/// The loader refused a library, or found another one than expected.
class loader_error : public binding_error {
 public:
  using binding_error::binding_error;
};

std::string loader_words() {
  const char* words = dlerror();
  return words != nullptr ? words : "no reason given";
}

/// Libraries in a folder named STEM.MAJOR, newest major first.
std::vector<fs::path> versions_in(const fs::path& folder, const std::string& stem) {
  std::vector<std::pair<int, fs::path>> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(stem + ".")) continue;
    const std::string major = name.substr(stem.size() + 1);
    if (!major.empty() && major.size() < 4 &&
        std::all_of(major.begin(), major.end(), [](char c) { return c >= '0' && c <= '9'; })) {
      found.emplace_back(std::stoi(major), entry.path());
    }
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<fs::path> paths;
  paths.reserve(found.size());
  for (auto& [major, path] : found) paths.push_back(std::move(path));
  return paths;
}

/// The file to load for the path that the user gave.
std::string resolve(const fs::path& named, const std::string& stem) {
  if (named.empty()) return fmt::format("{}.{}", stem, CUBLAS_VER_MAJOR);
  if (!fs::is_directory(named)) {
    if (!fs::exists(named))
      throw binding_error(
          fmt::format("{}: no such file or folder; give a {} or its folder", named.string(), stem));
    return fs::absolute(named);
  }
  const auto found = versions_in(named, stem);
  if (found.empty()) throw binding_error(fmt::format("{}: no {}.N in this folder", named.string(), stem));
  return fs::absolute(found.front());
}

struct close_library {
  void operator()(void* handle) const { dlclose(handle); }
};
using loaded = std::unique_ptr<void, close_library>;

loaded load(const std::string& file, const char* proof, int when) {
  loaded handle(dlopen(file.c_str(), when | RTLD_LOCAL));
  if (!handle) throw loader_error(fmt::format("cannot load {}: {}", file, loader_words()));
  if (dlsym(handle.get(), proof) == nullptr)
    throw loader_error(fmt::format("{} is not the library it should be: {}", file, loader_words()));
  return handle;
}

fs::path origin(void* symbol) {
  Dl_info info{};
  if (symbol == nullptr || dladdr(symbol, &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code failed;
  fs::path real = fs::canonical(info.dli_fname, failed);
  return failed ? fs::path(info.dli_fname) : real;
}

/// Contents of the slots before anything is bound.
const std::vector<void*>& unbound_slots() {
  static const std::vector<void*> unbound(cufault_slots, cufault_slots + functions.size());
  return unbound;
}

void point_at(library from, void* handle) {
  const std::vector<void*>& unbound = unbound_slots();
  for (std::size_t i = 0; i < functions.size(); ++i) {
    if (functions[i].from != from) continue;
    void* found = dlsym(handle, functions[i].name);
    cufault_slots[i] = found != nullptr ? found : unbound[i];
  }
}

const own_library& own_library_of(std::string_view key) {
  const auto found = std::ranges::find(own_libraries, key, &own_library::key);
  if (found == own_libraries.end())
    throw binding_error(fmt::format("{} is no library of libraries.json", key));
  return *found;
}

/// The file to load. Throws not_provoked if there is none.
std::string file_of(const own_library& of) {
  if (const auto named = named_libraries.find(of.key);
      named != named_libraries.end() && !named->second.empty())
    return resolve(named->second, of.stem);
  const auto beside = versions_in(bound.cublas.parent_path(), of.stem);
  if (beside.empty())
    throw not_provoked(fmt::format("no {}.N beside {}; give one with --{} (the wheel {} has it)", of.stem,
                                   bound.cublas.string(), of.key, of.wheel));
  return beside.front();
}

std::vector<void*> held;  // handles of the loader

/// `when`: RTLD_NOW or RTLD_LAZY.
void bind(const cublas_paths& paths, int when) {
  unbound_slots();  // must read the slots before the first change
  const cublas_paths files = files_of(paths);
  loaded lt = files.cublaslt.empty() ? nullptr : load(files.cublaslt, "cublasLtCreate", when);
  loaded cublas = load(files.cublas, "cublasCreate_v2", when);
  // Stays bound for the life of the process: at its end, code of the libraries may still run.
  const bool brings_lt = !lt;
  void* cublas_handle = held.emplace_back(cublas.release());
  void* lt_handle = brings_lt ? cublas_handle : held.emplace_back(lt.release());

  point_at(library::cublas, cublas_handle);
  point_at(library::cublaslt, lt_handle);
  bound = {origin(dlsym(cublas_handle, "cublasCreate_v2")), origin(dlsym(lt_handle, "cublasLtCreate")),
           origin(dlsym(cublas_handle, "cublasLtCreate"))};
}

fs::path path_of(library from) {
  if (from == library::cublas) return bound.cublas;
  if (from == library::cublaslt) return bound.cublaslt;
  const auto own = std::ranges::find(own_libraries, from, &own_library::number);
  const auto found = bound_libraries.find(own->key);
  return found != bound_libraries.end() ? found->second.file : fs::path();
}

}  // namespace

cublas_paths files_of(const cublas_paths& named) {
  const std::string stem = "libcublas.so", lt_stem = "libcublasLt.so";
  cublas_paths files{resolve(named.cublas, stem), {}};
  if (!named.cublaslt.empty() || named.cublas.empty()) {
    files.cublaslt = resolve(named.cublaslt, lt_stem);
  } else if (const std::string name = files.cublas.filename(); name.starts_with(stem)) {
    const fs::path sibling = files.cublas.parent_path() / (lt_stem + name.substr(stem.size()));
    if (fs::exists(sibling)) files.cublaslt = sibling;
  }
  return files;
}

void bind_cublas(const cublas_paths& paths) {
  try {
    bind(paths, RTLD_NOW);
  } catch (const loader_error& refused) {
    if (!paths.cublas.empty()) throw;
    throw loader_error(fmt::format("{}; give a cuBLAS library or its folder with --cublas", refused.what()));
  }
}

load_result load_cublas(const cublas_paths& paths, bool lazily) {
  try {
    bind(paths, lazily ? RTLD_LAZY : RTLD_NOW);
    return {};
  } catch (const loader_error& refused) {
    return {refused.what()};
  }
}

bool unload_cublas() {
  for (void* handle : held) dlclose(handle);
  held.clear();
  if (void* still = dlopen(bound.cublas.c_str(), RTLD_LAZY | RTLD_NOLOAD); still != nullptr) {
    held.push_back(still);
    return false;
  }
  std::copy(unbound_slots().begin(), unbound_slots().end(), cufault_slots);
  bound = {};
  return true;
}

bound_paths bound_cublas() {
  return bound;
}

void name_libraries(const std::map<std::string, std::string>& paths) {
  for (const auto& [key, path] : paths)
    if (!path.empty()) resolve(path, own_library_of(key).stem);
  named_libraries = {paths.begin(), paths.end()};
}

const bound_library& need_library(std::string_view key) {
  const own_library& of = own_library_of(key);
  if (const auto found = bound_libraries.find(of.key); found != bound_libraries.end()) return found->second;
  unbound_slots();
  loaded handle;
  try {
    handle = load(file_of(of), of.property, RTLD_NOW);
  } catch (const loader_error& refused) {
    throw not_provoked(refused.what());
  }
  const fs::path file = origin(dlsym(handle.get(), of.property));
  if (const fs::path called = origin(dlsym(handle.get(), "cublasCreate_v2"));
      !called.empty() && called != bound.cublas)
    throw not_provoked(fmt::format("{} calls {}, and not the cuBLAS under test, {}", file.string(),
                                   called.string(), bound.cublas.string()));
  const auto property =
      reinterpret_cast<int (*)(libraryPropertyType, int*)>(dlsym(handle.get(), of.property));
  std::array<int, 3> version{};
  for (const libraryPropertyType part : {MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL})
    property(part, &version[part]);
  point_at(of.number, handle.release());  // bound for the life of the process
  return bound_libraries[of.key] = {fmt::format("{}", fmt::join(version, ".")), file};
}

std::string name_of_status(const std::type_info& type, int status) {
  const std::string_view mangled = type.name();  // "14cublasStatus_t"
  const auto found = std::ranges::find_if(
      status_types, [&](const status_type& each) { return mangled.ends_with(each.type); });
  if (found == std::end(status_types)) return fmt::format("{} {}", mangled, status);
  const auto code = std::ranges::find(found->codes, status, &library_code::number);
  return code != found->codes.end() ? std::string(code->name) : fmt::format("{}{}", found->prefix, status);
}

}  // namespace cufault

extern "C" void cufault_missing(int index) {
  const auto& function = cufault::functions[static_cast<std::size_t>(index)];
  const auto path = cufault::path_of(function.from);
  if (path.empty())
    throw cufault::missing_symbol(fmt::format("{} was called before its library was bound", function.name));
  throw cufault::missing_symbol(
      fmt::format("{} has no {}: it is older or newer than this case needs", path.string(), function.name));
}
