// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/frame.hpp"

#include "reports/base/json_fields.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <optional>
#include <stdexcept>

namespace cufault {
namespace {

constexpr std::string_view magic = "CF1 ";
constexpr std::size_t most_digits = 7;  // digits of 1 MiB

// Why a frame is invalid. Never leaves this file.
struct bad_frame {
  std::string why;
};

struct header {
  std::size_t size = 0;     // length of the header
  std::size_t payload = 0;  // announced length
};

// Nullopt while the header is unfinished. Throws at the first invalid byte, so that the error does not depend on how bytes are split.
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
    const char lowest = digits == 0 ? '1' : '0';  // no empty payload, one spelling for each length
    if (byte < lowest || byte > '9') {
      throw bad_frame{fmt::format("0x{:02x} in the length of a frame", static_cast<unsigned char>(byte))};
    }
    if (digits == most_digits) throw bad_frame{fmt::format("a frame of more than {} digits", most_digits)};
  }
  return std::nullopt;
}

// Quotes text of the trial as one line.
std::string in_quotes(std::string_view text) {
  std::string shown(text.substr(0, 20));
  std::replace_if(
      shown.begin(), shown.end(), [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
  return "'" + shown + "'";
}

/// A member that must be a nonempty string.
std::string some_text(const json_cursor& at, std::string_view key) {
  auto text = at.at(key).string();
  if (text.empty()) at.at(key).fail("is empty");
  return text;
}

/// Result of a call, parsed like a line of a record.
call_record result_from(const json_cursor& at) {
  call_record call = call_from(at, call_members::result, "t");
  static_cast<void>(some_text(at, "status"));
  if (call.swept) at.at("swept").fail("is of frame 'swept' alone");
  return call;
}

/// A member of an observation, parsed like a line of a record.
template <class T>
T value_from(const json_cursor& at) {
  T value{};
  field_reader f{at};
  f.other("t");
  describe_fields(value, f);
  f.finish();
  return value;
}

}  // namespace

std::string encode_frame(const nlohmann::ordered_json& frame) {
  // Calls and log lines may hold any bytes; a partly replaced message is better than none.
  const auto payload = frame.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
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
      // Counts at the complete header, so that splitting the bytes makes no difference.
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
  std::shared_ptr<const json_document> document;
  try {
    document = parse_json("frame", payload);
  } catch (const input_error&) {
    throw bad_frame{"a frame holds no JSON"};
  }
  const json_cursor top{document};
  if (!top.is_object()) throw bad_frame{"a frame is no JSON object"};
  try {
    take(top);
  } catch (const input_error& bad) {
    throw bad_frame{bad.what()};
  }
}

void frame_reader::end_call(const json_cursor& in) {
  call_record call = result_from(in);
  call_record& begun = seen_.calls.back();
  call.what.name = std::move(begun.what.name);
  call.after_remedy = begun.after_remedy;
  call.driver = std::move(begun.driver);
  begun = std::move(call);
}

void frame_reader::take(const json_cursor& in) {
  const auto type = in.at("t").string();
  const bool in_call = call_in_flight(seen_) != nullptr;

  if (type == "begin") {
    if (in_call) throw bad_frame{"frame 'begin' inside a call"};
    // Recorded at once without a status; 'end' completes it. So a crash keeps the call.
    call_record call = call_from(in, call_members::name, "t");
    call.after_remedy = !seen_.applied.empty();
    seen_.calls.push_back(std::move(call));
  } else if (type == "returned") {
    if (!in_call || proving_) throw bad_frame{"frame 'returned' outside a call"};
    end_call(in);
    call_record proof;
    proof.what.name = {"check.numbers"};
    proof.after_remedy = seen_.calls.back().after_remedy;
    seen_.calls.push_back(std::move(proof));
    proving_ = true;
  } else if (type == "end") {
    if (!in_call) throw bad_frame{"frame 'end' outside a call"};
    if (!proving_) return end_call(in);
    // 'returned' has already told the duration and the error left.
    call_record proved = seen_.calls[seen_.calls.size() - 2], ended = result_from(in);
    if (ended.what.facts.empty()) ended.what.facts = std::move(proved.what.facts);
    ended.what.name = std::move(proved.what.name);
    proved.what = std::move(ended.what);
    seen_.calls.pop_back();
    seen_.calls.back() = std::move(proved);
    proving_ = false;
  } else if (type == "driver") {
    // Another thread's message may come after the call returned.
    const auto said = value_from<driver_message>(in);
    if (!in_call || (said.function.empty() && said.text.empty())) return;
    auto& all = seen_.calls.back().driver;
    const auto known = std::find_if(all.begin(), all.end(), [&](driver_message each) {
      each.times = said.times;
      return each == said;
    });
    if (known != all.end()) {
      known->times = said.times;
    } else if (all.size() < most_said) {
      all.push_back(said);
    }
  } else if (type == "withdraw") {
    if (!in_call || proving_) throw bad_frame{"frame 'withdraw' outside a call"};
    seen_.calls.pop_back();
  } else if (type == "swept") {
    if (in_call) throw bad_frame{"frame 'swept' inside a call"};
    static_cast<void>(some_text(in, "status"));
    static_cast<void>(in.at("swept"));
    seen_.calls.push_back(call_from(in, call_members::all, "t"));
  } else if (type == "apply") {
    auto text = some_text(in, "text");
    seen_.applied += seen_.applied.empty() ? text : "; " + text;
  } else if (type == "memory") {
    seen_.memory.push_back(value_from<memory_sample>(in));
  } else if (type == "measure") {
    seen_.measurements.push_back(value_from<measurement>(in));
    if (!std::isfinite(seen_.measurements.back().value)) in.at("value").fail("is not finite");
  } else if (type == "note") {
    seen_.notes.push_back(value_from<note>(in));
  } else if (type == "log") {
    seen_.library_log.push_back(in.at("line").string());
  } else if (type == "context") {
    auto state = in.at("state").string();
    if (state != "usable" && state != "damaged" && state != "unchecked" && state != "none") {
      throw bad_frame{fmt::format("frame 'context': unknown state {}", in_quotes(state))};
    }
    seen_.context = std::move(state);
  } else if (type == "not_provoked" || type == "memory_moved" || type == "harness_failed" ||
             type == "out_of_time") {
    auto why = in.at("why").string();
    const bool failed = type == "harness_failed" || type == "out_of_time";
    const auto ended = failed ? outcome::harness_failed : outcome::not_provoked;
    memory_moved_ |= type == "memory_moved";
    out_of_time_ |= type == "out_of_time";
    // The first reason stands, except that harness_failed replaces not_provoked.
    if (!stopped_ || (seen_.ended == outcome::not_provoked && ended == outcome::harness_failed)) {
      seen_.ended = ended;
      seen_.why = std::move(why);
    }
    stopped_ = true;
  } else if (type == "done") {
    if (in_call && !stopped_) throw bad_frame{"frame 'done' inside a call"};
    done_ = true;
  } else {
    throw bad_frame{fmt::format("unknown frame {}", in_quotes(type))};
  }
}

}  // namespace cufault
