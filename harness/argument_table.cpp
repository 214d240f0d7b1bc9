// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/argument_table.hpp"

#include "harness/unique_fd.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace cufault::argument_table {
namespace {

constexpr int operands = 3;
constexpr std::size_t all_bytes = operands * buffers::bytes_each;
constexpr std::size_t guard = buffers::bytes_each / 4;  // a quarter before, a quarter behind
// In the last guard: pointer arrays, then a scalar.
constexpr std::size_t scalar_at = all_bytes - 256, pointers_at = scalar_at - 256;
constexpr std::size_t array_bytes = buffers::batch * sizeof(std::uintptr_t);
constexpr int pointings = 4;
static_assert(pointings * operands * array_bytes <= scalar_at - pointers_at);

/// Pointers to the matrices of an operand that begins at `first`.
void put_pointers(std::byte* array, std::uintptr_t first) {
  for (std::size_t i = 0; i < buffers::batch; ++i) {
    const std::uintptr_t pointer = first == 0 ? 0 : first + i * buffers::matrix_bytes;
    std::memcpy(array + i * sizeof pointer, &pointer, sizeof pointer);
  }
}

std::size_t array_at(int operand, pointing where) {
  return pointers_at + static_cast<std::size_t>(static_cast<int>(where) * operands + operand) * array_bytes;
}

/// What the process prints while it lives, for the line in which cuBLAS blames a parameter.
class printed {
 public:
  printed() : file_(memfd_create("printed", MFD_CLOEXEC)) {
    std::fflush(stdout);
    if (!file_ || dup2(file_.get(), STDOUT_FILENO) < 0) throw setup_failed("cannot keep what is printed");
  }
  /// Since the last time.
  std::string take() {
    std::fflush(stdout);
    std::string text(4096, '\0');
    const ssize_t n = pread(file_.get(), text.data(), text.size(), seen_);
    text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    seen_ += static_cast<off_t>(text.size());
    return text;
  }

 private:
  unique_fd file_;
  off_t seen_ = 0;
};

/// "parameter 8" out of "** On entry to SGEMM  parameter number 8 had an illegal value"; empty without such a line.
std::string blamed(std::string_view said) {
  constexpr std::string_view before = "parameter number ";
  const auto at = said.find(before);
  if (at == std::string_view::npos) return {};
  const auto digits = said.substr(at + before.size());
  return fmt::format("parameter {}", digits.substr(0, digits.find_first_not_of("0123456789")));
}

/// What a process that runs rows has: a context, a handle, the buffers, the rows.
struct table {
  cublasHandle_t handle = nullptr;
  std::unique_ptr<buffers> memory;
  std::unique_ptr<printed> output;
  std::vector<row> rows;
};

std::shared_ptr<table> ready(trial& t, const std::vector<row_maker>& makers, depth how_deep) {
  auto made = std::make_shared<table>();
  t.open_context();
  require(cublasCreate(&made->handle));
  require(product(made->handle));  // what is loaded at the first product is loaded before any row
  made->memory = std::make_unique<buffers>();
  for (const row_maker& make : makers)
    for (row& r : make(made->handle, *made->memory, how_deep)) made->rows.push_back(std::move(r));
  made->output = std::make_unique<printed>();
  return made;
}

status_record observed(table& on, const row& r) {
  on.memory->restore();
  static_cast<void>(on.output->take());
  status_record came_to = record_of(r.call());
  const cudaError_t waited = cudaDeviceSynchronize();
  std::vector<std::string> details;
  if (auto parameter = blamed(on.output->take()); !parameter.empty()) details.push_back(std::move(parameter));
  if (waited == cudaSuccess)
    details.push_back(on.memory->written());
  else
    details.push_back(fmt::format("then {}", record_of(waited).name));
  came_to.detail = fmt::format("{}", fmt::join(details, "; "));
  return came_to;
}

/// How many rows the makers make. They are made without a GPU here: nothing of them is called.
std::size_t count(const std::vector<row_maker>& makers, depth how_deep) {
  buffers none{buffers::without_memory{}};
  std::size_t rows = 0;
  for (const row_maker& make : makers) rows += make(nullptr, none, how_deep).size();
  return rows;
}

}  // namespace

