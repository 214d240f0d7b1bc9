// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Reads these parts of the ELF specification: file header, program headers, sections, dynamic section, note of the build id.
#include "harness/system/elf_file.hpp"

#include "harness/system/unique_fd.hpp"
#include "reports/base/json_input.hpp"

#include <fmt/format.h>

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <type_traits>

namespace cufault {
namespace {

constexpr std::size_t most_segments = 1024, most_sections = 8192, most_dynamic = 8192, longest_text = 4096,
                      most_needed = 1024, longest_note = 64 << 10;

class elf_reader {
 public:
  elf_reader(const std::string& name, const readable& from) : name_(name), from_(from) {}

  elf_facts read() {
    header_ = at<Elf64_Ehdr>(0, "the header");
    if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0) refuse(0, "no ELF file");
    if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_ident[EI_DATA] != ELFDATA2LSB)
      refuse(EI_CLASS, "not of 64 bits, little endian");
    facts_.machine = header_.e_machine == EM_X86_64    ? "x86_64"
                     : header_.e_machine == EM_AARCH64 ? "aarch64"
                                                       : fmt::format("machine {}", header_.e_machine);
    read_segments();
    read_sections();
    read_dynamic();
    return std::move(facts_);
  }

 private:
  [[noreturn]] void refuse(std::uint64_t offset, const std::string& why) const {
    throw input_error(fmt::format("{}: byte {}: {}", one_line(name_), offset, why));
  }
  template <class T>
  T at(std::uint64_t offset, const char* what) const {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::string bytes = bytes_of(from_, name_, offset, sizeof(T), what);
    T value;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  template <class T>
  std::vector<T> table(std::uint64_t offset, std::size_t count, std::size_t entry, std::size_t most,
                       const char* what) const {
    if (count == 0) return {};
    if (entry != sizeof(T)) refuse(offset, fmt::format("entries of {} have another size", what));
    if (count > most) refuse(offset, fmt::format("{} {} are too many", count, what));
    const std::string bytes = bytes_of(from_, name_, offset, count * sizeof(T), what);
    std::vector<T> entries(count);
    std::memcpy(entries.data(), bytes.data(), bytes.size());
    return entries;
  }
  /// Offset in the file of an address in the loaded library.
  [[nodiscard]] std::optional<std::uint64_t> offset_of(std::uint64_t address) const {
    for (const Elf64_Phdr& p : segments_)
      if (p.p_type == PT_LOAD && address >= p.p_vaddr && address - p.p_vaddr < p.p_filesz)
        return p.p_offset + (address - p.p_vaddr);
    return std::nullopt;
  }
  /// Text up to NUL; cut if it is longer than any name.
  [[nodiscard]] std::string text_at(std::uint64_t offset) const {
    std::string text(longest_text, '\0');
    if (offset >= from_.size) refuse(offset, "a name lies outside of the file");
    text.resize(from_.read(offset, text));
    return text.substr(0, text.find('\0'));
  }

  void read_segments() {
    segments_ = table<Elf64_Phdr>(header_.e_phoff, header_.e_phnum, header_.e_phentsize, most_segments,
                                  "program headers");
    const auto first = std::ranges::find(segments_, PT_LOAD, &Elf64_Phdr::p_type);
    if (first != segments_.end()) facts_.base = first->p_vaddr - first->p_offset;
    for (const Elf64_Phdr& p : segments_)
      if (p.p_type == PT_NOTE && p.p_filesz <= longest_note) read_notes(p.p_offset, p.p_filesz);
  }

  void read_notes(std::uint64_t offset, std::uint64_t size) {
    const std::string notes = bytes_of(from_, name_, offset, static_cast<std::size_t>(size), "the notes");
    for (std::size_t here = 0; notes.size() - here >= sizeof(Elf64_Nhdr);) {
      Elf64_Nhdr note;
      std::memcpy(&note, notes.data() + here, sizeof note);
      here += sizeof note;
      const auto padded = [](std::uint64_t bytes) { return (bytes + 3) / 4 * 4; };
      const std::uint64_t name_size = padded(note.n_namesz), body_size = padded(note.n_descsz);
      if (name_size + body_size > notes.size() - here) return;
      if (note.n_type == NT_GNU_BUILD_ID &&
          std::string_view(notes).substr(here, 4) == std::string_view("GNU\0", 4))
        for (const char c : notes.substr(here + name_size, std::min<std::size_t>(note.n_descsz, 64)))
          facts_.build_id += fmt::format("{:02x}", static_cast<unsigned char>(c));
      here += name_size + body_size;
    }
  }

  void read_sections() {
    if (header_.e_shoff == 0) return;
    const auto sections = table<Elf64_Shdr>(header_.e_shoff, header_.e_shnum, header_.e_shentsize,
                                            most_sections, "section headers");
    if (header_.e_shstrndx >= sections.size()) return;
    const std::uint64_t names = sections[header_.e_shstrndx].sh_offset;
    for (const Elf64_Shdr& s : sections) {
      if (s.sh_type == SHT_NULL || s.sh_type == SHT_NOBITS) continue;
      if (s.sh_offset > from_.size || s.sh_size > from_.size - s.sh_offset)
        refuse(s.sh_offset, "a section lies outside of the file");
      if (s.sh_name > from_.size || names > from_.size - s.sh_name)
        refuse(names, "the name of a section lies outside of the file");
      facts_.sections.push_back({.name = text_at(names + s.sh_name),
                                 .offset = s.sh_offset,
                                 .size = s.sh_size,
                                 .code = (s.sh_flags & SHF_EXECINSTR) != 0,
                                 .loaded = (s.sh_flags & SHF_ALLOC) != 0});
    }
  }

  void read_dynamic() {
    const auto dynamic = std::find_if(segments_.begin(), segments_.end(),
                                      [](const Elf64_Phdr& p) { return p.p_type == PT_DYNAMIC; });
    if (dynamic == segments_.end()) return;
    const auto entries = table<Elf64_Dyn>(dynamic->p_offset, dynamic->p_filesz / sizeof(Elf64_Dyn),
                                          sizeof(Elf64_Dyn), most_dynamic, "dynamic entries");
    const auto end =
        std::find_if(entries.begin(), entries.end(), [](const Elf64_Dyn& d) { return d.d_tag == DT_NULL; });
    const auto strings =
        std::find_if(entries.begin(), end, [](const Elf64_Dyn& d) { return d.d_tag == DT_STRTAB; });
    if (strings == end) return;
    const auto names = offset_of(strings->d_un.d_ptr);
    if (!names) refuse(dynamic->p_offset, "the names of the dynamic section lie outside of the file");
    for (auto entry = entries.begin(); entry != end; ++entry) {
      std::string* one = entry->d_tag == DT_SONAME    ? &facts_.soname
                         : entry->d_tag == DT_RPATH   ? &facts_.rpath
                         : entry->d_tag == DT_RUNPATH ? &facts_.runpath
                                                      : nullptr;
      if (one == nullptr && entry->d_tag != DT_NEEDED) continue;
      if (entry->d_un.d_val > from_.size) refuse(*names, "a name lies outside of the file");
      std::string text = text_at(*names + entry->d_un.d_val);
      if (one != nullptr)
        *one = std::move(text);
      else if (facts_.needed.size() < most_needed)
        facts_.needed.push_back(std::move(text));
    }
  }

  const std::string& name_;
  const readable& from_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> segments_;
  elf_facts facts_;
};

}  // namespace

