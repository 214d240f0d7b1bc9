// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/benchmarks/remedy_cost/fresh_process.hpp"

#include "harness/benchmarks/remedy_cost/device_timer.hpp"
#include "harness/benchmarks/remedy_cost/products.hpp"
#include "harness/binding/cublas_binding.hpp"
#include "harness/matrix/remedy.hpp"
#include "harness/model/errors.hpp"
#include "harness/system/process.hpp"
#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"

#include <cuda_runtime.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <random>
#include <utility>

namespace cufault::remedy_cost {
namespace {

using clock_type = std::chrono::steady_clock;  // the same in all processes of a machine

double now_ms() {
  return std::chrono::duration<double, std::milli>(clock_type::now().time_since_epoch()).count();
}

struct fresh_work {
  const number_kind& kind;
  shape extents;
  [[nodiscard]] std::string name() const { return fmt::format("{}.{}", kind.name, extents.name()); }
};

std::vector<fresh_work> all_work(size how_large) {
  std::vector<fresh_work> all;
  for (const char* const name : {"fp32", "tf32", "fp16", "bf16"}) {
    const number_kind& kind = kind_called(name);
    if (how_large == size::tiny) {
      all.push_back({kind, {64, 64, 64}});
      continue;
    }
    for (const shape& s :
         {shape{4096, 1, 4096}, {64, 64, 65536}, {1024, 1024, 1024}, {4096, 4096, 4096}, {8192, 8192, 8192}})
      all.push_back({kind, s});
  }
  return all;
}

/// Milliseconds of a call by CUDA events, and on the host, which launches without waiting.
struct call_times {
  double device = 0, host = 0;
};
call_times time_of(const timed_product& p, cublasHandle_t handle, double slice_ms) {
  const device_timer timer;
  const auto run = [&](int calls) {
    const double start = now_ms();
    const double device = timer.milliseconds([&] {
      for (int i = 0; i < calls; ++i) p.by_gemm_ex(handle);
    });
    return call_times{device / calls, (now_ms() - start) / calls};
  };
  const double roughly = run(2).device;
  return run(std::clamp(static_cast<int>(slice_ms / std::max(roughly, 1e-4)), 1, 500));
}

std::int64_t used_device_memory() {
  std::size_t free = 0, total = 0;
  CUFAULT_REQUIRE(cudaMemGetInfo(&free, &total));
  return static_cast<std::int64_t>(total - free);
}

/// Figures of a process by name.
nlohmann::json figures_of_this_process(const target& where, size how_large, bool reset) {
  const bool tiny = how_large == size::tiny;
  nlohmann::json found;
  bind_cublas({where.cublas, where.cublaslt});
  CUFAULT_REQUIRE(cudaSetDevice(where.device));
  CUFAULT_REQUIRE(cudaFree(nullptr));
  found["context_at"] = now_ms();
  owned_cublas handle{new_handle()};
  found["handle_at"] = now_ms();
  const std::int64_t square = 256;  // small operands are made quickly
  auto first = std::make_unique<timed_product>(kind_called("fp32"), shape{square, square, square});
  const double before_first = now_ms();
  first->by_gemm_ex(handle.get());
  CUFAULT_REQUIRE(cudaDeviceSynchronize());
  found["first_at"] = now_ms();
  found["first_call"] = now_ms() - before_first;
  found["right"] = first->right();
  found["memory_after_first"] = used_device_memory();

  // With a used handle: reference for a new process, a reset or a new handle.
  constexpr int calls = 20;
  const double warm = now_ms();
  for (int i = 0; i < calls; ++i) {
    first->by_gemm_ex(handle.get());
    CUFAULT_REQUIRE(cudaDeviceSynchronize());
  }
  found["warm_call"] = (now_ms() - warm) / calls;

  for (const fresh_work& each : all_work(how_large)) {
    const timed_product p(each.kind, each.extents);
    const call_times taken = time_of(p, handle.get(), tiny ? 0.05 : 2);
    found["calls"][each.name()] = {{"device", taken.device}, {"host", taken.host}};
    p.poison();
    p.by_gemm_ex(handle.get());
    found["calls"][each.name()]["right"] = p.right();
  }
  found["memory_at_end"] = used_device_memory();

  if (!reset) return found;
  first.reset();
  handle.reset();
  const double before_reset = now_ms();
  CUFAULT_REQUIRE(cudaDeviceReset());
  CUFAULT_REQUIRE(cudaSetDevice(where.device));
  handle.reset(new_handle());
  const timed_product again(kind_called("fp32"), shape{square, square, square});
  again.by_gemm_ex(handle.get());
  CUFAULT_REQUIRE(cudaDeviceSynchronize());
  found["after_reset"] = now_ms() - before_reset;
  found["right_after_reset"] = again.right();
  return found;
}

// ---- the process that starts them ----

struct one_process {
  nlohmann::json figures;
  double milliseconds = 0;
  std::string failed;
};

one_process run_one(const fresh_processes& how, const setting& with) {
  one_process found;
  spawn_options options;
  options.argv = argv_of_child(std::filesystem::read_symlink("/proc/self/exe"), {"fresh-process"}, how.where);
  if (how.how_large == size::tiny) options.argv.emplace_back("--tiny");
  if (with.remedy.empty()) options.argv.emplace_back("--reset");
  options.environment = without_remedies();
  for (const auto& [variable, value] : with.environment) options.environment[variable] = value;
  options.timeout = std::chrono::seconds(30);
  std::string said;
  const double started_at = now_ms();
  const process_result ended = run_process(
      options, [&](std::string_view bytes) { said += bytes; }, how.stop);
  if (ended.how == ending::interrupted) throw interrupted{};
  found.milliseconds = ended.milliseconds;
  found.figures = nlohmann::json::parse(said, nullptr, false);
  if (ended.how != ending::exited || !found.figures.is_object())
    found.failed = how_it_ended(ended);
  else if (found.figures.contains("failed"))
    found.failed = found.figures["failed"].get<std::string>();
  else
    for (const char* const event : {"handle", "first"})
      found.figures[fmt::format("{}_after", event)] =
          found.figures.at(fmt::format("{}_at", event)).get<double>() - started_at;
  return found;
}

/// A figure of a process, to be compared between settings; where it stands in what the process found out.
struct figure {
  std::string name = {}, work = {}, clock = {}, milliseconds = {}, memory = {}, right = "/right", type = {};
  double operations = 0, bytes = 0;
};

std::vector<figure> all_figures(size how_large) {
  std::vector<figure> all{{"process.start", "from the start of a process to its context and a cuBLAS handle",
                           "host", "/handle_after"},
                          {"process.first_call", "the first product of a process, cublasGemmEx in FP32",
                           "host", "/first_call", "/memory_after_first"},
                          {"process.first_result", "from the start of a process to its first result", "host",
                           "/first_after", "/memory_after_first"},
                          {"process.warm_call", "a product in FP32, of which each is waited for", "host",
                           "/warm_call", "/memory_at_end"}};
  for (const fresh_work& each : all_work(how_large)) {
    const std::string place = "/calls/" + each.name();
    const auto& s = each.extents;
    figure f{
        "process." + each.name(),
        fmt::format("cublasGemmEx in {}, {}, in a process of its own", each.kind.words, each.extents.name()),
        "device",
        place + "/device",
        "/memory_at_end",
        place + "/right",
        each.kind.name,
        s.operations(),
        static_cast<double>(s.m * s.k + s.k * s.n + s.m * s.n) *
            static_cast<double>(element_bytes(each.kind.ab))};
    all.push_back(f);
    if (each.extents.n > 1 && each.extents.k > 4096) continue;
    f.name += ".host";
    f.work += ", issued one behind the other";
    f.clock = "host";
    f.milliseconds = place + "/host";
    f.operations = f.bytes = 0;
    f.type.clear();
    all.push_back(f);
  }
  return all;
}

using rounds_of = std::vector<one_process>;

/// Of each process, in their order.
template <class Value>
std::vector<Value> values_of(const rounds_of& all, const std::string& place) {
  std::vector<Value> found;
  for (const one_process& p : all) found.push_back(p.figures.at(nlohmann::json::json_pointer(place)));
  return found;
}

void fill(cost_side& into, const figure& f, const rounds_of& all) {
  into.milliseconds = values_of<double>(all, f.milliseconds);
  if (!f.memory.empty() && !all.empty()) {
    auto bytes = values_of<std::int64_t>(all, f.memory);
    std::sort(bytes.begin(), bytes.end());
    into.device_bytes = bytes[bytes.size() / 2];
  }
  const auto right = values_of<bool>(all, f.right);
  into.numbers = std::all_of(right.begin(), right.end(), [](bool each) { return each; }) ? "right" : "wrong";
}

cost_comparison compared(const figure& f, const std::vector<setting>& settings,
                         const std::vector<rounds_of>& seen, const std::vector<std::string>& failed) {
  cost_comparison c;
  c.name = f.name;
  c.work = f.work;
  c.clock = f.clock;
  c.type = f.type;
  c.operations = f.operations;
  c.bytes = f.bytes;
  c.without.words = settings[0].words;
  fill(c.without, f, seen[0]);
  c.again = values_of<double>(seen[1], f.milliseconds);
  for (std::size_t i = 2; i < settings.size(); ++i) {
    cost_side s{.remedy = settings[i].remedy, .words = settings[i].words};
    s.failed = failed[i];
    if (s.failed.empty()) fill(s, f, seen[i]);
    c.with.push_back(std::move(s));
  }
  return c;
}

/// The cost of restarting, compared with a product by a used handle.
cost_comparison cost_of_restart(const rounds_of& without, const rounds_of& again) {
  cost_comparison c;
  c.name = "process.start_over";
  c.work = "a product in FP32 where the process can go on: by a handle that has done it before, waited for";
  c.clock = "host";
  c.without.words = "the same handle";
  const figure warm{.milliseconds = "/warm_call"};
  fill(c.without, warm, without);
  c.again = values_of<double>(again, warm.milliseconds);
  c.with = {
      {.remedy = "new_process", .words = "a new process, from its start to its first result"},
      {.remedy = "device_reset", .words = "cudaDeviceReset(), a new handle, new operands, and the product"}};
  fill(c.with[0], {.milliseconds = "/first_after"}, without);
  fill(c.with[1], {.milliseconds = "/after_reset", .right = "/right_after_reset"}, without);
  return c;
}

}  // namespace

std::vector<setting> all_settings() {
  std::vector<setting> all{{"", "no variable is set", {}}, {"", "no variable is set", {}}};
  for (const char* const name : {"workspace_0_0", "workspace_16_8", "workspace_4096_8", "blocking_launches",
                                 "eager_loading", "workspace_4096_2_16_8", "workspace_8_1", "lazy_loading"})
    for (const remedy_type& each : all_remedies())
      if (each.name == name) all.push_back({each.name, each.words, each.environment});
  return all;
}

std::map<std::string, std::string> without_remedies() {
  std::map<std::string, std::string> unset;
  for (const setting& each : all_settings())
    for (const auto& [variable, value] : each.environment) unset[variable] = "";
  return unset;
}

std::string how_it_ended(const process_result& ended) {
  if (ended.how == ending::signalled) return signal_name(ended.signal);
  if (ended.how == ending::timed_out) return "it did not end in time";
  return fmt::format("exit code {}: {}", ended.exit_code, one_line(ended.stderr_text));
}

int serve_fresh_process(const target& where, size how_large, bool reset) {
  nlohmann::json found;
  try {
    found = figures_of_this_process(where, how_large, reset);
  } catch (const std::exception& e) {
    found = {{"failed", e.what()}};
  }
  return write_all(report_fd, found.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)) ? 0 : 2;
}