buffers::buffers() : buffers(without_memory{}) {
  image_.resize(all_bytes);
  now_.resize(all_bytes);
  void* memory = nullptr;
  require(cudaMalloc(&memory, all_bytes));
  device_ = static_cast<std::byte*>(memory);
  require(cudaMalloc(&memory, all_bytes));
  freed_ = static_cast<std::byte*>(memory);
  require(cudaFree(memory));
  // Small numbers in every type, and never zero.
  for (std::size_t i = 0; i < image_.size(); ++i) image_[i] = static_cast<std::byte>(0x30 + i % 7);
  for (int operand = 0; operand < operands; ++operand) {
    const auto first = reinterpret_cast<std::uintptr_t>(device(operand));
    const auto put = [&](pointing where, std::uintptr_t at) {
      put_pointers(&image_[array_at(operand, where)], at);
    };
    put(pointing::at_matrices, first);
    put(pointing::at_null, 0);
    put(pointing::at_host_memory, reinterpret_cast<std::uintptr_t>(host()));
    put(pointing::off_by_2, first + 2);
    put_pointers(host_pointers(operand), first);
  }
}

buffers::buffers(without_memory /*unused*/)
    : host_(new std::byte[bytes_each]()), host_pointers_(new std::byte[operands * array_bytes]()) {}

buffers::~buffers() {
  if (device_ != nullptr) cudaFree(device_);
}

std::byte* buffers::device(int operand) const {
  if (device_ == nullptr) return nullptr;
  return device_ + static_cast<std::size_t>(operand) * bytes_each + guard;
}

std::byte* buffers::device_scalar() const {
  if (device_ == nullptr) return nullptr;
  return device_ + scalar_at;  // any bytes do for a scalar
}

std::byte* buffers::pointers(int operand, pointing where) const {
  return device_ == nullptr ? nullptr : device_ + array_at(operand, where);
}

std::byte* buffers::host_pointers(int operand) const {
  return &host_pointers_[static_cast<std::size_t>(operand) * array_bytes];
}

void buffers::restore() {
  if (!dirty_) return;
  require(cudaMemcpy(device_, image_.data(), all_bytes, cudaMemcpyHostToDevice));
  std::fill_n(host(), bytes_each, std::byte{});
  dirty_ = false;
}

std::string buffers::written() {
  require(cudaMemcpy(now_.data(), device_, all_bytes, cudaMemcpyDeviceToHost));
  const bool host_too =
      std::any_of(host(), host() + bytes_each, [](std::byte b) { return b != std::byte{}; });
  if (now_ == image_ && !host_too) return "nothing written";
  dirty_ = true;
  std::string where;
  bool outside = false;
  for (int operand = 0; operand < operands; ++operand) {
    const std::size_t first = static_cast<std::size_t>(operand) * bytes_each;
    const auto differs = [&](std::size_t from, std::size_t to) {
      return std::memcmp(now_.data() + from, image_.data() + from, to - from) != 0;
    };
    if (differs(first + guard, first + bytes_each - guard))
      where += fmt::format("{}{}", where.empty() ? "" : ", ", "ABC"[operand]);
    outside =
        outside || differs(first, first + guard) || differs(first + bytes_each - guard, first + bytes_each);
  }
  if (host_too) where += where.empty() ? "host memory" : ", host memory";
  return fmt::format("{}{} written", where, outside ? where.empty() ? "outside" : " and outside" : "");
}

void run(trial& t, const std::vector<row_maker>& makers, depth how_deep) {
  const std::size_t rows = count(makers, how_deep);
  const auto start = std::chrono::steady_clock::now();
  t.each_row(rows, [&]() -> trial::row_function {
    return [on = ready(t, makers, how_deep)](std::size_t i) {
      const row& r = on->rows.at(i);
      observe_call(r.text().c_str(), [&] { return observed(*on, r); });
    };
  });
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  t.measure("rows", static_cast<double>(rows));
  t.measure("rows a second, processes included", static_cast<double>(rows) / taken.count());
}

void run_valid(trial& t, const std::vector<row_maker>& makers) {
  const auto on = ready(t, makers, depth::checked_on_the_host);
  for (const row& r : on->rows) {
    if (!r.argument.empty()) continue;
    observe_call(r.text().c_str(), [&] { return observed(*on, r); });
  }
}

}  // namespace cufault::argument_table
