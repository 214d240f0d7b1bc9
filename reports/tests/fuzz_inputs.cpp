// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Bad outside data may only ever end in an input_error: anything else that leaves a reader ends the fuzzer.
#include "reports/claims.hpp"
#include "reports/expectation.hpp"
#include "reports/failures.hpp"
#include "reports/json_input.hpp"
#include "reports/record.hpp"
#include "reports/render.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string_view>

namespace {

template <typename Read>
void tolerate(Read read) {
  try {
    read();
  } catch (const cufault::input_error& e) {
    if (std::string_view{e.what()}.find('\n') != std::string_view::npos)
      std::abort();  // promised to be one line
  }
}

// What was read must survive being judged, written and shown.
void use(cufault::record r) {
  for (auto& c : r.cases)
    for (auto& arm : c.arms) cufault::judge(arm, nullptr);
  std::ostringstream out;
  cufault::print_verdicts(out, r, cufault::table_style::text);
  cufault::print_verdicts(out, r, cufault::table_style::markdown);
  const std::array twice{r, r};
  if (cufault::print_differences(out, twice, cufault::table_style::text) != 0) std::abort();
  cufault::print_causes(out, "CUBLAS_STATUS_INTERNAL_ERROR", twice, cufault::table_style::markdown);
  const auto text = cufault::dump_json(cufault::to_json(r));
  const auto again = cufault::record_from(cufault::json_cursor{cufault::parse_json("again", text)});
  if (cufault::dump_json(cufault::to_json(again)) != text) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  tolerate([&] { use(cufault::journal_from("journal", text)); });
  tolerate([&] {
    const cufault::json_cursor top{cufault::parse_json("input", text)};
    tolerate([&] { use(cufault::record_from(top)); });
    tolerate([&] { static_cast<void>(cufault::failures_from(top)); });
    tolerate([&] {
      for (const auto& e : cufault::expectations_from(top, "memory.leak"))
        static_cast<void>(e.when.hold({{"cublas", "13.1.0"}, {"module_loading", "LAZY"}}));
    });
    tolerate([&] {
      std::ostringstream out;
      cufault::print_claims(out, cufault::judge_claims(cufault::claims_from(top), {}),
                            cufault::table_style::markdown);
    });
  });
  return 0;
}
