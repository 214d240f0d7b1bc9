// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/judge/claims.hpp"

#include "reports/base/json_fields.hpp"
#include "reports/base/words.hpp"
#include "reports/judge/judge.hpp"
#include "reports/model/frameworks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace cufault {
namespace {

constexpr int claims_schema = 2;

using word = std::pair<std::string, std::string>;  // what an arm says, and why

claim claim_from(const json_cursor& at, const std::string& document) {
  at.only({"id", "kind", "text", "status", "call", "untestable", "awaits", "rules"});
  claim c;
  c.id = at.at("id").string();
  if (!c.id.starts_with(document + "-")) at.at("id").fail(fmt::format("not in document {}", document));
  c.kind = read_json_value<claim_kind>(at.at("kind"));
  c.text = at.at("text").string();
  for (const auto& [key, member] : {std::pair{"status", &c.status}, std::pair{"call", &c.call},
                                    std::pair{"untestable", &c.untestable}, std::pair{"awaits", &c.awaits}}) {
    if (!at.has(key)) continue;
    *member = at.at(key).string();
    if (member->empty()) at.at(key).fail("must not be empty; leave it out");
    if (c.kind != claim_kind::failure && (member == &c.status || member == &c.call))
      at.at(key).fail("belongs to claims of kind failure");
  }
  if (!c.untestable.empty() && !c.awaits.empty()) at.at("awaits").fail("an untestable claim awaits nothing");
  if (at.has("rules")) {
    if (!c.untestable.empty()) at.at("rules").fail("nothing judges an untestable claim");
    for (const auto& rule : at.at("rules").items()) c.rules.push_back(claim_rule_from(rule));
  }
  return c;
}

bool is_of_treatment(const claim& what) {
  return what.kind == claim_kind::remedy || what.kind == claim_kind::dead_end;
}

bool fails(const step& s) {
  return !s.ok;
}

/// Headers rename some functions: cublasCreate is cublasCreate_v2.
std::string_view without_version(std::string_view call) {
  if (call.ends_with("_v2")) call.remove_suffix(3);
  return call;
}

/// The call that failed: of a framework's step the one that the exception names, where it names one.
bool is_of_call(const step& s, std::string_view call) {
  if (s.name.api == call) return true;
  const auto named = s.facts.find("named_call");
  const auto* const text = named != s.facts.end() ? std::get_if<std::string>(&named->second) : nullptr;
  return text != nullptr && *text == call;
}

/// Does it fail as the document says? Where the document names a call, the first failure of that call counts, whatever
/// failed before it; else the first failure of all.
bool as_documented(const claim& what, const signature& s) {
  for (const auto* part : {&s.fault, &s.after})
    for (const auto& step : *part) {
      if (!fails(step) || (!what.call.empty() && !is_of_call(step, without_version(what.call)))) continue;
      return what.status.empty() || step.status == what.status;
    }
  return what.status.empty() && what.call.empty();
}

bool fault_part_failed(const signature& s) {
  return std::ranges::any_of(s.fault, fails);
}

/// What the trials of an arm say by the claim's rules.
struct arm_statements {
  std::vector<claim_statement> all;
  bool cut_off = false;  ///< a trial crashed or hung before it could make one
};

arm_statements statements_of(const claim& what, const case_result& c, const arm_result& arm) {
  arm_statements said;
  for (const observation& o : arm.trials) {
    const std::size_t before = said.all.size();
    for (const claim_rule& rule : what.rules) {
      if (!is_about(rule, c.name, arm.name)) continue;
      const auto more = statements_of(rule, o);
      said.all.insert(said.all.end(), more.begin(), more.end());
    }
    const bool lost = o.ended == outcome::crashed || o.ended == outcome::timed_out;
    said.cut_off = said.cut_off || (lost && said.all.size() == before);
  }
  return said;
}

word by_statements(const std::vector<claim_statement>& all) {
  const auto holding = std::ranges::count_if(all, [](const claim_statement& s) { return s.holds; });
  std::vector<std::string> reasons;
  for (const claim_statement& s : all)
    if (std::ranges::find(reasons, s.why) == reasons.end()) reasons.push_back(s.why);
  const auto* says = holding == std::ssize(all) ? "confirmed" : holding == 0 ? "refuted" : "partly";
  constexpr std::size_t enough = 3;  // a level range says much the same on every level
  const auto more =
      reasons.size() > enough ? fmt::format("; and {} more", reasons.size() - enough) : std::string{};
  reasons.resize(std::min(reasons.size(), enough));
  return word{says, fmt::format("{}{}", fmt::join(reasons, "; "), more)};
}

word by_failure(const claim& what, const std::vector<plateau>& plateaus) {
  int failing = 0;
  int documented = 0;
  for (const auto& p : plateaus) {
    const signature& s = p.seen;
    if (!failed(s)) continue;
    ++failing;
    documented += as_documented(what, s) ? 1 : 0;
  }
  const auto* says = failing == 0            ? "refuted"
                     : documented == failing ? "confirmed"
                     : documented == 0       ? "other status"
                                             : "partly";
  return {says, describe(plateaus)};
}

/// Was there anything to clear, on every level? A remedy in place from the start answers a fault arm of its case.
bool provoked(const case_result& c, const arm_result& arm, const std::vector<plateau>& plateaus) {
  if (arm.against.empty())
    return std::ranges::all_of(plateaus, [](const plateau& p) { return fault_part_failed(p.seen); });
  return std::ranges::any_of(c.arms, [&](const arm_result& other) {
    if (other.name != arm.against || !observed(other)) return false;
    const auto faults = arm_plateaus(other);
    return std::ranges::any_of(faults, [](const plateau& p) { return failed(p.seen); });
  });
}

bool is_sweep(const arm_result& arm) {
  return std::ranges::any_of(arm.trials, [](const observation& o) {
    return std::ranges::any_of(o.calls, [](const call_record& c) { return c.swept.has_value(); });
  });
}

std::optional<word> says_of(const claim& what, const case_result& c, const arm_result& arm) {
  if (!observed(arm) || arm.judged == verdict::not_provoked) return std::nullopt;
  const bool named = std::ranges::find(arm.claims, what.id) != arm.claims.end();
  const bool ruled =
      std::ranges::any_of(what.rules, [&](const claim_rule& r) { return is_about(r, c.name, arm.name); });
  if (!named && !ruled) return std::nullopt;
  const auto plateaus = arm_plateaus(arm);
  const bool treated = arm.kind == arm_kind::remedy || arm.kind == arm_kind::dead_end;
  if (treated && !arm.against.empty() && !provoked(c, arm, plateaus)) return std::nullopt;
  const auto said = statements_of(what, c, arm);
  if (said.cut_off && (!said.all.empty() || what.kind == claim_kind::statement))
    return word{"cut off", describe(plateaus)};
  if (!said.all.empty()) return by_statements(said.all);
  if (!named || ruled || is_sweep(arm)) return std::nullopt;
  if (what.kind == claim_kind::failure && arm.kind == arm_kind::fault) return by_failure(what, plateaus);
  if (!is_of_treatment(what) || !treated || !provoked(c, arm, plateaus)) return std::nullopt;
  const auto failing = std::ranges::count_if(plateaus, [](const plateau& p) { return failed(p.seen); });
  if (failing != 0 && failing != std::ssize(plateaus)) return word{"partly", describe(plateaus)};
  return word{(failing == 0) == (what.kind == claim_kind::remedy) ? "confirmed" : "refuted",
              describe(plateaus)};
}

bool is_of_framework(const claim_evidence& e) {
  return framework_of_case(e.case_name) != nullptr;
}

/// What arms say together, the made-up ones or the others; empty where none says anything.
std::string together(const std::vector<claim_evidence>& evidence, bool made_up) {
  std::set<std::string_view> said;
  for (const claim_evidence& e : evidence)
    if (e.made_up == made_up) said.insert(e.says);
  if (said.empty() || said == std::set<std::string_view>{"cut off"}) return {};
  // Where it never fails as documented, and fails otherwise somewhere, that is what there is to say.
  if (said == std::set<std::string_view>{"other status", "refuted"}) return "other status";
  return said.size() == 1 ? std::string{*said.begin()} : "partly";
}

std::string outcome_of(const claim& what, const std::vector<claim_evidence>& evidence) {
  if (!what.untestable.empty()) return "untestable";
  if (!what.awaits.empty() && std::ranges::none_of(evidence, is_of_framework)) return "awaits " + what.awaits;
  const auto natural = together(evidence, false), stand_ins = together(evidence, true);
  if (natural.empty()) return stand_ins.empty() ? "not measured yet" : stand_ins + " (made up)";
  // A remedy can clear a stand-in's failure, too. Whether that occurs in the field is another question.
  const bool disputed = is_of_treatment(what) && !stand_ins.empty() && stand_ins != natural;
  return disputed && natural != "partly" ? "partly (made up)" : natural;
}

std::string arms_of(const claim_verdict& v, const std::map<std::string, std::string>& letters) {
  if (v.evidence.empty()) return v.what.untestable;
  std::map<std::tuple<bool, std::string, std::string, std::string>, std::set<std::string>> stacks_of;
  std::map<std::string, std::string> costs;
  for (const auto& e : v.evidence) {
    stacks_of[{e.made_up, e.says, e.case_name, e.arm}].insert(letters.at(e.stack));
    if (!e.cost.empty()) costs.emplace(join_key(e.case_name, e.arm), fmt::format(" [{}]", e.cost));
  }
  std::map<std::tuple<bool, std::string, std::set<std::string>>, std::pair<std::string, std::string>> lines;
  for (const auto& [key, stacks] : stacks_of) {
    const auto& [made_up, says, case_name, arm] = key;
    auto& [last_case, arms] = lines[{made_up, says, stacks}];
    arms += last_case == case_name ? ", " : (arms.empty() ? "" : "; ") + case_name + "/";
    arms += arm + costs[join_key(case_name, arm)];
    last_case = case_name;
  }
  std::string all;
  for (const auto& [key, line] : lines) {
    const auto& [made_up, says, stacks] = key;
    all += fmt::format("{}{}{} by {} ({})", all.empty() ? "" : "\n", made_up ? "made up: " : "", says,
                       line.second, fmt::join(stacks, ", "));
  }
  return all;
}

/// Such a case shares its GPU with other processes, whatever it measures.
bool controls_and_twins_only(const case_result& c) {
  return std::ranges::all_of(c.arms, [](const arm_result& arm) {
    return arm.kind == arm_kind::control || !arm.counterpart_of.empty();
  });
}

}  // namespace

