// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace cufault {

template <class T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// A container of .nv_fatbin. Members of each entry: kind (1 PTX, 2 machine code), architecture, flags.
struct made_code {
  std::uint16_t kind{};
  std::uint32_t architecture{};
  std::uint64_t flags = 0;
};
inline std::string made_container(const std::vector<made_code>& entries) {
  std::string body{};
  for (const made_code& e : entries) {
    append(body, e.kind);
    append(body, std::uint16_t{0x101});
    append(body, std::uint32_t{64});  // header
    append(body, std::uint64_t{16});  // payload
    append(body, std::uint32_t{16});
    append(body, std::uint32_t{0});
    append(body, std::uint16_t{8});
    append(body, std::uint16_t{1});
    append(body, e.architecture);
    append(body, std::uint64_t{0});  // name
    append(body, e.flags);
    body += std::string(16 + 16, 'c');  // the rest of the header, and the payload
  }
  std::string container{};
  append(container, std::uint32_t{0xBA55ED50});
  append(container, std::uint16_t{1});
  append(container, std::uint16_t{16});
  append(container, std::uint64_t{body.size()});
  return container + body;
}

/// A shared library as the loader sees it, without code for the processor.
struct made_elf {
  std::string soname{}, rpath{}, runpath{};
  std::vector<std::string> needed{};
  std::string data{};    ///< of .rodata
  std::string fatbin{};  ///< of .nv_fatbin; no section where it is empty
  std::uint16_t machine =
#if defined(__aarch64__)
      EM_AARCH64;
#else
      EM_X86_64;
#endif

  [[nodiscard]] std::string bytes() const {
    std::string strings(1, '\0'), dynamic;
    const auto entry = [&](std::int64_t tag, std::uint64_t value) {
      append(dynamic, tag);
      append(dynamic, value);
    };
    const auto named = [&](std::int64_t tag, const std::string& text) {
      if (text.empty()) return;
      entry(tag, strings.size());
      strings += text + '\0';
    };
    for (const std::string& n : needed) named(DT_NEEDED, n);
    named(DT_SONAME, soname);
    named(DT_RPATH, rpath);
    named(DT_RUNPATH, runpath);
    constexpr std::size_t headers = sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Phdr);
    std::string note{};
    append(note, Elf64_Nhdr{4, 4, NT_GNU_BUILD_ID});
    note += std::string("GNU\0\x01\xab\xcd\xef", 8);
    const std::size_t strings_at = headers + note.size(),
                      dynamic_at = (strings_at + strings.size() + 7) / 8 * 8;
    entry(DT_STRTAB, strings_at);
    entry(DT_NULL, 0);
    std::string body = note + strings;
    body.resize(dynamic_at - headers);
    body += dynamic;

    std::vector<std::pair<Elf64_Shdr, std::string>> sections(1);
    std::string names(1, '\0');
    const auto section = [&](const char* name, const std::string& text, bool loaded) {
      Elf64_Shdr s{};
      s.sh_name = static_cast<std::uint32_t>(names.size());
      names += std::string(name) + '\0';
      s.sh_type = SHT_PROGBITS;
      s.sh_flags = loaded ? SHF_ALLOC : 0;
      s.sh_offset = headers + body.size();
      s.sh_size = text.size();
      body += text;
      body.resize((body.size() + 7) / 8 * 8);
      sections.emplace_back(s, text);
    };
    body.resize((body.size() + 7) / 8 * 8);
    section(".rodata", data, true);
    if (!fatbin.empty()) section(".nv_fatbin", fatbin, true);
    names += std::string(".shstrtab") + '\0';
    section(".shstrtab", names, false);  // its name precedes its own header

    Elf64_Ehdr h{};
    std::memcpy(h.e_ident, ELFMAG, SELFMAG);
    h.e_ident[EI_CLASS] = ELFCLASS64;
    h.e_ident[EI_DATA] = ELFDATA2LSB;
    h.e_ident[EI_VERSION] = EV_CURRENT;
    h.e_type = ET_DYN;
    h.e_machine = machine;
    h.e_version = EV_CURRENT;
    h.e_phoff = sizeof h;
    h.e_shoff = headers + body.size();
    h.e_ehsize = sizeof h;
    h.e_phentsize = sizeof(Elf64_Phdr);
    h.e_phnum = 3;
    h.e_shentsize = sizeof(Elf64_Shdr);
    h.e_shnum = static_cast<std::uint16_t>(sections.size());
    h.e_shstrndx = static_cast<std::uint16_t>(sections.size() - 1);
    std::string file{};
    append(file, h);
    const auto segment = [&](std::uint32_t type, std::uint64_t offset, std::uint64_t size) {
      Elf64_Phdr p{};
      p.p_type = type;
      p.p_offset = p.p_vaddr = offset;
      p.p_filesz = p.p_memsz = size;
      append(file, p);
    };
    segment(PT_LOAD, 0, headers + body.size());
    segment(PT_NOTE, headers, note.size());
    segment(PT_DYNAMIC, dynamic_at, dynamic.size());
    file += body;
    for (const auto& [s, text] : sections) append(file, s);
    return file;
  }
};

inline std::filesystem::path write_file(const std::filesystem::path& file, const std::string& bytes) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << bytes;
  return file;
}

}  // namespace cufault
