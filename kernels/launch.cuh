// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace cufault {

/// At least `count` threads, in blocks of at most 256.
inline cudaLaunchConfig_t threads(std::size_t count, cudaStream_t stream = nullptr) {
  const unsigned block = count < 256 ? static_cast<unsigned>(count) : 256;
  cudaLaunchConfig_t shape{};
  shape.gridDim = static_cast<unsigned>((count + block - 1) / block);
  shape.blockDim = block;
  shape.stream = stream;
  return shape;
}

// Not <<<>>>: to tell its error from an earlier one, that would have to be cleared, which is not our right.
template <class... Parameters, class... Arguments>
cudaError_t launch(const cudaLaunchConfig_t& shape, void (*kernel)(Parameters...), Arguments... arguments) {
  return cudaLaunchKernelEx(&shape, kernel, static_cast<Parameters>(arguments)...);
}

}  // namespace cufault
