// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/target.hpp"

namespace cufault {

/// Runs trials one after another. Requests come on standard input, a line each: {"case", "arm", "seed", "alone"}; `alone`: nothing else
/// uses the GPU. A trial's frames go to report_fd. Then a line on standard input, a socket, tells what the trial damaged in this process;
/// empty: nothing. Returns at the end of the input. `gpu`: trials on a GPU will come.
int serve_trials(const target& where, bool gpu);

}  // namespace cufault
