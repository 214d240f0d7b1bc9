// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/trial/driver_log.hpp"

#include "harness/binding/driver_api.hpp"
#include "reports/model/driver_message.hpp"

#include <dlfcn.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace cufault::driver_log {
namespace {

/// Text of bounded length in place, as JSON without escapes.
template <std::size_t Size>
class short_text {
 public:
  void assign(std::string_view text) noexcept {
    size_ = 0;
    append(text);
  }
  void append(std::string_view text) noexcept {
    for (const char c : text) {
      if (size_ == Size) return;
      const bool plain = c >= ' ' && c <= '~' && c != '\\';
      text_[size_++] = !plain ? '?' : c == '"' ? '\'' : c;
    }
  }
  [[nodiscard]] std::string_view view() const noexcept { return {text_.data(), size_}; }

 private:
  std::array<char, Size> text_{};
  std::size_t size_ = 0;
};

struct kept_message {
  short_text<64> function;
  short_text<64> code;
  short_text<256> text;
  bool other_thread = false;
  std::uint64_t times = 0;
};

/// Reasons of a thread, which come before the message that names the function.
struct reason {
  short_text<256> text;
  std::uint64_t call = 0;
};
thread_local reason last_reason;
thread_local bool makes_the_call = false;

std::atomic<bool> registered{false};
std::atomic<frame_sender> sender{nullptr};
std::atomic<std::uint64_t> calls{0};
std::atomic<bool> in_call{false};

// Never free in a process that was forked while another thread held it.
std::atomic_flag busy = ATOMIC_FLAG_INIT;
std::array<kept_message, most_kept> kept;
std::size_t kept_count = 0;

/// Gives up after a while: losing a message is better than a hang.
class short_lock {
 public:
  short_lock() noexcept {
    constexpr int attempts = 1000;
    for (int i = 0; i < attempts && !(held_ = !busy.test_and_set(std::memory_order_acquire)); ++i)
      sched_yield();
  }
  ~short_lock() {
    if (held_) busy.clear(std::memory_order_release);
  }
  short_lock(const short_lock&) = delete;
  short_lock& operator=(const short_lock&) = delete;
  explicit operator bool() const noexcept { return held_; }

 private:
  bool held_ = false;
};

void send(const kept_message& m) noexcept {
  std::array<char, 640> json{};
  const auto f = m.function.view(), c = m.code.view(), t = m.text.view();
  const int size = std::snprintf(
      json.data(), json.size(),
      R"({"t":"driver","function":"%.*s","code":"%.*s","text":"%.*s","other_thread":%s,"times":%llu})",
      static_cast<int>(f.size()), f.data(), static_cast<int>(c.size()), c.data(), static_cast<int>(t.size()),
      t.data(), m.other_thread ? "true" : "false", static_cast<unsigned long long>(m.times));
  if (size < 0 || static_cast<std::size_t>(size) >= json.size()) return;
  std::array<char, json.size() + 32> frame{};
  const int whole = std::snprintf(frame.data(), frame.size(), "CF1 %d\n%s\n", size, json.data());
  if (const frame_sender now = sender; now != nullptr) now({frame.data(), static_cast<std::size_t>(whole)});
}

void keep(const driver_message_parts& parts, std::string_view text) noexcept {
  kept_message m;
  m.function.assign(parts.function);
  m.code.assign(parts.code);
  m.text.assign(text);
  m.other_thread = !makes_the_call;
  const short_lock lock;
  if (!lock) return;
  auto* const end = kept.begin() + kept_count;
  auto* const same = std::find_if(kept.begin(), end, [&](const kept_message& k) {
    return k.function.view() == m.function.view() && k.code.view() == m.code.view() &&
           k.text.view() == m.text.view() && k.other_thread == m.other_thread;
  });
  if (same != end) {
    ++same->times;
  } else if (kept_count < kept.size()) {
    m.times = 1;
    kept[kept_count++] = m;
    send(m);
  }
}

/// Keeps reasons that no message with a function followed.
void keep_last_reason() noexcept {
  if (last_reason.call != calls) return;
  last_reason.call = 0;
  keep({}, last_reason.text.view());
}

constexpr const char* register_callback = "cuLogsRegisterCallback";

bool is_off() noexcept {
  const char* wanted = std::getenv("CUFAULT_DRIVER_LOG");
  return wanted != nullptr && std::string_view(wanted) == "off";
}

void callback(void* /*data*/, int /*level*/, char* message, std::size_t length) {
  if (message != nullptr) heard({message, strnlen(message, length)});
}

}  // namespace

void heard(std::string_view message) noexcept {
  if (!in_call) return;
  const auto parts = driver_message_parts_of(message);
  if (!parts.text.empty()) {
    if (last_reason.call != calls) last_reason.text.assign({});
    // Reasons with the same beginning name one kernel after another.
    constexpr std::size_t beginning = 8;
    if (last_reason.text.view().find(parts.text.substr(0, beginning)) == std::string_view::npos) {
      if (!last_reason.text.view().empty()) last_reason.text.append("; ");
      last_reason.text.append(parts.text);
    }
    last_reason.call = calls;
  }
  if (parts.function.empty()) return;
  keep(parts, last_reason.call == calls ? last_reason.text.view() : std::string_view());
  last_reason.call = 0;
}

bool hear(frame_sender send) noexcept {
  if (registered) return true;
  if (is_off()) return false;
  // Headers before 12.9 lack the declaration.
  using register_function = int (*)(void (*)(void*, int, char*, std::size_t), void*, void**);
  const auto entry = reinterpret_cast<register_function>(find_driver_entry(register_callback));
  if (entry == nullptr) return false;
  sender = send;
  void* handle = nullptr;
  registered = entry(callback, nullptr, &handle) == 0;
  return registered;
}

bool load_and_hear(frame_sender send) noexcept {
  static_cast<void>(dlopen("libcuda.so.1", RTLD_LAZY));  // stays loaded, as by the runtime
  return hear(send);
}

const char* state() noexcept {
  return is_off() ? "off" : find_driver_entry(register_callback) != nullptr ? "heard" : "not available";
}

void begin_call() noexcept {
  {
    const short_lock lock;
    kept_count = 0;
    ++calls;
  }
  makes_the_call = true;
  in_call = true;
}

void end_call() noexcept {
  keep_last_reason();
  in_call = false;
  makes_the_call = false;
  const short_lock lock;
  if (!lock) return;
  for (std::size_t i = 0; i < kept_count; ++i)
    if (kept[i].times > 1) send(kept[i]);
  kept_count = 0;
}

}  // namespace cufault::driver_log
