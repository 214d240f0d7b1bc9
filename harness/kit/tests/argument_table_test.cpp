// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/kit/argument_table.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace cufault::argument_table {
namespace {

using arguments = std::tuple<cublasHandle_t, cublasOperation_t, int, const float*, const float*, int, float*>;
arguments called;

cublasStatus_t product_of(cublasHandle_t handle, cublasOperation_t op, int n, const float* alpha,
                          const float* a, int lda, float* c) {
  called = {handle, op, n, alpha, a, lda, c};
  return CUBLAS_STATUS_SUCCESS;
}

const std::vector<argument> names{{"handle", role::handle}, {"transa", role::enumeration},
                                  {"n", role::size},        {"alpha", role::scalar},
                                  {"A", role::input, 0, 0}, {"lda", role::leading_dimension, 5},
                                  {"C", role::output, 0, 2}};
float alpha = 1;
std::array<float, 64> memory{};

std::vector<row> made(depth how_deep) {
  const buffers none{buffers::without_memory{}};
  return described_rows_of(argument_check::product{}, "product_of", product_of, names, none, how_deep,
                           reinterpret_cast<cublasHandle_t>(memory.data()), CUBLAS_OP_N, 4, &alpha,
                           memory.data(), 8, memory.data() + 32);
}

template <std::size_t... I>
int differences(const arguments& a, const arguments& b, std::index_sequence<I...> /*which*/) {
  return ((std::get<I>(a) == std::get<I>(b) ? 0 : 1) + ...);
}

arguments call_of(const row& r) {
  EXPECT_EQ(r.call().status, CUBLAS_STATUS_SUCCESS);
  return called;
}

std::map<std::string, row> by_text(depth how_deep) {
  std::map<std::string, row> rows;
  for (row& r : made(how_deep)) rows.emplace(r.text(), r);
  return rows;
}

TEST(argument_table, changes_exactly_one_argument_a_row) {
  const auto rows = made(depth::everything);
  const arguments valid = call_of(rows.at(0));
  EXPECT_EQ(rows[0].text(), "product_of");
  EXPECT_FALSE(rows[0].wrong);
  for (std::size_t i = 1; i < rows.size(); ++i)
    EXPECT_EQ(differences(valid, call_of(rows[i]), std::make_index_sequence<7>{}), 1) << rows[i].text();
}

TEST(argument_table, names_every_row_differently) {
  std::set<std::string> texts;
  const auto rows = made(depth::everything);
  for (const row& r : rows) EXPECT_TRUE(texts.insert(r.text()).second) << r.text();
}

TEST(argument_table, changes_each_argument_as_its_role_says) {
  std::map<std::string, arguments> rows;
  for (const auto& [text, r] : by_text(depth::everything)) rows[text] = call_of(r);
  EXPECT_EQ(std::get<0>(rows.at("product_of handle null")), nullptr);
  EXPECT_EQ(std::get<1>(rows.at("product_of transa of 99")), static_cast<cublasOperation_t>(99));
  EXPECT_EQ(std::get<2>(rows.at("product_of n of -1")), -1);
  EXPECT_EQ(std::get<2>(rows.at("product_of n huge")), 0x7fffffff);
  for (const std::uintptr_t by : {1, 2, 4, 8}) {
    const auto* scalar = std::get<3>(rows.at(fmt::format("product_of alpha zero at {} mod 16", by)));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(scalar) % 16, by);
    EXPECT_EQ(std::get<4>(rows.at(fmt::format("product_of A off by {}", by))),
              static_cast<const void*>(reinterpret_cast<const char*>(memory.data()) + by));
  }
  EXPECT_EQ(std::get<5>(rows.at("product_of lda one too small")), 4);
  EXPECT_EQ(std::get<6>(rows.at("product_of C null")), nullptr);
}

