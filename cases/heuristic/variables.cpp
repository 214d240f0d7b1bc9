// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Nothing by itself: settings recommended for cuBLASLt's heuristic have no effect, and neither have switches said to turn
//              cuBLASLt off. The arms find which variables the libraries read and what changes the answers.
// Why          An environment variable that no library reads is no setting; cuBLAS calls cuBLASLt whatever a framework says.
// Documented   One source document recommends CUBLASLT_HEURISTIC_MODE=1 to limit the search (S2-9) and its workspace (S2-10), speaks of a
//              cuBLASLt 0.8 (S2-5) and says that without cuBLASLt cuBLAS is used instead (S2-13). cuBLAS documentation,
//              cublasLtMatmulPreferenceAttributes_t: the limits of a search, workspace and reductions among them;
//              cublasLtHeuristicsCacheSetCapacity.
// What helps   To shrink the workspace: the preference's own attributes, measured one by one.
#include "harness/injection/host_faults.hpp"
#include "harness/injection/preloaded.hpp"
#include "harness/kit/lt_problem.hpp"
#include "harness/kit/memory_pressure.hpp"
#include "harness/kit/products.hpp"
#include "harness/trial/observe.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cufault {
namespace {

constexpr product_extents deep{512, 520, 1 << 16};  // few tiles, long sums: cuBLASLt splits k
constexpr std::string_view recommended = "CUBLASLT_HEURISTIC_MODE";

// ---- control ----

void control(trial& t) {
  t.open_context();
  int major = 0, minor = 0;
  CUFAULT_OBSERVE_AS("cublasLtGetProperty", "major", cublasLtGetProperty(MAJOR_VERSION, &major));
  CUFAULT_OBSERVE_AS("cublasLtGetProperty", "minor", cublasLtGetProperty(MINOR_VERSION, &minor));
  const cublasLtHandle_t lt = observed_lt_handle();
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "first_algorithm", lt_product(lt));
  CUFAULT_OBSERVE(cublasLtDestroy(lt));
}

// ---- the version ----

/// 130100 means 13.1.0, so 0.8 would be 800.
void version_of_cublaslt(trial& t) {
  int major = 0;
  CUFAULT_OBSERVE_AS("cublasLtGetProperty", "major", cublasLtGetProperty(MAJOR_VERSION, &major));
  t.measure("version that cublasLtGetVersion says", static_cast<double>(cublasLtGetVersion()));
}

// ---- which variables the libraries read ----

bool is_identifier(std::string_view name) {
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_",
                             digits = "0123456789";
  return name.find_first_of(letters) == 0 &&
         name.find_first_not_of(fmt::format("{}{}", letters, digits)) == std::string_view::npos;
}

void environment_look_ups(trial& t) {
  const cublasLtHandle_t lt = lt_handle_in_context(t);
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "first_algorithm", lt_product(lt));
  create_and_multiply();

  int no_identifiers = 0;
  for (const auto& [library, variable] : host_faults::environment_look_ups()) {
    if (!library.starts_with("lib")) continue;  // skips this program's own look-ups
    if (!is_identifier(variable)) {
      ++no_identifiers;
      continue;
    }
    t.measure(fmt::format("{} asks for {}", library, variable), 1);
  }
  t.measure("look-ups left out, of names that are no identifiers", no_identifiers);
}

// ---- whether the recommended variable changes an answer ----

/// Everything that a query returns about one algorithm. Contains no address, so it may be stored for another process.
struct answer {
  cublasLtMatmulAlgo_t algorithm;
  std::uint64_t workspace_bytes;
  double waves;
};

std::vector<answer> answers(cublasLtHandle_t lt) {
  std::vector<answer> all;
  for (const auto& extents : {product_extents{product_shape::m, product_shape::n, product_shape::k}, deep}) {
    lt_problem problem(extents);
    CUFAULT_REQUIRE(problem.heuristic(lt, 1_GiB));
    for (const auto& r : problem.results()) all.push_back({r.algo, r.workspaceSize, r.wavesCount});
  }
  return all;
}

