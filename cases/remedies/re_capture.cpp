// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
//
// Recommended by  this project, to see whether the failure is one of the invalidated capture alone.
// Expected to help because  an invalidated capture takes no more work, and can only be ended.
#include "harness/matrix/remedy.hpp"
#include "harness/matrix/world.hpp"

namespace cufault {
namespace {

const register_remedy here{{.name = "re_capture",
                            .words = "end the capture, begin another one, then again",
                            .answers = {"capture"},
                            .after = [](world& w) { w.undo(); },
                            .fault_again = true}};

}  // namespace
}  // namespace cufault