TEST(argument_table, knows_which_changes_contradict_the_documentation) {
  const auto rows = by_text(depth::everything);
  for (const char* wrong : {"handle null", "transa of 99", "n of -1", "n huge", "alpha null", "A null",
                            "A in host memory", "A freed", "lda one too small", "alpha in device memory"})
    EXPECT_TRUE(rows.at(std::string("product_of ") + wrong).wrong) << wrong;
  for (const char* legal : {"n of 0", "A off by 4", "alpha zero at 8 mod 16", "A that of C"})
    EXPECT_FALSE(rows.at(std::string("product_of ") + legal).wrong) << legal;
}

TEST(argument_table, describes_what_is_checked_beforehand) {
  const auto rows = by_text(depth::everything);
  const row& valid = rows.at("product_of");
  ASSERT_TRUE(valid.described);
  EXPECT_EQ(valid.described->n, 4);
  EXPECT_EQ(valid.described->a.data, memory.data());
  EXPECT_EQ(valid.described->c.data, memory.data() + 32);
  EXPECT_EQ(valid.described->alpha, &alpha);
  EXPECT_EQ(rows.at("product_of lda of -1").described->a.leading_dimension, -1);
  EXPECT_EQ(rows.at("product_of transa of 99").described->a_op, static_cast<cublasOperation_t>(99));
  EXPECT_EQ(rows.at("product_of C null").described->c.data, nullptr);
  // A product's description has no handle.
  EXPECT_FALSE(rows.at("product_of handle null").described);
  const buffers none{buffers::without_memory{}};
  for (const row& r : rows_of("product_of", product_of, names, none, depth::everything, nullptr, CUBLAS_OP_N,
                              4, &alpha, memory.data(), 8, memory.data()))
    EXPECT_FALSE(r.described) << r.text();
}

TEST(argument_table, reaches_for_no_memory_where_only_the_host_is_to_check) {
  for (const row& r : made(depth::checked_on_the_host)) {
    for (const char* dangerous : {"off by", "freed", "in host memory", "in device memory", "huge", "that of"})
      EXPECT_THAT(r.text(), testing::Not(testing::HasSubstr(dangerous)));
  }
  EXPECT_LT(made(depth::checked_on_the_host).size(), made(depth::everything).size());
}

/// Changed values of the only argument of a role, in either depth.
template <class A>
std::vector<std::string> changes(const argument& about, depth how_deep, const std::vector<argument>& all = {},
                                 A valid = {}) {
  const buffers none{buffers::without_memory{}};
  std::vector<std::string> words;
  for (const auto& each : changes_of(about, valid, none, how_deep, all)) words.push_back(each.what);
  return words;
}

/// Values such as "of 0: 0", with "wrong" if the documentation says so.
std::vector<std::string> values(role what, std::int64_t least = 0, depth how_deep = depth::everything) {
  const buffers none{buffers::without_memory{}};
  std::vector<std::string> all;
  for (const auto& each : changes_of<std::int64_t>({"it", what, least}, 1, none, how_deep))
    all.push_back(fmt::format("{}: {}{}", each.what, each.value, each.wrong ? ", wrong" : ""));
  return all;
}

TEST(argument_table, changes_numbers_as_their_role_says) {
  using testing::ElementsAre;
  const char* const huge = "huge: 2147483648, wrong";
  EXPECT_THAT(values(role::size), ElementsAre("of -1: -1, wrong", "of 0: 0", huge));
  EXPECT_THAT(values(role::count), ElementsAre("of -1: -1, wrong", "of 0: 0, wrong", "huge: 2147483648"));
  EXPECT_THAT(values(role::increment), ElementsAre("of 0: 0, wrong", "of -1: -1"));
  EXPECT_THAT(values(role::spacing), ElementsAre("of 0: 0, wrong", "of -1: -1, wrong"));
  EXPECT_THAT(values(role::any_increment), ElementsAre("of 0: 0", "of -1: -1"));
  EXPECT_THAT(values(role::element_size), ElementsAre("of -1: -1, wrong", "of 0: 0, wrong", "of 3: 3"));
  EXPECT_THAT(values(role::bytes, 4),
              ElementsAre("of 0: 0, wrong", "one too small: 3, wrong", "one too large: 5, wrong"));
  EXPECT_THAT(values(role::stride), ElementsAre("of 0: 0", "of 1: 1", "of -1: -1", huge));
  EXPECT_THAT(values(role::output_stride, 0, depth::checked_on_the_host),
              ElementsAre("of 0: 0, wrong", "of 1: 1, wrong", "of -1: -1, wrong"));
  EXPECT_THAT(values(role::leading_dimension, 8),
              ElementsAre("one too small: 7, wrong", "of 0: 0, wrong", "of -1: -1, wrong"));
  EXPECT_THAT(values(role::kept), testing::IsEmpty());
}

