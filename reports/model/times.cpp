// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/times.hpp"

#include <chrono>
#include <cstddef>
#include <ctime>
#include <string_view>

namespace cufault {

void check_utc(const json_cursor& at) {
  constexpr std::string_view form = "0000-00-00T00:00:00Z";
  const std::string_view said = at.text();
  bool good = said.size() == form.size();
  for (std::size_t i = 0; good && i < form.size(); ++i)
    good = form[i] == '0' ? said[i] >= '0' && said[i] <= '9' : said[i] == form[i];
  const auto two = [&](std::size_t i) { return 10 * (said[i] - '0') + said[i + 1] - '0'; };
  using namespace std::chrono;
  good = good &&
         year_month_day{year{100 * two(0) + two(2)}, month{static_cast<unsigned>(two(5))},
                        day{static_cast<unsigned>(two(8))}}
             .ok() &&
         two(11) < 24 && two(14) < 60 && two(17) <= 60;
  if (!good) at.fail("expected a UTC time such as 2026-11-21T07:27:40Z");
}

std::int64_t milliseconds_of(const std::string& utc) {
  std::tm time{};
  const char* const end = ::strptime(utc.c_str(), "%Y-%m-%dT%H:%M:%SZ", &time);
  return end != nullptr && *end == '\0' ? static_cast<std::int64_t>(::timegm(&time)) * 1000 : 0;
}

}  // namespace cufault
