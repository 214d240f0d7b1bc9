// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cufault messages: what the driver says, and what had happened.
#include "reports/printers/messages.hpp"

#include "harness/cli/cli.hpp"
#include "reports/base/json_input.hpp"
#include "reports/explain/evidence.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <iostream>

namespace cufault {

int show_messages(const std::string& asked, const std::vector<std::filesystem::path>& records, bool json,
                  bool markdown) {
  const lexicon known = load_lexicon(explain_folder());
  const driver_sayings said = driver_sayings_in(load_records(records), known);
  if (json) {
    std::cout
        << messages_json(said, known, asked).dump(2, ' ', false, nlohmann::json::error_handler_t::replace)
        << '\n';
    return 0;
  }
  const table_style style = markdown ? table_style::markdown : table_style::text;
  if (print_messages(std::cout, said, known, asked, style) > 0 || asked.empty()) return 0;
  throw usage_error(fmt::format(
      "no recorded message of the driver holds \"{}\"; `cufault messages` lists them", one_line(asked)));
}

}  // namespace cufault
