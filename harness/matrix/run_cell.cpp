// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// The trial of a cell: make the operation, warm it, bring the fault about, make the operation; with a remedy, apply it and make the
// operation again.
#include "harness/kit/neighbour.hpp"
#include "harness/matrix/cells.hpp"
#include "harness/matrix/world.hpp"
#include "harness/trial/observe.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace cufault {
namespace {

/// Keeps an object for ever: the fault may have taken what its destructor would release. A leak checker still finds it.
template <class T>
T* keep(std::unique_ptr<T> what) {
  static auto* const kept = new std::vector<std::unique_ptr<T>>;  // outlives destructors of statics
  return kept->emplace_back(std::move(what)).get();
}

/// An operation that was made ready, or the reason why not.
struct ready_operation {
  std::unique_ptr<operation> made;
  std::string why_not;
};

/// Records what stopped a proof before it compared numbers, as a step of its own.
void observe_stopped(const operation_type& type, const product_result& proof) {
  if (proof.status != CUBLAS_STATUS_SUCCESS)
    observe_call(type.product, [&] { return proof.status; });
  else
    observe_call({proof.waited_in, "after_operation"}, [&] { return proof.waited; });
}

bool was_stopped(const product_result& proof) {
  return proof.status != CUBLAS_STATUS_SUCCESS || proof.waited != cudaSuccess;
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

const status_record failed_preparation{.status = "FAILED", .ok = false};

void note_reason(const setup_failed& e) {
  trial::current().note("why it could not be prepared", e.what());
}

/// Prepares the operation while the fault may be there: many faults prevent it. Returns false with a step if it fails; a crash is recorded
/// in that step. Makes no observed call.
bool prepared(const std::function<void()>& prepare) {
  trial& t = trial::current();
  t.begin_call({"check.preparation"});
  const auto start = std::chrono::steady_clock::now();
  try {
    prepare();
  } catch (const setup_failed& e) {
    note_reason(e);
    t.end_call(failed_preparation, milliseconds_since(start));
    return false;
  } catch (...) {
    t.withdraw_call();
    throw;
  }
  t.withdraw_call();
  return true;
}

/// Returns false if the operation cannot be entered under the fault.
bool entered(operation& o) {
  return prepared([&] { o.enter(); });
}

/// Makes the operation and proves its numbers as one step. If the process ends in the proof, the proof is a step of its own.
void attempt(const operation_type& type, operation& o) {
  if (!entered(o)) return;
  std::optional<product_result> stopped;
  observe_call(type.step, [&] {
    const auto start = std::chrono::steady_clock::now();
    status_record s = o.make();
    if (!s.ok) return s;
    trial::current().call_returned(s, milliseconds_since(start));
    const product_result proof = o.check();
    if (was_stopped(proof)) {
      stopped = proof;
      return s;
    }
    const status_record numbers = record_of(proof);
    s.ok = numbers.ok;
    s.numbers = numbers.numbers;
    return s;
  });
  if (stopped) observe_stopped(type, *stopped);
}

/// The same in separate steps, with the fault's calls between them.
void attempt_in_steps(const cell& c, world& w, operation& o) {
  if (!entered(o)) return;
  const status_record made = observe_call(c.operation->step, [&] { return o.make(); });
  if (!c.fault->before_proof(w, made.ok) || !made.ok) return;
  std::optional<product_result> proof;
  observe_call({"check.numbers"}, [&] {
    proof = o.check();
    return was_stopped(*proof) ? status_record{.status = "STOPPED", .ok = false} : record_of(*proof);
  });
  if (was_stopped(*proof)) observe_stopped(*c.operation, *proof);
}

bool is_diagnosed(const cell& c) {
  return c.remedy != nullptr && c.remedy->diagnosis;
}

/// True if the fault is there before the operation is made: it says so, or consists of variables only.
bool is_early(const fault_type& f) {
  return f.before_context || f.before_operation || (!f.provoke && !f.around);
}

/// Makes the operation ready, and warm if the cell asks for it. Throws setup_failed if it fails without a fault, not_provoked if there is
/// no such operation.
std::unique_ptr<operation> made_ready(const cell& c, const operation_type& type) {
  auto o = type.fresh();
  if (!is_early(*c.fault)) o->load_for_check();
  if (c.state == handle_state::warm) {
    o->prepare();
    o->enter();
    CUFAULT_REQUIRE(o->make());
    CUFAULT_REQUIRE(o->check());
  }
  o->prepare();
  return o;
}

/// Some operations of tests need no GPU.
void open_context(trial& t) {
  if (t.needs_gpu()) t.open_context();
}

void bring_about(const cell& c, world& w) {
  // A fault may give the handle another stream, which does not wait for the preparation.
  if (!c.fault->before_context && w.of_trial().needs_gpu()) CUFAULT_REQUIRE(cudaDeviceSynchronize());
  if (c.fault->provoke) c.fault->provoke(w);
}

/// Makes the operation after the remedy. Its preparation may fail too: under many faults no memory can be written.
void attempt_after_remedy(const cell& c, const operation_type& type, world& w, operation& o) {
  const bool is_prepared = prepared([&] {
    o.prepare();
    if (c.remedy->fault_again) bring_about(c, w);
  });
  if (!is_prepared) return;
  if (c.remedy->fault_again && c.fault->before_proof)
    attempt_in_steps(c, w, o);
  else
    attempt(type, o);
}

/// Runs each cell in its own thread. A failed call can leave an error for its thread, also in the runtime inside cuBLAS, and a later call
/// would return it.
void in_its_own_thread(const trial& t, const std::function<void()>& work) {
  std::exception_ptr thrown;
  std::thread([&] {
    try {
      if (t.needs_gpu()) CUFAULT_REQUIRE(cudaSetDevice(t.device()));
      work();
    } catch (...) {
      thrown = std::current_exception();
    }
  }).join();
  if (thrown) std::rethrow_exception(thrown);
}

/// The operation that the remedy makes anew: the cell's, or the one that it substitutes.
const operation_type& new_operation_of(const cell& c, const std::vector<operation_type>& all) {
  if (c.remedy->instead == nullptr) return *c.operation;
  const std::string& name = c.operation->*c.remedy->instead;
  const auto found = std::ranges::find(all, name, &operation_type::name);
  if (found == all.end()) throw setup_failed("no operation is called " + name);
  return *found;
}

/// Runs a remedy's action, if it has one. Returns false with a step if it fails, e.g. because a damaged context cannot allocate.
bool applied(const std::function<void(world&)>& act, world& w) {
  try {
    if (act) act(w);
    return true;
  } catch (const setup_failed& e) {
    note_reason(e);
    observe_call({"check.preparation", "of_the_remedy"}, [] { return failed_preparation; });
    return false;
  }
}

void make_anew(const cell& c, const operation_type& type, world& w, std::unique_ptr<operation>& o) {
  if (!prepared([&] { o = type.fresh(); })) return;
  w.set_operation(o.get());
  if (!applied(c.remedy->to_new, w)) return;
  attempt_after_remedy(c, type, w, *o);
}

void apply_remedy(trial& t, const cell& c, world& w, std::unique_ptr<operation>& o,
                  const std::vector<operation_type>& all) {
  const remedy_type& r = *c.remedy;
  t.apply(r.words);
  w.set_operation(o.get());
  if (!applied(r.after, w)) return;
  if (r.process_ends) t.continue_in_its_place();
  if (r.new_process) {
    t.continue_in_new_process();
    return;
  }
  if (!r.new_operation) {
    attempt_after_remedy(c, *c.operation, w, *o);
    return;
  }
  w.set_operation(nullptr);
  if (c.fault->cells == isolation::undone && !r.own_process) {
    w.let_go();
    o.reset();
  } else {
    keep(std::move(o));
  }
  const operation_type& type = new_operation_of(c, all);
  if (r.in_new_thread)
    in_its_own_thread(t, [&] { make_anew(c, type, w, o); });
  else
    make_anew(c, type, w, o);
}

void observe_cell(trial& t, const cell& c, world& w, std::unique_ptr<operation>& o,
                  const std::vector<operation_type>& all) {
  const auto operate = [&] {
    if (c.fault->before_proof)
      attempt_in_steps(c, w, *o);
    else
      attempt(*c.operation, *o);
  };
  if (c.fault->around) {
    c.fault->around(w, operate);
  } else {
    operate();
  }
  if (c.fault->under_mps) note_end_of_mps_daemon();
  if (c.remedy != nullptr && !c.remedy->in_place()) apply_remedy(t, c, w, o, all);
}

// ---- a fault that lasts ----

/// A process in which the fault is present, and operations that were ready before. Never destroyed: their resources cannot be released.
struct lasting_fault {
  lasting_fault(std::string of, const cell& c) : batch(std::move(of)), w(c.when, c.level, is_diagnosed(c)) {}
  std::string batch;
  world w;
  std::map<std::string, ready_operation> ready{};
  bool is_dead = false;  ///< the fault itself damages the context
};

/// Makes an operation ready, including what a remedy does from the start. One failure does not prevent other operations.
ready_operation ready_or_why(const cell& c, const operation_type& type, world& w) {
  ready_operation ready;
  try {
    ready.made = made_ready(c, type);
    w.set_operation(ready.made.get());
    if (c.remedy != nullptr && c.remedy->before) c.remedy->before(w);
  } catch (const not_provoked& e) {
    ready = {nullptr, e.what()};
  } catch (const setup_failed& e) {
    ready = {nullptr, e.what()};
  } catch (const missing_symbol& e) {
    ready = {nullptr, e.what()};
  }
  w.set_operation(nullptr);
  return ready;
}

/// Makes all operations ready and causes the fault.
std::unique_ptr<lasting_fault> bring_about_lasting(trial& t, const cell& c,
                                                   const std::vector<operation_type>& all,
                                                   const std::string& batch) {
  open_context(t);
  auto there = std::make_unique<lasting_fault>(batch, c);
  for (const operation_type& type : all) {
    if (is_early(*c.fault)) break;
    // A cell with its own process needs only its own operation.
    const bool wanted = t.shares_process() ? why_not(*c.fault, type).empty() : type.name == c.operation->name;
    if (wanted) there->ready[type.name] = ready_or_why(c, type, there->w);
  }
  try {
    if (is_early(*c.fault) && c.remedy != nullptr && c.remedy->before) c.remedy->before(there->w);
    bring_about(c, there->w);
    if (t.needs_gpu() && t.shares_process()) there->is_dead = cudaDeviceSynchronize() != cudaSuccess;
  } catch (...) {
    keep(std::move(there));  // the fault may be there in part
    throw;
  }
  return there;
}

/// The operation of the cell: made ready before the fault, or now if the fault comes first. Null, with a step, if it cannot be made under
/// the fault. Throws not_provoked if there is no such operation.
std::unique_ptr<operation> operation_of(const cell& c, lasting_fault& there) {
  if (!is_early(*c.fault)) {
    ready_operation& before = there.ready.at(c.operation->name);
    if (before.made == nullptr)
      throw not_provoked(before.why_not.empty() ? "a cell made it before" : before.why_not);
    return std::move(before.made);
  }
  std::unique_ptr<operation> made;
  prepared([&] { made = made_ready(c, *c.operation); });
  return made;
}

void run_lasting(trial& t, const cell& c, const std::vector<operation_type>& all) {
  static lasting_fault* there = nullptr;
  static std::string failed;  // if the fault fails, it fails for every cell of the process
  if (!failed.empty()) throw not_provoked(failed);
  cell_name common = name_of(c);
  common.operation = c.fault->name;
  const std::string batch = to_string(common);
  if (there == nullptr) {
    try {
      there = keep(bring_about_lasting(t, c, all, batch));
    } catch (const std::exception& e) {
      failed = std::string("the fault was not brought about: ") + e.what();
      throw;
    }
  }
  if (there->batch != batch) throw setup_failed("the process has the fault of " + there->batch);
  there->w.renew();
  std::unique_ptr<operation> o = there->w.has_failed() ? nullptr : operation_of(c, *there);
  if (o != nullptr) {
    // In every case the world and the operation's resources outlive the cell.
    const auto leave = [&] {
      there->w.set_operation(nullptr);
      if (o != nullptr) keep(std::move(o));
    };
    try {
      observe_cell(t, c, there->w, o, all);
    } catch (...) {
      leave();
      throw;
    }
    leave();
  }
  if (t.shares_process()) {
    const bool was_damaged_by_cell =
        t.needs_gpu() && !there->is_dead && cudaDeviceSynchronize() != cudaSuccess;
    if (!was_damaged_by_cell) return;
    t.share_no_further("the operation damaged the context, which the fault had not");
  }
  there->w.let_go();  // processes that it started must end before this one
}

void run_one(trial& t, const cell& c, const std::vector<operation_type>& all) {
  std::unique_ptr<operation> o;  // must outlive what the world keeps for it
  world w(c.when, c.level, is_diagnosed(c));
  const bool early = is_early(*c.fault);
  if (!c.fault->before_context) open_context(t);
  const auto prevent = [&] {
    if (c.remedy != nullptr && c.remedy->before) c.remedy->before(w);
  };
  if (early) {
    prevent();
    bring_about(c, w);
    if (w.has_failed()) return;
  }
  // Variables of a remedy are set from the start and may break the operation: that is its observed effect.
  const bool may_be_the_remedy = c.remedy != nullptr && !c.remedy->environment.empty();
  const auto make_ready = [&] { o = made_ready(c, *c.operation); };
  if (!early && !may_be_the_remedy)
    make_ready();
  else if (!prepared(make_ready))
    return;
  w.set_operation(o.get());
  if (!early) {
    prevent();
    bring_about(c, w);
  }
  if (!w.has_failed()) observe_cell(t, c, w, o, all);
  if (c.fault->cells != isolation::undone) keep(std::move(o));
}

}  // namespace

void run_cell(trial& t, const cell& c, const std::vector<operation_type>& all) {
  if (t.stage() > 0) {  // for a remedy that continues in a new process
    if (c.fault->under_mps) note_end_of_mps_daemon();
    // After a fault an MPS server may refuse a new client: that is the remedy's result.
    if (!c.fault->before_context && !prepared([&] { open_context(t); })) return;
    if (c.remedy->at_restart) c.remedy->at_restart(t);
    const auto o = c.operation->fresh();
    o->prepare();
    attempt(*c.operation, *o);
    return;
  }
  const auto run = [&] {
    c.fault->cells == isolation::lasting ? run_lasting(t, c, all) : run_one(t, c, all);
  };
  if (t.shares_process())
    in_its_own_thread(t, run);
  else
    run();
}

void run_control(trial& t, const fault_type& f, const std::vector<operation_type>& all,
                 const step_library* library) {
  open_context(t);
  for (const operation_type& type : all) {
    if (own_library_of(type) != library || !why_not(f, type).empty()) continue;
    std::unique_ptr<operation> o;
    try {
      o = type.fresh();
    } catch (const not_provoked& e) {
      t.note(type.name, e.what());
      continue;
    } catch (const missing_symbol&
                 e) {  // the library is not there, or lacks the function; the other operations are controls
      t.note(type.name, e.what());
      continue;
    }
    try {
      for (int i = 0; i < 2; ++i) {
        o->prepare();
        attempt(type, *o);
      }
    } catch (const missing_symbol& e) {
      t.note(type.name, e.what());
    }
  }
}

}  // namespace cufault
