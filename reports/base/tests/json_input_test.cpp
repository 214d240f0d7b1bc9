// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/base/tests/input_examples.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cufault {
namespace {

using namespace examples;

std::string parse_refusal(std::string_view text) {
  return refusal([&] { return parse_json("x.json", text); });
}

TEST(json_input, values_are_read_as_they_stand) {
  const auto at = cursor(
      R"({"text": "a", "count": -3, "big": 18446744073709551615, "rate": 0.5, "yes": true, "list": [1, 2]})");
  EXPECT_EQ(at.at("text").string(), "a");
  EXPECT_EQ(at.at("count").integer(), -3);
  EXPECT_EQ(at.at("big").unsigned_integer(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(at.at("rate").number(), 0.5);
  EXPECT_EQ(at.at("count").number(), -3.0);
  EXPECT_TRUE(at.at("yes").boolean());
  ASSERT_EQ(at.at("list").items().size(), 2U);
  EXPECT_EQ(at.at("list").items()[1].integer(), 2);
  EXPECT_TRUE(at.has("rate"));
  EXPECT_FALSE(at.has("speed"));
}

TEST(json_input, each_value_knows_its_line) {
  const auto at = cursor("{\n  \"a\": 1\n,\n  \"b\": [\n    10\n, 20,\n    {\"c\": null}\n  ]\n}");
  EXPECT_EQ(at.place(), "x.json:1");
  EXPECT_EQ(at.at("a").place(), "x.json:2");  // the number's line, not that of the line break that ends it
  EXPECT_EQ(at.at("b").place(), "x.json:4");
  EXPECT_EQ(at.at("b").items()[0].place(), "x.json:5");
  EXPECT_EQ(at.at("b").items()[1].place(), "x.json:6");
  EXPECT_EQ(at.at("b").items()[2].at("c").place(), "x.json:7");
}

TEST(json_input, lines_count_from_the_given_first_line) {
  const auto at = json_cursor{parse_json("x.journal", "{\"a\":\n1}", 7)};
  EXPECT_EQ(at.place(), "x.journal:7");
  EXPECT_EQ(at.at("a").place(), "x.journal:8");
  EXPECT_EQ(refusal([] { return parse_json("x.journal", "{", 7); }).substr(0, 13), "x.journal:7: ");
}

TEST(json_input, takes_the_memory_of_a_document_that_nothing_else_holds) {
  auto document = parse_json("x.json", R"({"a": "first", "b": [1, 2, 3]})");
  const auto* const place = document.get();
  document = parse_json("y.json", R"({"a": "second"})", 7, std::move(document));
  EXPECT_EQ(document.get(), place);
  const json_cursor held{document};
  EXPECT_EQ(held.place(), "y.json:7");
  EXPECT_EQ(held.keys(), std::vector<std::string>{"a"});
  document = parse_json("z.json", R"({"a": "third"})", 8, std::move(document));
  EXPECT_EQ(held.at("a").string(), "second");
  EXPECT_EQ(json_cursor{document}.at("a").string(), "third");
}

TEST(json_input, a_wrong_type_is_reported_by_file_line_and_field) {
  const auto at = cursor(
      "{\n\"expectations\": [\n{\"arm\": 3, \"when\": \"x\", \"rate\": true, \"list\": {}, \"no\": null}]}");
  const auto first = at.at("expectations").items()[0];
  EXPECT_EQ(refusal([&] { return first.at("arm").string(); }),
            "x.json:3: expectations[0].arm: expected a string, found a number");
  EXPECT_EQ(refusal([&] { return first.at("when").integer(); }),
            "x.json:3: expectations[0].when: expected an integer, found a string");
  EXPECT_EQ(refusal([&] { return first.at("rate").number(); }),
            "x.json:3: expectations[0].rate: expected a number, found true");
  EXPECT_EQ(refusal([&] { return first.at("list").items(); }),
            "x.json:3: expectations[0].list: expected an array, found an object");
  EXPECT_EQ(refusal([&] { return first.at("no").boolean(); }),
            "x.json:3: expectations[0].no: expected true or false, found null");
  EXPECT_EQ(refusal([&] { return at.at("expectations").keys(); }),
            "x.json:2: expectations: expected an object, found an array");
  EXPECT_EQ(refusal([&] { return first.at("arm").has("x"); }),
            "x.json:3: expectations[0].arm: expected an object, found a number");
}

TEST(json_input, a_missing_member_is_reported_where_it_should_be) {
  const auto at = cursor("{\n\"arms\": [\n{}]}");
  EXPECT_EQ(refusal([&] { return at.at("arms").items()[0].at("name"); }),
            "x.json:3: arms[0]: \"name\" is missing");
  EXPECT_EQ(refusal([&] { return at.at("schema"); }), "x.json:1: top level: \"schema\" is missing");
}

TEST(json_input, an_unknown_key_is_refused_by_name) {
  const auto at = cursor("{\"arm\": 1,\n\"sped\": 2}");
  EXPECT_EQ(refusal([&] { return at.only({"arm", "speed"}); }), "x.json:2: sped: unknown key");
  EXPECT_EQ(refusal([&] { return at.only({"arm", "sped"}); }), "(nothing was refused)");
}

TEST(json_input, odd_keys_are_named_in_one_line) {
  const auto at = cursor("{\"a/b~c\": {\"x\\ny\": 1}}");
  EXPECT_EQ(at.at("a/b~c").at("x\ny").integer(), 1);
  EXPECT_EQ(refusal([&] { return at.at("a/b~c").at("x\ny").string(); }),
            R"(x.json:1: ["a/b~c"]["x?y"]: expected a string, found a number)");
}

/// The library's own tree of it, as text; empty where it refuses.
std::string tree_of_library(const std::string& text) {
  const auto value = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  return value.is_discarded() ? "" : value.dump();
}

TEST(json_input, has_the_values_of_the_library_s_tree) {
  const std::vector<std::string> seeds{
      R"({"a":[1,-2,3.5e-2,0,-0,1E+3,18446744073709551615,18446744073709551616,-9223372036854775809],"b":{"c":null,"d":[true,false]}})",
      R"({"t":"\"\\\/\b\f\n\r\t\u00e9\u20ac\ud83d\ude00\u0000x","é€😀":"é€😀"})",
      R"([[],{},"",[[1]],{"x":{}}])",
      R"(["\ud800","\udc00x","01",1e999,4.9e-400])",
      "\xef\xbb\xbf[1]",
      " [ 1 , 2 ] "};
  std::mt19937 random(1);
  const std::string pieces = "{}[],:\"\\0123-.eEu\x80\xc3 \ntfn";
  for (int i = 0; i < 2000; ++i) {
    std::string text = seeds[random() % seeds.size()];
    for (unsigned edits = random() % 3; edits > 0; --edits) {
      const std::size_t at = random() % text.size();
      if (random() % 2 == 0)
        text[at] = pieces[random() % pieces.size()];
      else
        text.erase(at, 1 + random() % 2);
      if (text.empty()) text = "0";
    }
    std::string mine;
    try {
      mine = json_cursor{parse_json("x.json", text)}.value().dump();
    } catch (const input_error& e) {
      if (std::string_view(e.what()).ends_with(" twice")) continue;  // the library takes the last
    }
    EXPECT_EQ(mine, tree_of_library(text)) << text;
  }
}

TEST(json_input, integers_refuse_fractions_and_what_does_not_fit) {
  const auto at = cursor(
      R"({"half": 0.5, "whole": 1.0, "big": 9223372036854775808, "huge": 99999999999999999999, "minus": -1,
                             "least": -9223372036854775808})");
  EXPECT_EQ(refusal([&] { return at.at("half").integer(); }),
            "x.json:1: half: expected an integer, found 0.5");
  EXPECT_EQ(refusal([&] { return at.at("whole").integer(); }),
            "x.json:1: whole: expected an integer, found 1.0");
  EXPECT_EQ(refusal([&] { return at.at("big").integer(); }),
            "x.json:1: big: 9223372036854775808 does not fit a signed 64-bit integer");
  EXPECT_EQ(refusal([&] { return at.at("huge").integer(); }),
            "x.json:1: huge: expected an integer, found 1e+20");
  EXPECT_EQ(refusal([&] { return at.at("huge").unsigned_integer(); }),
            "x.json:1: huge: expected an integer, found 1e+20");
  EXPECT_EQ(refusal([&] { return at.at("minus").unsigned_integer(); }),
            "x.json:1: minus: expected no negative number, found -1");
  EXPECT_EQ(at.at("least").integer(), std::numeric_limits<std::int64_t>::min());
}