std::vector<std::string> measure_fresh_processes(const fresh_processes& how,
                                                 const std::function<void(cost_comparison)>& told) {
  const std::vector<setting> settings = all_settings();
  const std::size_t least_pairs = how.how_large == size::tiny ? 1 : 3,
                    most_pairs = how.how_large == size::tiny ? 1 : 5;
  const auto begun = clock_type::now();
  const auto spent = [&] { return clock_type::now() - begun; };
  std::vector<rounds_of> seen(settings.size());
  std::vector<std::string> failed(settings.size()), left_out;
  std::vector<double> cost(settings.size());  // milliseconds of a process
  std::mt19937_64 random(how.seed);

  // The first process is slower, because it reads the libraries' files.
  static_cast<void>(run_one(how, settings[0]));
  for (std::size_t pair = 0; pair < most_pairs; ++pair) {
    if (pair >= least_pairs && spent() + spent() / pair > how.at_most) break;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < settings.size(); ++i)
      if (failed[i].empty()) order.push_back(i);
    std::shuffle(order.begin(), order.end(), random);
    const std::vector<std::size_t> back(order.rbegin(), order.rend());
    order.insert(order.end(), back.begin(), back.end());
    for (const std::size_t i : order) {
      if (!failed[i].empty()) continue;
      one_process one = run_one(how, settings[i]);
      cost[i] = std::max(cost[i], one.milliseconds);
      if (!one.failed.empty()) {
        failed[i] = one.failed;
        if (i < 2) {
          cost_comparison nothing{.name = "process", .work = "work in processes of their own"};
          nothing.failed = one.failed;
          told(std::move(nothing));
          return left_out;
        }
        continue;
      }
      seen[i].push_back(std::move(one));
    }
    if (pair > 0) continue;
    // Drops the last settings while the rest would take too long.
    for (std::size_t i = settings.size(); i-- > 2;) {
      double rest = 0;
      for (std::size_t j = 0; j < settings.size(); ++j)
        if (failed[j].empty()) rest += cost[j] * 2 * static_cast<double>(least_pairs - 1);
      if (spent() + std::chrono::duration<double, std::milli>(rest) <= how.at_most) break;
      if (!failed[i].empty()) continue;
      failed[i] = "left out: the time of --seconds was too short; measure it with more, by --only process";
      left_out.push_back(settings[i].remedy);
    }
  }
  for (const figure& f : all_figures(how.how_large)) try {
      told(compared(f, settings, seen, failed));
    } catch (const nlohmann::json::exception& e) {
      cost_comparison nothing{.name = f.name, .work = f.work};
      nothing.failed = e.what();
      told(std::move(nothing));
    }
  told(cost_of_restart(seen[0], seen[1]));
  return left_out;
}

}  // namespace cufault::remedy_cost
