// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   Double precision emulated in fixed point: handles that ignore the environment; launches that fail and damage the context
//              when only few bits of each number are kept.
// Why          cublasCreate did not initialise all of its memory, so earlier contents could decide whether the environment counts. For the
//              launches no cause is given. Supposed: up to seven bits and a sign fit into one slice of eight; more need a second.
// Documented   cuBLAS library, Floating Point Emulation: CUBLAS_EMULATE_DOUBLE_PRECISION, CUBLAS_EMULATION_STRATEGY and
//              CUBLAS_FIXEDPOINT_EMULATION_MANTISSA_BIT_COUNT, from 13.0 Update 2 on, with compute capability 8.x, 9.0, 10.0, 11.0 and
//              12.x. Release notes: RN-08 (CUB-9302), resolved in 13.1; RN-10 (5692684), 7 bits or fewer, resolved in 13.1 Update 1.
// What helps   For the environment, documented: the same settings by functions of the handle. Also tried, for few bits: more bits, and no
//              emulation.
// Measured     H200, driver 580.159.04, cuBLAS 13.1.0: neither. Products are emulated if a handle or the environment asks for it, by every
//              handle tried, whatever its memory held, also with 1 to 7 bits. A handle does not report the environment's settings.
//
// CUBLAS_EMULATE_SINGLE_PRECISION is not tested: its numbers are not limited to fewer bits, so they prove nothing (and it is documented
// for compute capability 10.0 and 10.3 alone).
#include "cases/numbers/fine_product.hpp"
#include "harness/kit/products.hpp"

#include <cublas_v2.h>
#include <fmt/format.h>

#include <malloc.h>

#include <array>
#include <map>
#include <string>
#include <vector>

