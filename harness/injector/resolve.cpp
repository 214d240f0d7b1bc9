// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// How a library gets a thunk instead of the driver's function. Other preloaded libraries may interpose dlsym too: their definitions stay in
// effect, in any order of preloading.
#include "harness/injector/elf.hpp"
#include "harness/injector/slots.hpp"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include <algorithm>

// Each symbol is null unless libcufault_NAME.so is preloaded.
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
    const exempt_from_rules alone_now;
    known = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  }
  return known;
}

/// dlsym of the C library's own file: interposing libraries may define every version of dlsym.
dlsym_function* libc_dlsym() {
  static constinit std::atomic<void*> known{nullptr};
#if defined(__x86_64__)
  constexpr const char* version = "GLIBC_2.2.5";
#else
  constexpr const char* version = "GLIBC_2.17";
#endif
  if (known == nullptr) {
    const exempt_from_rules alone_now;
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

/// First address of a later library that interposes dlsym too; null if there is none. Its dlsym may return functions of any file.
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

/// True in libcufault_cublas.so and its like.
bool is_front(const void* address) {
  for (const known_library& each : libraries()) {
    const library_front* front = front_of(each);
    if (front != nullptr && address >= front->begin && address < front->end) return true;
  }
  return false;
}

/// Keeps a library loaded after the program closes it: thunks hold its addresses, and another library could be mapped there.
void keep_loaded(const Dl_info& driver) {
  static constinit std::atomic<void*> kept{nullptr};  // keeping a library twice is harmless
  if (kept.exchange(driver.dli_fbase) == driver.dli_fbase) return;
  const exempt_from_rules alone_now;
  dlopen(driver.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/// The definition in the files that the caller's file depends on.
void* definition_needed_by(const void* caller, const char* name) {
  Dl_info info{};
  if (dladdr(caller, &info) == 0 || info.dli_fname == nullptr || *info.dli_fname == '\0') return nullptr;
  const exempt_from_rules alone_now;
  void* scope = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (scope == nullptr) return nullptr;
  void* found = libc_dlsym()(scope, name);
  dlclose(scope);
  return is_thunk(found) || is_front(found) ? nullptr : found;
}

/// Sets the message of dlerror() for a name that was not found.
void* not_found(const char* name) {
  const exempt_from_rules alone_now;
  if (c_library() != nullptr) libc_dlsym()(c_library(), name);
  return nullptr;
}

/// For this library's thunk of a linked name: the function behind the thunk. For any other address: the address itself. Another library's
/// table of functions may hold such a thunk.
void* behind_linked_name(void* address) {
  if (!is_thunk(address)) return address;
  const auto offset = static_cast<const char*>(address) - reinterpret_cast<const char*>(&cufault_thunks);
  const auto index = static_cast<std::uint32_t>(offset) / CUFAULT_THUNK_SIZE;
  if (index >= driver_functions().size()) return address;
  void* real = slots[index].real;
  if (real == nullptr) real = resolve_linked(index);
  return real != nullptr ? real : address;
}

/// `of` is null for a driver function.
void* resolved(void* handle, const char* name, const void* caller, const known_library* of) {
  read_environment();
  void* real = nullptr;
  if (handle == RTLD_NEXT) {
    // Another library's dlsym may answer RTLD_NEXT with its own function. A caller after that library gets this function, as it would
    // without cufault.
    if (of == nullptr && other_resolver() != nullptr && !is_of_other_resolver(caller) &&
        is_driver_function(name))
      real = behind_linked_name(next_dlsym()(handle, name));
    if (real == nullptr || !is_of_other_resolver(real)) real = definition_beside(caller, side::after, name);
    if (real == nullptr) return not_found(name);
  } else if (real = next_dlsym()(handle, name); is_thunk(real) || is_front(real)) {
    // The linked name is defined by this library, even without a driver.
    real = default_definition(name, caller, of);
    // Another interposing dlsym may have searched all libraries, whichever it was asked for.
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
  // dladdr searches every symbol for the nearest one. Newer C libraries can find the file alone.
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
  // The program itself has an empty name, or the name it was started by.
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
  void* next = libc_dlsym()(RTLD_NEXT, name);  // the next definition after this library in the global scope
  if (is_front(next)) next = definition_beside(next, side::after, name);
  Dl_info info{};
  const bool real = of != nullptr && next != nullptr && dladdr(next, &info) != 0 &&
                    is_file_of(*of, file_name(info.dli_fname));
  if (next != nullptr && !real) return next;
  // With two versions of a library loaded, take the one that the calling file needs.
  void* needed = definition_needed_by(caller, name);
  const loaded_range own = file_around(caller);  // the range of a shim that defines the name itself
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
                             : wrapped(real, name, who, &of);  // a library's calls of itself stay as they are
}

void* wrapped(void* real, const char* asked, const char* library, const known_library* of) {
  if (of == nullptr) real = behind_linked_name(real);
  if (real == nullptr || is_thunk(real)) return real;
  Dl_info info{};
  const bool found = dladdr(real, &info) != 0;
  const bool in_front =
      found && !(of != nullptr ? is_file_of(*of, file_name(info.dli_fname)) : is_driver(info.dli_fname));
  // Other libraries may name their functions freely; a driver function's name contains its version.
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

/// Asks the loader before it takes the mutex: a thread inside the loader may be waiting for the mutex.
void* resolve_linked(std::uint32_t index) {
  slot& s = slots[index];
  const exempt_from_rules alone_now;
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
  // Prefers the driver that is already loaded, by whatever path, to the one that the loader would find.
  static constinit std::atomic<void*> driver{nullptr};
  const exempt_from_rules alone_now;
  if (driver == nullptr) driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (driver == nullptr) driver = dlopen("libcuda.so.1", RTLD_LAZY);
  return driver != nullptr ? libc_dlsym()(driver, name) : nullptr;
}

}  // namespace cufault::injector

using namespace cufault::injector;

namespace {

/// Hides the name from the compiler: dlfcn.h declares it nonnull.
bool is_driver_name(const char* name) {
  return name != nullptr && name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' && name[2] <= 'Z';
}

/// The library to which the function name belongs; null if none.
const known_library* library_meant(const char* name) {
  if (name == nullptr) return nullptr;
  const bool may_be = *name == 'c' || *name == 'n' || (name[0] == '_' && name[1] == '_');
  return may_be ? library_of(name) : nullptr;
}

}  // namespace

// Looks up names of the driver, and of libraries that rules name. For all other names the last call must be a jump: the real dlsym reads
// its caller's address to resolve RTLD_NEXT. Defined under both versions of the C library's dlsym, since programs ask for either.
CUFAULT_EXPORTED void* cufault_dlsym(void* library, const char* name) noexcept {
  if (is_driver_name(name) && !exempt_from_rules::now())
    return resolved(library, name, __builtin_return_address(0), nullptr);
  if (const auto* of = library_meant(name); of != nullptr && !exempt_from_rules::now()) {
    if (front_of(*of) != nullptr) return resolved(library, name, __builtin_return_address(0), of);
    watch_rules();  // rules may name it later
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
