// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// The container format is undocumented. The fields read here (magic number, sizes, kind, architecture, flags) were compared with cuobjdump
// --list-elf and --list-ptx of cuBLAS and cuBLASLt 13.
#include "harness/system/gpu_code.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace cufault {
namespace {

constexpr std::uint32_t magic = 0xBA55ED50;
constexpr std::uint64_t most_entries = 4'000'000;
constexpr std::uint64_t flag_specific = 0x100000;

struct container_header {
  std::uint32_t magic;
  std::uint16_t version, header_size;
  std::uint64_t size;  // without the header
};
struct entry_header {
  std::uint16_t kind, version;
  std::uint32_t header_size;
  std::uint64_t size;  // without the header
  std::uint32_t compressed_size, unknown;
  std::uint16_t minor, major;
  std::uint32_t architecture, name_offset, name_size;
  std::uint64_t flags;
};
constexpr std::uint16_t kind_ptx = 1, kind_elf = 2;
constexpr std::size_t entry_bytes = 48;  // the part that is read; a header has at least 64 bytes
static_assert(sizeof(container_header) == 16 && sizeof(entry_header) == entry_bytes);

/// Reads ahead: a section has tens of thousands of headers, mostly close together.
class window {
 public:
  window(const readable& from, std::uint64_t begin, std::uint64_t end)
      : from_(from), begin_(begin), end_(end) {}
  template <class T>
  bool read(std::uint64_t at, T& into) {
    if (at < begin_ || at > end_ || end_ - at < sizeof(T)) return false;
    if (at < start_ || at + sizeof(T) > start_ + bytes_.size()) {
      start_ = at;
      bytes_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(16 << 10, end_ - at)));
      bytes_.resize(from_.read(at, bytes_));
      if (bytes_.size() < sizeof(T)) return false;
    }
    std::memcpy(&into, bytes_.data() + (at - start_), sizeof into);
    return true;
  }

 private:
  const readable& from_;
  std::uint64_t begin_, end_, start_ = 0;
  std::string bytes_;
};

bool any(const gpu_code_facts& facts, auto&& fits) {
  return std::any_of(facts.count.begin(), facts.count.end(),
                     [&](const auto& one) { return fits(one.first); });
}

}  // namespace

std::string to_string(const gpu_code& code) {
  return fmt::format("{}_{}{}", code.ptx ? "compute" : "sm", code.architecture, code.specific ? "a" : "");
}

gpu_code_facts read_gpu_code(const std::string& name, const readable& from, const elf_section& section) {
  if (section.offset > from.size || section.size > from.size - section.offset)
    (void)bytes_of(from, name, from.size, 1, section.name.c_str());
  gpu_code_facts facts;
  const std::uint64_t end = section.offset + section.size;
  window bytes(from, section.offset, end);
  std::uint64_t entries = 0;
  for (std::uint64_t at = section.offset; at < end;) {
    container_header container{};
    if (!bytes.read(at, container)) {
      facts.unread_bytes += end - at;
      break;
    }
    if (container.magic != magic) {
      // Containers are padded to 8 bytes; more padding means other data.
      facts.unread_bytes += 8;
      at += 8;
      if (facts.unread_bytes > (1U << 20)) break;
      continue;
    }
    if (container.header_size < sizeof container || container.size > end - at ||
        container.header_size > end - at - container.size) {
      facts.unread_bytes += end - at;
      break;
    }
    ++facts.containers;
    const std::uint64_t last = at + container.header_size + container.size;
    for (std::uint64_t here = at + container.header_size; here < last;) {
      entry_header entry{};
      const bool whole = last - here >= entry_bytes && bytes.read(here, entry) &&
                         entry.header_size >= entry_bytes && entry.header_size <= last - here &&
                         entry.size <= last - here - entry.header_size && ++entries <= most_entries;
      if (!whole) {
        facts.unread_bytes += last - here;
        break;
      }
      if (entry.kind == kind_ptx || entry.kind == kind_elf)
        ++facts.count[{.ptx = entry.kind == kind_ptx,
                       .architecture = std::min(entry.architecture, 9999U),
                       .specific = (entry.flags & flag_specific) != 0}];
      here += entry.header_size + entry.size;
    }
    at = (last + 7) / 8 * 8;
  }
  return facts;
}

gpu_code_facts read_gpu_code(const std::string& name, const readable& from, const elf_facts& elf) {
  const elf_section* const section = section_named(elf, ".nv_fatbin");
  return section == nullptr ? gpu_code_facts{} : read_gpu_code(name, from, *section);
}

bool has_machine_code_for(const gpu_code_facts& facts, unsigned capability) {
  return any(facts, [&](const gpu_code& c) {
    if (c.ptx) return false;
    return c.specific ? c.architecture == capability
                      : c.architecture / 10 == capability / 10 && c.architecture <= capability;
  });
}

bool has_ptx_for(const gpu_code_facts& facts, unsigned capability) {
  return any(facts, [&](const gpu_code& c) {
    return c.ptx && (c.specific ? c.architecture == capability : c.architecture <= capability);
  });
}

}  // namespace cufault
