// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/cost.hpp"

#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"
#include "reports/base/lines.hpp"
#include "reports/base/members.hpp"
#include "reports/base/words.hpp"
#include "reports/model/times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <system_error>

namespace fs = std::filesystem;

namespace cufault {

CUFAULT_MEMBERS(cost_side, CUFAULT_OTHERS(remedy, words, milliseconds, device_bytes, numbers, failed))
CUFAULT_MEMBERS(cost_comparison, f.required("comparison", of.name); CUFAULT_STATED(work)
                    CUFAULT_OTHERS(clock, type, operations, bytes, without, again, with, failed))

namespace {

template <class Fields>
void describe_cost_header(cost_record& of, Fields& f) {
  static const cost_record usual{};
  CUFAULT_STATED(version, commit)
  CUFAULT_OTHERS(dirty, argv)
  CUFAULT_STATED(started, size)
  CUFAULT_OTHERS(seed)
}

cost_record cost_header_from(const json_cursor& top) {
  if (!top.has("cost_schema"))
    top.fail("\"cost_schema\" is missing: the first line of what remedy_cost writes has it");
  const auto at = top.at("cost_schema");
  if (const auto schema = at.integer(); schema != cost_schema)
    at.fail(fmt::format("made by {} cufault: schema {}, and this one reads {}; {}",
                        schema > cost_schema ? "a newer" : "an older", schema, cost_schema,
                        schema > cost_schema ? "update cufault" : "run remedy_cost again"));
  cost_record r;
  field_reader f{top};
  f.other("cost_schema");
  describe_cost_header(r, f);
  f.required("stack", *r.stack);
  f.finish();
  check_utc(top.at("started"));
  if (r.size != "usual" && r.size != "tiny") top.at("size").fail("expected usual or tiny");
  if (!r.stack->is_object()) top.at("stack").fail("expected an object");
  return r;
}

// Beyond these nothing was measured, and what is calculated from them may be no number.
constexpr double least_milliseconds = 1e-9, most_milliseconds = 1e9;  // a picosecond, eleven days
constexpr double most_work = 1e24;                                    // operations, or bytes of operands
constexpr std::int64_t most_device_bytes = std::int64_t{1} << 50;

/// Times are above zero and finite; there is one for each round.
void check_samples(const json_cursor& at, const std::vector<double>& samples, std::size_t rounds) {
  if (samples.size() != rounds) at.fail(fmt::format("{} times, and {} rounds", samples.size(), rounds));
  for (const double each : samples) {
    if (!std::isfinite(each) || each <= 0)
      at.fail(fmt::format("a time is a number above 0, and no {}", each));
    if (each < least_milliseconds || each > most_milliseconds)
      at.fail(
          fmt::format("a time is from {} to {} ms, and no {}", least_milliseconds, most_milliseconds, each));
  }
}

void check_side(const json_cursor& at, const cost_side& s, std::size_t rounds) {
  if (s.failed.empty()) {
    check_samples(at.at("milliseconds"), s.milliseconds, rounds);
  } else if (!s.milliseconds.empty()) {
    at.at("milliseconds").fail("a side that failed has no times");
  }
  if (!s.numbers.empty() && s.numbers != "right" && s.numbers != "wrong")
    at.at("numbers").fail("expected right or wrong");
  if (s.device_bytes && (*s.device_bytes > most_device_bytes || *s.device_bytes < -most_device_bytes))
    at.at("device_bytes").fail(fmt::format("no GPU has {} bytes", *s.device_bytes));
}

/// Words that the side does not state are the last ones of its remedy.
void take_words(const json_cursor& at, cost_side& s, cost_words& stated) {
  if (!s.words.empty()) {
    stated[s.remedy] = s.words;
    return;
  }
  const auto last = stated.find(s.remedy);
  if (last == stated.end()) at.fail("no words are stated for it, here or in an earlier line");
  s.words = last->second;
}

cost_comparison comparison_from(const json_cursor& at, cost_words& stated) {
  auto c = read_json_value<cost_comparison>(at);
  if (c.name.empty()) at.at("comparison").fail("is empty");
  if (!c.failed.empty()) {
    if (!c.without.milliseconds.empty() || !c.again.empty() || !c.with.empty())
      at.at("failed").fail("a comparison that failed has no samples");
    return c;
  }
  if (c.clock != "device" && c.clock != "host") at.at("clock").fail("expected device or host");
  for (const double each : {c.operations, c.bytes})
    if (!std::isfinite(each) || each < 0 || each > most_work)
      at.fail(fmt::format("operations and bytes are numbers from 0 to {}", most_work));
  const std::size_t rounds = c.without.milliseconds.size();
  if (rounds == 0) at.at("without").fail("has no times");
  if (!c.without.remedy.empty()) at.at("without").fail("has a remedy");
  check_side(at.at("without"), c.without, rounds);
  take_words(at.at("without"), c.without, stated);
  check_samples(at.at("again"), c.again, rounds);
  std::set<std::string> remedies;
  if (!c.with.empty()) {
    const auto sides = at.at("with").items();
    for (std::size_t i = 0; i < c.with.size(); ++i) {
      if (!is_word(c.with[i].remedy)) sides[i].fail("a remedy is called by a-z, 0-9 and '_'");
      if (!remedies.insert(c.with[i].remedy).second)
        sides[i].fail(fmt::format("the remedy {} stands twice; leave one", c.with[i].remedy));
      check_side(sides[i], c.with[i], rounds);
      take_words(sides[i], c.with[i], stated);
    }
  }
  return c;
}

}  // namespace

std::string cost_header_line(const cost_record& r) {
  field_writer f;
  f.required("cost_schema", cost_schema);
  describe_cost_header(const_cast<cost_record&>(r), f);  // only read
  f.json["stack"] = r.stack->is_null() ? nlohmann::json::object() : *r.stack;
  return dump_json(f.json);
}

std::string cost_line(cost_comparison c, cost_words& stated) {
  const auto shorten = [&](cost_side& s) {
    std::string& last = stated[s.remedy];
    if (s.words == last)
      s.words.clear();
    else
      last = s.words;
  };
  if (c.failed.empty()) shorten(c.without);  // a comparison that failed has no sides
  for (cost_side& s : c.with) shorten(s);
  return dump_json(write_json(c));
}

std::string cost_end_line(const cost_record& r) {
  return dump_json({{"ended", r.ended}, {"complete", r.complete}});
}

cost_comparison cost_comparison_from(const std::string& name, std::string_view line, int number) {
  cost_words none;
  return comparison_from(json_cursor{parse_json(name, line, number)}, none);
}

cost_record cost_record_from(const std::string& name, std::string_view text) {
  if (text.empty()) throw input_error(fmt::format("{}:1: an empty record", name));
  cost_record r;
  std::set<std::string> names;
  cost_words stated;
  bool ended = false;
  each_line(text, [&](std::string_view line, int number, bool whole) {
    std::shared_ptr<const json_document> parsed;
    try {
      parsed = parse_json(name, line, number);
    } catch (const input_error&) {
      if (whole || number == 1) throw;
      return;  // the run was killed while it wrote this line
    }
    const json_cursor top{parsed};
    if (number == 1) {
      r = cost_header_from(top);
    } else if (ended) {
      top.fail("a line behind the last one");
    } else if (top.has("ended")) {
      top.only({"ended", "complete"});
      r.ended = top.at("ended").string();
      r.complete = top.at("complete").boolean();
      ended = true;
    } else {
      r.comparisons.push_back(comparison_from(top, stated));
      if (!names.insert(r.comparisons.back().name).second)
        top.at("comparison").fail(fmt::format("{} stands twice; leave one line", r.comparisons.back().name));
    }
  });
  return r;
}

cost_record load_cost_record(const fs::path& file) {
  const fs::path in = fs::is_directory(file) ? file / cost_file : file;
  return cost_record_from(in.string(), read_text(in));
}

std::vector<fs::path> cost_records_in(const std::vector<fs::path>& named) {
  std::vector<fs::path> found;
  for (const fs::path& name : named) {
    try {
      if (!fs::is_directory(name)) {
        found.push_back(name);
        continue;
      }
      if (fs::exists(name / cost_file)) found.push_back(name / cost_file);
      for (const auto& entry : fs::directory_iterator(name))
        if (entry.is_directory() && fs::exists(entry.path() / cost_file))
          found.push_back(entry.path() / cost_file);
    } catch (const std::system_error& error) {
      throw cannot_be_read(name, error.code());
    }
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace cufault
