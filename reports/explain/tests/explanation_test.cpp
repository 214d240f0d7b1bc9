// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#include "reports/explain/explanation.hpp"

#include "reports/base/json_input.hpp"
#include "reports/explain/tests/examples.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cufault {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

struct knowing {
  explicit knowing(const std::vector<record>& records)
      : seen(evidence_in(records, known())),
        reports(reports_of_causes(load_failures(CUFAULT_FAILURES_FILE), known())) {}
  [[nodiscard]] explanation of(std::string_view text, std::vector<machine_finding> machine = {}) const {
    static event_finder finder(known());  // takes long to make
    finder.add(text);
    return explain(finder.finish(), {known(), seen, reports, std::move(machine)});
  }
  evidence seen;
  std::vector<std::size_t> reports;
};

std::vector<std::string> classes(const explanation& e) {
  std::vector<std::string> all;
  for (const ranked_cause& c : e.causes) all.push_back(c.what->cause_class());
  return all;
}

const std::vector<record>& records() {
  static const std::vector<record> all{example_stack("13.1.0"), example_stack("12.0.1")};
  return all;
}

TEST(explain, takes_the_first_event_that_can_be_causal) {
  const knowing all(records());
  const auto e = all.of(
      "a.cu:1: f: block: [0,0,0], thread: [1,0,0] Assertion `srcIndex < srcSelectDimSize` failed.\n"
      "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`\n");
  ASSERT_FALSE(e.causes.empty());
  EXPECT_EQ(e.causes[0].what->id, "index_out_of_range.assertion");
  EXPECT_EQ(e.causes[0].sure, confidence::named);
  EXPECT_EQ(e.causes[0].words.at(0).line, 1U);
}

struct told {
  const char *log, *cause;
};

class first_cause : public testing::TestWithParam<told> {};

// What programs print of failures of which the words name the cause.
TEST_P(first_cause, is_what_the_words_name) {
  const knowing all(records());
  const auto e = all.of(GetParam().log);
  ASSERT_FALSE(e.causes.empty());
  EXPECT_EQ(e.causes[0].what->id, GetParam().cause);
}

