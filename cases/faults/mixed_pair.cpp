// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   On an H200, cold, 13.1.0 with cuBLASLt 13.0.2: gemm but grouped, gemv, trsmBatched; with 13.7.0, 13.8.2, 13.10.0 none.
// Why          cuBLAS asks for its cuBLASLt by name, and the loader gives it the one that is loaded already: that of the other version.
// Documented   pytorch#91067, vllm#35608. It takes a second cuBLAS (CUFAULT_OTHER_CUBLAS), of the same major version.
#include "harness/binding/cublas_binding.hpp"
#include "harness/matrix/world.hpp"

#include <string>
#include <string_view>

namespace cufault {
namespace {

void load_mixture(world& w) {
  const cublas_paths ours = files_of(w.of_trial().libraries()), other = files_of(trial::other_libraries());
  const auto same = [](const std::string& one, const std::string& two) {
    constexpr std::size_t to_major = std::string_view("libcublasLt.so.13").size();
    return one.substr(0, to_major) == two.substr(0, to_major);
  };
  if (!same(ours.cublaslt.filename(), other.cublaslt.filename()))
    throw not_provoked("the second cuBLAS is of another major version");
  if (const load_result loaded = load_cublas({w.of_trial().libraries().cublas, other.cublaslt}); !loaded.ok())
    throw not_provoked("the loader refused the mixture: " + loaded.words);
}

const register_fault here{{.name = "mixed_pair",
                           .summary = "cuBLAS with the cuBLASLt of another version",
                           .kind = "pair",
                           .before_operation = true,
                           .arrange =
                               [](arm& a) {
                                 a.other_cublas = true;
                                 a.binds_itself = a.kind != arm_kind::control;
                               },
                           .provoke = load_mixture}};

}  // namespace
}  // namespace cufault
