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
#include <stdexcept>
#include <vector>

struct CUmemPoolHandle_st;  // cudaMemPool_t points to it; nothing here knows a CUDA header

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

/// Device memory as memory_pressure uses it. Tests put a fake device in its place.
class device_memory {
 public:
  virtual ~device_memory() = default;
  virtual std::uint64_t free_bytes() = 0;
  virtual void* allocate(std::uint64_t bytes) = 0;  ///< nullptr when there is not enough
  virtual void release(void* p) = 0;
  /// The driver maps memory in pieces of this size; smaller allocations share a piece.
  [[nodiscard]] virtual std::uint64_t granule() const { return 2_MiB; }
  /// Where a memory_budget stands in for pressure: from now on allocations beyond these bytes fail, and the driver reports no more as
  /// free. False where there is none and memory has to be held.
  virtual bool limit_to(std::uint64_t /*bytes*/) { return false; }
  virtual void lift_limit() {}
};

/// Makes the process's allocations fail beyond so many bytes, without holding memory; no bytes: no limit any more.
using memory_budget = std::function<void(std::optional<std::uint64_t>)>;
/// From now on a budget stands in for the memory that memory_pressure and other_process would hold in this process. Injected
/// counterparts of arms use it (harness/injection/counterparts.hpp).
void replace_pressure_by(memory_budget budget);

/// The current device, by cudaMalloc. Allocation failures leave no last error behind.
std::unique_ptr<device_memory> current_device_memory();

/// The device's default stream-ordered pool, on the legacy stream: what is freed stays in the pool, as in a framework's cache.
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

/// Less memory is free than is to be left free: the pressure cannot be provoked on this device, or not now.
class not_enough_memory : public not_provoked {
 public:
  using not_provoked::not_provoked;
};

/// Holds device memory so that no more than `leave_free` bytes, to one granule, stay free, for as long as it
/// lives. Plain allocations: the bulk in `blocks` equal ones, as a program's buffers would be, then what the
/// remainder takes. Leaving 0 means that not even one granule can be allocated any more; the driver goes on
/// reporting a small remainder as free that nobody can have. Throws memory_moved when what became free or was
/// taken does not add up, not_enough_memory when less than `leave_free` is free to begin with. The device
/// must outlive it. In an injected counterpart it holds nothing and the driver is made to say so: then exactly `leave_free` bytes are left.
class memory_pressure {
 public:
  memory_pressure(device_memory& device, std::uint64_t leave_free, unsigned blocks = 1);
  ~memory_pressure();
  memory_pressure(const memory_pressure&) = delete;
  memory_pressure& operator=(const memory_pressure&) = delete;

  [[nodiscard]] std::uint64_t held_bytes() const { return held_; }
  [[nodiscard]] std::uint64_t free_bytes() const { return free_; }  ///< really free, device filled
  [[nodiscard]] std::size_t allocations() const { return blocks_.size(); }
  [[nodiscard]] double milliseconds() const { return milliseconds_; }  ///< that filling the device took

  void release();       ///< gives everything back now
  void release_half();  ///< gives back at least half of what is held; all of it if that is one block
  /// The blocks are no longer there (cudaDeviceReset destroyed them): forget them.
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
  bool limited_ = false;  // an injected counterpart's
};

/// memory_pressure that can be brought to its level again. Filling that does not add up is repeated once: when an allocation fails,
/// the driver gives back what it had kept (pools, managed pages), so that the first one can take more than was said to be free.
class renewable_pressure {
 public:
  renewable_pressure(device_memory& device, std::uint64_t leave_free);
  /// To the level, whatever was taken or given back meanwhile. Nothing is moved where as much is free as before.
  void renew();
  void release() { held_.reset(); }
  [[nodiscard]] const memory_pressure& now() const { return *held_; }  ///< not after release()

 private:
  device_memory& device_;
  std::uint64_t leave_free_;
  std::unique_ptr<memory_pressure> held_;
};

/// Another process that fills the same device, to `leave_free` bytes. It is `cufault other-process`, started
/// by this program, and ends with it, not with the thread that started it. Throws not_provoked with its words when it cannot. In an injected counterpart there is none, but what it
/// would have left is this process's budget.
class other_process {
 public:
  other_process(int device, std::uint64_t leave_free);
  ~other_process() { release(); }
  other_process(const other_process&) = delete;
  other_process& operator=(const other_process&) = delete;
  [[nodiscard]] std::uint64_t free_bytes() const { return free_; }  ///< as it saw it
  [[nodiscard]] std::uint64_t held_bytes() const { return held_; }
  /// Returns when the process has ended: how, as "exit 0", or nothing where there was none.
  std::string release();
  /// To the same bytes, whatever this process took or gave back meanwhile; a process that was released is started again. Throws as the
  /// constructor does.
  void renew();

  /// What the other process does: fills the device and tells on stdout; again for each byte that it reads from stdin, whose end ends it. Its exit
  /// code.
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
