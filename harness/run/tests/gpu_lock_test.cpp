// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "harness/run/gpu_lock.hpp"

#include "harness/system/unique_fd.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

namespace cufault {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;

const milliseconds at_once{0};
const milliseconds long_enough{60'000};

class gpu_lock_file : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "cufault-lock-XXXXXX";
    directory = mkdtemp(name.data());
  }
  void TearDown() override { std::filesystem::remove_all(directory); }

  std::unique_ptr<gpu_lock> lock(memory_class how, milliseconds patience = at_once, int stop = -1) const {
    return std::make_unique<gpu_lock>("GPU-ab12", how, patience, stop, directory);
  }
  [[nodiscard]] std::filesystem::path file() const { return directory / "cufault-gpu-GPU-ab12.lock"; }

  std::filesystem::path directory;
};

TEST_F(gpu_lock_file, is_there_while_held_and_gone_afterwards) {
  for (const auto how : {memory_class::shared, memory_class::exclusive}) {
    const auto held = lock(how);
    EXPECT_TRUE(std::filesystem::exists(file()));
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory));
}

TEST_F(gpu_lock_file, can_be_opened_by_all_users_whatever_the_umask) {
  const auto before = umask(077);
  const auto held = lock(memory_class::exclusive);
  umask(before);
  struct stat status {};
  ASSERT_EQ(stat(file().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0666u);
}

TEST_F(gpu_lock_file, is_shared_by_those_who_share) {
  auto first = lock(memory_class::shared);
  const auto second = lock(memory_class::shared);
  first.reset();
  EXPECT_TRUE(std::filesystem::exists(file())) << "somebody still holds it";
}

TEST_F(gpu_lock_file, keeps_others_from_a_squeeze) {
  const auto memory_pressure = lock(memory_class::exclusive);
  EXPECT_THROW(lock(memory_class::exclusive), gpu_busy);
  EXPECT_THROW(lock(memory_class::shared), gpu_busy);
}

TEST_F(gpu_lock_file, keeps_a_squeeze_from_others) {
  auto shared = lock(memory_class::shared);
  EXPECT_THROW(lock(memory_class::exclusive), gpu_busy);
  shared.reset();
  lock(memory_class::exclusive);
}

TEST_F(gpu_lock_file, is_one_for_each_gpu) {
  const auto memory_pressure = lock(memory_class::exclusive);
  EXPECT_NO_THROW(gpu_lock("GPU-cd34", memory_class::exclusive, at_once, -1, directory));
  const gpu_lock other("GPU-cd34", memory_class::exclusive, at_once, -1, directory);
  EXPECT_TRUE(std::filesystem::exists(file()));
  EXPECT_TRUE(std::filesystem::exists(directory / "cufault-gpu-GPU-cd34.lock"));
  EXPECT_THROW(lock(memory_class::shared), gpu_busy) << "the second lock must not release the first";
  EXPECT_THROW(gpu_lock("GPU-cd34", memory_class::shared, at_once, -1, directory), gpu_busy);
}

TEST_F(gpu_lock_file, says_who_holds_it_and_what_to_do) {
  const auto memory_pressure = lock(memory_class::exclusive);
  try {
    lock(memory_class::shared);
    FAIL();
  } catch (const gpu_busy& busy) {
    EXPECT_THAT(busy.what(), AllOf(HasSubstr("GPU GPU-ab12 is in use by another cufault (process " +
                                             std::to_string(getpid()) + ", since 20"),
                                   HasSubstr("run_tests"), HasSubstr("--wait SECONDS")));
  }
}

TEST_F(gpu_lock_file, quotes_no_nonsense) {
  const auto memory_pressure = lock(memory_class::exclusive);
  const auto busy_text = [&](const std::string& content) -> std::string {
    std::ofstream(file(), std::ios::trunc) << content;
    try {
      lock(memory_class::shared);
    } catch (const gpu_busy& busy) {
      return busy.what();
    }
    return "not busy";
  };
  const auto me = std::to_string(getpid());
  const std::string anonymous = "in use by another cufault; wait";
  EXPECT_THAT(busy_text(""), HasSubstr(anonymous));
  EXPECT_THAT(busy_text("not a number"), HasSubstr(anonymous));
  EXPECT_THAT(busy_text("-1 now all"), HasSubstr(anonymous));
  EXPECT_THAT(busy_text("2147483646 now a process that is no more\n"), HasSubstr(anonymous));
  EXPECT_THAT(busy_text(me), HasSubstr("another cufault (process " + me + ")"));
  EXPECT_THAT(busy_text(me + " now \x1b[31mred\nmore"),
              HasSubstr("(process " + me + ", since now: ?[31mred)"));
  EXPECT_LT(busy_text(me + " now " + std::string(100'000, 'x')).size(), 1000u);
}

TEST_F(gpu_lock_file, has_a_harmless_name_for_any_uuid) {
  const gpu_lock odd("../../etc/x\n", memory_class::shared, at_once, -1, directory);
  EXPECT_TRUE(std::filesystem::exists(directory / "cufault-gpu-------etc-x-.lock"));
  const gpu_lock endless(std::string(5000, 'u'), memory_class::shared, at_once, -1, directory);
}

TEST_F(gpu_lock_file, that_is_a_symbolic_link_is_not_followed) {
  const auto victim = directory / "victim";
  std::ofstream(victim) << "precious";
  std::filesystem::create_symlink(victim, file());
  EXPECT_THROW(lock(memory_class::shared), std::system_error);
  EXPECT_EQ(std::filesystem::file_size(victim), 8u);
  EXPECT_TRUE(std::filesystem::is_symlink(file()));
}

TEST_F(gpu_lock_file, that_is_no_plain_file_is_refused) {
  const auto victim = directory / "victim";
  std::ofstream(victim) << "precious";
  std::filesystem::create_hard_link(victim, file());
  EXPECT_THROW(lock(memory_class::shared), std::system_error);
  EXPECT_EQ(std::filesystem::file_size(victim), 8u);
  std::filesystem::remove(file());
  ASSERT_EQ(mkfifo(file().c_str(), 0666), 0);
  EXPECT_THROW(lock(memory_class::shared), std::system_error);
  std::filesystem::remove(file());
  std::filesystem::create_directory(file());
  EXPECT_THROW(lock(memory_class::shared), std::system_error);
}

TEST_F(gpu_lock_file, in_a_missing_directory_is_named) {
  try {
    const gpu_lock nowhere("GPU-ab12", memory_class::shared, at_once, -1, directory / "missing");
    FAIL();
  } catch (const std::system_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("missing/cufault-gpu-GPU-ab12.lock"));
  }
}

TEST_F(gpu_lock_file, is_waited_for) {
  auto memory_pressure = lock(memory_class::exclusive);
  std::atomic<bool> got = false;
  std::thread waiting([&] {
    const auto later = lock(memory_class::shared, long_enough);
    got = true;
  });
  EXPECT_FALSE(got);
  memory_pressure.reset();
  waiting.join();
  EXPECT_TRUE(got);
}

TEST_F(gpu_lock_file, is_waited_for_no_longer_than_told) {
  const auto memory_pressure = lock(memory_class::exclusive);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THROW(lock(memory_class::shared, milliseconds(120)), gpu_busy);
  const auto waited = std::chrono::steady_clock::now() - start;
  EXPECT_GE(waited, milliseconds(120));
  EXPECT_LT(waited, long_enough);
}

TEST_F(gpu_lock_file, is_not_waited_for_after_an_interrupt) {
  const auto memory_pressure = lock(memory_class::exclusive);
  std::array<int, 2> stop{};
  ASSERT_EQ(pipe2(stop.data(), O_CLOEXEC), 0);
  const unique_fd read_end(stop[0]), write_end(stop[1]);
  ASSERT_EQ(write(stop[1], "x", 1), 1);
  try {
    lock(memory_class::shared, long_enough, stop[0]);
    FAIL();
  } catch (const gpu_busy& busy) {
    EXPECT_THAT(busy.what(), HasSubstr("interrupted while GPU GPU-ab12 was in use"));
  }
}

TEST_F(gpu_lock_file, is_given_up_by_a_holder_that_is_killed) {
  std::array<int, 2> ready{};
  ASSERT_EQ(pipe2(ready.data(), O_CLOEXEC), 0);
  const unique_fd read_end(ready[0]);
  const pid_t holder = fork();
  if (holder == 0) {
    const auto held = lock(memory_class::exclusive);
    if (write(ready[1], "x", 1) != 1) _exit(1);
    while (true) pause();
  }
  close(ready[1]);
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_THROW(lock(memory_class::shared), gpu_busy);
  kill(holder, SIGKILL);
  ASSERT_EQ(waitpid(holder, nullptr, 0), holder);
  EXPECT_TRUE(std::filesystem::exists(file())) << "a killed process removes nothing";
  lock(memory_class::exclusive);
  EXPECT_FALSE(std::filesystem::exists(file())) << "but the next one does";
}

// Holders come and go as fast as they can, removing and making the file. A squeeze must always be alone.
TEST_F(gpu_lock_file, is_never_two_files) {
  std::atomic<int> sharing = 0, squeezing = 0, broken = 0;
  std::vector<std::thread> holders;
  for (int i = 0; i < 4; ++i) {
    holders.emplace_back([&, i] {
      for (int n = 0; n < 300; ++n) {
        const auto how = (n + i) % 3 == 0 ? memory_class::exclusive : memory_class::shared;
        try {
          const auto held = lock(how);
          auto& mine = how == memory_class::exclusive ? squeezing : sharing;
          ++mine;
          if (squeezing > 1 || (squeezing == 1 && sharing > 0)) ++broken;
          --mine;
        } catch (const gpu_busy&) {
        }
      }
    });
  }
  for (auto& holder : holders) holder.join();
  EXPECT_EQ(broken, 0);
  EXPECT_TRUE(std::filesystem::is_empty(directory));
}

}  // namespace
}  // namespace cufault
