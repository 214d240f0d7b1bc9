// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <type_traits>

namespace cufault {

/// An array in memory shared with forked processes. Elements must not hold pointers to private memory. Throws std::bad_alloc.
template <class T>
class shared_array {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  explicit shared_array(std::size_t count) : count_(count) {
    void* const at = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    at_ = static_cast<T*>(at);
    std::uninitialized_value_construct_n(at_, count);
  }
  ~shared_array() { munmap(at_, bytes()); }
  shared_array(const shared_array&) = delete;
  shared_array& operator=(const shared_array&) = delete;
  T& operator[](std::size_t i) const { return at_[i]; }
  [[nodiscard]] std::span<T> all() const { return {at_, count_}; }

 private:
  [[nodiscard]] std::size_t bytes() const { return std::max<std::size_t>(1, count_) * sizeof(T); }
  std::size_t count_;
  T* at_ = nullptr;
};

}  // namespace cufault