readable open_readable(const std::filesystem::path& file) {
  // O_NONBLOCK: opening a pipe without a writer would wait.
  const auto fd = std::make_shared<unique_fd>(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat seen {};
  if (!*fd || fstat(fd->get(), &seen) != 0)
    throw input_error(fmt::format("{}: {}", one_line(file.string()), std::strerror(errno)));
  if (!S_ISREG(seen.st_mode)) throw input_error(fmt::format("{}: no file", one_line(file.string())));
  return {static_cast<std::uint64_t>(seen.st_size), [fd](std::uint64_t offset, std::span<char> into) {
            std::size_t done = 0;
            while (done < into.size()) {
              const ssize_t got =
                  pread(fd->get(), into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
              if (got < 0 && errno == EINTR) continue;
              if (got <= 0) break;
              done += static_cast<std::size_t>(got);
            }
            return done;
          }};
}

readable readable_text(std::string_view bytes) {
  return {bytes.size(), [bytes](std::uint64_t offset, std::span<char> into) {
            if (offset >= bytes.size()) return std::size_t{0};
            const std::string_view part = bytes.substr(static_cast<std::size_t>(offset), into.size());
            std::copy(part.begin(), part.end(), into.begin());
            return part.size();
          }};
}

std::string bytes_of(const readable& from, const std::string& name, std::uint64_t offset, std::size_t size,
                     const char* what) {
  std::string bytes;
  if (offset <= from.size && size <= from.size - offset) {
    bytes.resize(size);
    if (from.read(offset, bytes) == size) return bytes;
  }
  throw input_error(fmt::format("{}: byte {}: the file ends inside of {}", one_line(name), offset, what));
}

elf_facts read_elf(const std::string& name, const readable& from) {
  return elf_reader(name, from).read();
}

const elf_section* section_named(const elf_facts& elf, std::string_view name) {
  const auto found = std::find_if(elf.sections.begin(), elf.sections.end(),
                                  [&](const elf_section& s) { return s.name == name; });
  return found == elf.sections.end() ? nullptr : &*found;
}

std::string own_machine() {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "unknown";
#endif
}

}  // namespace cufault
