// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>

namespace cufault {

/// A function of the driver that this process has loaded (nothing here links to libcuda). Throws not_provoked without a driver or without
/// that function.
void* driver_entry(const char* name);
/// The same, but returns nullptr.
void* find_driver_entry(const char* name);

/// Driver functions for cases: `CUFAULT_OBSERVE(driver::cuCtxSynchronize())`. For another one, add a line. The header's macros add a
/// version to some names; that name is looked up.
namespace driver {
#define CUFAULT_DRIVER_FUNCTION(name) CUFAULT_DRIVER_FUNCTION_EXPANDED(name)
#define CUFAULT_DRIVER_FUNCTION_EXPANDED(name)                                     \
  inline constexpr auto name = [](auto... arguments) -> CUresult {                 \
    return reinterpret_cast<decltype(&::name)>(driver_entry(#name))(arguments...); \
  };
CUFAULT_DRIVER_FUNCTION(cuInit)
CUFAULT_DRIVER_FUNCTION(cuDeviceGet)
CUFAULT_DRIVER_FUNCTION(cuDeviceGetCount)
CUFAULT_DRIVER_FUNCTION(cuCtxCreate)
CUFAULT_DRIVER_FUNCTION(cuCtxDestroy)
CUFAULT_DRIVER_FUNCTION(cuCtxSetCurrent)
CUFAULT_DRIVER_FUNCTION(cuCtxGetCurrent)
CUFAULT_DRIVER_FUNCTION(cuCtxSynchronize)
CUFAULT_DRIVER_FUNCTION(cuModuleLoadData)
CUFAULT_DRIVER_FUNCTION(cuModuleUnload)
CUFAULT_DRIVER_FUNCTION(cuModuleGetFunction)
CUFAULT_DRIVER_FUNCTION(cuLaunchKernel)
CUFAULT_DRIVER_FUNCTION(cuMemAddressReserve)
CUFAULT_DRIVER_FUNCTION(cuMemCreate)
CUFAULT_DRIVER_FUNCTION(cuMemRelease)
CUFAULT_DRIVER_FUNCTION(cuMemMap)
CUFAULT_DRIVER_FUNCTION(cuMemUnmap)
CUFAULT_DRIVER_FUNCTION(cuMemSetAccess)
#undef CUFAULT_DRIVER_FUNCTION
#undef CUFAULT_DRIVER_FUNCTION_EXPANDED
}  // namespace driver

}  // namespace cufault
