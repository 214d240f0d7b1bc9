// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/kit/lt_problem.hpp"
#include "harness/kit/products.hpp"
#include "harness/trial/observe.hpp"

#include <cublasLt.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

/// Shared by the cases about defects of single algorithms: the configurations of an algorithm that cuBLASLt accepts.
namespace cufault {

/// The algorithm with most of these documented defects, by its CUBLASLT_ALGO_CONFIG_ID.
inline constexpr int algorithm_66 = 66;

/// How many parts K is split into, and how their sums are added up.
struct split {
  std::int32_t parts = 1;
  cublasLtReductionScheme_t scheme = CUBLASLT_REDUCTION_SCHEME_NONE;
};

/// Value of an attribute in a configuration; `none` if it has none.
template <class T>
T configured(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t attribute,
             T none = {}) {
  T value = none;
  std::size_t written = 0;
  if (cublasLtMatmulAlgoConfigGetAttribute(&algorithm, attribute, &value, sizeof value, &written) !=
      CUBLAS_STATUS_SUCCESS)
    return none;
  return value;
}

inline int id_of(const cublasLtMatmulAlgo_t& algorithm) {
  return configured<std::int32_t>(algorithm, CUBLASLT_ALGO_CONFIG_ID, -1);
}

inline std::int32_t parts_of(const cublasLtMatmulAlgo_t& algorithm) {
  return configured<std::int32_t>(algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 1);
}

/// E.g. "algorithm 66, tile 20, stages 36, 3 parts, scheme 2", with numbers of the header.
inline std::string description(const cublasLtMatmulAlgo_t& algorithm) {
  return fmt::format("algorithm {}, tile {}, stages {}, {} parts, scheme {}", id_of(algorithm),
                     configured<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID),
                     configured<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_STAGES_ID),
                     parts_of(algorithm),
                     configured<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME));
}

/// The numbers of description() as facts.
inline fact_map facts_of(const cublasLtMatmulAlgo_t& algorithm) {
  return {{"first_failing",
           std::vector<std::int64_t>{
               id_of(algorithm), configured<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID),
               configured<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_STAGES_ID), parts_of(algorithm),
               configured<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME)}}};
}

/// A problem, and configurations that cuBLASLt can run: proposed or forced.
class configurations {
 public:
  configurations(cublasLtHandle_t lt, const argument_check::product& described)
      : configurations(lt, described, described.c.type) {}
  /// D has another type than C, and so its own layout.
  configurations(cublasLtHandle_t lt, const argument_check::product& described, cudaDataType d)
      : lt_(lt), described_(described), d_type_(d), problem_(described), d_(problem_.c()) {
    if (d == described.c.type) return;
    d_ = problem_.own_d();
    set_attribute(d_, CUBLASLT_MATRIX_LAYOUT_TYPE, static_cast<std::uint32_t>(d));
  }

  [[nodiscard]] lt_problem& problem() { return problem_; }

  /// IDs that cuBLASLt lists for the types, ascending; empty if it lists none.
  [[nodiscard]] std::vector<int> algorithms() const {
    std::vector<int> ids(256);
    int found = 0;
    const auto& p = described_;
    if (cublasLtMatmulAlgoGetIds(lt_, p.compute, p.scalar, p.a.type, p.b.type, p.c.type, d_type_,
                                 static_cast<int>(ids.size()), ids.data(), &found) != CUBLAS_STATUS_SUCCESS)
      return {};
    ids.resize(static_cast<std::size_t>(found));
    std::sort(ids.begin(), ids.end());
    return ids;
  }

  /// At most `most` configurations of an algorithm that pass cublasLtMatmulAlgoCheck: those that the heuristic proposes, then every tile
  /// with every number of stages. The order is reproducible but has no meaning.
  std::vector<cublasLtMatmulAlgo_t> of(int algorithm, const split& how = {}, std::size_t most = 8) {
    std::vector<cublasLtMatmulAlgo_t> all = every(algorithm, how), usable;
    std::shuffle(all.begin(), all.end(), std::mt19937(1));
    for (cublasLtMatmulAlgo_t& each : all) {
      cublasLtMatmulHeuristicResult_t checked{};
      if (usable.size() < most && set(each, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, how.parts) &&
          set(each, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, static_cast<std::uint32_t>(how.scheme)) &&
          cublasLtMatmulAlgoCheck(lt_, problem_.operation(), problem_.a(), problem_.b(), problem_.c(), d_,
                                  &each, &checked) == CUBLAS_STATUS_SUCCESS &&
          checked.workspaceSize <= workbench::workspace_bytes)
        usable.push_back(each);
    }
    return usable;
  }

 private:
  template <class T>
  static bool set(cublasLtMatmulAlgo_t& of, cublasLtMatmulAlgoConfigAttributes_t attribute, T value) {
    return cublasLtMatmulAlgoConfigSetAttribute(&of, attribute, &value, sizeof value) ==
           CUBLAS_STATUS_SUCCESS;
  }