TEST(json_input, syntax_errors_name_file_and_line) {
  EXPECT_EQ(parse_refusal("{\n\"a\": 1,\n}"),
            "x.json:3: syntax error while parsing object key - unexpected '}'; expected string literal (byte "
            "11 of the file)");
  EXPECT_EQ(parse_refusal("[1\n2]"),
            "x.json:2: syntax error while parsing array - unexpected number literal; expected ']' (byte 4 of "
            "the file)");
  EXPECT_EQ(parse_refusal("").substr(0, 10),
            "x.json:1: ");  // in words that changed between releases of the library
  EXPECT_EQ(parse_refusal("{} {}"),
            "x.json:1: syntax error while parsing value - unexpected '{'; expected end of input (byte 4 of "
            "the line)");
}

TEST(json_input, numbers_that_are_no_numbers_are_refused) {
  EXPECT_EQ(parse_refusal("[NaN]").substr(0, 10), "x.json:1: ");
  EXPECT_EQ(parse_refusal("[\nInfinity]").substr(0, 10), "x.json:2: ");
  EXPECT_EQ(parse_refusal("[1e999]"), "x.json:1: number overflow parsing '1e999' (byte 6 of the line)");
}

TEST(json_input, a_key_that_stands_twice_is_refused) {
  EXPECT_EQ(parse_refusal("{\"a\": 1,\n\"a\": 2}"), "x.json:2: key \"a\" twice");
  EXPECT_EQ(parse_refusal("{\"a\": {\"a\": 1}, \"b\": {\"a\": 2}}"), "(nothing was refused)");
  EXPECT_EQ(parse_refusal("{\n\"a\":1,\n\"a\":\n\n[2]}"), "x.json:3: key \"a\" twice")
      << "not where its value is";
  EXPECT_EQ(parse_refusal("{\"x\": {\n\"b\":1,\n\"a\":{\n},\n\"b\":2,\n\"a\":3}}"),
            "x.json:5: key \"b\" twice")
      << "the first";
  EXPECT_EQ(parse_refusal(R"({"b":1,"a":1,"b":2,"a":2})"), "x.json:1: key \"b\" twice");
}

