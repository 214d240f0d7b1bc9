// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// What fails   A program that is linked to libcublas, at its start or at the first use of what cuBLAS takes from cuBLASLt; or
//              its products, where the loader finds nothing wrong.
// Why          libcublas.so.N asks for libcublasLt.so.N by name. The loader gives it whichever it finds first, or has loaded
//              already: LD_LIBRARY_PATH comes before the RUNPATH by which libcublas finds its own.
// Documented   Reported: "undefined symbol: cublasLt..., version libcublasLt.so.N", or INVALID_VALUE from a product:
//              pytorch#91067, pytorch#170676, vllm#35608, onnxruntime#8594. Source documents: version disagreement makes
//              cublasCreate return INTERNAL_ERROR (S0-1), and any difference breaks CUDA libraries (S1-1).
// What helps   Recommended: no foreign folder in LD_LIBRARY_PATH; the right libcublasLt loaded first, by LD_PRELOAD or dlopen;
//              an older pair, whole. RUNPATH and RPATH on the executable are measured as dead ends, and RPATH on one that
//              asks for cuBLASLt itself as a remedy.
// The foreign cuBLASLt is harness/plain_program's, which lacks nearly everything, and so needs no GPU; or that of a second
// pair (CUFAULT_OTHER_CUBLAS). The programs are linked in the ordinary way, to the cuBLAS that this was built with.
#include "harness/beside.hpp"
#include "harness/process.hpp"
#include "harness/trial.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <regex>
#include <string>
#include <vector>

