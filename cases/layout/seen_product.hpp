// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/trial.hpp"

#include <string>

namespace cufault {

/// A product, and what else was seen of it.
struct seen_product {
  product_result result;
  std::string detail;
};

inline status_record record_of(const seen_product& seen) {
  status_record record = record_of(seen.result);
  record.detail = seen.detail;
  return record;
}

}  // namespace cufault
