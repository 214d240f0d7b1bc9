// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/kit/operation.hpp"
#include "harness/matrix/fault.hpp"
#include "harness/trial/observe.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace cufault {

/// What faults and remedies of a cell see and act on.
class world {
 public:
  world(timing when, std::optional<std::int64_t> level, bool diagnosed = false)
      : when_(when), level_(level), diagnosed_(diagnosed) {}
  ~world() { let_go(); }
  world(const world&) = delete;
  world& operator=(const world&) = delete;

  [[nodiscard]] trial& of_trial() const { return trial::current(); }
  [[nodiscard]] timing when() const { return when_; }
  [[nodiscard]] std::int64_t level() const;  ///< throws setup_failed where the fault has none

  /// The operation of the cell. A lasting fault has many (isolation::lasting): in its `provoke` and `renew_by` this throws setup_failed.
  [[nodiscard]] operation& of_cell() const;
  /// Handle of the operation. Throws not_provoked if it has none.
  [[nodiscard]] cublasHandle_t handle() const;

  /// Makes a call of the fault itself. Under a diagnosis (remedy_type::diagnosis) the call is a step, and if it fails, the operation is not
  /// made.
  template <class Call>
  auto make(const step_name& name, Call&& call) {
    if (!diagnosed_ || failed_) return call();
    const auto status = observe_call(name, call);
    failed_ = !record_of(status).ok;
    return status;
  }
  [[nodiscard]] bool has_failed() const { return failed_; }  ///< a call of the fault, under a diagnosis

  /// Makes an object that lives until the fault is undone, or to the end of the cell.
  template <class Object, class... Arguments>
  Object& keep(Arguments&&... arguments) {
    auto made = std::make_shared<Object>(std::forward<Arguments>(arguments)...);
    kept_.push_back(made);
    return *made;
  }
  /// How remedies undo the fault, e.g. "free the memory". Not every fault sets it.
  void undo_by(std::function<void()> undo) { undo_ = std::move(undo); }
  /// Throws not_provoked if the fault cannot be undone.
  void undo();
  /// For a lasting fault: restores what operations and remedies may have changed, such as how much memory is left. Runs before each
  /// operation, including the first.
  void renew_by(std::function<void()> renew) { renew_ = std::move(renew); }

  void set_operation(operation* o) { operation_ = o; }  ///< the engine's; not owned, may be null
  void let_go();  ///< the engine's: gives back what is kept, the latest first
  void renew() {  ///< the engine's
    if (renew_) renew_();
  }

 private:
  timing when_;
  std::optional<std::int64_t> level_;
  bool diagnosed_, failed_ = false;
  operation* operation_ = nullptr;
  std::vector<std::shared_ptr<void>> kept_;
  std::function<void()> undo_;
  std::function<void()> renew_;
};

}  // namespace cufault
