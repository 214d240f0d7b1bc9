// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/judge/claim_rules.hpp"

#include "reports/base/lines.hpp"
#include "reports/base/tests/input_examples.hpp"
#include "reports/judge/claims.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {
namespace {

using namespace examples;

claim_rule rule(std::string_view members) {
  return claim_rule_from(cursor(fmt::format(R"({{"arms": ["*/*"], {}}})", members), "claims.json"));
}

/// What a line of rules.txt says of a trial, a line for each statement.
std::string said_by(std::string_view line, const observation& trial) try {
  const claim_rule read = line.starts_with('{') ? claim_rule_from(cursor(line, "claims.json")) : rule(line);
  std::string text;
  for (const claim_statement& s : statements_of(read, trial))
    text += fmt::format("  {}: {}\n", s.holds ? "confirms" : "refutes", s.why);
  return text.empty() ? "  says nothing\n" : text;
} catch (const input_error& e) {
  return fmt::format("  refused: {}\n", e.what());
}

TEST(rules, say_of_trials_what_is_written_below_them) {
  constexpr std::string_view of_a_trial = "trial ";
  const std::string told = read_text(CUFAULT_RULES);
  std::string now;
  observation trial;
  each_line(told, [&](std::string_view line, int /*number*/, bool /*whole*/) {
    if (line.starts_with("  ")) return;
    now += fmt::format("{}\n", line);
    if (line.starts_with(of_a_trial))
      trial = observation_from(cursor(line.substr(of_a_trial.size())));
    else if (line.starts_with('{') || line.starts_with('"'))
      now += said_by(line, trial);
  });
  expect_golden(CUFAULT_RULES, now);
}

TEST(rule, is_about_the_arms_that_it_names) {
  const auto r = claim_rule_from(
      cursor(R"({"arms": ["memory.leak/held_*", "memory.pool/trim"], "holds": {"ended": "completed"}})"));
  EXPECT_TRUE(is_about(r, "memory.leak", "held_lazy"));
  EXPECT_TRUE(is_about(r, "memory.pool", "trim"));
  EXPECT_FALSE(is_about(r, "memory.leak", "control"));
  EXPECT_FALSE(is_about(r, "memory.pool", "trim_all"));
}

namespace parts = claim_rule_parts;

/// What a rule reads, and values that its comparisons tell apart.
struct vocabulary {
  std::vector<parts::step_pattern> steps{};
  std::set<std::string> measurements{}, notes{}, texts{};
  std::set<double> values{0, 1, 2};

  explicit vocabulary(const claim_rule& r) {
    if (r.when) read(*r.when);
    if (r.holds) read(*r.holds);
    for (const parts::number* n : {&r.of, &r.hold}) read(*n);
  }

 private:
  void read(const parts::number& n) {
    using kind = parts::number::kind;
    if (n.what == kind::count) steps.push_back(n.counted);
    if (n.what == kind::literal) values.insert({n.value - 1, n.value, n.value + 1});
    if (n.what == kind::measurement || n.what == kind::sum || n.what == kind::largest)
      measurements.insert(n.names.begin(), n.names.end());
  }
  void read(const parts::condition& c) {
    using kind = parts::condition::kind;
    for (const parts::condition& part : c.parts) read(part);
    if (c.what == kind::step) steps.push_back(c.step);
    if (c.what == kind::comparison)
      for (const parts::number* n : {&c.left, &c.right}) read(*n);
    if (c.what == kind::measured) measurements.insert(c.names.begin(), c.names.end());
    if (c.what == kind::note) notes.insert(c.names.begin(), c.names.end());
    if (!c.text.empty()) texts.insert(c.text);
  }
};

/// Something that fits a pattern, or, where that begins with "!", does not.
std::string fitting(std::string glob) {
  if (glob.starts_with('!')) return "other";
  std::erase(glob, '*');
  std::ranges::replace(glob, '?', 'x');
  return glob;
}

/// Observations made of what a rule reads, the same ones each time.
class made_observations {
 public:
  explicit made_observations(const claim_rule& r) : words_(r) {}

  observation next() {
    observation o;
    o.ended = one_of(std::vector{outcome::completed, outcome::crashed, outcome::timed_out});
    if (coin()) o.level = static_cast<int>(one_of(words_.values));
    for (const parts::step_pattern& s : words_.steps)
      if (coin()) o.calls.push_back(call_of(s));
    for (const std::string& name : words_.measurements)
      if (coin()) o.measurements.push_back({fitting(name), one_of(words_.values), ""});
    for (const std::string& name : words_.notes)
      if (coin()) o.notes.push_back({fitting(name), some_text()});
    o.library_log = {some_text()};
    o.stderr_text = some_text();
    return o;
  }

 private:
  bool coin() { return random_() % 2 == 0; }
  template <class Values>
  typename Values::value_type one_of(const Values& all) {
    return *std::next(all.begin(), static_cast<std::ptrdiff_t>(random_() % all.size()));
  }
  std::string one_fitting(const parts::globs& any, const std::string& otherwise) {
    return any.empty() ? otherwise : fitting(one_of(any));
  }
  std::string some_text() { return words_.texts.empty() || coin() ? "nothing" : one_of(words_.texts); }
  call_record call_of(const parts::step_pattern& s) {
    call_record c;
    c.what = {.name = {one_fitting(s.api, "call"), one_fitting(s.variant, "")},
              .status = coin() ? one_fitting(s.status, "done") : "another",
              .ok = coin()};
    c.after_remedy = s.after.value_or(coin());
    c.what.numbers =
        one_of(std::vector{numbers_found::right, numbers_found::wrong, numbers_found::unchecked});
    if (!s.code.empty()) c.swept = swept_calls{.codes = {s.code}};
    return c;
  }

  vocabulary words_;
  std::minstd_rand random_;  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same observations in each run
};

/// Which ways a rule can come out.
std::string ways_of(const claim_rule& r) {
  made_observations made(r);
  bool confirms = false, refutes = false;
  for (int i = 0; i < 20'000 && !(confirms && refutes); ++i)
    for (const claim_statement& s : statements_of(r, made.next())) (s.holds ? confirms : refutes) = true;
  return confirms && refutes ? "both"
         : confirms          ? "confirms only"
         : refutes           ? "refutes only"
                             : "says nothing";
}

TEST(rule, that_can_come_out_one_way_only_is_told) {
  EXPECT_EQ(ways_of(rule(R"("holds": {"measurement": "rows", "op": ">", "value": 41})")), "both");
  EXPECT_EQ(ways_of(rule(R"("of": {"count": {"ok": false}}, "hold": {"count": {"status": "no*"}})")), "both");
  EXPECT_EQ(ways_of(rule(R"("when": {"not": {"measured": "* asks"}}, "holds": {"measured": "lib* asks"})")),
            "refutes only");
  EXPECT_EQ(
      ways_of(rule(
          R"("when": {"step": {"api": "load.cublas", "ok": false}}, "holds": {"step": {"which": "all", "ok": true}})")),
      "refutes only");
  EXPECT_EQ(ways_of(rule(R"("of": {"sum": "wrong *"}, "hold": {"sum": "wrong *"})")), "confirms only");
  EXPECT_EQ(
      ways_of(rule(
          R"("when": {"all": [{"ended": "crashed"}, {"ended": "timed_out"}]}, "holds": {"step": {"ok": true}})")),
      "says nothing");
}

TEST(rule, of_the_ledger_can_confirm_and_refute) {
  int rules = 0;
  for (const claim& c : load_claims(CUFAULT_CLAIMS_FILE))
    for (const claim_rule& each : c.rules) {
      ++rules;
      EXPECT_EQ(ways_of(each), "both") << c.id << ": " << fmt::format("{}", fmt::join(each.arms, ", "));
    }
  EXPECT_GT(rules, 0);
}

}  // namespace
}  // namespace cufault
