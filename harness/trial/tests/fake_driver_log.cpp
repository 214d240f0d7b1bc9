// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 with only an error log.
#include <cstddef>
#include <cstring>

namespace {
void (*callback)(void*, int, char*, std::size_t) = nullptr;
int registrations = 0;
}  // namespace

extern "C" {
int cuLogsRegisterCallback(void (*function)(void*, int, char*, std::size_t), void* /*data*/,
                           void** /*handle*/) {
  callback = function;
  ++registrations;
  return 0;
}
void fake_log(const char* message) {
  if (callback != nullptr) callback(nullptr, 0, const_cast<char*>(message), std::strlen(message));
}
int fake_registrations() {
  return registrations;
}
}