  /// A capability of an algorithm; 0 if it reports none.
  template <class T>
  static T capable(const cublasLtMatmulAlgo_t& of, cublasLtMatmulAlgoCapAttributes_t attribute) {
    T value{};
    std::size_t written = 0;
    if (cublasLtMatmulAlgoCapGetAttribute(&of, attribute, &value, sizeof value, &written) !=
        CUBLAS_STATUS_SUCCESS)
      return {};
    return value;
  }

  /// Values that an algorithm lists; 0 ("undefined" in both lists) if it lists none.
  static std::vector<std::uint32_t> choices(const cublasLtMatmulAlgo_t& of,
                                            cublasLtMatmulAlgoCapAttributes_t attribute) {
    std::size_t bytes = 0;
    if (cublasLtMatmulAlgoCapGetAttribute(&of, attribute, nullptr, 0, &bytes) != CUBLAS_STATUS_SUCCESS ||
        bytes == 0)
      return {0};
    std::vector<std::uint32_t> all(bytes / sizeof(std::uint32_t));
    CUFAULT_REQUIRE(cublasLtMatmulAlgoCapGetAttribute(&of, attribute, all.data(), bytes, &bytes));
    return all;
  }

  std::vector<cublasLtMatmulAlgo_t> every(int algorithm, const split& how) {
    std::vector<cublasLtMatmulAlgo_t> all;
    cublasLtMatmulAlgo_t plain{};
    const auto& p = described_;
    if (cublasLtMatmulAlgoInit(lt_, p.compute, p.scalar, p.a.type, p.b.type, p.c.type, d_type_, algorithm,
                               &plain) != CUBLAS_STATUS_SUCCESS)
      return all;
    if (how.parts > 1 &&
        (capable<std::int32_t>(plain, CUBLASLT_ALGO_CAP_SPLITK_SUPPORT) == 0 ||
         (capable<std::uint32_t>(plain, CUBLASLT_ALGO_CAP_REDUCTION_SCHEME_MASK) & how.scheme) == 0))
      return all;
    // The heuristic's configurations differ in more than these attributes.
    if (problem_.heuristic(lt_, workbench::workspace_bytes) == CUBLAS_STATUS_SUCCESS)
      for (const auto& proposed : problem_.results())
        if (proposed.state == CUBLAS_STATUS_SUCCESS && id_of(proposed.algo) == algorithm)
          all.push_back(proposed.algo);
    for (const std::uint32_t tile : choices(plain, CUBLASLT_ALGO_CAP_TILE_IDS))
      for (const std::uint32_t stages : choices(plain, CUBLASLT_ALGO_CAP_STAGES_IDS)) {
        cublasLtMatmulAlgo_t each = plain;
        if (set(each, CUBLASLT_ALGO_CONFIG_TILE_ID, tile) &&
            set(each, CUBLASLT_ALGO_CONFIG_STAGES_ID, stages))
          all.push_back(each);
      }
    return all;
  }

  cublasLtHandle_t lt_;
  argument_check::product described_;
  cudaDataType d_type_;
  lt_problem problem_;
  cublasLtMatrixLayout_t d_;  // the problem's
};

/// Result of many configurations, tried one after another: the first failure stands for all.
struct survey {
  product_result first_failing{.right = true};
  fact_map facts{};  ///< which it was
  std::size_t failed = 0, tried = 0;

  void add(const fact_map& of, const product_result& result) {
    ++tried;
    if (!result.ok() && ++failed == 1) first_failing = result, facts = of;
  }
  /// True if the context is damaged.
  [[nodiscard]] bool over() const { return first_failing.waited != cudaSuccess; }
};

inline status_record record_of(const survey& s) {
  status_record record = record_of(s.first_failing);
  if (s.failed == 0) return record;
  record.facts = s.facts;
  record.facts["failed"] = static_cast<std::int64_t>(s.failed);
  record.facts["tried"] = static_cast<std::int64_t>(s.tried);
  return record;
}

/// `multiply` gets a configuration and returns a product_result.
template <class Multiply>
survey try_each(std::span<const cublasLtMatmulAlgo_t> all, Multiply&& multiply) {
  survey s;
  for (const cublasLtMatmulAlgo_t& each : all) {
    s.add(facts_of(each), multiply(each));
    if (s.over()) break;
  }
  return s;
}

/// The product by one configuration, with a workspace large enough for any.
inline cublasStatus_t multiply_by(const workbench& on, const lt_problem& problem, const lt_operands& of,
                                  const cublasLtMatmulAlgo_t& algorithm) {
  return problem.multiply(on.lt, of, &algorithm, on.workspace, workbench::workspace_bytes);
}

}  // namespace cufault
