// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace cufault {

/// Slots of each GPU in a resource spec file. A case that shares a GPU takes one slot, a case that fills it takes all. CufaultCase.cmake
/// reads the number here.
inline constexpr int slots_of_a_gpu = 100;

/// Name of a GPU in a resource spec file, which may contain only a-z, 0-9 and '_': "GPU-0A9D-..." becomes "gpu_0a9d_...".
std::string resource_name(const std::string& uuid);

/// A resource spec file of CTest (CMake's documentation, ctest(1), "Resource Specification File") with these GPUs. Without a GPU it names
/// one resource "none": cases without need of a GPU run, and the others say that there is none.
nlohmann::ordered_json resource_spec(const std::vector<std::string>& uuids);

/// True in a test to which CTest allocates resources (CTEST_RESOURCE_GROUP_... is set).
bool ctest_allocates();

/// Numbers of the devices that CTest gave this test; empty if its resource spec file has no GPU. `uuids`: GPUs of this machine, by number.
/// Throws std::invalid_argument for an unknown GPU or unreadable variables.
std::vector<int> devices_given_by_ctest(const std::vector<std::string>& uuids);

}  // namespace cufault
