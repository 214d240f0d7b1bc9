// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Whatever a broken trial writes, the reader's result must not depend on how the bytes are split, and it must not throw.
#include "harness/model/frame.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

namespace {

using cufault::frame_reader;

nlohmann::json all_of(const frame_reader& r) {
  const auto seen =
      cufault::observation_json(r.so_far()).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return {seen, r.done(), r.garbled(), r.mid_frame(), r.stopped()};
}

// Frames each line of the input: else few inputs would have valid lengths.
std::string framed(std::string_view lines) {
  std::string bytes;
  while (!lines.empty()) {
    const auto line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    bytes += "CF1 " + std::to_string(line.size()) + "\n" + std::string(line) + "\n";
  }
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::string bytes = data[0] % 2 == 0 ? std::string(rest) : framed(rest);

  frame_reader whole, cut;
  whole.feed(bytes);
  std::minstd_rand random(data[1]);
  for (std::string_view left = bytes; !left.empty();) {
    const auto n = std::min<std::size_t>(left.size(), random() % 2 == 0 ? 1 : 1 + random() % 40);
    cut.feed(left.substr(0, n));
    left.remove_prefix(n);
  }
  // Text of an observation may be any bytes: dumps with replacement.
  const auto text = [](const frame_reader& r) {
    return all_of(r).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  if (text(whole) != text(cut)) std::abort();
  if (whole.garbled().find('\n') != std::string::npos) std::abort();
  return 0;
}
