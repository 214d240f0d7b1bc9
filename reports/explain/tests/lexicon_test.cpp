// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The tables of cases/explain are complete and agree with the records, the catalogue and each other.
#include "reports/explain/lexicon.hpp"

#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"
#include "reports/base/tests/input_examples.hpp"
#include "reports/explain/evidence.hpp"
#include "reports/explain/explanation.hpp"
#include "reports/explain/tests/examples.hpp"
#include "reports/explain/tests/knowing.hpp"
#include "reports/judge/judge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace cufault {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::vector<record>& judged_records() {
  static const std::vector<record> all = [] {
    std::vector<record> records;
    for (const auto& path : records_in({CUFAULT_RECORDED})) {
      records.push_back(load_record(path));
      for (case_result& c : records.back().cases) judge(c, {}, keys_of(records.back()));
    }
    return records;
  }();
  return all;
}

/// Trials of each natural fault arm, by CASE/ARM.
std::map<std::string, std::vector<const observation*>> natural_trials() {
  std::map<std::string, std::vector<const observation*>> all;
  for (const record& r : judged_records())
    for (const case_result& c : r.cases)
      for (const arm_result& a : c.arms)
        if (a.kind == arm_kind::fault && !is_made_up(a))
          for (const observation& o : a.trials)
            if (comparable(o)) all[join_key(c.name, a.name)].push_back(&o);
  return all;
}

/// Whether a trial shows that the fault was there: a status, a word of the driver, a damaged context or a full device.
bool shows_one_of(const observation& o, const std::vector<std::string>& signs) {
  const auto is_sign = [&](const std::string& what) { return std::ranges::find(signs, what) != signs.end(); };
  return is_sign(o.context) ||
         (is_sign("full") && std::ranges::any_of(o.memory, [](const auto& m) { return nearly_full(m); })) ||
         std::ranges::any_of(o.calls, [&](const call_record& c) {
           return is_sign(known().canonical(c.what.status)) || is_sign(c.last_error) ||
                  std::ranges::any_of(c.driver, [&](const auto& m) { return is_sign(m.code); });
         });
}

/// Arms of the cause, of which a record has a failure, whose trials do not show its fault.
std::vector<std::string> arms_without_fault(const known_cause& cause, const std::vector<std::string>& signs) {
  static const auto trials = natural_trials();
  static const std::set<std::string> failing = [] {
    std::set<std::string> arms;
    for (const recorded_failure& f : evidence_in(judged_records(), known()).failures)
      if (f.natural) arms.insert(f.arms.begin(), f.arms.end());
    return arms;
  }();
  std::vector<std::string> without;
  for (const std::string& arm : cause.arms) {
    const auto of = trials.find(arm);
    if (of == trials.end()) continue;
    const auto shows = [&](const observation* o) { return shows_one_of(*o, signs); };
    if (failing.contains(arm) && std::ranges::none_of(of->second, shows)) without.push_back(arm);
  }
  return without;
}

const known_cause& cause_called(const std::string& id) {
  return *std::ranges::find(known().causes, id, &known_cause::id);
}

TEST(rows_of_causes, rest_on_trials_that_had_the_fault_that_they_name) {
  const std::vector<std::string> device_memory{"full", "OUT_OF_MEMORY", "cudaErrorMemoryAllocation",
                                               "CUBLAS_STATUS_ALLOC_FAILED", "RESOURCE_EXHAUSTED"};
  const std::map<std::string, std::vector<std::string>> signs{
      {"memory_exhausted.device", device_memory},
      {"memory_exhausted.neighbour", device_memory},
      {"index_out_of_range.assertion", {"cudaErrorAssert"}},
      {"upstream_kernel_fault.sticky", {"damaged"}},
      {"upstream_kernel_fault.refused_launch", {"LAUNCH_OUT_OF_RESOURCES", "cudaErrorInvalidValue"}},
      {"environment_other.other_libcuda", {"cudaErrorSystemDriverMismatch"}},
      {"environment_other.wrong_libcuda", {"cudaErrorStubLibrary"}}};
  for (const auto& [id, of] : signs) EXPECT_THAT(arms_without_fault(cause_called(id), of), IsEmpty()) << id;

  known_cause wrong{.id = "wrong", .text = ""};
  wrong.arms = {"heuristic.under_pressure/host_memory", "memory.handle_leak/leak_8_gib"};
  EXPECT_THAT(arms_without_fault(wrong, device_memory), ElementsAre("heuristic.under_pressure/host_memory"));
}

TEST(rows_of_causes, call_a_measured_defect_of_valid_calls_no_mistake) {
  for (const char* arm : {"types.wide_extents/far_apart_in_a", "types.wide_extents/far_apart_in_y"})
    EXPECT_THAT(cause_called("cublas_bug.version").arms, Contains(arm));
}

