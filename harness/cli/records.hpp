// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Records that a command reads.
#pragma once

#include "harness/cli/output.hpp"
#include "harness/cli/paths.hpp"
#include "reports/evidence/baselines.hpp"
#include "reports/judge/cost.hpp"
#include "reports/model/record.hpp"

#include <cstddef>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace cufault {

struct lexicon;
struct recorded_answers;
class row_writer;

/// Records or folders of records.
using records_to_read = std::vector<std::filesystem::path>;
/// What a command that reads records was given.
struct to_read : print_form {
  records_to_read records{default_recorded()};
};

/// What a usage_error says where no record is in what was named.
inline constexpr const char* no_record = "no record was found; `cufault run` makes them";

/// Records, judged by what they show: a control that failed silences its case, whatever the file says of itself. `families`: as
/// load_families().
std::vector<record> judged_records(const records_to_read& named, const std::set<std::string>& families = {});
/// The same; throws usage_error where there is none.
std::vector<record> load_judged(const records_to_read& named, const std::set<std::string>& families = {});
/// What these records say. For the records that come with cufault the file of the build is read, unless it was made from other sources.
recorded_answers answers_of(const records_to_read& named, const lexicon& words);
/// Of this program, the records that it has and the tables of explain. Throws input_error, or std::filesystem::filesystem_error.
std::string digest_of_sources();
/// Costs that were measured beside these records. `alone`: these are records of costs. Throws input_error.
std::vector<cost_record> cost_records_of(const records_to_read& records, bool alone = false);
/// What stands beside a verdict, from them.
cost_notes measured_costs(const records_to_read& records);
/// The tables page_calls and page_causes. Precondition: the records are judged.
void write_pages(row_writer& to, std::span<const record> judged, const lexicon& words,
                 const cost_notes& costs);
/// Says on standard error which lines and stacks of the baselines could not be read so far. Returns how many.
std::size_t tell_unread(const baselines& recorded);

}  // namespace cufault
