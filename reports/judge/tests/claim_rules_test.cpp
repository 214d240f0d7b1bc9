// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/judge/claim_rules.hpp"

#include "reports/base/json_input.hpp"
#include "reports/judge/claims.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {
namespace {

json_cursor rules_cursor(std::string_view text) {
  return json_cursor{parse_json("claims.json", text)};
}

claim_rule rule(std::string_view members) {
  return claim_rule_from(rules_cursor(fmt::format(R"({{"arms": ["*/*"], {}}})", members)));
}

std::vector<claim_statement> said(std::string_view members, const observation& o) {
  return statements_of(rule(members), o);
}

/// Of the rule that says the condition and nothing else; none where the trial says nothing.
std::optional<bool> holds(std::string_view condition, const observation& o) {
  const auto all = said(fmt::format("\"holds\": {}", condition), o);
  if (all.empty()) return {};
  EXPECT_EQ(all.size(), 1U);
  EXPECT_FALSE(all[0].why.empty());
  return all[0].holds;
}

std::string why(std::string_view condition, const observation& o) {
  return said(fmt::format("\"holds\": {}", condition), o).at(0).why;
}

call_record made_call(std::string api, std::string status, bool ok, std::string variant = "") {
  call_record c;
  c.what = {.name = {std::move(api), std::move(variant)}, .status = std::move(status), .ok = ok};
  return c;
}

observation trial_of(std::vector<call_record> calls) {
  observation o;
  o.calls = std::move(calls);
  o.ended = outcome::completed;
  return o;
}

const call_record created = made_call("cublasCreate", "CUBLAS_STATUS_SUCCESS", true);
const call_record alloc_failed = made_call("cublasCreate", "CUBLAS_STATUS_ALLOC_FAILED", false);

call_record product(numbers_found numbers, std::string variant = "") {
  auto c =
      made_call("cublasSgemm", "CUBLAS_STATUS_SUCCESS", numbers == numbers_found::right, std::move(variant));
  c.what.numbers = numbers;
  return c;
}

observation with_measurements(std::vector<measurement> all) {
  observation o = trial_of({});
  o.measurements = std::move(all);
  return o;
}

// ---- steps ----

TEST(rule_of_a_step, holds_where_one_came_to_it) {
  const auto o = trial_of({alloc_failed, created});
  EXPECT_EQ(holds(R"({"step": {"api": "cublasCreate", "ok": false}})", o), true);
  EXPECT_EQ(holds(R"({"step": {"api": "cublasCreate", "status": "CUBLAS_STATUS_INTERNAL_ERROR"}})", o),
            false);
  EXPECT_EQ(holds(R"({"step": {"api": "cublas*", "status": ["cudaError*", "*_ALLOC_FAILED"]}})", o), true);
  EXPECT_EQ(holds(R"({"step": {"ok": false}})", o), true) << "whatever the step";
  EXPECT_EQ(why(R"({"step": {"ok": false}})", o), "cublasCreate: CUBLAS_STATUS_ALLOC_FAILED");
}

TEST(rule_of_a_step, says_nothing_where_there_is_none_or_it_did_not_return) {
  EXPECT_EQ(holds(R"({"step": {"api": "cublasSgemm", "ok": false}})", trial_of({created})), std::nullopt);
  EXPECT_EQ(holds(R"({"step": {"api": "cublasSgemm", "ok": false}})",
                  trial_of({made_call("cublasSgemm", "", false)})),
            std::nullopt);
}

TEST(rule_of_a_step, asks_for_all_the_first_or_the_last) {
  const auto o = trial_of({alloc_failed, created});
  for (const auto& [which, expected] :
       {std::pair{"any", true}, std::pair{"all", false}, std::pair{"first", true}, std::pair{"last", false}})
    EXPECT_EQ(
        holds(fmt::format(R"({{"step": {{"api": "cublasCreate", "which": "{}", "ok": false}}}})", which), o),
        expected)
        << which;
  EXPECT_EQ(holds(R"({"step": {"which": "all", "ok": true}})", trial_of({created, created})), true);
}

TEST(rule_of_a_step, tells_numbers_variants_and_parts_apart) {
  auto after = product(numbers_found::right, "split_k");
  after.after_remedy = true;
  const auto o = trial_of({product(numbers_found::wrong, "one_kernel"), after});
  EXPECT_EQ(holds(R"({"step": {"numbers": "wrong"}})", o), true);
  EXPECT_EQ(holds(R"({"step": {"numbers": "unchecked"}})", o), false);
  EXPECT_EQ(holds(R"({"step": {"part": "after", "numbers": "wrong"}})", o), false);
  EXPECT_EQ(holds(R"({"step": {"part": "fault", "ok": false}})", o), true);
  EXPECT_EQ(holds(R"({"step": {"variant": "!one*", "ok": false}})", o), false);
  EXPECT_EQ(holds(R"({"step": {"variant": "split?k", "numbers": "right"}})", o), true);
  EXPECT_EQ(holds(R"({"step": {"variant": "split", "ok": true}})", o), std::nullopt);
}

TEST(rule_of_a_step, looks_at_rows_of_a_sweep_that_were_reached) {
  auto row = made_call("cublasLtMatmulAlgoGetHeuristic", "CUBLAS_STATUS_ALLOC_FAILED", false);
  row.swept = swept_calls{.function = "cuMemAlloc_v2", .codes = {"OUT_OF_MEMORY"}};
  const auto* const asked = R"({"step": {"code": "OUT_OF_MEMORY", "status": "CUBLAS_STATUS_ALLOC_FAILED"}})";
  EXPECT_EQ(holds(asked, trial_of({row})), true);
  EXPECT_EQ(holds(R"({"step": {"code": "NOT_PERMITTED", "ok": false}})", trial_of({row})), std::nullopt);
  row.swept->reached = false;
  EXPECT_EQ(holds(asked, trial_of({row})), std::nullopt);
}

TEST(rule_of_a_step, shows_three_of_many) {
  const auto o = trial_of({made_call("cublasSgemm", "CUBLAS_STATUS_SUCCESS", true, "a"),
                           made_call("cublasSgemm", "CUBLAS_STATUS_SUCCESS", true, "b"),
                           made_call("cublasSgemm", "CUBLAS_STATUS_SUCCESS", true, "b"),
                           made_call("cublasSgemm", "CUBLAS_STATUS_SUCCESS", true, "c"),
                           made_call("cublasSgemm", "CUBLAS_STATUS_SUCCESS", true, "d")});
  EXPECT_EQ(why(R"({"step": {"ok": false}})", o),
            "cublasSgemm a: CUBLAS_STATUS_SUCCESS; cublasSgemm b: CUBLAS_STATUS_SUCCESS; cublasSgemm c: "
            "CUBLAS_STATUS_SUCCESS; and 1 more");
}

// ---- numbers ----

TEST(rule_of_a_number, compares_each_way) {
  const auto o = with_measurements({{"taken", 4, "bytes"}});
  const auto is = [&](const char* op, int value) {
    return holds(fmt::format(R"({{"measurement": "taken", "op": "{}", "value": {}}})", op, value), o);
  };
  for (const auto& [op, three, four, five] :
       {std::tuple{"=", false, true, false}, std::tuple{"!=", true, false, true},
        std::tuple{"<", false, false, true}, std::tuple{"<=", false, true, true},
        std::tuple{">", true, false, false}, std::tuple{">=", true, true, false}}) {
    EXPECT_EQ(is(op, 3), three) << op;
    EXPECT_EQ(is(op, 4), four) << op;
    EXPECT_EQ(is(op, 5), five) << op;
  }
  EXPECT_EQ(why(R"({"measurement": "taken", "op": ">", "value": 0})", o), "taken: 4 bytes");
}

TEST(rule_of_a_number, says_nothing_where_it_was_not_measured) {
  EXPECT_EQ(holds(R"({"measurement": "taken", "op": ">", "value": 0})", with_measurements({})), std::nullopt);
  EXPECT_EQ(holds(R"({"measurement": "taken", "op": ">", "value": {"measurement": "given"}})",
                  with_measurements({{"taken", 4, "bytes"}})),
            std::nullopt);
  EXPECT_EQ(holds(R"({"largest": "taken, *", "op": ">", "value": 0})", with_measurements({})), std::nullopt);
}

TEST(rule_of_a_number, compares_two_measurements_and_a_multiple) {
  const auto o = with_measurements({{"FP32", 512 << 20, "bytes"}, {"FP16", 256 << 20, "bytes"}});
  EXPECT_EQ(holds(R"({"measurement": "FP32", "op": "=", "value": {"measurement": "FP16"}})", o), false);
  EXPECT_EQ(holds(R"({"measurement": "FP32", "op": "=", "value": {"measurement": "FP16", "times": 2}})", o),
            true);
  EXPECT_EQ(holds(R"({"measurement": "FP32", "times": 0.5, "op": "=", "value": {"measurement": "FP16"}})", o),
            true);
  EXPECT_EQ(why(R"({"measurement": "FP32", "op": "=", "value": {"measurement": "FP16"}})", o),
            "FP32: 512.0 MiB; FP16: 256.0 MiB");
}

TEST(rule_of_a_number, adds_and_takes_the_largest) {
  const auto o = with_measurements({{"taken, unset", 66, ""}, {"taken, :16:8", 2, ""}, {"given", 5, ""}});
  EXPECT_EQ(holds(R"({"sum": "taken, *", "op": "=", "value": 68})", o), true);
  EXPECT_EQ(holds(R"({"sum": ["taken, unset", "given"], "op": "=", "value": 71})", o), true);
  EXPECT_EQ(holds(R"({"sum": "nothing *", "op": "=", "value": 0})", o), true) << "the sum of none is 0";
  EXPECT_EQ(holds(R"({"largest": "taken, *", "op": ">", "value": {"measurement": "taken, unset"}})", o),
            false);
}

TEST(rule_of_a_number, counts_steps) {
  const auto o = trial_of({alloc_failed, created, created});
  EXPECT_EQ(holds(R"({"count": {"api": "cublasCreate", "ok": true}, "op": "=", "value": 2})", o), true);
  EXPECT_EQ(holds(R"({"count": {"api": "cublasSgemm"}, "op": ">", "value": 0})", o), false);
}

TEST(rule_of_a_number, knows_the_level) {
  auto o = trial_of({created});
  EXPECT_EQ(holds(R"({"level": true, "op": "=", "value": 64})", o), std::nullopt);
  o.level = 64;
  EXPECT_EQ(holds(R"({"level": true, "op": "=", "value": 64})", o), true);
  EXPECT_EQ(holds(R"({"level": true, "op": "<", "value": 64})", o), false);
  EXPECT_EQ(why(R"({"step": {"ok": true}})", o), "level 64: cublasCreate: CUBLAS_STATUS_SUCCESS");
}

TEST(rule_of_a_number, asks_whether_something_was_measured) {
  const auto o = with_measurements({{"libcuda.so.1 asks for CUDA_CACHE_PATH", 1, ""}});
  EXPECT_EQ(holds(R"({"measured": "* asks for CUDA_CACHE_PATH"})", o), true);
  EXPECT_EQ(holds(R"({"measured": "* asks for CUBLASLT_HEURISTIC_MODE"})", o), false);
  EXPECT_EQ(why(R"({"measured": "* asks for CUBLASLT_HEURISTIC_MODE"})", o),
            "* asks for CUBLASLT_HEURISTIC_MODE: none");
}

// ---- texts and ends ----

TEST(rule_of_a_note, holds_where_one_has_the_text) {
  auto o = trial_of({});
  EXPECT_EQ(holds(R"({"note": "words", "contains": "libcublasLt"})", o), std::nullopt);
  o.notes = {{"words", "cannot load\nlibcublasLt.so.13: version not found\n"}, {"printed", ""}};
  EXPECT_EQ(holds(R"({"note": "words", "contains": "libcublasLt"})", o), true);
  EXPECT_EQ(why(R"({"note": "wor*", "contains": "libcublasLt"})", o),
            R"(words: "libcublasLt.so.13: version not found")");
  EXPECT_EQ(holds(R"({"note": "words", "contains": "cudart"})", o), false);
  EXPECT_EQ(why(R"({"note": "words", "contains": "cudart"})", o),
            R"(words: "cannot load", no word of "cudart")");
  EXPECT_EQ(why(R"({"note": "printed", "contains": "cudart"})", o), "printed: nothing");
  EXPECT_EQ(why(R"({"note": "*", "contains": "version"})", o),
            R"(words: "libcublasLt.so.13: version not found")")
      << "what does not hold is no evidence beside what does";
}

TEST(rule_of_the_log, holds_where_a_line_has_the_text) {
  auto o = trial_of({});
  EXPECT_EQ(holds(R"({"logged": "leading dimension"})", o), false);
  o.library_log = {"cublasLtCreate", "The leading dimension (95) of input A"};
  EXPECT_EQ(holds(R"({"logged": "leading dimension"})", o), true);
  EXPECT_EQ(why(R"({"logged": "leading dimension"})", o),
            "the library logs \"The leading dimension (95) of input A\"");
}

TEST(rule_of_what_was_printed, holds_where_it_has_the_text) {
  auto o = trial_of({});
  EXPECT_EQ(holds(R"({"printed": "Assertion"})", o), false);
  EXPECT_EQ(why(R"({"printed": "Assertion"})", o), R"(standard error has no word of "Assertion")");
  o.stderr_text = "a warning\nIndexing.cu:1515: Assertion `index < size` failed.\n";
  EXPECT_EQ(holds(R"({"printed": "Assertion"})", o), true);
  EXPECT_EQ(why(R"({"printed": "Assertion"})", o),
            R"(standard error has "Indexing.cu:1515: Assertion `index < size` failed.")");
}

TEST(rule_of_the_end, knows_how_a_process_ended) {
  auto o = trial_of({created, made_call("cublasSgemm", "", false)});
  EXPECT_EQ(holds(R"({"ended": "completed"})", o), true);
  o.ended = outcome::crashed;
  o.why = "SIGSEGV";
  EXPECT_EQ(holds(R"({"ended": "crashed"})", o), true);
  EXPECT_EQ(why(R"({"ended": "crashed"})", o), "the process crashed: SIGSEGV in cublasSgemm");
  o.why.clear();
  EXPECT_EQ(why(R"({"ended": "crashed"})", o), "the process crashed in cublasSgemm");
  EXPECT_EQ(holds(R"({"ended": "timed_out"})", o), false);
}

// ---- together ----

constexpr auto yes = R"({"ended": "completed"})", no = R"({"ended": "crashed"})",
               unknown = R"({"measurement": "none", "op": "=", "value": 0})";

TEST(rule_of_several, is_unknown_only_where_the_unknown_matters) {
  const auto o = trial_of({created});
  const auto of = [&](const char* key, const char* one, const char* other) {
    return holds(fmt::format(R"({{"{}": [{}, {}]}})", key, one, other), o);
  };
  EXPECT_EQ(of("all", yes, yes), true);
  EXPECT_EQ(of("all", yes, no), false);
  EXPECT_EQ(of("all", unknown, no), false);
  EXPECT_EQ(of("all", yes, unknown), std::nullopt);
  EXPECT_EQ(of("any", no, no), false);
  EXPECT_EQ(of("any", unknown, yes), true);
  EXPECT_EQ(of("any", no, unknown), std::nullopt);
  EXPECT_EQ(holds(fmt::format(R"({{"not": {}}})", yes), o), false);
  EXPECT_EQ(holds(fmt::format(R"({{"not": {}}})", no), o), true);
  EXPECT_EQ(holds(fmt::format(R"({{"not": {}}})", unknown), o), std::nullopt);
}

TEST(rule_of_several, shows_what_decided) {
  auto o = trial_of({alloc_failed});
  o.measurements = {{"taken", 4, "bytes"}, {"free", 5, "bytes"}};
  const auto* const both =
      R"({"all": [{"step": {"ok": false}}, {"measurement": "taken", "op": ">", "value": 0}]})";
  EXPECT_EQ(why(both, o), "cublasCreate: CUBLAS_STATUS_ALLOC_FAILED; taken: 4 bytes");
  const auto* const first =
      R"({"any": [{"measurement": "taken", "op": ">", "value": 0}, {"step": {"ok": false}}]})";
  EXPECT_EQ(why(first, o), "taken: 4 bytes");
  const auto more = said(R"("holds": {"measurement": "taken", "op": ">", "value": 0}, "why": ["fr*"])", o);
  EXPECT_EQ(more.at(0).why, "taken: 4 bytes; free: 5 bytes");
}

TEST(rule, says_nothing_where_its_condition_is_not_met) {
  const auto o = trial_of({created});
  EXPECT_EQ(said(fmt::format(R"("when": {}, "holds": {})", yes, no), o).size(), 1U);
  EXPECT_TRUE(said(fmt::format(R"("when": {}, "holds": {})", no, no), o).empty());
  EXPECT_TRUE(said(fmt::format(R"("when": {}, "holds": {})", unknown, no), o).empty());
}

TEST(rule_of_a_share, says_what_holds_and_what_does_not) {
  const auto* const share =
      R"("of": {"count": {"ok": false}}, "hold": {"count": {"status": "*_ALLOC_FAILED"}})";
  EXPECT_TRUE(said(share, trial_of({created})).empty()) << "of none there is nothing to say";
  EXPECT_EQ(
      said(share, trial_of({alloc_failed, created, alloc_failed})),
      (std::vector<claim_statement>{{true, "2 of 2: cublasCreate: CUBLAS_STATUS_ALLOC_FAILED (2 times)"}}));
  EXPECT_EQ(
      said(share, trial_of({product(numbers_found::wrong)})),
      (std::vector<claim_statement>{{false, "1 of 1: cublasSgemm: CUBLAS_STATUS_SUCCESS, numbers wrong"}}));
  const auto some = said(share, trial_of({alloc_failed, product(numbers_found::wrong)}));
  ASSERT_EQ(some.size(), 2U);
  EXPECT_TRUE(some[0].holds);
  EXPECT_FALSE(some[1].holds);
  EXPECT_EQ(some[1].why, "1 of 2: cublasSgemm: CUBLAS_STATUS_SUCCESS, numbers wrong");
}

TEST(rule_of_a_share, adds_measurements) {
  const auto* const share =
      R"("of": {"sum": "wrong *"}, "hold": {"sum": "wrong *: CUBLAS_STATUS_INVALID_VALUE"})";
  const auto some = said(share, with_measurements({{"wrong size: CUBLAS_STATUS_INVALID_VALUE", 5, "calls"},
                                                   {"wrong size: CUBLAS_STATUS_SUCCESS", 3, "calls"},
                                                   {"rows", 9, ""}}));
  EXPECT_EQ(some,
            (std::vector<claim_statement>{{true, "5 of 8: wrong size: CUBLAS_STATUS_INVALID_VALUE: 5 calls"},
                                          {false, "3 of 8: wrong size: CUBLAS_STATUS_SUCCESS: 3 calls"}}));
  EXPECT_TRUE(said(share, with_measurements({})).empty());
}

TEST(rule, is_about_the_arms_that_it_names) {
  const auto r = claim_rule_from(rules_cursor(
      R"({"arms": ["memory.leak/held_*", "memory.pool/trim"], "holds": {"ended": "completed"}})"));
  EXPECT_TRUE(is_about(r, "memory.leak", "held_lazy"));
  EXPECT_TRUE(is_about(r, "memory.pool", "trim"));
  EXPECT_FALSE(is_about(r, "memory.leak", "control"));
  EXPECT_FALSE(is_about(r, "memory.pool", "trim_all"));
}

// ---- both outcomes ----

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
    auto c = made_call(one_fitting(s.api, "call"), coin() ? one_fitting(s.status, "done") : "another", coin(),
                       one_fitting(s.variant, ""));
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

// ---- bad input ----

std::string rule_refusal(std::string_view rule) {
  try {
    static_cast<void>(claim_rule_from(rules_cursor(fmt::format("\n{}", rule))));
  } catch (const input_error& e) {
    return e.what();
  }
  return "(nothing was refused)";
}

std::string condition_refusal(std::string_view condition) {
  return rule_refusal(fmt::format(R"({{"arms": ["a/b"], "holds": {}}})", condition));
}

TEST(rule, that_is_malformed_is_refused_by_file_line_and_field) {
  EXPECT_EQ(condition_refusal(yes), "(nothing was refused)");
  EXPECT_EQ(rule_refusal(R"({"holds": {"ended": "crashed"}})"),
            "claims.json:2: top level: \"arms\" is missing");
  EXPECT_EQ(rule_refusal(R"({"arms": [], "holds": {"ended": "crashed"}})"),
            "claims.json:2: arms: must not be empty");
  EXPECT_EQ(rule_refusal(R"({"arms": ["held"], "holds": {"ended": "crashed"}})"),
            "claims.json:2: arms: \"held\" is not CASE/ARM");
  EXPECT_EQ(rule_refusal(R"({"arms": ["a/b"]})"),
            "claims.json:2: top level: expected either \"holds\" or \"of\" and \"hold\"");
  EXPECT_EQ(rule_refusal(R"({"arms": ["a/b"], "holds": {"ended": "crashed"}, "hold": 1})"),
            "claims.json:2: hold: belongs to \"of\"");
  EXPECT_EQ(rule_refusal(R"({"arms": ["a/b"], "of": {"count": {}}})"),
            "claims.json:2: top level: \"hold\" is missing");
  EXPECT_EQ(rule_refusal(R"({"arms": ["a/b"], "of": {"count": {}}, "hold": {"sum": "x"}})"),
            "claims.json:2: hold: expected two of \"count\" or two of \"sum\"");
  EXPECT_EQ(rule_refusal(R"({"arms": ["a/b"], "holds": {"ended": "crashed"}, "unless": 1})"),
            "claims.json:2: unless: unknown key");
}

TEST(rule, with_a_malformed_condition_is_refused_by_file_line_and_field) {
  EXPECT_EQ(
      condition_refusal("{}"),
      "claims.json:2: holds: expected one of all, any, not, step, measured, note, logged, printed, ended, "
      "measurement, "
      "sum, largest, count, level");
  EXPECT_EQ(condition_refusal(R"({"all": []})"), "claims.json:2: holds.all: must not be empty");
  EXPECT_EQ(condition_refusal(R"({"all": [{"ended": "crashed"}], "any": []})"),
            "claims.json:2: holds.any: unknown key");
  EXPECT_EQ(condition_refusal(R"({"any": [{"ended": "exploded"}]})"),
            "claims.json:2: holds.any[0].ended: expected one of completed, crashed, timed_out");
  EXPECT_EQ(condition_refusal(R"({"ended": "crashed", "in": "cublasCreate"})"),
            "claims.json:2: holds.in: unknown key");
  EXPECT_EQ(condition_refusal(R"({"note": "words"})"), "claims.json:2: holds: \"contains\" is missing");
  EXPECT_EQ(condition_refusal(R"({"measurement": "rows", "op": "~", "value": 1})"),
            "claims.json:2: holds.op: expected one of =, !=, <, <=, >, >=");
  EXPECT_EQ(condition_refusal(R"({"measurement": "rows", "op": "="})"),
            "claims.json:2: holds: \"value\" is missing");
  EXPECT_EQ(condition_refusal(R"({"measurement": "rows *", "op": "=", "value": 1})"),
            "claims.json:2: holds.measurement: one name; \"sum\" takes several");
  EXPECT_EQ(condition_refusal(R"({"measurement": "rows", "sum": "x", "op": "=", "value": 1})"),
            "claims.json:2: holds: expected one of measurement, sum, largest, count, level");
  EXPECT_EQ(condition_refusal(R"({"level": false, "op": "=", "value": 1})"),
            "claims.json:2: holds.level: expected true");
  EXPECT_EQ(condition_refusal(R"({"count": {"which": "all"}, "op": "=", "value": 1})"),
            "claims.json:2: holds.count.which: all are counted");
}

TEST(rule, with_a_malformed_step_is_refused_by_file_line_and_field) {
  EXPECT_EQ(condition_refusal(R"({"step": {"call": "cublasCreate"}})"),
            "claims.json:2: holds.step.call: unknown key");
  EXPECT_TRUE(condition_refusal(R"({"step": {"api": "cublasCreat", "ok": true}})")
                  .starts_with("claims.json:2: holds.step.api: \"cublasCreat\" is no function"));
  EXPECT_EQ(condition_refusal(R"({"step": {"api": "cublasCreat*", "ok": true}})"), "(nothing was refused)");
  EXPECT_EQ(condition_refusal(R"({"step": {"ok": "yes"}})").find("claims.json:2: holds.step.ok: "), 0U);
  EXPECT_EQ(condition_refusal(R"({"step": {"numbers": "odd"}})"),
            "claims.json:2: holds.step.numbers: expected one of right, wrong, unchecked");
  EXPECT_EQ(condition_refusal(R"({"step": {"part": "remedy", "ok": true}})"),
            "claims.json:2: holds.step.part: expected one of fault, after");
  EXPECT_EQ(condition_refusal(R"({"step": {"which": "last"}})"),
            "claims.json:2: holds.step: \"which\" is of steps with a status, \"ok\" or \"numbers\"");
}

}  // namespace
}  // namespace cufault
