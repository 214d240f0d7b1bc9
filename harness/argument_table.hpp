// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/trial.hpp"

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

/// The argument table: from one valid call of a function, every call in which exactly one argument is changed. What came of it
/// (status, the parameter that was blamed, which operands were written, what the wait said) is recorded, not presumed.
namespace cufault::argument_table {

/// What an argument is, and so in which ways it is changed.
enum class role {
  handle,             ///< null
  enumeration,        ///< values that the header does not have
  size,               ///< negative, zero, huge
  leading_dimension,  ///< one below the smallest, zero, negative
  stride,             ///< zero, negative, one: elements between the matrices of a batch
  increment,          ///< zero, negative
  element_size,       ///< negative, zero, three bytes
  scalar,             ///< null, in device memory, at 8 mod 16
  input,              ///< null, host memory, off by 1, 2, 4 and 8 bytes, freed, the output's
  output,             ///< the same; an alias of each input
  pointer_array,  ///< null, in host memory, the matrix itself, freed; of null, of host addresses, of addresses off by 2
  host_array,   ///< null, in device memory
  host_output,  ///< null
  kept          ///< as it is
};

struct argument {
  std::string name;
  role what = role::kept;
  std::int64_t least = 0;  ///< the smallest legal value of a leading dimension
  /// Of a pointer array: whose matrices it is of. Of an input or output: whose memory it is given; C's and A's if nothing is said.
  int operand = usual;
  static constexpr int usual = -1, none = -2;
};

/// What the pointers of an array in device memory are.
enum class pointing { at_matrices, at_null, at_host_memory, off_by_2 };

/// Buffers for all rows of a process: device memory with an image of what it should hold, host memory, and freed memory.
class buffers {
 public:
  static constexpr std::size_t bytes_each = 16
                                            << 10;  ///< of one operand; a third of it is guard on either side
  buffers();                                        ///< throws setup_failed
  struct without_memory {};
  explicit buffers(without_memory /*unused*/);  ///< null everywhere: enough to make rows and count them
  ~buffers();
  buffers(const buffers&) = delete;
  buffers& operator=(const buffers&) = delete;

  /// Device operand 0, 1 or 2 (A, B, C): a 16-by-16 matrix of any type has room, at 256 bytes' alignment.
  [[nodiscard]] std::byte* device(int operand) const;
  [[nodiscard]] std::byte* host() const { return host_.get(); }  ///< 16-byte aligned, zeros
  [[nodiscard]] std::byte* freed() const { return freed_; }
  [[nodiscard]] std::byte* device_scalar() const;
  /// Pointers to `batch` matrices of an operand, matrix_bytes apart, in device memory; and the right ones in host memory.
  static constexpr int batch = 2;
  static constexpr std::size_t matrix_bytes = bytes_each / 4;
  [[nodiscard]] std::byte* pointers(int operand, pointing where = pointing::at_matrices) const;
  [[nodiscard]] std::byte* host_pointers(int operand) const;

  /// Everything as it was before any call. A row that wrote something costs a copy.
  void restore();
  /// "nothing written", "C written", "A, C and outside written", "host memory written": what differs now. The device must be idle.
  std::string written();

