// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Cases for the tests of the road, on the fake cuBLAS. What each arm meets is told by the environment:
// ROAD_CONTROL, ROAD_FAULT, ROAD_REMEDY and ROAD_DEAD_END are orders to the fake (fake_cublas.cpp).
#include "harness/injection/counterparts.hpp"
#include "harness/injection/sweep.hpp"
#include "harness/kit/products.hpp"
#include "harness/model/properties.hpp"
#include "harness/trial/observe.hpp"

#include <cuda_runtime.h>

#include <dlfcn.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace cufault {
std::vector<failure_case> framework_cases(const std::string& family,
                                          std::string_view only);  // cases/frameworks
}

const std::vector<cufault::case_properties>& cufault::all_properties() {
  static const std::vector<case_properties> all = [] {
    std::vector<case_properties> of_all;
    for (const char* name :
         {"road.create", "road.ladder", "road.limits", "road.set_up", "road.ends", "road.races", "road.rows",
          "road.shared", "road.turns", "road.twin", "matrix.absent", "matrix.alone", "matrix.early",
          "matrix.held", "matrix.full", "matrix.held_early", "matrix.older_library", "matrix.spoilt_proof",
          "matrix.lasting"})
      of_all.push_back({name, "quick", "host", memory_class::shared, 60});
    for (const char* name : {"road.compared", "road.configured", "matrix.harmless"})
      of_all.push_back({name, "full", "host", memory_class::shared, 60});
    for (const char* name : {"road.moves", "sweep.road"})
      of_all.push_back({name, "nightly", "host", memory_class::shared, 60});
    of_all.push_back({"road.on_a_gpu", "quick", "gpu", memory_class::exclusive, 60});
    of_all.push_back({"pytorch.on_the_cpu", "quick", "host", memory_class::shared, 60, false, true});
    of_all.push_back({"pytorch.operations", "full", "host", memory_class::shared, 60, false, true});
    return of_all;
  }();
  return all;
}

