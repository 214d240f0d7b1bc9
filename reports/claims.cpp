// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/claims.hpp"

#include "reports/json_input.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace cufault {
namespace {

constexpr int claims_schema = 1;

using word = std::pair<std::string, std::string>;  // what an arm says, and why

claim claim_from(const json_cursor& at, const std::string& document) {
  at.only({"id", "kind", "text", "status", "call", "untestable", "awaits"});
  claim c;
  c.id = at.at("id").string();
  if (!c.id.starts_with(document + "-")) at.at("id").fail(fmt::format("not in document {}", document));
  const auto kind = at.at("kind").string();
  if (kind.size() != 1 || std::string_view{"FRDX"}.find(kind) == std::string_view::npos)
    at.at("kind").fail("expected one of F, R, D, X");
  c.kind = kind.front();
  c.text = at.at("text").string();
  for (const auto& [key, member] : {std::pair{"status", &c.status}, std::pair{"call", &c.call},
                                    std::pair{"untestable", &c.untestable}, std::pair{"awaits", &c.awaits}}) {
    if (!at.has(key)) continue;
    *member = at.at(key).string();
    if (member->empty()) at.at(key).fail("must not be empty; leave it out");
    if (c.kind != 'F' && (member == &c.status || member == &c.call))
      at.at(key).fail("belongs to claims of kind F");
  }
  if (!c.untestable.empty() && !c.awaits.empty()) at.at("awaits").fail("an untestable claim awaits nothing");
  return c;
}

bool fails(const step& s) {
  return !is_success(s.status);
}

/// Headers rename some functions: cublasCreate is cublasCreate_v2.
std::string_view without_version(std::string_view call) {
  if (call.ends_with("_v2")) call.remove_suffix(3);
  return call;
}

/// Does it fail as the document says? Where the document names a call, the first failure of that call counts, whatever
/// failed before it; else the first failure of all.
bool as_documented(const claim& what, const signature& s) {
  for (const auto* part : {&s.fault, &s.after})
    for (const auto& step : *part) {
      if (!fails(step) || (!what.call.empty() && without_version(step.call) != without_version(what.call)))
        continue;
      return what.status.empty() || step.status == what.status;
    }
  return what.status.empty() && what.call.empty();
}

bool fault_part_failed(const signature& s) {
  return std::any_of(s.fault.begin(), s.fault.end(), fails);
}

/// Did trials crash or hang before they could find anything about a claim that findings tell? Those that
/// survived do not speak for them.
bool cut_off(const claim& what, const arm_result& arm) {
  bool found = false, lost = false;
  for (const auto& o : arm.trials) {
    const bool speaks = std::any_of(o.findings.begin(), o.findings.end(),
                                    [&](const finding& f) { return f.claim == what.id; });
    found = found || speaks;
    lost = lost || (!speaks && (o.ended == outcome::crashed || o.ended == outcome::timed_out));
  }
  return lost && (found || what.kind == 'X');
}

std::optional<word> by_findings(const claim& what, const arm_result& arm) {
  int holding = 0;
  int all = 0;
  std::vector<std::string> reasons;
  for (const auto& o : arm.trials)
    for (const auto& f : o.findings) {
      if (f.claim != what.id) continue;
      ++all;
      holding += f.holds ? 1 : 0;
      if (std::find(reasons.begin(), reasons.end(), f.why) == reasons.end()) reasons.push_back(f.why);
    }
  if (all == 0) return std::nullopt;
  const auto* says = holding == all ? "confirmed" : holding == 0 ? "refuted" : "partly";
  constexpr std::size_t enough = 3;  // a ladder says much the same on every rung
  const auto more =
      reasons.size() > enough ? fmt::format("; and {} more", reasons.size() - enough) : std::string{};
  reasons.resize(std::min(reasons.size(), enough));
  return word{says, fmt::format("{}{}", fmt::join(reasons, "; "), more)};
}

word by_failure(const claim& what, const std::vector<signature>& plateaus) {
  int failing = 0;
  int documented = 0;
  for (const auto& s : plateaus) {
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

/// Was there anything to clear, on every rung? A remedy in place from the start answers a fault arm of its case.
bool provoked(const case_result& c, const arm_result& arm, const std::vector<signature>& plateaus) {
  if (arm.against.empty()) return std::all_of(plateaus.begin(), plateaus.end(), fault_part_failed);
  return std::any_of(c.arms.begin(), c.arms.end(), [&](const arm_result& other) {
    if (other.name != arm.against || !observed(other)) return false;
    const auto faults = arm_signatures(other);
    return std::any_of(faults.begin(), faults.end(), failed);
  });
}

std::optional<word> says_of(const claim& what, const case_result& c, const arm_result& arm) {
  if (!observed(arm) || arm.judged == verdict::not_provoked) return std::nullopt;
  if (std::find(arm.claims.begin(), arm.claims.end(), what.id) == arm.claims.end()) return std::nullopt;
  const auto plateaus = arm_signatures(arm);
  if (cut_off(what, arm)) return word{"cut off", describe(plateaus)};
  if (auto found = by_findings(what, arm)) return found;
  if (what.kind == 'F' && arm.kind == arm_kind::fault) return by_failure(what, plateaus);
  const bool cure = arm.kind == arm_kind::remedy || arm.kind == arm_kind::dead_end;
  if ((what.kind != 'R' && what.kind != 'D') || !cure || !provoked(c, arm, plateaus)) return std::nullopt;
  const auto failing = std::count_if(plateaus.begin(), plateaus.end(), failed);
  if (failing != 0 && failing != std::ssize(plateaus)) return word{"partly", describe(plateaus)};
  return word{(failing == 0) == (what.kind == 'R') ? "confirmed" : "refuted", describe(plateaus)};
}

std::string verdict_of(const claim& what, const std::vector<claim_evidence>& evidence) {
  if (!what.untestable.empty()) return "untestable";
  if (!what.awaits.empty()) return "awaits " + what.awaits;
  std::set<std::string_view> said;
  for (const claim_evidence& e : evidence) said.insert(e.says);
  if (said.empty() || said == std::set<std::string_view>{"cut off"}) return "not measured yet";
  // Where it never fails as documented, and fails otherwise somewhere, that is what there is to say.
  if (said == std::set<std::string_view>{"other status", "refuted"}) return "other status";
  return said.size() == 1 ? std::string{*said.begin()} : "partly";
}

bool is_sweep(const arm_result& arm) {
  return std::any_of(arm.trials.begin(), arm.trials.end(), [](const observation& o) {
    return std::any_of(o.calls.begin(), o.calls.end(),
                       [](const call_record& c) { return c.swept.has_value(); });
  });
}

/// Such a case shares its GPU with other processes, whatever it measures.
bool controls_and_twins_only(const case_result& c) {
  return std::all_of(c.arms.begin(), c.arms.end(), [](const arm_result& arm) {
    return arm.kind == arm_kind::control || !arm.twin_of.empty();
  });
}

bool has_finding(const arm_result& arm, const claim& about) {
  return std::any_of(arm.trials.begin(), arm.trials.end(), [&](const observation& o) {
    return std::any_of(o.findings.begin(), o.findings.end(),
                       [&](const finding& f) { return f.claim == about.id; });
  });
}

}  // namespace

std::vector<claim> claims_from(const json_cursor& top) {
  if (const auto schema = top.at("schema").integer(); schema != claims_schema)
    top.at("schema").fail(fmt::format("schema {}, but this build reads {} only", schema, claims_schema));
  top.only({"schema", "documents"});
  std::vector<claim> claims;
  for (const auto& document : top.at("documents").items()) {
    document.only({"id", "title", "claims"});
    const auto id = document.at("id").string();
    if (id.empty()) document.at("id").fail("must not be empty");
    static_cast<void>(document.at("title").string());
    for (const auto& at : document.at("claims").items()) {
      auto c = claim_from(at, id);
      if (std::any_of(claims.begin(), claims.end(), [&](const claim& other) { return other.id == c.id; }))
        at.at("id").fail(fmt::format("\"{}\" twice", c.id));
      claims.push_back(std::move(c));
    }
  }
  return claims;
}

std::vector<claim> load_claims(const std::filesystem::path& file) {
  return claims_from(json_cursor{read_json(file)});
}

bool control_unresolved(const case_result& c) {
  return std::any_of(c.arms.begin(), c.arms.end(), [](const arm_result& arm) {
    return arm.kind == arm_kind::control && arm.judged == verdict::unresolved;
  });
}

std::vector<claim_verdict> judge_claims(const std::vector<claim>& claims, std::span<const record> records) {
  std::vector<claim_verdict> verdicts;
  for (const auto& what : claims) {
    claim_verdict v{.what = what, .verdict = {}, .evidence = {}};
    for (const auto& r : records)
      for (const auto& c : r.cases) {
        if (control_unresolved(c) || controls_and_twins_only(c)) continue;
        if (!what.untestable.empty()) continue;
        for (const auto& arm : c.arms) {
          if (!arm.twin_of.empty()) continue;  // what is made up proves nothing
          if (is_sweep(arm) && !has_finding(arm, what)) continue;
          if (auto said = says_of(what, c, arm)) {
            claim_evidence e{.case_name = c.name,
                             .arm = arm.name,
                             .stack = stack_label(r),
                             .says = std::move(said->first),
                             .why = std::move(said->second)};
            // The same stack recorded twice says a thing once.
            if (std::find(v.evidence.begin(), v.evidence.end(), e) == v.evidence.end())
              v.evidence.push_back(std::move(e));
          }
        }
      }
    v.verdict = verdict_of(what, v.evidence);
    verdicts.push_back(std::move(v));
  }
  return verdicts;
}

nlohmann::json to_json(const std::vector<claim_verdict>& verdicts) {
  auto list = nlohmann::json::array();
  for (const auto& v : verdicts) {
    auto evidence = nlohmann::json::array();
    for (const auto& e : v.evidence)
      evidence.push_back(
          {{"case", e.case_name}, {"arm", e.arm}, {"stack", e.stack}, {"says", e.says}, {"why", e.why}});
    nlohmann::json j{{"id", v.what.id},
                     {"kind", std::string(1, v.what.kind)},
                     {"text", v.what.text},
                     {"verdict", v.verdict},
                     {"evidence", std::move(evidence)}};
    for (const auto& [key, text] :
         {std::pair{"status", &v.what.status}, std::pair{"call", &v.what.call},
          std::pair{"untestable", &v.what.untestable}, std::pair{"awaits", &v.what.awaits}})
      if (!text->empty()) j[key] = *text;
    list.push_back(std::move(j));
  }
  return {{"schema", claims_schema}, {"claims", std::move(list)}};
}

}  // namespace cufault
