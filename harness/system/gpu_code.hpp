// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/system/elf_file.hpp"

#include <compare>
#include <cstdint>
#include <map>
#include <string>

namespace cufault {

/// Code for GPUs: machine code (sm_90, or sm_90a for 9.0 alone) or PTX (compute_90).
struct gpu_code {
  bool ptx = false;
  unsigned architecture = 0;  ///< 90
  bool specific = false;      ///< of this architecture alone: the "a" of sm_90a
  friend auto operator<=>(const gpu_code&, const gpu_code&) = default;
};
std::string to_string(const gpu_code& code);  ///< "sm_90a", "compute_120"

/// Number of occurrences of each kind of code.
struct gpu_code_facts {
  std::map<gpu_code, std::uint64_t> count{};
  std::uint64_t containers = 0,
                unread_bytes = 0;  ///< unread: between containers, or of a form that is not known
};

/// Reads the headers of the containers in .nv_fatbin, without reading or decompressing code. Malformed parts count as unread. Throws
/// input_error if the file ends inside the section.
gpu_code_facts read_gpu_code(const std::string& name, const readable& from, const elf_section& section);
/// The same for the section .nv_fatbin; empty if the file has none.
gpu_code_facts read_gpu_code(const std::string& name, const readable& from, const elf_facts& elf);

/// `capability`: 90 for compute capability 9.0. Machine code runs on later minor versions of its major version, PTX on all later versions.
bool has_machine_code_for(const gpu_code_facts& facts, unsigned capability);
bool has_ptx_for(const gpu_code_facts& facts, unsigned capability);

}  // namespace cufault
