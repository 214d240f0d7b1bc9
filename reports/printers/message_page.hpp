// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/explain/explanation.hpp"
#include "reports/judge/cost.hpp"
#include "reports/model/record.hpp"
#include "reports/printers/table.hpp"

#include <filesystem>
#include <iosfwd>
#include <span>
#include <string>
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

/// The page of a message, as Markdown, but for its heading and its first sentence: what a reader sees, what had happened before, code that
/// fails and the same code corrected, versions in which it differs, and the driver's words. `e`: of the page's first text.
/// Throws input_error where the code is missing, or where the records of code that fails do not show the status of the page.
void print_message_page(std::ostream& out, const message_page& page, const explanation& e,
                        const lexicon& words, std::span<const record> records, const cost_notes& costs,
                        const std::vector<std::filesystem::path>& sources);
/// Each text, and its page. `width`: of lines of text.
void print_message_index(std::ostream& out, const lexicon& words, table_style style, std::size_t width);

}  // namespace cufault