namespace cufault {
namespace {

namespace fs = std::filesystem;

std::string variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value != nullptr ? value : "";
}

// ---- the pairs ----

struct pair_of_libraries {
  cublas_paths files;
  int version = 0;  ///< 130100; that of cuBLASLt, which is what answers
  [[nodiscard]] int major() const { return version / 10000; }
};

struct pairs {
  pair_of_libraries ours, other;  ///< other: only in arms that say other_cublas
  std::string versions;           ///< asked_for_versions() with a matching pair
};

/// What `nvcc --version`, the framework and the driver have to say.
std::string asked_for_versions() {
  int runtime = 0, driver = 0;
  require(cudaRuntimeGetVersion(&runtime));
  require(cudaDriverGetVersion(&driver));
  return fmt::format("toolkit {}, runtime {}, driver {}", CUDART_VERSION, runtime, driver);
}

/// One pair is loaded in one process, so that nothing of it is left where the body loads its mixture.
std::function<void(trial&)> with_pairs(int count, std::function<void(trial&, const pairs&)> body) {
  return [count, body = std::move(body)](trial& t) {
    const auto named = [](int pair, const char* what) {
      return fmt::format("CUFAULT_PAIR_{}_{}", pair, what);
    };
    if (const int pair = t.stage(); pair < count) {
      require(load_cublas(pair == 0 ? t.libraries() : trial::other_libraries()));
      int version = 0;
      require(cublasGetVersion(nullptr, &version));
      t.continue_in_new_process({{named(pair, "CUBLAS"), bound_cublas().cublas},
                                 {named(pair, "CUBLASLT"), bound_cublas().cublaslt},
                                 {named(pair, "VERSION"), std::to_string(version)},
                                 {"CUFAULT_VERSIONS", asked_for_versions()}});
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

/// A cuBLASLt that has the name and the symbol version of that major, and nearly no functions.
fs::path foreign_cublaslt(int major) {
  fs::path file = beside_program("foreign_lt") / fmt::format("libcublasLt.so.{}", major);
  if (!fs::exists(file))
    throw not_provoked(
        fmt::format("there is no lib/cufault/foreign_lt/libcublasLt.so.{} beside this program", major));
  return file;
}

/// A folder of the trial's own with links to both, under the names by which a libcublas of that major is found
/// and asks.
fs::path folder_with(const trial& t, const char* name, int major, const cublas_paths& files) {
  fs::path folder = t.scratch() / name;
  fs::create_directory(folder);
  fs::create_symlink(files.cublas, folder / fmt::format("libcublas.so.{}", major));
  fs::create_symlink(files.cublaslt, folder / fmt::format("libcublasLt.so.{}", major));
  return folder;
}

// ---- the linked programs ----

/// Copies of the programs, in a folder with the right pair: their RUNPATH and RPATH is that folder.
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
    const fs::path program = beside_program(name);
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

/// What became of a program: ended by the loader, by a signal or by an exit of its own, or what it printed.
struct program_result {
  load_result loader;
  process_result process;
  std::optional<product_result> product;  ///< where it was to multiply

  friend status_record record_of(const program_result& result) {
    if (!result.loader.ok()) return record_of(result.loader);
    if (result.process.how == ending::signalled)
      return {fmt::format("SIG{}", sigabbrev_np(result.process.signal)), result.process.signal};
    if (result.process.exit_code != 0)
      return {fmt::format("EXIT_{}", result.process.exit_code), result.process.exit_code};
    return result.product ? record_of(*result.product) : record_of(result.loader);
  }
};

/// Folders differ from trial to trial and say nothing.
std::string without_folders(const std::string& text) {
  return std::regex_replace(text, std::regex("[^ ]*/"), "");
}

std::string last_line(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

program_result run_program(const programs& all, const start_of_program& start) {
  std::vector<std::string> search = start.search;
  if (const std::string rest = variable("LD_LIBRARY_PATH"); !rest.empty()) search.push_back(rest);
  spawn_options options;
  options.argv = all.arguments;
  options.argv.insert(options.argv.begin(), all.folder / start.name);
  options.environment = {{"LD_LIBRARY_PATH", fmt::format("{}", fmt::join(search, ":"))},
                         {"LD_BIND_NOW", start.bind_now ? "1" : ""}};
  options.preload = start.preload;
  options.timeout = std::chrono::minutes(10);  // the trial's own watchdog comes first

  program_result result{{}, run_process(options, [](std::string_view) {}), {}};
  const process_result& process = result.process;
  if (process.how != ending::exited) return result;
  // The loader's exits: 1 for a version that is missing at the start, 127 for a symbol.
  if ((process.exit_code == 1 || process.exit_code == 127) && process.stdout_text.empty())
    result.loader.words = without_folders(last_line(process.stderr_text));
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

/// Halves take other kernels than floats. The right numbers of the result are whole, and so exact.
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

/// Observes the work with the pair that is bound, and returns what was seen.
std::vector<status_record> every_kind_of_product() {
  std::vector<status_record> seen;
  const auto succeeds = [&](const auto& status) {
    seen.push_back(record_of(status));
    return seen.back().value == 0;
  };
  cublasHandle_t handle = nullptr;
  if (succeeds(observe(cublasCreate(&handle)))) {
    succeeds(observe(product(handle)));
    succeeds(observe(product_of_halves(handle)));
    succeeds(observe(cublasDestroy(handle)));
  }
  cublasLtHandle_t light = nullptr;
  if (succeeds(observe(cublasLtCreate(&light)))) {
    succeeds(observe(lt_product(light)));
    succeeds(observe(cublasLtDestroy(light)));
  }
  return seen;
}

// ---- what was seen ----

/// S1-14 and S1-16, from what a mixture did; `words` are the loader's.
void what_the_mixture_shows(trial& t, const std::vector<status_record>& seen, const std::string& words = {}) {
  const auto failed =
      std::find_if(seen.begin(), seen.end(), [](const status_record& s) { return s.value != 0; });
  const std::string what = !words.empty()         ? without_folders(words)
                           : failed != seen.end() ? failed->name
                                                  : "no failure";
  const bool as_claimed = std::any_of(seen.begin(), seen.end(), [](const status_record& s) {
    return s.name == "WRONG_NUMBERS" || s.name.starts_with("SIG");
  });
  t.conclude("S1-14", as_claimed, what);
  if (failed == seen.end()) return;
  t.conclude("S1-16", words.find("libcublasLt") != std::string::npos,
             words.empty() ? what + " names no library" : what);
}

void what_the_program_shows(trial& t, const program_result& result) {
  what_the_mixture_shows(t, {record_of(result)}, result.loader.words);
}

/// S1-15, with a mixture bound.
void what_versions_tell(trial& t, const pairs& p) {
  const std::string versions = asked_for_versions();
  int cublas = 0;
  require(cublasGetVersion(nullptr, &cublas));
  t.conclude("S1-15", versions != p.versions,
             fmt::format("{} with the pair; {} with the mixture; cublasGetVersion {} and {}", p.versions,
                         versions, p.ours.version, cublas));
}

// ---- controls ----

void linked_to_the_right_ones(trial& t, const pairs& p, need where) {
  const programs all = beside_right_pair(t, p, where);
  observe(run_program(all, {.search = {all.folder}}));
}

void right_pair_answers(trial&, const pairs& p) {
  observe(load_cublas(p.ours.files));
  int major = 0;
  observe(cublasGetProperty(MAJOR_VERSION, &major));
}

void right_pair_multiplies(trial& t, const pairs& p) {
  t.open_context();
  observe(load_cublas(p.ours.files));
  every_kind_of_product();
}

// ---- faults ----

void foreign_is_first(trial& t, const pairs& p, need where) {
  const programs all = beside_right_pair(t, p, where);
  what_the_program_shows(t, observe(run_program(all, foreign_first(all))));
}

void foreign_is_first_bound_at_start(trial& t, const pairs& p) {
  const programs all = beside_right_pair(t, p, need::host);
  start_of_program start = foreign_first(all);
  start.bind_now = true;
  what_the_program_shows(t, observe(run_program(all, start)));
}

/// The name is right, the symbol version is not.
void foreign_of_another_major(trial& t, const pairs& p) {
  const programs all = beside_right_pair(t, p, need::host);
  const int major = p.ours.major();
  const fs::path renamed =
      folder_with(t, "renamed", major, {p.ours.files.cublas, foreign_cublaslt(major == 12 ? 13 : 12)});
  what_the_program_shows(t, observe(run_program(all, {.search = {renamed}})));
}

void foreign_is_loaded(trial& t, const pairs& p) {
  t.open_context();
  observe(load_cublas({p.ours.files.cublas, foreign_cublaslt(p.ours.major())}));
  what_versions_tell(t, p);
  cublasHandle_t handle = nullptr;
  observe(cublasCreate(&handle));
}

void mixed_in_this_process(trial& t, const pairs& p, const cublas_paths& mixture) {
  need_one_major(p);
  t.open_context();
  // A plugin is loaded with all its symbols at once; a linked program, symbol by symbol, may get further.
  constexpr bool at_once = false, lazily = true;
  load_result loaded = observe(load_cublas(mixture, at_once));
  if (!loaded.ok()) loaded = observe(load_cublas(mixture, lazily));
  if (!loaded.ok()) {
    what_the_mixture_shows(t, {record_of(loaded)}, loaded.words);
    return;
  }
  what_versions_tell(t, p);
  what_the_mixture_shows(t, every_kind_of_product());
}

void mixed_in_a_program(trial& t, const pairs& p, const cublas_paths& mixture) {
  need_one_major(p);
  const programs all = beside_right_pair(t, p, need::gpu);
  const fs::path mixed = folder_with(t, "mixed", p.ours.major(), mixture);
  what_the_program_shows(t, observe(run_program(all, {.search = {mixed}})));
}

/// Starts again with the other pair's cuBLASLt under the name that ours asks for, first in LD_LIBRARY_PATH. True in the process
/// that has it; the body of the other one returns.
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

load_result load_renamed(const trial& t, const pairs& p) {
  return load_cublas(
      {p.ours.files.cublas, t.scratch() / "renamed" / fmt::format("libcublasLt.so.{}", p.ours.major())});
}

void other_major_renamed(trial& t, const pairs& p) {
  if (!other_major_is_first(t, p)) return;
  t.open_context();
  const load_result loaded = observe(load_renamed(t, p));
  what_the_mixture_shows(t, loaded.ok() ? every_kind_of_product() : std::vector{record_of(loaded)},
                         loaded.words);
}

/// Ours, the other, and ours again.
void both_in_this_process(trial& t, const pairs& p) {
  t.open_context();
  std::vector<status_record> seen;
  for (const auto& files : {p.ours.files, p.other.files, p.ours.files}) {
    const load_result loaded = observe(load_cublas(files));
    if (!loaded.ok()) {
      what_the_mixture_shows(t, {record_of(loaded)}, loaded.words);
      return;
    }
    const auto more = every_kind_of_product();
    seen.insert(seen.end(), more.begin(), more.end());
  }
  what_the_mixture_shows(t, seen);
}

// ---- remedies ----

void drop_the_folder(trial& t, const pairs& p, need where) {
  const programs all = beside_right_pair(t, p, where);
  start_of_program start{.name = "plain_program_runpath", .search = {all.foreign}};
  observe(run_program(all, start));
  t.apply("start again without that folder in LD_LIBRARY_PATH");
  start.search.clear();
  observe(run_program(all, start));
}

void preload_the_right_one(trial& t, const pairs& p, need where) {
  const programs all = beside_right_pair(t, p, where);
  start_of_program start = foreign_first(all);
  observe(run_program(all, start));
  t.apply("start again with the right libcublasLt in LD_PRELOAD");
  start.preload = {p.ours.files.cublaslt};
  observe(run_program(all, start));
}

void link_otherwise(trial& t, const pairs& p, need where, const std::string& name, const std::string& how) {
  const programs all = beside_right_pair(t, p, where);
  start_of_program start = foreign_first(all);
  observe(run_program(all, start));
  t.apply(how);
  start.name = name;
  observe(run_program(all, start));
}

void load_the_right_one_first(trial& t, const pairs& p, need where) {
  if (where == need::gpu) t.open_context();
  constexpr bool at_once = false;
  observe(load_cublas({p.ours.files.cublas, foreign_cublaslt(p.ours.major())}, at_once));
  t.apply("dlopen of the right libcublasLt, then of libcublas");
  observe(load_cublas(p.ours.files));
  int major = 0;
  observe(cublasGetProperty(MAJOR_VERSION, &major));
  if (where == need::gpu) create_and_multiply();
}

void load_the_older_pair(const pairs& p) {
  observe(load_cublas(p.ours.version < p.other.version ? p.ours.files : p.other.files));
  create_and_multiply();
}

void older_pair_of_one_major(trial& t, const pairs& p) {
  need_one_major(p);
  t.open_context();
  t.apply("the older pair, whole");
  load_the_older_pair(p);
}

void older_pair_of_two_majors(trial& t, const pairs& p) {
  if (!other_major_is_first(t, p)) return;
  t.open_context();
  observe(load_renamed(t, p));
  t.apply("the older pair, whole");
  load_the_older_pair(p);
}

// ---- the case ----

failure_case mixed_libraries() {
  failure_case c;
  c.name = "environment.mixed_libraries";
  c.summary =
      "libcublas with a libcublasLt that is not its own: one that lacks functions, or that of another "
      "version";
  c.failures = {"F-ENV-01"};
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

  // With and without a GPU: only with one do right numbers prove a remedy.
  for (const need where : {need::host, need::gpu}) {
    const std::string on = where == need::gpu ? "_gpu" : "";
    const auto on_it = [&](void (*body)(trial&, const pairs&, need)) -> body_with_pairs {
      return [body, where](trial& t, const pairs& p) { body(t, p, where); };
    };
    add("control_linked" + on, arm_kind::control, "a program finds the right pair", where, 1,
        on_it(linked_to_the_right_ones));
    add("foreign_first" + on, arm_kind::fault, "a program finds a foreign libcublasLt in LD_LIBRARY_PATH",
        where, 1, on_it(foreign_is_first), shown);
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
  add("foreign_first_now", arm_kind::fault, "the same with LD_BIND_NOW=1", need::host, 1,
      foreign_is_first_bound_at_start, shown);
  add("foreign_renamed", arm_kind::fault,
      "a program finds a libcublasLt of another major version under the right name", need::host, 1,
      foreign_of_another_major, shown);
  add("foreign_loaded", arm_kind::fault, "a foreign libcublasLt is loaded already when libcublas is",
      need::gpu, 1, foreign_is_loaded, {"S1-15"});
  for (const auto& [name, tag] : {std::pair{"runpath", "RUNPATH"}, {"rpath", "RPATH"}}) {
    const std::string how = fmt::format("{} of the right folder on the executable", tag);
    add(fmt::format("executable_{}", name), arm_kind::dead_end, how, need::host, 1,
        [program = fmt::format("plain_program_{}", name), how](trial& t, const pairs& p) {
          link_otherwise(t, p, need::host, program, how);
        });
  }

  for (const bool other_lt : {true, false}) {
    const std::string mixture = other_lt ? "our_cublas_other_lt" : "other_cublas_our_lt";
    const auto with_mixture =
        [&](void (*body)(trial&, const pairs&, const cublas_paths&)) -> body_with_pairs {
      return [body, other_lt](trial& t, const pairs& p) {
        const cublas_paths &ours = p.ours.files, &other = p.other.files;
        body(
            t, p,
            other_lt ? cublas_paths{ours.cublas, other.cublaslt} : cublas_paths{other.cublas, ours.cublaslt});
      };
    };
    const char* const summary =
        other_lt ? "our libcublas with the other pair's libcublasLt of the same major version"
                 : "the other pair's libcublas with our libcublasLt of the same major version";
    add(mixture, arm_kind::fault, summary, need::gpu, 2, with_mixture(mixed_in_this_process), of_a_mixture);
    add(mixture + "_linked", arm_kind::fault, std::string(summary) + ", in a linked program", need::gpu, 2,
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
  add("older_pair", arm_kind::remedy, "the older pair, whole, of one major version", need::gpu, 2,
      older_pair_of_one_major, {"S0-3"})
      .against = "our_cublas_other_lt";
  add("older_pair_other_major", arm_kind::remedy, "the older pair, whole, of two major versions", need::gpu,
      2, older_pair_of_two_majors, {"S0-3"});
  c.quick = {"control",           "control_gpu",         "control_linked",      "foreign_first",
             "drop_folder",       "preload_right",       "link_both_rpath",     "load_right_first",
             "foreign_first_now", "foreign_renamed",     "foreign_loaded",      "executable_runpath",
             "executable_rpath",  "our_cublas_other_lt", "other_cublas_our_lt", "other_major_renamed",
             "both_of_one_major", "both_of_two_majors",  "older_pair",          "older_pair_other_major"};
  return c;
}

const register_case here{mixed_libraries()};

}  // namespace
}  // namespace cufault