bool same(const answer& one, const answer& other) {
  return std::memcmp(&one.algorithm, &other.algorithm, sizeof one.algorithm) == 0 &&
         one.workspace_bytes == other.workspace_bytes && one.waves == other.waves;
}

std::uint64_t workspace_of(const std::vector<answer>& all) {
  std::uint64_t bytes = 0;
  for (const answer& a : all) bytes += a.workspace_bytes;
  return bytes;
}

void recommended_variable(trial& t) {
  const cublasLtHandle_t lt = lt_handle_in_context(t);
  const auto now = answers(lt);
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "first_algorithm", lt_product(lt));
  const auto file = t.scratch() / "answers";
  const auto bytes = static_cast<std::streamsize>(now.size() * sizeof(answer));
  if (t.stage() == 0) {
    std::ofstream(file, std::ios::binary).write(reinterpret_cast<const char*>(now.data()), bytes);
    t.continue_in_new_process({{std::string(recommended), "1"}});
    return;
  }
  std::vector<answer> before(std::filesystem::file_size(file) / sizeof(answer));
  std::ifstream(file, std::ios::binary)
      .read(reinterpret_cast<char*>(before.data()),
            static_cast<std::streamsize>(before.size() * sizeof(answer)));
  t.measure("algorithms found without the variable", static_cast<double>(before.size()));
  t.measure("algorithms found with the variable", static_cast<double>(now.size()));
  t.measure("answers differ with the variable",
            std::equal(before.begin(), before.end(), now.begin(), now.end(), same) ? 0 : 1);
  t.measure("workspace wanted without the variable", static_cast<double>(workspace_of(before)), "bytes");
  t.measure("workspace wanted with the variable", static_cast<double>(workspace_of(now)), "bytes");
}

// ---- which settings change an answer ----

void measure_answer(trial& t, const std::string& setting, const lt_problem& problem) {
  const auto found = problem.results();
  t.measure("algorithms found, " + setting, static_cast<double>(found.size()));
  if (found.empty()) return;
  t.measure("workspace of the first algorithm, " + setting, static_cast<double>(found.front().workspaceSize),
            "bytes");
  const auto larger = [](const auto& one, const auto& other) {
    return one.workspaceSize < other.workspaceSize;
  };
  t.measure("largest workspace, " + setting,
            static_cast<double>(std::max_element(found.begin(), found.end(), larger)->workspaceSize),
            "bytes");
}

cublasStatus_t ask_often(lt_problem& problem, cublasLtHandle_t lt, int times) {
  for (int i = 0; i < times; ++i) {
    if (const cublasStatus_t status = problem.heuristic(lt); status != CUBLAS_STATUS_SUCCESS) return status;
  }
  return CUBLAS_STATUS_SUCCESS;
}

void measure_repeated_query(trial& t, const std::string& setting, cublasLtHandle_t lt) {
  constexpr int times = 100;
  lt_problem problem(deep);
  CUFAULT_REQUIRE(ask_often(problem, lt, 1));
  const auto start = std::chrono::steady_clock::now();
  CUFAULT_REQUIRE(ask_often(problem, lt, times));
  const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - start;
  t.measure("a repeated query takes, " + setting, taken.count() / times, "us");
}

void preferences(trial& t) {
  const cublasLtHandle_t lt = lt_handle_in_context(t);
  for (const std::size_t mib : {0, 1, 32, 1024}) {
    lt_problem problem(deep);
    CUFAULT_REQUIRE(problem.heuristic(lt, mib << 20));
    measure_answer(t, fmt::format("at most {} MiB", mib), problem);
  }
  // A mask that leaves no algorithm is a result too.
  for (const auto& [name, mask] : {std::pair{"none", CUBLASLT_REDUCTION_SCHEME_NONE},
                                   {"in place", CUBLASLT_REDUCTION_SCHEME_INPLACE},
                                   {"in the compute type", CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE},
                                   {"in the output type", CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE}}) {
    lt_problem problem(deep);
    set_attribute(problem.preference(), CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{mask});
    problem.heuristic(lt, 1_GiB);
    measure_answer(t, fmt::format("at most 1024 MiB, reduction {}", name), problem);
  }
  {
    lt_problem problem(deep);
    CUFAULT_REQUIRE(problem.heuristic(lt, 1_GiB, nullptr, 1));
    measure_answer(t, "at most 1024 MiB, one algorithm wanted", problem);
  }
  measure_repeated_query(t, "default cache", lt);
  CUFAULT_REQUIRE(cublasLtHeuristicsCacheSetCapacity(0));
  measure_repeated_query(t, "no cache", lt);
  lt_problem problem(deep);
  CUFAULT_REQUIRE(problem.heuristic(lt, 1_GiB));
  measure_answer(t, "at most 1024 MiB, no cache", problem);
  CUFAULT_OBSERVE_AS("cublasLtMatmul", "first_algorithm", lt_product(lt));
}

