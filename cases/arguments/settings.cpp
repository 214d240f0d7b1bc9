// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   A call that sets or gets a property of a handle, with one wrong argument. Recorded: which are refused and accepted, and the
//              result of the product after them.
// Why          The handle keeps its settings. On H200, driver 580.159.04, cuBLAS 13.1.0, modes outside their enumerations and null results
//              are refused, a null handle by all but cublasGetVersion. Any stream and any workspace is accepted, also freed, misaligned and
//              host memory. The product here writes C with every workspace; whether it needs one is unknown. With a destroyed stream it
//              ends the process, with an invalid stream it returns CUBLAS_STATUS_INTERNAL_ERROR.
// Documented   cuBLAS library, helper functions: cublasSetWorkspace requires device memory aligned to 256 bytes, otherwise
//              CUBLAS_STATUS_INVALID_VALUE, which does not come. The modes require values of their enumerations
//              (CUBLAS_STATUS_INVALID_VALUE), cublasCreate and cublasGetVersion a place for the result. A null result of other functions is
//              not documented.
// What helps   Not measured here: the case only characterises. Effects of a workspace on the work in it: memory.user_workspace.
#include "harness/kit/argument_table.hpp"
#include "harness/kit/products.hpp"
#include "harness/trial/observe.hpp"

#include <cublas_v2.h>
#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace cufault {
namespace {

using namespace argument_table;

constexpr std::size_t workspace_bytes = 4 << 20;

/// Results of the calls.
struct call_results {
  cublasHandle_t handle = nullptr;
  cudaStream_t stream = nullptr;
  cublasPointerMode_t pointers{};
  cublasMath_t math{};
  cublasAtomicsMode_t atomics{};
  int version = 0;
};
call_results results;

/// All rows share the handle, so each resets it. No row reports the status of these calls.
void reset_handle(cublasHandle_t handle) {
  cublasSetStream(handle, nullptr);  // also restores the library's own workspace
  cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST);
  cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH);
  cublasSetAtomicsMode(handle, CUBLAS_ATOMICS_NOT_ALLOWED);
}

std::vector<row> reset_after_each(cublasHandle_t handle, std::vector<row> rows) {
  for (row& r : rows)
    r.call = [handle, call = std::move(r.call)] {
      answer came_to = call();
      reset_handle(handle);
      return came_to;
    };
  return rows;
}

/// Rows of a setting with one value: the valid one, and numbers outside its enumeration.
template <class F, class V>
row_maker setting(const std::string& name, F f, const char* argument_name, V valid) {
  return [=](cublasHandle_t handle, const buffers& b, depth how_deep) {
    const std::vector<argument> names{{"handle", role::handle}, {argument_name, role::enumeration}};
    return rows_of(name, f, names, b, how_deep, handle, valid);
  };
}

template <class F, class V>
row_maker question(const std::string& name, F f, const char* argument_name, V* result) {
  return [=](cublasHandle_t handle, const buffers& b, depth how_deep) {
    const std::vector<argument> names{{"handle", role::handle}, {argument_name, role::host_output}};
    return rows_of(name, f, names, b, how_deep, handle, result);
  };
}

std::vector<row> streams(cublasHandle_t handle, const buffers& b, depth how_deep) {
  const std::string name = "cublasSetStream";
  const bool without_memory = b.device(0) == nullptr;
  cudaStream_t const valid = without_memory ? nullptr : new_stream();
  auto rows = rows_of(name, cublasSetStream, {{"handle", role::handle}, {"stream", role::kept}}, b, how_deep,
                      handle, valid);
  const auto give = [&](const char* change, cudaStream_t stream, bool wrong = false) {
    rows.push_back(
        {name, "stream", change, [=] { return cublasSetStream(handle, stream); }, role::handle, wrong});
  };
  give("null", nullptr);
  give("cudaStreamLegacy", cudaStreamLegacy);
  give("cudaStreamPerThread", cudaStreamPerThread);
  if (how_deep == depth::everything) {
    rows.push_back({name, "stream", "destroyed",
                    [=] {
                      cudaStream_t stream = new_stream();
                      CUFAULT_REQUIRE(cudaStreamDestroy(stream));
                      return cublasSetStream(handle, stream);
                    },
                    role::handle, true});
    give("no stream at all", reinterpret_cast<cudaStream_t>(b.host()), true);
  }
  return rows;
}

