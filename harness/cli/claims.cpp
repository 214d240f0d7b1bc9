// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/judge/claims.hpp"

#include "harness/cli/command_line.hpp"
#include "reports/printers/render.hpp"

#include <nlohmann/json.hpp>

#include <iostream>

namespace cufault {
namespace {

int show_claims(const records_to_read& records, print_form form) {
  const std::vector<record> loaded = load_judged(records);
  const auto verdicts = judge_claims(load_claims(claims_file()), loaded);
  if (form.json) return print_json(to_json(verdicts));
  print_claims(std::cout, verdicts, form.style(), measured_costs(records));
  return 0;
}

void add_claims(command_line& line) {
  const auto said = std::make_shared<to_read>();
  CLI::App* command =
      line.command("claims", "Each claim of the source documents, its verdict, and the arms behind it",
                   codes_of_reading, [said] { return show_claims(said->records, *said); });
  add_to_read(command, said->records);
  add_form(command, *said, "claims");
}

const register_command claims_here{"claims", add_claims, also(section::more, 1)};

}  // namespace

}  // namespace cufault
