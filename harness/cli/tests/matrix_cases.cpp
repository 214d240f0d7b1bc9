// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// A matrix of operations, faults and remedies that need no GPU: what a fault leaves is a word in this process.
#include "harness/binding/cublas_binding.hpp"
#include "harness/matrix/cells.hpp"
#include "harness/matrix/world.hpp"
#include "harness/trial/observe.hpp"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cufault {
namespace {

enum class state { sound, broken } now = state::sound;
int provoked = 0, made_since = 0;
thread_local int errors_left = 0;  // as a runtime keeps its last error
bool prevented = false, proof_crashes = false;
thread_local bool thread_of_the_fault = false;

class fake_operation final : public operation {
 public:
  explicit fake_operation(bool crashes) : crashes_(crashes) {}
  void load_for_check() override { loads_ += now == state::sound ? 1 : 100; }  // 100: under the fault
  void prepare() override {
    if (crashes_ && now == state::broken) raise(SIGSEGV);
    if (now == state::broken && prepared_) throw setup_failed("nothing can be written");
    prepared_ = true;
  }
  status_record make() override {
    if (std::getenv("ROAD_SPOILT") != nullptr) return record_of(CUBLAS_STATUS_NOT_SUPPORTED);
    if (now == state::sound) return record_of(CUBLAS_STATUS_SUCCESS);
    trial::current().measure("faults of its process", provoked);
    trial::current().measure("operations before it", made_since++);
    trial::current().measure("process", getpid());
    trial::current().measure("errors left in its thread", errors_left++);
    trial::current().measure("loads for its check", loads_);
    if (crashes_) raise(SIGSEGV);
    return record_of(warm_ ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_INTERNAL_ERROR);
  }
  product_result check() override {
    if (proof_crashes) raise(SIGSEGV);
    warm_ = true;
    return {.right = true};
  }
  product_result multiply() override { return {.right = true}; }

