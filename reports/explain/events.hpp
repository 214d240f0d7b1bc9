// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/explain/lexicon.hpp"
#include "reports/explain/log_lines.hpp"
#include "reports/explain/text_pattern.hpp"
#include "reports/model/driver_message.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cufault {

/// Something that a log says. The same again is counted, not kept.
struct log_event {
  std::string id;  ///< of its pattern; "log.…" where it follows from several facts
  event_role role = event_role::condition;
  std::string source{};  ///< "PyTorch"; empty for what any program prints
  std::string status{};  ///< of a failure, as records name it
  std::string call{};    ///< of a failure, as records name it; empty where the log does not say
  std::string words{};   ///< that matched, printable; of numbers what they say: "10 MiB of 23 GiB is free"
  std::optional<double> ratio{};  ///< of two numbers in `words`: the first by the second
  std::uint64_t line = 0;         ///< from 1; 0: follows from several
  std::uint64_t times = 1;        ///< lines; of a circumstance without a value always 1
  bool anywhere = false;
  bool driver = false;              ///< a message of the driver's error log
  int rank = -1;                    ///< of a distributed program, where its line begins with one
  std::optional<double> seconds{};  ///< when, by its line: since the begin of the year, or of the day
  event_needs lacks = event_needs::nothing;  ///< what is not in its line
  std::string framework{};                   ///< that printed it, or in whose traceback it stands
  bool survived = false;  ///< its line, or one directly below, says that it was caught or tried again
};

/// All that was found in a log. At most 400 different events are kept, in the order of their lines, and 8 values of a fact.
struct log_findings {
  std::vector<log_event> events;
  /// "gpu" -> "H200"; in order of appearance, and frameworks in the order of how surely the program is of one.
  std::map<std::string, std::vector<std::string>> facts;
  std::uint64_t lines = 0, bytes = 0, cut_lines = 0;
  std::uint64_t dropped = 0;      ///< different events beyond those kept
  bool names_gpu = false;         ///< a GPU, or a library or framework for it
  std::uint64_t tried_again = 0;  ///< the last line that says so of an event that was survived
  std::vector<int> ranks{};       ///< of events that fail, in ascending order; at most 64
};

/// Finds events in a log of any length, in bounded memory. Not for several threads.
class event_finder {
 public:
  explicit event_finder(const lexicon& known);  ///< which must outlive it; throws input_error
  ~event_finder() = default;
  event_finder(const event_finder&) = delete;
  event_finder& operator=(const event_finder&) = delete;
  void add(std::string_view bytes) { lines_.add(bytes); }
  log_findings finish();  ///< what comes next is another log

 private:
  /// How a log tells of a framework, the surest last.
  enum class framework_told { named, printed, failed };
  /// What a log says of device memory, in bytes.
  struct memory_said {
    std::optional<double> free{}, total{}, asked{};
    std::uint64_t line = 0;
    bool later = false;  ///< may have been looked at when the program had ended
  };
  static std::optional<memory_said> memory_in(const std::map<std::string, std::string>& values);
  struct prepared {
    const event_pattern* event = nullptr;
    text_pattern pattern;
    bool once = false;  ///< a circumstance without a value: found again, it says nothing more
    bool done = false;
    bool plain = false;  ///< the text of an error, without places that vary
  };
  /// A word that patterns have, or that tells of what a line speaks.
  struct looked_for {
    std::vector<std::uint32_t> patterns{};  ///< index into patterns_
    bool begins_names = false, of_gpus = false;
  };
  void look_at(const log_line& line);
  void look_for_number_below(const log_line& line);
  void look_at_text(const log_line& line);
  void look_across(const log_line& line);
  void look_for_exceptions(const log_line& line);
  void look_at_driver(const log_line& line, const driver_log_line& said);
  bool look_beside_noise(const log_line& line, std::size_t across = 0);
  void look_for_names(const log_line& line, std::vector<log_event>& found);
  void keep(log_event e);
  void mark_survived(std::uint64_t line);  ///< what stands directly above it
  void add_fact(const std::string& name, const std::string& value);
  void add_framework(const std::string& name, framework_told how);
  void conclude();
  void conclude_memory();
  void conclude_frameworks();

  const lexicon& known_;
  std::vector<event_pattern> made_;  ///< of the texts of errors and the names of GPUs
  std::vector<prepared> patterns_;
  std::vector<looked_for> of_word_;  ///< by word of words_
  word_finder words_;
  line_cutter lines_;
  log_findings all_;
  std::vector<std::uint32_t> hits_;
  std::vector<std::pair<std::size_t, std::size_t>> noise_{};  ///< begin and end of what is harmless in a line
  std::string lower_;
  std::string last_call_{};  ///< named last, and where
  std::uint64_t last_call_line_ = 0;
  std::string tail_{};                           ///< of the line before, where a failure may begin in it
  std::string driver_thread_{}, driver_text_{};  ///< the driver's last reason, which its code follows
  bool harmless_text_ = false;                   ///< that reason
  bool in_traceback_ = false, in_commit_ = false;
  log_event exception_{};                       ///< the last that a traceback ends with
  std::optional<log_event> fatal_exception_{};  ///< the first that names a GPU library
  std::string of_traceback_{};                  ///< the outermost framework in its frames
  std::vector<std::pair<std::string, framework_told>> frameworks_{};
  std::vector<memory_said> memory_{};           ///< the last ones
  bool native_ = false, of_framework_ = false;  ///< a source of C or C++ tells of a failure; a framework does
  int rank_ = -1;                               ///< of the line
  std::optional<double> seconds_{};
};

/// Of a call of which a log says only that it failed.
inline constexpr std::string_view status_failed = "FAILED";

}  // namespace cufault
