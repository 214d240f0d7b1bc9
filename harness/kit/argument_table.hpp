// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/kit/products.hpp"
#include "harness/model/case.hpp"
#include "harness/trial/trial.hpp"

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "cufault/argument_check.hpp"

/// The argument table: every call that differs in exactly one argument from a valid call of a function. Results are recorded without
/// expectation: status, blamed parameter, operands written, status of the wait.
namespace cufault::argument_table {

/// Role of an argument, which decides how it is changed.
enum class role {
  handle,             ///< null
  enumeration,        ///< values that the header does not have
  algorithm,          ///< of cublasGemmEx: documented as without effect from compute capability 8.0 on
  size,               ///< negative, zero, huge
  count,              ///< the same, where zero is documented as wrong too
  leading_dimension,  ///< one below the smallest, zero, negative
  stride,             ///< zero, negative, one, huge: elements between the matrices of a batch
  output_stride,      ///< the same, of a result, whose matrices must not overlap
  increment,          ///< zero, negative, which is legal
  spacing,            ///< the same, where negative is documented as wrong
  any_increment,      ///< the same, where both are legal
  element_size,       ///< negative, zero, three bytes
  bytes,              ///< of a value that has `least`: zero, one fewer, one more
  scalar,             ///< null, in device memory, not aligned to 16 bytes
  input,              ///< null, host memory, off by 1, 2, 4 and 8 bytes, freed, each other operand's
  output,             ///< the same
  pointer_array,  ///< the same of the array; of null, of host addresses, of addresses off by 1, 2, 4 and 8
  host_array,     ///< null, in device memory
  host_output,    ///< null
  kept            ///< as it is
};

struct argument {
  std::string name;
  role what = role::kept;
  std::int64_t least = 0;  ///< the smallest legal value of a leading dimension; the only one of bytes
  /// Index of the operand (0, 1 or 2) for inputs, outputs and pointer arrays. The table also tries the memory of the others in its place.
  int operand = none;
  static constexpr int none = -1;
};

/// Target of the pointers in an array in device memory.
enum class pointing { at_matrices, at_null, at_host_memory, off_by_1, off_by_2, off_by_4, off_by_8 };

/// What a row wrote, as a sum of these.
struct written_where {
  static constexpr unsigned a = 1, b = 2, c = 4, outside = 8, host = 16;
};
/// E.g. {}, {"C"}, {"A", "C", "outside"}, {"host"}.
std::vector<std::string> names_of_written(unsigned where);

/// Buffers for all rows of a process: device memory with an image of its expected contents, host memory, and freed memory.
class buffers {
 public:
  static constexpr std::size_t bytes_each =
      16 << 10;  ///< of one operand; a quarter of it is guard on either side
  buffers();     ///< throws setup_failed
  struct without_memory {};
  explicit buffers(without_memory /*unused*/);  ///< null everywhere: enough to make rows and count them
  ~buffers();
  buffers(const buffers&) = delete;
  buffers& operator=(const buffers&) = delete;

  /// Device operand 0, 1 or 2 (A, B, C): holds a 16-by-16 matrix of any type, aligned to 256 bytes.
  [[nodiscard]] std::byte* device(int operand) const;
  [[nodiscard]] std::byte* host() const { return host_.get(); }  ///< 16-byte aligned, zeros
  [[nodiscard]] std::byte* freed() const { return freed_; }
  [[nodiscard]] std::byte* device_scalar() const;
  /// Pointers to `batch` matrices of an operand, matrix_bytes apart, in device memory; and the valid ones in host memory.
  static constexpr int batch = 2;
  static constexpr std::size_t matrix_bytes = bytes_each / 4;
  [[nodiscard]] std::byte* pointers(int operand, pointing where = pointing::at_matrices) const;
  [[nodiscard]] std::byte* host_pointers(int operand) const;

  /// Restores the original contents. Copies only after a row that wrote something.
  void restore();
  /// Differences from the original, as written_where. The device must be idle.
  unsigned written();