TEST(argument_table, changes_pointer_arrays_only_where_a_kernel_may_read_them) {
  const argument array{"Barray", role::pointer_array, 0, 1};
  EXPECT_THAT(changes<const float* const*>(array, depth::checked_on_the_host), testing::IsEmpty());
  EXPECT_THAT(
      changes<const float* const*>(array, depth::everything),
      testing::ElementsAre("null", "off by 1", "off by 2", "off by 4", "off by 8", "in host memory", "freed",
                           "the matrix itself", "of null", "of host addresses", "of addresses off by 1",
                           "of addresses off by 2", "of addresses off by 4", "of addresses off by 8"));
  const buffers none{buffers::without_memory{}};
  const auto all = changes_of<float* const*>(array, nullptr, none, depth::everything);
  EXPECT_EQ(all.at(5).value, reinterpret_cast<float* const*>(none.host_pointers(1)));
  EXPECT_NE(none.host_pointers(1), none.host_pointers(2));
}

TEST(argument_table, changes_arrays_in_host_memory) {
  const argument array{"x", role::host_array};
  EXPECT_THAT(changes<const void*>(array, depth::checked_on_the_host), testing::ElementsAre("null"));
  EXPECT_THAT(changes<const void*>(array, depth::everything),
              testing::ElementsAre("null", "in device memory"));
}

TEST(argument_table, tries_the_memory_of_every_other_operand) {
  using testing::Contains;
  using testing::HasSubstr;
  using testing::Not;
  const argument a{"A", role::input, 0, 0}, b{"B", role::input, 0, 1}, c{"C", role::output, 0, 2};
  const auto of_a = changes<float*>(a, depth::everything, {a, b, c});
  EXPECT_THAT(of_a, Contains("that of B"));
  EXPECT_THAT(of_a, Contains("that of C"));
  EXPECT_THAT(of_a, Not(Contains("that of A")));
  EXPECT_THAT(changes<float*>(b, depth::everything, {a, b}), Not(Contains("that of C")));
  EXPECT_THAT(changes<float*>({"y", role::output}, depth::everything, {a, b}),
              Not(Contains(HasSubstr("that of"))));
}

TEST(argument_table, says_what_was_written) {
  using w = written_where;
  EXPECT_THAT(names_of_written(0), testing::IsEmpty());
  EXPECT_THAT(names_of_written(w::c), testing::ElementsAre("C"));
  EXPECT_THAT(names_of_written(w::a | w::c | w::outside), testing::ElementsAre("A", "C", "outside"));
  EXPECT_THAT(names_of_written(w::outside), testing::ElementsAre("outside"));
  EXPECT_THAT(names_of_written(w::c | w::host), testing::ElementsAre("C", "host"));
}

