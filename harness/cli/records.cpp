// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/records.hpp"

#include "harness/cli/usage_error.hpp"
#include "reports/judge/judge.hpp"
#include "reports/model/stack_folder.hpp"
#include "reports/printers/table.hpp"

#include <fmt/format.h>

#include <iostream>

namespace fs = std::filesystem;

namespace cufault {
std::vector<record> judged_records(const records_to_read& named, const std::set<std::string>& families) {
  return load_records(named, [&families](const fs::path& file) {
    record r = load_families(file, families);
    const baselines none;
    const stack_keys keys = keys_of(r);
    for (case_result& c : r.cases) judge(c, none, keys);
    return r;
  });
}

std::vector<record> load_judged(const records_to_read& named, const std::set<std::string>& families) {
  std::vector<record> loaded = judged_records(named, families);
  if (loaded.empty()) throw usage_error(no_record);
  return loaded;
}

std::vector<cost_record> cost_records_of(const records_to_read& records, bool alone) {
  std::vector<cost_record> all;
  for (const auto& file : cost_records_in(records))
    // A record of trials that was named as a file is none of costs.
    if (alone || file.filename() == cost_file) all.push_back(load_cost_record(file));
  return all;
}

cost_notes measured_costs(const records_to_read& records) {
  return notes_of(cost_records_of(records));
}

std::size_t tell_unread(const baselines& recorded) {
  for (const std::string& bad : recorded.problems())
    std::cerr << fmt::format("cufault: {}; left out\n", cell(bad, table_style::text));
  return recorded.problems().size();
}

}  // namespace cufault
