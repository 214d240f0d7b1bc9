// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// `cufault rows`, which reports/answers starts: the rows of the table (reports/judge/table.hpp) on standard output.
#include "harness/cli/command_line.hpp"
#include "reports/evidence/baselines.hpp"
#include "reports/judge/judge.hpp"
#include "reports/judge/table.hpp"

#include <iostream>

namespace cufault {
namespace {

struct rows_arguments {
  records_to_read records{default_recorded()};
  bool digest = false;
};

int print_rows(const rows_arguments& arguments) {
  if (arguments.digest) {
    std::cout << digest_of_sources() << '\n';
    return 0;
  }
  std::vector<record> records = load_judged(arguments.records);
  // The build's table is the same for every user.
  const bool own = arguments.records == records_to_read{default_recorded()};
  const baselines recorded(own ? std::vector{default_recorded()} : baseline_folders());
  for (record& r : records)
    for (case_result& c : r.cases) judge(c, recorded, keys_of(r));
  row_writer to(std::cout);
  write_arms(to, records, measured_costs(arguments.records));
  return 0;
}

void add_rows(command_line& line) {
  const auto said = std::make_shared<rows_arguments>();
  CLI::App* rows = line.command("rows", "", "", [said] { return print_rows(*said); });
  rows->group("");
  add_to_read(rows, said->records);
  rows->add_flag("--digest", said->digest, "only what identifies the program and the records that it has");
}

const register_command rows_here{"rows", add_rows, hidden};

}  // namespace

}  // namespace cufault