 private:
  bool crashes_, prepared_ = false, warm_ = false;
  int loads_ = 0;
};

/// Its function is not in the library.
class missing_operation final : public operation {
 public:
  void prepare() override {}
  status_record make() override { throw missing_symbol("it has no cublasNew"); }
  product_result check() override { return {.right = true}; }
  product_result multiply() override { return {.right = true}; }
};

operation_type operation_called(const char* name) {
  operation_type o;
  o.name = name;
  o.step = {"cublasSgemm", name};
  o.summary = name;
  o.fresh = [name] { return std::make_unique<fake_operation>(std::string(name) == "crashing"); };
  o.needs_context = false;
  o.representative = true;
  return o;
}

const std::vector<operation_type> operations = [] {
  std::vector<operation_type> all;
  for (const char* name : {"crashing", "first", "second", "third"}) {
    operation_type o = operation_called(name);
    if (o.name == "first") o.smaller = "third";
    all.push_back(std::move(o));
  }
  return all;
}();

const std::vector<operation_type> operations_of_a_newer_library = [] {
  operation_type missing = operation_called("missing");
  missing.fresh = [] { return std::make_unique<missing_operation>(); };
  return std::vector{missing, operation_called("there")};
}();

const std::vector<remedy_type> remedies{
    {.name = "new_process", .words = "again in a new process", .answers = {"broken"}, .new_process = true},
    {.name = "release",
     .words = "undo it, then again",
     .answers = {"broken"},
     .after = [](world& w) { w.undo(); }},
    {.name = "retry",
     .words = "again at once",
     .answers = {"broken"},
     .after = [](world& w) { w.of_cell().enter(); }},
    {.name = "no_memory",
     .words = "memory of its own, then again",
     .answers = {"full"},
     .after = [](world&) { throw setup_failed("no memory for the remedy"); }},
    {.name = "no_memory_anew",
     .words = "memory of its own, then another one",
     .answers = {"full"},
     .new_operation = true,
     .to_new = [](world&) { throw setup_failed("no memory for the remedy"); }},
    {.name = "spoil", .words = "ROAD_SPOILT=1", .answers = {"broken"}, .environment = {{"ROAD_SPOILT", "1"}}},
    {.name = "anew",
     .words = "undo it, prepare, and do it again",
     .answers = {"held"},
     .after = [](world& w) { w.undo(); },
     .fault_again = true},
    {.name = "smaller",
     .words = "a smaller one",
     .answers = {"held"},
     .new_operation = true,
     .instead = &operation_type::smaller},
    {.name = "in_new_thread",
     .words = "by another thread",
     .answers = {"held"},
     .new_operation = true,
     .to_new =
         [](world& w) {
           static_cast<void>(w.of_cell());
           w.of_trial().measure("thread of the fault", thread_of_the_fault ? 1 : 0);
         },
     .in_new_thread = true},
    {.name = "restart",
     .words = "in a new process that is broken",
     .answers = {"held"},
     .new_process = true,
     .at_restart = [](trial&) { now = state::broken; }},
    {.name = "restart_in_its_place",
     .words = "in a new process that is broken, when this one has ended",
     .answers = {"held"},
     .new_process = true,
     .process_ends = true,
     .at_restart = [](trial&) { now = state::broken; }},
    {.name = "look",
     .words = "ROAD_LOOK=1",
     .answers = {"proof"},
     .environment = {{"ROAD_LOOK", "1"}},
     .diagnosis = true},
    {.name = "prevent", .words = "prevent it", .answers = {"held"}, .before = [](world&) {
       prevented = true;
     }}};

fault_type broken(const char* name, isolation cells) {
  return {.name = name,
          .summary = "the process is broken",
          .kind = "broken",
          .cells = cells,
          .provoke = [](world& w) {
            now = state::broken;
            ++provoked;
            w.undo_by([] { now = state::sound; });
            w.renew_by([] { now = state::broken; });
          }};
}

const fault_type alone = broken("alone", isolation::process), lasting = broken("lasting", isolation::lasting);
const fault_type early = [] {
  fault_type f = broken("early", isolation::lasting);
  f.before_operation = true;
  return f;
}();
const fault_type older_library = broken("older_library", isolation::lasting);
const fault_type absent = [] {
  fault_type f = broken("absent", isolation::lasting);
  f.provoke = [](world&) { throw not_provoked("it cannot be brought about here"); };
  return f;
}();

const fault_type full = [] {
  fault_type f = broken("full", isolation::process);
  f.kind = "full";
  return f;
}();

const fault_type harmless = [] {
  fault_type f = broken("harmless", isolation::process);
  f.provoke = [](world& w) { w.undo_by([] {}); };
  return f;
}();

/// The operation succeeds, and the process ends in its proof. Under the diagnosis a call of the fault fails.
const fault_type spoilt_proof = [] {
  fault_type f = broken("spoilt_proof", isolation::lasting);
  f.kind = "proof";
  f.provoke = [](world& w) {
    proof_crashes = true;
    const bool looked_for = std::getenv("ROAD_LOOK") != nullptr;
    static_cast<void>(
        w.make({"cudaLaunchKernelExC", "fault"}, [&] { return looked_for ? cudaErrorAssert : cudaSuccess; }));
  };
  return f;
}();

struct sound_again {
  sound_again() = default;
  sound_again(const sound_again&) = delete;
  sound_again& operator=(const sound_again&) = delete;
  ~sound_again() { now = state::sound; }
};
const fault_type held = [] {
  fault_type f = broken("held", isolation::undone);
  f.kind = "held";
  f.provoke = [](world& w) {
    thread_of_the_fault = true;
    if (!std::exchange(prevented, false)) now = state::broken;
    w.keep<sound_again>();
    w.undo_by([] { now = state::sound; });
  };
  return f;
}();
const fault_type held_early = [] {
  fault_type f = held;
  f.name = "held_early";
  f.before_operation = true;
  return f;
}();

const register_cases here("matrix", [](std::string_view) {
  std::vector<failure_case> all;
  const auto add = [&all](const fault_type& f, const std::vector<operation_type>& of) {
    failure_case c = case_of(f, {of, remedies});
    for (arm& a : c.arms) {
      a.needs = need::host;
      a.tier = &f == &harmless ? test_tier::full : test_tier::named;
    }
    all.push_back(std::move(c));
  };
  for (const fault_type* f :
       {&absent, &alone, &early, &full, &harmless, &held, &held_early, &lasting, &spoilt_proof})
    add(*f, operations);
  add(older_library, operations_of_a_newer_library);
  return all;
});

}  // namespace
}  // namespace cufault
