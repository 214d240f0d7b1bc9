// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// cufault messages: what the driver says, and what had happened.
#include "reports/printers/messages.hpp"

#include "harness/cli/command_line.hpp"
#include "reports/base/json_input.hpp"
#include "reports/base/words.hpp"
#include "reports/explain/evidence.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iostream>
#include <set>
#include <sstream>

namespace cufault {
namespace {

/// "; did you mean ILLEGAL_ADDRESS?": a code that is near or, of several words, each as the nearest one of a message.
std::string words_meant(std::string asked, const driver_sayings& said) {
  std::set<std::string> codes, known;
  for (const driver_saying& s : said.all) {
    codes.insert({s.said.code, "CUDA_ERROR_" + s.said.code, s.said.function});
    std::istringstream words(s.said.text);
    for (std::string word; words >> word;)
      if (word.erase(word.find_last_not_of(".,:;)") + 1); !word.empty()) known.insert(word);
  }
  std::string meant;
  std::istringstream words(asked);
  std::ranges::replace(asked, ' ', '_');
  if (std::string code = did_you_mean(asked, codes); !code.empty()) return code;
  for (std::string word; words >> word;) {
    const std::string nearest = known.contains(word) ? word : nearest_of(word, known);
    if (nearest.empty()) return {};
    meant += (meant.empty() ? "" : " ") + nearest;
  }
  return "; did you mean " + meant + "?";
}

int show_messages(const std::string& asked, const std::vector<std::filesystem::path>& records,
                  print_form form) {
  const lexicon known = load_lexicon(explain_folder());
  const driver_sayings said = driver_sayings_in(load_records(records), known);
  bool found = asked.empty();
  if (form.json) {
    const auto all = messages_json(said, known, asked);
    found = found || !all["messages"].empty();
    print_json(all);
  } else {
    found = print_messages(std::cout, said, known, asked, form.style()) > 0 || found;
  }
  if (found) return 0;
  fmt::print(std::cerr,
             "cufault: no recorded message of the driver holds \"{}\"; `cufault messages` lists them{}\n",
             one_line(asked), words_meant(asked, said));
  return exit_no_answer;
}

void add_messages(command_line& line) {
  struct given : to_read {
    std::string text;
  };
  const auto said = std::make_shared<given>();
  CLI::App* messages = line.command(
      "messages",
      "What the driver's error log says, what had happened, and which statuses stood in front of it",
      "Exit codes: 0; 4 no recorded message holds TEXT; 2 bad input.",
      [said] { return show_messages(said->text, said->records, *said); });
  messages
      ->add_option("TEXT", said->text,
                   "only messages that hold this text: words, a function, CUDA_ERROR_LAUNCH_FAILED, 719, or "
                   "a line of CUDA_LOG_FILE (default: all)")
      ->type_name("");
  add_to_read_as_option(messages, said->records);
  add_form(messages, *said, "messages");
}

const register_command messages_here{"messages", add_messages, also(section::program_failed, 6)};

}  // namespace

}  // namespace cufault