 private:
  std::byte* device_ = nullptr;
  std::byte* freed_ = nullptr;
  std::unique_ptr<std::byte[]> host_;
  std::unique_ptr<std::byte[]> host_pointers_;
  std::vector<std::byte> image_, now_;
  bool dirty_ = true;
};

/// One row: what is changed, and the call with it.
struct row {
  std::string function;  ///< "cublasSgemm"
  std::string argument;  ///< "lda"; empty for the valid call
  std::string change;    ///< "one too small"
  std::function<cublasStatus_t()> call;
  [[nodiscard]] std::string text() const {
    return argument.empty() ? function : function + " " + argument + " " + change;
  }
};

/// Which changes a table makes: those that may reach memory cost a process where they damage the context.
enum class depth { checked_on_the_host, everything };

/// Rows are made once in each process, when handle and buffers exist.
using row_maker = std::function<std::vector<row>(cublasHandle_t, const buffers&, depth)>;

/// Observes every row of what `makers` make. Rows are numbered alike in every process.
void run(trial& t, const std::vector<row_maker>& makers, depth how_deep);
/// Observes only the valid calls, which must succeed.
void run_valid(trial& t, const std::vector<row_maker>& makers);

/// Changes of one argument, as what is said of it and value.
template <class A>
std::vector<std::pair<std::string, A>> changes_of(const argument& about, A valid, const buffers& b,
                                                  depth how_deep) {
  const role what = about.what;
  std::vector<std::pair<std::string, A>> all;
  if constexpr (std::is_enum_v<A>) {
    if (what == role::enumeration) all = {{"of 99", static_cast<A>(99)}, {"of -1", static_cast<A>(-1)}};
  } else if constexpr (std::is_integral_v<A>) {
    if (what == role::size) {
      all = {{"of -1", static_cast<A>(-1)}, {"of 0", A{0}}};
      if (how_deep == depth::everything) all.emplace_back("huge", A{0x7fffffff});
    }
    if (what == role::leading_dimension)
      all = {
          {"one too small", static_cast<A>(about.least - 1)}, {"of 0", A{0}}, {"of -1", static_cast<A>(-1)}};
    if (what == role::stride) all = {{"of 0", A{0}}, {"of 1", A{1}}, {"of -1", static_cast<A>(-1)}};
    if (what == role::increment) all = {{"of 0", A{0}}, {"of -1", static_cast<A>(-1)}};
    if (what == role::element_size) all = {{"of -1", static_cast<A>(-1)}, {"of 0", A{0}}, {"of 3", A{3}}};
  } else if constexpr (std::is_pointer_v<A>) {
    // NOLINTBEGIN(performance-no-int-to-ptr): the table passes any address as any operand
    const auto at = [](const std::byte* p, std::uintptr_t off = 0) {
      return reinterpret_cast<A>(reinterpret_cast<std::uintptr_t>(p) + off);
    };
    // NOLINTEND(performance-no-int-to-ptr)
    // A kernel reads the array: nothing of it is checked on the host for sure.
    const bool of_kernel = what == role::pointer_array;
    if (what != role::kept && (!of_kernel || how_deep == depth::everything))
      all.emplace_back("null", nullptr);
    if (what == role::scalar) {
      all.emplace_back("zero at 8 mod 16", at(b.host() + 8));
      if (how_deep == depth::everything) all.emplace_back("in device memory", at(b.device_scalar()));
    }
    if ((what == role::input || what == role::output) && how_deep == depth::everything) {
      for (const unsigned by : {1U, 2U, 4U, 8U})
        all.emplace_back(fmt::format("off by {}", by), at(reinterpret_cast<const std::byte*>(valid), by));
      all.emplace_back("in host memory", at(b.host() + 256));
      all.emplace_back("freed", at(b.freed()));
      const int usual = what == role::input ? 2 : 0;
      const int other = about.operand == argument::usual ? usual : about.operand;
      if (other != argument::none)
        all.emplace_back(fmt::format("that of {}", "ABC"[other]), at(b.device(other)));
    }
    if (of_kernel && how_deep == depth::everything) {
      all.emplace_back("in host memory", at(b.host_pointers(about.operand)));
      all.emplace_back("the matrix itself", at(b.device(about.operand)));
      all.emplace_back("freed", at(b.freed()));
      all.emplace_back("of null", at(b.pointers(about.operand, pointing::at_null)));
      all.emplace_back("of host addresses", at(b.pointers(about.operand, pointing::at_host_memory)));
      all.emplace_back("of addresses off by 2", at(b.pointers(about.operand, pointing::off_by_2)));
    }
    if (what == role::host_array && how_deep == depth::everything)
      all.emplace_back("in device memory", at(b.device(1)));
  }
  return all;
}

/// Rows of one function: the valid call, then every change of every argument, in the order of its parameters.
template <class... A, class... V>
std::vector<row> rows_of(const std::string& function, cublasStatus_t (*f)(A...),
                         const std::vector<argument>& names, const buffers& b, depth how_deep, V... valid) {
  static_assert(sizeof...(A) == sizeof...(V));
  const std::tuple<A...> arguments{
      (A)(valid)...};  // NOLINT: values of the table become what the function takes
  std::vector<row> rows;
  rows.push_back({function, "", "", [f, arguments] { return std::apply(f, arguments); }});
  const auto change_each = [&]<std::size_t I>(std::integral_constant<std::size_t, I> /*which*/) {
    for (const auto& [change, value] : changes_of(names.at(I), std::get<I>(arguments), b, how_deep)) {
      auto changed = arguments;
      std::get<I>(changed) = value;
      rows.push_back({function, names.at(I).name, change, [f, changed] { return std::apply(f, changed); }});
    }
  };
  const auto all = [&]<std::size_t... I>(std::index_sequence<I...> /*which*/) {
    (change_each(std::integral_constant<std::size_t, I>{}), ...);
  };
  all(std::make_index_sequence<sizeof...(A)>{});
  return rows;
}

}  // namespace cufault::argument_table
