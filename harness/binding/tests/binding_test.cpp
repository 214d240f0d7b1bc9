// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Loaded libraries stay, so each test forks: gtest's death tests give the process, its exit code is the assertion.
#include "harness/system/bundled_file.hpp"
#include "harness/trial/trial.hpp"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <gtest/gtest.h>

#include <dlfcn.h>

#include <cstdio>
#include <filesystem>

// From cusolverDn.h, which a toolkit may lack.
enum cusolverStatus_t : int {};
extern "C" cusolverStatus_t cusolverDnCreate(void** handle);
extern "C" cusolverStatus_t cusolverDnSpotrf();

namespace cufault {
namespace {

namespace fs = std::filesystem;

const fs::path fakes = FAKE_CUBLAS_DIR;

/// Runs a check in a child; what it prints on stderr is matched.
template <class Check>
void in_child(Check check, const char* expected) {
  EXPECT_EXIT(
      {
        try {
          check();
          std::fputs("bound\n", stderr);
        } catch (const std::exception& e) {
          std::fprintf(stderr, "%s\n", e.what());
        }
        _exit(0);
      },
      testing::ExitedWithCode(0), expected);
}

void print_versions() {
  int major = 0, minor = 0, lt_minor = 0, called = 0;
  cublasGetProperty(MAJOR_VERSION, &major);
  cublasGetProperty(MINOR_VERSION, &minor);
  cublasLtGetProperty(MINOR_VERSION, &lt_minor);
  cublasGetVersion(nullptr, &called);
  std::fprintf(stderr, "cublas %d.%d lt .%d calls %d ", major, minor, lt_minor, called);
}

TEST(bind_cublas, takes_a_folder_and_its_pair) {
  in_child(
      [] {
        bind_cublas({fakes / "a", {}});
        print_versions();
      },
      "cublas 13\\.1 lt \\.1 calls 1301 bound");
}

TEST(bind_cublas, takes_a_file_and_the_cublaslt_beside_it) {
  in_child(
      [] {
        bind_cublas({fakes / "b" / "libcublas.so.13", {}});
        print_versions();
      },
      "cublas 13\\.2 lt \\.2 calls 1302 bound");
}

TEST(bind_cublas, mixes_a_pair_when_both_are_named) {
  in_child(
      [] {
        bind_cublas({fakes / "a", fakes / "b"});
        print_versions();
      },
      "cublas 13\\.1 lt \\.2 calls 1302 bound");
}

TEST(bind_cublas, binds_another_major_version) {
  in_child(
      [] {
        bind_cublas({fakes / "old", {}});
        print_versions();
      },
      "cublas 12\\.4 lt \\.4 calls 1204 bound");
}

TEST(bind_cublas, says_which_paths_were_really_loaded) {
  in_child(
      [] {
        bind_cublas({fakes / "a", fakes / "b"});
        const bound_paths paths = bound_cublas();
        std::fprintf(stderr, "%d%d%d ", paths.cublas.parent_path() == fs::canonical(fakes / "a"),
                     paths.cublaslt.parent_path() == fs::canonical(fakes / "b"),
                     paths.cublaslt_of_cublas.parent_path() == fs::canonical(fakes / "b"));
      },
      "111 bound");
}

TEST(bind_cublas, names_a_path_that_is_not_there) {
  in_child(
      [] {
        bind_cublas({"/nowhere/libcublas.so.13", {}});
      },
      "/nowhere/libcublas.so.13: no such file or folder");
}

TEST(bind_cublas, names_a_folder_without_one) {
  in_child([] { bind_cublas({fakes / "empty", {}}); }, "empty: no libcublas.so.N in this folder");
}

TEST(bind_cublas, passes_on_the_loaders_words_for_a_file_that_is_no_library) {
  in_child(
      [] {
        bind_cublas({fakes / "text" / "libcublas.so.13", {}});
      },
      "cannot load .*text/libcublas.so.13: .*(file too short|invalid ELF header)");
}

TEST(bind_cublas, refuses_a_library_that_is_no_cublas) {
  in_child(
      [] {
        bind_cublas({fakes / "a" / "libcublasLt.so.13", fakes / "a"});
      },
      "is not the library it should be: .*undefined symbol: cublasCreate_v2");
}

TEST(bind_cublas, refuses_a_file_with_any_other_name) {
  in_child([] { bind_cublas({"/dev/null", {}}); }, "cannot load /dev/null: ");
}

TEST(bind_cublas, throws_when_a_function_that_the_pair_lacks_is_called) {
  in_child(
      [] {
        bind_cublas({fakes / "a", {}});
        cublasSetStream(nullptr, nullptr);
      },
      "libcublas.so.13 has no cublasSetStream_v2");
}

TEST(bind_cublas, throws_when_anything_is_called_before_it) {
  in_child(
      [] {
        cublasLtHandle_t handle = nullptr;
        cublasLtCreate(&handle);
      },
      "cublasLtCreate was called before its library was bound");
}

// ---- one pair in place of another ----

/// Has the names that bind_cublas looks for, and nothing that the fakes need of each other.
fs::path foreign_cublaslt(int major) {
  return bundled_file("foreign_lt") / ("libcublasLt.so." + std::to_string(major));
}

void print(const load_result& loaded) {
  std::fprintf(stderr, "%s ", loaded.ok() ? "loaded" : loaded.words.c_str());
}

TEST(bind_cublas, binds_another_pair_in_place_of_the_first) {
  in_child(
      [] {
        bind_cublas({fakes / "a", {}});
        bind_cublas({fakes / "old", {}});
        print_versions();
      },
      "cublas 12\\.4 lt \\.4 calls 1204 bound");
}

TEST(bind_cublas, cannot_keep_a_second_pair_of_one_major_version_from_the_first_ones_cublaslt) {
  in_child(
      [] {
        bind_cublas({fakes / "a", {}});
        bind_cublas({fakes / "b", {}});
        print_versions();
        std::fprintf(stderr, "%d ",
                     bound_cublas().cublaslt_of_cublas.parent_path() == fs::canonical(fakes / "a"));
      },
      "cublas 13\\.2 lt \\.2 calls 1301 1 bound");
}

TEST(unload_cublas, gives_the_first_pair_back_so_that_a_second_one_has_its_own_cublaslt) {
  in_child(
      [] {
        bind_cublas({fakes / "a", {}});
        const bool unloaded = unload_cublas();
        std::fprintf(stderr, "%d %d ", unloaded, bound_cublas().cublas.empty());
        bind_cublas({fakes / "b", {}});
        print_versions();
      },
      "1 1 cublas 13\\.2 lt \\.2 calls 1302 bound");
  in_child(
      [] {
        bind_cublas({fakes / "a", {}});
        unload_cublas();
        cublasLtCreate(nullptr);
      },
      "cublasLtCreate was called before its library was bound");
}

TEST(unload_cublas, says_where_the_loader_keeps_it) {
  in_child(
      [] {
        bind_cublas({fakes / "a", {}});
        dlopen((fakes / "a" / "libcublas.so.13").c_str(), RTLD_NOW);
        std::fprintf(stderr, "%d ", unload_cublas());
        print_versions();
      },
      "0 cublas 13\\.1 lt \\.1 calls 1301 bound");
}

TEST(bind_cublas, forgets_the_functions_of_the_first_pair_that_the_second_lacks) {
  in_child(
      [] {
        bind_cublas({fakes / "a", {}});
        print(load_cublas({fakes / "old", foreign_cublaslt(12)}));
        cublasLtDestroy(nullptr);
      },
      "loaded .*libcublasLt.so.12 has no cublasLtDestroy");
}

TEST(load_cublas, returns_the_loaders_words_and_keeps_what_was_bound) {
  in_child(
      [] {
        bind_cublas({fakes / "old", {}});
        print(load_cublas({fakes / "text" / "libcublas.so.13", {}}));
        print_versions();
      },
      "cannot load .*(file too short|invalid ELF header).* cublas 12\\.4 lt \\.4 calls 1204 bound");
}

TEST(load_cublas, leaves_nothing_of_a_pair_that_was_refused) {
  in_child(
      [] {
        print(load_cublas({fakes / "a", foreign_cublaslt(13)}, false));
        print(load_cublas({fakes / "a", {}}));
        print_versions();
      },
      "undefined symbol: fake_cublaslt_build.* loaded cublas 13\\.1 lt \\.1 calls 1301 bound");
}

TEST(load_cublas, lets_the_loader_wait_for_the_first_use) {
  EXPECT_EXIT(
      {
        print(load_cublas({fakes / "a", foreign_cublaslt(13)}, true));
        int version = 0;
        cublasGetVersion(nullptr, &version);
      },
      testing::ExitedWithCode(127), "loaded .*undefined symbol: fake_cublaslt_build");
}

TEST(load_cublas, throws_for_a_path_that_is_not_there) {
  in_child([] { load_cublas({"/nowhere", {}}); }, "/nowhere: no such file or folder");
}

TEST(files_of, names_what_would_be_loaded) {
  const cublas_paths pair = files_of({fakes / "old", {}});
  EXPECT_EQ(pair.cublas, fakes / "old" / "libcublas.so.12");
  EXPECT_EQ(pair.cublaslt, fakes / "old" / "libcublasLt.so.12");
  EXPECT_EQ(files_of({fakes / "deadly", {}}).cublaslt, "");
  const cublas_paths mixed = files_of({{}, fakes / "old"});
  EXPECT_EQ(mixed.cublas.parent_path(), "");
  EXPECT_EQ(mixed.cublaslt, fakes / "old" / "libcublasLt.so.12");
}

// ---- a library beside cuBLAS ----

std::string created() {
  void* handle = nullptr;
  return record_of(cusolverDnCreate(&handle)).status;
}

TEST(need_library, takes_the_one_beside_the_bound_cublas) {
  in_child(
      [] {
        bind_cublas({fakes / "solver", {}});
        const bound_library& found = need_library("cusolver");
        std::fprintf(stderr, "%s in %d: ", found.version.c_str(),
                     found.file.parent_path() == fs::canonical(fakes / "solver"));
        std::fprintf(stderr, "%s, ", created().c_str());
        setenv("FAKE_CUSOLVER_CREATE", "7", 1);
        std::fprintf(stderr, "%s, ", created().c_str());
        setenv("FAKE_CUSOLVER_CREATE", "99", 1);
        std::fprintf(stderr, "%s ", created().c_str());
      },
      "12.0.5 in 1: CUSOLVER_STATUS_SUCCESS, CUSOLVER_STATUS_INTERNAL_ERROR, CUSOLVER_STATUS_99 bound");
}

TEST(need_library, takes_the_one_that_is_named_and_gives_it_the_bound_cublas) {
  in_child(
      [] {
        bind_cublas({fakes / "b", {}});
        name_libraries({{"cusolver", fakes / "solver"}});
        std::fprintf(stderr, "%s ", need_library("cusolver").version.c_str());
        std::fprintf(stderr, "%s ", created().c_str());
        print_versions();
      },
      "12.0.5 CUSOLVER_STATUS_SUCCESS cublas 13\\.2 lt \\.2 calls 1302 bound");
}

TEST(need_library, provokes_nothing_without_one) {
  in_child(
      [] {
        bind_cublas({fakes / "a", {}});
        try {
          need_library("cusolver");
        } catch (const not_provoked& absent) {
          std::fprintf(stderr, "not provoked: %s\n", absent.what());
        }
        created();
      },
      "not provoked: no libcusolver.so.N beside .*/a/libcublas.so.13; give one with --cusolver .the wheel "
      "nvidia-cusolver has it.\ncusolverDnCreate was called before its library was bound");
}

TEST(need_library, provokes_nothing_with_one_that_calls_another_cublas) {
  in_child(
      [] {
        bind_cublas({fakes / "old", {}});
        name_libraries({{"cusolver", fakes / "solver" / "libcusolver.so.12"}});
        need_library("cusolver");
      },
      "libcusolver.so.12 calls .*/solver/libcublas.so.13, and not the cuBLAS under test, "
      ".*/old/libcublas.so.12");
}

TEST(need_library, provokes_nothing_with_a_file_that_is_no_such_library) {
  in_child(
      [] {
        bind_cublas({fakes / "a", {}});
        name_libraries({{"cusolver", fakes / "a" / "libcublas.so.13"}});
        need_library("cusolver");
      },
      "libcublas.so.13 is not the library it should be: ");
}

TEST(need_library, has_not_every_function) {
  in_child(
      [] {
        bind_cublas({fakes / "solver", {}});
        need_library("cusolver");
        cusolverDnSpotrf();
      },
      "libcusolver.so.12 has no cusolverDnSpotrf: it is older or newer than this case needs");
}

TEST(name_libraries, names_a_path_that_is_not_there_and_a_library_that_nobody_knows) {
  EXPECT_THROW(name_libraries({{"cusolver", "/nowhere"}}), binding_error);
  EXPECT_THROW(name_libraries({{"cunothing", "/"}}), binding_error);
  EXPECT_NO_THROW(name_libraries({{"cusolver", ""}}));
}

}  // namespace
}  // namespace cufault