std::vector<claim> claims_from(const json_cursor& top) {
  if (const auto schema = top.at("schema").integer(); schema != claims_schema)
    top.at("schema").fail(fmt::format("schema {}, but this build reads {} only", schema, claims_schema));
  top.only({"schema", "documents"});
  std::vector<claim> claims;
  for (const auto& document : top.at("documents").items()) {
    document.only({"id", "title", "source", "claims"});
    const auto id = document.at("id").string();
    if (id.empty()) document.at("id").fail("must not be empty");
    static_cast<void>(document.at("title").string());
    const auto source = document.has("source") ? document.at("source").string() : std::string{};
    for (const auto& at : document.at("claims").items()) {
      auto c = claim_from(at, id);
      if (std::ranges::any_of(claims, [&](const claim& other) { return other.id == c.id; }))
        at.at("id").fail(fmt::format("\"{}\" twice", c.id));
      c.source = source;
      claims.push_back(std::move(c));
    }
  }
  return claims;
}

std::vector<claim> load_claims(const std::filesystem::path& file) {
  return claims_from(json_cursor{read_json(file)});
}

bool control_unresolved(const case_result& c) {
  return std::ranges::any_of(c.arms, [](const arm_result& arm) {
    return arm.kind == arm_kind::control && arm.judged == verdict::unresolved;
  });
}