 private:
  std::byte* device_ = nullptr;
  std::byte* freed_ = nullptr;
  std::unique_ptr<std::byte[]> host_;
  std::unique_ptr<std::byte[]> host_pointers_;
  std::vector<std::byte> image_, now_;
  bool dirty_ = true;
};

/// Result of a row's call: a status, and facts, e.g. which of several calls returned it.
struct answer {
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  fact_map facts{};
  answer(cublasStatus_t what, fact_map seen = {})  // not explicit, since most have no facts
      : status(what), facts(std::move(seen)) {}
};

/// One row: the change, and the call with it.
struct row {
  std::string function;  ///< "cublasSgemm"
  std::string argument;  ///< "lda"; empty for the valid call
  std::string change;    ///< "one too small"
  std::function<answer()> call;
  role what = role::kept;
  bool wrong = false;  ///< contradicts what the documentation says of that argument
  /// The call as argument_check sees it, if that looks at the changed argument.
  std::optional<argument_check::product> described{};
  [[nodiscard]] std::string text() const {
    return argument.empty() ? function : function + " " + argument + " " + change;
  }
};

/// Which changes a table makes: changes that may access memory cost a process each if they damage the context.
enum class depth { checked_on_the_host, everything };

/// Makes the rows. Called in each process, after handle and buffers exist, and once without them: it must not call the library then.
using row_maker = std::function<std::vector<row>(cublasHandle_t, const buffers&, depth)>;

/// Prediction of argument_check::check for a call, by its gravest problem.
enum class prediction : unsigned char { not_asked, nothing, caution, silent, unsupported, refused };
prediction forecast_of(const std::optional<argument_check::product>& described);

/// How a row ended, as its process reported it.
struct row_end {
  bool returned = false;  ///< or the process crashed or hung in the call
  prediction predicted = prediction::not_asked;
  bool due = false;   ///< the product that is described has elements
  bool lost = false;  ///< matrices of its result lie on each other: they cannot all be right
  int status = 0;     ///< cublasStatus_t
  int waited = 0;     ///< cudaError_t
  unsigned written = 0;
  double milliseconds = 0;  ///< with all that is done before and after the call
};
struct row_seen {
  row what;  ///< without memory: not to be called
  row_end end;
  std::string status;  ///< by name; "crashed: SIGSEGV", "timed out" where it did not return
};

/// True if the prediction was right: nothing, and the call worked; refused, and CUBLAS_STATUS_INVALID_VALUE; unsupported, and
/// CUBLAS_STATUS_NOT_SUPPORTED; silent, and accepted with wrong results or a crash. Nullopt without a prediction.
std::optional<bool> predicted_correctly(const row_end& end);

/// Results of rows whose value contradicts the documentation, and their number, by kind of argument: {"leading dimension:
/// CUBLAS_STATUS_INVALID_VALUE", 18}.
std::map<std::string, int> outcomes_by_kind(std::span<const row_seen> rows);

struct found_count {
  int all = 0;    ///< calls
  int found = 0;  ///< those of which check() finds something
  friend bool operator==(const found_count&, const found_count&) = default;
};
/// Counts, by kind of argument, the calls that misbehave and those of them that argument_check predicts; under "" the calls that behave.
/// Only described sizes, leading dimensions, strides, counts and enumerations.
std::map<std::string, found_count> found_beforehand(std::span<const row_seen> rows);

/// Measures in the trial: the speed of rows, the rows that argument_check predicted and those it did not, and the two counts above, which
/// rules of claims name.
void measure(trial& t, std::span<const row_seen> rows);

/// Observes and measures every row of `makers`. Rows have the same numbers in every process. Returns none if some were not reached.
std::vector<row_seen> run(trial& t, const std::vector<row_maker>& makers, depth how_deep);

/// A case with an arm for each part of a table, and a control arm with the valid calls of all parts. All arms set
/// CUDA_DEVICE_MAX_CONNECTIONS=1.
class table_case : public failure_case {
 public:
  table_case(std::string name, std::string summary, std::vector<std::string> claims_of_each);
  arm& on_the_host(const std::string& name, const std::string& summary, const std::vector<row_maker>& makers);
  arm& everything(const std::string& name, const std::string& summary, const std::vector<row_maker>& makers);
  /// Adds an arm without extending the control arm: for functions that older libraries lack.
  arm& add_newer(const std::string& name, const std::string& summary, const row_maker& maker, depth how_deep);

