// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Any bytes are a log: they end in an explanation, however they come, and what is printed of it is printable.
#include "reports/explain/explanation.hpp"
#include "reports/explain/tests/examples.hpp"
#include "reports/printers/print_explanation.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>

namespace {

using namespace cufault;

explanation explained(std::string_view text, std::size_t at_once) {
  static const lexicon words = load_lexicon(CUFAULT_EXPLAIN_FOLDER);
  static const std::vector<record> records{example_stack("13.1.0")};
  static const evidence seen = evidence_in(records, words);
  static const std::vector<std::size_t> reports(words.causes.size(), 1);
  static event_finder finder(words);
  for (std::size_t at = 0; at < text.size(); at += at_once) finder.add(text.substr(at, at_once));
  return explain(finder.finish(), {words, seen, reports});
}

std::string printed(const explanation& e) {
  std::ostringstream out;
  print_first_answer(out, e, "input");
  print_explanation(out, e, "input");
  for (const ranked_cause& c : e.causes) {
    if (how_sure(c).size() > 45) std::abort();
    out << how_sure(c) << rests_on(c, e) << c.text;
  }
  return out.str() + explanation_json(e, "input").dump();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  static_cast<void>(why_no_log(text));
  const explanation e = explained(text, std::max<std::size_t>(1, size));
  if (e.causes.size() > 3) std::abort();
  if (!e.failure && (!e.causes.empty() || e.process.state == "lost")) std::abort();
  if (e.failure && e.not_understood) std::abort();
  const std::string all = printed(e);
  if (std::ranges::any_of(all, [](char c) { return c != '\n' && (c < 0x20 || c > 0x7e); })) std::abort();
  if (printed(explained(text, 7)) != all) std::abort();
  return 0;
}