TEST(argument_table, foretells_by_the_gravest_problem) {
  EXPECT_EQ(forecast_of(std::nullopt), prediction::not_asked);
  const auto rows = by_text(depth::everything);
  argument_check::product p;
  p.m = 8, p.n = 12, p.k = 16;
  p.a = {memory.data(), CUDA_R_32F, 8};
  p.b = {memory.data(), CUDA_R_32F, 16};
  p.c = {memory.data() + 32, CUDA_R_32F, 8};
  p.alpha = p.beta = &alpha;
  EXPECT_EQ(forecast_of(p), prediction::nothing);
  p.scalar = CUDA_R_64F;
  EXPECT_EQ(forecast_of(p), prediction::silent);
  p.a.type = CUDA_R_16F;
  EXPECT_EQ(forecast_of(p), prediction::unsupported);
  p.a.leading_dimension = 7;
  EXPECT_EQ(forecast_of(p), prediction::refused);
}

row_end returned(prediction predicted, cublasStatus_t status, unsigned written = 0,
                 cudaError_t waited = cudaSuccess) {
  row_end end;
  end.returned = true;
  end.predicted = predicted;
  end.due = true;
  end.status = status;
  end.written = written;
  end.waited = waited;
  return end;
}
row_end crashed(prediction predicted) {
  row_end end;
  end.predicted = predicted;
  return end;
}
constexpr auto ok = CUBLAS_STATUS_SUCCESS, invalid = CUBLAS_STATUS_INVALID_VALUE,
               unsupported = CUBLAS_STATUS_NOT_SUPPORTED;

TEST(argument_table, judges_what_was_foretold) {
  using f = prediction;
  constexpr unsigned c = written_where::c;
  const auto right = [](const row_end& end) { return predicted_correctly(end).value(); };
  EXPECT_TRUE(right(returned(f::nothing, ok, c)));
  EXPECT_FALSE(right(returned(f::nothing, ok)));
  EXPECT_FALSE(right(returned(f::nothing, ok, c | written_where::a)));
  EXPECT_FALSE(right(returned(f::nothing, ok, 0, cudaErrorIllegalAddress)));
  EXPECT_FALSE(right(returned(f::nothing, invalid)));
  EXPECT_FALSE(right(crashed(f::nothing)));
  EXPECT_TRUE(right(returned(f::refused, invalid)));
  EXPECT_FALSE(right(returned(f::refused, unsupported)));
  EXPECT_FALSE(right(returned(f::refused, ok, c)));
  EXPECT_TRUE(right(returned(f::unsupported, unsupported)));
  EXPECT_FALSE(right(returned(f::unsupported, invalid)));
  EXPECT_TRUE(right(returned(f::silent, ok, written_where::a)));
  EXPECT_TRUE(right(returned(f::silent, ok, 0, cudaErrorMisalignedAddress)));
  EXPECT_TRUE(right(crashed(f::silent)));
  EXPECT_FALSE(right(returned(f::silent, ok, c)));
  EXPECT_FALSE(right(returned(f::silent, invalid)));
  EXPECT_FALSE(predicted_correctly(returned(f::caution, ok, c)));
  EXPECT_FALSE(predicted_correctly(returned(f::not_asked, ok, c)));
  // An empty product has nothing to write, and two results in one place are never right.
  row_end empty = returned(f::nothing, ok);
  empty.due = false;
  EXPECT_TRUE(right(empty));
  row_end lost = returned(f::silent, ok, c);
  lost.lost = true;
  EXPECT_TRUE(right(lost));
}

row_seen wrong(role what, const row_end& end) {
  row_seen seen;
  seen.what.what = what;
  seen.what.wrong = true;
  seen.end = end;
  seen.status = end.returned ? record_of(static_cast<cublasStatus_t>(end.status)).text() : "crashed: SIGSEGV";
  return seen;
}

