// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <driver_types.h>

#include <cstdint>

namespace cufault {

/// Kernels that fail on purpose. Each launch returns at once; the error comes when the kernel runs.
enum class device_fault {
  assertion,           ///< assert(index < size), as in an embedding look-up: 710
  illegal_address,     ///< a store far outside of every allocation: 700
  misaligned_address,  ///< a 16-byte access at an address off by 4: 716
  trap,                ///< __trap(): 719
};

/// Loads every kernel of this file, so that later launches take no memory. Needs a context.
cudaError_t load_faults();

/// Fails on `stream`, `after_ms` milliseconds into the kernel. With 0 it races with the calls that follow. With 200, for example, it comes
/// after immediate calls that do not wait for the device. Returns the status of the launch.
cudaError_t launch_fault(device_fault which, cudaStream_t stream = nullptr, unsigned after_ms = 0);

/// A launch that is refused at once and damages nothing: more threads than the kernel's registers allow (701).
cudaError_t launch_with_too_many_resources(cudaStream_t stream = nullptr);
/// Refused: more threads in a block than any device has (documented: 9).
cudaError_t launch_with_bad_configuration(cudaStream_t stream = nullptr);
/// Refused: more dynamic shared memory than any device has.
cudaError_t launch_with_too_much_shared_memory(cudaStream_t stream = nullptr);

/// A kernel of one thread that waits until *flag, in pinned host memory, is not 0; at most `at_most_ms`.
cudaError_t launch_wait(const volatile int* flag, cudaStream_t stream, unsigned at_most_ms);
/// Pinned host memory in which a kernel that occupies the device reports its start and is told to stop.
struct occupying_flags {
  int stop, runs;
};
/// A kernel with as many threads as fit on the device, until flags->stop is not 0; at most `at_most_ms`.
cudaError_t launch_occupying(volatile occupying_flags* flags, cudaStream_t stream, unsigned at_most_ms);
/// A kernel of one thread that does nothing for `ms` milliseconds.
cudaError_t launch_delay(cudaStream_t stream, unsigned ms);
/// Fills `count` floats with `value`, for work before or after a product on a stream.
cudaError_t launch_fill(float* to, std::size_t count, float value, cudaStream_t stream);
/// Writes a pattern repeatedly for `ms` milliseconds, like another user of the memory.
cudaError_t launch_scribble(void* to, std::size_t bytes, unsigned ms, cudaStream_t stream);

}  // namespace cufault
