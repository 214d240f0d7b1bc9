// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/kit/second_process.hpp"
#include "harness/model/errors.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

struct CUmemPoolHandle_st;  // what cudaMemPool_t points to; avoids a CUDA header

namespace cufault {

inline namespace literals {
constexpr std::uint64_t operator""_KiB(unsigned long long n) {
  return n << 10;
}
constexpr std::uint64_t operator""_MiB(unsigned long long n) {
  return n << 20;
}
constexpr std::uint64_t operator""_GiB(unsigned long long n) {
  return n << 30;
}
}  // namespace literals

/// Device memory as memory_pressure uses it. Tests substitute a fake device.
class device_memory {
 public:
  virtual ~device_memory() = default;
  virtual std::uint64_t free_bytes() = 0;
  virtual void* allocate(std::uint64_t bytes) = 0;  ///< nullptr when there is not enough
  virtual void release(void* p) = 0;
  /// The driver maps memory in pieces of this size; smaller allocations share a piece.
  [[nodiscard]] virtual std::uint64_t granule() const { return 2_MiB; }
  /// If a memory_budget replaces pressure: makes allocations beyond these bytes fail, and the driver report no more as free. False without
  /// a budget: memory has to be held.
  virtual bool limit_to(std::uint64_t /*bytes*/) { return false; }
  virtual void lift_limit() {}
};

/// Makes the process's allocations fail beyond so many bytes, without holding memory; nullopt removes the limit.
using memory_budget = std::function<void(std::optional<std::uint64_t>)>;
/// Makes memory_pressure and other_process set this budget instead of holding memory in this process. Used by injected counterparts
/// (harness/injection/counterparts.hpp).
void replace_pressure_by(memory_budget budget);

/// The current device, by cudaMalloc. A failed allocation leaves no last error.
device_memory& current_device_memory();

/// The device's default stream-ordered pool, on the legacy stream: freed memory stays in the pool, as in a framework's cache.
class stream_ordered_memory final : public device_memory {
 public:
  explicit stream_ordered_memory(int device);  ///< keeps everything; throws setup_failed
  std::uint64_t free_bytes() override;         ///< of the device, so that what the pool keeps is not in it
  void* allocate(std::uint64_t bytes) override;
  void release(void* p) override;
  /// The pool grows in pieces of this size.
  [[nodiscard]] std::uint64_t granule() const override { return 32_MiB; }
  bool limit_to(std::uint64_t bytes) override;  ///< persistently, since the pool keeps what is freed

  void keep(std::uint64_t bytes);                      ///< what it may keep at most (its release threshold)
  void trim();                                         ///< cudaMemPoolTrimTo(pool, 0); waits for nothing
  [[nodiscard]] std::uint64_t reserved_bytes() const;  ///< what it took of the device, in use or not

 private:
  CUmemPoolHandle_st* pool_ = nullptr;
};

/// Less memory is free than should stay free: the pressure cannot be provoked on this device, or not now.
class not_enough_memory : public not_provoked {
 public:
  using not_provoked::not_provoked;
};

/// Holds device memory, so that at most `leave_free` bytes (to one granule) stay free while the object lives. Allocates the bulk in
/// `blocks` equal blocks, like a program's buffers, then the remainder. With 0 not even a granule can be allocated; the driver still
/// reports a small unusable remainder as free. Throws memory_moved if amounts do not match, not_enough_memory if less than `leave_free` was
/// free. The device must outlive it. An injected counterpart holds nothing; the injected budget leaves exactly `leave_free` bytes.
class memory_pressure {
 public:
  memory_pressure(device_memory& device, std::uint64_t leave_free, unsigned blocks = 1);
  explicit memory_pressure(std::uint64_t leave_free, unsigned blocks = 1)  ///< of the current device
      : memory_pressure(current_device_memory(), leave_free, blocks) {}
  ~memory_pressure();
  memory_pressure(const memory_pressure&) = delete;
  memory_pressure& operator=(const memory_pressure&) = delete;

  [[nodiscard]] std::uint64_t held_bytes() const { return held_; }
  [[nodiscard]] std::uint64_t free_bytes() const { return free_; }  ///< really free, device filled
  [[nodiscard]] std::size_t allocations() const { return blocks_.size(); }
  [[nodiscard]] double milliseconds() const { return milliseconds_; }  ///< that filling the device took

  void release();       ///< gives everything back now
  void release_half();  ///< gives back at least half of what is held; all of it if that is one block
  /// Forgets the blocks, after cudaDeviceReset has destroyed them.
  void forget();

 private:
  struct block {
    void* address;
    std::uint64_t bytes;
  };
  bool hold(std::uint64_t bytes);
  device_memory& device_;
  std::vector<block> blocks_;
  std::uint64_t held_ = 0, free_ = 0;
  double milliseconds_ = 0;
  bool limited_ = false;  // true in an injected counterpart
};

/// memory_pressure that can be restored to its level. If amounts do not match, it is filled once more: when an allocation fails, the driver
/// releases what it kept (pools, managed pages), so that more was free than reported.
class renewable_pressure {
 public:
  renewable_pressure(device_memory& device, std::uint64_t leave_free);
  /// Restores the level, whatever was allocated or freed meanwhile. Does nothing if the same amount is free.
  void renew();
  void release() { held_.reset(); }
  [[nodiscard]] const memory_pressure& now() const { return *held_; }  ///< not after release()

 private:
  device_memory& device_;
  std::uint64_t leave_free_;
  std::unique_ptr<memory_pressure> held_;
};

/// Another process, `cufault other-process`, that fills the same device to `leave_free` bytes. It ends with this process, not with the
/// thread that started it. Throws not_provoked with its message. An injected counterpart has no process but sets the equivalent budget
/// here.
class other_process {
 public:
  other_process(int device, std::uint64_t leave_free);
  ~other_process() { release(); }
  other_process(const other_process&) = delete;
  other_process& operator=(const other_process&) = delete;
  [[nodiscard]] std::uint64_t free_bytes() const { return free_; }  ///< as it saw it
  [[nodiscard]] std::uint64_t held_bytes() const { return held_; }
  /// Ends the process. Returns how, e.g. "exit 0"; nullopt if there was none.
  std::string release();
  /// Restores the level, whatever this process allocated or freed; restarts a released process. Throws like the constructor.
  void renew();

  /// Body of the other process: fills the device and reports on stdout, again for each byte read from stdin, until its end. Returns the
  /// exit code.
  static int serve(int device, std::uint64_t leave_free);

 private:
  void start();
  void hear();  ///< what it holds
  int device_;
  std::uint64_t leave_free_;
  std::unique_ptr<second_process> process_;
  std::uint64_t free_ = 0, held_ = 0;
};

}  // namespace cufault