/// Cells of trmm and of the grouped product failed with INTERNAL_ERROR although code was loaded lazily.
TEST(rows_of_causes, promise_nothing_of_lazy_loading_behind_an_internal_error) {
  const knowing all(judged_records());
  for (const char* call : {"cublasStrmm", "cublasSgemmGroupedBatched", "cublasSgemm"})
    for (const ranked_cause& c : all.of(std::string(call) + ": CUBLAS_STATUS_INTERNAL_ERROR").causes)
      for (const tried_remedy& r : c.clears) EXPECT_THAT(r.words, Not(HasSubstr("LAZY"))) << call;
}

TEST(tables, name_arms_that_are_recorded) {
  std::set<std::string> recorded;
  for (const record& r : judged_records())
    for (const case_result& c : r.cases)
      for (const arm_result& a : c.arms)
        recorded.insert(c.name.starts_with("matrix.") ? c.name : join_key(c.name, a.name));
  for (const known_cause& c : known().causes)
    for (const std::string& arm : c.arms) EXPECT_TRUE(recorded.contains(arm)) << c.id << ": " << arm;
}

TEST(tables, give_each_fault_arm_of_the_records_a_cause) {
  const std::vector<record>& records = judged_records();
  ASSERT_FALSE(records.empty());
  const evidence all = evidence_in(records, known());
  EXPECT_THAT(all.unassigned, IsEmpty());
  EXPECT_GT(all.failures.size(), 100U);
  EXPECT_GT(all.remedies.size(), 50U);
}

TEST(tables, know_statuses_of_calls_that_only_ask) {
  EXPECT_TRUE(known().is_question("CUDA_ERROR_INVALID_CONTEXT", "cuCtxGetDevice_v2"));
  EXPECT_TRUE(known().is_question("CUDNN_STATUS_NOT_SUPPORTED_SHAPE", "cudnnBackendFinalize"));
  EXPECT_TRUE(known().is_question("CUBLAS_STATUS_NOT_SUPPORTED", "cublasLtMatmulAlgoGetHeuristic"));
  EXPECT_FALSE(known().is_question("CUBLAS_STATUS_NOT_SUPPORTED", "cublasGemmEx"));
  EXPECT_FALSE(known().is_question("CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER", "cudnnCreate"));
  EXPECT_FALSE(known().is_question("CUDA_ERROR_LAUNCH_FAILED", "cuMemFree_v2"));
}

TEST(tables, give_each_status_of_each_library_a_cause) {
  std::size_t statuses = 0;
  for (const status_library& of : status_libraries())
    for (const library_code& code : of.codes) {
      const std::string name(code.name);
      if (code.number == 0 || !known().is_status(name)) continue;
      ++statuses;
      EXPECT_TRUE(std::ranges::any_of(known().causes, [&](const known_cause& c) {
        return std::ranges::any_of(c.looks, [&](const failure_pattern& look) {
          return matches_any(look.status, name) || matches_any(look.status, known().kind_of(name));
        });
      })) << name;
    }
  EXPECT_GT(statuses, 300U);
  EXPECT_EQ(known().kind_of("SHAPES_REFUSED"), "");
}

TEST(tables, name_failures_that_are_in_the_catalogue) {
  std::set<std::string> catalogue;
  for (const field_failure& f : load_failures(CUFAULT_FAILURES_FILE)) catalogue.insert(f.id);
  std::set<std::string> used;
  for (const known_cause& c : known().causes)
    for (const std::string& id : c.failures) {
      EXPECT_TRUE(catalogue.contains(id)) << c.id << " " << id;
      used.insert(id);
    }
  EXPECT_GT(used.size(), 60U);
}

TEST(tables, cover_the_classes_of_the_public_reports) {
  std::set<std::string> classes;
  for (const known_cause& c : known().causes) classes.insert(c.cause_class());
  for (const json_cursor& r : json_cursor{read_json(CUFAULT_PUBLIC_REPORTS)}.at("reports").items())
    EXPECT_TRUE(classes.contains(r.at("cause_class").string())) << r.at("id").string();
}

TEST(tables, hold_no_address_and_no_name_of_a_report) {
  std::vector<std::string> names;
  for (const json_cursor& r : json_cursor{read_json(CUFAULT_PUBLIC_REPORTS)}.at("reports").items())
    names.push_back(r.at("id").string());
  for (const auto& entry : fs::recursive_directory_iterator(CUFAULT_EXPLAIN_FOLDER)) {
    if (!entry.is_regular_file()) continue;
    const std::string text = read_text(entry.path());
    EXPECT_EQ(text.find("://"), std::string::npos) << entry.path();
    for (const std::string& name : names)
      EXPECT_EQ(text.find(name), std::string::npos) << entry.path() << name;
  }
}

