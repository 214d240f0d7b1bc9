// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   A product or conversion by cuBLASLt with one wrong value in a layout, descriptor, preference or argument. Recorded: the call
//              that reports it, its status, and whether the result was written.
// Why          A descriptor keeps any value: on H200, driver 580.159.04, cuBLAS 13.1.0, no SetAttribute refuses one. The heuristic, and
//              cublasLtMatmul with an earlier algorithm, refuse what contradicts another descriptor, including batch counts. More than an
//              int holds is not supported. Not refused: TRANSC outside its enumeration, counts of multiprocessors, equal strides of C and D
//              with which results overlap or leave the memory. cublasLtMatrixTransform does not refuse leading dimensions below the rows,
//              different batch counts, and operations and pointer modes outside their enumerations. Products without rows or columns and
//              empty batches fail to execute. An earlier algorithm changes this: TRANSA and TRANSB outside their enumeration and small
//              strides, accepted by all calls together, are then not supported. A bias off its element, which the heuristic refuses, makes
//              the kernel fail; an empty batch writes C. The process ends with null scalars, scalars in device memory, a null descriptor of
//              the operation, null results of the heuristic or fewer than requested, and null layouts of inputs of cublasLtMatrixTransform.
// Documented   cublasLt.h: SetAttribute and GetAttribute return CUBLAS_STATUS_INVALID_VALUE for no buffer and for a wrong size, as
//              measured; so do the heuristic for a count that is not positive, cublasLtMatmul for conflicting parameters,
//              cublasLtMatrixTransform for a matrix without its layout (which crashes), and cublasLtMatmulAlgoInit for an invalid number
//              (-1 is accepted). Leading dimensions must be "large enough so that matrix memory locations are not overlapping". cuBLAS
//              library: a workspace aligned to 16 bytes; 256 are required. Reported: CUDALibrarySamples#185 (different batch counts).
//              Release notes, issue 5645772: different batch counts of A and B not rejected; here they are. A fill mode is reported as
//              not supported on this architecture; it is CUBLAS_STATUS_INVALID_VALUE.
// What helps   Not measured here: the case only characterises. One batch count for all layouts clears the reported failure.
// In facts about written memory, C is the result: C and D of the product, the target of a conversion. "By" names the first failing call.
#include "cases/arguments/lt_altered.hpp"
#include "cases/arguments/lt_attributes.hpp"
#include "cases/arguments/lt_calls.hpp"
#include "harness/kit/argument_table.hpp"
#include "harness/kit/lt_problem.hpp"