namespace cufault {
namespace {

// ---- settings of a handle, as numbers: headers before CUDA 13.0 Update 2 lack the names ----

struct settings {
  int math_mode = 0;  // CUBLAS_DEFAULT_MATH
  int strategy = 0, mantissa_control = 0, mantissa_bits = 0;
};

/// CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH, CUBLAS_EMULATION_STRATEGY_EAGER, CUDA_EMULATION_MANTISSA_CONTROL_FIXED.
constexpr settings eager(int bits) {
  return {8, 2, 1, bits};
}
/// CUBLAS_EMULATION_STRATEGY_PERFORMANT, and more bits than double precision has.
constexpr settings unlike_the_environment{0, 1, 1, 55};

/// CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT
constexpr auto emulated_double = static_cast<cublasComputeType_t>(79);

#if CUBLAS_VER_MAJOR > 13 || (CUBLAS_VER_MAJOR == 13 && CUBLAS_VER_MINOR >= 1)
/// Returns the first status that is not success.
cublasStatus_t set(cublasHandle_t handle, const settings& to) {
  for (const cublasStatus_t status :
       {cublasSetMathMode(handle, static_cast<cublasMath_t>(to.math_mode)),
        cublasSetEmulationStrategy(handle, static_cast<cublasEmulationStrategy_t>(to.strategy)),
        cublasSetFixedPointEmulationMantissaControl(
            handle, static_cast<cudaEmulationMantissaControl>(to.mantissa_control)),
        cublasSetFixedPointEmulationMaxMantissaBitCount(handle, to.mantissa_bits)})
    if (status != CUBLAS_STATUS_SUCCESS) return status;
  return CUBLAS_STATUS_SUCCESS;
}

void measure_settings(trial& t, cublasHandle_t handle, const std::string& whose) {
  cublasMath_t math_mode{};
  cublasEmulationStrategy_t strategy{};
  cudaEmulationMantissaControl control{};
  int bits = 0;
  CUFAULT_REQUIRE(cublasGetMathMode(handle, &math_mode));
  CUFAULT_REQUIRE(cublasGetEmulationStrategy(handle, &strategy));
  CUFAULT_REQUIRE(cublasGetFixedPointEmulationMantissaControl(handle, &control));
  CUFAULT_REQUIRE(cublasGetFixedPointEmulationMaxMantissaBitCount(handle, &bits));
  t.measure("math mode of " + whose, math_mode);
  t.measure("strategy of " + whose, strategy);
  t.measure("mantissa control of " + whose, control);
  t.measure("mantissa bits of " + whose, bits);
}
#else
[[noreturn]] void not_in_these_headers() {
  throw not_provoked(
      "built with a CUDA before 13.0 Update 2, whose headers have no fixed-point emulation: build with a "
      "later one");
}
cublasStatus_t set(cublasHandle_t /*handle*/, const settings& /*to*/) {
  not_in_these_headers();
}
void measure_settings(trial& /*t*/, cublasHandle_t /*handle*/, const std::string& /*whose*/) {
  not_in_these_headers();
}
#endif

// ---- numbers that reveal emulation ----

/// The result of a product, and whether it used limited bits of its numbers.
struct emulation_result {
  product_result product;
  bool limited = false;
};

status_record record_of(const emulation_result& result) {
  status_record r = record_of(result.product);
  if (result.product.ok()) r.facts["bits_used"] = std::string(result.limited ? "limited" : "all");
  return r;
}

/// Exact: 4 k is at most 2^13 here. The small term is lost if 35 bits or fewer are kept.
using fine_doubles = fine_product<double, 36>;

emulation_result told(const fine_doubles& work, cublasStatus_t status) {
  const product_result whole = work.whole(status);
  if (whole.right) return {whole, false};
  const product_result limited = work.limited(status);
  return {limited, limited.right};
}

emulation_result by_dgemm(fine_doubles& work, cublasHandle_t handle) {
  const auto doubles = [](const void* at) { return static_cast<const double*>(at); };
  const auto p = work.described(CUBLAS_COMPUTE_64F);
  const auto m = static_cast<int>(p.m), n = static_cast<int>(p.n), k = static_cast<int>(p.k);
  return told(work,
              cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, doubles(p.alpha), doubles(p.a.data), m,
                          doubles(p.b.data), k, doubles(p.beta), static_cast<double*>(work.poisoned_c()), m));
}

emulation_result by_gemm_ex(fine_doubles& work, cublasHandle_t handle, cublasComputeType_t compute) {
  return told(work, gemm_ex(handle, work.described(compute), work.poisoned_c()));
}

constexpr std::array all_extents{product_extents{64, 48, 32}, product_extents{256, 192, 320},
                                 product_extents{1024, 1040, 2048}};
constexpr product_extents usual = all_extents[1];

constexpr int limited_bits = 15;  // fill two slices of eight bits, with the sign

// The end of the process releases these objects: some arms leave a context in which nothing can be freed, and the next cublasCreate would
// reuse freed host memory.

void require_emulation(fine_doubles& work) {
  const cublasHandle_t handle = new_handle();
  CUFAULT_REQUIRE(set(handle, eager(limited_bits)));
  const emulation_result seen = by_dgemm(work, handle);
  if (!seen.product.ok() || !seen.limited)
    throw not_provoked(fmt::format(
        "a handle that is told to emulate does not, a product comes to {}{}: take compute capability 8.x, "
        "9.0, 10.0, 11.0 or 12.x and cuBLAS 13.1 or later",
        record_of(seen).text(), seen.product.ok() ? " of all bits" : ""));
}

void control(trial& t) {
  t.open_context();
  for (const product_extents& extents : all_extents) {
    fine_doubles work(extents);
    require_emulation(work);
    const cublasHandle_t plain = new_handle(), told = new_handle();
    CUFAULT_OBSERVE_AS("cublasGemmEx", "fp64", by_gemm_ex(work, plain, CUBLAS_COMPUTE_64F));
    CUFAULT_OBSERVE_AS("cublasSetMathMode", "and_emulation_settings", set(told, eager(limited_bits)));
    CUFAULT_OBSERVE_AS("cublasGemmEx", "fp64_emulated_compute_type", by_gemm_ex(work, told, emulated_double));
    CUFAULT_OBSERVE_AS("cublasGemmEx", "fp64_emulated_by_math_mode",
                       by_gemm_ex(work, told, CUBLAS_COMPUTE_64F));  // selects by the math mode
  }
}

// ---- RN-08: the environment ----

const std::map<std::string, std::string> asking_for_emulation{
    {"CUBLAS_EMULATE_DOUBLE_PRECISION", "1"},
    {"CUBLAS_EMULATION_STRATEGY", "eager"},
    {"CUBLAS_FIXEDPOINT_EMULATION_MANTISSA_BIT_COUNT", std::to_string(limited_bits)}};

/// A result of all bits counts as a failure here.
status_record dgemm_of_limited_bits(fine_doubles& work, cublasHandle_t handle) {
  const emulation_result seen = by_dgemm(work, handle);
  if (!seen.product.ok() || seen.limited) return record_of(seen);
  require_emulation(work);
  status_record kept = record_of(seen);
  kept.ok = false;
  return kept;
}

// Only the environment configures these handles.

void first_handles(trial& t) {
  t.open_context();
  fine_doubles work(usual);
  for (const char* whose : {"the first handle", "a second one beside it"}) {
    const cublasHandle_t handle = observed_handle();
    measure_settings(t, handle, whose);
    CUFAULT_OBSERVE_AS("cublasDgemm", "limited_bits", dgemm_of_limited_bits(work, handle));
  }
}

/// Returns the first result that ignores the environment variables.
status_record dgemm_by_handles_in_turn(trial& t, fine_doubles& work, int handles) {
  status_record first{.numbers = numbers_found::right};
  int others = 0;
  for (int i = 0; i < handles; ++i) {
    const cublasHandle_t handle = new_handle();
    if (const status_record r = dgemm_of_limited_bits(work, handle); !r.ok && ++others == 1) first = r;
    CUFAULT_REQUIRE(set(handle, unlike_the_environment));
    CUFAULT_REQUIRE(cublasDestroy(handle));
  }
  t.measure("handles", handles);
  t.measure("handles that do not do as the environment asks", others);
  return first;
}

void handles_in_turn(trial& t) {
  t.open_context();
  fine_doubles work(usual);
  CUFAULT_OBSERVE_AS("cublasDgemm", "limited_bits_handles_in_turn", dgemm_by_handles_in_turn(t, work, 16));
}

/// While an object lives, memory from malloc is full of this byte, except in small blocks that malloc keeps.
class memory_full_of {
 public:
  explicit memory_full_of(int byte) { mallopt(M_PERTURB, byte ^ 0xff); }
  ~memory_full_of() { mallopt(M_PERTURB, 0); }
  memory_full_of(const memory_full_of&) = delete;
  memory_full_of& operator=(const memory_full_of&) = delete;
};

cublasStatus_t create_in_memory_of(int byte, cublasHandle_t* handle) {
  const memory_full_of that(byte);
  return cublasCreate(handle);
}

void used_memory(trial& t) {
  t.open_context();
  fine_doubles work(usual);
  for (const int byte : {0x00, 0x01, 0x80}) {
    cublasHandle_t handle = nullptr;
    CUFAULT_OBSERVE_AS("cublasCreate", "in_filled_memory", create_in_memory_of(byte, &handle));
    measure_settings(t, handle, fmt::format("a handle in memory of {:#04x}", byte));
    observe_call({"cublasDgemm", fmt::format("limited_bits_handle_in_memory_of_{:#04x}", byte)},
                 [&] { return dgemm_of_limited_bits(work, handle); });
  }
}

void setters(trial& t) {
  t.open_context();
  fine_doubles work(usual);
  cublasHandle_t handle = nullptr;
  CUFAULT_OBSERVE_AS("cublasCreate", "in_filled_memory", create_in_memory_of(0x01, &handle));
  CUFAULT_OBSERVE_AS("cublasDgemm", "limited_bits", dgemm_of_limited_bits(work, handle));
  t.apply("cublasSetMathMode, cublasSetEmulationStrategy and the mantissa's control and bits");
  CUFAULT_OBSERVE_AS("cublasSetMathMode", "and_emulation_settings", set(handle, eager(limited_bits)));
  CUFAULT_OBSERVE_AS("cublasDgemm", "limited_bits", dgemm_of_limited_bits(work, handle));
}

// ---- RN-10: few bits, which may damage the context ----

void multiply_in(trial& t, const std::vector<int>& bits) {
  t.for_each_row(bits.size() * all_extents.size(), [&]() -> trial::row_function {
    t.open_context();
    fine_doubles probe(usual);
    require_emulation(probe);
    return [&bits, handle = new_handle()](std::size_t row) {
      const product_extents& extents = all_extents.at(row % all_extents.size());
      const int kept = bits.at(row / all_extents.size());
      fine_doubles work(extents);
      CUFAULT_REQUIRE(set(handle, eager(kept)));
      observe_call({"cublasGemmEx", variant_of(fmt::format("{} bits, m = {}", kept, extents.m))},
                   [&] { return by_gemm_ex(work, handle, emulated_double); });
    };
  });
}

void seven_bits(trial& t) {
  multiply_in(t, {7});
}

void fewer_bits(trial& t) {
  multiply_in(t, {1, 3, 5});
}

void more_bits(trial& t) {
  seven_bits(t);
  t.apply("8 bits");
  multiply_in(t, {8});
}

void without_emulation(trial& t) {
  seven_bits(t);
  t.apply("CUBLAS_COMPUTE_64F and the default math mode");
  const cublasHandle_t handle = handle_in_context(t);
  for (const product_extents& extents : all_extents) {
    fine_doubles work(extents);
    CUFAULT_OBSERVE_AS("cublasGemmEx", "fp64", by_gemm_ex(work, handle, CUBLAS_COMPUTE_64F));
  }
}

// ---- the case ----

void emulation(failure_case& c) {
  // Removes settings of the surrounding environment from the arms.
  const auto add = [&](const char* name, arm_kind kind, const char* summary, void (*body)(trial&)) -> arm& {
    arm& a = c.add(name, kind, summary, body);
    for (const auto& [variable, value] : asking_for_emulation) a.environment[variable] = "";
    for (const char* variable :
         {"CUBLAS_EMULATE_SINGLE_PRECISION", "CUBLAS_EMULATION_SPECIAL_VALUES_SUPPORT_MASK"})
      a.environment[variable] = "";
    return a;
  };
  const auto add_asked_for = [&](const char* name, arm_kind kind, const char* summary, void (*body)(trial&)) {
    arm& a = add(name, kind, summary, body);
    for (const auto& [variable, value] : asking_for_emulation) a.environment[variable] = value;
  };

  add("control", arm_kind::control, "native products, and emulated ones of 15 bits by handles that are told",
      control);
  add_asked_for("first_handles", arm_kind::fault, "the environment asks for 15 bits: the first two handles",
                first_handles);
  add_asked_for("handles_in_turn", arm_kind::fault,
                "the environment asks for 15 bits: handles made where others were destroyed",
                handles_in_turn);
  add_asked_for("used_memory", arm_kind::fault,
                "the environment asks for 15 bits: handles made in memory full of 0x00, 0x01 and 0x80",
                used_memory);
  add("seven_bits", arm_kind::fault, "emulation with 7 bits, three shapes", seven_bits);
  add("fewer_bits", arm_kind::fault, "emulation with 1, 3 and 5 bits, three shapes", fewer_bits);
  add_asked_for("setters", arm_kind::remedy, "what the environment asks for, said by the API", setters);
  add("more_bits", arm_kind::remedy, "8 bits in place of 7", more_bits);
  add("without_emulation", arm_kind::remedy, "native double precision in place of 7 bits", without_emulation);
  c.in_tier = {"control", "seven_bits"};
}

const register_case here(
    "numbers.emulation",
    "double precision emulated in fixed point: an environment that is ignored, and few bits",
    {"RN-08", "RN-10"}, emulation);

}  // namespace
}  // namespace cufault
