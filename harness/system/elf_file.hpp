// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {

/// Random access to the bytes of a file or a test.
struct readable {
  std::uint64_t size = 0;
  std::function<std::size_t(std::uint64_t offset, std::span<char> into)>
      read{};  ///< returns how many it read
};
readable open_readable(const std::filesystem::path& file);  ///< throws input_error
readable readable_text(std::string_view bytes);             ///< which outlive it
/// Reads exactly `size` bytes. Throws input_error: "NAME: byte OFFSET: ends inside of WHAT".
std::string bytes_of(const readable& from, const std::string& name, std::uint64_t offset, std::size_t size,
                     const char* what);

struct elf_section {
  std::string name{};
  std::uint64_t offset = 0, size = 0;  ///< in the file
  bool code = false, loaded = false;
};

/// What the loader reads of a file, and its sections. 64 bits, little endian.
struct elf_facts {
  std::string machine{};   ///< "x86_64", "aarch64", "machine 8"
  std::uint64_t base = 0;  ///< address of its first byte as linked; 0 where it can be loaded anywhere
  std::string soname{}, rpath{}, runpath{}, build_id{};
  std::vector<std::string> needed{};
  std::vector<elf_section> sections{};  ///< empty where they were stripped
};

/// Reads headers, sections and the dynamic section, never the whole file. Trusts no length: refuses offsets outside the file, and more
/// entries than any compiler makes. Throws input_error: "NAME: byte OFFSET: reason".
elf_facts read_elf(const std::string& name, const readable& from);
const elf_section* section_named(const elf_facts& elf, std::string_view name);

/// Architecture of this program, in the form of elf_facts::machine.
std::string own_machine();

}  // namespace cufault
