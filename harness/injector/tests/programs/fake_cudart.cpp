// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// A libcudart for library_test.cpp. It has no device; a launch increments the number that is its kernel's first argument. It keeps the last
// error of each thread, as NVIDIA's does.
#include "harness/injector/tests/programs/fake_cudart.hpp"

#include <utility>

#define CUDART extern "C" __attribute__((visibility("default")))

namespace {

thread_local int last_error = 0;

int kept(int error) {
  if (error != 0) last_error = error;
  return error;
}

/// cudaErrorInvalidConfiguration unless the numbers are those of launch_probe.cpp.
int launch(dim3 grid, dim3 block, void** arguments, std::size_t shared, const void* stream) {
  const bool right = grid.x == 1 && grid.y == 2 && grid.z == 3 && block.x == 4 && block.y == 5 &&
                     block.z == 6 && shared == 7 && stream == nullptr;
  if (right) ++*static_cast<int*>(arguments[0]);
  return kept(right ? 0 : 9);
}

}  // namespace

CUDART int cudaLaunchKernel(const void*, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                            void* stream) {
  return launch(grid, block, arguments, shared, stream);
}
// NOLINTBEGIN(bugprone-reserved-identifier): the names are those of the runtime
CUDART int __cudaLaunchKernel(void*, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                              void* stream) {
  return launch(grid, block, arguments, shared, stream);
}
CUDART int __cudaLaunchKernel_ptsz(void*, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                                   void* stream) {
  return launch(grid, block, arguments, shared, stream);
}
// NOLINTEND(bugprone-reserved-identifier)
/// For 0 bytes: cudaErrorInvalidValue.
CUDART int cudaMalloc(void** pointer, std::size_t bytes) {
  *pointer = nullptr;
  return kept(bytes == 0 ? 1 : 0);
}
CUDART int cudaEventQuery(void*) {
  return 0;
}
CUDART int cudaGetLastError() {
  return std::exchange(last_error, 0);
}
CUDART int cudaPeekAtLastError() {
  return last_error;
}
