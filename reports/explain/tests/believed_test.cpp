// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// What an answer rests on: what programs print, never words of people. What is not understood, and what was survived.
#include "reports/base/json_input.hpp"
#include "reports/explain/explanation.hpp"
#include "reports/explain/tests/examples.hpp"
#include "reports/explain/text_pattern.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace cufault {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

log_findings found_in(std::string_view text) {
  static event_finder finder(known());  // takes long to make
  finder.add(text);
  return finder.finish();
}

explanation answer_to(log_findings found, const std::vector<machine_finding>& machine = {}) {
  static const std::vector<record> records{example_stack("13.1.0")};
  static const evidence seen = evidence_in(records, known());
  static const std::vector<std::size_t> reports(known().causes.size(), 1);
  return explain(std::move(found), {known(), seen, reports, machine});
}
explanation answer_to(std::string_view text) {
  return answer_to(found_in(text));
}

std::vector<std::string> order_of(const explanation& e) {
  std::vector<std::string> all;
  for (const ranked_cause& c : e.causes) all.push_back(c.what->id + ", " + to_string(c.sure));
  return all;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// The public reports and the logs of programs.
std::vector<std::string> texts_of_the_benchmark() {
  std::vector<std::string> all;
  for (const json_cursor& r : json_cursor{read_json(CUFAULT_PUBLIC_REPORTS)}.at("reports").items()) {
    std::string text = r.has("message") ? r.at("message").string() + "\n" : "";
    text += r.at("call").string() + ": " + r.at("status").string() + "\n";
    const json_cursor environment = r.at("environment");
    for (const std::string& key : environment.keys())
      text += key + ": " + environment.at(key).string() + "\n";
    all.push_back(std::move(text));
  }
  for (const auto& entry : fs::directory_iterator(fs::path(CUFAULT_HEALTHY_LOGS).parent_path() / "programs"))
    all.push_back(read_text(entry.path()));
  return all;
}

/// Words in passing: names of projects and modules, and what people write.
std::vector<std::string> words_of_people() {
  std::vector<std::string> all{"transformers xla stream_executor vocab_size embedding tokenizer labels",
                               "the workspace, stride and alignment of a custom kernel in Triton",
                               "a rebuild in docker, after fork, with several threads and CUDA graphs",
                               "2 GB free memory, batch size 4, host memory, huggingface, C++",
                               "works with an older version, a regression, fixed in a newer one"};
  for (const event_pattern& e : known().events)
    if (e.role == event_role::context && e.fact.find('=') != std::string::npos)
      for (const std::string& pattern : e.match)
        if (pattern.find('{') == std::string::npos) all.push_back(pattern.substr(0, pattern.find('*')));
  return all;
}

TEST(words_of_people, change_no_order_of_causes_where_they_are_added) {
  std::string words;
  for (const std::string& line : words_of_people())
    if (!answer_to("on a GPU\n" + line).failure) words += line + " ";
  std::size_t with_causes = 0;
  for (const std::string& text : texts_of_the_benchmark()) {
    const explanation before = answer_to(text);
    if (!before.failure) continue;
    EXPECT_EQ(order_of(answer_to(words + "\n" + text)), order_of(before)) << text;
    with_causes += before.causes.empty() ? 0 : 1;
  }
  EXPECT_GT(with_causes, 300U);
}

TEST(words_of_people, change_no_order_of_causes_where_their_lines_are_left_out) {
  std::size_t left_out = 0;
  for (const std::string& text : texts_of_the_benchmark()) {
    std::string without;
    for (const std::string& line : lines_of(text)) {
      const log_findings alone = found_in(line);
      const bool only_names = alone.events.empty() && alone.facts.size() == alone.facts.count("framework") &&
                              alone.facts.contains("framework");
      left_out += only_names ? 1 : 0;
      without += (only_names ? "on a GPU" : line) + "\n";
    }
    EXPECT_EQ(order_of(answer_to(without)), order_of(answer_to(text))) << text;
  }
  EXPECT_GT(left_out, 300U);
}

TEST(numbers_of_a_log, answer_the_check_for_a_cause_and_against_it) {
  const std::string failure =
      "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`\n";
  const explanation full = answer_to(
      "import transformers\nGPU 0 has a total capacity of 23.65 GiB of which 10.25 MiB is free.\n" + failure);
  ASSERT_FALSE(full.causes.empty());
  const ranked_cause& memory = full.causes.front();
  EXPECT_EQ(memory.what->id, "memory_exhausted.device");
  EXPECT_EQ(how_sure(memory), "supported by line 2");
  EXPECT_EQ(rests_on(memory, full), "supported by line 2: 10.25 MiB of 23.65 GiB is free");
  ASSERT_TRUE(memory.next && memory.next->answered);
  EXPECT_TRUE(memory.next->holds);
  EXPECT_EQ(memory.next->answered->line, 2U);
  EXPECT_LT(memory.next->answered->ratio.value(), 0.02);

  const explanation enough =
      answer_to("Memory usage: 2624061440 bytes free, 12524191744 bytes total\n" + failure);
  const auto place = std::ranges::find_if(
      enough.causes, [](const ranked_cause& c) { return c.what->cause_class() == "memory_exhausted"; });
  EXPECT_NE(place, enough.causes.begin());
  if (place != enough.causes.end()) {
    EXPECT_EQ(place->sure, confidence::possible);
    ASSERT_EQ(place->against.size(), 1U);
    EXPECT_EQ(place->against[0].words, "2.44 GiB of 11.66 GiB is free");
    EXPECT_TRUE(!place->next || !place->next->answered || !place->next->holds);
  }
}

TEST(numbers_of_a_log, far_from_the_failure_say_nothing) {
  const std::string early = "using device CUDA0 (NVIDIA GeForce RTX 3090) - 120 MiB free\n" +
                            std::string(100, '\n'),
                    failure = "cublasCreate: CUBLAS_STATUS_NOT_INITIALIZED\n";
  EXPECT_EQ(order_of(answer_to(early + failure)), order_of(answer_to(failure)));
}

/// Events of memory that is free, or not.
std::vector<std::string> said_of_memory(const std::string& text) {
  std::vector<std::string> ids;
  for (const log_event& e : answer_to(text).log.events)
    if (e.id == "memory.full" || e.id == "memory.enough" || e.id == "memory.asked") ids.push_back(e.id);
  return ids;
}

TEST(numbers_of_a_log, that_are_of_the_host_or_of_another_gpu_say_nothing) {
  const std::string failure = "\ncublasCreate: CUBLAS_STATUS_NOT_INITIALIZED\n";
  for (const char* const of_host :
       {"msg=\"inference compute\" id=0 library=cpu total=\"62.7 GiB\" available=\"0.4 GiB\"",
        "abc web 3% 500MiB / 512MiB", "downloading model.bin: 1000MiB / 1004MiB",
        "llama_model_load: CPU buffer - 12 MiB free"})
    EXPECT_TRUE(said_of_memory(of_host + failure).empty()) << of_host;
  const std::string full = "| N/A 30C P0 70W / 700W | 143000MiB / 143771MiB | 0% Default |\n",
                    empty = "| N/A 30C P0 70W / 700W | 4MiB / 143771MiB | 0% Default |\n";
  EXPECT_EQ(said_of_memory(full + failure), std::vector<std::string>{"memory.full"});
  EXPECT_TRUE(said_of_memory(full + empty + failure).empty()) << "which GPU failed is not known";
}

TEST(an_xid, that_asks_for_a_reset_is_not_hidden_by_a_milder_one) {
  const std::string fatal = "NVRM: Xid (PCI:0000:3b:00): 48, pid=1, DBE\n",
                    contained = "NVRM: Xid (PCI:0000:3b:00): 94, pid=1, Contained\n";
  EXPECT_EQ(answer_to(contained).causes.at(0).what->id, "hardware.contained");
  EXPECT_EQ(answer_to(fatal + contained).causes.at(0).what->id, "hardware.fault");
}

TEST(how_sure_a_cause_is, stands_in_one_wording) {
  const explanation named = answer_to("\n\nRuntimeError: CUDA error: device-side assert triggered");
  EXPECT_EQ(how_sure(named.causes.at(0)), "named by line 3");
  EXPECT_EQ(rests_on(named.causes.at(0), named), "named by line 3: device-side assert");
  const explanation by_trials = answer_to("cublasCreate: CUBLAS_STATUS_NOT_INITIALIZED");
  EXPECT_EQ(how_sure(by_trials.causes.at(0)), "supported by 1 recorded trial");
  EXPECT_EQ(rests_on(by_trials.causes.at(0), by_trials), "supported by 1 recorded trial");
  const explanation by_machine = answer_to(found_in("cublasCreate: CUBLAS_STATUS_NOT_INITIALIZED"),
                                           {{"environment.hidden_devices", "all are hidden"}});
  EXPECT_EQ(how_sure(by_machine.causes.at(0)), "supported by this machine");
  EXPECT_EQ(rests_on(by_machine.causes.at(0), by_machine), "supported by this machine: all are hidden");
  const explanation possible = answer_to("RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED");
  EXPECT_EQ(how_sure(possible.causes.at(0)), "possible, by documents and reports");
  EXPECT_EQ(rests_on(possible.causes.at(0), possible), "possible, by documents and reports");
  ranked_cause most;
  most.sure = confidence::supported;
  most.natural_trials = 1234567;
  EXPECT_LE(how_sure(most).size(), 45U);
}

TEST(not_understood, is_a_failure_that_names_a_library_and_that_no_table_has) {
  struct example {
    const char* log;
    std::uint64_t line;
  };
  for (const auto& [log, line] :
       {example{"RuntimeError: cuSPARSELt could not make a plan: cuSPARSE said 42", 1},
        example{"Traceback (most recent call last):\n  File \"a.py\", line 3, in f\n    g()\n"
                "acme.GemmError: CUDA refused the descriptor of the tensor",
                4},
        example{"Traceback (most recent call last):\n  File \"a.py\", line 3\n"
                "triton.runtime.errors.PTXASError: the assembler was not there",
                3},
        example{"F0716 10:02:13.511120    77 engine.cc:88] cuDNN gave up on the plan", 1},
        example{"FATAL: the NCCL communicator is gone", 1},
        example{"terminate called after throwing an instance of 'acme::error'\n  what():  nvJitLink cannot "
                "link this",
                2},
        example{"[01/22/2025-11:08:42] [TRT] [E] 1: Error Code 1: Cask (Cask convolution execution)", 1},
        example{"thread 'main' panicked at src/lib.rs:3: kernel for sm_89 is missing", 1},
        example{"cuRAND error: the generator is odd", 1}}) {
    const explanation e = answer_to(log);
    EXPECT_FALSE(e.failure) << log;
    EXPECT_THAT(e.causes, IsEmpty()) << log;
    ASSERT_TRUE(e.not_understood) << log;
    EXPECT_EQ(e.not_understood->line, line) << log;
  }
  const explanation failed =
      answer_to("RuntimeError: CUDA refused it\nCUDA error: device-side assert triggered");
  EXPECT_TRUE(failed.failure);
  EXPECT_FALSE(failed.not_understood) << "the failure is understood";
}

TEST(not_understood, is_nothing_that_only_names_a_path_or_was_got_over) {
  for (const char* log :
       {"FileNotFoundError: [Errno 2] No such file or directory: '/usr/local/cuda/x'", "KeyError: 'cuda'",
        "ValueError: bad header in /opt/cuda/x.csv", "fatal error: cuda_runtime.h: No such file or directory",
        "ModuleNotFoundError: No module named 'tensorrt'",
        "triton.compiler.errors.CompilationError: at 12:4: int has no member",
        "FATAL: role \"cuda\" does not exist", "no cuDNN error: all is well",
        "RuntimeError: the lookup barracuda failed",
        "Traceback (most recent call last):\nRuntimeError: HIP error: CUDA names are used for it",
        "cuRAND error: the generator is odd, retrying with another\nstep 2"})
    EXPECT_FALSE(answer_to(log).not_understood) << log;
  std::string caught = "Traceback (most recent call last):\nRuntimeError: CUDA refused it\n";
  for (int step = 0; step < 40; ++step) caught += "step " + std::to_string(step) + "\n";
  EXPECT_FALSE(answer_to(caught).not_understood) << "the program went on";
}

TEST(survived, is_no_failure_unless_the_program_ended_or_failed_again) {
  const std::string survived = "batch 64: CUDA out of memory, retrying with 32\n";
  const explanation e = answer_to(survived + "training finished\n");
  EXPECT_FALSE(e.failure);
  ASSERT_TRUE(e.aside);
  EXPECT_THAT(e.aside->words, HasSubstr("tried again"));
  EXPECT_TRUE(answer_to(survived + "Aborted (core dumped)\n").failure);
  EXPECT_TRUE(answer_to(survived + "batch 32: CUDA out of memory\n").failure);
  EXPECT_TRUE(answer_to("step 1\n" + survived).failure)
      << "it is tried again, and nothing tells that it worked";
  EXPECT_TRUE(answer_to(survived + "step 1\n" + survived + "step 2\n" + survived).failure);
  const explanation later = answer_to(survived + "RuntimeError: CUDA error: device-side assert triggered\n");
  ASSERT_TRUE(later.failure);
  EXPECT_EQ(later.failure->status, "cudaErrorAssert");
  EXPECT_FALSE(answer_to("CUDA error: out of memory\nwill retry in 5 s\nserved 100 requests\n").failure);
  EXPECT_TRUE(
      answer_to("DataLoader: Caught RuntimeError in worker 0.\nCUDA error: device-side assert triggered")
          .failure);
}

TEST(commits, are_no_failure_and_end_where_their_text_does) {
  const std::string commit =
      "commit 0123456789abcdef0123456789abcdef01234567\nAuthor: A <a@b.c>\n\n    CUDA error: 700 in f\n\n";
  EXPECT_FALSE(answer_to(commit).failure);
  EXPECT_TRUE(answer_to(commit + "RuntimeError: CUDA error: device-side assert triggered\n").failure);
  EXPECT_FALSE(answer_to("CUDA error: device-side assert in the loss (#412)").failure);
}

TEST(cures, are_those_of_the_framework_in_whose_lines_the_failure_stands) {
  const std::string of_torch = "site-packages/torch/nn/modules/linear.py\n";
  const explanation llama =
      answer_to(of_torch +
                "ggml_cuda_compute_forward: RMS_NORM failed\nCUDA error: no kernel image is available for "
                "execution on the device\n"
                "  current device: 0, in function ggml_cuda_compute_forward at ggml-cuda.cu:2400\n");
  const explanation vllm = answer_to(
      of_torch +
      "Traceback (most recent call last):\n  File \"/v/lib/python3.11/site-packages/vllm/worker.py\", line "
      "3, in run\n"
      "  File \"/v/lib/python3.11/site-packages/torch/nn/modules/linear.py\", line 125, in forward\n"
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n");
  EXPECT_THAT(vllm.causes.at(0).cures.at(0), HasSubstr("--max-model-len"));
  for (const std::string& cure : vllm.causes.at(0).cures)
    EXPECT_NE(cure, "a smaller batch, gradient checkpointing, or lower precision");
  const explanation torch = answer_to(
      "ggml_cuda_init: 1\nRuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling "
      "`cublasCreate(handle)`\n");
  EXPECT_THAT(torch.causes.at(0).cures.at(0), HasSubstr("gradient checkpointing"));
  EXPECT_FALSE(llama.causes.empty());
}

TEST(pairs_of_libraries, are_named_by_the_message) {
  const explanation e = answer_to(
      "ImportError: /v/site-packages/nvidia/cusparse/lib/libcusparse.so.12: undefined symbol: "
      "__nvJitLinkAddData_12_1, "
      "version libnvJitLink.so.12");
  EXPECT_EQ(e.causes.at(0).what->id, "mixed_libraries.other");
  EXPECT_EQ(e.causes.at(0).text, "libnvJitLink is of another version than libcusparse needs");
  EXPECT_EQ(e.page, nullptr) << "no library is missing";
  EXPECT_EQ(answer_to("undefined symbol: cudnnGetVersion2").causes.at(0).text,
            "libcudnn is of another version than the library that needs it");
  const explanation missing = answer_to("libcublas.so.12: cannot open shared object file");
  ASSERT_NE(missing.page, nullptr);
  EXPECT_EQ(missing.page->name, "library_not_found");
}

TEST(xids, say_no_process_is_lost_and_the_vendor_s_first_step) {
  for (const auto& [xid, step] :
       {std::pair{"79", "restart the machine"}, {"119", "--gpu-reset"}, {"94", "start the program again"}}) {
    const explanation e = answer_to(fmt::format("NVRM: Xid (PCI:0000:65:00): {}, pid=0", xid));
    ASSERT_FALSE(e.causes.empty()) << xid;
    EXPECT_THAT(e.causes[0].cures.at(0), HasSubstr(step));
    EXPECT_EQ(e.process.state, "unknown") << xid;
  }
}

}  // namespace
}  // namespace cufault
