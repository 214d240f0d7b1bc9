// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/failures.hpp"

#include "reports/base/json_input.hpp"

#include <fmt/format.h>

#include <set>
#include <utility>

namespace cufault {
namespace {

constexpr int failures_schema = 1;

std::string one_line(const json_cursor& at) {
  auto text = at.string();
  if (text.empty()) at.fail("must not be empty");
  if (text.find('\n') != text.npos) at.fail("must be one line");
  return text;
}

}  // namespace

std::vector<field_failure> failures_from(const json_cursor& top) {
  if (const auto schema = top.at("schema").integer(); schema != failures_schema)
    top.at("schema").fail(fmt::format("schema {}, but this build reads {} only", schema, failures_schema));
  top.only({"schema", "failures"});
  std::vector<field_failure> failures;
  std::set<std::string> met;
  for (const auto& at : top.at("failures").items()) {
    at.only({"id", "text", "sources", "untestable", "awaits"});
    field_failure f{.id = one_line(at.at("id")), .text = one_line(at.at("text")), .sources = {}};
    if (!met.insert(f.id).second) at.at("id").fail(fmt::format("\"{}\" twice", f.id));
    for (const auto& source : at.at("sources").items()) f.sources.push_back(one_line(source));
    if (f.sources.empty()) at.at("sources").fail("must not be empty");
    if (at.has("untestable")) f.untestable = one_line(at.at("untestable"));
    if (at.has("awaits")) f.awaits = one_line(at.at("awaits"));
    if (!f.untestable.empty() && !f.awaits.empty())
      at.at("awaits").fail("an untestable failure awaits nothing");
    failures.push_back(std::move(f));
  }
  return failures;
}

std::vector<field_failure> load_failures(const std::filesystem::path& file) {
  return failures_from(json_cursor{read_json(file)});
}

}  // namespace cufault
