// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace cufault {

/// Slots of each GPU in a resource spec file. A case that shares a GPU takes one, a case that fills it takes all:
/// CufaultCase.cmake reads the number here.
inline constexpr int slots_of_a_gpu = 100;

/// A GPU's name in a resource spec file, where only a-z, 0-9 and '_' may be: "GPU-0A9D-..." becomes "gpu_0a9d_...".
std::string resource_name(const std::string& uuid);

/// A resource spec file of CTest (CMake's documentation, ctest(1), "Resource Specification File") with these GPUs. Without any, it has
/// one named "none": cases that need no GPU run all the same, and the others say that there is none.
nlohmann::ordered_json resource_spec(const std::vector<std::string>& uuids);

/// True in a test to which CTest allocates resources: the variables CTEST_RESOURCE_GROUP_... are there.
bool ctest_allocates();

/// The devices, by number, that CTest gave this test; none where its resource spec file has no GPU. `uuids`: of the GPUs that are here, by
/// number. Throws std::invalid_argument for a GPU that is not, or where the variables cannot be read.
std::vector<int> devices_given_by_ctest(const std::vector<std::string>& uuids);

}  // namespace cufault
