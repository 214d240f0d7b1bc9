// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/kit/argument_table.hpp"

#include "harness/kit/printed_text.hpp"
#include "harness/kit/products.hpp"
#include "harness/system/shared_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <numeric>
#include <system_error>

namespace cufault::argument_table {
namespace {

/// 8 for "** On entry to SGEMM  parameter number 8 had an illegal value"; nullopt without such a line.
std::optional<std::int64_t> blamed(std::string_view said) {
  constexpr std::string_view before = "parameter number ";
  const auto at = said.find(before);
  if (at == std::string_view::npos) return std::nullopt;
  const auto digits = said.substr(at + before.size());
  std::int64_t number = 0;
  const auto [end, bad] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return bad == std::errc{} ? std::optional(number) : std::nullopt;
}

/// State of a process that runs rows: context, handle, buffers, rows.
struct table {
  cublasHandle_t handle = nullptr;
  std::unique_ptr<buffers> memory;
  std::unique_ptr<kept_output> output;  // for the line in which cuBLAS blames a parameter
  /// Number of errors that cuBLASLt logged since the last row. The listener owns it too.
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
  CUFAULT_REQUIRE(product(made->handle));  // loads before any row what the first product loads
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

/// If matrices of C overlap, results are lost.
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

/// Observes only the valid calls, which must succeed, and a product with checked numbers by the same handle.
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

/// Rows with wrong addresses come last: they may damage the context, and one-time work of a library is repeated in each new process. Most
/// other rows share a process.
std::vector<std::size_t> order_to_run(std::span<const row> rows) {
  constexpr std::array addresses{role::scalar,        role::input,      role::output,
                                 role::pointer_array, role::host_array, role::host_output};
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_partition(order.begin(), order.end(), [&](std::size_t i) {
    return std::ranges::find(addresses, rows[i].what) == addresses.end();
  });
  return order;
}

}  // namespace

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
  return seen;
}

/// Each row that damages its context needs a new one. With one connection, creating a context takes half the time, and a third with four at
/// once (reports/recorded/2026-11-24-h100-h200.txt). Streams are spread over connections, and rows use one stream at a time.
static void with_one_connection(arm& of_table) {
  of_table.environment["CUDA_DEVICE_MAX_CONNECTIONS"] = "1";
}

arm& table_case::add_part(const std::string& name, const std::string& summary,
                          const std::vector<row_maker>& makers, depth how_deep) {
  arm& added = add(
      name, arm_kind::fault, summary, [=](trial& t) { run(t, makers, how_deep); }, claims_);
  added.timeout = std::chrono::seconds(300);
  with_one_connection(added);
  return added;
}

arm& table_case::on_the_host(const std::string& name, const std::string& summary,
                             const std::vector<row_maker>& makers) {
  all_->insert(all_->end(), makers.begin(), makers.end());
  return add_part(name, summary, makers, depth::checked_on_the_host);
}

arm& table_case::everything(const std::string& name, const std::string& summary,
                            const std::vector<row_maker>& makers) {
  all_->insert(all_->end(), makers.begin(), makers.end());
  return add_part(name, summary, makers, depth::everything);
}

arm& table_case::add_newer(const std::string& name, const std::string& summary, const row_maker& maker,
                           depth how_deep) {
  return add_part(name, summary, {maker}, how_deep);
}

table_case::table_case(std::string name, std::string summary, std::vector<std::string> claims_of_each)
    : failure_case{.name = std::move(name), .summary = std::move(summary)},
      claims_(std::move(claims_of_each)) {
  with_one_connection(
      add("control", arm_kind::control, "the valid calls", [all = all_](trial& t) { run_valid(t, *all); }));
}

}  // namespace cufault::argument_table
