// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/frame.hpp"

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

const json begin_create{{"t", "begin"}, {"text", "cublasCreate(&handle)"}};
const json end_failed{{"t", "end"},
                      {"status", "CUBLAS_STATUS_ALLOC_FAILED"},
                      {"value", 3},
                      {"last_error", "cudaErrorMemoryAllocation"},
                      {"ms", 1.5}};
const json apply{{"t", "apply"}, {"text", "free the memory"}};
const json done{{"t", "done"}};

// Everything that a reader tells, to compare two of them.
json all_of(const frame_reader& r) {
  return {r.so_far(), r.done(), r.garbled(), r.mid_frame(), r.stopped()};
}

std::string everything() {
  return frames(
      begin_create, end_failed, apply, begin_create,
      json{{"t", "end"}, {"status", "CUBLAS_STATUS_SUCCESS"}, {"value", 0}, {"last_error", ""}, {"ms", 2}},
      json{{"t", "memory"}, {"at", "before"}, {"free", 5'000'000'000u}, {"total", 6'000'000'000u}},
      json{{"t", "measure"}, {"name", "handles"}, {"value", 12}, {"unit", ""}},
      json{{"t", "finding"}, {"claim", "S0-6"}, {"holds", true}, {"why", "12 > 3"}},
      json{{"t", "log"}, {"line", "cublasLt: no heuristic"}}, json{{"t", "context"}, {"state", "damaged"}},
      json{{"t", "context"}, {"state", "usable"}}, done);
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
  EXPECT_EQ(seen.calls[0].text, "cublasCreate(&handle)");
  EXPECT_EQ(seen.calls[0].status, "CUBLAS_STATUS_ALLOC_FAILED");
  EXPECT_EQ(seen.calls[0].value, 3);
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
  ASSERT_EQ(seen.findings.size(), 1u);
  EXPECT_TRUE(seen.findings[0].holds);
  EXPECT_THAT(seen.library_log, testing::ElementsAre("cublasLt: no heuristic"));
  EXPECT_EQ(seen.context, "usable") << "the last one wins";
  EXPECT_EQ(seen.in_flight, "");
}

TEST(reader, takes_every_state_of_a_context_that_a_trial_may_tell) {
  for (const char* state : {"usable", "damaged", "unchecked", "none"}) {
    const auto reader = read(frames(json{{"t", "context"}, {"state", state}}, done));
    EXPECT_EQ(reader.garbled(), "");
    EXPECT_EQ(reader.so_far().context, state);
  }
}

TEST(reader, keeps_what_is_foreseen_of_a_call_until_that_returns) {
  const json foreseen{{"t", "foresee"}, {"claim", "S1-14"}, {"holds", true}, {"why", "it ended there"}};
  frame_reader in_flight, returned;
  in_flight.feed(frames(foreseen, begin_create));
  ASSERT_EQ(in_flight.foreseen().size(), 1u);
  EXPECT_EQ(in_flight.foreseen()[0].why, "it ended there");
  returned.feed(frames(foreseen, begin_create, end_failed));
  EXPECT_TRUE(returned.foreseen().empty());
  EXPECT_TRUE(returned.so_far().findings.empty());
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
  EXPECT_EQ(reader.so_far().in_flight, "cublasCreate(&handle)");
  ASSERT_EQ(reader.so_far().calls.size(), 2u);
  EXPECT_EQ(reader.so_far().calls[1].status, "");
  EXPECT_TRUE(reader.so_far().calls[1].after_remedy);
  EXPECT_FALSE(reader.done());
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
           {framed("{}"), "t is missing"},
           {framed("{\"t\":3}"), "t is not text"},
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
  auto end = end_failed;
  for (const auto* name : {"status", "value", "last_error", "ms"}) {
    auto changed = end_failed;
    changed.erase(name);
    EXPECT_EQ(reason(changed), std::string("frame 'end': ") + name + " is missing");
    changed[name] = json::array();
    EXPECT_THAT(reason(changed), HasSubstr(std::string(name) + " is not "));
  }
  end["value"] = 2'147'483'648;
  EXPECT_EQ(reason(end), "frame 'end': value is no int");
  end["value"] = -2'147'483'649;
  EXPECT_EQ(reason(end), "frame 'end': value is no int");
  end["value"] = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(reason(end), "frame 'end': value is no int");
  end["value"] = 1.5;
  EXPECT_EQ(reason(end), "frame 'end': value is not an integer");
  end["value"] = std::numeric_limits<int>::min();
  EXPECT_EQ(reason(end), "");
  end["status"] = "";
  EXPECT_EQ(reason(end), "frame 'end': status is empty");
  const auto nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(reason({{"t", "measure"}, {"name", "n"}, {"value", nan}, {"unit", ""}}),
            "frame 'measure': value is not a number");
  EXPECT_EQ(reason({{"t", "memory"}, {"at", "x"}, {"free", -1}, {"total", 1u}}),
            "frame 'memory': free is not a number of bytes");
  EXPECT_EQ(reason({{"t", "finding"}, {"claim", "S0-1"}, {"holds", 1}, {"why", ""}}),
            "frame 'finding': holds is not true or false");
  EXPECT_EQ(reason({{"t", "context"}, {"state", "fine"}}), "frame 'context': unknown state 'fine'");
  EXPECT_EQ(reason({{"t", "apply"}, {"text", ""}}), "frame 'apply': text is empty");
  EXPECT_EQ(reason({{"t", "log"}, {"line", "x"}, {"new", 1}}), "")
      << "further members are for later versions";
}

TEST(reader, refuses_calls_that_are_not_one_after_another) {
  EXPECT_EQ(read(frames(begin_create, begin_create)).garbled(), "frame 'begin' inside a call");
  EXPECT_EQ(read(frames(end_failed)).garbled(), "frame 'end' outside a call");
  EXPECT_EQ(read(frames(begin_create, end_failed, end_failed)).garbled(), "frame 'end' outside a call");
  EXPECT_EQ(read(frames(begin_create, done)).garbled(), "frame 'done' inside a call");
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