INSTANTIATE_TEST_SUITE_P(
    each, first_cause,
    testing::Values(
        told{"RuntimeError: Library libcublas.so.12 is not found or cannot be loaded",
             "environment_other.library_not_found"},
        told{"ImportError: libcublas.so.12: cannot open shared object file: No such file or directory",
             "environment_other.library_not_found"},
        told{"AssertionError: Torch not compiled with CUDA enabled", "environment_other.cpu_build"},
        told{
            "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized",
            "environment_other.fabric_manager"},
        told{"NCCL WARN Error: failed to extend /dev/shm/nccl-Ab12Cd to 9637892 bytes",
             "environment_other.container_shared_memory"},
        told{"RuntimeError: CUDA Setup failed despite GPU being available.",
             "environment_other.bitsandbytes"},
        told{"INTERNAL: ptxas exited with non-zero error code 65280, output: ptxas fatal   : Value 'sm_120' "
             "is "
             "not defined for option 'gpu-name'",
             "no_code_for_gpu.not_compiled"},
        told{"RuntimeError: FlashAttention only supports Ampere GPUs or newer.", "no_code_for_gpu.kernel"},
        told{"triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 131072, "
             "Hardware limit: 101376.",
             "unsupported_types_or_shapes.shared_memory"},
        told{"[rank3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7)\n[rank0] CUDA error: "
             "unspecified launch failure",
             "upstream_kernel_fault.sticky"},
        told{"CUDA error: CUBLAS_STATUS_INTERNAL_ERROR when calling `cublasCreate(handle)`\n"
             "torch.OutOfMemoryError: CUDA out of memory.\n"
             "Loss.cu:245: f: block: [0,0,0], thread: [5,0,0] Assertion `t >= 0 && t < n_classes` failed.",
             "index_out_of_range.assertion"},
        told{"I think out of memory is ruled out\nRuntimeError: CUDA error: device-side assert triggered",
             "index_out_of_range.assertion"},
        told{"what():  cublasSgemm failed: 13\nCUDA error: device-side assert triggered",
             "index_out_of_range.assertion"},
        told{"MemoryError\ncublasCreate: CUBLAS_STATUS_NOT_INITIALIZED", "memory_exhausted.host"},
        told{"MemoryError: std::bad_alloc: out_of_memory: CUDA error at: cuda_memory_resource.hpp:62: "
             "cudaErrorMemoryAllocation out of memory",
             "memory_exhausted.device"},
        told{"RuntimeError: can't start new thread\ncublasCreate: CUBLAS_STATUS_NOT_INITIALIZED",
             "environment_other.limit"},
        told{"OpenBLAS blas_thread_init: RLIMIT_NPROC 512 current, 512 max\ncublasCreate failed: "
             "CUBLAS_STATUS_NOT_INITIALIZED",
             "environment_other.limit"},
        told{"NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.\n"
             "jax.errors.JaxRuntimeError: FAILED_PRECONDITION: No visible GPU devices.",
             "environment_other.driver_missing"},
        told{"CUDA error: all CUDA-capable devices are busy or unavailable",
             "environment_other.compute_mode"},
        told{"CUBLAS_STATUS_NOT_INITIALIZED when calling cublasCreate\nDuplicate GPU detected : rank 1 and "
             "rank 0 both on CUDA device "
             "1000",
             "environment_other.device_numbering"},
        told{"cublasGemmEx failed: CUBLAS_STATUS_NOT_SUPPORTED\nbfloat16 operands on a Tesla T4",
             "unsupported_types_or_shapes.combination"},
        told{"cublasSgemmStridedBatched: CUBLAS_STATUS_INVALID_VALUE\nscores: 4900000000 elements",
             "integer_overflow.extents"},
        told{"my_kernel<<<0, 256>>> was launched\ncublasSgemm: invalid configuration argument",
             "upstream_kernel_fault.refused_launch"},
        told{"handles created: 512\ncublasCreate -> 3", "memory_exhausted.device"},
        told{"NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.\ncublasSgemm: "
             "CUBLAS_STATUS_EXECUTION_FAILED",
             "hardware.off_the_bus"},
        told{"NVRM: Xid (PCI:0000:65:00): 119, pid=2171, Timeout after 45s of waiting for RPC response from "
             "GPU0 "
             "GSP! Expected function 76",
             "hardware.firmware"},
        told{"NVRM: Xid (PCI:0000:65:00): 94, Contained: SM (0x1)", "hardware.contained"},
        told{"NVRM: Xid (PCI:0000:65:00): 95, Uncontained: FBHUB", "hardware.fault"},
        told{"NVRM: Xid (PCI:0000:65:00): 63, Row Remapper: New row marked for remapping", "hardware.noted"},
        told{"NVRM: Xid (PCI:0000:65:00): 74, NVLink: fatal error detected on link 6", "hardware.link"},
        told{
            "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_SUPPORTED. This error may appear if you passed in a "
            "non-contiguous input.",
            "unsupported_types_or_shapes.combination"},
        told{"DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1, unhandled system error, NCCL version "
             "2.21.5",
             "environment_other.nccl_system"},
        told{"RuntimeError: cuBLAS error at csrc/gemm.cu:125 code=15",
             "unsupported_types_or_shapes.combination"},
        told{"SM89 kernel is not available. It needs a GPU with compute capability 8.9.",
             "no_code_for_gpu.kernel"},
        told{"[TRT] [E] 6: The engine plan file is generated on an incompatible device, expecting compute "
             "6.1 got "
             "compute 7.5",
             "no_code_for_gpu.engine"},
        told{"cublas runtime error : library not initialized at THCGeneral.c:378", "memory_exhausted.device"},
        told{"operation cusolverDnSpotrf(handle) failed: cuSolver execution failed",
             "upstream_kernel_fault.sticky"},
        told{"Check failed: status == CURAND_STATUS_SUCCESS (201 vs. 0)  CURAND_STATUS_LAUNCH_FAILURE",
             "no_code_for_gpu.not_compiled"},
        told{"Unable to load cuSPARSE. Is it installed?\noperation cusparseGetProperty(x) failed: The "
             "cuSPARSE "
             "library was not found.",
             "mixed_libraries.other"},
        told{"msg=\"Unable to load cudart library: cuda driver library init failure: 3\"",
             "environment_other.driver_state_after_suspend"},
        told{"nvidia-container-cli: permission error: capability change failed: operation not permitted",
             "environment_other.container_hook"},
        told{"NCCL INFO ncclMaxSharedMem 82240 exceeds device/fn maxSharedMem 79856\nTest NCCL failure "
             "'unhandled "
             "cuda error'",
             "unsupported_types_or_shapes.shared_memory"},
        told{"Got cutlass error: Error Internal at: 500", "no_code_for_gpu.not_compiled"},
        told{"peer access is not supported between these two devices", "peer_to_peer.unsupported"},
        told{"[[ Forward compatibility was attempted on non supported HW (error 804) ]]",
             "driver_too_old.compatibility_package"},
        told{"RuntimeError: expected scalar type Half but found Float",
             "unsupported_types_or_shapes.framework"},
        told{"RuntimeError: \"addmm_impl_cpu_\" not implemented for 'Half'",
             "unsupported_types_or_shapes.framework"},
        told{"RuntimeError: mat1 and mat2 shapes cannot be multiplied (10x10 and 5x10)",
             "bad_strides_or_ld.framework"},
        told{"File \"cupy/linalg.py\"\nValueError: shapes (10,10) and (5,10) not aligned: 10 (dim 1) != 5 "
             "(dim 0)",
             "bad_strides_or_ld.framework"},
        told{
            "RuntimeError: Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be "
            "the same",
            "wrong_context_or_thread.framework"},
        told{"RuntimeError: Input type (torch.cuda.FloatTensor) and weight type (torch.cuda.HalfTensor) "
             "should "
             "be the same",
             "unsupported_types_or_shapes.framework"},
        told{"RuntimeError: cusolver error: CUSOLVER_STATUS_INTERNAL_ERROR, when calling "
             "`cusolverDnCreate(handle)`",
             "memory_exhausted.device"},
        told{"RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED", "upstream_kernel_fault.sticky"},
        told{
            "ImportError: libcublas.so.11: symbol cublasLtInit version libcublasLt.so.11 not defined in file "
            "libcublasLt.so.11 with link time reference",
            "mixed_libraries.pair"},
        told{
            "nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open "
            "shared object file: no such file or directory",
            "environment_other.no_device"},
        told{"RuntimeError: nvrtc: error: invalid value for --gpu-architecture (-arch)",
             "no_code_for_gpu.not_compiled"}));

