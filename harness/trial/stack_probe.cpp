// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The part of the stack that only a process with CUDA can see. Runs in its own child process.
#include "harness/trial/stack_probe.hpp"

#include "harness/binding/cublas_binding.hpp"
#include "harness/model/errors.hpp"
#include "harness/system/child.hpp"
#include "harness/system/library_file.hpp"
#include "harness/system/process.hpp"
#include "harness/trial/driver_log.hpp"
#include "reports/base/files.hpp"
#include "reports/model/api_functions.hpp"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace cufault {
namespace {

/// CUDA and cuBLASLt encode versions as major * 1000 (or 10000) + ...
std::string cuda_version(int v) {
  return fmt::format("{}.{}", v / 1000, v % 1000 / 10);
}

std::string library_version(cublasStatus_t (*property)(libraryPropertyType, int*)) {
  int major = 0, minor = 0, patch = 0;
  property(MAJOR_VERSION, &major);
  property(MINOR_VERSION, &minor);
  property(PATCH_LEVEL, &patch);
  return fmt::format("{}.{}.{}", major, minor, patch);
}

std::string driver_library() {
  void* handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  void* symbol = handle != nullptr ? dlsym(handle, "cuInit") : nullptr;
  Dl_info info{};
  std::error_code failed;
  if (symbol == nullptr || dladdr(symbol, &info) == 0) return {};
  const auto real = std::filesystem::canonical(info.dli_fname, failed);
  return failed ? info.dli_fname : real.string();
}

std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU";
  for (int i = 0; i < 16; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

nlohmann::json of_other(const std::string& version) {
  return {{"version", version}};
}

/// {"version", "files"} of the second pair, read in a forked process: two pairs in one process may share a library. If it cannot be read,
/// "version" gives the reason after the variable's name.
nlohmann::json other_pair() {
  const char* folder = std::getenv("CUFAULT_OTHER_CUBLAS");
  if (folder == nullptr || *folder == '\0') return of_other("none");
  const auto unread = [&](const std::string& why) {
    return of_other(fmt::format("CUFAULT_OTHER_CUBLAS: {}: {}", folder, why));
  };
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return unread(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  const pid_t child = fork_child([&] {
    nlohmann::json pair;
    try {
      bind_cublas({folder, folder});
      pair = of_other(library_version(cublasGetProperty));
      pair["files"] = {{"other_cublas", library_file(bound_cublas().cublas)},
                       {"other_cublaslt", library_file(bound_cublas().cublaslt)}};
    } catch (const std::exception& e) {
      pair = of_other(fmt::format("CUFAULT_OTHER_CUBLAS: {}", e.what()));
    }
    if (!write_all(ends[1], dump_json(pair))) _exit(1);
  });
  close(ends[1]);
  std::string said;
  std::array<char, 512> piece{};
  for (ssize_t n = 0; (n = read(ends[0], piece.data(), piece.size())) > 0;)
    said.append(piece.data(), static_cast<std::size_t>(n));
  close(ends[0]);
  nlohmann::json pair = nlohmann::json::parse(said, nullptr, false);
  if (const std::string ended = ending_of(wait_for(child)); !pair.is_object() || ended != "exit 0")
    return unread(fmt::format("a process that loads it ended: {}", ended));
  return pair;
}

/// Adds the other libraries that are found. Runs last, so that what they load does not affect the context above.
void add_other_libraries(nlohmann::json& stack, const target& where) {
  try {
    name_libraries(where.others);
    for (const step_library& each : step_libraries) try {
        if (each.binding != library_binding::own) continue;
        const bound_library& found = need_library(each.key);
        stack[std::string(each.key)] = {{"version", found.version}, {"path", found.file.string()}};
        stack["files"][std::string(each.key)] = library_file(found.file);
      } catch (const not_provoked&) {  // its cases say why
      }
  } catch (const binding_error& wrong) {
    stack["error"] = wrong.what();
  }
}

}  // namespace

int probe_stack(const target& where) {
  nlohmann::json stack = {{"gpu", nullptr}, {"no_gpu", ""}, {"error", ""}};
  const nlohmann::json other = other_pair();
  stack["other_cublas"] = other["version"];
  stack["files"] = other.value("files", nlohmann::json::object());
  if (const std::string version = other["version"]; version.starts_with("CUFAULT_")) stack["error"] = version;
  try {
    bind_cublas({where.cublas, where.cublaslt});
    const bound_paths paths = bound_cublas();
    stack["cublas"] = {{"version", library_version(cublasGetProperty)}, {"path", paths.cublas.string()}};
    stack["cublaslt"] = {{"version", library_version(cublasLtGetProperty)},
                         {"path", paths.cublaslt.string()},
                         {"called_by_cublas", paths.cublaslt_of_cublas.string()}};
    stack["files"]["cublas"] = library_file(paths.cublas);
    stack["files"]["cublaslt"] = library_file(paths.cublaslt);
  } catch (const std::exception& e) {
    stack["error"] = e.what();
  }
  int runtime = 0, driver = 0, devices = 0;
  cudaRuntimeGetVersion(&runtime);
  cudaDriverGetVersion(&driver);
  stack["runtime"] = {{"version", cuda_version(runtime)}};
  stack["driver"] = {{"cuda", driver == 0 ? "" : cuda_version(driver)},
                     {"library", driver_library()},
                     {"log", driver_log::state()}};
  const cudaError_t count = cudaGetDeviceCount(&devices);
  stack["devices"] = nlohmann::json::array();
  for (int i = 0; i < devices; ++i) {
    cudaDeviceProp p{};
    stack["devices"].push_back(cudaGetDeviceProperties(&p, i) == cudaSuccess ? uuid_text(p.uuid) : "unknown");
  }
  if (count != cudaSuccess) {
    stack["no_gpu"] = fmt::format("{}: {}", cudaGetErrorName(count), cudaGetErrorString(count));
  } else if (devices == 0) {
    stack["no_gpu"] = "the driver shows none";
  } else if (where.device >= devices) {
    // A wrong device number is an error, not a machine without a GPU: no test may be skipped for it.
    stack["error"] = fmt::format("--device {}: there are devices 0 to {} here", where.device, devices - 1);
  } else {
    cudaDeviceProp p{};
    const cudaError_t known = cudaGetDeviceProperties(&p, where.device);
    // This check makes a context. Under CTest the preflight has already made one.
    const char* preflight = std::getenv("CUFAULT_PREFLIGHT");
    const bool proved = preflight != nullptr && std::string_view(preflight) == "passed";
    const cudaError_t usable = known == cudaSuccess && !proved ? cudaSetDevice(where.device) : known;
    // A device without room for a context is still a GPU.
    if (usable != cudaSuccess && usable != cudaErrorMemoryAllocation) {
      stack["no_gpu"] = fmt::format("device {}: {}: {}", where.device, cudaGetErrorName(usable),
                                    cudaGetErrorString(usable));
    } else {
      stack["gpu"] = {{"name", p.name},
                      {"compute_capability", fmt::format("{}.{}", p.major, p.minor)},
                      {"memory_bytes", p.totalGlobalMem},
                      {"multiprocessors", p.multiProcessorCount},
                      {"uuid", uuid_text(p.uuid)}};
    }
  }
  add_other_libraries(stack, where);
  return write_all(report_fd, dump_json(stack)) ? 0 : 1;
}

}  // namespace cufault
