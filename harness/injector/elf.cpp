// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Addresses are what the loader mapped.
// NOLINTBEGIN(performance-no-int-to-ptr)
#include "harness/injector/elf.hpp"

#include <elf.h>
#include <link.h>
#include <string.h>

#include <algorithm>

namespace cufault::injector {
namespace {

constexpr char mine = 0;

constexpr ElfW(Half) hidden_version = 0x8000;

struct tables {
  const char* strings = nullptr;
  const ElfW(Sym) * symbols = nullptr;
  const ElfW(Half) * versions = nullptr;
  const std::uint32_t* gnu_hash = nullptr;
  const std::uint32_t* hash = nullptr;
};

tables tables_of(const dl_phdr_info& loaded) {
  tables found;
  const ElfW(Dyn)* entry = nullptr;
  for (int i = 0; i < loaded.dlpi_phnum; ++i)
    if (loaded.dlpi_phdr[i].p_type == PT_DYNAMIC)
      entry = reinterpret_cast<const ElfW(Dyn)*>(loaded.dlpi_addr + loaded.dlpi_phdr[i].p_vaddr);
  if (entry == nullptr) return found;
  for (; entry->d_tag != DT_NULL; ++entry) {
    // The loader relocates these addresses in place, except in tables that it cannot write, such as the vdso's.
    const auto at =
        entry->d_un.d_ptr < loaded.dlpi_addr ? loaded.dlpi_addr + entry->d_un.d_ptr : entry->d_un.d_ptr;
    switch (entry->d_tag) {
      case DT_STRTAB:
        found.strings = reinterpret_cast<const char*>(at);
        break;
      case DT_SYMTAB:
        found.symbols = reinterpret_cast<const ElfW(Sym)*>(at);
        break;
      case DT_VERSYM:
        found.versions = reinterpret_cast<const ElfW(Half)*>(at);
        break;
      case DT_GNU_HASH:
        found.gnu_hash = reinterpret_cast<const std::uint32_t*>(at);
        break;
      case DT_HASH:
        found.hash = reinterpret_cast<const std::uint32_t*>(at);
        break;
      default:
        break;
    }
  }
  return found;
}

/// strcmp of its own: a sanitizer's strcmp calls dlsym first, and that would recurse.
bool are_equal(const char* a, const char* b) {
  while (*a == *b && *a != '\0') ++a, ++b;
  return *a == *b;
}

/// Chooses among symbols of one name: the default version, else any.
class choice {
 public:
  choice(const tables& in, const char* name) : in_(in), name_(name) {}
  /// Returns true if the search is over.
  bool take(std::uint32_t index) {
    const auto& symbol = in_.symbols[index];
    const int type = symbol.st_info & 0xf;
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0 || (type != STT_FUNC && type != STT_NOTYPE))
      return false;
    if (!are_equal(in_.strings + symbol.st_name, name_)) return false;
    found_ = &symbol;
    return in_.versions == nullptr || (in_.versions[index] & hidden_version) == 0;
  }
  [[nodiscard]] const ElfW(Sym) * found() const { return found_; }

 private:
  const tables& in_;
  const char* name_;
  const ElfW(Sym) * found_ = nullptr;
};

const ElfW(Sym) * symbol_in(const tables& in, const char* name) {
  if (in.symbols == nullptr || in.strings == nullptr) return nullptr;
  choice chosen(in, name);
  if (in.gnu_hash != nullptr) {
    const std::uint32_t buckets = in.gnu_hash[0], first = in.gnu_hash[1], words = in.gnu_hash[2];
    if (buckets == 0) return nullptr;
    const auto* bucket =
        in.gnu_hash + 4 + words * (sizeof(ElfW(Addr)) / sizeof(std::uint32_t));  // after the Bloom filter
    const auto* chain = bucket + buckets;
    std::uint32_t wanted = 5381;
    for (const char* c = name; *c != '\0'; ++c) wanted = wanted * 33 + static_cast<unsigned char>(*c);
    std::uint32_t index = bucket[wanted % buckets];
    if (index < first) return nullptr;
    for (;; ++index) {
      const std::uint32_t each = chain[index - first];
      if ((each | 1) == (wanted | 1) && chosen.take(index)) break;
      if ((each & 1) != 0) break;
    }
  } else if (in.hash != nullptr) {
    const std::uint32_t buckets = in.hash[0];
    if (buckets == 0) return nullptr;
    std::uint32_t wanted = 0;
    for (const char* c = name; *c != '\0'; ++c) {
      wanted = (wanted << 4) + static_cast<unsigned char>(*c);
      const std::uint32_t high = wanted & 0xf0000000;
      wanted = (wanted ^ (high >> 24)) & ~high;
    }
    const auto* chain = in.hash + 2 + buckets;
    for (std::uint32_t index = in.hash[2 + wanted % buckets]; index != STN_UNDEF; index = chain[index])
      if (chosen.take(index)) break;
  }
  return chosen.found();
}

bool holds(const dl_phdr_info& loaded, const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (int i = 0; i < loaded.dlpi_phnum; ++i) {
    const auto& segment = loaded.dlpi_phdr[i];
    const std::uintptr_t begin = loaded.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && at >= begin && at < begin + segment.p_memsz) return true;
  }
  return false;
}

