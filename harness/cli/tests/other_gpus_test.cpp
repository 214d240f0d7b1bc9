// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// On GPUs that are not here: stand-ins for the driver and NVML say that there is an A100 or an RTX 4090. Cases that need a GPU fail there.
// What such a GPU would do is tested with copies of recorded stacks (copied_stack.hpp).
#include "harness/cli/tests/end_to_end.hpp"
#include "harness/system/temporary_folder.hpp"
#include "reports/base/tests/copied_stack.hpp"
#include "reports/model/observation.hpp"

#include <nlohmann/json.hpp>

#include <fstream>
#include <iterator>
#include <set>

namespace cufault {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class other_gpus : public end_to_end {
 protected:
  nlohmann::json stack_of(const std::map<std::string, std::string>& environment) {
    const auto said =
        cufault({"stack", "--json", "--cublas", fs::path(fake_cublas_folder) / "a"}, environment);
    EXPECT_EQ(said.exit_code, 0) << said.stdout_text << said.stderr_text;
    return nlohmann::json::parse(said.stdout_text, nullptr, false);
  }
  record made_by_run(const std::map<std::string, std::string>& environment) {
    fs::remove_all(folder / "records");
    const auto seen = run({"--tier", "quick", "road.create", "road.ladder", "road.twin"}, environment);
    EXPECT_EQ(seen.exit_code, 0) << seen.stdout_text << seen.stderr_text;
    return load_record(files(".jsonl").at(0));
  }
  static std::map<std::string, std::string> observed_by_arm(const record& r) {
    std::map<std::string, std::string> all;
    for (const case_result& c : r.cases)
      for (const arm_result& a : c.arms) all[c.name + "/" + a.name] = describe(plateaus_of(a.trials));
    return all;
  }
};

TEST_F(other_gpus, are_told_by_stack) {
  for (const auto& [gpu, said] : {std::pair{"a100", nlohmann::json{{"name", "NVIDIA A100-SXM4-80GB"},
                                                                   {"compute_capability", "8.0"},
                                                                   {"memory_bytes", 80ULL << 30},
                                                                   {"multiprocessors", 108}}},
                                  std::pair{"rtx4090", nlohmann::json{{"name", "NVIDIA GeForce RTX 4090"},
                                                                      {"compute_capability", "8.9"},
                                                                      {"memory_bytes", 24ULL << 30},
                                                                      {"multiprocessors", 128}}}}) {
    auto environment = on_gpu(gpu);
    environment.insert({{"DOCTOR_FAKE_DRIVER", "535.54.03"}, {"DOCTOR_FAKE_CUDA", "12020"}});
    auto stack = stack_of(environment);
    EXPECT_EQ(stack["gpu"]["uuid_hashes"].size(), 1U);
    stack["gpu"].erase("uuid");
    stack["gpu"].erase("uuid_hashes");
    EXPECT_EQ(stack["gpu"], said);
    EXPECT_EQ(stack["keys"]["compute_capability"], said["compute_capability"]);
    EXPECT_EQ(stack["keys"]["memory_gib"], gpu == std::string("a100") ? "80" : "24");
    EXPECT_EQ(stack["keys"]["driver"], "535.54.03");
    EXPECT_EQ(stack["driver"]["cuda"], "12.2");
    EXPECT_EQ(stack["memory_watch"], "nvml");
  }
  EXPECT_THAT(cufault({"stack"}, on_gpu("a100")).stdout_text,
              StartsWith("GPU                 NVIDIA A100-SXM4-80GB, 80.0 GiB, 108 multiprocessors\n"));
}

TEST_F(other_gpus, are_as_many_as_asked_for) {
  auto environment = on_gpu("rtx4090");
  environment["DOCTOR_FAKE_DEVICES"] = "2";
  const auto devices = stack_of(environment)["devices"].get<std::set<std::string>>();
  EXPECT_EQ(devices.size(), 2U) << "each has a UUID of its own";
}

TEST_F(other_gpus, run_what_needs_no_gpu_and_observe_what_is_observed_without_one) {
  const record a100 = made_by_run(on_gpu("a100")), rtx4090 = made_by_run(on_gpu("rtx4090")),
               none = made_by_run({});
  EXPECT_EQ(keys_of(a100).at("compute_capability"), "8.0");
  EXPECT_EQ(keys_of(rtx4090).at("compute_capability"), "8.9");
  EXPECT_FALSE(keys_of(none).contains("compute_capability"));
  const auto observed_there = observed_by_arm(a100);
  EXPECT_EQ(observed_there.size(), 9U);
  EXPECT_EQ(observed_by_arm(rtx4090), observed_there);
  EXPECT_EQ(observed_by_arm(none), observed_there);
}

TEST_F(other_gpus, have_known_issues_of_a_framework_of_the_python_here) {
  const temporary_folder folder{"cufault-road-"};
  fs::create_directory(folder.path() / "torch-2.14.1.dist-info");
  std::ofstream(folder.path() / "torch-2.14.1.dist-info/METADATA") << "Name: torch\nVersion: 2.14.1\n";
  auto environment = on_gpu("a100");
  environment["PYTHONPATH"] = folder.path();
  EXPECT_THAT(cufault({"doctor"}, environment).stdout_text, HasSubstr("torch 2.14.1 on 8.0: "));
}

TEST_F(other_gpus, prove_nothing_about_what_needs_one) {
  const auto seen = run({"road.on_a_gpu"}, on_gpu("a100"));
  EXPECT_EQ(seen.exit_code, 2) << seen.stdout_text << seen.stderr_text;
  EXPECT_THAT(seen.stdout_text, HasSubstr("2 UNRESOLVED"));
}

TEST_F(other_gpus, are_not_there_where_no_name_or_an_unknown_one_is_given) {
  auto unnamed = on_gpu("a100");
  unnamed.erase("DOCTOR_FAKE_GPU");
  EXPECT_TRUE(stack_of(unnamed)["gpu"].is_null()) << "the runtime refuses the stand-in";
  const auto said = cufault({"stack"}, on_gpu("h300"));
  EXPECT_EQ(said.exit_code, 2);
  EXPECT_THAT(said.stdout_text, HasSubstr("DOCTOR_FAKE_GPU=h300: there is a100 and rtx4090"));
}

TEST_F(other_gpus, have_a_library_beside_cublas) {
  const auto with = [&](const std::vector<std::string>& options) {
    std::vector<std::string> words{"stack", "--json"};
    words.insert(words.end(), options.begin(), options.end());
    return nlohmann::json::parse(cufault(words, on_gpu("a100")).stdout_text, nullptr, false);
  };
  const std::string folder = fs::path(fake_cublas_folder) / "solver",
                    none = fs::path(fake_cublas_folder) / "a";
  for (const auto& found : {with({"--cublas", folder}), with({"--cublas", none, "--cusolver", folder})}) {
    EXPECT_EQ(found["keys"]["cusolver"], "12.0.5");
    EXPECT_THAT(found["cusolver"]["path"].get<std::string>(), testing::EndsWith("/solver/libcusolver.so.12"));
    EXPECT_THAT(found["files"]["cusolver"]["bytes"], testing::Gt(0));
  }
  EXPECT_FALSE(with({"--cublas", none})["keys"].contains("cusolver"));
  const auto wrong = run({"road.create", "--cusolver", "/nowhere"}, on_gpu("a100"));
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.stderr_text,
              HasSubstr("/nowhere: no such file or folder; give a libcusolver.so or its folder"));
}

