// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The commands of reports/pages/injector-recipes.md print what the page shows.
#include "harness/injector/tests/injector_fixture.hpp"

namespace cufault {
namespace {

struct shown_command {
  std::string command;
  std::vector<std::string> output;
};

/// From the blocks of the page: a line after "$ " is a command, the lines up to the next one are its output.
std::vector<shown_command> commands_of(const char* page) {
  std::vector<shown_command> all;
  std::ifstream in(page);
  bool in_block = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("```"))
      in_block = line == "```console";
    else if (in_block && line.starts_with("$ "))
      all.push_back({line.substr(2), {}});
    else if (in_block)
      all.back().output.push_back(line);
  }
  return all;
}

/// "..." stands for any text.
bool prints(const std::string& said, const std::string& shown) {
  const auto dots = shown.find("...");
  if (dots == shown.npos) return said == shown;
  if (!said.starts_with(shown.substr(0, dots))) return false;
  const std::string rest = shown.substr(dots + 3);
  for (auto at = dots; at <= said.size(); ++at)
    if (prints(said.substr(at), rest)) return true;
  return false;
}

using recipes = injector;

TEST_F(recipes, print_what_the_page_shows) {
  fs::create_directory(folder / "bin");
  fs::create_symlink(tested_command, folder / "bin/cufault");
  for (const auto& [name, program] : {std::pair{"program", "injector_probe"},
                                      {"steps", "injector_fault_probe"},
                                      {"multiply", "injector_blas_linked_probe"}})
    fs::copy_file(tree + "/bin/" + program, folder / name);
  const auto all = commands_of(RECIPES);
  ASSERT_THAT(all, testing::SizeIs(testing::Ge(10U)));
  for (const auto& [command, output] : all) {
    if (emulated && command.starts_with("cufault sweep"))
      continue;  // qemu has threads of its own: nothing is forked
    std::ofstream(folder / "command") << emulating(command, "./") << '\n';
    const auto said =
        said_with_emulator("cd " + folder.string() +
                           " && ASAN_OPTIONS=verify_asan_link_order=0 PATH=" + (folder / "bin").string() +
                           ":$PATH LD_LIBRARY_PATH=" + driver_folder + " sh command 2>&1");
    const bool any_end = !output.empty() && output.back() == "...";
    const std::size_t lines = output.size() - (any_end ? 1 : 0);
    EXPECT_TRUE(any_end ? said.size() >= lines : said.size() == lines)
        << command << testing::PrintToString(said);
    for (std::size_t i = 0; i < std::min(lines, said.size()); ++i)
      EXPECT_TRUE(prints(said[i], emulating(output[i], "./"))) << command << '\n'
                                                               << said[i] << "\nand not\n"
                                                               << output[i];
  }
}

}  // namespace
}  // namespace cufault
