// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cublas_binding.hpp"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <fmt/format.h>

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <span>
#include <vector>

namespace fs = std::filesystem;

extern "C" {
extern void* cufault_slots[];  // NOLINT(modernize-avoid-c-arrays): defined in assembler
[[noreturn]] void cufault_missing(int index);
}

namespace cufault {
namespace {

enum class library { cublas, cublaslt };

struct bound_function {
  const char* name;
  library from;
};

// A plain array: deducing a std::array of this many elements is more than some compilers will do.
// NOLINTNEXTLINE(modernize-avoid-c-arrays)
constexpr bound_function function_list[] = {
#define CUFAULT_FUNCTION(name, from) bound_function{#name, library::from},
#include "cublas_functions.inc"
#undef CUFAULT_FUNCTION
};
constexpr std::span functions{function_list};

bound_paths bound;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): one pair a process, as the
                    // loader has it

std::string loader_words() {
  const char* words = dlerror();
  return words != nullptr ? words : "no reason given";
}

/// Libraries in a folder whose name is STEM.MAJOR, newest major first.
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

/// The file to load for what the user named.
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

void* load(const std::string& file, const char* proof) {
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw binding_error(fmt::format("cannot load {}: {}", file, loader_words()));
  if (dlsym(handle, proof) == nullptr)
    throw binding_error(fmt::format("{} is not the library it should be: {}", file, loader_words()));
  return handle;
}

fs::path origin(void* symbol) {
  Dl_info info{};
  if (symbol == nullptr || dladdr(symbol, &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code failed;
  fs::path real = fs::canonical(info.dli_fname, failed);
  return failed ? fs::path(info.dli_fname) : real;
}

}  // namespace

void bind_cublas(const cublas_paths& paths) {
  const std::string cublas = resolve(paths.cublas, "libcublas.so");
  std::string cublaslt;
  if (!paths.cublaslt.empty() || paths.cublas.empty()) {
    cublaslt = resolve(paths.cublaslt, "libcublasLt.so");
  } else {
    const std::string stem = "libcublas.so", name = fs::path(cublas).filename();
    const fs::path sibling =
        fs::path(cublas).parent_path() / ("libcublasLt.so" + name.substr(std::min(stem.size(), name.size())));
    if (name.starts_with(stem) && fs::exists(sibling)) cublaslt = sibling;
  }
  void* lt_handle = cublaslt.empty() ? nullptr : load(cublaslt, "cublasLtCreate");
  void* handle = load(cublas, "cublasCreate_v2");
  if (lt_handle == nullptr) lt_handle = handle;  // whatever cuBLAS brought along

  for (std::size_t i = 0; i < functions.size(); ++i) {
    if (void* found = dlsym(functions[i].from == library::cublas ? handle : lt_handle, functions[i].name))
      cufault_slots[i] = found;
  }
  bound = {origin(dlsym(handle, "cublasCreate_v2")), origin(dlsym(lt_handle, "cublasLtCreate")),
           origin(dlsym(handle, "cublasLtCreate"))};
}

bound_paths bound_cublas() {
  return bound;
}

}  // namespace cufault

extern "C" void cufault_missing(int index) {
  const auto& function = cufault::functions[static_cast<std::size_t>(index)];
  const auto& path =
      function.from == cufault::library::cublas ? cufault::bound.cublas : cufault::bound.cublaslt;
  if (path.empty())
    throw cufault::missing_symbol(fmt::format("{} was called before a cuBLAS was bound", function.name));
  throw cufault::missing_symbol(
      fmt::format("{} has no {}: it is older or newer than this case needs", path.string(), function.name));
}