// ---- copies of recorded stacks ----

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_F(other_gpus, are_said_by_a_copy_of_a_recorded_stack_and_nothing_else_differs) {
  auto patch = stack_with_gpu("NVIDIA A100-SXM4-80GB", "8.0", 80ULL << 30, 108);
  patch.merge_patch(stack_with_cublas("12.9.1"));
  const fs::path copy = folder / "a100-580.159.04-cublas-12.9.1";
  copied_stack(SMALL_RECORDS, copy, patch);

  auto before = nlohmann::json::parse(bytes_of(fs::path(SMALL_RECORDS) / "stack.json")),
       after = nlohmann::json::parse(bytes_of(copy / "stack.json"));
  std::set<std::string> changed;
  for (const auto& each : nlohmann::json::diff(before, after)) changed.insert(each["path"]);
  EXPECT_EQ(changed, (std::set<std::string>{"/stack/cublas/version", "/stack/cublaslt/version",
                                            "/stack/gpu/compute_capability", "/stack/gpu/memory_bytes",
                                            "/stack/gpu/multiprocessors", "/stack/gpu/name",
                                            "/stack/keys/compute_capability", "/stack/keys/cublas",
                                            "/stack/keys/cublaslt", "/stack/keys/memory_gib"}));
  std::size_t families = 0;
  for (const auto& file : fs::directory_iterator(SMALL_RECORDS)) {
    if (file.path().extension() != ".jsonl") continue;
    ++families;
    EXPECT_EQ(bytes_of(copy / file.path().filename()), bytes_of(file.path()));
  }
  EXPECT_GT(families, 1U);

  const record read = load_record(copy);
  EXPECT_EQ(keys_of(read).at("compute_capability"), "8.0");
  EXPECT_EQ(keys_of(read).at("cublas"), "12.9.1");
  EXPECT_EQ(read.cases.size(), load_record(SMALL_RECORDS).cases.size());
}

}  // namespace
}  // namespace cufault