#include <cublasLt.h>
#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace cufault {
namespace {

using namespace argument_table;
using namespace lt_arguments;

// ---- rows of one call ----

/// Sets and gets an attribute without a buffer and with wrong sizes. `create` makes a descriptor for each row.
template <class Owned, class Descriptor, class Attribute, class Create>
void hand_over(std::vector<row>& rows, const std::string& prefix, const std::vector<attribute>& attributes,
               cublasStatus_t (*set)(Descriptor, Attribute, const void*, std::size_t),
               cublasStatus_t (*get)(Descriptor, Attribute, void*, std::size_t, std::size_t*),
               Create create) {
  // Larger than any value: an accepted wrong size does no harm.
  using room = std::array<std::int64_t, 4>;
  const auto with_own = [create](const auto& call) {
    Descriptor made = nullptr;
    CUFAULT_REQUIRE(create(&made));
    const Owned owned(made);
    return call(made);
  };
  const auto add = [&](const std::string& function, const std::string& argument, const std::string& change,
                       role what, const auto& call) {
    rows.push_back({function, argument, change, [=] { return with_own(call); }, what, !argument.empty()});
  };
  for (const attribute& each : attributes) {
    const auto which = static_cast<Attribute>(each.number);
    const std::size_t bytes = each.bytes;
    const std::string name = fmt::format(" {}", each.name), setter = prefix + "SetAttribute" + name,
                      getter = prefix + "GetAttribute" + name;
    const auto set_bytes = [=, usual = each.usual](std::size_t size) {
      return [=](Descriptor d) {
        const room from{usual};
        return set(d, which, from.data(), size);
      };
    };
    const auto get_bytes = [=](std::size_t size) {
      return [=](Descriptor d) {
        room to{};
        std::size_t written = 0;
        return get(d, which, to.data(), size, &written);
      };
    };
    add(setter, "buf", "null", role::host_array, [=](Descriptor d) { return set(d, which, nullptr, bytes); });
    add(setter, "sizeInBytes", "one too large", role::bytes, set_bytes(bytes + 1));
    add(getter, "", "", role::kept, get_bytes(bytes));
    add(getter, "sizeInBytes", "one too large", role::bytes, get_bytes(bytes + 1));
  }
  const std::size_t bytes = attributes.front().bytes;
  for (const int number : {99, -1}) {
    const auto which = static_cast<Attribute>(number);
    add(prefix + "SetAttribute", "attr", fmt::format("of {}", number), role::enumeration, [=](Descriptor d) {
      const room from{};
      return set(d, which, from.data(), bytes);
    });
    add(prefix + "GetAttribute", "attr", fmt::format("of {}", number), role::enumeration, [=](Descriptor d) {
      room to{};
      return get(d, which, to.data(), bytes, nullptr);
    });
  }
  const auto first = static_cast<Attribute>(attributes.front().number);
  add(prefix + "SetAttribute", "descriptor", "null", role::handle, [=](Descriptor) {
    const room from{};
    return set(nullptr, first, from.data(), bytes);
  });
  add(prefix + "GetAttribute", "descriptor", "null", role::handle, [=](Descriptor) {
    room to{};
    return get(nullptr, first, to.data(), bytes, nullptr);
  });
}

std::vector<row> handed_over(cublasHandle_t /*handle*/, const buffers& b, depth /*how_deep*/) {
  std::vector<row> rows;
  hand_over<lt_layout>(
      rows, "cublasLtMatrixLayout", attributes_of({.rows = m, .columns = k}),
      cublasLtMatrixLayoutSetAttribute, cublasLtMatrixLayoutGetAttribute,
      [](cublasLtMatrixLayout_t* made) { return cublasLtMatrixLayoutCreate(made, CUDA_R_32F, m, k, ld); });
  hand_over<lt_operation>(rows, "cublasLtMatmulDesc", attributes_of_operation(b),
                          cublasLtMatmulDescSetAttribute, cublasLtMatmulDescGetAttribute,
                          [](cublasLtMatmulDesc_t* made) {
                            return cublasLtMatmulDescCreate(made, CUBLAS_COMPUTE_32F, CUDA_R_32F);
                          });
  hand_over<lt_preference>(rows, "cublasLtMatmulPreference", attributes_of_preference(),
                           cublasLtMatmulPreferenceSetAttribute, cublasLtMatmulPreferenceGetAttribute,
                           cublasLtMatmulPreferenceCreate);
  hand_over<lt_conversion>(rows, "cublasLtMatrixTransformDesc", attributes_of_conversion(),
                           cublasLtMatrixTransformDescSetAttribute, cublasLtMatrixTransformDescGetAttribute,
                           [](cublasLtMatrixTransformDesc_t* made) {
                             return cublasLtMatrixTransformDescCreate(made, CUDA_R_32F);
                           });
  return rows;
}

constexpr int most_ids = 4096;
/// Results of the calls.
struct call_results {
  std::array<cublasLtMatmulHeuristicResult_t, 1024> results{};
  std::array<int, most_ids> ids{};
  int count = 0;
  int property = 0;
  cublasLtMatmulAlgo_t algorithm{};
};
call_results answers;

/// The heuristic and lower-level functions.
std::vector<row> functions(cublasHandle_t /*handle*/, const buffers& b, depth how_deep) {
  const objects& on = objects_of(b);
  const auto valid = prepare(plain(b), b);
  descriptors& d = valid->made;
  const bool without_memory = b.device(0) == nullptr;
  const auto layout_at = [&](std::size_t i) { return without_memory ? nullptr : d.layouts[i].get(); };
  std::vector<row> rows;
  // Rows keep their descriptors alive.
  const auto add = [&](std::vector<row> more) {
    for (row& r : more) {
      r.call = [valid, call = std::move(r.call)] { return call(); };
      rows.push_back(std::move(r));
    }
  };
  const argument lt{"lightHandle", role::handle}, requested{"requestedAlgoCount", role::count},
      found{"returnAlgoCount", role::host_output};
  std::vector<argument> problem{lt};
  for (const char* name : {"operationDesc", "Adesc", "Bdesc", "Cdesc", "Ddesc"})
    problem.push_back({name, role::handle});
  std::vector<argument> types{lt};
  for (const char* name : {"computeType", "scaleType", "Atype", "Btype", "Ctype", "Dtype"})
    types.push_back({name, role::enumeration});
  const auto with = [](std::vector<argument> all, std::initializer_list<argument> more) {
    all.insert(all.end(), more);
    return all;
  };

  add(rows_of(
      "cublasLtMatmulAlgoGetHeuristic", cublasLtMatmulAlgoGetHeuristic,
      with(problem,
           {{"preference", role::handle}, requested, {"heuristicResultsArray", role::host_output}, found}),
      b, how_deep, on.lt, d.operation.get(), layout_at(0), layout_at(1), layout_at(2), layout_at(3),
      d.preference.get(), 1, answers.results.data(), &answers.count));
  add(rows_of("cublasLtMatmulAlgoCheck", cublasLtMatmulAlgoCheck,
              with(problem, {{"algo", role::handle}, {"result", role::host_output}}), b, how_deep, on.lt,
              d.operation.get(), layout_at(0), layout_at(1), layout_at(2), layout_at(3), &valid->algorithm,
              answers.results.data()));
  add(rows_of("cublasLtMatmulAlgoGetIds", cublasLtMatmulAlgoGetIds,
              with(types, {requested, {"algoIdsArray", role::host_output}, found}), b, how_deep, on.lt,
              CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, most_ids,
              answers.ids.data(), &answers.count));
  if (!without_memory)
    CUFAULT_REQUIRE(cublasLtMatmulAlgoGetIds(on.lt, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F,
                                             CUDA_R_32F, CUDA_R_32F, 1, answers.ids.data(), &answers.count));
  add(rows_of("cublasLtMatmulAlgoInit", cublasLtMatmulAlgoInit,
              with(types, {{"algoId", role::size}, {"algo", role::host_output}}), b, how_deep, on.lt,
              CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, answers.ids[0],
              &answers.algorithm));
  add({{"cublasLtMatmulAlgoCheck", "algo", "of zeros",
        [&on, &d] {
          const cublasLtMatmulAlgo_t zeros{};
          return cublasLtMatmulAlgoCheck(on.lt, d.operation.get(), d.layouts[0].get(), d.layouts[1].get(),
                                         d.layouts[2].get(), d.layouts[3].get(), &zeros,
                                         answers.results.data());
        },
        role::handle, true}});
  return rows;
}

/// Creation with a null result, and destruction of null.
std::vector<row> creations(cublasHandle_t /*handle*/, const buffers& /*b*/, depth /*how_deep*/) {
  std::vector<row> rows;
  const auto place = [&](const char* function, const auto& call) {
    rows.push_back({function, "place", "null", call, role::host_output, true});
  };
  const auto nothing = [&](const char* function, const auto& call) {
    rows.push_back({function, "descriptor", "null", call, role::handle, false});
  };
  place("cublasLtCreate", [] { return cublasLtCreate(nullptr); });
  place("cublasLtMatrixLayoutCreate",
        [] { return cublasLtMatrixLayoutCreate(nullptr, CUDA_R_32F, m, k, ld); });
  place("cublasLtMatrixLayoutInit", [] { return cublasLtMatrixLayoutInit(nullptr, CUDA_R_32F, m, k, ld); });
  place("cublasLtMatmulDescCreate",
        [] { return cublasLtMatmulDescCreate(nullptr, CUBLAS_COMPUTE_32F, CUDA_R_32F); });
  place("cublasLtMatmulPreferenceCreate", [] { return cublasLtMatmulPreferenceCreate(nullptr); });
  place("cublasLtMatrixTransformDescCreate",
        [] { return cublasLtMatrixTransformDescCreate(nullptr, CUDA_R_32F); });
  place("cublasLtGetProperty", [] { return cublasLtGetProperty(MAJOR_VERSION, nullptr); });
  nothing("cublasLtDestroy", [] { return cublasLtDestroy(nullptr); });
  nothing("cublasLtMatrixLayoutDestroy", [] { return cublasLtMatrixLayoutDestroy(nullptr); });
  nothing("cublasLtMatmulDescDestroy", [] { return cublasLtMatmulDescDestroy(nullptr); });
  nothing("cublasLtMatmulPreferenceDestroy", [] { return cublasLtMatmulPreferenceDestroy(nullptr); });
  nothing("cublasLtMatrixTransformDescDestroy", [] { return cublasLtMatrixTransformDescDestroy(nullptr); });
  rows.push_back({"cublasLtGetProperty", "type", "of 99",
                  [] { return cublasLtGetProperty(static_cast<libraryPropertyType>(99), &answers.property); },
                  role::enumeration, true});
  rows.push_back({"cublasLtMatrixLayoutInit", "size", "too small",
                  [] {
                    cublasLtMatrixLayoutOpaque_t at{};
                    return cublasLtMatrixLayoutInit_internal(&at, sizeof at / 2, CUDA_R_32F, m, k, ld);
                  },
                  role::bytes, true});
  return rows;
}

std::vector<row> products(cublasHandle_t /*handle*/, const buffers& b, depth how_deep) {
  const std::string name = "cublasLtMatmul with everything given";
  const objects& on = objects_of(b);
  const auto valid = prepare(plain(b), b);
  descriptors& d = valid->made;
  const bool without_memory = b.device(0) == nullptr;
  const auto layout_at = [&](std::size_t i) { return without_memory ? nullptr : d.layouts[i].get(); };
  const std::vector<argument> names{
      {"lightHandle", role::handle}, {"computeDesc", role::handle}, {"alpha", role::scalar},
      {"A", role::input, 0, 0},      {"Adesc", role::handle},       {"B", role::input, 0, 1},
      {"Bdesc", role::handle},       {"beta", role::scalar},        {"C", role::input, 0, 2},
      {"Cdesc", role::handle},       {"D", role::output, 0, 2},     {"Ddesc", role::handle},
      {"algo", role::kept},          {"workspace", role::kept},     {"workspaceSizeInBytes", role::kept},
      {"stream", role::kept}};
  const auto call_with = [&on, valid, b = operands_of(b)](const cublasLtMatmulAlgo_t* algorithm,
                                                          void* workspace, std::size_t bytes,
                                                          cudaStream_t stream) {
    descriptors& all = valid->made;
    return cublasLtMatmul(on.lt, all.operation.get(), b.alpha, b.a, all.layouts[0].get(), b.b,
                          all.layouts[1].get(), b.beta, b.c, all.layouts[2].get(), b.d, all.layouts[3].get(),
                          algorithm, workspace, bytes, stream);
  };
  auto rows = described_rows_of(described(plain(b)), name, cublasLtMatmul, names, b, how_deep, on.lt,
                                d.operation.get(), &one, b.device(0), layout_at(0), b.device(1), layout_at(1),
                                &zero, b.device(2), layout_at(2), b.device(2), layout_at(3),
                                &valid->algorithm, on.workspace, workspace_bytes, cudaStream_t{});
  for (row& r : rows) {
    r.call = [valid, call = std::move(r.call)] { return call(); };
    // argument_check does not represent a C other than D; with beta = 0 any C is valid.
    if (r.argument == "C") r.described.reset(), r.wrong = false;
    // A or B in the place of the result only changes numbers, which rows do not check.
    if (r.change == "that of C" || (r.argument == "D" && r.change.starts_with("that of")))
      r.described.reset();
  }

  const auto add = [&](const char* argument_name, const std::string& change, role what, bool wrong,
                       const auto& call) {
    rows.push_back({name, argument_name, change, call, what, wrong});
  };
  const auto workspace = [&](const std::string& change, void* at, std::size_t bytes, bool wrong) {
    add("workspace", change, role::input, wrong,
        [=] { return call_with(&valid->algorithm, at, bytes, nullptr); });
  };
  const auto off_by = [&](std::size_t by) { return without_memory ? nullptr : on.workspace + by; };
  add("algo", "null", role::algorithm, false,
      [=, &on] { return call_with(nullptr, on.workspace, workspace_bytes, nullptr); });
  add("algo", "of zeros", role::algorithm, true, [=, &on] {
    const cublasLtMatmulAlgo_t zeros{};
    return call_with(&zeros, on.workspace, workspace_bytes, nullptr);
  });
  workspace("null", nullptr, workspace_bytes, true);
  workspace("null, of no bytes", nullptr, 0, false);
  workspace("of no bytes", on.workspace, 0, false);
  workspace("of all there is", on.workspace, ~std::size_t{0}, true);
  // Aligned, so that nothing else is wrong with it.
  void* host_memory = b.host();
  std::size_t host_bytes = buffers::bytes_each;
  std::align(256, host_bytes / 2, host_memory, host_bytes);
  workspace("in host memory", host_memory, host_bytes, true);
  workspace("freed", b.freed(), buffers::bytes_each, true);
  for (const std::size_t by : {1, 2, 4, 8, 16, 128})
    workspace(fmt::format("off by {}", by), off_by(by), workspace_bytes - 256, by < 16);
  for (const auto& [words, stream, wrong] :
       {std::tuple{"cudaStreamLegacy", cudaStreamLegacy, false},
        std::tuple{"cudaStreamPerThread", cudaStreamPerThread, false},
        std::tuple{"no stream at all", reinterpret_cast<cudaStream_t>(b.host()), true}})
    add("stream", words, role::handle, wrong,
        [=, &on, s = stream] { return call_with(&valid->algorithm, on.workspace, workspace_bytes, s); });
  return rows;
}

std::vector<row> whole_conversions(cublasHandle_t /*handle*/, const buffers& b, depth how_deep) {
  const objects& on = objects_of(b);
  struct live {
    lt_conversion operation{};
    std::array<layout, 3> layouts{};
  };
  const auto all = std::make_shared<live>();
  const bool without_memory = b.device(0) == nullptr;
  if (!without_memory) {
    cublasLtMatrixTransformDesc_t created = nullptr;
    CUFAULT_REQUIRE(cublasLtMatrixTransformDescCreate(&created, CUDA_R_32F));
    all->operation.reset(created);
    sequence call;
    for (layout& each : all->layouts) create(call, {.rows = m, .columns = n}, each);
    CUFAULT_REQUIRE(call.came_to().status);
  }
  const auto layout_at = [&](std::size_t i) { return without_memory ? nullptr : all->layouts[i].get(); };
  const std::vector<argument> names{
      {"lightHandle", role::handle}, {"transformDesc", role::handle}, {"alpha", role::scalar},
      {"A", role::input, 0, 0},      {"Adesc", role::handle},         {"beta", role::scalar},
      {"B", role::input, 0, 1},      {"Bdesc", role::handle},         {"C", role::output, 0, 2},
      {"Cdesc", role::handle},       {"stream", role::kept}};
  auto rows = rows_of("cublasLtMatrixTransform with everything given", cublasLtMatrixTransform, names, b,
                      how_deep, on.lt, all->operation.get(), &one, b.device(0), layout_at(0), &one,
                      b.device(1), layout_at(1), b.device(2), layout_at(2), cudaStream_t{});
  for (row& r : rows) {
    r.call = [all, call = std::move(r.call)] { return call(); };
    // cublasLt.h allows a null A or B: "when A is not NULL, but Adesc is NULL".
    if (r.change == "null" && (r.argument == "A" || r.argument == "B")) r.wrong = false;
  }
  return rows;
}

// ---- the case ----

failure_case lt_table() {
  const std::vector<std::string> strides{"S3-3", "S3-8"};
  table_case c("arguments.lt", "products and conversions by cuBLASLt with one value or argument changed",
               {"S3-3"});
  c.on_the_host("layouts", "layouts: all calls",
                {plans(plain, created, by::all_calls), plans(plain, laid_out, by::all_calls)})
      .claims = strides;
  c.on_the_host("layouts_alone", "layouts: cublasLtMatmul with an algorithm found before",
                {plans(plain, laid_out, by::product_alone)})
      .claims = strides;
  c.on_the_host("layouts_transposed",
                "layouts of transposed operands, those made in place, and products of nothing",
                {plans(transposed, created, by::all_calls), plans(transposed, created, by::product_alone),
                 plans(plain, in_place_and_empty, by::all_calls)})
      .claims = strides;
  c.on_the_host("batches", "counts and strides of a batch of two, by all calls and by the product alone",
                {plans(batched, batches, by::all_calls), plans(batched, batches, by::product_alone)})
      .claims = strides;
  c.on_the_host(
      "operation", "descriptors of the operation: all calls",
      {plans(plain, lt_arguments::operations, by::all_calls), plans(biased, biases, by::all_calls)});
  c.on_the_host(
      "operation_alone", "descriptors of the operation: cublasLtMatmul with an algorithm found before",
      {plans(plain, lt_arguments::operations, by::product_alone), plans(biased, biases, by::product_alone)});
  c.on_the_host("preference", "preferences: all calls", {plans(plain, preferences, by::all_calls)});
  c.on_the_host("attributes", "how attributes are set and asked for: buffers, sizes, names", {handed_over});
  c.everything("functions", "the heuristic and the functions below it, and what creates and destroys",
               {functions, creations});
  c.everything("matmul", "cublasLtMatmul, every change", {products});
  c.everything("transform", "cublasLtMatrixTransform, every change, and its layouts and descriptor",
               {conversions, whole_conversions})
      .claims = strides;
  c.failures = {"F-ARG-01", "F-ARG-03", "F-ARG-12", "F-ARG-13", "F-NS-15", "RN-11"};
  c.in_tier = {"control", "layouts"};
  return c;  // NOLINT(cppcoreguidelines-slicing): what it adds builds arms
}

const register_case here{lt_table()};

}  // namespace
}  // namespace cufault