std::vector<row> workspaces(cublasHandle_t handle, const buffers& b, depth how_deep) {
  const std::string name = "cublasSetWorkspace";
  const bool without_memory = b.device(0) == nullptr;
  void* block = nullptr;  // lives until the end of the process
  if (!without_memory) CUFAULT_REQUIRE(cudaMalloc(&block, workspace_bytes));
  auto* const memory = static_cast<std::byte*>(block);
  auto rows =
      rows_of(name, cublasSetWorkspace,
              {{"handle", role::handle}, {"workspace", role::kept}, {"workspaceSizeInBytes", role::kept}}, b,
              how_deep, handle, memory, workspace_bytes);
  const auto give = [&](const char* argument_name, const std::string& change, void* workspace,
                        std::size_t bytes, bool wrong = false) {
    rows.push_back({name, argument_name, change, [=] { return cublasSetWorkspace(handle, workspace, bytes); },
                    role::input, wrong});
  };
  give("workspace", "null", nullptr, workspace_bytes);
  give("workspace", "null, of no bytes", nullptr, 0);
  for (const std::size_t by : {1, 2, 4, 8, 16, 128})
    give("workspace", fmt::format("off by {}", by), without_memory ? nullptr : memory + by,
         workspace_bytes - 256, true);
  give("workspace", "in host memory", b.host(), buffers::bytes_each, true);
  give("workspaceSizeInBytes", "of 0", memory, 0);
  give("workspaceSizeInBytes", "of 1", memory, 1);
  if (how_deep == depth::everything) {
    give("workspace", "freed", b.freed(), buffers::bytes_each, true);
    give("workspaceSizeInBytes", "of all there is", memory, ~std::size_t{0}, true);
  }
  return rows;
}

/// Rows that create and destroy their own handles.
std::vector<row> handles(cublasHandle_t /*handle*/, const buffers& /*b*/, depth /*how_deep*/) {
  std::vector<row> rows;
  rows.push_back({"cublasCreate", "", "", [] {
                    const cublasStatus_t came_to = cublasCreate(&results.handle);
                    if (came_to == CUBLAS_STATUS_SUCCESS) cublasDestroy(results.handle);
                    return came_to;
                  }});
  rows.push_back(
      {"cublasCreate", "handle", "null", [] { return cublasCreate(nullptr); }, role::host_output, true});
  rows.push_back({"cublasDestroy", "", "", [] {
                    CUFAULT_REQUIRE(cublasCreate(&results.handle));
                    return cublasDestroy(results.handle);
                  }});
  rows.push_back(
      {"cublasDestroy", "handle", "null", [] { return cublasDestroy(nullptr); }, role::handle, true});
  return rows;
}

row_maker alone(const row_maker& make) {
  return [=](cublasHandle_t handle, const buffers& b, depth how_deep) {
    return reset_after_each(handle, make(handle, b, how_deep));
  };
}

/// Makes each call, then a product whose status is the row's. cuBLAS may split the long columns, which needs a workspace. Scalars are in
/// host memory in every pointer mode.
row_maker then_product(const row_maker& make) {
  return [=](cublasHandle_t handle, const buffers& b, depth how_deep) {
    static const float one = 1, zero = 0;
    constexpr int m = 8, n = 8, k = 256;  // A and B fill their operands
    auto rows = make(handle, b, how_deep);
    const auto at = [&](int operand) { return reinterpret_cast<float*>(b.device(operand)); };
    for (row& r : rows) {
      r.function = "cublasSgemm after " + r.function;
      r.call = [handle, set = std::move(r.call), a = at(0), other = at(1), c = at(2)] {
        set();
        return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, a, m, other, k, &zero, c, m);
      };
    }
    return reset_after_each(handle, std::move(rows));
  };
}

failure_case setting_table() {
  const row_maker pointer_mode =
      setting("cublasSetPointerMode", cublasSetPointerMode, "mode", CUBLAS_POINTER_MODE_HOST);
  const row_maker math_mode = setting("cublasSetMathMode", cublasSetMathMode, "mode", CUBLAS_DEFAULT_MATH);
  const row_maker atomics_mode =
      setting("cublasSetAtomicsMode", cublasSetAtomicsMode, "mode", CUBLAS_ATOMICS_ALLOWED);
  const std::vector<row_maker> set{alone(streams), alone(workspaces), alone(pointer_mode), alone(math_mode),
                                   alone(atomics_mode)};
  const std::vector<row_maker> ask{
      question("cublasGetStream", cublasGetStream, "streamId", &results.stream),
      question("cublasGetPointerMode", cublasGetPointerMode, "mode", &results.pointers),
      question("cublasGetMathMode", cublasGetMathMode, "mode", &results.math),
      question("cublasGetAtomicsMode", cublasGetAtomicsMode, "mode", &results.atomics),
      question("cublasGetVersion", cublasGetVersion, "version", &results.version),
      handles};
  const std::vector<row_maker> after{then_product(streams), then_product(workspaces),
                                     then_product(pointer_mode), then_product(math_mode),
                                     then_product(atomics_mode)};

  table_case c("arguments.settings", "what handles are set to and asked, with one argument changed",
               {"S3-3"});
  c.on_the_host("set", "streams, workspaces and modes: the calls alone", set);
  c.on_the_host("ask", "the same asked for, and handles", ask);
  c.everything("set_any_stream", "a destroyed stream, freed memory", {alone(streams), alone(workspaces)});
  c.everything("then_product", "cublasSgemm after each of them", after).claims = {};
  c.failures = {"F-ARG-12"};
  c.repeat_undefined({"set_any_stream"}, "what lies where a destroyed stream or freed memory was");
  c.in_tier = {"control", "set"};
  return c;  // NOLINT(cppcoreguidelines-slicing): what it adds builds arms
}

const register_case here{setting_table()};

}  // namespace
}  // namespace cufault
