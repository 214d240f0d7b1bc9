// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Changes elements of what a call has computed. They are copied to the host and back on the stream of the call, which is waited for:
// the bits are drawn here and told. A stream that is being captured cannot be waited for: nothing is changed there.
// NOLINTBEGIN(performance-no-int-to-ptr)
#include "harness/injector/slots.hpp"

#include <dlfcn.h>

#include <algorithm>

namespace cufault::injector {
namespace {

constexpr std::uint64_t tile = 16;
#if defined(__x86_64__)
constexpr std::size_t registers = 6;
#else
constexpr std::size_t registers = 8;
#endif

struct matrix {
  std::uint64_t at = 0, rows = 0, columns = 1, pitch = 0;  ///< in elements
  const number_format* of = nullptr;
  std::uint64_t stream = 0;
};

std::uint64_t argument(const call_frame& frame, int number) {
  const auto n = static_cast<std::size_t>(number);
  return n < registers ? frame.integers[n] : static_cast<const std::uint64_t*>(frame.stack)[n - registers];
}

/// A function of the file that `function` is of.
template <class Function>
Function* beside(const void* function, const char* name) {
  Dl_info info{};
  if (dladdr(function, &info) == 0) return nullptr;
  void* file = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (file == nullptr) return nullptr;
  const exempt_from_rules alone_now;
  auto* found = reinterpret_cast<Function*>(dlsym(file, name));
  dlclose(file);
  return found;
}

/// Of cublasLtMatmul's last layout. False if it cannot be asked, or has an order of tiles.
bool read_layout(const void* matmul, const void* layout, matrix& m) {
  auto* ask = beside<int(const void*, int, void*, std::size_t, std::size_t*)>(
      matmul, "cublasLtMatrixLayoutGetAttribute");
  std::int32_t type = 0, order = 0;
  std::int64_t pitch = 0;
  std::size_t written = 0;
  const auto has = [&](int attribute, auto& value) {
    return ask(layout, attribute, &value, sizeof value, &written) == 0;
  };
  if (ask == nullptr || !has(0, type) || !has(1, order) || !has(2, m.rows) || !has(3, m.columns) ||
      !has(4, pitch) || order > 1)
    return false;
  if (order == 1) std::swap(m.rows, m.columns);
  m.pitch = static_cast<std::uint64_t>(pitch);
  m.of = format_of(type);
  return true;
}

/// Fills `m`. Returns why that cannot be, or "".
std::string find_result(const slot& s, const rule& r, const call_frame& frame, matrix& m) {
  const result_place& place = *result_place_of(s.function.base());
  if (r.argument) {
    auto** parameters = reinterpret_cast<void**>(argument(frame, place.parameters));
    if (parameters == nullptr) return "the launch passes its parameters in another way than by kernelParams";
    m.at = *static_cast<const std::uint64_t*>(parameters[*r.argument]);
    m.rows = m.pitch = r.elements;
    m.of = r.format;
    m.stream = argument(frame, place.stream);
    constexpr std::size_t stream_in_config = 4;  // CUlaunchConfig::hStream, in words
    if (place.stream == 0) m.stream = reinterpret_cast<const std::uint64_t*>(m.stream)[stream_in_config];
    if (m.stream == 0 && s.function.text.ends_with("_ptsz")) m.stream = 2;  // CU_STREAM_PER_THREAD
    return "";
  }
  m.at = argument(frame, place.at);
  if (place.pitch < 0) {
    m.stream = argument(frame, place.stream);
    if (!read_layout(s.real.load(), reinterpret_cast<const void*>(argument(frame, place.at + 1)), m))
      return "the layout of the result is not by rows or columns, or does not tell";
  } else {
    const std::uint64_t all = s.function.text.ends_with("_64") ? ~std::uint64_t{0} : 0xffffffff;
    m.rows = argument(frame, 3) & all;
    m.columns = argument(frame, 4) & all;
    m.pitch = argument(frame, place.pitch) & all;
    constexpr std::string_view letters = "SDHCZ";
    constexpr std::array types{0, 1, 2, 4, 5};
    m.of = place.type >= 0 ? format_of(static_cast<int>(argument(frame, place.type)))
                           : format_of(types[std::min<std::size_t>(letters.find(s.function.text[6]), 4)]);
    auto* ask = beside<int(std::uint64_t, std::uint64_t*)>(s.real.load(), "cublasGetStream_v2");
    if (ask == nullptr || ask(argument(frame, 0), &m.stream) != 0)
      return "its handle does not tell its stream";
  }
  if (m.of == nullptr) return "numbers of its type are not known here";
  m.rows *= m.of->parts;
  m.pitch *= m.of->parts;
  return "";
}

}  // namespace

std::string corrupt_result(const slot& s, const rule& r, const call_frame& frame, std::uint64_t call,
                           corrupted& told) {
  const exempt_from_rules alone_now;
  matrix m;
  if (std::string why = find_result(s, r, frame, m); !why.empty()) return why;
  if (m.at == 0 || m.rows == 0 || m.columns == 0) return "the result has no elements";
  if (r.how == corruption::nan && m.of->nan == 0) return "an integer is never NaN";

  auto* captures = driver_entry<int(std::uint64_t, int*)>("cuStreamIsCapturing");
  auto* wait = driver_entry<int(std::uint64_t)>("cuStreamSynchronize");
  auto* read = driver_entry<int(void*, std::uint64_t, std::size_t, std::uint64_t)>("cuMemcpyDtoHAsync_v2");
  auto* write =
      driver_entry<int(std::uint64_t, const void*, std::size_t, std::uint64_t)>("cuMemcpyHtoDAsync_v2");
  if (wait == nullptr || read == nullptr || write == nullptr) return "the driver has no asynchronous copies";
  int status = 0;
  // The legacy stream cannot tell, nor be waited for, while another one is captured.
  if (captures != nullptr) {
    if (const int code = captures(m.stream, &status); code != 0) return driver_code_name(code);
    if (status != 0) return "its stream is being captured";
  }

  std::uint64_t state = scattered(r.seed ^ scattered(call));
  const auto draw = [&](std::uint64_t below) { return (state = scattered(state)) % below; };
  const std::uint64_t wide = r.how == corruption::tile ? tile : 1;
  const std::uint64_t rows = std::min(wide, m.rows), columns = std::min(wide, m.columns);
  // Rows of a complex matrix are counted by its real and imaginary parts until here.
  const std::uint64_t first = draw(m.rows - rows + 1);
  told = {first / m.of->parts, draw(m.columns - columns + 1), rows * columns};
  const std::uint64_t ones = m.of->bytes == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << 8 * m.of->bytes) - 1;
  for (std::uint64_t column = told.column; column < told.column + columns; ++column) {
    std::array<char, tile * 8> there{};
    const std::uint64_t from = m.at + (column * m.pitch + first) * m.of->bytes;
    const std::size_t bytes = rows * m.of->bytes;
    int code = read(there.data(), from, bytes, m.stream);
    if (code == 0) code = wait(m.stream);
    for (char* each = there.data(); each != there.data() + bytes && code == 0; each += m.of->bytes) {
      std::uint64_t was = 0;  // little-endian, as both processors are
      std::copy_n(each, m.of->bytes, reinterpret_cast<char*>(&was));
      std::uint64_t is = m.of->nan;
      const auto is_finite = [&] { return m.of->exponent == 0 || (is & m.of->exponent) != m.of->exponent; };
      if (r.how == corruption::bit)
        is = was ^ std::uint64_t{1} << draw(std::uint64_t{8} * m.of->bytes);
      else if (r.how != corruption::nan)
        do is = was ^ (1 + draw(ones));
        while (!is_finite());
      if (column == told.column && each == there.data()) told.was = was, told.is = is;
      std::copy_n(reinterpret_cast<const char*>(&is), m.of->bytes, each);
    }
    if (code == 0) code = write(from, there.data(), bytes, m.stream);
    if (code == 0) code = wait(m.stream);
    if (code != 0) return driver_code_name(code);
  }
  return "";
}

}  // namespace cufault::injector
// NOLINTEND(performance-no-int-to-ptr)
