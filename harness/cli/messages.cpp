// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cufault messages: what the driver says, and what had happened.
#include "reports/printers/messages.hpp"

#include "harness/cli/cli.hpp"
#include "reports/base/json_input.hpp"
#include "reports/explain/evidence.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <nlohmann/json.hpp>

#include <iostream>

namespace cufault {

int show_messages(const std::string& asked, const std::vector<std::filesystem::path>& records, bool json,
                  bool markdown) {
  const lexicon known = load_lexicon(explain_folder());
  const driver_sayings said = driver_sayings_in(load_records(records), known);
  bool found = asked.empty();
  if (json) {
    const auto all = messages_json(said, known, asked);
    found = found || !all["messages"].empty();
    std::cout << all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  } else {
    const table_style style = markdown ? table_style::markdown : table_style::text;
    found = print_messages(std::cout, said, known, asked, style) > 0 || found;
  }
  if (found) return 0;
  fmt::print(std::cerr,
             "cufault: no recorded message of the driver holds \"{}\"; `cufault messages` lists them\n",
             one_line(asked));
  return exit_no_answer;
}

}  // namespace cufault
