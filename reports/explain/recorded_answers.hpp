// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What `explain`, `causes` and `why` take from records, in a file that the build makes: to read and judge all records takes seconds of CPU.
#pragma once

#include "reports/explain/evidence.hpp"

#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {

struct recorded_answers {
  evidence seen{};
  std::set<std::string> statuses{};  ///< of all calls
  friend bool operator==(const recorded_answers&, const recorded_answers&) = default;
};
/// Precondition: the records are judged.
recorded_answers answers_in(std::span<const record> judged, const lexicon& known);

/// Identifies the program, and names and contents of JSON files: these, and those in these folders. Throws input_error, or std::filesystem::filesystem_error.
std::string digest_of(const std::vector<std::filesystem::path>& sources, std::string_view program);

/// Makes the file or replaces it, in one step. `digest`: digest_of() the sources, the tables of `explain` among them: causes are kept by their
/// index. The first line is the digest and a hash of the second, which is JSON. Throws std::system_error.
void write_answers(const std::filesystem::path& file, const recorded_answers& all, const std::string& digest);
/// Empty where the file is missing, damaged, cut off, or made from other sources: then the records are to be read.
std::optional<recorded_answers> read_answers(const std::filesystem::path& file, const std::string& digest);

}  // namespace cufault
