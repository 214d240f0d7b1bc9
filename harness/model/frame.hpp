// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/model/observation.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace cufault {

class json_cursor;

/// An observation travels from a trial to its parent as frames on a pipe. Each is written by one write(2) as soon as it is known, so that a
/// crash loses nothing before the fatal call. A frame is "CF1 LENGTH\n", LENGTH bytes of JSON, "\n". LENGTH is decimal, at most 1 MiB.
///
/// Frames, by member "t". Members of calls, samples, measurements and notes are those of a record's line (reports/model/observation.hpp), which are
/// read by the same functions: what has its default may be absent, and further members are refused.
///   begin                    a call is about to be made: the members that name it
///   end                      it returned: the others
///   returned                 likewise, and its proof began, which 'end' ends: a process that ends before died in check.numbers
///   driver                   the driver said so of the call that has begun: a driver_message; again, with a larger count, for one that came before
///   withdraw                 it returned, and is no part of the observation
///   swept                    a row of a sweep: a whole call with member "swept"
///   apply {text}             the remedy or dead end is applied from here on
///   memory, measure, note    a memory_sample, measurement or note
///   log {line}               the library logged a line
///   context {state}          "usable", "damaged", "unchecked", "none"
///   not_provoked {why}   harness_failed {why}
///   memory_moved {why}       not_provoked, because another process moved device memory
///   out_of_time {why}        harness_failed, because a part of the trial took too long
///   done                     the body ran to its end; always the last frame
/// `status` and `text` are never empty, and numbers are finite. Bytes that are no UTF-8 are sent as U+FFFD. Throws std::length_error if the
/// frame is longer than 1 MiB.
std::string encode_frame(const nlohmann::ordered_json& frame);

/// Parses bytes as they come into an observation. Never throws on bad input: the first bad byte makes it garbled, and later bytes are
/// ignored. Earlier frames stay. How bytes are split makes no difference. A call that has begun is in so_far() at once: in `calls` without
/// a status, and in `in_flight` until it ends. Only not_provoked, memory_moved, harness_failed and out_of_time set `ended` and `why`; the
/// runner adds how the process ended.
class frame_reader {
 public:
  static constexpr std::size_t largest_frame = 1 << 20;
  static constexpr std::size_t most_frames = 100'000;   ///< of one trial: more is garbled
  static constexpr std::size_t most_said = 8;           ///< messages of the driver kept of a call
  static constexpr std::size_t most_bytes = 64u << 20;  ///< likewise

  void feed(std::string_view bytes);
  [[nodiscard]] const observation& so_far() const { return seen_; }
  [[nodiscard]] bool done() const { return done_; }                      ///< a `done` frame came
  [[nodiscard]] const std::string& garbled() const { return garbled_; }  ///< what was wrong; empty if nothing
  /// The trial sent not_provoked, memory_moved, harness_failed or out_of_time.
  [[nodiscard]] bool stopped() const { return stopped_; }
  [[nodiscard]] bool memory_moved() const { return memory_moved_; }  ///< the trial said so
  [[nodiscard]] bool out_of_time() const { return out_of_time_; }    ///< likewise
  [[nodiscard]] bool mid_frame() const {
    return !pending_.empty();
  }  ///< bytes of an unfinished frame are held

 private:
  void take(std::string_view payload);
  void take(const json_cursor& frame);
  void end_call(const json_cursor& frame);
  std::string pending_;
  observation seen_;
  std::size_t frames_ = 0, bytes_ = 0;  // taken
  bool proving_ = false;                // the call in flight proves the previous one
  bool done_ = false;
  bool stopped_ = false;
  bool memory_moved_ = false;
  bool out_of_time_ = false;
  std::string garbled_;
};

}  // namespace cufault