struct search {
  const void* here;
  side where;
  const char* name;
  bool passed = false;
  void* found = nullptr;
};

int look_in(dl_phdr_info* loaded, std::size_t, void* data) {
  auto& s = *static_cast<search*>(data);
  if (!s.passed && holds(*loaded, s.here)) {
    s.passed = true;
    return s.where == side::before ? 1 : 0;
  }
  if (s.passed != (s.where == side::after) || holds(*loaded, &mine)) return 0;
  const ElfW(Sym)* symbol = symbol_in(tables_of(*loaded), s.name);
  if (symbol == nullptr) return 0;
  s.found = reinterpret_cast<void*>(loaded->dlpi_addr + symbol->st_value);
  return 1;
}

struct file_search {
  const void* address;
  loaded_range found;
};

int look_around(dl_phdr_info* loaded, std::size_t, void* data) {
  auto& s = *static_cast<file_search*>(data);
  if (!holds(*loaded, s.address)) return 0;
  std::uintptr_t begin = UINTPTR_MAX, end = 0;
  for (int i = 0; i < loaded->dlpi_phnum; ++i) {
    const auto& segment = loaded->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    begin = std::min(begin, loaded->dlpi_addr + segment.p_vaddr);
    end = std::max(end, loaded->dlpi_addr + segment.p_vaddr + segment.p_memsz);
  }
  s.found = {reinterpret_cast<const char*>(begin), end - begin};
  return 1;
}

/// Searches a segment of notes.
std::string_view build_id_in(const char* notes, std::size_t size, std::size_t alignment) {
  const auto padded = [&](std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; };
  std::size_t at = 0;
  while (at + sizeof(ElfW(Nhdr)) <= size) {
    ElfW(Nhdr) note;
    memcpy(&note, notes + at, sizeof note);
    const std::size_t name = at + sizeof note, bytes = name + padded(note.n_namesz);
    if (bytes + note.n_descsz > size) return {};
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(notes + name, "GNU", 4) == 0)
      return {notes + bytes, note.n_descsz};
    at = bytes + padded(note.n_descsz);
  }
  return {};
}

}  // namespace

std::string_view build_id_at(const void* begin) {
  const auto* at = static_cast<const char*>(begin);
  ElfW(Ehdr) header;
  memcpy(&header, at, sizeof header);
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(ElfW(Phdr))) return {};
  const auto* segments = reinterpret_cast<const ElfW(Phdr)*>(at + header.e_phoff);
  const char* base = nullptr;  // base of addresses in the file
  for (int i = 0; i < header.e_phnum; ++i)
    if (segments[i].p_type == PT_LOAD && segments[i].p_offset == 0) base = at - segments[i].p_vaddr;
  if (base == nullptr) return {};
  for (int i = 0; i < header.e_phnum; ++i) {
    if (segments[i].p_type != PT_NOTE) continue;
    const auto found =
        build_id_in(base + segments[i].p_vaddr, segments[i].p_memsz, segments[i].p_align == 8 ? 8 : 4);
    if (!found.empty()) return found;
  }
  return {};
}

loaded_range file_around(const void* address) {
  file_search s{address, {}};
  dl_iterate_phdr(look_around, &s);
  return s.found;
}

void* definition_beside(const void* here, side where, const char* name) {
  search s{here, where, name};
  dl_iterate_phdr(look_in, &s);
  return s.found;
}

}  // namespace cufault::injector
// NOLINTEND(performance-no-int-to-ptr)