 private:
  arm& add_part(const std::string& name, const std::string& summary, const std::vector<row_maker>& makers,
                depth how_deep);
  std::vector<std::string> claims_;
  std::shared_ptr<std::vector<row_maker>> all_ = std::make_shared<std::vector<row_maker>>();
};

/// A value for an argument.
template <class A>
struct change {
  std::string what;
  A value;
  bool wrong = false;  ///< contradicts the documentation
};

std::vector<change<int>> changes_of_enumeration(const argument& about);
/// `bits`: width of the function's type.
std::vector<change<std::int64_t>> changes_of_integer(const argument& about, std::size_t bits, depth how_deep);
std::vector<change<std::uintptr_t>> changes_of_pointer(const argument& about, std::uintptr_t valid,
                                                       const buffers& b, depth how_deep,
                                                       const std::vector<argument>& all);

/// Changes of one argument among `all` of its function.
template <class A>
std::vector<change<A>> changes_of(const argument& about, A valid, const buffers& b, depth how_deep,
                                  const std::vector<argument>& all = {}) {
  std::vector<change<A>> made;
  const auto take = [&](const auto& changes) {
    for (const auto& [words, value, wrong] : changes)
      made.push_back({words, (A)value, wrong});  // NOLINT: the table passes any number as any argument
  };
  if constexpr (std::is_enum_v<A>)
    take(changes_of_enumeration(about));
  else if constexpr (std::is_integral_v<A>)
    take(changes_of_integer(about, sizeof(A) * 8, how_deep));
  else if constexpr (std::is_pointer_v<A>)
    take(changes_of_pointer(about, reinterpret_cast<std::uintptr_t>(valid), b, how_deep, all));
  return made;
}

/// Sets the argument in argument_check's description, by its name in the documentation of cublas<t>gemm and its relatives. Returns false if
/// that has no such argument.
template <class A>
bool put(argument_check::product& p, std::string_view name, const A& value) {
  const auto into = [&]<class T>(std::initializer_list<std::pair<std::string_view, T*>> places) {
    for (const auto& [at, place] : places)
      if (at == name) {
        *place = static_cast<T>(value);
        return true;
      }
    return false;
  };
  if constexpr (std::is_same_v<A, cublasOperation_t>)
    return into.template operator()<cublasOperation_t>({{"transa", &p.a_op}, {"transb", &p.b_op}});
  else if constexpr (std::is_same_v<A, cudaDataType>)
    return into.template operator()<cudaDataType>(
        {{"Atype", &p.a.type}, {"Btype", &p.b.type}, {"Ctype", &p.c.type}});
  else if constexpr (std::is_same_v<A, cublasComputeType_t>)
    return into.template operator()<cublasComputeType_t>({{"computeType", &p.compute}});
  else if constexpr (std::is_integral_v<A>)
    return into.template operator()<std::int64_t>({{"m", &p.m},
                                                   {"n", &p.n},
                                                   {"k", &p.k},
                                                   {"lda", &p.a.leading_dimension},
                                                   {"ldb", &p.b.leading_dimension},
                                                   {"ldc", &p.c.leading_dimension},
                                                   {"strideA", &p.a.stride},
                                                   {"strideB", &p.b.stride},
                                                   {"strideC", &p.c.stride},
                                                   {"batchCount", &p.batch}});
  else if constexpr (std::is_convertible_v<A, const void*>)
    return into.template operator()<const void*>(
        {{"alpha", &p.alpha}, {"A", &p.a.data}, {"B", &p.b.data}, {"beta", &p.beta}, {"C", &p.c.data}});
  else
    return false;
}

/// A call with its arguments: one type for each signature, which compiles faster than one for each parameter.
template <class... A>
struct bound_call {
  cublasStatus_t (*function)(A...);
  std::tuple<A...> arguments;
  answer operator()() const { return std::apply(function, arguments); }
};

/// Rows of one function: the valid call, then every change of every argument in parameter order. `of`: what argument_check cannot derive
/// from the arguments: the function, and types that no argument gives.
template <class... A, class... V>
std::vector<row> described_rows_of(const std::optional<argument_check::product>& of,
                                   const std::string& function, cublasStatus_t (*f)(A...),
                                   const std::vector<argument>& names, const buffers& b, depth how_deep,
                                   V... valid) {
  static_assert(sizeof...(A) == sizeof...(V));
  using arguments = std::tuple<A...>;
  const arguments usual{(A)(valid)...};  // NOLINT: values of the table become what the function takes
  const auto described = [&](const arguments& changed, std::size_t which) {
    auto p = of;
    if (!p) return p;
    std::vector<bool> seen;
    std::apply([&](const auto&... each) { (seen.push_back(put(*p, names.at(seen.size()).name, each)), ...); },
               changed);
    return which < seen.size() && !seen[which] ? std::nullopt : p;
  };
  std::vector<row> rows;
  rows.push_back({.function = function,
                  .argument = {},
                  .change = {},
                  .call = bound_call<A...>{f, usual},
                  .described = described(usual, names.size())});
  const auto change_each = [&]<std::size_t I>(std::integral_constant<std::size_t, I> /*which*/) {
    for (const auto& [words, value, wrong] :
         changes_of(names.at(I), std::get<I>(usual), b, how_deep, names)) {
      auto changed = usual;
      std::get<I>(changed) = value;
      rows.push_back({function, names.at(I).name, words, bound_call<A...>{f, changed}, names.at(I).what,
                      wrong, described(changed, I)});
    }
  };
  const auto all = [&]<std::size_t... I>(std::index_sequence<I...> /*which*/) {
    (change_each(std::integral_constant<std::size_t, I>{}), ...);
  };
  all(std::make_index_sequence<sizeof...(A)>{});
  return rows;
}

/// Rows of a function that argument_check does not support.
template <class F, class... V>
std::vector<row> rows_of(const std::string& function, F f, const std::vector<argument>& names,
                         const buffers& b, depth how_deep, V... valid) {
  return described_rows_of(std::nullopt, function, f, names, b, how_deep, valid...);
}

}  // namespace cufault::argument_table
