// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/system/host_memory.hpp"

#include "harness/system/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace cufault {
namespace {

namespace fs = std::filesystem;

class host_memory : public testing::Test {
 protected:
  void write(const fs::path& name, const std::string& text) {
    fs::create_directories((root / name).parent_path());
    std::ofstream(root / name) << text;
  }
  void SetUp() override { write("proc/meminfo", "MemTotal: 900 kB\nMemFree: 1 kB\nMemAvailable: 800 kB\n"); }
  const fs::path folder = "sys/fs/cgroup/job:1/step";
  temporary_folder made{"cufault-host-memory-"};
  const fs::path root = made.path();
};

TEST_F(host_memory, is_the_machines_where_no_group_has_a_limit) {
  EXPECT_EQ(available_host_memory(root), 800U << 10U);
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/memory.max", "max\n");
  EXPECT_EQ(available_host_memory(root), 800U << 10U);
  EXPECT_EQ(available_host_memory(root / "nowhere"), 0U);
}

TEST_F(host_memory, is_what_is_free_in_each_group_around_this_process) {
  write("proc/self/cgroup", "1:cpu:/job:1/step\n0::/job:1/step\n");
  write("sys/fs/cgroup/job:1/memory.max", "5000\n");
  EXPECT_EQ(available_host_memory(root), 5000U);
  write("sys/fs/cgroup/job:1/memory.current", "3000\n");
  write("sys/fs/cgroup/job:1/memory.stat", "anon 1\ninactive_file 1000\n");
  EXPECT_EQ(available_host_memory(root), 3000U);
  write(folder / "memory.max", "2000\n");
  write(folder / "memory.current", "2500\n");
  EXPECT_EQ(available_host_memory(root), 0U);
}

TEST_F(host_memory, is_read_from_the_first_version_of_groups) {
  write("proc/self/cgroup", "4:memory:/job\n3:cpuset:/other\n");
  write("sys/fs/cgroup/memory/other/memory.limit_in_bytes", "1\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "4000\n");
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", "1000\n");
  EXPECT_EQ(available_host_memory(root), 3000U) << "in a container the path is that of the host";
}

}  // namespace
}  // namespace cufault
