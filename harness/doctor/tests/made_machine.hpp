// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/doctor/probe.hpp"
#include "harness/system/temporary_folder.hpp"
#include "harness/system/tests/made_elf.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace cufault {

/// A machine of an empty folder, with one GPU whose driver works.
class made_machine : public testing::Test {
 protected:
  made_machine() {
    m.root = root;
    m.driver = [this] { return driver; };
    m.management = [this] { return management; };
    m.ask = [this](const std::filesystem::path& file) {
      const auto known = versions.find("/" + file.lexically_relative(root).string());
      return known == versions.end() ? library_answers{.why = "not known"} : known->second;
    };
    driver.library = "/lib64/libcuda.so.1";
    driver.version = 13000;
    driver.devices = {{"made GPU", 90}};
    management.gpus = {gpu_state{.name = "made GPU", .total_bytes = 80ULL << 30, .free_bytes = 79ULL << 30}};
    m.measured.footprints = {{.stack = "a stack",
                              .arm = "memory.create_under_pressure/control_lazy",
                              .cublas = "13.1.0",
                              .eager = false,
                              .bytes = 66ULL << 20}};
  }

  std::filesystem::path library(const std::string& path, made_elf elf = {}) {
    if (elf.soname.empty()) elf.soname = std::filesystem::path(path).filename();
    return write_file(root / path.substr(1), elf.bytes());
  }
  void set(const std::string& name, const std::string& value) { m.environment[name] = value; }

  temporary_folder folder{"cufault-doctor-test-"};
  std::filesystem::path root = std::filesystem::canonical(folder.path());
  driver_answers driver;
  management_answers management;
  std::map<std::string, library_answers> versions;  ///< by path on the machine
  machine m;
};

}  // namespace cufault
