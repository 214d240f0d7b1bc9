// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/model/step.hpp"

#include "reports/model/api_functions.hpp"
#include "reports/model/tests/examples.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {
namespace {

using namespace examples;

TEST(api_functions, are_sorted_and_each_once) {
  const auto ascending = [](const api_function& a, const api_function& b) { return a.name < b.name; };
  EXPECT_TRUE(std::is_sorted(std::begin(api_functions), std::end(api_functions), ascending));
  EXPECT_EQ(std::adjacent_find(std::begin(api_functions), std::end(api_functions),
                               [](const auto& a, const auto& b) { return a.name == b.name; }),
            std::end(api_functions));
  EXPECT_GT(std::size(api_functions), 1000U);
}

TEST(api_functions, are_named_as_in_the_documentation) {
  EXPECT_EQ(library_of("cublasCreate"), "cublas");
  EXPECT_EQ(library_of("cublasLtMatmul"), "cublaslt");
  EXPECT_EQ(library_of("cudaMalloc"), "runtime");
  EXPECT_EQ(library_of("cuMemAlloc"), "driver");
  for (const auto* name : {"", "cublasCreate_v2", "cublascreate", "cublasCreat", "product", "zzz"})
    EXPECT_EQ(library_of(name), "") << name;
}

TEST(api_functions, succeed_with_the_word_of_their_library) {
  EXPECT_EQ(success_of("cublasSgemm"), "CUBLAS_STATUS_SUCCESS");
  EXPECT_EQ(success_of("cublasLtMatmul"), "CUBLAS_STATUS_SUCCESS");
  EXPECT_EQ(success_of("cudaMalloc"), "cudaSuccess");
  EXPECT_EQ(success_of("cuMemAlloc"), "CUDA_SUCCESS");
  EXPECT_EQ(success_of("check.arguments"), "OK");
  EXPECT_EQ(success_of("torch.matmul"), "OK");
  EXPECT_EQ(success_of("load.cublas"), "LOADED");
}

TEST(step_name, is_of_an_api_function_or_of_work_of_this_project) {
  EXPECT_EQ(defect_of(step_name{"cublasSgemm"}), "");
  EXPECT_EQ(defect_of(step_name{"check.arguments"}), "");
  EXPECT_EQ(defect_of(step_name{"torch.nn.Linear", "cpu_input"}), "");
  for (const auto* api : {"", "product(h)", "cublasCreate(&handle)", "check.nothing", "torch.nothing"})
    EXPECT_EQ(defect_of(step_name{api}),
              "\"" + std::string(api) +
                  "\" is no function of the CUDA headers or of a framework, and no check of cufault's own; "
                  "reports/model/api_functions.hpp lists them");
}

TEST(step_name, has_a_variant_of_few_characters) {
  for (const auto* variant : {"", "split_k", "fp16", "m=64_n=64_k=8.5+2-x"})
    EXPECT_EQ(defect_of(step_name{"cublasSgemm", variant}), "") << variant;
  EXPECT_EQ(defect_of(step_name{"cublasSgemm", std::string(120, 'x')}), "");
  for (const auto& variant :
       {std::string("a(b)"), std::string("a b"), std::string("a,b"), std::string("a:b"), std::string("a/b"),
        std::string("a\"b"), std::string("a\nb"), std::string("a|b"), std::string("caf\xc3\xa9"),
        std::string("a\0b", 3), std::string(121, 'x')})
    EXPECT_EQ(defect_of(step_name{"cublasSgemm", variant}),
              "\"" + variant + "\" is no variant: at most 120 letters, digits and \"_.+-=\"");
}

TEST(step, is_described_by_name_status_numbers_and_facts) {
  step s = step_of("cublasSgemm", wrong);
  s.name.variant = "split_k";
  s.facts = {{"nan_elements", std::int64_t{4}}, {"written", std::vector<std::string>{"A", "outside"}}};
  EXPECT_EQ(describe(s.name), "cublasSgemm split_k");
  EXPECT_EQ(describe(s),
            "cublasSgemm split_k: CUBLAS_STATUS_SUCCESS, numbers wrong (nan elements 4; written A, outside)");
  EXPECT_EQ(describe(step_of("cublasSgemm", right)), "cublasSgemm: CUBLAS_STATUS_SUCCESS, numbers right");
  EXPECT_EQ(describe(step_of("cublasSgemm", no_memory)), "cublasSgemm: CUBLAS_STATUS_ALLOC_FAILED");
}

TEST(step, is_ok_whatever_its_status_is_called) {
  step s = step_of("cublasSgemm", no_memory);
  EXPECT_FALSE(s.ok);
  observation refused_as_it_should;
  refused_as_it_should.ended = outcome::completed;
  s.ok = true;
  refused_as_it_should.calls = {{.what = s}};
  EXPECT_FALSE(failed(signature_of(refused_as_it_should)));
  EXPECT_EQ(severity(signature_of(refused_as_it_should)), 0);
  auto did_nothing = trial({success});
  did_nothing.calls[0].what.ok = false;
  EXPECT_TRUE(failed(signature_of(did_nothing)));
  EXPECT_EQ(severity(signature_of(did_nothing)), 1);
  EXPECT_NE(signature_of(did_nothing), signature_of(trial({success})));
}

std::string call_refusal(std::string_view call) {
  return refusal([&] { return call_from(cursor(call)); });
}

TEST(step, is_an_object_that_leaves_defaults_out) {
  auto c = call("cublasSgemm", wrong);
  c.what.name.variant = "split_k";
  c.last_error = "cudaSuccess";
  EXPECT_EQ(
      call_json(c).dump(),
      R"({"api":"cublasSgemm","variant":"split_k","status":"CUBLAS_STATUS_SUCCESS","ok":false,"numbers":"wrong"})");
  EXPECT_EQ(call_from(cursor(call_json(c).dump())).what, c.what);
  c = call("cublasSgemm", success);
  c.last_error = "cudaErrorAssert";
  c.what.facts = {{"logged", true}};
  EXPECT_EQ(
      call_json(c).dump(),
      R"({"api":"cublasSgemm","status":"CUBLAS_STATUS_SUCCESS","last_error":"cudaErrorAssert","facts":{"logged":true}})");
  EXPECT_EQ(call_from(cursor(call_json(c).dump())).what, c.what);
  EXPECT_EQ(call_from(cursor(call_json(c).dump())).last_error, "cudaErrorAssert");
}

TEST(step, has_any_status_that_a_library_can_name) {
  for (const auto* status : {"a: b", " x", ", right", ":", "two words, and a comma"}) {
    auto c = call("cublasSgemm", status);
    EXPECT_EQ(call_from(cursor(call_json(c).dump())).what, c.what) << status;
  }
}

TEST(step_name, is_made_of_the_words_of_a_table) {
  EXPECT_EQ(named_by_words("cublasSgemm, m of 2^31"), (step_name{"cublasSgemm", "m_of_2_31"}));
  EXPECT_EQ(named_by_words("cublasSgemm"), (step_name{"cublasSgemm"}));
  EXPECT_EQ(named_by_words("cublasSgemm: lda=8, ldb>2 "), (step_name{"cublasSgemm", "lda=8_ldb_2"}));
  EXPECT_EQ(variant_of("  a__b ((c)) +1.5 "), "a_b_c_+1.5");
  EXPECT_EQ(variant_of(""), "");
  for (const auto* words : {"m of 2^31", "\xc3\xa9", "()", "a\nb"})
    EXPECT_EQ(defect_of(step_name{"cublasSgemm", variant_of(words)}), "") << words;
}

TEST(step, of_a_name_that_cannot_be_is_refused_by_line_and_field) {
  EXPECT_EQ(call_refusal("{\"status\": \"FAILED\",\n\"api\": \"product(h)\"}"),
            "x.json:2: api: \"product(h)\" is no function of the CUDA headers or of a framework, and no "
            "check of cufault's own; "
            "reports/model/api_functions.hpp lists them");
  EXPECT_TRUE(call_refusal(R"({"api": ""})").starts_with("x.json:1: api: \"\" is no function"));
  EXPECT_EQ(call_refusal(R"json({"api": "cublasCreate", "variant": "a(b)"})json"),
            "x.json:1: api: \"a(b)\" is no variant: at most 120 letters, digits and \"_.+-=\"");
  EXPECT_EQ(call_refusal(R"({"status": "X"})"), "x.json:1: top level: \"api\" is missing");
  EXPECT_EQ(call_refusal("3"), "x.json:1: top level: expected an object, found a number");
}

TEST(step, with_facts_that_cannot_be_is_refused_by_line_and_field) {
  const auto with = [](const std::string& facts) {
    return call_refusal("{\"api\": \"cublasCreate\", \"facts\": {\n" + facts + "}}");
  };
  EXPECT_EQ(with(R"("blamed": 8, "written": ["A"], "logged": true, "then": "cudaErrorAssert")"),
            "(nothing was refused)");
  EXPECT_EQ(with(R"("colour": 1)"),
            "x.json:2: facts.colour: no fact is called colour; reports/model/facts.cpp lists them");
  EXPECT_EQ(with(R"("blamed": "eight")"), "x.json:2: facts.blamed: the fact blamed is an integer");
  EXPECT_EQ(with(R"("blamed": true)"), "x.json:2: facts.blamed: the fact blamed is an integer");
  EXPECT_EQ(with(R"("blamed": 0.5)"), "x.json:2: facts.blamed: expected a string, found a number");
  EXPECT_EQ(with(R"("logged": 1)"), "x.json:2: facts.logged: the fact logged is a boolean");
  EXPECT_EQ(with(R"("then": ["a"])"), "x.json:2: facts.then[0]: expected an integer, found a string");
  EXPECT_EQ(with(R"("then": [1])"), "x.json:2: facts.then: the fact then is a word");
  EXPECT_EQ(with(R"("written": [1])"), "x.json:2: facts.written[0]: expected a string, found a number");
  EXPECT_EQ(with(R"("written": "A")"), "x.json:2: facts.written: the fact written is a list of words");
  EXPECT_EQ(with(R"("elements_right": 3)"),
            "x.json:2: facts.elements_right: the fact elements_right is a list of integers");
  EXPECT_EQ(call_refusal(R"({"api": "cublasCreate", "facts": []})"),
            "x.json:1: facts: expected an object, found an array");
}

TEST(facts, are_all_known_once_with_a_meaning) {
  EXPECT_FALSE(known_facts().empty());
  for (const auto& f : known_facts()) {
    EXPECT_EQ(find_fact(f.name), &f) << "listed twice, or out of order";
    EXPECT_FALSE(f.meaning.empty()) << f.name;
  }
  EXPECT_EQ(find_fact("colour"), nullptr);
}

TEST(facts, are_compared_noted_or_only_kept) {
  const fact_map seen{{"driver_calls", std::int64_t{29}},
                      {"first_failing", std::vector<std::int64_t>{66, 7}},
                      {"kernels", std::int64_t{2}},
                      {"memory_taken", std::int64_t{-512}},
                      {"workspace_used", true}};
  EXPECT_EQ(facts_that_are(fact_use::compared, seen), (fact_map{{"workspace_used", true}}));
  EXPECT_EQ(facts_that_are(fact_use::noted, seen),
            (fact_map{{"first_failing", std::vector<std::int64_t>{66, 7}}}));
}

TEST(facts, of_each_type_come_back_from_json) {
  const fact_map all{{"logged", true},
                     {"blamed", std::int64_t{-8}},
                     {"then", std::string("cudaErrorAssert")},
                     {"elements_right", std::vector<std::int64_t>{0, 7, 9, 9}},
                     {"written", std::vector<std::string>{"A", "B"}},
                     {"matrices_written", std::vector<std::int64_t>{}},
                     {"written_beyond", std::vector<std::string>{}}};
  for (const auto& [name, value] : all) EXPECT_EQ(defect_of(name, value), "") << name;
  EXPECT_EQ(facts_from(cursor(facts_json(all).dump())), all);
  EXPECT_EQ(describe(all),
            "blamed -8; elements right 0, 7, 9, 9; logged yes; matrices written nothing; "
            "then cudaErrorAssert; written A, B; written beyond nothing");
  EXPECT_EQ(describe(fact_map{}), "");
}

TEST(facts, are_compared_but_for_which_error_a_wild_address_ends_in) {
  auto one = trial({success}), other = one;
  one.calls[0].what.facts = {{"logged", true}, {"then", std::string("cudaErrorIllegalAddress")}};
  other.calls[0].what.facts = {{"logged", true}, {"then", std::string("cudaErrorInvalidAddressSpace")}};
  EXPECT_EQ(signature_of(one), signature_of(other));
  other.calls[0].what.facts["then"] = std::string("cudaErrorMisalignedAddress");
  EXPECT_NE(signature_of(one), signature_of(other));
  other.calls[0].what.facts = one.calls[0].what.facts;
  other.calls[0].what.facts["logged"] = false;
  EXPECT_NE(signature_of(one), signature_of(other));
}

}  // namespace
}  // namespace cufault