/// A text that the pattern fits.
std::string example_of(const std::string& pattern) {
  std::string text;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const auto close = pattern[i] == '{' ? pattern.find('}', i) : std::string::npos;
    if (close == std::string::npos) {
      text += pattern[i] == '*' ? 'x' : pattern[i];
    } else {
      text += pattern.substr(i, close - i).find(':') == std::string::npos ? "word" : "12";
      i = close;
    }
  }
  return text;
}

/// Events that are no failure, with a text for each of their patterns.
std::vector<std::pair<std::string, std::string>> circumstances() {
  std::vector<std::pair<std::string, std::string>> all;
  for (const event_pattern& e : known().events)
    if (e.role != event_role::failure && e.fails.empty())
      for (const std::string& pattern : e.match) all.emplace_back(e.id, example_of(pattern));
  for (const gpu_model& g : known().gpus)
    for (const std::string& pattern : g.match) all.emplace_back("gpu." + g.family, example_of(pattern));
  return all;
}

const std::set<std::string> has_words_of_a_failure{"pytorch.allocator_key",    "cublas.log_out_of_memory",
                                                   "memory.tried_to_allocate", "cublas.lt_not_initialized",
                                                   "pytorch.printed",          "fatal.library"};

bool says_nothing(const explanation& e) {
  return !e.failure && !e.not_understood && e.causes.empty() && e.process.state == "unknown" &&
         e.process.why.empty();
}

TEST(explain, opens_no_cause_by_a_circumstance) {
  const knowing all(records());
  std::size_t tried = 0;
  std::string together;
  for (const auto& [id, text] : circumstances()) {
    const explanation e = all.of(text);
    // Some have the words of a failure in them: "Failed to initialize CUDA: out of memory".
    if (has_words_of_a_failure.contains(id)) continue;
    EXPECT_TRUE(says_nothing(e)) << id << ": " << text;
    ++tried;
    if (!id.starts_with("end.")) together += text + "\n";
  }
  EXPECT_GT(tried, 800U);
  const explanation e = all.of(together);
  EXPECT_TRUE(says_nothing(e)) << (e.failure ? e.failure->words : "");
}

TEST(explain, takes_each_cause_that_fails_for_a_failure) {
  const knowing all(records());
  for (const event_pattern& e : known().events) {
    if (e.fails.empty()) continue;
    for (const std::string& pattern : e.match)
      EXPECT_TRUE(all.of("torch on a GPU\n" + example_of(pattern)).failure) << e.id << ": " << pattern;
  }
}

// Programs of others in the form in which they print: nothing of a GPU library failed in any.
TEST(explain, finds_no_failure_in_healthy_and_foreign_logs) {
  const knowing all(records());
  std::size_t logs = 0;
  for (const auto& entry : fs::directory_iterator(CUFAULT_HEALTHY_LOGS)) {
    const std::string text = read_text(entry.path());
    const explanation e = all.of(text);
    EXPECT_TRUE(e.causes.empty()) << entry.path() << (e.failure ? e.failure->words : "");
    EXPECT_FALSE(e.failure) << entry.path();
    EXPECT_FALSE(e.not_understood) << entry.path() << (e.not_understood ? e.not_understood->words : "");
    EXPECT_NE(e.process.state, "lost") << entry.path();
    EXPECT_FALSE(all.of(text + "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`\n")
                     .causes.empty())
        << entry.path() << ": a failure below it is found";
    ++logs;
  }
  EXPECT_GE(logs, 90U);
}

