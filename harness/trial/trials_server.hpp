// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/target.hpp"

namespace cufault {

/// Runs trials one after another, as requests come on standard input: {"case", "arm", "seed", "alone"}, a line each; `alone`: nothing
/// else uses the GPU. What a trial tells goes to report_fd as ever. Then a line on standard input, which is a socket, says what the
/// trial damaged in this process: nothing, if it is empty. Ends at the end of the input. `gpu`: trials on a GPU are to come.
int serve_trials(const target& where, bool gpu);

}  // namespace cufault
