// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/cli/output.hpp"
#include "harness/cli/paths.hpp"
#include "harness/cli/records.hpp"
#include "harness/cli/run_arguments.hpp"
#include "harness/cli/usage_error.hpp"