TEST(json_input, what_stands_behind_a_nul_byte_is_not_passed_over) {
  using namespace std::string_literals;
  EXPECT_EQ(parse_refusal("{\"a\": 1}\n\0{\"garbage"s), "x.json:2: a NUL byte (byte 10 of the text)");
  EXPECT_EQ(parse_refusal("\0"s), "x.json:1: a NUL byte (byte 1 of the text)");
  EXPECT_EQ(cursor(R"("a\u0000b")").string(), "a\0b"s);
}

TEST(json_input, a_byte_order_mark_is_taken_at_the_beginning_alone) {
  EXPECT_EQ(cursor("\xef\xbb\xbf[1]").items().size(), 1U);
  EXPECT_NE(parse_refusal("[\xef\xbb\xbf 1]"), "(nothing was refused)");
}

TEST(json_input, a_message_shows_the_end_of_what_was_read) {
  const auto message = parse_refusal("[1," + std::string(500, ' ') + "x]");
  EXPECT_NE(message.find(" x' (byte 504 of the line)"), std::string::npos) << message;
  EXPECT_LT(message.size(), 200U);
}

TEST(json_input, bytes_that_are_no_utf8_are_refused_in_a_clean_message) {
  const auto message = parse_refusal("[\n\"\xff\"]");
  EXPECT_EQ(message.substr(0, 10), "x.json:2: ");
  EXPECT_NE(message.find("ill-formed UTF-8"), std::string::npos) << message;
  EXPECT_TRUE(std::ranges::all_of(message, [](char c) { return c >= ' ' && c <= '~'; })) << message;
}

TEST(json_input, nesting_is_bounded_at_64_levels) {
  const auto nested = [](int levels) {
    return std::string(static_cast<std::size_t>(levels), '[') +
           std::string(static_cast<std::size_t>(levels), ']');
  };
  EXPECT_EQ(parse_refusal(nested(64)), "(nothing was refused)");
  EXPECT_EQ(parse_refusal(nested(65)), "x.json:1: nested deeper than 64 levels");
  EXPECT_EQ(parse_refusal(std::string(1'000'000, '[')), "x.json:1: nested deeper than 64 levels");
}

TEST(json_input, texts_over_256_mib_are_refused_unread) {
  const std::string text((std::size_t{256} << 20) + 1, ' ');
  EXPECT_EQ(parse_refusal(text), "x.json:1: longer than 256 MiB");
}

TEST(json_input, long_messages_are_cut) {
  const auto message = parse_refusal("[\"" + std::string(100'000, 'x'));
  EXPECT_LT(message.size(), 400U);
  EXPECT_NE(message.find("x' (byte 100003 of the line)"), std::string::npos) << message;
}

using json_file = in_directory;

TEST_F(json_file, is_read_and_named_in_messages) {
  const auto file = write("a.json", "{\"n\": \"x\"}\n");
  const json_cursor at{read_json(file)};
  EXPECT_EQ(refusal([&] { return at.at("n").integer(); }),
            file.string() + ":1: n: expected an integer, found a string");
}

TEST_F(json_file, that_cannot_be_read_says_why) {
  EXPECT_EQ(refusal([&] { return read_json(directory / "none.json"); }),
            (directory / "none.json").string() + ": cannot be read: No such file or directory");
  EXPECT_EQ(refusal([&] { return read_json(directory); }),
            directory.string() + ": cannot be read: Is a directory");
}

TEST_F(json_file, without_end_is_refused) {
  EXPECT_EQ(refusal([] { return read_json("/dev/zero"); }), "/dev/zero: longer than 256 MiB");
}

}  // namespace
}  // namespace cufault
