// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// NOLINTBEGIN(performance-no-int-to-ptr): addresses are those of arguments
#include "harness/injector/numbers.hpp"

#include "harness/injector/calls.hpp"
#include "harness/injector/results.hpp"

#include <fmt/format.h>

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace cufault::injector {
namespace {

using std::int64_t;

constexpr int64_t tile_extent = 16, most_tiles = 8, most_k = 1 << 17;
constexpr double most_half = 65504, least_half = 0x1p-24, least_float = 0x1p-126;

struct number {
  double re = 0, im = 0;
  [[nodiscard]] double size() const { return std::abs(re) + std::abs(im); }
};
number operator*(const number& x, const number& y) {
  return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}
number operator+(const number& x, const number& y) {
  return {x.re + y.re, x.im + y.im};
}

const number_format& known_format(int type) {
  const number_format* of = format_of(type);
  if (of == nullptr || (of->bytes == 1 && of->exponent != 0))
    throw std::runtime_error(fmt::format("numbers of cudaDataType {}", type));
  return *of;
}
bool is_half(const number_format& of) {
  return of.nan == format_named("f16")->nan;
}
std::size_t bytes_of(const number_format& of) {
  return std::size_t{of.bytes} * of.parts;
}

double real_at(const number_format& of, const std::uint8_t* at) {
  const auto as = [at](auto value) {
    memcpy(&value, at, sizeof value);
    return value;
  };
  if (of.exponent == 0) return of.bytes == 1 ? as(std::int8_t{}) : as(std::int32_t{});
  if (of.bytes == 8) return as(double{});
  if (of.bytes == 4) return static_cast<double>(as(float{}));
  const unsigned bits = as(std::uint16_t{}), exponent = bits >> 10 & 31, fraction = bits & 1023;
  if (!is_half(of)) {
    const std::uint32_t wide = bits << 16;
    float value = 0;
    memcpy(&value, &wide, sizeof value);
    return static_cast<double>(value);
  }
  const double size = exponent == 31  ? (fraction != 0 ? NAN : HUGE_VAL)
                      : exponent == 0 ? fraction * least_half
                                      : std::ldexp(1024 + fraction, static_cast<int>(exponent) - 25);
  return bits >> 15 != 0 ? -size : size;
}

number number_at(const number_format& of, const std::uint8_t* at) {
  return {real_at(of, at), of.parts == 2 ? real_at(of, at + of.bytes) : 0};
}

/// CUDA_MEMCPY2D of cuda.h.
struct copy_of_lines {
  std::size_t from_x, from_y;
  int from_kind;
  const void* from_host;
  std::uint64_t from;
  void* from_array;
  std::size_t from_pitch, to_x, to_y;
  int to_kind;
  void* to_host;
  std::uint64_t to;
  void* to_array;
  std::size_t to_pitch, width, height;
};

/// On the stream, so that captures of other streams go on; and waits. Throws std::runtime_error.
std::vector<std::uint8_t> read_lines(std::uint64_t from, std::size_t pitch, std::size_t width,
                                     std::size_t height, std::uint64_t stream) {
  constexpr int host = 1, unified = 4;
  std::vector<std::uint8_t> all(width * height);
  if (all.empty()) return all;
  auto* copy = driver_entry<int(const copy_of_lines*, std::uint64_t)>("cuMemcpy2DAsync_v2");
  auto* wait = driver_entry<int(std::uint64_t)>("cuStreamSynchronize");
  const memory_at there = memory_of(from);
  // The driver would read what it does not know as memory of the host.
  if (copy == nullptr || wait == nullptr ||
      std::string_view("dmp").find(there.kind) == std::string_view::npos)
    throw std::runtime_error("memory that the driver does not know");
  if (height > 1 && pitch < width) throw std::runtime_error("a leading dimension below the extent");
  if (there.kind != 'd' && (height - 1) * pitch + width > there.left)
    throw std::runtime_error("an operand that is longer than its allocation");
  copy_of_lines lines{};
  lines.from_kind = unified;
  lines.from = from;
  lines.from_pitch = pitch;
  lines.to_kind = host;
  lines.to_host = all.data();
  lines.to_pitch = lines.width = width;
  lines.height = height;
  if (pitch == width || height == 1) {
    lines.from_pitch = lines.to_pitch = lines.width = all.size();
    lines.height = 1;
  }
  int code = copy(&lines, stream);
  if (code == 0) code = wait(stream);
  if (code != 0)
    throw std::runtime_error(fmt::format("operands that cannot be read: {}", driver_code_name(code)));
  return all;
}

std::uint64_t bytes_to(const matrix_operand& m, int64_t matrix, int64_t row, int64_t column) {
  const auto line = static_cast<std::uint64_t>(m.by_row ? row : column);
  const auto in_line = static_cast<std::uint64_t>(m.by_row ? column : row);
  return (static_cast<std::uint64_t>(matrix) * static_cast<std::uint64_t>(m.stride) +
          line * static_cast<std::uint64_t>(m.pitch) + in_line) *
         bytes_of(known_format(m.type));
}

/// Rows and columns of op(matrix), on the host.
struct block {
  const matrix_operand& m;
  int64_t matrix, row, column, rows, columns;
  std::vector<std::uint8_t> bytes{};

  block& read(std::uint64_t stream) {
    const std::size_t one = bytes_of(known_format(m.type));
    const auto along = static_cast<std::size_t>(m.by_row ? columns : rows);
    const auto across = static_cast<std::size_t>(m.by_row ? rows : columns);
    bytes = read_lines(m.at + bytes_to(m, matrix, row, column), static_cast<std::size_t>(m.pitch) * one,
                       along * one, across, stream);
    return *this;
  }
  [[nodiscard]] const std::uint8_t* at(int64_t i, int64_t j) const {
    return &bytes[static_cast<std::size_t>(m.by_row ? i * columns + j : j * rows + i) *
                  bytes_of(known_format(m.type))];
  }
  [[nodiscard]] number value(int64_t i, int64_t j) const {
    const number n = number_at(known_format(m.type), at(i, j));
    return {n.re, m.conjugated ? -n.im : n.im};
  }
};

number scalar_at(const product& of, std::uint64_t address) {
  const number_format& format = known_format(of.scale_type);
  std::vector<std::uint8_t> bytes(bytes_of(format));
  if (of.scalars_on_device)
    bytes = read_lines(address, bytes.size(), bytes.size(), 1, of.stream);
  else if (read_memory(address, bytes.data(), bytes.size()) != bytes.size())
    throw std::runtime_error("a scalar that cannot be read");
  return number_at(format, bytes.data());
}

/// How far from its reference an element may be, by the sum of magnitudes; from `largest` on a part of that sum need not be finite.
struct bounds {
  double relative, absolute, largest;
};
bounds bounds_of(const product& of) {
  const number_format& result = known_format(of.d.type);
  const bool whole = result.exponent == 0;
  // Of one rounding to the result, by which sums of parts may be stored, too.
  const double stored = result.bytes == 8   ? 0x1p-52
                        : result.bytes == 4 ? 0x1p-23
                        : is_half(result)   ? 0x1p-10
                                            : 0x1p-7;
  const double largest = is_half(result)     ? most_half
                         : result.bytes == 8 ? std::numeric_limits<double>::max()
                                             : static_cast<double>(std::numeric_limits<float>::max());
  // Each of the k sums errs by up to four units of FP32, since it may cut off in place of rounding. The reference errs as FP64 does.
  const auto steps = static_cast<double>(of.k + 4);
  constexpr double half = 0x1p-11, single = 0x1p-22, twice = 0x1p-51;
  switch (of.compute_type) {
    case 64:  // CUBLAS_COMPUTE_16F; each has its pedantic one behind it
    case 65:
      if (whole) break;
      return {steps * half + stored, steps * least_half, most_half};
    case 68:  // CUBLAS_COMPUTE_32F
    case 69:
    case 75:    // CUBLAS_COMPUTE_32F_FAST_16BF
    case 77: {  // CUBLAS_COMPUTE_32F_FAST_TF32
      if (whole || result.bytes == 8) break;
      const double operands = of.compute_type == 75                        ? 0x1p-8
                              : of.compute_type == 77 || of.rounds_to_tf32 ? 0x1p-10
                                                                           : 0;
      return {steps * single + 2.1 * operands + stored,
              steps * least_float + (is_half(result) ? least_half : 0), largest};
    }
    case 70:  // CUBLAS_COMPUTE_64F
    case 71:
      if (whole) break;
      return {steps * twice + stored, steps * std::numeric_limits<double>::min(), largest};
    case 72:  // CUBLAS_COMPUTE_32I
    case 73:
      if (!whole || result.bytes != 4) break;
      return {0, 0, std::numeric_limits<std::int32_t>::max()};
    default:
      break;
  }
  throw std::runtime_error(
      fmt::format("a result of cudaDataType {} by cublasComputeType {}", of.d.type, of.compute_type));
}

}  // namespace

std::size_t read_memory(std::uint64_t address, void* to, std::size_t bytes) {
  const iovec here{to, bytes}, there{reinterpret_cast<void*>(address), bytes};
  return static_cast<std::size_t>(std::max<ssize_t>(process_vm_readv(getpid(), &here, 1, &there, 1, 0), 0));
}

memory_at memory_of(std::uint64_t address) {
  if (address == 0) return {'0', 0};
  constexpr int memory_type = 2, is_managed = 8, range_start = 11, range_size = 12, host = 1;
  std::array<int, 4> attributes{memory_type, is_managed, range_start, range_size};
  std::uint64_t type = 0, managed = 0, start = 0, size = 0;
  std::array<void*, 4> data{&type, &managed, &start, &size};
  static auto* const ask = driver_entry<int(unsigned, int*, void**, std::uint64_t)>("cuPointerGetAttributes");
  const int code = ask != nullptr ? ask(4, attributes.data(), data.data(), address) : -1;
  char byte = 0;
  if (code == 0 && type != 0)
    return {managed != 0   ? 'm'
            : type == host ? 'p'
                           : 'd',
            address - start < size ? start + size - address : 0};
  return {read_memory(address, &byte, 1) != 0 ? 'h' : code == 0 ? '-' : '?', 0};
}

checked_product::checked_product(const product& of) : of_(of) {
  if (of.m <= 0 || of.n <= 0 || of.batch <= 0) throw std::runtime_error("a result without elements");
  constexpr double most_elements = 0x1p50;
  if (of.k < 0 || of.k > most_k) throw std::runtime_error(fmt::format("k beyond {}", most_k));
  if (static_cast<double>(of.m) * static_cast<double>(of.n) * static_cast<double>(of.batch) > most_elements)
    throw std::runtime_error("more elements than memory holds");
  const bounds most = bounds_of(of);
  const number alpha = scalar_at(of, of.alpha), beta = scalar_at(of, of.beta);
  const bool reads_c = beta.size() != 0;           // else it may hold anything
  const int64_t k = alpha.size() != 0 ? of.k : 0;  // the same of A and B
  const int64_t down = (of.m + tile_extent - 1) / tile_extent;
  const int64_t count = down * ((of.n + tile_extent - 1) / tile_extent) * of.batch;
  static constinit std::atomic<std::uint64_t> drawn{0};
  for (int64_t i = 0; i < std::min(count, most_tiles); ++i) {
    int64_t one = i;
    if (count > most_tiles && i > 0)
      one = i == 1 ? count - 1 : static_cast<int64_t>(scattered(++drawn) % static_cast<std::uint64_t>(count));
    const int64_t in_matrix = one % (count / of.batch), matrix = one / (count / of.batch);
    tile t{in_matrix % down * tile_extent, in_matrix / down * tile_extent, matrix, 0, 0, {}};
    t.rows = std::min(tile_extent, of.m - t.row);
    t.columns = std::min(tile_extent, of.n - t.column);
    block a{of.a, matrix, t.row, 0, t.rows, k}, b{of.b, matrix, 0, t.column, k, t.columns},
        c{of.c, matrix, t.row, t.column, reads_c ? t.rows : 0, t.columns};
    a.read(of.stream), b.read(of.stream), c.read(of.stream);
    std::vector<number> line(static_cast<std::size_t>(k)), all_of_b;
    for (int64_t column = 0; column < t.columns; ++column)
      for (int64_t l = 0; l < k; ++l) all_of_b.push_back(b.value(l, column));
    for (int64_t row = 0; row < t.rows; ++row) {
      for (int64_t l = 0; l < k; ++l) line[static_cast<std::size_t>(l)] = a.value(row, l);
      for (int64_t column = 0; column < t.columns; ++column) {
        number sum;
        double sizes = 0;
        const number* y = all_of_b.data() + column * k;
        for (const number& x : line) {
          sum = sum + x * *y;
          sizes += x.size() * y++->size();
        }
        const number old = reads_c ? c.value(row, column) : number{}, right = alpha * sum + beta * old;
        const double all = alpha.size() * sizes + beta.size() * old.size();
        const bool is_finite = sizes < most.largest && all < most.largest;
        t.elements.push_back({t.row + row,
                              t.column + column,
                              matrix,
                              {right.re, right.im},
                              is_finite ? most.relative * all + most.absolute : HUGE_VAL,
                              {}});
        if (reads_c)
          t.elements.back().before.assign(c.at(row, column),
                                          c.at(row, column) + bytes_of(known_format(of.c.type)));
      }
    }
    tiles_.push_back(std::move(t));
  }
}

std::optional<wrong_number> checked_product::wrong() const {
  const number_format& format = known_format(of_.d.type);
  bool any = false;
  for (const tile& t : tiles_) {
    block d{of_.d, t.matrix, t.row, t.column, t.rows, t.columns};
    d.read(of_.stream);
    for (const element& e : t.elements)
      for (unsigned part = 0; part < format.parts && !std::isinf(e.allowed); ++part) {
        any = true;
        const std::uint64_t bytes = std::uint64_t{part} * format.bytes;
        const double is = real_at(format, d.at(e.row - t.row, e.column - t.column) + bytes);
        if (std::abs(is - e.right[part]) <= e.allowed) continue;  // not so for a NaN
        return wrong_number{e.row,
                            e.column,
                            e.matrix,
                            bytes_to(of_.d, e.matrix, e.row, e.column) + bytes,
                            bytes_to(of_.c, e.matrix, e.row, e.column),
                            of_.d.type,
                            is,
                            e.right[part],
                            e.allowed,
                            e.before};
      }
  }
  if (!any) throw std::runtime_error("operands that are not finite, or so large that sums need not be");
  return std::nullopt;
}

}  // namespace cufault::injector
// NOLINTEND(performance-no-int-to-ptr)
