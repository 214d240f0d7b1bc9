// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/frame.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <system_error>

namespace cufault {
namespace {

constexpr std::string_view magic = "CF1 ";
constexpr std::size_t most_digits = 7;  // of 1 MiB

// Why a frame cannot be taken. Never leaves this file.
struct bad_frame {
  std::string why;
};

struct header {
  std::size_t size = 0;     // of the header itself
  std::size_t payload = 0;  // announced length
};

// Empty while the header is unfinished. Throws at the first byte that no header can have there, so that what
// is found wrong does not depend on how many bytes came at once.
std::optional<header> parse_header(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = bytes[i];
    if (i < magic.size()) {
      if (byte != magic[i]) {
        throw bad_frame{fmt::format("byte {} of a frame is 0x{:02x}, not that of \"CF1 \"", i,
                                    static_cast<unsigned char>(byte))};
      }
      continue;
    }
    const auto digits = i - magic.size();
    if (byte == '\n' && digits > 0) {
      std::size_t length = 0;
      std::from_chars(bytes.data() + magic.size(), bytes.data() + i, length);
      if (length > frame_reader::largest_frame) {
        throw bad_frame{
            fmt::format("a frame of {} bytes, longer than {}", length, frame_reader::largest_frame)};
      }
      return header{i + 1, length};
    }
    const char lowest = digits == 0 ? '1' : '0';  // no payload is empty, and no length has two spellings
    if (byte < lowest || byte > '9') {
      throw bad_frame{fmt::format("0x{:02x} in the length of a frame", static_cast<unsigned char>(byte))};
    }
    if (digits == most_digits) throw bad_frame{fmt::format("a frame of more than {} digits", most_digits)};
  }
  return std::nullopt;
}

// Text of the trial's own, fit for one line.
std::string one_line(std::string_view text) {
  std::string shown(text.substr(0, 20));
  std::replace_if(
      shown.begin(), shown.end(), [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
  return "'" + shown + "'";
}

// A frame's members, by name and type.
class members {
 public:
  explicit members(const nlohmann::json& frame) : frame_(frame) {
    if (!frame.is_object()) throw bad_frame{"a frame is no JSON object"};
    type_ = text("t");
  }

  [[nodiscard]] const std::string& type() const { return type_; }

  [[nodiscard]] std::string text(const char* name) const {
    return get(name, &nlohmann::json::is_string, "text").get<std::string>();
  }
  /// For texts that decide something by being there.
  [[nodiscard]] std::string some_text(const char* name) const {
    auto value = text(name);
    if (value.empty()) refuse(name, "is empty");
    return value;
  }
  [[nodiscard]] bool boolean(const char* name) const {
    return get(name, &nlohmann::json::is_boolean, "true or false").get<bool>();
  }
  [[nodiscard]] double number(const char* name) const {
    const auto value = get(name, &nlohmann::json::is_number, "a number").get<double>();
    if (!std::isfinite(value)) refuse(name, "is not finite");
    return value;
  }
  [[nodiscard]] std::uint64_t bytes(const char* name) const {
    return get(name, &nlohmann::json::is_number_unsigned, "a number of bytes").get<std::uint64_t>();
  }
  [[nodiscard]] int status(const char* name) const {
    const auto& value = get(name, &nlohmann::json::is_number_integer, "an integer");
    // A large unsigned value would turn negative as int64 and could look like a status.
    const bool fits = value.is_number_unsigned()
                          ? value.get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<int>::max()}
                          : value.get<std::int64_t>() >= std::numeric_limits<int>::min();
    if (!fits) refuse(name, "is no int");
    return value.get<int>();
  }

 private:
  const nlohmann::json& get(const char* name, bool (nlohmann::json::*is)() const noexcept,
                            const char* kind) const {
    const auto found = frame_.find(name);
    if (found == frame_.end()) refuse(name, "is missing");
    if (!((*found).*is)()) refuse(name, fmt::format("is not {}", kind).c_str());
    return *found;
  }
  [[noreturn]] void refuse(const char* name, const char* what) const {
    throw bad_frame{fmt::format("frame {}: {} {}", one_line(type_), name, what)};
  }

  const nlohmann::json& frame_;
  std::string type_;
};

}  // namespace

std::string encode_frame(const nlohmann::json& frame) {
  // Calls and log lines may hold any bytes; a message that says less is better than none.
  const auto payload = frame.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (payload.size() > frame_reader::largest_frame) {
    throw std::length_error(fmt::format("a frame of {} bytes cannot be sent", payload.size()));
  }
  return fmt::format("CF1 {}\n{}\n", payload.size(), payload);
}

void frame_reader::feed(std::string_view bytes) {
  if (!garbled_.empty()) return;
  pending_.append(bytes);
  std::string_view left = pending_;
  try {
    while (true) {
      if (done_ && !left.empty()) throw bad_frame{"something after 'done'"};
      const auto next = parse_header(left);
      if (!next) break;
      // Counted when a header is complete: the same however the bytes were cut.
      const auto size = next->size + next->payload + 1;
      if (frames_ == most_frames) throw bad_frame{fmt::format("too much: over {} frames", most_frames)};
      if (size > most_bytes - bytes_) throw bad_frame{fmt::format("too much: over {} bytes", most_bytes)};
      if (left.size() < size) break;
      if (left[size - 1] != '\n') throw bad_frame{"a frame does not end where it said"};
      take(left.substr(next->size, next->payload));
      left.remove_prefix(size);
      ++frames_;
      bytes_ += size;
    }
    pending_.erase(0, pending_.size() - left.size());
  } catch (const bad_frame& bad) {
    garbled_ = bad.why;
    pending_.clear();
  }
}

void frame_reader::take(std::string_view payload) {
  const auto frame = nlohmann::json::parse(payload, nullptr, /*allow_exceptions=*/false);
  if (frame.is_discarded()) throw bad_frame{"a frame holds no JSON"};
  const members in(frame);
  const auto& type = in.type();

  if (type == "begin") {
    if (!seen_.in_flight.empty()) throw bad_frame{"frame 'begin' inside a call"};
    // Recorded at once, without a status, and completed by 'end': whatever happens next, it is known.
    call_record call;
    call.text = in.some_text("text");
    call.after_remedy = !seen_.applied.empty();
    seen_.in_flight = call.text;
    seen_.calls.push_back(std::move(call));
  } else if (type == "end") {
    if (seen_.in_flight.empty()) throw bad_frame{"frame 'end' outside a call"};
    call_record call = seen_.calls.back();
    call.status = in.some_text("status");
    call.value = in.status("value");
    if (frame.contains("detail")) call.detail = in.text("detail");
    call.last_error = in.text("last_error");
    call.milliseconds = in.number("ms");
    seen_.calls.back() = std::move(call);
    seen_.in_flight.clear();
    foreseen_.clear();
  } else if (type == "apply") {
    auto text = in.some_text("text");
    seen_.applied += seen_.applied.empty() ? text : "; " + text;
  } else if (type == "memory") {
    seen_.memory.push_back({in.text("at"), in.bytes("free"), in.bytes("total")});
  } else if (type == "measure") {
    seen_.measurements.push_back({in.text("name"), in.number("value"), in.text("unit")});
  } else if (type == "finding") {
    seen_.findings.push_back({in.text("claim"), in.boolean("holds"), in.text("why")});
  } else if (type == "foresee") {
    foreseen_.push_back({in.text("claim"), in.boolean("holds"), in.text("why")});
  } else if (type == "log") {
    seen_.library_log.push_back(in.text("line"));
  } else if (type == "context") {
    auto state = in.text("state");
    if (state != "usable" && state != "damaged" && state != "unchecked" && state != "none") {
      throw bad_frame{fmt::format("frame 'context': unknown state {}", one_line(state))};
    }
    seen_.context = std::move(state);
  } else if (type == "not_provoked" || type == "harness_failed") {
    auto why = in.text("why");
    const auto ended = type == "not_provoked" ? outcome::not_provoked : outcome::harness_failed;
    // The first reason stands, unless set-up turns out to be broken after all: that is worse than not
    // provoked.
    if (!stopped_ || (seen_.ended == outcome::not_provoked && ended == outcome::harness_failed)) {
      seen_.ended = ended;
      seen_.why = std::move(why);
    }
    stopped_ = true;
  } else if (type == "done") {
    if (!seen_.in_flight.empty() && !stopped_) throw bad_frame{"frame 'done' inside a call"};
    done_ = true;
  } else {
    throw bad_frame{fmt::format("unknown frame {}", one_line(type))};
  }
}

}  // namespace cufault
