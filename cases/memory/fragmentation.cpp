// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   A large allocation and cublasCreate, although the program has freed enough memory, in pieces. Not the heuristic.
// Why          The driver maps physical granules anywhere, so pieces of whole granules suffice, and halves of granules do not. A caching
//              allocator of a framework cannot join separate allocations of the driver.
// Documented   One source document says that fragmentation makes cublasLtMatmulAlgoGetHeuristic return ALLOC_FAILED (S2-3), and that
//              emptying the cache defragments memory and clears it (S2-8).
// What helps   Recommended: empty the cache. Also measured: emptying a cache in which every segment is partly in use.
// The cache is a stand-in for a framework's, so arms with it are made up. pytorch.fragmentation has a real one.
#include "harness/injection/counterparts.hpp"
#include "harness/kit/lt_problem.hpp"
#include "harness/kit/memory_pressure.hpp"
#include "harness/kit/products.hpp"
#include "harness/trial/observe.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace cufault {
namespace {

constexpr std::uint64_t memory_to_fragment = 4_GiB;  // what most arms fragment; small, for speed
constexpr std::uint64_t large = 1_GiB;               // half of what is free then

/// Allocates equal blocks until the device is full, and sorts them by address.
class many_blocks {
 public:
  many_blocks(device_memory& device, std::uint64_t bytes) : device_(device) {
    while (void* block = device_.allocate(bytes)) blocks_.push_back(block);
    std::sort(blocks_.begin(), blocks_.end());
  }
  ~many_blocks() {
    for (void* block : blocks_) device_.release(block);
  }
  many_blocks(const many_blocks&) = delete;
  many_blocks& operator=(const many_blocks&) = delete;

  /// Leaves a checkerboard.
  void release_every_other() {
    std::vector<void*> kept;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      if (i % 2 == 0) {
        kept.push_back(blocks_[i]);
      } else {
        device_.release(blocks_[i]);
      }
    }
    blocks_ = std::move(kept);
  }

 private:
  device_memory& device_;
  std::vector<void*> blocks_;
};

/// A caching allocator like those of frameworks: cuts segments of the device into blocks, and keeps freed blocks, joined with free
/// neighbours in the segment. It does not empty its cache when the device refuses: that is the remedy. Emptying releases unused segments
/// and moves nothing, so it does not defragment.
class caching_pool {
 public:
  static constexpr std::uint64_t segment_bytes = 32_MiB;  // less than cublasCreate takes

  explicit caching_pool(device_memory& device) : device_(device) {}
  ~caching_pool() {
    for (const auto& [base, blocks] : segments_) device_.release(base);
  }
  caching_pool(const caching_pool&) = delete;
  caching_pool& operator=(const caching_pool&) = delete;

  /// The smallest free block that fits, else one of a new segment; nullptr if the device has no room.
  char* allocate(std::uint64_t bytes) {
    segment* where = nullptr;
    segment::iterator best;
    for (auto& [base, blocks] : segments_) {
      for (auto b = blocks.begin(); b != blocks.end(); ++b) {
        if (b->second.live || b->second.bytes < bytes) continue;
        if (where != nullptr && b->second.bytes >= best->second.bytes) continue;
        where = &blocks;
        best = b;
      }
    }
    if (where == nullptr) {
      const std::uint64_t wanted = std::max(bytes, segment_bytes);
      char* base = static_cast<char*>(device_.allocate(wanted));
      if (base == nullptr) return nullptr;
      where = &segments_[base];
      best = where->insert({base, {wanted, false}}).first;
    }
    const std::uint64_t rest = best->second.bytes - bytes;
    if (rest > 0) where->insert({best->first + bytes, {rest, false}});
    best->second = {bytes, true};
    return best->first;
  }

  void release(char* address) {
    segment& blocks = std::prev(segments_.upper_bound(address))->second;
    blocks.at(address).live = false;
    for (auto b = blocks.begin(), next = std::next(b); next != blocks.end(); next = std::next(b)) {
      if (b->second.live || next->second.live) {
        b = next;
      } else {
        b->second.bytes += next->second.bytes;
        blocks.erase(next);
      }
    }
  }

  /// Releases unused segments.
  void empty_cache() {
    std::erase_if(segments_, [this](const auto& s) {
      const auto& [base, blocks] = s;
      const bool unused = blocks.size() == 1 && !blocks.begin()->second.live;
      if (unused) device_.release(base);
      return unused;
    });
  }

  [[nodiscard]] std::uint64_t cached_bytes() const {
    std::uint64_t sum = 0;
    for (const auto& [base, blocks] : segments_) {
      for (const auto& [address, b] : blocks) sum += b.live ? 0 : b.bytes;
    }
    return sum;
  }

 private:
  struct block {
    std::uint64_t bytes;
    bool live;
  };
  using segment = std::map<char*, block>;  // without gaps, by address
  device_memory& device_;
  std::map<char*, segment> segments_;
};

/// A program's pool on a full device: each segment has a big block, followed by a small one.
struct contents {
  explicit contents(caching_pool& pool) {
    constexpr std::uint64_t quarter = caching_pool::segment_bytes / 4;
    while (char* block = pool.allocate(3 * quarter)) {
      big.push_back(block);
      small.push_back(pool.allocate(quarter));
    }
  }
  std::vector<char*> big, small;
};

void release_all(caching_pool& pool, std::vector<char*>& blocks) {
  for (char* block : blocks) pool.release(block);
  blocks.clear();
}

// ---- requests afterwards ----

cublasStatus_t heuristic(cublasLtHandle_t lt) {
  return lt_problem().heuristic(lt, 32_MiB);
}

