// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/explain/tests/examples.hpp"

namespace cufault {

const lexicon& known() {
  static const lexicon all = load_lexicon(CUFAULT_EXPLAIN_FOLDER);
  return all;
}

}  // namespace cufault