TEST(argument_table, counts_what_came_of_wrong_arguments_by_kind) {
  constexpr auto none = prediction::not_asked;
  std::vector<row_seen> rows{wrong(role::size, returned(none, invalid)),
                             wrong(role::size, returned(none, invalid)),
                             wrong(role::leading_dimension, returned(none, invalid)),
                             wrong(role::output_stride, returned(none, ok, written_where::c)),
                             wrong(role::handle, returned(none, CUBLAS_STATUS_NOT_INITIALIZED)),
                             wrong(role::input, returned(none, ok, 0, cudaErrorIllegalAddress)),
                             wrong(role::input, returned(none, invalid)),
                             wrong(role::input, crashed(none))};
  rows.push_back(wrong(role::enumeration, returned(none, unsupported)));
  rows.back().what.wrong = false;
  EXPECT_EQ(outcomes_by_kind(rows),
            (std::map<std::string, int>{{"handle or descriptor: CUBLAS_STATUS_NOT_INITIALIZED", 1},
                                        {"input: CUBLAS_STATUS_INVALID_VALUE", 1},
                                        {"input: CUBLAS_STATUS_SUCCESS, then cudaErrorIllegalAddress", 1},
                                        {"input: crashed: SIGSEGV", 1},
                                        {"leading dimension: CUBLAS_STATUS_INVALID_VALUE", 1},
                                        {"size: CUBLAS_STATUS_INVALID_VALUE", 2},
                                        {"stride: CUBLAS_STATUS_SUCCESS", 1}}));
  EXPECT_THAT(outcomes_by_kind({}), testing::IsEmpty());
}

TEST(rows_of_a_table, leave_an_unchecked_context_only_where_nobody_lived_to_tell) {
  using enum context_state;
  const auto of = [](std::vector<context_state> processes) { return context_of(processes); };
  EXPECT_EQ(of({unknown}), "unchecked");
  EXPECT_EQ(of({unknown, unknown}), "unchecked");
  EXPECT_EQ(of({unknown, no_context}), "unchecked");
  EXPECT_EQ(of({unknown, usable}), "usable");
  EXPECT_EQ(of({usable, unknown}), "usable");
  EXPECT_EQ(of({usable, damaged, unknown}), "damaged");
  EXPECT_EQ(of({damaged, usable}), "damaged");
  EXPECT_EQ(of({no_context}), "");
  EXPECT_EQ(of({}), "");
}

TEST(argument_table, counts_the_faulty_calls_that_a_look_beforehand_finds) {
  using f = prediction;
  const std::vector<row_seen> rows{
      wrong(role::size, returned(f::refused, invalid)), wrong(role::count, crashed(f::silent)),
      wrong(role::leading_dimension, returned(f::refused, unsupported)),
      wrong(role::leading_dimension, returned(f::caution, invalid)),
      wrong(role::output_stride, returned(f::silent, ok, 0, cudaErrorIllegalAddress)),
      wrong(role::stride, returned(f::nothing, ok, written_where::c | written_where::outside)),
      wrong(role::enumeration, returned(f::nothing, ok, written_where::c)),
      wrong(role::size, returned(f::refused, ok, written_where::c)),
      // Shapes and types alone do not predict these.
      wrong(role::input, crashed(f::nothing)), wrong(role::size, returned(f::not_asked, invalid))};
  EXPECT_EQ(found_beforehand(rows), (std::map<std::string, found_count>{{"", {2, 1}},
                                                                        {"count", {1, 1}},
                                                                        {"leading dimension", {2, 1}},
                                                                        {"size", {1, 1}},
                                                                        {"stride", {2, 1}}}));
  EXPECT_THAT(found_beforehand({}), testing::IsEmpty());
}

TEST(argument_table, makes_a_well_formed_case_of_its_parts) {
  const row_maker rows = [](cublasHandle_t, const buffers&, depth) { return made(depth::everything); };
  table_case c("arguments.test", "a table", {"S3-3"});
  c.everything("one", "one part", {rows});
  c.on_the_host("two", "another", {rows}).claims = {};
  EXPECT_EQ(defect_of(c), "");
  ASSERT_EQ(c.arms.size(), 3U);
  EXPECT_EQ(c.arms[0].kind, arm_kind::control);
  EXPECT_EQ(c.arms[1].claims, std::vector<std::string>{"S3-3"});
  EXPECT_THAT(c.arms[2].claims, testing::IsEmpty());
}

}  // namespace
}  // namespace cufault::argument_table
