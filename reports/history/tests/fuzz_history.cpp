// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// A damaged or hostile history may only ever end in an input_error. The input is where and how a good one is damaged: three bytes each,
// two of a place and one of a value; or, where it begins with "S", the whole file.
#include "reports/history/history.hpp"
#include "reports/model/tests/examples.hpp"

#include <nlohmann/json.hpp>

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace {

using namespace cufault;
namespace fs = std::filesystem;

record example(const std::string& cublas) {
  record r;
  *r.stack = {{"keys", {{"cublas", cublas}}}, {"gpu", {{"name", "H200"}}}};
  r.started = "2026-11-21T07:27:40Z";
  r.cases = {{.name = "memory.leak",
              .arms = {examples::arm(arm_kind::fault, {examples::trial({examples::no_memory})}, "fault")}}};
  return r;
}

const fs::path& file() {
  static const fs::path name =
      fs::temp_directory_path() / ("cufault-fuzz-history-" + std::to_string(::getpid()) + ".db");
  return name;
}

const std::string& good() {
  static const std::string bytes = [] {
    history(file(), history::access::add).add(example("13.1.0"));
    history(file(), history::access::add).add(example("12.0.1"));
    std::ifstream in(file(), std::ios::binary);
    std::atexit([] { fs::remove(file()); });
    return std::string(std::istreambuf_iterator<char>(in), {});
  }();
  return bytes;
}

template <typename Use>
void tolerate(Use use) {
  try {
    use();
  } catch (const input_error& e) {
    if (std::string_view{e.what()}.find('\n') != std::string_view::npos)
      std::abort();  // promised to be one line
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes = good();
  if (size > 0 && data[0] == 'S')
    bytes.assign(reinterpret_cast<const char*>(data), size);
  else
    for (std::size_t i = 0; i + 2 < size; i += 3)
      bytes[(data[i] * std::size_t{256} + data[i + 1]) % bytes.size()] = static_cast<char>(data[i + 2]);
  std::ofstream(file(), std::ios::binary | std::ios::trunc) << bytes;
  tolerate([] { static_cast<void>(history(file(), history::access::read).view()); });
  tolerate([] { static_cast<void>(history(file(), history::access::add).add(example("14.0.0"))); });
  std::error_code none;
  fs::remove(file().string() + "-journal", none);
  return 0;
}