TEST(explain, finds_no_failure_in_random_bytes) {
  const knowing all({});
  std::mt19937 random(1);
  std::string bytes(4U << 20, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  EXPECT_TRUE(says_nothing(all.of(bytes)));
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = i % 77 == 76 ? '\n' : digits[static_cast<unsigned char>(bytes[i]) % digits.size()];
  EXPECT_TRUE(says_nothing(all.of(bytes)));
}

TEST(explain, finds_no_failure_in_words_of_people) {
  const knowing all({});
  for (const char* words : {"",
                            "triton",
                            "docker",
                            "bitsandbytes",
                            "step 28131",
                            "loss 4294967296",
                            "2 GB",
                            "out of memory",
                            "Using Flash Attention backend on V1 engine.",
                            "no CUDA errors so far",
                            "INTERNAL_ERROR",
                            "the process crashed",
                            "torch: results differ, the loss is nan",
                            "to avoid CUDA out of memory",
                            "GPU: no Xid in the kernel log",
                            "success, all GPUs are there",
                            "segfault",
                            "oldest xid 731",
                            "libcurl.so.4: cannot open shared object file",
                            "ImportError: DLL load failed while importing _ssl",
                            "undefined symbol: curl_easy_init",
                            "ValueError: shapes (2,3) and (4,5) not aligned"})
    EXPECT_TRUE(says_nothing(all.of(words))) << words;
}

TEST(explain, takes_a_status_alone_for_a_failure) {
  const knowing all(records());
  for (const char* status :
       {"CUBLAS_STATUS_INTERNAL_ERROR", "CUDA error: out of memory", "CUDA out of memory",
        "cudaErrorIllegalAddress", "CUDA_ERROR_NO_DEVICE", "Xid 79",
        "an illegal memory access was encountered", "cublasCreate INTERNAL_ERROR", "cublasSgemm hangs",
        "cublasLtMatmul failed: 13", "cuMemAlloc failed with 2", "torch: Segmentation fault"})
    EXPECT_FALSE(all.of(status).causes.empty()) << status;
}

TEST(explain, takes_other_vendors_and_lines_of_source_for_no_failure) {
  const knowing all(records());
  for (const char* other : {"RuntimeError: HIP error: an illegal memory access was encountered",
                            "rocBLAS error: Cannot read TensileLibrary.dat", "VK_ERROR_OUT_OF_DEVICE_MEMORY",
                            "ZE_RESULT_ERROR_DEVICE_LOST"}) {
    EXPECT_TRUE(says_nothing(all.of(other))) << other;
    EXPECT_TRUE(all.of(other).aside) << other;
  }
  for (const char* source :
       {"- Fixed: CUDA error: an illegal memory access was encountered (#123)",
        "a1b2c3d Fix CUBLAS_STATUS_NOT_INITIALIZED in tests", "#define CUDA_ERROR_OUT_OF_MEMORY 2",
        "a.cu(3): error: identifier \"CUBLAS_STATUS_NOT_SUPPORTED\" is undefined"})
    EXPECT_TRUE(says_nothing(all.of(source))) << source;
}

TEST(explain, says_of_what_no_cause_is_known_that_it_failed) {
  const knowing all(records());
  for (const char* log :
       {"cublasCreate failed", "CUFFT_INVALID_PLAN", "ncclInternalError: Internal check failed"}) {
    EXPECT_TRUE(all.of(log).failure) << log;
    EXPECT_THAT(all.of(log).causes, IsEmpty()) << log;
    const auto before = all.of(std::string(log) + "\ncublasSgemm: CUBLAS_STATUS_ALLOC_FAILED");
    ASSERT_FALSE(before.causes.empty()) << log;
    EXPECT_EQ(before.failure->status, "CUBLAS_STATUS_ALLOC_FAILED");
    const auto named = all.of(std::string(log) + "\nAssertionError: Torch not compiled with CUDA enabled");
    ASSERT_FALSE(named.causes.empty()) << log;
    EXPECT_EQ(named.causes[0].what->id, "environment_other.cpu_build");
  }
}

TEST(explain, says_what_else_failed_where_nothing_of_a_gpu_library_did) {
  const knowing all({});
  for (const char* host :
       {"Out of memory: Killed process 12345 (python) total-vm:1kB",
        "java.lang.OutOfMemoryError: Java heap space",
        "slurmstepd: error: Detected 1 oom_kill event in StepId=5512.batch",
        "[1]    12345 killed     python a.py",
        "Last State: Terminated\n  Reason: OOMKilled\n  Exit Code: 137",
        "DefaultCPUAllocator: can't allocate memory: you tried to allocate 1099511627776 bytes."}) {
    const explanation e = all.of(host);
    EXPECT_TRUE(says_nothing(e)) << host;
    ASSERT_NE(e.aside_cause, nullptr) << host;
    EXPECT_EQ(e.aside_cause->id, "memory_exhausted.host");
  }
  for (const char* other :
       {"torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB. GPU 0 has",
        "RuntimeError: MPS backend out of memory"}) {
    const explanation e = all.of(other);
    EXPECT_TRUE(says_nothing(e)) << other;
    EXPECT_TRUE(e.aside) << other;
    EXPECT_EQ(e.aside_cause, nullptr) << other;
  }
  EXPECT_FALSE(all.of("all is well").aside);
}

// "RuntimeError" alone is no failure that another RuntimeError is measured by.
TEST(explain, measures_what_a_framework_refuses_by_the_text_of_its_exception) {
  const auto refused = [](const char* name, const char* text) {
    call_record call = example_call("torch.matmul", "RuntimeError");
    call.what.name.variant = name;
    call.what.facts["exception"] = std::string("RuntimeError");
    arm_result arm = example_arm(name, arm_kind::fault, {call}, "usable");
    arm.trials[0].notes = {{std::string("torch.matmul ") + name, text}};
    return arm;
  };
  std::vector<record> with_refusals = records();
  with_refusals[0].cases.push_back(
      {"pytorch.on_the_cpu",
       {refused("mixed_types", "expected m1 and m2 to have the same dtype, but got: float != double"),
        refused("incompatible_shapes", "mat1 and mat2 shapes cannot be multiplied (10x10 and 5x10)")}});
  with_refusals[0].cases.push_back(
      {"pytorch.forked_child",
       {refused("matmul",
                "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing")}});
  const knowing all(with_refusals);
  const auto arms_of = [&](std::string_view log) {
    const auto e = all.of(log);
    return e.causes.empty() ? std::set<std::string>{} : e.causes[0].natural_arms;
  };
  EXPECT_THAT(arms_of("RuntimeError: expected scalar type Half but found Float"),
              ElementsAre("pytorch.on_the_cpu/mixed_types"));
  EXPECT_THAT(arms_of("RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)"),
              ElementsAre("pytorch.on_the_cpu/incompatible_shapes"));
  EXPECT_THAT(arms_of("RuntimeError: Cannot re-initialize CUDA in forked subprocess."),
              ElementsAre("pytorch.forked_child/matmul"));
  EXPECT_THAT(arms_of("RuntimeError: something else"), IsEmpty());
}

TEST(explain, does_not_take_general_words_before_an_error_for_what_a_framework_refuses) {
  const knowing all(records());
  for (const char* before : {"worker is on device 0 but scheduler wants 1",
                             "DimensionMismatch raised as expected", "size mismatch, got 5",
                             "found at least two devices: cuda:0 and cuda:1", "calling ncclGetLastError"}) {
    const auto e = all.of(std::string(before) + "\ncublasSgemm: cudaErrorIllegalAddress\n");
    ASSERT_TRUE(e.failure) << before;
    EXPECT_EQ(e.failure->status, "cudaErrorIllegalAddress") << before;
  }
}

TEST(explain, takes_a_later_error_for_the_failure_and_not_what_a_framework_refused) {
  const knowing all(records());
  const auto e = all.of(
      "skipping batch 3: mat1 and mat2 shapes cannot be multiplied (64x512 and 256x10)\n"
      "RuntimeError: CUDA error: an illegal memory access was encountered\n");
  ASSERT_TRUE(e.failure);
  EXPECT_EQ(e.failure->status, "cudaErrorIllegalAddress");
  EXPECT_NE(e.process.state, "usable");
}

TEST(explain, says_that_a_process_is_lost_or_ended_by_what_came_later) {
  const knowing all(records());
  const std::string full = "cublasCreate failed: CUBLAS_STATUS_ALLOC_FAILED\n";
  EXPECT_EQ(all.of(full).process.state, "usable");
  EXPECT_EQ(all.of(full + "cublasSgemm: cudaErrorIllegalAddress\n").process.state, "lost");
  EXPECT_EQ(all.of(full + "NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.\n").process.state,
            "lost");
  EXPECT_EQ(all.of(full + "Segmentation fault (core dumped)\n").process.state, "ended");
}

TEST(explain, knows_nothing_of_ordinary_lines) {
  const knowing all(records());
  for (const char* line :
       {"ImportError: libGL.so.1: cannot open shared object file: No such file or directory",
        "git: symbol lookup error: git: undefined symbol: pcre2_match",
        "The root filesystem is on device /dev/sda1 but the boot partition is elsewhere.",
        "rsync: size mismatch, got 1024 bytes, expected 2048",
        "with pytest.raises(RuntimeError, match='mat1 and mat2 shapes cannot be multiplied'):",
        "IndexError: list index out of range", "Double Bit ECC : 0"})
    EXPECT_THAT(all.of(line).causes, IsEmpty()) << line;
}

TEST(explain, takes_the_longer_of_two_texts_of_errors) {
  const knowing all(records());
  const auto e = all.of("CUDA error: operation not permitted when stream is capturing");
  ASSERT_TRUE(e.failure);
  EXPECT_EQ(e.failure->status, "cudaErrorStreamCaptureUnsupported");
}

// The text of each exception is its own: the second call failed for another reason.
TEST(explain, reads_the_note_of_each_of_several_exceptions) {
  observation o;
  for (int i = 0; i < 2; ++i) {
    call_record call = example_call("torch.matmul", "RuntimeError");
    call.what.facts["exception"] = std::string("RuntimeError");
    o.calls.push_back(call);
  }
  o.notes = {{"torch.matmul", "expected m1 and m2 to have the same dtype, but got: float != double"},
             {"torch.matmul", "mat1 and mat2 shapes cannot be multiplied (10x10 and 5x10)"}};
  const auto failures = failures_in(o, known());
  ASSERT_EQ(failures.size(), 2U);
  EXPECT_EQ(failures[0].status, "TYPES_REFUSED");
  EXPECT_EQ(failures[1].status, "SHAPES_REFUSED");
}

TEST(explain, knows_what_frameworks_say_of_variables_captures_and_fp8) {
  const knowing all(records());
  const auto first_cause = [&](std::string_view log) {
    const auto e = all.of(log);
    return e.causes.empty() ? std::string() : e.causes.front().what->id;
  };
  for (const char* variable : {"Unable to initialize backend 'nowhere': Backend 'nowhere' is not in the list "
                               "of known backends: ['cpu']",
                               "parse_flags_from_env.cc:234] Unknown flag in XLA_FLAGS: --xla_nothing",
                               "RuntimeError: Unrecognized key 'nothing' in CUDA allocator config."})
    EXPECT_EQ(first_cause(variable), "environment_other.variable") << variable;
  EXPECT_EQ(first_cause("RuntimeError: Unknown backend: 'gpu' requested, but no platforms are present"),
            "environment_other.no_device");
  EXPECT_EQ(
      first_cause("NotImplementedError: calling cuBLAS API during stream capture is currently unsupported"),
      "stream_capture.call");
  for (const char* fp8 :
       {"Only multiplication of row-major and column-major matrices is supported by cuBLASLt",
        "Multiplication of two Float8_e5m2 matrices is not supported"})
    EXPECT_EQ(first_cause(fp8), "unsupported_types_or_shapes.framework") << fp8;
  EXPECT_EQ(first_cause("Unrecognized key 'nothing' in CUDA allocator config.\n"
                        "Segmentation fault (core dumped)"),
            "environment_other.variable");
  for (const char* other : {"ValueError: invalid literal for int() with base 10: 'many'",
                            "Unknown flag in my own FLAGS: --x", "backend: 'gpu' requested"})
    EXPECT_EQ(first_cause(other), "") << other;
}

TEST(explain, tells_the_alignment_of_a_buffer_from_that_of_an_extent) {
  const knowing all(records());
  const auto first_cause = [&](const std::string& hint) {
    const auto e = all.of("cublasGemmEx: CUBLAS_STATUS_NOT_SUPPORTED\n" + hint);
    return e.causes.empty() ? std::string() : e.causes.front().what->id;
  };
  EXPECT_EQ(
      first_cause(
          "[cublasLt][Hint] The minimum buffer alignment of matrix A (2) is not divisible by 16. To achieve "
          "better performance, you may consider aligning your pointers to a multiple of 16 bytes."),
      "misaligned.operand");
  EXPECT_EQ(
      first_cause(
          "[cublasLt][Hint] The number of columns in matrix B (12) is not 8 aligned. To achieve better "
          "performance, you may consider zero-padding matrix B to make number of columns divisible by 8."),
      "unsupported_types_or_shapes.combination");
  EXPECT_NE(
      first_cause("[cublasLt][Hint] The minimum buffer alignment of matrix A (8) is not divisible by 16."),
      "misaligned.operand")
      << "cuBLASLt says so of operands that are aligned well enough, too";
}

TEST(explain, does_not_take_a_bias_or_a_type_that_the_gpu_has_for_a_cause) {
  const knowing all(records());
  const auto has = [&](std::string_view log, std::string_view event) {
    const auto e = all.of(log);
    return std::any_of(e.log.events.begin(), e.log.events.end(),
                       [&](const log_event& o) { return o.id == event; });
  };
  EXPECT_FALSE(has("return F.linear(input, self.weight, self.bias)", "alignment.words"));
  EXPECT_TRUE(has("bfloat16 on a Tesla T4", "log.type_newer_than_gpu"));
  EXPECT_FALSE(has("bfloat16 on an H100", "log.type_newer_than_gpu"));
  EXPECT_FALSE(has("float32 on a Tesla T4", "log.type_newer_than_gpu"));
  EXPECT_FALSE(has("4096 elements", "log.extents_over_32_bits"));
}

TEST(explain, ranks_what_the_machine_meets_before_what_it_does_not) {
  const knowing all(records());
  const char* const failure = "cublasCreate: CUBLAS_STATUS_NOT_INITIALIZED";
  const std::vector<machine_finding> hidden{{"environment.hidden_devices", "all are hidden"},
                                            {"environment.hidden_devices", "none is left"},
                                            {"environment.no_such_case", "another thing"}};
  const auto place = [](const explanation& e) {
    const auto at = std::find_if(e.causes.begin(), e.causes.end(), [](const ranked_cause& c) {
      return c.what->id == "environment_other.no_device";
    });
    return at - e.causes.begin();
  };
  const auto without = all.of(failure), with = all.of(failure, hidden);
  ASSERT_NE(place(without), 0);
  ASSERT_EQ(place(with), 0);
  EXPECT_EQ(with.causes[0].sure, confidence::supported);
  EXPECT_EQ(with.causes[0].machine, (std::vector<std::string>{"all are hidden", "none is left"}));
  EXPECT_TRUE(with.causes[0].words.empty()) << "the log says nothing of it";
  for (std::size_t i = 1; i < with.causes.size(); ++i) EXPECT_TRUE(with.causes[i].machine.empty());
  EXPECT_TRUE(all.of("all is well", hidden).causes.empty()) << "nothing failed";

  const auto named =
      all.of("Assertion `srcIndex < srcSelectDimSize` failed.\n" + std::string(failure), hidden);
  EXPECT_EQ(named.causes.at(0).what->id, "index_out_of_range.assertion") << "what the log names comes first";
}

TEST(explain, takes_a_line_of_the_kernel_log_wherever_it_stands) {
  const auto e = knowing({}).of("cublasSgemm: CUBLAS_STATUS_EXECUTION_FAILED\n" + std::string(100, '\n') +
                                "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n");
  ASSERT_FALSE(e.causes.empty());
  EXPECT_EQ(e.causes[0].what->cause_class(), "hardware");
}

TEST(explain, gives_at_most_three_causes_of_different_classes) {
  const auto e = knowing(records()).of("cublasCreate: CUBLAS_STATUS_NOT_INITIALIZED");
  EXPECT_THAT(e.causes, SizeIs(3));
  auto names = classes(e);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
}

TEST(explain, says_what_records_show_and_counts_it) {
  const auto e = knowing(records()).of("cublasCreate: CUBLAS_STATUS_ALLOC_FAILED");
  ASSERT_FALSE(e.causes.empty());
  const ranked_cause& c = e.causes[0];
  EXPECT_EQ(c.what->id, "memory_exhausted.device");
  EXPECT_EQ(c.natural_trials, 2U);  // one on each stack
  EXPECT_THAT(c.natural_arms, ElementsAre("memory.create_under_pressure/held_here_lazy"));
  EXPECT_THAT(c.stacks, SizeIs(2));
  EXPECT_EQ(c.injected_trials, 2U);
  EXPECT_TRUE(e.from_records);
  EXPECT_EQ(c.reproduce, "cufault run memory.create_under_pressure/held_here_lazy");
  ASSERT_THAT(c.clears, SizeIs(1));
  EXPECT_EQ(c.clears[0].words, "free the memory");
  EXPECT_EQ(c.clears[0].cleared, 2U);
  ASSERT_THAT(c.does_not_clear, SizeIs(1));
  EXPECT_EQ(c.does_not_clear[0].words, "clear the last error");
  EXPECT_EQ(e.process.state, "usable");
  EXPECT_EQ(e.process.usable, 2U);
}

/// An assertion as PyTorch and CuPy show it, with the same remedy.
record framework_stack() {
  record r = example_stack("13.1.0");
  for (const char* family : {"cupy", "pytorch"}) {
    const auto failed = [] {
      call_record call = example_call("torch.matmul", "CUBLAS_STATUS_NOT_INITIALIZED");
      call.what.facts["named_call"] = "cublasCreate";
      return call;
    };
    case_result c{std::string(family) + ".index_out_of_range", {}};
    c.arms = {example_arm("control", arm_kind::control,
                          {example_call("torch.matmul", "OK", false, numbers_found::right)}, "usable"),
              example_arm("matmul", arm_kind::fault, {failed()}, "damaged"),
              example_arm("matmul+new_process", arm_kind::remedy,
                          {failed(), example_call("torch.matmul", "OK", true, numbers_found::right)},
                          "usable", std::string("a new process of ") + family)};
    c.arms[0].trials[0].calls[0].what.ok = c.arms[2].trials[0].calls[1].what.ok = true;
    c.arms[0].judged = verdict::ok;
    r.cases.push_back(std::move(c));
  }
  return r;
}

TEST(explain, counts_a_trial_once_in_which_several_calls_fail_and_says_what_the_driver_alone_said) {
  record r = example_stack("13.1.0");
  for (arm_result& a : r.cases[0].arms)
    if (a.name == "held_here_lazy")
      a.trials[0].calls.push_back(example_call("cublasLtCreate", "CUBLAS_STATUS_ALLOC_FAILED"));
  const auto twice = knowing({r}).of("cublasCreate: CUBLAS_STATUS_ALLOC_FAILED");
  EXPECT_EQ(twice.causes.at(0).natural_trials, 1U);
  EXPECT_EQ(twice.causes.at(0).returned_trials, 1U);
  EXPECT_EQ(twice.causes.at(0).framework_trials, 0U);
  for (arm_result& a : r.cases[0].arms)
    if (a.name == "held_here_lazy")
      a.trials[0].calls[0].driver = {{.function = "cuMemAlloc_v2", .code = "OUT_OF_MEMORY"}};
  const auto in_the_log = knowing({r}).of("cudaMalloc: out of memory");
  EXPECT_EQ(in_the_log.causes.at(0).what->id, "memory_exhausted.device");
  const auto of_any_call = knowing({r}).of("CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ(of_any_call.causes.at(0).natural_trials, 1U);
  EXPECT_EQ(of_any_call.causes.at(0).returned_trials, 0U);
}

TEST(explain, counts_remedies_on_the_stacks_that_show_the_failure) {
  std::vector<record> two = records();
  std::erase_if(two[1].cases[0].arms,
                [](const arm_result& a) { return a.kind == arm_kind::fault && a.counterpart_of.empty(); });
  const auto e = knowing(two).of("cublasCreate: CUBLAS_STATUS_ALLOC_FAILED");
  EXPECT_THAT(e.causes.at(0).stacks, SizeIs(1));
  ASSERT_THAT(e.causes[0].clears, SizeIs(1));
  EXPECT_EQ(e.causes[0].clears[0].cleared, 1U) << "on the other stack it was tried, too";
}

TEST(explain, counts_what_the_framework_of_the_log_shows) {
  const auto e = knowing({framework_stack()})
                     .of("RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling "
                         "`cublasCreate(handle)`\n");
  const auto at = std::ranges::find_if(
      e.causes, [](const ranked_cause& c) { return c.what->id == "index_out_of_range.assertion"; });
  ASSERT_NE(at, e.causes.end());
  EXPECT_EQ(at->natural_trials, 3U);
  EXPECT_EQ(at->framework_trials, 1U);
}

TEST(explain, checks_what_the_status_allows) {
  const knowing all(records());
  for (const char* refused :
       {"cublasSgemm: CUBLAS_STATUS_INVALID_VALUE", "cublasSgemm: CUBLAS_STATUS_NOT_SUPPORTED"}) {
    const auto e = all.of(refused);
    EXPECT_FALSE(e.causes.empty());
    for (const ranked_cause& c : e.causes) {
      ASSERT_TRUE(c.next) << refused;
      EXPECT_EQ(c.next->text.find("cudaDeviceSynchronize"), std::string::npos) << refused << c.next->text;
    }
  }
  const auto stub = all.of("CUDA driver is a stub library");
  EXPECT_EQ(stub.causes.at(0).next.value().says, "not the driver's");
}

TEST(explain, says_to_users_of_a_framework_what_they_can_type) {
  const auto e = knowing(records()).of(
      "RuntimeError: CUDA error: CUBLAS_STATUS_INTERNAL_ERROR when calling `cublasSgemm(handle)`");
  EXPECT_TRUE(std::ranges::any_of(e.causes, [](const ranked_cause& c) {
    return c.next && c.next->text == "torch.cuda.synchronize() directly before the line: what comes of it?";
  }));
}

TEST(explain, puts_what_is_told_of_more_often_first_behind_a_status_alone) {
  const auto e = knowing({}).of("CUBLAS_STATUS_EXECUTION_FAILED");
  ASSERT_FALSE(e.causes.empty());
  EXPECT_EQ(classes(e).at(1), "upstream_kernel_fault");
}

TEST(explain, takes_as_many_causes_of_a_class_as_it_is_asked_for) {
  event_finder finder(known());
  finder.add("cudaErrorMemoryAllocation");
  const knowing all(records());
  const auto e = explain(finder.finish(), {known(), all.seen, all.reports}, 6, 3);
  EXPECT_EQ(std::ranges::count(classes(e), "memory_exhausted"), 3);
}

TEST(explain, says_that_the_process_is_lost_where_records_show_it) {
  const auto e = knowing(records()).of("cudaDeviceSynchronize: device-side assert triggered");
  EXPECT_EQ(e.process.state, "lost");
  EXPECT_EQ(e.process.damaged, 2U);
}

TEST(explain, ranks_by_reports_where_records_know_nothing_and_says_so) {
  const auto e = knowing({}).of("cublasCreate: CUBLAS_STATUS_NOT_INITIALIZED");
  EXPECT_FALSE(e.from_records);
  EXPECT_FALSE(e.causes.empty());
  for (const ranked_cause& c : e.causes) {
    EXPECT_EQ(c.natural_trials, 0U);
    EXPECT_EQ(c.reproduce, "");
  }
}

TEST(explain, counts_injected_failures_apart_from_natural_ones) {
  auto injected = records();
  for (record& r : injected)
    for (case_result& c : r.cases)
      std::erase_if(
          c.arms, [](const arm_result& a) { return a.kind == arm_kind::fault && a.counterpart_of.empty(); });
  const auto e = knowing(injected).of("cublasCreate: CUBLAS_STATUS_ALLOC_FAILED");
  ASSERT_FALSE(e.causes.empty());
  EXPECT_EQ(e.causes[0].natural_trials, 0U);
  EXPECT_EQ(e.causes[0].injected_trials, 2U);
  EXPECT_FALSE(e.from_records);
}

TEST(explain, has_no_answer_for_what_it_does_not_know) {
  for (const char* text : {"", "hello, world", "\xff\xff\0\1\2", "Error: file not found: a.json"})
    EXPECT_THAT(knowing(records()).of(text).causes, IsEmpty()) << text;
}

TEST(explain, names_the_check_that_costs_least_for_what_it_tells) {
  const auto e = knowing(records()).of("cublasCreate: CUBLAS_STATUS_NOT_INITIALIZED");
  ASSERT_FALSE(e.causes.empty());
  for (const ranked_cause& c : e.causes) {
    ASSERT_TRUE(c.next) << c.what->id;
    EXPECT_FALSE(c.next->others.empty());
    EXPECT_EQ(c.next->text.find("{call}"), std::string::npos);
    for (const std::string& other : c.next->others) EXPECT_NE(other, c.what->id);
  }
}

/// All that is said, in a form that can be compared.
std::string said(const explanation& e) {
  std::string all = e.process.state + e.process.why;
  for (const ranked_cause& c : e.causes) {
    all += "\n" + c.what->id + " " + to_string(c.sure) + " " + std::to_string(c.natural_trials) + " " +
           std::to_string(c.injected_trials) + " " + c.reproduce +
           (c.next ? c.next->text + c.next->says : "");
    for (const tried_remedy& t : c.clears) all += t.words + std::to_string(t.cleared);
  }
  return all;
}

TEST(explain, names_what_helped_in_the_framework_of_the_log_first) {
  const knowing all({framework_stack()});
  const std::string failure = "CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`\n";
  const auto in = [&](const std::string& log) {
    const auto e = all.of(log + failure);
    const auto at = std::find_if(e.causes.begin(), e.causes.end(), [](const ranked_cause& c) {
      return c.what->id == "index_out_of_range.assertion";
    });
    return at == e.causes.end() || at->clears.empty() ? std::string()
                                                      : at->reproduce + ": " + at->clears[0].words;
  };
  EXPECT_EQ(in("RuntimeError: CUDA error: "),
            "cufault run pytorch.index_out_of_range/matmul --python python3: a new process of pytorch");
  const auto of_none = all.of("cudaErrorAssert\n");
  ASSERT_FALSE(of_none.causes.empty());
  EXPECT_EQ(of_none.causes[0].reproduce, "cufault run sticky.device_fault/no_handle_assertion");
}

TEST(explain, does_not_depend_on_the_order_of_records) {
  auto shuffled = records();
  std::mt19937 random(1);
  for (int i = 0; i < 10; ++i) {
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    for (record& r : shuffled) {
      std::shuffle(r.cases.begin(), r.cases.end(), random);
      for (case_result& c : r.cases) std::shuffle(c.arms.begin(), c.arms.end(), random);
    }
    for (const char* text : {"cublasCreate: CUBLAS_STATUS_ALLOC_FAILED",
                             "cublasCreate: CUBLAS_STATUS_NOT_INITIALIZED", "cudaErrorAssert"})
      EXPECT_EQ(said(knowing(shuffled).of(text)), said(knowing(records()).of(text))) << text;
  }
}

TEST(explain, ranks_the_same_by_a_subset_of_stacks) {
  for (const char* text : {"cublasCreate: CUBLAS_STATUS_ALLOC_FAILED", "cudaErrorAssert"})
    EXPECT_EQ(classes(knowing({records()[0]}).of(text)), classes(knowing(records()).of(text))) << text;
}

TEST(fit, tells_a_call_its_family_and_another_call_apart) {
  const failure_seen create{"S", "cublasCreate"};
  EXPECT_EQ(fit(create, "S", "cublasCreate"), 3);
  EXPECT_EQ(fit(create, "S", "cublasLtCreate"), 3);
  EXPECT_EQ(fit(create, "S", "cublasSgemm"), 1);
  EXPECT_EQ(fit(create, "T", "cublasCreate"), 0);
  EXPECT_EQ(fit({"S", ""}, "S", "cublasCreate"), 2);
  EXPECT_EQ(fit({"S", "cublasSgemm_64"}, "S", "cublasSgemm"), 3);
  EXPECT_EQ(fit(create, failure_pattern{.status = {"S"}}), 2);
  EXPECT_EQ(fit(create, failure_pattern{.status = {"S"}, .call = {"cublas*Create"}}), 3);
  EXPECT_EQ(fit(create, failure_pattern{.status = {"S"}, .call = {"cublasSgemm"}}), 0);
}

}  // namespace
}  // namespace cufault
