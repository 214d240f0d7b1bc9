// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/model/frame.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <limits>

namespace cufault {
namespace {

using nlohmann::json;
using testing::HasSubstr;

frame_reader read(std::string_view bytes) {
  frame_reader reader;
  reader.feed(bytes);
  return reader;
}

std::string framed(std::string_view payload) {
  return "CF1 " + std::to_string(payload.size()) + "\n" + std::string(payload) + "\n";
}

template <typename... Frames>
std::string frames(const Frames&... f) {
  return (encode_frame(f) + ...);
}

const json begin_create{{"t", "begin"}, {"api", "cublasCreate"}, {"variant", ""}};
const json end_failed{{"t", "end"},
                      {"status", "CUBLAS_STATUS_ALLOC_FAILED"},
                      {"ok", false},
                      {"numbers", "unchecked"},
                      {"facts", {{"blamed", 8}}},
                      {"last_error", "cudaErrorMemoryAllocation"},
                      {"ms", 1.5}};
const json apply{{"t", "apply"}, {"text", "free the memory"}};
const json returned{{"t", "returned"},        {"status", "CUBLAS_STATUS_SUCCESS"}, {"ok", true},
                    {"numbers", "unchecked"}, {"last_error", "cudaSuccess"},       {"ms", 3}};
const json end_proved{{"t", "end"},         {"status", "CUBLAS_STATUS_SUCCESS"}, {"ok", true},
                      {"numbers", "right"}, {"last_error", "cudaErrorUnknown"},  {"ms", 50}};
const json done{{"t", "done"}}, withdraw{{"t", "withdraw"}};

const json swept{{"t", "swept"},
                 {"api", "cublasCreate"},
                 {"variant", ""},
                 {"status", "CUBLAS_STATUS_NOT_INITIALIZED"},
                 {"ok", false},
                 {"numbers", "unchecked"},
                 {"ms", 2},
                 {"swept",
                  {{"function", "cuInit"},
                   {"caller", "libcublas"},
                   {"codes", {"UNKNOWN"}},
                   {"once", true},
                   {"calls", 1},
                   {"first", 1}}}};

// Everything that a reader returns, to compare two of them.
json all_of(const frame_reader& r) {
  return {json(observation_json(r.so_far())), r.done(), r.garbled(), r.mid_frame(), r.stopped()};
}

std::string everything() {
  return frames(begin_create, end_failed, apply, begin_create,
                json{{"t", "end"},
                     {"status", "CUBLAS_STATUS_SUCCESS"},
                     {"ok", true},
                     {"numbers", "right"},
                     {"last_error", ""},
                     {"ms", 2}},
                json{{"t", "memory"}, {"at", "before"}, {"free", 5'000'000'000u}, {"total", 6'000'000'000u}},
                json{{"t", "measure"}, {"name", "handles"}, {"value", 12}, {"unit", ""}},
                json{{"t", "note"}, {"name", "cudaGetErrorString"}, {"text", "out of memory"}},
                json{{"t", "log"}, {"line", "cublasLt: no heuristic"}},
                json{{"t", "context"}, {"state", "damaged"}}, json{{"t", "context"}, {"state", "usable"}},
                done);
}

TEST(frames, a_row_of_a_sweep_is_one_complete_call) {
  const auto reader = read(frames(swept, done));
  EXPECT_EQ(reader.garbled(), "");
  ASSERT_EQ(reader.so_far().calls.size(), 1U);
  EXPECT_EQ(reader.so_far().calls[0].swept.value().function, "cuInit");
  EXPECT_EQ(call_in_flight(reader.so_far()), nullptr);

  json without = swept;
  without.erase("swept");
  EXPECT_THAT(read(frames(without)).garbled(), HasSubstr("swept"));
  json wrong = swept;
  wrong["swept"]["calls"] = "many";
  EXPECT_THAT(read(frames(wrong)).garbled(), HasSubstr("calls"));
  EXPECT_THAT(read(frames(begin_create, swept)).garbled(), HasSubstr("inside a call"));
}

TEST(frames, of_the_driver_are_kept_with_the_call_that_has_begun) {
  const json said{{"t", "driver"}, {"function", "cuMemAlloc_v2"}, {"code", "OUT_OF_MEMORY"}};
  json again = said;
  again["times"] = 7;
  const auto reader = read(frames(begin_create, said, again, end_failed, said, done));
  EXPECT_EQ(reader.garbled(), "");
  ASSERT_EQ(reader.so_far().calls.size(), 1U);
  EXPECT_EQ(reader.so_far().calls[0].driver,
            std::vector{(driver_message{.function = "cuMemAlloc_v2", .code = "OUT_OF_MEMORY", .times = 7})});
  EXPECT_FALSE(reader.so_far().calls[0].what.status.empty());

  json other = said;
  other["words"] = "x";
  EXPECT_THAT(read(frames(begin_create, other)).garbled(), HasSubstr("words"));
  std::string many = frames(begin_create);
  for (int i = 0; i < 100; ++i) many += frames(json{{"t", "driver"}, {"text", std::to_string(i)}});
  EXPECT_EQ(read(many).so_far().calls[0].driver.size(), frame_reader::most_said);
}

TEST(frames, are_a_length_and_json) {
  EXPECT_EQ(encode_frame(done), "CF1 12\n{\"t\":\"done\"}\n");
}

TEST(frames, with_bytes_that_are_no_text_are_sent_all_the_same) {
  const auto reader = read(frames(json{{"t", "log"}, {"line", "caf\xe9"}}));
  EXPECT_EQ(reader.garbled(), "");
  EXPECT_THAT(reader.so_far().library_log, testing::ElementsAre("caf\xef\xbf\xbd"));
}

TEST(frames, that_nobody_would_read_are_not_sent) {
  EXPECT_THROW(encode_frame({{"t", "log"}, {"line", std::string(frame_reader::largest_frame, 'x')}}),
               std::length_error);
}

TEST(reader, fills_an_observation) {
  const auto reader = read(everything());
  ASSERT_EQ(reader.garbled(), "");
  EXPECT_TRUE(reader.done());
  EXPECT_FALSE(reader.mid_frame());
  const auto& seen = reader.so_far();
  ASSERT_EQ(seen.calls.size(), 2u);
  EXPECT_EQ(seen.calls[0].what.name, (step_name{"cublasCreate", ""}));
  EXPECT_EQ(seen.calls[0].what.status, "CUBLAS_STATUS_ALLOC_FAILED");
  EXPECT_FALSE(seen.calls[0].what.ok);
  EXPECT_EQ(seen.calls[0].what.facts, (fact_map{{"blamed", std::int64_t{8}}}));
  EXPECT_TRUE(seen.calls[1].what.ok);
  EXPECT_EQ(seen.calls[1].what.numbers, numbers_found::right);
  EXPECT_EQ(seen.calls[0].last_error, "cudaErrorMemoryAllocation");
  EXPECT_EQ(seen.calls[0].milliseconds, 1.5);
  EXPECT_FALSE(seen.calls[0].after_remedy);
  EXPECT_TRUE(seen.calls[1].after_remedy);
  EXPECT_EQ(seen.applied, "free the memory");
  ASSERT_EQ(seen.memory.size(), 1u);
  EXPECT_EQ(seen.memory[0].at, "before");
  EXPECT_EQ(seen.memory[0].free_bytes, 5'000'000'000u);
  EXPECT_EQ(seen.memory[0].total_bytes, 6'000'000'000u);
  ASSERT_EQ(seen.measurements.size(), 1u);
  EXPECT_EQ(seen.measurements[0].value, 12);
  ASSERT_EQ(seen.notes.size(), 1u);
  EXPECT_EQ(seen.notes[0].text, "out of memory");
  EXPECT_THAT(seen.library_log, testing::ElementsAre("cublasLt: no heuristic"));
  EXPECT_EQ(seen.context, "usable") << "the last one wins";
  EXPECT_EQ(call_in_flight(seen), nullptr);
}

TEST(reader, takes_every_state_of_a_context_that_a_trial_may_tell) {
  for (const char* state : {"usable", "damaged", "unchecked", "none"}) {
    const auto reader = read(frames(json{{"t", "context"}, {"state", state}}, done));
    EXPECT_EQ(reader.garbled(), "");
    EXPECT_EQ(reader.so_far().context, state);
  }
}

TEST(reader, takes_bytes_one_at_a_time) {
  for (const auto& bytes :
       {everything(), everything() + "x", everything().substr(0, 777), frames(begin_create) + "CF1 0",
        std::string("CF1 12345678"), framed("[1]") + frames(done), framed("{\"t\":1}")}) {
    frame_reader bitwise;
    for (const char byte : bytes) bitwise.feed({&byte, 1});
    EXPECT_EQ(all_of(bitwise), all_of(read(bytes))) << bytes;
  }
}

TEST(reader, knows_the_call_that_has_not_returned) {
  const auto reader = read(frames(begin_create, end_failed, apply, begin_create));
  ASSERT_NE(call_in_flight(reader.so_far()), nullptr);
  EXPECT_EQ(call_in_flight(reader.so_far())->what.name.api, "cublasCreate");
  ASSERT_EQ(reader.so_far().calls.size(), 2u);
  EXPECT_EQ(reader.so_far().calls[1].what.status, "");
  EXPECT_TRUE(reader.so_far().calls[1].after_remedy);
  EXPECT_FALSE(reader.done());
}

TEST(reader, forgets_a_call_that_is_withdrawn) {
  const auto reader = read(frames(begin_create, end_failed, begin_create, withdraw, done));
  EXPECT_EQ(reader.garbled(), "");
  EXPECT_EQ(call_in_flight(reader.so_far()), nullptr);
  EXPECT_EQ(reader.so_far().calls.size(), 1U);
}

TEST(reader, tells_a_call_that_returned_from_its_proof) {
  const auto died = read(frames(apply, begin_create, returned)).so_far();
  ASSERT_EQ(died.calls.size(), 2U);
  EXPECT_EQ(died.calls[0].what.status, "CUBLAS_STATUS_SUCCESS");
  ASSERT_EQ(call_in_flight(died), &died.calls[1]);
  EXPECT_EQ(died.calls[1].what.name.api, "check.numbers");
  EXPECT_TRUE(died.calls[1].after_remedy);

  const auto proved = read(frames(begin_create, returned, end_proved, done));
  EXPECT_EQ(proved.garbled(), "");
  ASSERT_EQ(proved.so_far().calls.size(), 1U) << "a proof that ends is no step";
  EXPECT_EQ(proved.so_far().calls[0].what.numbers, numbers_found::right);
  EXPECT_EQ(proved.so_far().calls[0].milliseconds, 3);
  EXPECT_EQ(proved.so_far().calls[0].last_error, "cudaSuccess");
}

TEST(reader, knows_that_a_frame_is_unfinished) {
  EXPECT_FALSE(read("").mid_frame());
  EXPECT_TRUE(read("C").mid_frame());
  const auto whole = encode_frame(begin_create);
  EXPECT_TRUE(read(whole.substr(0, whole.size() - 1)).mid_frame());
  EXPECT_FALSE(read(whole).mid_frame());
}

TEST(reader, joins_what_was_applied) {
  const auto reader = read(frames(apply, json{{"t", "apply"}, {"text", "create again"}}));
  EXPECT_EQ(reader.so_far().applied, "free the memory; create again");
}

TEST(reader, keeps_what_a_trial_says_of_itself) {
  const json not_provoked{{"t", "not_provoked"}, {"why", "only 3 MiB free"}};
  const json harness_failed{{"t", "harness_failed"}, {"why", "no kernels"}};
  const auto first = read(frames(not_provoked, not_provoked, done));
  EXPECT_TRUE(first.stopped());
  EXPECT_TRUE(first.done());
  EXPECT_EQ(first.so_far().ended, outcome::not_provoked);
  EXPECT_EQ(first.so_far().why, "only 3 MiB free");
  EXPECT_FALSE(first.memory_moved());
  const auto moved = read(frames(json{{"t", "memory_moved"}, {"why", "4 MiB became free"}}, done));
  EXPECT_EQ(moved.so_far().ended, outcome::not_provoked);
  EXPECT_TRUE(moved.memory_moved());
  EXPECT_FALSE(moved.out_of_time());
  const auto late = read(frames(json{{"t", "out_of_time"}, {"why", "row 3: timed out"}}, done));
  EXPECT_EQ(late.so_far().ended, outcome::harness_failed);
  EXPECT_EQ(late.so_far().why, "row 3: timed out");
  EXPECT_TRUE(late.out_of_time());
  for (const auto& bytes :
       {frames(not_provoked, harness_failed, done), frames(harness_failed, not_provoked, done)}) {
    EXPECT_EQ(read(bytes).so_far().ended, outcome::harness_failed);
    EXPECT_EQ(read(bytes).so_far().why, "no kernels");
  }
  EXPECT_EQ(read(frames(begin_create, harness_failed, done)).garbled(), "")
      << "set-up may throw from inside a call";
}

struct bad_input {
  std::string bytes, reason;
};

TEST(reader, refuses_what_is_no_frame) {
  for (const auto& [bytes, reason] : std::vector<bad_input>{
           {"CUDA error: out of memory\n", "byte 1 of a frame is 0x55"},
           {"\n", "byte 0 of a frame is 0x0a"},
           {"CF2 2\n{}\n", "byte 2 of a frame"},
           {"CF1 \n", "0x0a in the length"},
           {"CF1 +2\n{}\n", "0x2b in the length"},
           {"CF1 -2\n{}\n", "0x2d in the length"},
           {"CF1 02\n{}\n", "0x30 in the length"},
           {"CF1 0\n\n", "0x30 in the length"},
           {"CF1 2 \n{}\n", "0x20 in the length"},
           {"CF1 1048577\n", "longer than 1048576"},
           {"CF1 99999999999999999999\n", "more than 7 digits"},
           {"CF1 2\n{}x", "does not end where it said"},
           {framed("{\"t\":\"done\""), "holds no JSON"},
           {framed("\xff\xfe"), "holds no JSON"},
           {framed("{\"t\":\"measure\",\"name\":\"n\",\"value\":1e999,\"unit\":\"\"}"), "holds no JSON"},
           {framed("[]"), "no JSON object"},
           {framed("{}"), "\"t\" is missing"},
           {framed("{\"t\":3}"), "t: expected a string"},
           {framed("{\"t\":\"unheard of\"}"), "unknown frame 'unheard of'"},
           {framed(R"({"t":"two\nlines\u0007!"})"), "unknown frame 'two?lines?!'"}}) {
    const auto reader = read(frames(begin_create) + bytes + frames(done));
    EXPECT_THAT(reader.garbled(), HasSubstr(reason)) << bytes;
    EXPECT_FALSE(reader.done()) << "nothing after it counts";
    EXPECT_FALSE(reader.mid_frame());
    EXPECT_EQ(reader.so_far().calls.size(), 1u) << "what came before it does";
    EXPECT_THAT(reader.garbled(), testing::Not(HasSubstr("\n")));
  }
}

TEST(reader, refuses_members_that_are_missing_or_of_another_type) {
  const auto reason = [](const json& frame) {
    return read(frames(begin_create) + framed(frame.dump())).garbled();
  };
  for (const auto* name : {"status", "ok", "numbers", "last_error", "ms"}) {
    auto changed = end_failed;
    changed[name] = json::array();
    EXPECT_THAT(reason(changed), HasSubstr(std::string(name) + ": expected ")) << name;
  }
  auto without = end_failed;
  without.erase("status");
  EXPECT_THAT(reason(without), HasSubstr("\"status\" is missing"));
  auto end = end_failed;
  end["status"] = "";
  EXPECT_THAT(reason(end), HasSubstr("status: is empty"));
  end = end_failed;
  end["ms"] = -1;
  EXPECT_THAT(reason(end), HasSubstr("ms: a time must be 0 or more"));
  end["ms"] = "inf";
  EXPECT_THAT(reason(end), HasSubstr("ms: a time must be 0 or more"));
  end = end_failed;
  end["swept"] = swept["swept"];
  EXPECT_THAT(reason(end), HasSubstr("swept: is of frame 'swept' alone"));
  end = end_failed;
  end["numbers"] = "fine";
  EXPECT_THAT(reason(end), HasSubstr("numbers: expected one of unchecked, right, wrong"));
  const auto nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(reason({{"t", "measure"}, {"name", "n"}, {"value", nan}, {"unit", ""}}),
              HasSubstr("value: expected a number"));
  EXPECT_THAT(reason({{"t", "measure"}, {"name", "n"}, {"value", "inf"}}), HasSubstr("value: is not finite"));
  EXPECT_THAT(reason({{"t", "note"}, {"name", "n"}}), HasSubstr("\"text\" is missing"));
  EXPECT_THAT(reason({{"t", "memory"}, {"at", "x"}, {"free", -1}, {"total", 1u}}), HasSubstr("free: "));
  EXPECT_EQ(reason({{"t", "context"}, {"state", "fine"}}), "frame 'context': unknown state 'fine'");
  EXPECT_THAT(reason({{"t", "apply"}, {"text", ""}}), HasSubstr("text: is empty"));
}

TEST(reader, takes_members_as_a_record_has_them) {
  const auto seen = read(frames(json{{"t", "begin"}, {"api", "cublasCreate"}},
                                json{{"t", "end"}, {"status", "CUBLAS_STATUS_SUCCESS"}},
                                json{{"t", "measure"}, {"name", "handles"}, {"value", 12}}, done));
  EXPECT_EQ(seen.garbled(), "");
  ASSERT_EQ(seen.so_far().calls.size(), 1U);
  const json line = call_json(seen.so_far().calls[0]);
  EXPECT_EQ(line, (json{{"api", "cublasCreate"}, {"status", "CUBLAS_STATUS_SUCCESS"}}))
      << "what is absent has the default of a record's line";
  EXPECT_TRUE(seen.so_far().calls[0].what.ok);
  EXPECT_EQ(seen.so_far().calls[0].last_error, "cudaSuccess");
  auto unknown = end_failed;
  unknown["number"] = "right";
  EXPECT_THAT(read(frames(begin_create, unknown)).garbled(), HasSubstr("number"));
  EXPECT_THAT(read(frames(json{{"t", "note"}, {"name", "n"}, {"text", "t"}, {"size", 1}})).garbled(),
              HasSubstr("size"));
}

TEST(reader, refuses_steps_that_no_list_has) {
  const auto reason = [](const json& frame) { return read(frames(frame)).garbled(); };
  EXPECT_EQ(reason(begin_create), "");
  EXPECT_EQ(reason({{"t", "begin"}, {"api", "check.arguments"}, {"variant", ""}}), "") << "work of our own";
  EXPECT_THAT(reason({{"t", "begin"}, {"api", "create_and_multiply"}, {"variant", ""}}),
              HasSubstr("\"create_and_multiply\" is no function of the CUDA headers"));
  EXPECT_THAT(reason({{"t", "begin"}, {"api", "cublasCreate"}, {"variant", "a (b)"}}),
              HasSubstr("is no variant"));
  auto end = end_failed;
  end["facts"] = {{"colour", "red"}};
  EXPECT_THAT(read(frames(begin_create, end)).garbled(), HasSubstr("no fact is called colour"));
  end["facts"] = {{"blamed", "eight"}};
  EXPECT_THAT(read(frames(begin_create, end)).garbled(), HasSubstr("the fact blamed is an integer"));
}

TEST(reader, refuses_calls_that_are_not_one_after_another) {
  EXPECT_EQ(read(frames(begin_create, begin_create)).garbled(), "frame 'begin' inside a call");
  EXPECT_EQ(read(frames(end_failed)).garbled(), "frame 'end' outside a call");
  EXPECT_EQ(read(frames(begin_create, end_failed, end_failed)).garbled(), "frame 'end' outside a call");
  EXPECT_EQ(read(frames(begin_create, done)).garbled(), "frame 'done' inside a call");
  EXPECT_EQ(read(frames(begin_create, end_failed, withdraw)).garbled(), "frame 'withdraw' outside a call");
  EXPECT_EQ(read(frames(begin_create, returned, withdraw)).garbled(), "frame 'withdraw' outside a call");
  EXPECT_EQ(read(frames(returned)).garbled(), "frame 'returned' outside a call");
  EXPECT_EQ(read(frames(begin_create, returned, returned)).garbled(), "frame 'returned' outside a call");
  EXPECT_EQ(read(frames(begin_create, returned, done)).garbled(), "frame 'done' inside a call");
}

TEST(reader, refuses_anything_after_done) {
  for (const auto& more : {frames(done), frames(apply), std::string("\n"), std::string("C")}) {
    const auto reader = read(frames(done) + more);
    EXPECT_EQ(reader.garbled(), "something after 'done'");
    EXPECT_TRUE(reader.done());
  }
}

TEST(reader, takes_the_largest_frame) {
  const json empty{{"t", "log"}, {"line", ""}};
  const auto room = frame_reader::largest_frame - empty.dump().size();
  const auto reader = read(frames(json{{"t", "log"}, {"line", std::string(room, 'x')}}, done));
  EXPECT_EQ(reader.garbled(), "");
  EXPECT_TRUE(reader.done());
}

TEST(reader, bounds_the_number_of_frames) {
  frame_reader reader;
  const auto frame = encode_frame(apply);
  const auto log = encode_frame({{"t", "log"}, {"line", ""}});
  reader.feed(frame);
  for (std::size_t i = 1; i < frame_reader::most_frames; ++i) reader.feed(log);
  EXPECT_EQ(reader.garbled(), "");
  reader.feed(log);
  EXPECT_EQ(reader.garbled(), "too much: over 100000 frames");
  EXPECT_EQ(reader.so_far().library_log.size(), frame_reader::most_frames - 1);
}

TEST(reader, bounds_the_bytes) {
  frame_reader reader;
  const auto log = encode_frame({{"t", "log"}, {"line", std::string(1'000'000, 'x')}});
  for (std::size_t total = 0; total + log.size() <= frame_reader::most_bytes; total += log.size()) {
    reader.feed(log);
    ASSERT_EQ(reader.garbled(), "");
  }
  reader.feed(log);
  EXPECT_EQ(reader.garbled(), "too much: over 67108864 bytes");
}

}  // namespace
}  // namespace cufault
