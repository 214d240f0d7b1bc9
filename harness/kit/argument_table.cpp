// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/kit/argument_table.hpp"

#include "harness/kit/printed_text.hpp"
#include "harness/kit/products.hpp"
#include "harness/system/shared_memory.hpp"

#include <cublasLt.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <system_error>

namespace cufault::argument_table {
namespace {

constexpr int operands = 3;
constexpr std::size_t all_bytes = operands * buffers::bytes_each;
constexpr std::size_t guard = buffers::bytes_each / 4;  // a quarter before, a quarter behind
// In the last guard: a scalar, then the arrays of pointers; the right ones stand last, that of C at the very end. Null pointers follow, in
// memory that is not checked for writes. A kernel whose batch is too large reads on behind its array: it then finds null pointers, and
// not whatever lay there.
constexpr std::size_t scalar_at = all_bytes - 1024, scalar_bytes = 256;
constexpr std::size_t nulls_behind = std::size_t{1} << 20;
constexpr std::size_t array_bytes = buffers::batch * sizeof(std::uintptr_t);
constexpr int pointings = static_cast<int>(pointing::off_by_8) + 1;
static_assert(pointings * operands * array_bytes <= all_bytes - scalar_at - scalar_bytes);

/// Pointers to the matrices of an operand that begins at `first`.
void put_pointers(std::byte* array, std::uintptr_t first) {
  for (std::size_t i = 0; i < buffers::batch; ++i) {
    const std::uintptr_t pointer = first == 0 ? 0 : first + i * buffers::matrix_bytes;
    std::memcpy(array + i * sizeof pointer, &pointer, sizeof pointer);
  }
}

std::size_t array_at(int operand, pointing where) {
  const int from_the_end = static_cast<int>(where) * operands + operands - operand;
  return all_bytes - static_cast<std::size_t>(from_the_end) * array_bytes;
}

/// 8 out of "** On entry to SGEMM  parameter number 8 had an illegal value"; none without such a line.
std::optional<std::int64_t> blamed(std::string_view said) {
  constexpr std::string_view before = "parameter number ";
  const auto at = said.find(before);
  if (at == std::string_view::npos) return std::nullopt;
  const auto digits = said.substr(at + before.size());
  std::int64_t number = 0;
  const auto [end, bad] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return bad == std::errc{} ? std::optional(number) : std::nullopt;
}

/// What a process that runs rows has: a context, a handle, the buffers, the rows.
struct table {
  cublasHandle_t handle = nullptr;
  std::unique_ptr<buffers> memory;
  std::unique_ptr<kept_output> output;  // for the line in which cuBLAS blames a parameter
  /// Errors that cuBLASLt logged since the last row. Whoever hears them keeps it, too.
  std::shared_ptr<std::atomic<int>> logged = std::make_shared<std::atomic<int>>(0);
  std::vector<row> rows;
};

std::vector<row> made_by(const std::vector<row_maker>& makers, cublasHandle_t handle, const buffers& memory,
                         depth how_deep) {
  std::vector<row> rows;
  for (const row_maker& make : makers)
    for (row& r : make(handle, memory, how_deep)) rows.push_back(std::move(r));
  return rows;
}

std::shared_ptr<table> ready(trial& t, const std::vector<row_maker>& makers, depth how_deep) {
  auto made = std::make_shared<table>();
  t.open_context();
  CUFAULT_REQUIRE(cublasCreate(&made->handle));
  CUFAULT_REQUIRE(product(made->handle));  // what is loaded at the first product is loaded before any row
  made->memory = std::make_unique<buffers>();
  made->rows = made_by(makers, made->handle, *made->memory, how_deep);
  made->output = std::make_unique<kept_output>(STDOUT_FILENO);
  t.on_library_log([count = made->logged](int level, std::string_view) {
    constexpr int error = 1;
    if (level == error) ++*count;
  });
  return made;
}

bool has_elements(const argument_check::product& p) {
  return p.m > 0 && p.n > 0 && p.batch > 0;
}

/// Where matrices of C share elements, all but one of their results are lost.
bool loses_results(const argument_check::product& p) {
  const std::int64_t ld = p.c.leading_dimension;
  return has_elements(p) && p.batch > 1 && ld >= p.m &&
         argument_check::detail::overlap(p.m, p.n, ld, p.c.stride, p.batch);
}

status_record observed(table& on, const row& r, row_end& end) {
  on.memory->restore();
  static_cast<void>(on.output->take());
  *on.logged = 0;
  end = {.predicted = forecast_of(r.described)};
  if (r.described) {
    end.due = has_elements(*r.described);
    end.lost = loses_results(*r.described);
  }
  const answer said = r.call();
  const cudaError_t waited = cudaDeviceSynchronize();
  end.returned = true;
  end.status = static_cast<int>(said.status);
  end.waited = static_cast<int>(waited);
  status_record seen = record_of(said.status);
  seen.facts = said.facts;
  if (const auto parameter = blamed(on.output->take())) seen.facts["blamed"] = *parameter;
  if (*on.logged > 0) seen.facts["logged"] = true;
  if (waited == cudaSuccess) {
    end.written = on.memory->written();
    seen.facts["written"] = names_of_written(end.written);
  } else {
    seen.facts["then"] = record_of(waited).text();
  }
  return seen;
}

bool undamaged(const row_end& end) {
  return end.returned && end.waited == cudaSuccess;
}

/// Whether a product that is described did its work and nothing else.
bool as_it_should(const row_end& end) {
  const bool only_c = end.written == (end.due ? written_where::c : 0);
  return undamaged(end) && end.status == CUBLAS_STATUS_SUCCESS && only_c && !end.lost;
}

/// "CUBLAS_STATUS_SUCCESS, then cudaErrorIllegalAddress"
std::string came_to(const row_seen& seen) {
  if (!seen.end.returned || undamaged(seen.end)) return seen.status;
  return fmt::format("{}, then {}", seen.status, record_of(static_cast<cudaError_t>(seen.end.waited)).text());
}

std::string_view word_for(role what) {
  switch (what) {
    case role::handle:
      return "handle or descriptor";
    case role::enumeration:
      return "enumeration";
    case role::algorithm:
      return "algorithm";
    case role::size:
      return "size";
    case role::count:
      return "count";
    case role::leading_dimension:
      return "leading dimension";
    case role::stride:
    case role::output_stride:
      return "stride";
    case role::increment:
    case role::spacing:
    case role::any_increment:
      return "increment";
    case role::element_size:
      return "element size";
    case role::bytes:
      return "number of bytes";
    case role::scalar:
      return "pointer to a scalar";
    case role::input:
      return "input";
    case role::output:
      return "output";
    case role::pointer_array:
      return "array of pointers";
    case role::host_array:
      return "array in host memory";
    case role::host_output:
      return "place for a result";
    case role::kept:
      return "argument of another kind";
  }
  return "argument";
}

std::string_view word_for(prediction f) {
  constexpr std::string_view words[]{"not asked", "nothing", "caution", "silent", "unsupported", "refused"};
  return words[static_cast<int>(f)];
}

/// What the rows came to in numbers: how fast, and how many of them argument_check predicted, with those that it did not by name.
void measure(trial& t, std::span<const row_seen> rows) {
  double healthy = 0, milliseconds = 0;
  std::vector<double> each_took;
  double asked = 0, rightly = 0, wrongly = 0;
  for (const row_seen& each : rows) {
    if (undamaged(each.end)) {
      ++healthy;
      milliseconds += each.end.milliseconds;
      each_took.push_back(each.end.milliseconds);
    }
    if (each.end.predicted == prediction::not_asked) continue;
    ++asked;
    const auto right = predicted_correctly(each.end);
    if (!right) continue;
    ++(*right ? rightly : wrongly);
    if (!*right)
      t.measure(fmt::format("foretold wrongly as {}: {}", word_for(each.end.predicted), each.what.text()), 1);
  }
  t.measure("rows", static_cast<double>(rows.size()));
  t.measure("rows that damaged nothing", healthy);
  if (milliseconds > 0) {
    t.measure("rows a second, of those that damaged nothing", 1000 * healthy / milliseconds);
    const auto middle = each_took.begin() + static_cast<std::ptrdiff_t>(each_took.size() / 2);
    std::nth_element(each_took.begin(), middle, each_took.end());
    t.measure("median milliseconds of those", *middle);
  }
  if (asked == 0) return;
  t.measure("rows described to argument_check", asked);
  t.measure("rows foretold rightly", rightly);
  t.measure("rows foretold wrongly", wrongly);
}

bool of_shapes_or_types(role what) {
  return what == role::size || what == role::count || what == role::leading_dimension ||
         what == role::stride || what == role::output_stride || what == role::enumeration;
}

/// Observes only the valid calls, which must succeed, and a product of checked numbers by the handle that they were made with.
void run_valid(trial& t, const std::vector<row_maker>& makers) {
  const auto on = ready(t, makers, depth::checked_on_the_host);
  std::set<std::string> seen;  // two parts may start from the same call
  for (const row& r : on->rows) {
    if (!r.argument.empty() || !seen.insert(r.text()).second) continue;
    row_end end;
    observe_call(named_by_words(r.text()), [&] { return observed(*on, r, end); });
  }
  CUFAULT_OBSERVE_AS("cublasSgemm", "after_all", product(on->handle));
}

std::uintptr_t address(const std::byte* p) {
  return reinterpret_cast<std::uintptr_t>(p);
}

}  // namespace

std::vector<change<int>> changes_of_enumeration(const argument& about) {
  std::vector<change<int>> made;
  const auto add = [&](std::string words, int value, bool wrong) {
    made.push_back({std::move(words), value, wrong});
  };
  if (about.what == role::enumeration) {
    add("of 99", 99, true);
    add("of -1", -1, true);
  }
  if (about.what == role::algorithm) {
    add("of 77", 77, false);
    add("of -2", -2, false);
  }
  return made;
}

std::vector<change<std::int64_t>> changes_of_integer(const argument& about, std::size_t bits,
                                                     depth how_deep) {
  const role what = about.what;
  const std::int64_t least = about.least;
  const bool strided = what == role::stride || what == role::output_stride;
  std::vector<change<std::int64_t>> made;
  const auto add = [&](std::string words, std::int64_t value, bool wrong) {
    made.push_back({std::move(words), value, wrong});
  };
  switch (what) {
    case role::size:
    case role::count:
      add("of -1", -1, true);
      add("of 0", 0, what == role::count);
      break;
    case role::leading_dimension:
      add("one too small", least - 1, true);
      add("of 0", 0, true);
      add("of -1", -1, true);
      break;
    case role::stride:
    case role::output_stride:
      for (const int by : {0, 1, -1}) add(fmt::format("of {}", by), by, what == role::output_stride);
      break;
    case role::increment:
    case role::spacing:
    case role::any_increment:
      add("of 0", 0, what != role::any_increment);
      add("of -1", -1, what == role::spacing);
      break;
    case role::element_size:
      add("of -1", -1, true);
      add("of 0", 0, true);
      add("of 3", 3, false);
      break;
    case role::bytes:
      add("of 0", 0, true);
      add("one too small", least - 1, true);
      add("one too large", least + 1, true);
      break;
    default:
      break;
  }
  if (how_deep == depth::everything) {
    // One more than an int holds, where there is room. The operands are too small for it.
    const std::int64_t huge = bits > 32 ? std::int64_t{1} << 31 : 0x7fffffff;
    if (what == role::size || strided) add("huge", huge, true);
    if (what == role::count) add("huge", huge, false);
  }
  return made;
}

std::vector<change<std::uintptr_t>> changes_of_pointer(const argument& about, std::uintptr_t valid,
                                                       const buffers& b, depth how_deep,
                                                       const std::vector<argument>& all) {
  const role what = about.what;
  const bool operand = what == role::input || what == role::output, array = what == role::pointer_array;
  const bool deep = how_deep == depth::everything;
  std::vector<change<std::uintptr_t>> made;
  const auto add = [&](std::string words, std::uintptr_t value, bool wrong) {
    made.push_back({std::move(words), value, wrong});
  };
  const auto off_by = [&](const char* words, std::uintptr_t from) {
    for (const unsigned by : {1U, 2U, 4U, 8U}) add(fmt::format(fmt::runtime(words), by), from + by, false);
  };
  const auto pointers = [&](pointing where) { return address(b.pointers(about.operand, where)); };
  // An array of pointers is read by a kernel: nothing of it is checked on the host for sure.
  if (what != role::kept && (!array || deep)) add("null", 0, true);
  if (what == role::scalar) {
    off_by("zero at {} mod 16", address(b.host()));
    if (deep) add("in device memory", address(b.device_scalar()), true);
  }
  if ((operand || array) && deep) {
    off_by("off by {}", valid);
    add("in host memory", array ? address(b.host_pointers(about.operand)) : address(b.host()) + 256, true);
    add("freed", address(b.freed()), true);
    std::set<int> others;
    for (const argument& each : all)
      if (about.operand != argument::none && each.operand != argument::none && each.operand != about.operand)
        others.insert(each.operand);
    for (const int other : others)
      add(fmt::format("that of {}", "ABC"[other]), address(array ? b.pointers(other) : b.device(other)),
          false);
  }
  if (array && deep) {
    add("the matrix itself", address(b.device(about.operand)), true);
    add("of null", pointers(pointing::at_null), true);
    add("of host addresses", pointers(pointing::at_host_memory), true);
    add("of addresses off by 1", pointers(pointing::off_by_1), false);
    add("of addresses off by 2", pointers(pointing::off_by_2), false);
    add("of addresses off by 4", pointers(pointing::off_by_4), false);
    add("of addresses off by 8", pointers(pointing::off_by_8), false);
  }
  if (what == role::host_array && deep) add("in device memory", address(b.device(1)), true);
  return made;
}

buffers::buffers() : buffers(without_memory{}) {
  image_.resize(all_bytes);
  now_.resize(all_bytes);
  void* memory = nullptr;
  CUFAULT_REQUIRE(cudaMalloc(&memory, all_bytes + nulls_behind));
  device_ = static_cast<std::byte*>(memory);
  CUFAULT_REQUIRE(cudaMalloc(&memory, all_bytes));
  freed_ = static_cast<std::byte*>(memory);
  CUFAULT_REQUIRE(cudaFree(memory));
  // Small numbers in every type, and never zero.
  for (std::size_t i = 0; i < image_.size(); ++i) image_[i] = static_cast<std::byte>(0x30 + i % 7);
  for (int operand = 0; operand < operands; ++operand) {
    const auto first = reinterpret_cast<std::uintptr_t>(device(operand));
    const auto put = [&](pointing where, std::uintptr_t at) {
      put_pointers(&image_[array_at(operand, where)], at);
    };
    put(pointing::at_matrices, first);
    put(pointing::at_null, 0);
    put(pointing::at_host_memory, reinterpret_cast<std::uintptr_t>(host()));
    for (const auto& [where, by] : {std::pair{pointing::off_by_1, 1U}, std::pair{pointing::off_by_2, 2U},
                                    std::pair{pointing::off_by_4, 4U}, std::pair{pointing::off_by_8, 8U}})
      put(where, first + by);
    put_pointers(host_pointers(operand), first);
  }
}

buffers::buffers(without_memory /*unused*/)
    : host_(new std::byte[bytes_each]()), host_pointers_(new std::byte[operands * array_bytes]()) {}

buffers::~buffers() {
  if (device_ != nullptr) cudaFree(device_);
}

std::byte* buffers::device(int operand) const {
  if (device_ == nullptr) return nullptr;
  return device_ + static_cast<std::size_t>(operand) * bytes_each + guard;
}

std::byte* buffers::device_scalar() const {
  if (device_ == nullptr) return nullptr;
  return device_ + scalar_at;  // any bytes do for a scalar
}

std::byte* buffers::pointers(int operand, pointing where) const {
  return device_ == nullptr ? nullptr : device_ + array_at(operand, where);
}

std::byte* buffers::host_pointers(int operand) const {
  return &host_pointers_[static_cast<std::size_t>(operand) * array_bytes];
}

void buffers::restore() {
  if (!dirty_) return;
  CUFAULT_REQUIRE(cudaMemcpy(device_, image_.data(), all_bytes, cudaMemcpyHostToDevice));
  CUFAULT_REQUIRE(cudaMemset(device_ + all_bytes, 0, nulls_behind));
  std::fill_n(host(), bytes_each, std::byte{});
  dirty_ = false;
}

unsigned buffers::written() {
  CUFAULT_REQUIRE(cudaMemcpy(now_.data(), device_, all_bytes, cudaMemcpyDeviceToHost));
  const bool host_too =
      std::any_of(host(), host() + bytes_each, [](std::byte b) { return b != std::byte{}; });
  if (now_ == image_ && !host_too) return 0;
  dirty_ = true;
  unsigned where = host_too ? written_where::host : 0;
  for (int operand = 0; operand < operands; ++operand) {
    const std::size_t first = static_cast<std::size_t>(operand) * bytes_each;
    const auto differs = [&](std::size_t from, std::size_t to) {
      return std::memcmp(now_.data() + from, image_.data() + from, to - from) != 0;
    };
    if (differs(first + guard, first + bytes_each - guard)) where |= written_where::a << operand;
    if (differs(first, first + guard) || differs(first + bytes_each - guard, first + bytes_each))
      where |= written_where::outside;
  }
  return where;
}

std::vector<std::string> names_of_written(unsigned where) {
  std::vector<std::string> names;
  for (const auto& [bit, name] :
       {std::pair{written_where::a, "A"}, std::pair{written_where::b, "B"}, std::pair{written_where::c, "C"},
        std::pair{written_where::host, "host"}, std::pair{written_where::outside, "outside"}})
    if ((where & bit) != 0) names.emplace_back(name);
  return names;
}

prediction forecast_of(const std::optional<argument_check::product>& described) {
  if (!described) return prediction::not_asked;
  auto gravest = prediction::nothing;
  for (const argument_check::problem& each : argument_check::check(*described)) {
    const auto as = [&] {
      switch (each.what) {
        case argument_check::severity::refused:
          return prediction::refused;
        case argument_check::severity::unsupported:
          return prediction::unsupported;
        case argument_check::severity::silent:
          return prediction::silent;
        case argument_check::severity::caution:
          return prediction::caution;
      }
      return prediction::nothing;
    }();
    gravest = std::max(gravest, as);
  }
  return gravest;
}

std::optional<bool> predicted_correctly(const row_end& end) {
  const auto refused_with = [&](cublasStatus_t status) {
    return undamaged(end) && end.status == static_cast<int>(status);
  };
  switch (end.predicted) {
    case prediction::not_asked:
    case prediction::caution:
      return std::nullopt;
    case prediction::nothing:
      return as_it_should(end);
    case prediction::refused:
      return refused_with(CUBLAS_STATUS_INVALID_VALUE);
    case prediction::unsupported:
      return refused_with(CUBLAS_STATUS_NOT_SUPPORTED);
    case prediction::silent:
      return !undamaged(end) || (end.status == CUBLAS_STATUS_SUCCESS && !as_it_should(end));
  }
  return std::nullopt;
}

std::map<std::string, int> outcomes_by_kind(std::span<const row_seen> rows) {
  std::map<std::string, int> calls;
  for (const row_seen& each : rows)
    if (each.what.wrong) ++calls[fmt::format("{}: {}", word_for(each.what.what), came_to(each))];
  return calls;
}

std::map<std::string, found_count> found_beforehand(std::span<const row_seen> rows) {
  std::map<std::string, found_count> calls;
  for (const row_seen& each : rows) {
    if (each.end.predicted == prediction::not_asked || !of_shapes_or_types(each.what.what)) continue;
    found_count& of = calls[as_it_should(each.end) ? std::string{} : std::string{word_for(each.what.what)}];
    ++of.all;
    if (each.end.predicted > prediction::caution) ++of.found;
  }
  return calls;
}

/// What rules of claims count.
static void measure_by_kind(trial& t, std::span<const row_seen> rows) {
  for (const auto& [kind, calls] : outcomes_by_kind(rows)) t.measure("wrong " + kind, calls, "calls");
  for (const auto& [kind, calls] : found_beforehand(rows)) {
    const std::string went = kind.empty() ? "went right" : "went wrong", of = kind.empty() ? "" : ": " + kind;
    t.measure(went + of, calls.all, "calls");
    t.measure(went + " and was found beforehand" + of, calls.found, "calls");
  }
}

/// Addresses that are wrong come last: they may damage the context, and whatever a library does for the first time in a process it does
/// again in the next. Most others can share one.
static std::vector<std::size_t> order_to_run(std::span<const row> rows) {
  const auto may_damage = [&](std::size_t i) {
    switch (rows[i].what) {
      case role::scalar:
      case role::input:
      case role::output:
      case role::pointer_array:
      case role::host_array:
      case role::host_output:
        return true;
      default:
        return false;
    }
  };
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_partition(order.begin(), order.end(), [&](std::size_t i) { return !may_damage(i); });
  return order;
}

std::vector<row_seen> run(trial& t, const std::vector<row_maker>& makers, depth how_deep) {
  const buffers none{buffers::without_memory{}};
  std::vector<row> rows = made_by(makers, nullptr, none, how_deep);
  const std::vector<std::size_t> order = order_to_run(rows);
  const shared_array<row_end> ends(rows.size());  // shared with the processes that run rows
  using clock = std::chrono::steady_clock;
  const auto start = clock::now();
  const auto statuses = t.for_each_row(rows.size(), [&]() -> trial::row_function {
    return [&, on = ready(t, makers, how_deep)](std::size_t turn) {
      const row& r = on->rows.at(order.at(turn));
      row_end& end = ends[order.at(turn)];
      const auto began = clock::now();
      observe_call(named_by_words(r.text()), [&] { return observed(*on, r, end); });
      end.milliseconds = std::chrono::duration<double, std::milli>(clock::now() - began).count();
    };
  });
  const std::chrono::duration<double> taken = clock::now() - start;
  t.measure("rows a second, processes included", static_cast<double>(rows.size()) / taken.count());
  std::vector<row_seen> seen;
  for (std::size_t turn = 0; turn < rows.size(); ++turn) {
    const std::size_t i = order[turn];
    if (statuses[turn].empty()) return {};
    seen.push_back({std::move(rows[i]), ends[i], statuses[turn]});
  }
  measure(t, seen);
  measure_by_kind(t, seen);
  return seen;
}

/// Each row that damages its context takes a new one. With one connection creating a context takes half of the time, and a third with four
/// at once (reports/recorded/2026-11-24-h100-h200.txt). Streams are spread over connections, and rows use one stream at a time.
static void with_one_connection(arm& of_table) {
  of_table.environment["CUDA_DEVICE_MAX_CONNECTIONS"] = "1";
}

arm& add_part(failure_case& c, const part& p) {
  arm& added = c.add(
      p.name, arm_kind::fault, p.summary, [p](trial& t) { run(t, p.makers, p.how_deep); }, p.claims);
  added.timeout = std::chrono::seconds(300);
  with_one_connection(added);
  return added;
}

failure_case table_case(std::string name, std::string summary, const std::vector<part>& parts) {
  failure_case c;
  c.name = std::move(name);
  c.summary = std::move(summary);
  std::vector<row_maker> all;
  for (const part& p : parts) all.insert(all.end(), p.makers.begin(), p.makers.end());
  with_one_connection(
      c.add("control", arm_kind::control, "the valid calls", [all](trial& t) { run_valid(t, all); }));
  for (const part& p : parts) add_part(c, p);
  return c;
}

}  // namespace cufault::argument_table
