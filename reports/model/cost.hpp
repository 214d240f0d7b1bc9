// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/base/json_value.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What remedies cost, as remedy_cost (harness/benchmarks) measured it: samples only. What follows from them is in reports/judge/cost.hpp.
namespace cufault {

/// reports/schemas/cost-line.schema.json
inline constexpr int cost_schema = 2;
/// Its name in the folder of a stack, reports/recorded/STACK, where it is no family of cases.
inline constexpr const char* cost_file = "cost.jsonl";

/// The work without a remedy, or with one.
struct cost_side {
  std::string remedy{};                        ///< a-z, 0-9, '_'; empty: the work without any
  std::string words{};                         ///< as a program's author would do it
  std::vector<double> milliseconds{};          ///< of one call or step, a number for each round
  std::optional<std::int64_t> device_bytes{};  ///< device memory that it took; absent: not measured
  std::string numbers{};                       ///< "right" or "wrong"; empty: not checked
  std::string failed{};                        ///< why there are no samples
  friend bool operator==(const cost_side&, const cost_side&) = default;
};

/// One kind of work, measured in rounds: in each round every side once, in an order drawn from the seed.
struct cost_comparison {
  std::string name{};   ///< unique: "workspace.fp16.4096x4096x4096"
  std::string work{};   ///< in words
  std::string clock{};  ///< "device": CUDA events; "host": a host clock, until the device has done the work
  std::string type{};   ///< of the products, for the peak of the GPU: "fp16"; empty: none
  double operations = 0,
         bytes = 0;  ///< arithmetic operations of a call, and bytes of its operands, each once
  cost_side without{};
  std::vector<double>
      again{};  ///< control: the work without a remedy once more in each round, in milliseconds
  std::vector<cost_side> with{};
  std::string failed{};  ///< why nothing of it was measured
};

struct cost_record {
  std::string version{}, commit{};
  bool dirty = false;
  std::vector<std::string> argv{};
  std::string started{}, ended{};
  std::string size{};  ///< "usual" or "tiny": that of a test, whose figures mean nothing
  std::uint64_t seed = 0;
  json_value stack{};  ///< as in record
  std::vector<cost_comparison> comparisons{};
  bool complete = false;  ///< it came to its end
};

/// The words of each remedy, and of "" for sides without one, that a record has stated last.
using cost_words = std::map<std::string, std::string>;

/// Lines of a record, each without its end: a header, one for each comparison, and a last one. A side leaves out its words where they are the
/// last that were stated for its remedy. `stated` has those of the lines so far and is brought up to date; it is empty for the first line.
std::string cost_header_line(const cost_record& r);
std::string cost_line(cost_comparison c, cost_words& stated);
std::string cost_end_line(const cost_record& r);

/// Throws input_error. Without its last line, or with half a line, the run was killed: it is read up to there.
cost_record cost_record_from(const std::string& name, std::string_view text);
/// A file, or the cost.jsonl in the folder of a stack.
cost_record load_cost_record(const std::filesystem::path& file);
/// A comparison as a process sent it, with all its words. Throws input_error.
cost_comparison cost_comparison_from(const std::string& name, std::string_view line, int number);

/// Records in what was named: files as they are, of a folder its cost.jsonl, or those of the stacks in it.
std::vector<std::filesystem::path> cost_records_in(const std::vector<std::filesystem::path>& named);

}  // namespace cufault
