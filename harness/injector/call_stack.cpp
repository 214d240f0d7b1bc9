// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Hashes of call stacks, walked by this library's own copy of the unwinder. The walk allocates nothing. Its only lock is the loader's, with
// a C library before 2.35. The state's mutex is not held during the walk.
#include "harness/injector/calls.hpp"
#include "harness/injector/elf.hpp"
#include "harness/injector/slots.hpp"

#include <fmt/format.h>

#include <sys/auxv.h>
#include <unwind.h>

#include <array>
#include <atomic>
#include <cstdint>

namespace cufault::injector {
namespace {

constexpr std::size_t callers_told = 5;
constexpr int most_steps = 32;  // frames of this library count too
constexpr std::size_t most_stacks = 65536;

/// The address range of a file that stays loaded, looked up once.
class file_of {
 public:
  [[nodiscard]] bool has(const void* address, const void* known) {
    if (size_.load(std::memory_order_acquire) == 0) {
      const loaded_range file = file_around(known);
      begin_.store(file.begin, std::memory_order_relaxed);
      size_.store(file.size, std::memory_order_release);
    }
    return static_cast<std::size_t>(static_cast<const char*>(address) -
                                    begin_.load(std::memory_order_relaxed)) <
           size_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<const char*> begin_{nullptr};
  std::atomic<std::size_t> size_{0};
};

/// If a logged call is made inside another logged call, this library has a frame between their callers; without a log it has none. So its
/// frames are skipped.
bool is_in_this_library(const void* address) {
  static constexpr char here = 0;
  static constinit file_of own;
  return own.has(address, &here);
}

constinit std::atomic<bool> ends_at_program{false};

bool is_in_program(const void* address) {
  static constinit file_of program;
  return program.has(
      address, reinterpret_cast<const void*>(getauxval(AT_ENTRY)));  // NOLINT(performance-no-int-to-ptr)
}

struct walk {
  const void* caller;
  std::array<const void*, callers_told> found{};
  std::size_t count = 0;
  int steps = 0;
};

_Unwind_Reason_Code step(_Unwind_Context* frame, void* data) {
  auto& w = *static_cast<walk*>(data);
  const auto at = reinterpret_cast<const void*>(_Unwind_GetIP(frame));  // NOLINT(performance-no-int-to-ptr)
  if (at == nullptr || ++w.steps > most_steps) return _URC_END_OF_STACK;
  if (w.count == 0 ? at != w.caller : is_in_this_library(at)) return _URC_NO_REASON;
  if (w.count > 0 && ends_at_program.load(std::memory_order_relaxed) && is_in_program(at) &&
      !is_in_program(w.caller))
    return _URC_END_OF_STACK;
  w.found[w.count++] = at;
  return w.count == w.found.size() ? _URC_END_OF_STACK : _URC_NO_REASON;
}

walk walk_from(const void* caller) {
  walk w{caller};
  _Unwind_Backtrace(step, &w);
  if (w.count == 0) w.found[w.count++] = caller;
  return w;
}

/// FNV-1a hash with 64 bits.
class hash {
 public:
  void add(std::string_view bytes) {
    for (const char c : bytes) value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  void add(std::uint64_t number) { add({reinterpret_cast<const char*>(&number), sizeof number}); }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace

std::vector<const void*> callers_of(const void* caller) {
  const walk w = walk_from(caller);
  return std::vector<const void*>(w.found.begin(), w.found.begin() + w.count);
}

std::uint64_t hash_of_stack(const void* caller) {
  const walk w = walk_from(caller);
  hash all;
  for (std::size_t i = 0; i < w.count; ++i) {
    const module_place place = place_of(w.found[i]);
    if (place.path == nullptr) {
      all.add("made while running");  // code generated at run time belongs to no file
      continue;
    }
    const std::string_view id = build_id_at(place.begin);
    all.add(id.empty() ? std::string_view{file_name(place.path)} : id);
    all.add(place.offset);
  }
  return all.value();
}

bool is_first_of_stack(active_rule& r, std::uint64_t stack) {
  bool is_first = false, full = false;
  {
    const locked w;
    if (r.stacks.size() < most_stacks)
      is_first = r.stacks.insert(stack).second;
    else
      full = !r.stacks.contains(stack);
  }
  static constinit std::atomic<bool> said{false};
  if (full && !said.exchange(true))
    say(fmt::format("rule {}: more than {} call stacks; it holds for no further one", r.number, most_stacks));
  return is_first;
}

CUFAULT_EXPORTED void cufault_end_stacks_at_program() {
  ends_at_program.store(true, std::memory_order_relaxed);
}

}  // namespace cufault::injector