// ---- whether cuBLAS does without cuBLASLt ----

/// Collects the calls that cuBLASLt logs. Its logger has no user data.
class logged_calls {
 public:
  static logged_calls& all() {
    static logged_calls calls;
    return calls;
  }
  void listen() {
    constexpr int calls_with_arguments = 16;
    CUFAULT_REQUIRE(
        cublasLtLoggerSetCallback([](int, const char* function, const char*) { all().add(function); }));
    CUFAULT_REQUIRE(cublasLtLoggerSetMask(calls_with_arguments));
  }
  /// Returns the functions called since the last time, sorted, and forgets them.
  std::multiset<std::string> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(functions_, {});
  }

 private:
  void add(const char* function) {
    const std::lock_guard lock(mutex_);
    functions_.insert(function);
  }
  std::mutex mutex_;
  std::multiset<std::string> functions_;
};

/// cublasGemmEx in half precision on the bits of the small product's operands, whatever numbers they are.
cublasStatus_t half_precision(cublasHandle_t handle, const product_operands& on_device) {
  using shape = product_shape;
  const float one = 1, zero = 0;
  return cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, shape::m, shape::n, shape::k, &one, on_device.a,
                      CUDA_R_16F, shape::lda, on_device.b, CUDA_R_16F, shape::ldb, &zero, on_device.c,
                      CUDA_R_32F, shape::ldc, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

void cublas_calls_cublaslt(trial& t) {
  t.open_context();
  logged_calls& logged = logged_calls::all();
  logged.listen();
  const cublasHandle_t handle = observed_handle();
  product_operands on_device;
  CUFAULT_REQUIRE(prepare_product(fresh_seed(), &on_device));
  logged.take();
  CUFAULT_OBSERVE_AS("cublasGemmEx", "fp16_unchecked", half_precision(handle, on_device));
  const auto in_half = logged.take();
  CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(handle));
  const auto in_single = logged.take();
  t.measure("cuBLASLt calls in a cublasGemmEx", static_cast<double>(in_half.size()));
  t.measure("cuBLASLt calls in a cublasSgemm", static_cast<double>(in_single.size()));
  t.note("cuBLASLt calls in a cublasGemmEx", fmt::format("{}", fmt::join(in_half, ", ")));
  t.note("cuBLASLt calls in a cublasSgemm", fmt::format("{}", fmt::join(in_single, ", ")));
}

// ---- the case ----

void variables(failure_case& c) {
  c.control("the version, a query and a product with nothing set", control);
  c.fault("version", "what cublasLtGetVersion says", version_of_cublaslt, {"S2-5"}).needs = need::host;
  under_host_injector(c.fault("look_ups", "every environment variable asked for up to the first products",
                              environment_look_ups, {"S2-9", "S2-10"}));
  c.fault("heuristic_mode", "the same queries with CUBLASLT_HEURISTIC_MODE=1", recommended_variable,
          {"S2-9", "S2-10"});
  c.fault("preferences", "what the preference's attributes and the cache change", preferences);
  c.fault("cublas_calls_cublaslt", "cublasGemmEx and cublasSgemm with cuBLASLt's logger on",
          cublas_calls_cublaslt, {"S2-13"});
  for (arm& a : c.arms) a.environment.emplace(recommended, "");
}

const register_case here(
    "heuristic.variables",
    "settings said to govern cuBLASLt's heuristic: which are asked for, and which change what it answers", {},
    variables);

}  // namespace
}  // namespace cufault
