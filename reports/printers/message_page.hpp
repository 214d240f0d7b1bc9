// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/explain/driver_sayings.hpp"
#include "reports/explain/explanation.hpp"
#include "reports/judge/cost.hpp"
#include "reports/model/record.hpp"
#include "reports/printers/table.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cufault {

/// What a page shows of a snippet's source: what stands between `[NAME WHICH]` and `[end]`.
struct marked_code {
  std::string language;  ///< "cpp" or "python"
  std::string text;      ///< its lines
};
/// `folders`: of sources. Throws input_error where none has the mark, or no end follows it.
marked_code code_between_marks(const std::vector<std::filesystem::path>& folders, const std::string& name,
                               const std::string& which);

struct page_writer;

/// Of a status without a log: its causes, each a block of at most six lines, with the check that decides, what documents say that clears it,
/// remedies that were measured, with what they cost, and the trials that show it. Text keeps to the width. Stacks and costs of a cause are
/// of those that its trials are of.
void print_ways(std::ostream& out, const explanation& e, table_style style, std::size_t width,
                const cost_notes& costs);

/// Pages of messages. What they are made from is gathered once: it outlives them.
class message_pages {
 public:
  /// `sources`: folders of the code of snippets.
  message_pages(const lexicon& words, std::span<const record> records, const cost_notes& costs,
                std::vector<std::filesystem::path> sources);

  /// The page: its sentence, what a reader sees, what had happened before, code that fails and the same code corrected, versions in which it
  /// differs, and the driver's words. Text keeps to the width, and has a heading, which in Markdown stands in the file. `e`: of the page's
  /// first text. Throws input_error where the code is missing, or where the records of code that fails do not show the status of the page.
  void print(std::ostream& out, const message_page& page, const explanation& e,
             table_style style = table_style::markdown, std::size_t width = 0) const;

  /// "13.0.1" before "13.10.0".
  struct by_version {
    bool operator()(const std::string& a, const std::string& b) const;
  };

 private:
  /// A call of an arm of nature that races against nothing.
  struct arm_step {
    std::string arm;
    std::optional<std::int64_t> level;
    std::string api, named, variant, gpu;  ///< named: call_in_log()
    friend auto operator<=>(const arm_step&,
                            const arm_step&) = default;  // NOLINT(modernize-use-nullptr): there is none
  };
  /// Version of cuBLAS -> what the call returned.
  using by_versions = std::map<std::string, std::set<std::string>, by_version>;
  using of_page = std::vector<std::pair<const arm_step*, const by_versions*>>;

  [[nodiscard]] std::string name_of(const std::string& status) const;
  [[nodiscard]] of_page steps_of(const message_page& page) const;
  void print_seen(const page_writer& to, const message_page& page, const of_page& steps) const;
  static void print_differences(const page_writer& to, const of_page& steps);
  void print_driver(const page_writer& to, const message_page& page) const;

  const lexicon& words_;
  std::span<const record> records_;
  const cost_notes& costs_;
  std::vector<std::filesystem::path> sources_;
  driver_sayings said_;
  std::map<std::string, std::string> names_{};            ///< the driver's name of an error -> that of pages
  std::map<std::string, std::set<std::string>> spelt_{};  ///< name of pages -> those in records
  std::map<arm_step, by_versions> steps_{};
};
/// Each text, and its page. `width`: of lines of text.
void print_message_index(std::ostream& out, const lexicon& words, table_style style, std::size_t width);

}  // namespace cufault