namespace cufault {
namespace {

std::map<std::string, std::string> order(const char* variable, const char* usual) {
  const char* told = std::getenv(variable);
  return {{"FAKE_CUBLAS_CREATE", told != nullptr ? told : usual}};
}

/// Where ROAD_TIMES names a file: the process of each trial, as it begins.
void note_process() {
  if (const char* file = std::getenv("ROAD_TIMES")) std::ofstream(file, std::ios::app) << getpid() << '\n';
}

void create(trial&) {
  note_process();
  cublasHandle_t handle = nullptr;
  CUFAULT_OBSERVE(cublasCreate(&handle));
}

void fail_then_apply(trial& t) {
  cublasHandle_t handle = nullptr;
  if (t.stage() == 0) {
    setenv("FAKE_CUBLAS_CREATE", order("ROAD_FAULT", "3").begin()->second.c_str(), 1);
    CUFAULT_OBSERVE(cublasCreate(&handle));
    t.apply("the cure");
    t.continue_in_new_process(order("ROAD_REMEDY", "0"));
    return;
  }
  CUFAULT_OBSERVE(cublasCreate(&handle));
}

void search(trial& t) {
  setenv("FAKE_CUBLAS_CREATE", t.level() < 37 ? "3" : "0", 1);
  create(t);
}

/// "road.NAME", with a control.
failure_case road(const char* name, const char* summary, void (*control)(trial&) = create) {
  failure_case c;
  c.name = std::string("road.") + name;
  c.summary = summary;
  c.arms = {{.name = "control", .kind = arm_kind::control, .body = control, .needs = need::host}};
  return c;
}

arm& add_fault(failure_case& c, const char* name, std::function<void(trial&)> body) {
  return c.arms.emplace_back(
      arm{.name = name, .kind = arm_kind::fault, .body = std::move(body), .needs = need::host});
}

failure_case road_create() {
  failure_case c = road("create", "a fake failure");
  arm& fault = add_fault(c, "fault", create);
  fault.claims = {"S0-5"};
  fault.environment = order("ROAD_FAULT", "3");
  fault.timeout = std::chrono::seconds(2);
  arm& remedy = add_fault(c, "remedy", fail_then_apply);
  remedy.kind = arm_kind::remedy;
  remedy.claims = {"S0-14"};
  remedy.timeout = std::chrono::seconds(10);
  arm& dead_end = add_fault(c, "dead_end", create);
  dead_end.kind = arm_kind::dead_end;
  dead_end.environment = order("ROAD_DEAD_END", "3");
  c.arms[0].environment = order("ROAD_CONTROL", "0");
  for (arm& a : c.arms) a.shares_process = a.name != "remedy";
  return c;
}

failure_case road_levels() {
  failure_case c = road("ladder", "an edge at 37");
  add_fault(c, "climb", search).levels = level_range{"rungs", {0, 16, 64, 128}, 1};
  return c;
}

void count_files(trial& t) {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  t.measure("files that may be open", static_cast<double>(files.rlim_cur));
  create(t);
}

failure_case road_limits() {
  failure_case c = road("limits", "a trial that limits itself", count_files);
  add_fault(c, "limited", count_files).limits = {.open_files = 64};
  return c;
}

failure_case road_set_up() {
  failure_case c =
      road("set_up", "set-up that fails", [](trial&) { throw setup_failed("the table is not laid"); });
  add_fault(c, "fault", create);
  return c;
}

cublasStatus_t crash() {
  raise(SIGSEGV);
  return CUBLAS_STATUS_SUCCESS;
}

void litter_and_crash(trial& t) {
  std::filesystem::create_directories(t.scratch() / "closed" / "within");
  std::ofstream(t.scratch() / "closed" / "file") << "litter";
  std::filesystem::permissions(t.scratch() / "closed", std::filesystem::perms::none);
  std::filesystem::permissions(t.scratch(), std::filesystem::perms::none);
  CUFAULT_OBSERVE_AS("cublasSgemm", "crash", crash());
}

cublasHandle_t kept = nullptr;

void destroy_at_exit(trial& t) {
  CUFAULT_OBSERVE(cublasCreate(&kept));
  std::atexit([] { CUFAULT_OBSERVE(cublasDestroy(kept)); });
  t.end_through_exit();
}

void create_in_a_child(trial& t) {
  t.in_forked_child([&] { create(t); });
  create(t);
}

void crash_in_a_child(trial& t) {
  create(t);
  t.note("cudaGetErrorString", "no error");
  t.in_forked_child([] { CUFAULT_OBSERVE_AS("cublasSgemm", "crash", crash()); });
}

void load_the_other_pair(trial& t) {
  const cublas_paths other = trial::other_libraries();
  CUFAULT_OBSERVE_AS("load.cublas", "", load_cublas({other.cublas.parent_path() / "text", {}}));
  CUFAULT_OBSERVE_AS("load.cublas", "", load_cublas(other));
  create(t);
}

void tell_rows(trial& t, const std::vector<std::string>& came_to) {
  for (const std::string& each : came_to) t.measure("a row came to '" + each + "'", 1);
}

/// A table of calls: what each row does stands in its variant.
status_record come_to(const std::string& what) {
  if (what == "crashes") raise(SIGSEGV);
  if (what == "exits") _exit(3);
  while (what == "hangs") pause();
  if (what == "fails") return record_of(CUBLAS_STATUS_INVALID_VALUE).with("blamed", std::int64_t{8});
  return record_of(CUBLAS_STATUS_SUCCESS).with("written", std::vector<std::string>{"C"});
}

void rows(trial& t) {
  static const std::vector<std::string> names{"returns", "crashes", "fails", "exits", "hangs", "returns"};
  const auto set_up = []() -> trial::row_function {
    const auto handle = std::make_shared<cublasHandle_t>();
    CUFAULT_REQUIRE(cublasCreate(handle.get()));
    return [handle](std::size_t row) {
      observe_call({"cublasSgemm", names[row]}, [&] { return come_to(names[row]); });
    };
  };
  tell_rows(t, t.for_each_row(names.size(), set_up, std::chrono::seconds(1)));
}

void rows_without_set_up(trial& t) {
  t.for_each_row(2, []() -> trial::row_function { throw setup_failed("no table"); });
}

void crash_between_rows(trial& t) {
  t.for_each_row(2, [] { return trial::row_function{[](std::size_t) { raise(SIGSEGV); }}; });
}

void late_between_rows(trial& t) {
  t.for_each_row(
      1, [] { return trial::row_function{[](std::size_t) { pause(); }}; }, std::chrono::milliseconds(100));
}

/// Takes longer than its patience of 2 s in two ways that are allowed: before its calls, and in several calls together.
void slow_row(trial& t) {
  const auto set_up = [] {
    return trial::row_function{[](std::size_t) {
      std::this_thread::sleep_for(std::chrono::seconds(3));
      for (int call = 0; call < 25; ++call)
        observe_call({"cublasSgemm", "row"}, [] {
          std::this_thread::sleep_for(std::chrono::milliseconds(100));
          return come_to("returns");
        });
    }};
  };
  t.for_each_row(1, set_up, std::chrono::seconds(2));
}

void row_without_its_function(trial& t) {
  const auto came_to = t.for_each_row(3, [] {
    return trial::row_function{[](std::size_t row) {
      observe_call({"cublasSgemm", "row"}, [&]() -> status_record {
        if (row == 1) throw missing_symbol("it has no cublasNew");
        return record_of(CUBLAS_STATUS_SUCCESS);
      });
    }};
  });
  tell_rows(t, came_to);
}

void hear_the_library_log(trial& t) {
  int errors = 0;
  t.on_library_log([&](int level, std::string_view message) {
    if (level == 1 && message == "refused") ++errors;
  });
  t.library_logged(1, "cublasLtMatmul", "refused");
  t.library_logged(4, "cublasLtMatmul", "a hint");
  t.on_library_log({});
  t.library_logged(1, "cublasLtMatmul", "refused");
  t.measure("errors heard", errors);
  observe_call({"cublasLtMatmul"}, [] { return CUBLAS_STATUS_INVALID_VALUE; });
}

failure_case road_rows() {
  failure_case c = road("rows", "tables of calls");
  add_fault(c, "rows", rows);
  add_fault(c, "rows_without_set_up", rows_without_set_up);
  add_fault(c, "crash_between_rows", crash_between_rows);
  add_fault(c, "late_between_rows", late_between_rows);
  add_fault(c, "slow_row", slow_row);
  add_fault(c, "row_without_its_function", row_without_its_function);
  add_fault(c, "hear_the_library_log", hear_the_library_log);
  return c;
}

failure_case road_ends() {
  failure_case c = road("ends", "unusual ends and beginnings of trials");
  add_fault(c, "litter", litter_and_crash);
  add_fault(c, "at_exit", destroy_at_exit);
  add_fault(c, "fork", create_in_a_child);
  add_fault(c, "fork_crash", crash_in_a_child).claims = {"S0-6"};
  add_fault(c, "thorough", create);
  arm& mixed = add_fault(c, "other_pair", load_the_other_pair);
  mixed.other_cublas = mixed.binds_itself = true;
  c.in_tier = {"control", "litter", "at_exit", "fork", "fork_crash", "other_pair"};
  return c;
}

/// Fails every fourth time, told by a file that outlives the trial.
void fail_now_and_then(trial& t) {
  const std::string file = std::getenv("ROAD_COUNTER");
  int count = 0;
  std::ifstream(file) >> count;
  std::ofstream(file) << count + 1;
  setenv("FAKE_CUBLAS_CREATE", count % 4 == 3 ? order("ROAD_FAULT", "3").begin()->second.c_str() : "0", 1);
  create(t);
}

/// In the folder ROAD_TURNS the file ARM has the orders of its trials, a line each; fails without.
std::function<void(trial&)> taking_turns(const std::string& arm) {
  return [arm](trial& t) {
    t.measure("process", getpid());
    t.measure("seed", static_cast<double>(fresh_seed() >> 32));
    const char* const folder = std::getenv("ROAD_TURNS");
    std::string order = "3", rest;
    if (folder != nullptr) {
      std::ifstream turns(std::filesystem::path(folder) / arm);
      std::getline(turns, order);
      rest.assign(std::istreambuf_iterator<char>(turns), {});
      std::ofstream(std::filesystem::path(folder) / arm) << rest;
    }
    setenv("FAKE_CUBLAS_CREATE", order.empty() ? "3" : order.c_str(), 1);
    create(t);
  };
}

failure_case road_turns() {
  failure_case c = road("turns", "trials that come out otherwise");
  for (int i = 0; i < 12; ++i) {
    const std::string name = "arm_" + std::to_string(i);
    add_fault(c, name.c_str(), taking_turns(name));
  }
  for (const char* name : {"in_a_batch", "in_it_too"}) {
    arm& a = add_fault(c, name, taking_turns(name));
    a.shares_process = true;
    a.batch = "batch";
  }
  return c;
}

/// Says in its first trial, told by a file that outlives the trial, that another process moved device memory.
void find_that_memory_moved_once(trial& t) {
  const std::string file = std::getenv("ROAD_COUNTER");
  if (!std::filesystem::exists(file)) {
    std::ofstream(file) << 1;
    throw memory_moved("4 MiB became free");
  }
  create(t);
}

failure_case road_moves() {
  failure_case c = road("moves", "another process moves device memory");
  add_fault(c, "once", find_that_memory_moved_once);
  return c;
}

failure_case road_races() {
  failure_case c = road("races", "one in four fails");
  c.failures = {"F-MEM-01", "F-NONE-01"};  // the second one is of no legend
  arm& now_and_then = add_fault(c, "now_and_then", fail_now_and_then);
  now_and_then.repeats = 20;
  now_and_then.races = "a counter";
  return c;
}

status_record allocate(std::size_t bytes) {
  void* memory = std::malloc(bytes);
  const bool allocated = memory != nullptr;
  std::free(memory);
  return {.status = allocated ? "ALLOCATED" : "NO_HOST_MEMORY", .ok = allocated};
}

constexpr std::size_t refused_by_rule = 54321;

void ask_for_too_much(trial&) {
  std::size_t bytes = in_counterpart() ? refused_by_rule : SIZE_MAX / 2;
  CUFAULT_OBSERVE_AS("cudaMalloc", "squeezed", allocate(bytes));
  CUFAULT_OBSERVE_AS("cudaMalloc", "one_byte", allocate(1));
}

failure_case road_counterpart() {
  failure_case c = road("twin", "more host memory than there is");
  add_fault(c, "too_much", ask_for_too_much);
  add_fault(c, "too_much_twice", ask_for_too_much);
  const auto rule = [](const char* more) {
    return R"({"rules": [{"function": "malloc", "min_bytes": )" + std::to_string(refused_by_rule) +
           R"(, "max_bytes": )" + std::to_string(refused_by_rule) + R"(, "return": "ENOMEM")" + more + "}]}";
  };
  add_counterpart(c, "too_much", rule(""));
  add_counterpart(c, "too_much_twice", rule(R"(, "skip": 1)"));
  return c;
}

// ---- arms that share a process, and what each leaves in it ----

void tell_process(trial& t) {
  t.measure("process", getpid());
  create(t);
}

failure_case road_shared() {
  failure_case c = road("shared", "trials one after another in a process", tell_process);
  c.arms[0].shares_process = true;
  const auto add = [&](const char* name, std::function<void(trial&)> body) -> arm& {
    arm& a = add_fault(c, name, std::move(body));
    a.shares_process = true;
    return a;
  };
  const auto leaving = [&](const char* name, void (*leave)()) {
    add(name, [leave](trial& t) {
      tell_process(t);
      leave();
    });
  };
  add("nothing", tell_process);
  add("nothing_again", tell_process);
  add("apart", tell_process).shares_process = false;
  const auto ends_batch = [](trial& t) {
    tell_process(t);
    t.share_no_further("it says so");
  };
  add("batch_ends", ends_batch).batch = "batch";
  add("batch_goes_on", tell_process).batch = "batch";
  add("elsewhere", tell_process).environment = {{"FAKE_CUBLAS_CREATE", "3"}};
  add("repeats", tell_process).repeats = 3;
  leaving("a_descriptor", [] { static_cast<void>(dup(STDERR_FILENO)); });
  leaving("the_environment", [] { setenv("ROAD_LITTER", "1", 1); });
  leaving("a_variable_less", [] { unsetenv("HOME"); });
  leaving("a_folder", [] { std::filesystem::current_path("/"); });
  leaving("a_last_error", [] { cudaGetErrorString(cudaSetDevice(99)); });
  leaving("a_thread", [] {
    std::thread([] {
      while (true) pause();
    }).detach();
  });
  leaving("a_child", [] {
    if (fork() == 0)
      while (true) pause();
  });
  add("set_up", [](trial&) { throw not_provoked("nothing to share"); });
  add("crash", [](trial&) { CUFAULT_OBSERVE_AS("cublasSgemm", "crash", crash()); });
  add("exit", [](trial&) { _exit(5); });
  add("hang", [](trial&) {
    observe_call({"cublasSgemm", "hang"}, []() -> status_record {
      while (true) pause();
    });
  }).timeout = std::chrono::seconds(1);
  add("fork", create_in_a_child);
  add("folder", [](trial& t) {
    static_cast<void>(t.scratch());
    create(t);
  });
  return c;
}

failure_case road_on_a_gpu() {
  failure_case c = road("on_a_gpu", "needs a GPU");
  add_fault(c, "fault", create);
  for (arm& a : c.arms) a.needs = need::gpu;
  return c;
}

/// Calls the driver in ROAD_DRIVER (injector/fake_driver.cpp), and answers each failure in a way of its own.
class driver_calls final : public operation {
 public:
  driver_calls() = default;
  ~driver_calls() override {
    if (kept_ != 0) entry<int(std::uint64_t)>("cuMemFree_v2")(kept_);
  }
  driver_calls(const driver_calls&) = delete;
  driver_calls& operator=(const driver_calls&) = delete;
  status_record make() override {
    static bool spoilt = false;
    wrong_ = false;
    int count = 0;
    if (spoilt || entry<int(int*)>("cuDriverGetVersion")(&count) != 0) {
      spoilt = true;  // persistently
      return record_of(CUBLAS_STATUS_NOT_INITIALIZED);
    }
    if (const char* const first_ever = told_in_sweep("ROAD_FIRST");
        first_ever != nullptr && !std::filesystem::exists(first_ever)) {
      std::ofstream(first_ever) << '.';
      unsigned flags = 0;
      entry<int(int, unsigned*, int*)>("cuDevicePrimaryCtxGetState")(0, &flags, &count);
    }
    const auto devices = entry<int(int*)>("cuDeviceGetCount");
    if (devices(&count) != 0 && devices(&count) != 0)  // tries again, elsewhere
      return record_of(CUBLAS_STATUS_INTERNAL_ERROR);
    const auto current = entry<int(const void**)>("cuCtxGetCurrent");
    const void* context = nullptr;
    for (int i = 0; i < 4; ++i)
      if (current(&context) != 0 && i == 0) return record_of(CUBLAS_STATUS_EXECUTION_FAILED);
    const auto allocate = entry<int(std::uint64_t*, std::size_t)>("cuMemAlloc_v2");
    std::uint64_t first = 0, second = 0;
    if (allocate(&first, 1000) != 0) return record_of(CUBLAS_STATUS_ALLOC_FAILED);
    if (allocate(&second, 24) != 0)
      return record_of(CUBLAS_STATUS_ALLOC_FAILED);     // and leaves the first behind
    entry<int(std::uint64_t)>("cuMemFree_v2")(second);  // swallows what it returns
    for (int i = 0; i < 3; ++i) wrong_ = entry<int(int*)>("cuCtxGetDevice")(&count) != 0 || wrong_;
    if (entry<int(unsigned)>("cuInit")(0) != 0) raise(SIGSEGV);
    if (kept_ != 0) entry<int(std::uint64_t)>("cuMemFree_v2")(kept_);
    kept_ = first;
    return record_of(CUBLAS_STATUS_SUCCESS);
  }
  product_result check() override { return {.right = !wrong_}; }
  /// Where ROAD_USES names a file, which counts the uses in all processes of the sweep, only the first ROAD_RIGHT_USES are right.
  product_result multiply() override {
    const char* const uses = told_in_sweep("ROAD_USES");
    if (uses == nullptr) return {.right = true};
    std::ofstream(uses, std::ios::app) << '.';
    return {.right = std::filesystem::file_size(uses) <= std::stoul(std::getenv("ROAD_RIGHT_USES"))};
  }

