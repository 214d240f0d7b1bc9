// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Where cufault bisect has its releases from: container images, and the package index.
#include "harness/cli/tests/bisect_fixture.hpp"
#include "reports/base/json_input.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace cufault {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class bisect_of_images : public bisect_command {
 protected:
  /// Stands in for docker: runs the entry point here, with the libraries of the "image". Only what is mounted at /cufault is there.
  void SetUp() override {
    bisect_command::SetUp();
    const fs::path engine = folder / "engine";
    std::ofstream(engine) << R"(#!/bin/sh
echo "$*" >> )" << (folder / "started").string()
                          << R"(
[ "$1" = run ] || exit 0
tree=/nowhere
while [ "$1" != --entrypoint ]; do
  case $1 in *:/cufault:ro) tree=${1%:/cufault:ro} ;; esac
  shift
done
program=$2 image=$3
shift 3
case $program in /cufault/*) program=$tree${program#/cufault} ;; esac
export CUFAULT_CUBLAS=)" << releases.string()
                          << R"(/$image
export LD_PRELOAD=$CUFAULT_CUBLAS/libcublasLt.so.13:$CUFAULT_CUBLAS/libcublas.so.13
exec "$program" "$@"
)";
    fs::permissions(engine, fs::perms::owner_all);
    by_engine = {{"CUFAULT_ENGINE", "env " + engine.string() + " run --rm"}, {"ROAD_FAULT", "file:fault"}};
  }
  std::map<std::string, std::string> by_engine;
};

TEST_F(bisect_of_images, finds_the_first_bad_image) {
  for (int i = 0; i < 5; ++i)
    make(version(i), {{"order", i < 3 ? "exit 0" : "exit 3"}, {"fault", i < 3 ? "0" : "3"}});
  const std::string images = "13.1.0.0,13.1.0.1,13.1.0.2,13.1.0.3,13.1.0.4";
  for (const auto& words : {with_command({"bisect", "--json", "--once", "--images", images, "--good",
                                          "13.1.0.0", "--bad", "13.1.0.4"}),
                            {"bisect", "--json", "--images", images, "--good", "13.1.0.0", "--bad",
                             "13.1.0.4", "road.create/fault"}}) {
    const auto ran = cufault(words, by_engine);
    EXPECT_EQ(ran.exit_code, 0) << ran.stderr_text;
    const auto seen = nlohmann::json::parse(ran.stdout_text, nullptr, false);
    ASSERT_TRUE(seen.is_object()) << ran.stderr_text;
    EXPECT_EQ(seen["changes"][0]["first_bad"], "13.1.0.3");
    EXPECT_EQ(seen["releases"][0]["version"], "13.1.0");
  }
  const fs::path tree = fs::path(test_program).parent_path().parent_path();
  std::istringstream started(read_text(folder / "started"));
  int own = 0, others = 0;
  for (std::string words; std::getline(started, words);) {
    EXPECT_THAT(words, HasSubstr("run --rm --name cufault-bisect-"));
    const bool is_own = words.find("--entrypoint /cufault/bin/test_program ") != words.npos;
    EXPECT_EQ(words.find("-v " + tree.string() + ":/cufault:ro ") != words.npos, is_own) << words;
    EXPECT_EQ(words.find(" -v ") != words.npos, is_own) << "a command sees its image alone: " << words;
    ++(is_own ? own : others);
  }
  EXPECT_GT(own, 0);
  EXPECT_GT(others, 0);
}

/// Of a package the tree is /usr: mounted there, it would hide the image's own.
TEST_F(bisect_of_images, mounts_an_installed_tree_elsewhere) {
  const fs::path installed = folder / "usr/bin/cufault";
  fs::create_directories(installed.parent_path());
  fs::copy_file(test_program, installed);
  for (int i = 0; i < 2; ++i) make(version(i), {{"fault", i == 0 ? "0" : "3"}});
  spawn_options options;
  options.argv = {installed, "bisect",   "--json", "--images", version(0) + ',' + version(1),
                  "--good",  version(0), "--bad",  version(1), "road.create/fault"};
  options.environment = by_engine;
  options.environment["TMPDIR"] = folder / "temporary";
  options.environment["CUDA_VISIBLE_DEVICES"] = "-1";
  const auto ran = run_process(options, {});
  EXPECT_EQ(ran.exit_code, 0) << ran.stderr_text;
  EXPECT_THAT(read_text(folder / "started"),
              AllOf(HasSubstr("-v " + (folder / "usr").string() + ":/cufault:ro "),
                    HasSubstr("--entrypoint /cufault/bin/cufault " + version(0) + " stack"),
                    Not(HasSubstr(":" + (folder / "usr").string()))));
}

TEST_F(bisect_of_images, removes_a_container_that_its_engine_left) {
  make(version(0), {{"order", "exit 0"}});
  make(version(1), {{"order", "exec sleep 600"}});
  const auto ran =
      cufault(with_command({"bisect", "--json", "--once", "--timeout", "5", "--images",
                            version(0) + ',' + version(1), "--good", version(0), "--bad", version(1)}),
              by_engine);
  EXPECT_EQ(ran.exit_code, 0) << ran.stderr_text;
  EXPECT_THAT(read_text(folder / "started"), HasSubstr("\nrm -f cufault-bisect-"));
}

TEST_F(bisect_of_images, refuses_an_engine_that_does_not_say_run) {
  by_engine["CUFAULT_ENGINE"] = "docker --rm";
  const auto ran =
      cufault({"bisect", "--images", "a,b", "--good", "a", "--bad", "b", "road.create/fault"}, by_engine);
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(line(ran), HasSubstr("CUFAULT_ENGINE='docker --rm' has no word run, as in: docker run"));
}

/// An index of wheels that the test makes: pip takes no other.
class bisect_of_an_index : public bisect_command {
 protected:
  void SetUp() override {
    bisect_command::SetUp();
    spawn_options pip;
    pip.argv = {"/bin/sh", "-c", "python3 -m pip --version"};  // that of PATH, as ci/fetch-cublas takes it
    pip.timeout = long_enough;
    if (const auto said = run_process(pip, {}); said.exit_code != 0) GTEST_SKIP() << "no pip";
    fs::create_directories(folder / "index");
    for (int i = 0; i < 3; ++i) {
      make(version(i), {{"order", ""}, {"License.txt", "made by a test"}});
      wheel(version(i), "any");
    }
    environment = {{"PIP_NO_INDEX", "1"},
                   {"PIP_FIND_LINKS", folder / "index"},
                   {"PIP_CONFIG_FILE", "/dev/null"},
                   {"XDG_CACHE_HOME", folder / "cache"}};
  }
  static std::string version(int i) { return "13.1.0.90" + std::to_string(i); }
  void wheel(const std::string& of, const std::string& platform) const {
    spawn_options zip;
    zip.argv = {PYTHON3,
                "-c",
                R"(import sys, zipfile
file, folder, version = sys.argv[1:]
with zipfile.ZipFile(file, 'w') as z:
    for name in 'libcublas.so.13', 'libcublasLt.so.13': z.write(folder + '/' + name, 'nvidia/cu13/lib/' + name)
    info = 'nvidia_cublas-' + version + '.dist-info/'
    z.write(folder + '/License.txt', info + 'License.txt')
    z.writestr(info + 'METADATA', 'Metadata-Version: 2.1\nName: nvidia-cublas\nVersion: ' + version + '\n')
    z.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n')
    z.writestr(info + 'RECORD', '')
)",
                folder / "index" / ("nvidia_cublas-" + of + "-py3-none-" + platform + ".whl"),
                releases / of,
                of};
    zip.timeout = long_enough;
    const auto made = run_process(zip, {});
    ASSERT_EQ(made.exit_code, 0) << made.stderr_text;
  }
  /// Whether the release is bad: the folder that it was fetched to tells it.
  static std::vector<std::string> on_index(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"bisect", "--once", "--json", "--good", version(0), "--bad", version(2)};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--", "sh", "-c", "case $LD_PRELOAD in *13.1.0.90[12]/*) exit 3 ;; esac"});
    return words;
  }
  process_result run_on_index(const std::vector<std::string>& more = {}) {
    return cufault(on_index(more), environment);
  }
  std::map<std::string, std::string> environment;
};

TEST_F(bisect_of_an_index, fetches_what_it_tries_and_keeps_it) {
  const fs::path kept = folder / "cache/cufault/cublas";
  fs::create_directories(kept / version(0) / ".partial.abc");  // of a run that was killed
  const auto ran = run_on_index();
  ASSERT_EQ(ran.exit_code, 0) << ran.stderr_text;
  EXPECT_EQ(nlohmann::json::parse(ran.stdout_text)["changes"][0]["first_bad"], version(1));
  EXPECT_THAT(ran.stderr_text, HasSubstr("fetching " + version(0)));
  EXPECT_FALSE(fs::exists(kept / version(0) / ".partial.abc"));
  EXPECT_TRUE(fs::exists(kept / version(1) / "libcublas.so.13"));
  const auto again = run_on_index();
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_THAT(again.stderr_text, Not(HasSubstr("fetching")));
}

/// sh holds the lock until bisect says that it waits.
TEST_F(bisect_of_an_index, waits_for_another_that_fetches_the_same_release) {
  const fs::path other = folder / "cache/cufault/cublas" / (".fetching-" + version(0));
  fs::create_directories(other);
  spawn_options options;
  options.argv = {"/bin/sh", "-c", R"(exec 9> "$LOCK" && flock 9 || exit 99
"$0" "$@" 2> "$SAID" 9>&- & child=$!
until grep -q 'waiting for its end' "$SAID" || ! kill -0 $child; do sleep 0.05; done
exec 9>&-
wait $child)",
                  test_program};
  for (const std::string& word : on_index()) options.argv.push_back(word);
  options.environment = environment;
  options.environment.insert({{"LOCK", other / ".lock"},
                              {"SAID", folder / "said"},
                              {"TMPDIR", folder / "temporary"},
                              {"CUDA_VISIBLE_DEVICES", "-1"}});
  options.timeout = long_enough;
  const auto ran = run_process(options, {});
  const std::string said = read_text(folder / "said");
  EXPECT_EQ(ran.exit_code, 0) << ran.stderr_text << said;
  EXPECT_THAT(said, HasSubstr("bisect: another process fetches into " + other.string()));
  EXPECT_FALSE(fs::exists(other));
}

TEST_F(bisect_of_an_index, says_in_one_line_what_cannot_be_fetched) {
  wheel(version(0), "manylinux_2_27_riscv64");
  fs::remove(folder / "index" / ("nvidia_cublas-" + version(0) + "-py3-none-any.whl"));
  const auto other_platform = run_on_index();
  EXPECT_EQ(other_platform.exit_code, 2);
  EXPECT_THAT(line(other_platform), HasSubstr("--good 13.1.0.900: there is no such release of the package "
                                              "index for this platform; near it: 13.1.0.901"));

  wheel(version(0), "any");
  environment["PIP_FIND_LINKS"] = folder / "nowhere";
  const auto no_index = run_on_index();
  EXPECT_EQ(no_index.exit_code, 2);
  EXPECT_THAT(line(no_index), HasSubstr("the package index does not tell the versions of cuBLAS: it said: "
                                        "ci/fetch-cublas: no Python index"));
  environment["PIP_FIND_LINKS"] = folder / "index";

  std::ofstream(folder / "index" / ("nvidia_cublas-" + version(0) + "-py3-none-any.whl")) << "cut short";
  const auto broken = run_on_index();
  EXPECT_EQ(broken.exit_code, 2);
  EXPECT_THAT(line(broken), HasSubstr("cuBLAS 13.1.0.900 could not be fetched: "));
  EXPECT_FALSE(fs::exists(folder / "cache/cufault/cublas" / version(0)));
}

TEST_F(bisect_of_an_index, says_where_nothing_can_be_kept) {
  const auto ran = run_on_index({"--keep", "/proc/kept"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(line(ran), HasSubstr("/proc/kept"));
}

}  // namespace
}  // namespace cufault
