// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   A program linked to libcublas, at its start or when cuBLAS first uses cuBLASLt; by reports also its products, without an
//              error of the loader.
// Why          libcublas.so.N asks for libcublasLt.so.N by name. The loader gives it the one already loaded, or the first one found.
//              LD_LIBRARY_PATH comes before a RUNPATH, by which cuBLAS 13.1.0 finds its own, and after an RPATH, which 13.10.0 has.
// Documented   Reported: "undefined symbol: cublasLt..., version libcublasLt.so.N", or INVALID_VALUE from a product: pytorch#91067,
//              pytorch#170676, vllm#35608, onnxruntime#8594. Source documents: version disagreement makes cublasCreate return
//              INTERNAL_ERROR (S0-1), and any difference breaks CUDA libraries (S1-1).
// Measured     cuBLAS 13.10 with the cuBLASLt of 13.1: cublasCreate works and the loader ends the process in the first product; with all
//              symbols resolved at once, loading is refused. cuBLAS 13.1 with the cuBLASLt of 13.10: nothing fails. A program with 13.10.0
//              takes no foreign cuBLASLt from LD_LIBRARY_PATH.
// What helps   Recommended: no foreign folder in LD_LIBRARY_PATH; loading the right libcublasLt first, by LD_PRELOAD or dlopen; an older
//              pair, whole (S0-3; a newer one, whole, is not measured yet). RUNPATH and RPATH on the executable are measured as dead ends.
//              RPATH on an executable that asks for cuBLASLt itself is measured as a remedy. Said not to help, and not measured yet:
//              reinstalling the framework.
// Arms without a second pair use a stand-in cuBLASLt (cases/environment/fixtures/plain_program), which lacks nearly every function and
// needs no GPU. Others use that of a second pair (CUFAULT_OTHER_CUBLAS). The programs are linked as usual, to the cuBLAS of this build. No
// arm has an injected counterpart: the loader fails.
#include "cases/environment/other_driver.hpp"
#include "harness/kit/lt_problem.hpp"
#include "harness/kit/products.hpp"
#include "harness/system/bundled_file.hpp"
#include "harness/system/process.hpp"
#include "harness/trial/observe.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <regex>
#include <string>
#include <vector>