 private:
  /// A variable of the environment; not in the control, which no injector is in: it may run beside the sweep.
  static const char* told_in_sweep(const char* variable) {
    return dlsym(RTLD_DEFAULT, "cufault_injections") != nullptr ? std::getenv(variable) : nullptr;
  }
  template <class Function>
  static Function* entry(const char* name) {
    static void* const driver = dlopen(std::getenv("ROAD_DRIVER"), RTLD_LAZY);
    if (driver == nullptr) throw setup_failed(dlerror());
    return reinterpret_cast<Function*>(dlsym(driver, name));
  }
  std::uint64_t kept_ = 0;
  bool wrong_ = false;
};

failure_case sweep_road() {
  failure_case c = sweeping::sweep_case({.name = "road",
                                         .step = {"cublasCreate"},
                                         .summary = "calls of a driver",
                                         .fresh = [] { return std::make_unique<driver_calls>(); },
                                         .handle = own_handle::none,
                                         .needs_context = false});
  for (arm& a : c.arms) a.needs = need::host;
  return c;
}

/// Fails where code is loaded eagerly or a workspace is configured.
void create_as_configured(trial&) {
  const auto told = [](const char* variable) {
    const char* value = std::getenv(variable);
    return std::string_view(value != nullptr ? value : "");
  };
  const bool fails = told("CUDA_MODULE_LOADING") == "EAGER" || !told("CUBLAS_WORKSPACE_CONFIG").empty();
  setenv("FAKE_CUBLAS_CREATE", fails ? "3" : "0", 1);
  cublasHandle_t handle = nullptr;
  CUFAULT_OBSERVE(cublasCreate(&handle));
}

failure_case road_configured() {
  failure_case c = road("configured", "creates in the usual environment");
  c.add("create", arm_kind::fault, "as the environment has it", create_as_configured).needs = need::host;
  return c;
}

failure_case road_compared() {
  failure_case c = road_configured();
  c.name = "road.compared";
  c.summary = "creates with lazy and with eager loading";
  arm& eager = c.add("create_eager", arm_kind::fault, "with eager loading", create_as_configured);
  eager.needs = need::host;
  eager.environment["CUDA_MODULE_LOADING"] = "EAGER";
  return c;
}

/// By the framework's own name: framework_trials knows no other. `bmm` is given little time.
failure_case operations_of_a_framework() {
  failure_case c;
  c.name = "pytorch.operations";
  c.summary = "operations of a framework, of which one may hang";
  c.add_framework("control", arm_kind::control, "a product");
  c.add_framework("bmm", arm_kind::fault, "products of a batch").timeout = std::chrono::seconds(5);
  c.add_framework("addmm", arm_kind::fault, "a product that is added");
  for (arm& a : c.arms) a.needs = need::host;
  c.add_framework("on_a_gpu", arm_kind::fault, "a product that needs a GPU");
  c.share_process();
  return c;
}

const register_case first{road_create()}, second{road_levels()}, third{road_set_up()},
    fourth{road_on_a_gpu()}, fifth{road_limits()}, sixth{road_ends()}, seventh{road_races()},
    moves{road_moves()}, turns{road_turns()}, shared{road_shared()}, eighth{road_rows()}, ninth{sweep_road()},
    tenth{road_counterpart()}, configured{road_configured()}, compared{road_compared()},
    operations{operations_of_a_framework()};
const register_cases on_the_cpu{
    "pytorch", [](std::string_view only) {
      std::vector<failure_case> all = framework_cases("pytorch", only);
      std::erase_if(all, [](const failure_case& c) { return c.name != "pytorch.on_the_cpu"; });
      return all;
    }};

}  // namespace
}  // namespace cufault
