// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/system/elf_file.hpp"

#include <compare>
#include <cstdint>
#include <map>
#include <string>

namespace cufault {

/// Code for GPUs: machine code (sm_90, and sm_90a, which runs on 9.0 alone) or PTX (compute_90).
struct gpu_code {
  bool ptx = false;
  unsigned architecture = 0;  ///< 90
  bool specific = false;      ///< of this architecture alone: the "a" of sm_90a
  friend auto operator<=>(const gpu_code&, const gpu_code&) = default;
};
std::string to_string(const gpu_code& code);  ///< "sm_90a", "compute_120"

/// How often each kind of code is there.
struct gpu_code_facts {
  std::map<gpu_code, std::uint64_t> count{};
  std::uint64_t containers = 0,
                unread_bytes = 0;  ///< unread: between containers, or of a form that is not known
};

/// Reads the headers of the containers in .nv_fatbin; code itself is neither read nor decompressed. What is malformed counts as unread;
/// it never throws for that. Throws input_error where the file ends inside of the section.
gpu_code_facts read_gpu_code(const std::string& name, const readable& from, const elf_section& section);
/// Of the section .nv_fatbin; nothing where the file has none.
gpu_code_facts read_gpu_code(const std::string& name, const readable& from, const elf_facts& elf);

/// For a GPU of compute capability 9.0: 90. Machine code runs on later minor versions of its major version, PTX on all later ones.
bool has_machine_code_for(const gpu_code_facts& facts, unsigned capability);
bool has_ptx_for(const gpu_code_facts& facts, unsigned capability);

}  // namespace cufault