namespace cufault {
namespace {

namespace fs = std::filesystem;

// ---- the pairs ----

struct pair_of_libraries {
  cublas_paths files;
  int version = 0;  ///< 130100; that of cuBLASLt, which is what answers
  [[nodiscard]] int major() const { return version / 10000; }
};

/// "13.10.0" for 131000.
std::string cublas_version(int number) {
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

/// The libcublas of one pair with the libcublasLt of another.
cublas_paths mixture_of(const pair_of_libraries& cublas, const pair_of_libraries& cublaslt) {
  return {cublas.files.cublas, cublaslt.files.cublaslt};
}

struct pairs {
  pair_of_libraries ours, other;  ///< other: only in arms that say other_cublas
  std::string versions;           ///< queried_versions() with a matching pair
};

/// Versions of the toolkit of this build, its runtime and the driver: stand for `nvcc --version`, the framework and the driver. None of
/// them knows of a cuBLAS.
std::string queried_versions() {
  int runtime = 0, driver = 0;
  CUFAULT_REQUIRE(cudaRuntimeGetVersion(&runtime));
  CUFAULT_REQUIRE(cudaDriverGetVersion(&driver));
  return fmt::format("built with CUDA {}, runtime {}, driver {}", cuda_version(CUDART_VERSION),
                     cuda_version(runtime), cuda_version(driver));
}

/// Each process loads one pair, so that no other pair is loaded when the body loads its mixture.
std::function<void(trial&)> with_pairs(int count, std::function<void(trial&, const pairs&)> body) {
  return [count, body = std::move(body)](trial& t) {
    const auto named = [](int pair, const char* what) {
      return fmt::format("CUFAULT_PAIR_{}_{}", pair, what);
    };
    if (const int pair = t.stage(); pair < count) {
      CUFAULT_REQUIRE(load_cublas(pair == 0 ? t.libraries() : trial::other_libraries()));
      int version = 0;
      CUFAULT_REQUIRE(cublasGetVersion(nullptr, &version));
      t.continue_in_new_process({{named(pair, "CUBLAS"), bound_cublas().cublas},
                                 {named(pair, "CUBLASLT"), bound_cublas().cublaslt},
                                 {named(pair, "VERSION"), std::to_string(version)},
                                 {"CUFAULT_VERSIONS", queried_versions()}});
      return;
    }
    const auto known = [&](int pair) {
      return pair_of_libraries{{variable(named(pair, "CUBLAS")), variable(named(pair, "CUBLASLT"))},
                               std::atoi(variable(named(pair, "VERSION")).c_str())};
    };
    body(t, {known(0), known(1), variable("CUFAULT_VERSIONS")});
  };
}

void need_one_major(const pairs& p) {
  if (p.ours.major() != p.other.major() || p.ours.version == p.other.version)
    throw not_provoked(fmt::format(
        "needs two versions of one major version: cuBLAS under test is {}, CUFAULT_OTHER_CUBLAS {}",
        p.ours.version, p.other.version));
}

void need_two_majors(const pairs& p) {
  if (p.ours.major() == p.other.major())
    throw not_provoked(
        fmt::format("needs two major versions: cuBLAS under test is {}, CUFAULT_OTHER_CUBLAS {}",
                    p.ours.version, p.other.version));
}

/// A stand-in with the name and symbol version of that major version.
fs::path foreign_cublaslt(int major) {
  fs::path file = bundled_file("foreign_lt") / fmt::format("libcublasLt.so.{}", major);
  if (!fs::exists(file))
    throw not_provoked(
        fmt::format("there is no lib/cufault/foreign_lt/libcublasLt.so.{} beside this program", major));
  return file;
}

/// A folder of the trial with links to both, under the names for which the loader and a libcublas of that major version ask.
fs::path folder_with(const trial& t, const char* name, int major, const cublas_paths& files) {
  fs::path folder = t.scratch() / name;
  fs::create_directory(folder);
  fs::create_symlink(files.cublas, folder / fmt::format("libcublas.so.{}", major));
  fs::create_symlink(files.cublaslt, folder / fmt::format("libcublasLt.so.{}", major));
  return folder;
}

// ---- the linked programs ----

/// Copies of the programs in a folder with the right pair: their RUNPATH and RPATH are that folder.
struct programs {
  fs::path folder;
  fs::path foreign;  ///< folder
  std::vector<std::string> arguments;
};

programs beside_right_pair(const trial& t, const pairs& p, need where) {
  if (p.ours.major() != CUBLAS_VER_MAJOR)
    throw not_provoked(fmt::format("the programs are linked to libcublas.so.{}, and cuBLAS under test is {}",
                                   CUBLAS_VER_MAJOR, p.ours.version));
  programs all{folder_with(t, "right", p.ours.major(), p.ours.files),
               foreign_cublaslt(p.ours.major()).parent_path(),
               {}};
  for (const char* name :
       {"plain_program", "plain_program_runpath", "plain_program_rpath", "plain_program_rpath_lt"}) {
    const fs::path program = bundled_file(name);
    if (program.empty())
      throw not_provoked(
          fmt::format("there is no lib/cufault/{} beside this program: the toolkit that it was built "
                      "with has no cuBLAS to link to",
                      name));
    fs::copy_file(program, all.folder / name);
  }
  if (where == need::gpu) all.arguments.push_back(std::to_string(t.device()));
  return all;
}

struct start_of_program {
  std::string name = "plain_program";
  std::vector<std::string> search{};  ///< folders in front of LD_LIBRARY_PATH
  std::vector<std::string> preload{};
  bool bind_now = false;
};

/// How a program ended (by the loader, a signal or its own exit), or what it printed.
struct program_result {
  load_result loader;
  bool started = false;  ///< where the loader ended it: only after it had reached main
  process_result process;
  std::optional<product_result> product;  ///< where it was to multiply

  friend status_record record_of(const program_result& result) {
    if (!result.loader.ok()) return record_of(result.loader);
    if (result.process.how == ending::signalled)
      return {.status = status_crashed,
              .ok = false,
              .facts = {{"signal", fmt::format("SIG{}", sigabbrev_np(result.process.signal))}}};
    if (result.process.exit_code != 0)
      return {.status = status_exited,
              .ok = false,
              .facts = {{"exit_code", std::int64_t{result.process.exit_code}}}};
    return result.product ? record_of(*result.product) : status_record{};
  }
};

/// Removes folders, which differ between trials.
std::string without_folders(const std::string& text) {
  return std::regex_replace(text, std::regex("[^ ]*/"), "");
}

/// True if the loader reached the program's main, by its log (LD_DEBUG=files).
bool reached_main(const fs::path& account) {
  bool kept = false;
  for (const auto& entry : fs::directory_iterator(account)) {
    std::ifstream file(entry.path());
    kept = true;
    for (std::string line; std::getline(file, line);)
      if (line.find("transferring control:") != std::string::npos) return true;
  }
  if (!kept) throw setup_failed("the loader kept no account of what it did");
  return false;
}

program_result run_program(const programs& all, const start_of_program& start) {
  const fs::path account = all.folder / "account";
  fs::remove_all(account);
  fs::create_directory(account);
  std::vector<std::string> search = start.search;
  if (const std::string rest = variable("LD_LIBRARY_PATH"); !rest.empty()) search.push_back(rest);
  spawn_options options;
  options.argv = all.arguments;
  options.argv.insert(options.argv.begin(), all.folder / start.name);
  options.environment = {{"LD_LIBRARY_PATH", fmt::format("{}", fmt::join(search, ":"))},
                         {"LD_BIND_NOW", start.bind_now ? "1" : ""},
                         {"LD_DEBUG", "files"},
                         {"LD_DEBUG_OUTPUT", account / "loader"}};
  options.preload = start.preload;
  options.timeout = std::chrono::minutes(10);  // the trial's own watchdog comes first

  program_result result;
  result.process = run_process(options, [](std::string_view) {});
  const process_result& process = result.process;
  if (process.how != ending::exited) return result;
  // Exit codes of the loader: 1 for a version missing at the start, 127 for a symbol.
  if ((process.exit_code == 1 || process.exit_code == 127) && process.stdout_text.empty()) {
    result.loader.words = without_folders(last_line(process.stderr_text));
    result.started = reached_main(account);
  }
  if (process.exit_code != 0) return result;
  const auto printed = nlohmann::json::parse(process.stdout_text, nullptr, false);
  if (!printed.is_object())
    throw setup_failed(fmt::format("{} printed '{}'", start.name, process.stdout_text));
  if (printed.contains("right"))
    result.product = {static_cast<cublasStatus_t>(printed.at("cublas").get<int>()),
                      static_cast<cudaError_t>(printed.at("cuda").get<int>()),
                      printed.at("right").get<bool>()};
  return result;
}

start_of_program foreign_first(const programs& all) {
  return {.search = {all.foreign, all.folder}};
}

// ---- the work, in this process ----

/// Half precision uses other kernels than single precision. The right result is whole numbers, and so exact.
product_result product_of_halves(cublasHandle_t handle) {
  constexpr int n = 64;
  constexpr std::size_t count = std::size_t{n} * n, bytes = count * sizeof(std::uint16_t);
  constexpr std::array<std::uint16_t, 4> up_to_3{0, 0x3c00, 0x4000, 0x4200};
  constexpr std::array<std::uint16_t, 4> times_64{0, 0x5400, 0x5800, 0x5a00};
  std::vector<std::uint16_t> a(count, up_to_3[1]), b(count), c(count), right(count);
  for (std::size_t i = 0; i < count; ++i) {
    b[i] = up_to_3[i / n % 4];
    right[i] = times_64[i / n % 4];
  }
  std::uint16_t* on_device = nullptr;
  const float one = 1, zero = 0;
  product_result result;
  const auto passed = [&](cudaError_t status) { return (result.waited = status) == cudaSuccess; };
  if (passed(cudaMalloc(&on_device, 3 * bytes)) &&
      passed(cudaMemcpy(on_device, a.data(), bytes, cudaMemcpyHostToDevice)) &&
      passed(cudaMemcpy(on_device + count, b.data(), bytes, cudaMemcpyHostToDevice))) {
    result.status = cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, on_device, CUDA_R_16F, n,
                                 on_device + count, CUDA_R_16F, n, &zero, on_device + 2 * count, CUDA_R_16F,
                                 n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    if (result.status == CUBLAS_STATUS_SUCCESS &&
        passed(cudaMemcpy(c.data(), on_device + 2 * count, bytes, cudaMemcpyDeviceToHost)))
      result.right = c == right;
  }
  cudaFree(on_device);
  return result;
}

/// Observes products with the bound pair. Returns the first failing status, or "".
std::string every_kind_of_product() {
  std::string failed;
  const auto succeeds = [&](const auto& result) {
    const status_record seen = record_of(result);
    if (!seen.ok && failed.empty()) failed = seen.text();
    return seen.ok;
  };
  cublasHandle_t handle = nullptr;
  if (succeeds(CUFAULT_OBSERVE(cublasCreate(&handle)))) {
    succeeds(CUFAULT_OBSERVE_AS("cublasSgemm", "split_k", product(handle)));
    succeeds(CUFAULT_OBSERVE_AS("cublasGemmEx", "fp16", product_of_halves(handle)));
    succeeds(CUFAULT_OBSERVE(cublasDestroy(handle)));
  }
  cublasLtHandle_t lt = nullptr;
  if (succeeds(CUFAULT_OBSERVE(cublasLtCreate(&lt)))) {
    succeeds(CUFAULT_OBSERVE_AS("cublasLtMatmul", "first_algorithm", lt_product(lt)));
    succeeds(CUFAULT_OBSERVE(cublasLtDestroy(lt)));
  }
  return failed;
}

// ---- what was seen ----

/// What a user reads on failure: the loader's message, or a status.
void note_message(trial& t, const std::string& words) {
  if (!words.empty()) t.note("words", words);
}

std::string status_alone(const std::string& failed) {
  return failed.empty() ? failed : failed + " alone; the library's log was not read";
}

void work_and_note_message(trial& t) {
  note_message(t, status_alone(every_kind_of_product()));
}

void note_message_of(trial& t, const program_result& result) {
  if (!result.loader.ok()) t.measure("main had begun", result.started ? 1 : 0);
  const status_record seen = record_of(result);
  note_message(t, !result.loader.ok() ? result.loader.words : seen.ok ? "" : status_alone(seen.text()));
}

/// Measures whether the versions that a program can ask for reveal the bound mixture.
void measure_versions(trial& t, const pairs& p) {
  const std::string versions = queried_versions();
  int cublas = 0;
  CUFAULT_REQUIRE(cublasGetVersion(nullptr, &cublas));
  t.measure("versions that differ from those with the right pair", versions == p.versions ? 0 : 1);
  t.note("versions",
         fmt::format("{} with the right pair, {} here; cublasGetVersion says {} and {}", p.versions, versions,
                     cublas_version(p.ours.version), cublas_version(cublas)));
}

// ---- controls ----

void linked_to_the_right_ones(trial& t, const pairs& p, need where) {
  const programs all = beside_right_pair(t, p, where);
  CUFAULT_OBSERVE_AS("check.program", "", run_program(all, {.search = {all.folder}}));
}

void right_pair_answers(trial&, const pairs& p) {
  CUFAULT_OBSERVE_AS("load.cublas", "", load_cublas(p.ours.files));
  int major = 0;
  CUFAULT_OBSERVE(cublasGetProperty(MAJOR_VERSION, &major));
}

void right_pair_multiplies(trial& t, const pairs& p) {
  t.open_context();
  CUFAULT_OBSERVE_AS("load.cublas", "", load_cublas(p.ours.files));
  every_kind_of_product();
}

// ---- faults ----

void foreign_is_first(trial& t, const pairs& p, need where) {
  const programs all = beside_right_pair(t, p, where);
  note_message_of(t, CUFAULT_OBSERVE_AS("check.program", "", run_program(all, foreign_first(all))));
}

void foreign_is_first_bound_at_start(trial& t, const pairs& p) {
  const programs all = beside_right_pair(t, p, need::host);
  start_of_program start = foreign_first(all);
  start.bind_now = true;
  note_message_of(t, CUFAULT_OBSERVE_AS("check.program", "", run_program(all, start)));
}

/// The name is right, the symbol version is not.
void foreign_of_another_major(trial& t, const pairs& p) {
  const programs all = beside_right_pair(t, p, need::host);
  const int major = p.ours.major(), other_major = major == 12 ? 13 : 12;
  const fs::path renamed =
      folder_with(t, "renamed", major, {p.ours.files.cublas, foreign_cublaslt(other_major)});
  note_message_of(t, CUFAULT_OBSERVE_AS("check.program", "", run_program(all, {.search = {renamed}})));
}

void foreign_is_loaded(trial& t, const pairs& p) {
  t.open_context();
  CUFAULT_OBSERVE_AS("load.cublas", "foreign_cublaslt",
                     load_cublas({p.ours.files.cublas, foreign_cublaslt(p.ours.major())}));
  measure_versions(t, p);
  observed_handle();
}

// A plugin is loaded with all its symbols at once; a linked program, symbol by symbol, may get further.
constexpr bool at_once = false, lazily = true;

/// Observes loading in one way, and in the other if that is refused. Returns true if it is loaded.
bool load_either_way(trial& t, const cublas_paths& files) {
  const load_result refused = CUFAULT_OBSERVE_AS("load.cublas", "at_once", load_cublas(files, at_once));
  if (refused.ok()) return true;
  note_message(t, without_folders(refused.words));
  const load_result loaded = CUFAULT_OBSERVE_AS("load.cublas", "lazily", load_cublas(files, lazily));
  return loaded.ok();
}

void mixed_in_this_process(trial& t, const pairs& p, const cublas_paths& mixed) {
  need_one_major(p);
  t.open_context();
  if (!load_either_way(t, mixed)) return;
  measure_versions(t, p);
  work_and_note_message(t);
}

void mixed_in_a_program(trial& t, const pairs& p, const cublas_paths& mixed) {
  need_one_major(p);
  const programs all = beside_right_pair(t, p, need::gpu);
  const fs::path folder = folder_with(t, "mixed", p.ours.major(), mixed);
  note_message_of(t, CUFAULT_OBSERVE_AS("check.program", "", run_program(all, {.search = {folder}})));
}

/// Restarts with the other pair's cuBLASLt under the name that our cuBLAS asks for, first in LD_LIBRARY_PATH. Returns true in the new
/// process; the body of the old one must return.
bool other_major_is_first(trial& t, const pairs& p) {
  need_two_majors(p);
  constexpr int last_stage = 3;
  if (t.stage() == last_stage) return true;
  const fs::path renamed =
      folder_with(t, "renamed", p.ours.major(), {p.ours.files.cublas, p.other.files.cublaslt});
  const std::string rest = variable("LD_LIBRARY_PATH");
  t.continue_in_new_process({{"LD_LIBRARY_PATH", renamed.string() + (rest.empty() ? "" : ":" + rest)}});
  return false;
}

/// Loads both from that folder, which stands in for a folder named by an RPATH too. Throws not_provoked if our cuBLAS still calls another
/// cuBLASLt.
load_result load_renamed(const trial& t, const pairs& p) {
  const fs::path folder = t.scratch() / "renamed";
  load_result loaded = load_cublas({folder / fmt::format("libcublas.so.{}", p.ours.major()),
                                    folder / fmt::format("libcublasLt.so.{}", p.ours.major())});
  if (const fs::path taken = bound_cublas().cublaslt_of_cublas;
      loaded.ok() && taken != p.other.files.cublaslt)
    throw not_provoked(
        fmt::format("the loader gave {} in place of {}", taken.string(), p.other.files.cublaslt.string()));
  return loaded;
}

void other_major_renamed(trial& t, const pairs& p) {
  if (!other_major_is_first(t, p)) return;
  t.open_context();
  const load_result loaded = CUFAULT_OBSERVE_AS("load.cublas", "renamed_cublaslt", load_renamed(t, p));
  if (loaded.ok())
    work_and_note_message(t);
  else
    note_message(t, without_folders(loaded.words));
}

/// Our pair, the other, and ours again.
void both_in_this_process(trial& t, const pairs& p) {
  t.open_context();
  for (const pair_of_libraries* pair : {&p.ours, &p.other, &p.ours}) {
    if (!load_either_way(t, pair->files)) return;
    work_and_note_message(t);
  }
}

// ---- remedies ----

void start_again(trial& t, const programs& all, const start_of_program& fails, const std::string& how,
                 const start_of_program& after) {
  CUFAULT_OBSERVE_AS("check.program", "", run_program(all, fails));
  t.apply(how);
  CUFAULT_OBSERVE_AS("check.program", "", run_program(all, after));
}

void drop_the_folder(trial& t, const pairs& p, need where) {
  const programs all = beside_right_pair(t, p, where);
  const char* const name = "plain_program_runpath";
  start_again(t, all, {.name = name, .search = {all.foreign}},
              "start again without that folder in LD_LIBRARY_PATH", {.name = name});
}

void preload_the_right_one(trial& t, const pairs& p, need where) {
  const programs all = beside_right_pair(t, p, where);
  start_of_program preloaded = foreign_first(all);
  preloaded.preload = {p.ours.files.cublaslt};
  start_again(t, all, foreign_first(all), "start again with the right libcublasLt in LD_PRELOAD", preloaded);
}

void link_otherwise(trial& t, const pairs& p, need where, const std::string& name, const std::string& how) {
  const programs all = beside_right_pair(t, p, where);
  start_of_program linked = foreign_first(all);
  linked.name = name;
  start_again(t, all, foreign_first(all), how, linked);
}

void load_the_right_one_first(trial& t, const pairs& p, need where) {
  if (where == need::gpu) t.open_context();
  CUFAULT_OBSERVE_AS("load.cublas", "foreign_cublaslt_at_once",
                     load_cublas({p.ours.files.cublas, foreign_cublaslt(p.ours.major())}, at_once));
  t.apply("dlopen of the right libcublasLt, then of libcublas");
  CUFAULT_OBSERVE_AS("load.cublas", "", load_cublas(p.ours.files));
  int major = 0;
  CUFAULT_OBSERVE(cublasGetProperty(MAJOR_VERSION, &major));
  if (where == need::gpu) create_and_multiply();
}

/// The older pair, and the newer one.
std::pair<pair_of_libraries, pair_of_libraries> older_and_newer_pair(const pairs& p) {
  if (p.ours.version < p.other.version) return {p.ours, p.other};
  return {p.other, p.ours};
}

/// Observes the refusal that a remedy has to clear: the older libcublasLt may lack what the newer libcublas needs.
void refuse_newer_with_older_lt(const pair_of_libraries& older, const pair_of_libraries& newer) {
  CUFAULT_OBSERVE_AS("load.cublas", "older_cublaslt_at_once", load_cublas(mixture_of(newer, older), at_once));
}

/// If both pairs clear the same failure, the age of a pair does not matter.
void whole_pair_of_one_major(trial& t, const pairs& p, bool newer_one) {
  need_one_major(p);
  t.open_context();
  const auto [older, newer] = older_and_newer_pair(p);
  refuse_newer_with_older_lt(older, newer);
  t.apply(newer_one ? "the newer pair, whole" : "the older pair, whole");
  const cublas_paths& whole = (newer_one ? newer : older).files;
  if (newer_one)
    CUFAULT_OBSERVE_AS("load.cublas", "newer_pair", load_cublas(whole));
  else
    CUFAULT_OBSERVE_AS("load.cublas", "older_pair", load_cublas(whole));
  create_and_multiply();
}

void older_pair_of_two_majors(trial& t, const pairs& p) {
  if (!other_major_is_first(t, p)) return;
  t.open_context();
  CUFAULT_OBSERVE_AS("load.cublas", "renamed_cublaslt", load_renamed(t, p));
  t.apply("the older pair, whole");
  const cublas_paths older = older_and_newer_pair(p).first.files;
  CUFAULT_OBSERVE_AS("load.cublas", "older_pair", load_cublas(older));
  create_and_multiply();
}

// ---- the case ----

void mixed_libraries(failure_case& c) {
  using body_with_pairs = std::function<void(trial&, const pairs&)>;
  const auto add = [&](const std::string& name, arm_kind kind, const std::string& summary, need where,
                       int count, body_with_pairs body, std::vector<std::string> claims = {}) -> arm& {
    arm& a = c.add(name, kind, summary, with_pairs(count, std::move(body)), std::move(claims));
    a.needs = where;
    a.other_cublas = count == 2;
    a.binds_itself = true;
    a.environment["LD_BIND_NOW"] = "";
    return a;
  };
  const std::vector<std::string> shown{"S1-14", "S1-16"};
  const std::vector<std::string> of_a_mixture{"S0-1", "S0-2", "S1-1", "S1-14", "S1-15", "S1-16"};

  add("control", arm_kind::control, "the right pair is loaded and answers", need::host, 1,
      right_pair_answers);
  add("control_gpu", arm_kind::control, "the right pair is loaded and multiplies", need::gpu, 1,
      right_pair_multiplies);

  // Both without and with a GPU: only with one can right numbers prove a remedy.
  for (const need where : {need::host, need::gpu}) {
    const std::string on = where == need::gpu ? "_gpu" : "";
    const auto on_it = [&](void (*body)(trial&, const pairs&, need)) -> body_with_pairs {
      return [body, where](trial& t, const pairs& p) { body(t, p, where); };
    };
    add("control_linked" + on, arm_kind::control, "a program finds the right pair", where, 1,
        on_it(linked_to_the_right_ones));
    add("foreign_first" + on, arm_kind::fault,
        "a program finds a made-up libcublasLt, without most functions, in LD_LIBRARY_PATH", where, 1,
        on_it(foreign_is_first), shown);
    add("drop_folder" + on, arm_kind::remedy, "start again without that folder in LD_LIBRARY_PATH", where, 1,
        on_it(drop_the_folder));
    add("preload_right" + on, arm_kind::remedy, "start again with the right libcublasLt in LD_PRELOAD", where,
        1, on_it(preload_the_right_one));
    add("link_both_rpath" + on, arm_kind::remedy, "link to cuBLASLt as well, with RPATH", where, 1,
        [where](trial& t, const pairs& p) {
          link_otherwise(t, p, where, "plain_program_rpath_lt", "linked to cuBLASLt as well, with RPATH");
        });
    add("load_right_first" + on, arm_kind::remedy, "dlopen the right libcublasLt before libcublas", where, 1,
        on_it(load_the_right_one_first));
  }
  add("foreign_first_now", arm_kind::fault,
      "a program with LD_BIND_NOW=1 finds that libcublasLt in LD_LIBRARY_PATH", need::host, 1,
      foreign_is_first_bound_at_start, shown);
  add("foreign_renamed", arm_kind::fault,
      "a program finds a made-up libcublasLt of another major version under the right name", need::host, 1,
      foreign_of_another_major, shown);
  add("foreign_loaded", arm_kind::fault,
      "a made-up libcublasLt, without most functions, is loaded already when libcublas is", need::gpu, 1,
      foreign_is_loaded, {"S0-2", "S1-14", "S1-15"});
  for (const auto& [name, tag] : {std::pair{"runpath", "RUNPATH"}, {"rpath", "RPATH"}}) {
    const std::string how = fmt::format("{} of the right folder on the executable", tag);
    add(fmt::format("executable_{}", name), arm_kind::dead_end, how, need::host, 1,
        [program = fmt::format("plain_program_{}", name), how](trial& t, const pairs& p) {
          link_otherwise(t, p, need::host, program, how);
        });
  }

  for (arm& a : c.arms) a.made_up = a.kind != arm_kind::control;  // later arms use installed pairs

  for (const bool other_lt : {true, false}) {
    const std::string name = other_lt ? "our_cublas_other_lt" : "other_cublas_our_lt";
    const auto with_mixture =
        [&](void (*body)(trial&, const pairs&, const cublas_paths&)) -> body_with_pairs {
      return [body, other_lt](trial& t, const pairs& p) {
        body(t, p, other_lt ? mixture_of(p.ours, p.other) : mixture_of(p.other, p.ours));
      };
    };
    const char* const summary =
        other_lt ? "our libcublas with the other pair's libcublasLt of the same major version"
                 : "the other pair's libcublas with our libcublasLt of the same major version";
    add(name, arm_kind::fault, summary, need::gpu, 2, with_mixture(mixed_in_this_process), of_a_mixture);
    add(name + "_linked", arm_kind::fault, std::string(summary) + ", in a linked program", need::gpu, 2,
        with_mixture(mixed_in_a_program), {"S1-1", "S1-14", "S1-16"});
  }
  add("other_major_renamed", arm_kind::fault,
      "our libcublas finds a libcublasLt of another major version under its name", need::gpu, 2,
      other_major_renamed, {"S1-1", "S1-14", "S1-16"});
  add("both_of_one_major", arm_kind::fault, "both pairs in one process, of one major version", need::gpu, 2,
      [](trial& t, const pairs& p) {
        need_one_major(p);
        both_in_this_process(t, p);
      },
      {"S1-1", "S1-14", "S1-16"});
  add("both_of_two_majors", arm_kind::fault, "both pairs in one process, of two major versions", need::gpu, 2,
      [](trial& t, const pairs& p) {
        need_two_majors(p);
        both_in_this_process(t, p);
      },
      {"S1-1", "S1-14", "S1-16"});
  for (const std::string age : {"older", "newer"})
    add(
        age + "_pair", arm_kind::remedy,
        "the " + age +
            " pair, whole, in place of the newer libcublas with the older libcublasLt of one major version",
        need::gpu, 2, [age](trial& t, const pairs& p) { whole_pair_of_one_major(t, p, age == "newer"); },
        age == "older" ? std::vector<std::string>{"S0-3"} : std::vector<std::string>{});
  add("older_pair_other_major", arm_kind::remedy,
      "the older pair, whole, in place of our libcublas with a libcublasLt of another major version",
      need::gpu, 2, older_pair_of_two_majors, {"S0-3"});
  c.fail_on_any_architecture({"foreign_first_gpu", "other_cublas_our_lt_linked"});  // the loader ends them
  c.in_tier = {"control",
               "control_gpu",
               "control_linked",
               "foreign_first",
               "drop_folder",
               "preload_right",
               "link_both_rpath",
               "load_right_first",
               "foreign_first_now",
               "foreign_renamed",
               "executable_runpath",
               "executable_rpath",
               "other_cublas_our_lt",
               "older_pair"};
}

const register_case here(
    "environment.mixed_libraries",
    "libcublas with a libcublasLt that is not its own: a made-up one that lacks functions, or that of "
    "another version",
    {"F-ENV-01"}, mixed_libraries);

}  // namespace
}  // namespace cufault
