// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Memory for the rows of a table of arguments, and a comparison that tells what a call wrote.
#include "harness/kit/argument_table.hpp"
#include "harness/trial/observe.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace cufault::argument_table {
namespace {

constexpr int operands = 3;
constexpr std::size_t all_bytes = operands * buffers::bytes_each;
constexpr std::size_t guard = buffers::bytes_each / 4;  // a quarter before, a quarter after
// The last guard holds a scalar, then arrays of pointers; the valid arrays come last, that of C at the very end. Null pointers follow, in
// memory that is not checked for writes: a kernel with too large a batch reads on and finds these.
constexpr std::size_t scalar_at = all_bytes - 1024, scalar_bytes = 256;
constexpr std::size_t nulls_behind = std::size_t{1} << 20;
constexpr std::size_t array_bytes = buffers::batch * sizeof(std::uintptr_t);
constexpr int pointings = static_cast<int>(pointing::off_by_8) + 1;
static_assert(pointings * operands * array_bytes <= all_bytes - scalar_at - scalar_bytes);

/// Writes pointers to the matrices of an operand that begins at `first`.
void put_pointers(std::byte* array, std::uintptr_t first) {
  for (std::size_t i = 0; i < buffers::batch; ++i) {
    const std::uintptr_t pointer = first == 0 ? 0 : first + i * buffers::matrix_bytes;
    std::memcpy(array + i * sizeof pointer, &pointer, sizeof pointer);
  }
}

std::size_t array_at(int operand, pointing where) {
  const int from_the_end = static_cast<int>(where) * operands + operands - operand;
  return all_bytes - static_cast<std::size_t>(from_the_end) * array_bytes;
}

}  // namespace

buffers::buffers() : buffers(without_memory{}) {
  image_.resize(all_bytes);
  now_.resize(all_bytes);
  void* memory = nullptr;
  CUFAULT_REQUIRE(cudaMalloc(&memory, all_bytes + nulls_behind));
  device_ = static_cast<std::byte*>(memory);
  CUFAULT_REQUIRE(cudaMalloc(&memory, all_bytes));
  freed_ = static_cast<std::byte*>(memory);
  CUFAULT_REQUIRE(cudaFree(memory));
  // Small nonzero numbers in every type.
  for (std::size_t i = 0; i < image_.size(); ++i) image_[i] = static_cast<std::byte>(0x30 + i % 7);
  for (int operand = 0; operand < operands; ++operand) {
    const auto first = reinterpret_cast<std::uintptr_t>(device(operand));
    const auto put = [&](pointing where, std::uintptr_t at) {
      put_pointers(&image_[array_at(operand, where)], at);
    };
    put(pointing::at_matrices, first);
    put(pointing::at_null, 0);
    put(pointing::at_host_memory, reinterpret_cast<std::uintptr_t>(host()));
    for (const auto& [where, by] : {std::pair{pointing::off_by_1, 1U}, std::pair{pointing::off_by_2, 2U},
                                    std::pair{pointing::off_by_4, 4U}, std::pair{pointing::off_by_8, 8U}})
      put(where, first + by);
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
  return device_ + scalar_at;  // any bytes are a valid scalar
}

std::byte* buffers::pointers(int operand, pointing where) const {
  return device_ == nullptr ? nullptr : device_ + array_at(operand, where);
}

std::byte* buffers::host_pointers(int operand) const {
  return &host_pointers_[static_cast<std::size_t>(operand) * array_bytes];
}

void buffers::restore() {
  if (!dirty_) return;
  CUFAULT_REQUIRE(cudaMemcpy(device_, image_.data(), all_bytes, cudaMemcpyHostToDevice));
  CUFAULT_REQUIRE(cudaMemset(device_ + all_bytes, 0, nulls_behind));
  std::fill_n(host(), bytes_each, std::byte{});
  dirty_ = false;
}

unsigned buffers::written() {
  CUFAULT_REQUIRE(cudaMemcpy(now_.data(), device_, all_bytes, cudaMemcpyDeviceToHost));
  const bool host_too =
      std::any_of(host(), host() + bytes_each, [](std::byte b) { return b != std::byte{}; });
  if (now_ == image_ && !host_too) return 0;
  dirty_ = true;
  unsigned where = host_too ? written_where::host : 0;
  for (int operand = 0; operand < operands; ++operand) {
    const std::size_t first = static_cast<std::size_t>(operand) * bytes_each;
    const auto differs = [&](std::size_t from, std::size_t to) {
      return std::memcmp(now_.data() + from, image_.data() + from, to - from) != 0;
    };
    if (differs(first + guard, first + bytes_each - guard)) where |= written_where::a << operand;
    if (differs(first, first + guard) || differs(first + bytes_each - guard, first + bytes_each))
      where |= written_where::outside;
  }
  return where;
}

std::vector<std::string> names_of_written(unsigned where) {
  std::vector<std::string> names;
  for (const auto& [bit, name] :
       {std::pair{written_where::a, "A"}, std::pair{written_where::b, "B"}, std::pair{written_where::c, "C"},
        std::pair{written_where::host, "host"}, std::pair{written_where::outside, "outside"}})
    if ((where & bit) != 0) names.emplace_back(name);
  return names;
}

}  // namespace cufault::argument_table