cudaError_t allocate_and_free(std::uint64_t bytes) {
  void* memory = nullptr;
  if (const cudaError_t e = cudaMalloc(&memory, bytes); e != cudaSuccess) return e;
  return cudaFree(memory);
}

cudaError_t allocate_from_and_free(caching_pool& pool) {
  char* memory = pool.allocate(large);
  if (memory == nullptr) return cudaErrorMemoryAllocation;  // as the device told the pool
  pool.release(memory);
  return cudaSuccess;
}

void work(cublasLtHandle_t lt, std::uint64_t bytes = large) {
  CUFAULT_OBSERVE_AS("cudaMalloc", "freed_at_once", allocate_and_free(bytes));
  CUFAULT_OBSERVE_AS("cublasLtMatmulAlgoGetHeuristic", "", heuristic(lt));
  create_and_multiply();
}

void work(cublasLtHandle_t lt, caching_pool& pool) {
  CUFAULT_OBSERVE_AS("cudaMalloc", "by_caching_pool", allocate_from_and_free(pool));
  CUFAULT_OBSERVE_AS("cublasLtMatmulAlgoGetHeuristic", "", heuristic(lt));
  create_and_multiply();
}

// ---- control ----

void control(trial& t) {
  const cublasLtHandle_t lt = lt_handle_in_context(t);
  device_memory& device = current_device_memory();
  const memory_pressure held(device, memory_to_fragment);
  { const many_blocks blocks(device, 256_KiB); }
  work(lt);
  caching_pool pool(device);
  CUFAULT_OBSERVE_AS("cudaMalloc", "by_caching_pool", allocate_from_and_free(pool));
}

// ---- faults ----

void fragment_4_gib(trial& t) {
  const cublasLtHandle_t lt = lt_handle_in_context(t);
  device_memory& device = current_device_memory();
  const memory_pressure held(device, memory_to_fragment);
  many_blocks blocks(device, static_cast<std::uint64_t>(t.level()) << 10);
  t.sample("filled");
  blocks.release_every_other();
  t.sample("every other block freed");
  work(lt);
}

void fragment_whole_device(trial& t) {
  const cublasLtHandle_t lt = lt_handle_in_context(t);
  device_memory& device = current_device_memory();
  many_blocks blocks(device, 64_MiB);
  blocks.release_every_other();
  const std::uint64_t free = device.free_bytes();
  t.sample("every other block freed");
  if (free < 2_GiB) throw not_provoked("needs 4 GiB of free device memory");
  work(lt, free - 1_GiB);
}

/// The pool holds all memory; with `in_use` each segment has a small used block.
void cached(trial& t, bool in_use) {
  const cublasLtHandle_t lt = lt_handle_in_context(t);
  device_memory& device = current_device_memory();
  const memory_pressure held(device, memory_to_fragment);
  caching_pool pool(device);
  contents of_pool(pool);
  release_all(pool, of_pool.big);
  if (!in_use) release_all(pool, of_pool.small);
  t.sample("cached");
  t.measure("free in the cache", static_cast<double>(pool.cached_bytes()), "bytes");
  work(lt, pool);
}

// ---- remedies ----

enum class when_emptied { unused, in_use, released_first };

void empty_the_cache(trial& t, const char* applied, when_emptied when) {
  const cublasLtHandle_t lt = lt_handle_in_context(t);
  device_memory& device = current_device_memory();
  const memory_pressure held(device, memory_to_fragment);
  caching_pool pool(device);
  contents of_pool(pool);
  release_all(pool, of_pool.big);
  if (when == when_emptied::unused) release_all(pool, of_pool.small);
  work(lt, pool);
  t.apply(applied);
  if (when == when_emptied::released_first) release_all(pool, of_pool.small);
  pool.empty_cache();
  t.sample("emptied");
  t.measure("free in the cache once emptied", static_cast<double>(pool.cached_bytes()), "bytes");
  work(lt, pool);
}

// ---- the case ----

void fragmentation(failure_case& c) {
  c.control("all blocks freed", control);

  c.fault("checkerboard", "every other one of equal blocks freed", fragment_4_gib, {"S2-3"}).levels =
      level_range{"KiB blocks", {256, 512, 1024, 2048, 65536}, 0};
  c.fault("checkerboard_device", "every other block of 64 MiB freed, on the whole device",
          fragment_whole_device, {"S2-3"});
  c.fault("cache_unused", "a cache full of free segments, each too small", [](trial& t) { cached(t, false); },
          {"S2-3"})
      .made_up = true;
  c.fault("cache_in_use", "a cache in which a small block of every segment is in use",
          [](trial& t) { cached(t, true); }, {"S2-3"})
      .made_up = true;

  const auto empty = [&](const std::string& name, const char* applied, when_emptied when,
                         std::vector<std::string> claims) {
    c.remedy(
         name, applied, [=](trial& t) { empty_the_cache(t, applied, when); }, std::move(claims))
        .made_up = true;
  };
  empty("empty_unused", "empty the case's own cache, which never empties by itself; nothing is in use",
        when_emptied::unused, {"S2-8"});
  empty("empty_in_use",
        "empty the case's own cache, which never empties by itself; every segment is in use somewhere",
        when_emptied::in_use, {"S2-8"});
  empty("free_and_empty", "free what is in use, then empty the cache", when_emptied::released_first,
        {"S0-14"});
  for (const char* squeezed : {"checkerboard", "cache_unused", "cache_in_use"}) add_counterpart(c, squeezed);
}

const register_case here(
    "memory.fragmentation",
    "device memory that is free, but in pieces, in the driver and in a caching allocator", {}, fragmentation);

}  // namespace
}  // namespace cufault
