// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/argument_table.hpp"

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

const std::vector<argument> names{{"handle", role::handle}, {"op", role::enumeration},
                                  {"n", role::size},        {"alpha", role::scalar},
                                  {"A", role::input},       {"lda", role::leading_dimension, 5},
                                  {"C", role::output}};
float alpha = 1;
std::array<float, 64> memory{};

std::vector<row> made(depth how_deep) {
  const buffers none{buffers::without_memory{}};
  return rows_of("product_of", product_of, names, none, how_deep,
                 reinterpret_cast<cublasHandle_t>(memory.data()), CUBLAS_OP_N, 4, &alpha, memory.data(), 8,
                 memory.data() + 32);
}

template <std::size_t... I>
int differences(const arguments& a, const arguments& b, std::index_sequence<I...> /*which*/) {
  return ((std::get<I>(a) == std::get<I>(b) ? 0 : 1) + ...);
}

arguments call_of(const row& r) {
  EXPECT_EQ(r.call(), CUBLAS_STATUS_SUCCESS);
  return called;
}

TEST(argument_table, changes_exactly_one_argument_a_row) {
  const auto rows = made(depth::everything);
  const arguments valid = call_of(rows.at(0));
  EXPECT_EQ(rows[0].text(), "product_of");
  for (std::size_t i = 1; i < rows.size(); ++i)
    EXPECT_EQ(differences(valid, call_of(rows[i]), std::make_index_sequence<7>{}), 1) << rows[i].text();
}

TEST(argument_table, names_every_row_differently) {
  std::set<std::string> texts;
  const auto rows = made(depth::everything);
  for (const row& r : rows) EXPECT_TRUE(texts.insert(r.text()).second) << r.text();
}

TEST(argument_table, changes_each_argument_as_its_role_says) {
  std::map<std::string, arguments> by_text;
  for (const row& r : made(depth::everything)) by_text[r.text()] = call_of(r);
  EXPECT_EQ(std::get<0>(by_text.at("product_of handle null")), nullptr);
  EXPECT_EQ(std::get<1>(by_text.at("product_of op of 99")), static_cast<cublasOperation_t>(99));
  EXPECT_EQ(std::get<2>(by_text.at("product_of n of -1")), -1);
  EXPECT_EQ(std::get<2>(by_text.at("product_of n huge")), 0x7fffffff);
  EXPECT_EQ(
      reinterpret_cast<std::uintptr_t>(std::get<3>(by_text.at("product_of alpha zero at 8 mod 16"))) % 16,
      8U);
  EXPECT_EQ(std::get<4>(by_text.at("product_of A off by 2")),
            static_cast<const void*>(reinterpret_cast<const char*>(memory.data()) + 2));
  EXPECT_EQ(std::get<5>(by_text.at("product_of lda one too small")), 4);
  EXPECT_EQ(std::get<6>(by_text.at("product_of C null")), nullptr);
}

TEST(argument_table, reaches_for_no_memory_where_only_the_host_is_to_check) {
  for (const row& r : made(depth::checked_on_the_host)) {
    for (const char* dangerous : {"off by", "freed", "in host memory", "in device memory", "huge", "that of"})
      EXPECT_THAT(r.text(), testing::Not(testing::HasSubstr(dangerous)));
  }
  EXPECT_LT(made(depth::checked_on_the_host).size(), made(depth::everything).size());
}

/// What the only argument of a role is changed to at either depth.
template <class A>
std::vector<std::string> changes(const argument& about, depth how_deep, A valid = {}) {
  const buffers none{buffers::without_memory{}};
  std::vector<std::string> all;
  for (const auto& [change, value] : changes_of(about, valid, none, how_deep)) all.push_back(change);
  return all;
}

TEST(argument_table, changes_increments_and_element_sizes) {
  const buffers none{buffers::without_memory{}};
  using changed = std::vector<std::pair<std::string, std::int64_t>>;
  EXPECT_EQ(changes_of<std::int64_t>({"incx", role::increment}, 1, none, depth::everything),
            (changed{{"of 0", 0}, {"of -1", -1}}));
  EXPECT_EQ(changes_of<std::int64_t>({"elemSize", role::element_size}, 4, none, depth::everything),
            (changed{{"of -1", -1}, {"of 0", 0}, {"of 3", 3}}));
}

TEST(argument_table, changes_pointer_arrays_only_where_a_kernel_may_read_them) {
  const argument array{"Barray", role::pointer_array, 0, 1};
  EXPECT_THAT(changes<const float* const*>(array, depth::checked_on_the_host), testing::IsEmpty());
  EXPECT_THAT(changes<const float* const*>(array, depth::everything),
              testing::ElementsAre("null", "in host memory", "the matrix itself", "freed", "of null",
                                   "of host addresses", "of addresses off by 2"));
  const buffers none{buffers::without_memory{}};
  const auto all = changes_of<float* const*>(array, nullptr, none, depth::everything);
  EXPECT_EQ(all.at(1).second, reinterpret_cast<float* const*>(none.host_pointers(1)));
  EXPECT_NE(none.host_pointers(1), none.host_pointers(2));
}

TEST(argument_table, changes_arrays_in_host_memory) {
  const argument array{"x", role::host_array};
  EXPECT_THAT(changes<const void*>(array, depth::checked_on_the_host), testing::ElementsAre("null"));
  EXPECT_THAT(changes<const void*>(array, depth::everything),
              testing::ElementsAre("null", "in device memory"));
}

TEST(argument_table, gives_an_operand_the_memory_that_it_is_told) {
  using testing::Contains;
  using testing::HasSubstr;
  using testing::Not;
  EXPECT_THAT(changes<float*>({"B", role::output}, depth::everything), Contains("that of A"));
  EXPECT_THAT(changes<float*>({"C", role::output, 0, 1}, depth::everything), Contains("that of B"));
  EXPECT_THAT(changes<float*>({"y", role::output, 0, argument::none}, depth::everything),
              Not(Contains(HasSubstr("that of"))));
}

}  // namespace
}  // namespace cufault::argument_table
