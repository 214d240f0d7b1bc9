// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// How a library comes to a thunk instead of the driver's function. Other preloaded libraries may stand in front of dlsym too: what they
// define stays in effect, in whichever order they were preloaded.
#include "harness/injector/elf.hpp"
#include "harness/injector/slots.hpp"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include <algorithm>

// Each is there where libcufault_NAME.so is preloaded.
#define CUFAULT_LIBRARY(name) \
  extern "C" const cufault::injector::library_front cufault_front_##name __attribute__((weak));
#include "libraries.inc"
#undef CUFAULT_LIBRARY

namespace cufault::injector {
namespace {

// Must not throw: callers jump to it.
using dlsym_function = void*(void* library, const char* name) noexcept;

/// The definition that the program would call without this library.
dlsym_function* next_dlsym() {
  static constinit std::atomic<void*> known{nullptr};
  if (known == nullptr) known = next_definition("dlsym");
  return reinterpret_cast<dlsym_function*>(known.load());
}

/// Never closed.
void* c_library() {
  static constinit std::atomic<void*> known{nullptr};
  if (known == nullptr) {
    const left_alone alone_now;
    known = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  }
  return known;
}

/// The C library's, asked of its own file: libraries that stand in front of dlsym may define every version of it.
dlsym_function* libc_dlsym() {
  static constinit std::atomic<void*> known{nullptr};
#if defined(__x86_64__)
  constexpr const char* version = "GLIBC_2.2.5";
#else
  constexpr const char* version = "GLIBC_2.17";
#endif
  if (known == nullptr) {
    const left_alone alone_now;
    void* found = c_library() != nullptr ? dlvsym(c_library(), "dlsym", version) : nullptr;
    void* older = found == nullptr ? dlopen("libdl.so.2", RTLD_LAZY | RTLD_NOLOAD) : nullptr;  // before 2.34
    if (older != nullptr) found = dlvsym(older, "dlsym", version);
    known = found != nullptr ? found : dlvsym(RTLD_NEXT, "dlsym", version);
  }
  return reinterpret_cast<dlsym_function*>(known.load());
}

bool is_driver(const char* path) {
  return strncmp(file_name(path), "libcuda.so", 10) == 0;
}

/// A library behind this one that stands in front of dlsym too, by its first address; null if there is none. What it finds may lie in any file.
const void* other_resolver() {
  static constinit std::atomic<int> known{0};
  static constinit std::atomic<const void*> base{nullptr};
  if (known == 0) {
    Dl_info info{};
    if (dladdr(reinterpret_cast<void*>(next_dlsym()), &info) != 0) {
      const char* name = file_name(info.dli_fname);
      const bool system = strncmp(name, "libc.so", 7) == 0 || strncmp(name, "libdl.so", 8) == 0 ||
                          strncmp(name, "libc-", 5) == 0 || strncmp(name, "libdl-", 6) == 0;
      if (!system) base = info.dli_fbase;
    }
    known = 1;
  }
  return base;
}

bool is_of_other_resolver(const void* address) {
  return other_resolver() != nullptr && place_of(address).begin == other_resolver();
}

bool is_driver_function(const char* name) {
  for (const driver_function& f : driver_functions())
    if (f.name.text == name) return true;
  return false;
}

/// In libcufault_cublas.so or its like.
bool is_front(const void* address) {
  for (const known_library& each : libraries()) {
    const library_front* front = front_of(each);
    if (front != nullptr && address >= front->begin && address < front->end) return true;
  }
  return false;
}

/// A driver or library that functions were resolved from stays loaded after the program closes it: thunks lead to where it is, and another library there would
/// be taken for it.
void keep_loaded(const Dl_info& driver) {
  static constinit std::atomic<void*> kept{nullptr};  // the last one: to keep one again does no harm
  if (kept.exchange(driver.dli_fbase) == driver.dli_fbase) return;
  const left_alone alone_now;
  dlopen(driver.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/// The definition in the files that the caller's file depends on.
void* definition_needed_by(const void* caller, const char* name) {
  Dl_info info{};
  if (dladdr(caller, &info) == 0 || info.dli_fname == nullptr || *info.dli_fname == '\0') return nullptr;
  const left_alone alone_now;
  void* scope = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (scope == nullptr) return nullptr;
  void* found = libc_dlsym()(scope, name);
  dlclose(scope);
  return is_thunk(found) || is_front(found) ? nullptr : found;
}

/// Sets what dlerror() tells where nothing was found.
void* not_found(const char* name) {
  const left_alone alone_now;
  if (c_library() != nullptr) libc_dlsym()(c_library(), name);
  return nullptr;
}

/// For a name that programs link against, which is this library's thunk: the function that it leads to. For any other address: the address
/// itself. Another library's table of functions may hold such a name.
void* behind_linked_name(void* address) {
  if (!is_thunk(address)) return address;
  const auto offset = static_cast<const char*>(address) - reinterpret_cast<const char*>(&cufault_thunks);
  const auto index = static_cast<std::uint32_t>(offset) / CUFAULT_THUNK_SIZE;
  if (index >= driver_functions().size()) return address;
  void* real = slots[index].real;
  if (real == nullptr) real = resolve_linked(index);
  return real != nullptr ? real : address;
}

/// `of`: null for a name of the driver.
void* resolved(void* handle, const char* name, const void* caller, const known_library* of) {
  read_environment();
  void* real = nullptr;
  if (handle == RTLD_NEXT) {
    // Another library's dlsym may answer RTLD_NEXT with its own function. A caller behind that library gets it, as without this library.
    if (of == nullptr && other_resolver() != nullptr && !is_of_other_resolver(caller) &&
        is_driver_function(name))
      real = behind_linked_name(next_dlsym()(handle, name));
    if (real == nullptr || !is_of_other_resolver(real)) real = definition_beside(caller, side::after, name);
    if (real == nullptr) return not_found(name);
  } else if (real = next_dlsym()(handle, name); is_thunk(real) || is_front(real)) {
    // The name that programs link against is this library's, whether there is a driver or not.
    real = default_definition(name, caller, of);
    // Another resolver may have asked everywhere, whatever library it was asked for.
    if (real == nullptr && other_resolver() != nullptr) real = libc_dlsym()(handle, name);
    if (real == nullptr || is_thunk(real) || is_front(real)) return not_found(name);
  }
  if (of != nullptr) {
    const function_name* known = function_in(*of, name);
    return known != nullptr ? wrapped_of_library(real, known->text.data(), caller, *of) : real;
  }
  Dl_info info{};
  if (real == nullptr || is_thunk(real) || dladdr(real, &info) == 0 || info.dli_fname == nullptr) return real;
  const bool others = other_resolver() != nullptr && is_driver_function(name);
  if (!is_driver(info.dli_fname) && !others) return real;
  return wrapped(real, name, library_at(caller));
}

}  // namespace

const char* file_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

module_place place_of(const void* address) {
  // dladdr looks at every symbol of the library for the nearest one; a C library that can do without is asked so.
#if __GLIBC_PREREQ(2, 35)
  dl_find_object found{};
  if (_dl_find_object(const_cast<void*>(address), &found) != 0) return {};
  const char* path = found.dlfo_link_map->l_name;
  const auto* base = reinterpret_cast<const char*>(found.dlfo_map_start);
#else
  Dl_info info{};
  if (dladdr(address, &info) == 0) return {};
  const char* path = info.dli_fname;
  const auto* base = static_cast<const char*>(info.dli_fbase);
#endif
  // The program itself has an empty name, or the one that it was started by.
  return {*path != '\0' ? path : program_invocation_name, base,
          static_cast<std::uint64_t>(static_cast<const char*>(address) - base)};
}

const library_front* front_of(const known_library& of) {
#define CUFAULT_LIBRARY(name) &cufault_front_##name,
  static constexpr const library_front* all[]{
#include "libraries.inc"
  };
#undef CUFAULT_LIBRARY
  return all[&of - libraries().data()];
}

void* default_definition(const char* name, const void* caller, const known_library* of) {
  void* next = libc_dlsym()(RTLD_NEXT, name);  // after this library in the global scope
  if (is_front(next)) next = definition_beside(next, side::after, name);
  Dl_info info{};
  const bool real = of != nullptr && next != nullptr && dladdr(next, &info) != 0 &&
                    is_file_of(*of, file_name(info.dli_fname));
  if (next != nullptr && !real) return next;
  // Of two versions of a library, that of the file that calls.
  void* needed = definition_needed_by(caller, name);
  const loaded_range own = file_around(caller);  // of a shim, which defines the name itself
  const bool is_own = static_cast<std::size_t>(static_cast<const char*>(needed) - own.begin) < own.size;
  return needed != nullptr && !is_own ? needed : next;
}

std::vector<const char*> libraries_in_front() {
  std::vector<const char*> found;
  for (const driver_function& each : driver_functions()) {
    const void* at = definition_beside(&cufault_thunks, side::before, each.name.text.data());
    const char* name = at != nullptr ? library_at(at) : nullptr;
    if (name != nullptr && std::find(found.begin(), found.end(), name) == found.end()) found.push_back(name);
  }
  return found;
}

void* wrapped_of_library(void* real, const char* name, const void* caller, const known_library& of) {
  if (real == nullptr || is_thunk(real) || is_front(real)) return real;
  const char* who = library_at(caller);
  return is_file_of(of, who) ? real
                             : wrapped(real, name, who, &of);  // what a library calls of its own is its own
}

void* wrapped(void* real, const char* asked, const char* library, const known_library* of) {
  if (of == nullptr) real = behind_linked_name(real);
  if (real == nullptr || is_thunk(real)) return real;
  Dl_info info{};
  const bool found = dladdr(real, &info) != 0;
  const bool in_front =
      found && !(of != nullptr ? is_file_of(*of, file_name(info.dli_fname)) : is_driver(info.dli_fname));
  // Another library may call its functions as it likes; the driver's name says the version.
  const bool exact = of == nullptr && found && info.dli_sname != nullptr && info.dli_saddr == real &&
                     (!in_front || function_name{info.dli_sname}.base() == function_name{asked}.base());
  if (found) keep_loaded(info);
  if (of == nullptr) watch_driver();
  locked w;
  const auto [known, is_new] =
      w->slot_of.try_emplace({real, library, of != nullptr ? asked : nullptr}, all_slots());
  if (is_new) {
    const std::uint32_t index = all_slots();
    if (index == slots.size()) {
      w->slot_of.erase(known);
      add_unwrapped(*w, asked);
      return real;
    }
    slots[index].real = real;
    slots[index].in_front = in_front;
    name_slot(*w, exact ? info.dli_sname : asked, library);
    update_slot(*w, index);
  }
  return &cufault_thunks[known->second];
}

/// The loader is asked before the mutex is taken: a thread inside of the loader may be waiting for that.
void* resolve_linked(std::uint32_t index) {
  slot& s = slots[index];
  const left_alone alone_now;
  void* next = libc_dlsym()(RTLD_NEXT, s.function.text.data());
  if (next == nullptr || is_thunk(next)) next = driver_function_at(s.function.text.data());
  Dl_info info{};
  const bool found = next != nullptr && dladdr(next, &info) != 0;
  if (found) keep_loaded(info);
  if (next != nullptr) watch_driver();
  locked w;
  if (s.real == nullptr) {
    s.in_front = found && !is_driver(info.dli_fname);
    s.real = next;
    update_slot(*w, index);
  }
  return s.real;
}

void* driver_function_at(const char* name) {
  // The one that is loaded already, by whatever path, before the one that the loader would take.
  static constinit std::atomic<void*> driver{nullptr};
  const left_alone alone_now;
  if (driver == nullptr) driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (driver == nullptr) driver = dlopen("libcuda.so.1", RTLD_LAZY);
  return driver != nullptr ? libc_dlsym()(driver, name) : nullptr;
}

}  // namespace cufault::injector

using namespace cufault::injector;

namespace {

/// Out of sight of the declaration in dlfcn.h, by which a name is never null.
bool is_driver_name(const char* name) {
  return name != nullptr && name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' && name[2] <= 'Z';
}

/// The library that the function name belongs to; null if none.
const known_library* library_meant(const char* name) {
  if (name == nullptr) return nullptr;
  const bool may_be = *name == 'c' || *name == 'n' || (name[0] == '_' && name[1] == '_');
  return may_be ? library_of(name) : nullptr;
}

}  // namespace

// A name of the driver, or of a library that rules ask for, is looked up here. For any other the last call must be a jump: the real one looks at its caller's address to know
// what RTLD_NEXT means. Under both versions of the C library's, as others ask for one of them.
CUFAULT_EXPORTED void* cufault_dlsym(void* library, const char* name) noexcept {
  if (is_driver_name(name) && !left_alone::now())
    return resolved(library, name, __builtin_return_address(0), nullptr);
  if (const auto* of = library_meant(name); of != nullptr && !left_alone::now()) {
    if (front_of(*of) != nullptr) return resolved(library, name, __builtin_return_address(0), of);
    watch_rules();  // which may ask for it later
  }
  return next_dlsym()(library, name);
}
CUFAULT_EXPORTED __attribute__((alias("cufault_dlsym"))) void* cufault_dlsym_of_old(void*,
                                                                                    const char*) noexcept;
__asm__(".symver cufault_dlsym, dlsym@@GLIBC_2.34");
#if defined(__x86_64__)
__asm__(".symver cufault_dlsym_of_old, dlsym@GLIBC_2.2.5");
#else
__asm__(".symver cufault_dlsym_of_old, dlsym@GLIBC_2.17");
#endif