std::vector<claim_verdict> judge_claims(const std::vector<claim>& claims, std::span<const record> records,
                                        const cost_notes& costs) {
  std::vector<claim_verdict> verdicts;
  for (const auto& what : claims) {
    claim_verdict v{.what = what, .verdict = {}, .evidence = {}};
    for (const auto& r : records)
      for (const auto& c : r.cases) {
        if (control_unresolved(c) || controls_and_twins_only(c)) continue;
        if (!what.untestable.empty()) continue;
        for (const auto& arm : c.arms) {
          if (!arm.counterpart_of.empty()) continue;  // its natural arm speaks
          if (auto said = says_of(what, c, arm)) {
            claim_evidence e{.case_name = c.name,
                             .arm = arm.name,
                             .stack = stack_label(r),
                             .says = std::move(said->first),
                             .why = std::move(said->second),
                             .made_up = is_made_up(arm),
                             .cost = cost_beside(costs, stack_label(r), c, arm)};
            // The same stack recorded twice says a thing once.
            if (std::ranges::find(v.evidence, e) == v.evidence.end()) v.evidence.push_back(std::move(e));
          }
        }
      }
    std::stable_partition(v.evidence.begin(), v.evidence.end(),
                          [](const claim_evidence& e) { return !e.made_up; });
    v.verdict = outcome_of(what, v.evidence);
    verdicts.push_back(std::move(v));
  }
  const auto letters = letters_of(verdicts);
  for (auto& v : verdicts) v.arms = arms_of(v, letters);
  return verdicts;
}

std::map<std::string, std::string> letters_of(const std::vector<claim_verdict>& verdicts) {
  std::map<std::string, std::string> letters;
  for (const auto& v : verdicts)
    for (const auto& e : v.evidence) letters.emplace(e.stack, "");
  std::size_t index = 0;
  for (auto& [stack, letter] : letters) letter = letter_of(index++);
  return letters;
}

}  // namespace cufault