/// The first answer shows a check and a cure whole, in ten lines of 40 columns.
TEST(tables, have_short_texts) {
  constexpr std::size_t longest_cause = 90, longest_cure = 110, longest_check = 110;
  for (const known_cause& c : known().causes) {
    EXPECT_LE(c.text.size(), longest_cause) << c.id;
    for (const std::string& text : c.with_names) EXPECT_LE(text.size(), longest_cause) << c.id;
    for (const std::string& text : c.said_to_clear)
      EXPECT_LE(text.size(), longest_cure) << c.id << ": " << text;
    for (const framework_cure& cure : c.cures)
      EXPECT_LE(cure.text.size(), longest_cure) << c.id << ": " << cure.text;
  }
  for (const known_check& c : known().checks) {
    std::size_t text = c.text.size(), says = c.otherwise.size();
    for (const framework_cure& own : c.texts) text = std::max(text, own.text.size());
    for (const check_answer& a : c.answers) says = std::max(says, a.says.size());
    EXPECT_LE(text + says, longest_check) << c.id;
  }
}

TEST(tables, name_errors_by_every_name_and_number) {
  EXPECT_EQ(known().canonical("CUDA_ERROR_OUT_OF_MEMORY"), "cudaErrorMemoryAllocation");
  EXPECT_EQ(known().canonical("ALLOC_FAILED"), "CUBLAS_STATUS_ALLOC_FAILED");
  EXPECT_EQ(known().canonical("something else"), "something else");
  const status_library& runtime = *library_of_status("cudaError");
  EXPECT_EQ(known().by_code(runtime, 700), "cudaErrorIllegalAddress");
  EXPECT_EQ(known().by_code(runtime, 77), "cudaErrorIllegalAddress") << "of CUDA 10.0 and older";
  EXPECT_EQ(known().by_code(*library_of_status("cublasLtMatmul"), 14), "CUBLAS_STATUS_INTERNAL_ERROR");
  EXPECT_EQ(known().by_code(runtime, 123456), "");
  for (const error_name& e : known().errors) {
    const status_library* const of = library_of_status(e.name);
    if (e.code != 0 && of != nullptr) {
      EXPECT_EQ(known().by_code(*of, e.code), e.name);
    }
  }
}

/// What load_lexicon() says where one text of one file is replaced; "nothing" where it takes it.
std::string refusal_of(const fs::path& folder, const std::string& file, const std::string& from,
                       const std::string& to) {
  fs::copy(CUFAULT_EXPLAIN_FOLDER, folder,
           fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  std::string text = read_text(folder / file);
  const auto at = text.find(from);
  if (at == std::string::npos) return from + " is not in it";
  write_whole(folder / file, text.replace(at, from.size(), to));
  try {
    static_cast<void>(load_lexicon(folder));
  } catch (const input_error& e) {
    return e.what();
  }
  return "nothing";
}

class changed_tables : public examples::in_directory {};

TEST_F(changed_tables, are_refused_where_a_word_is_wrong) {
  struct change {
    const char *file, *from, *to, *refusal;
  };
  for (const auto& [file, from, to, refusal] :
       {change{"causes.json", "\"schema\": 1", "\"schema\": 1", "nothing"},
        {"causes.json", "\"schema\": 1", "\"schema\": 2", "causes.json:2"},
        {"causes.json", "\"cuda.assertion\"", "\"cuda.asertion\"", "cuda.asertion"},
        {"causes.json", "\"cuda.assertion\"", "\"pytorch.named\"", "pytorch.named"},
        {"causes.json", "missing/no_driver\"", "missing/*\"", "which is no name"},
        {"causes.json", "\"types.scalars/null\"", "\"types.scalars/wrong_type\"", "or is of a cause before"},
        {"checks.json", "\"index_out_of_range.*\"", "\"index_out_of_rnge.*\"", "index_out_of_rnge"},
        {"checks.json", "\"memory.enough\"", "\"memory.enugh\"", "memory.enugh"},
        {"events/cublas.json", "\"cublas.log_init\"", "\"cublas.log_batch\"",
         "cublas.log_batch is there twice"},
        {"events/cublas.json", "\"role\"", "\"rule\"", "cublas.json"},
        {"events/pytorch.json", "\"pytorch.printed\",", "\"pytorch.printed\", \"fails\": \"X\",",
         "pytorch.printed fails and is no cause"},
        {"grammar.json", "\"denials\"", "\"denial\"", "grammar.json"}})
    EXPECT_THAT(refusal_of(directory, file, from, to), HasSubstr(refusal)) << file << ": " << to;
}

TEST(tables, are_missed_by_name) {
  EXPECT_THROW(static_cast<void>(load_lexicon("/nonexistent")), input_error);
}

}  // namespace
}  // namespace cufault
