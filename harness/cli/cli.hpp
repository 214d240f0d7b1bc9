// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/properties.hpp"
#include "harness/model/target.hpp"
#include "harness/run/python.hpp"
#include "harness/run/stack.hpp"
#include "reports/evidence/baselines.hpp"
#include "reports/judge/cost.hpp"
#include "reports/model/record.hpp"
#include "reports/printers/table.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace cufault {

struct diagnosis;
struct lexicon;
struct recorded_answers;

/// What was asked for cannot be done. what() is the one line that the user reads; the exit code goes with it. `json_is_printed`: where JSON was
/// asked for, the answer that is printed already says so.
class usage_error : public std::runtime_error {
 public:
  explicit usage_error(const std::string& line, int code = 2, bool in_json = false)
      : std::runtime_error(line), exit_code(code), json_is_printed(in_json) {}
  int exit_code;
  bool json_is_printed;
};

/// Exit codes beside those of exit_code() in reports/judge/judge.hpp.
inline constexpr int exit_gate = 1, exit_unresolved = 2, exit_no_answer = 4, exit_skipped = 77,
                     exit_interrupted = 130;

/// What a usage_error says where no record is in what was named.
inline constexpr const char* no_record = "no record was found; `cufault run` makes them";

/// Arms side by side, where nothing else is asked for: more processes than that only wait for the driver.
int default_jobs();

struct run_arguments {
  std::vector<std::string> names;  ///< cases, families, or CASE/ARM, where * is anything; all cases if empty
  run_mode mode = run_mode::observe;
  std::filesystem::path records = "records";
  std::vector<std::filesystem::path> baselines;  ///< folders of stacks that judge; none: nothing is judged
  target where;
  std::vector<std::filesystem::path> pythons;  ///< for arms of frameworks, a run each; none: they do not run
  std::vector<int>
      devices;  ///< to run on side by side; empty: the first, all of them, or what CTest allocates
  bool all_devices = false;
  int jobs = default_jobs();                             ///< arms side by side
  bool verbose = false;                                  ///< tell of every arm
  bool separate = false;                                 ///< every trial in a process of its own
  bool json = false;                                     ///< the summary as JSON
  bool quiet = false;                                    ///< nothing on standard output
  std::map<std::string, std::filesystem::path> reports;  ///< where to write the run, too, by format
  std::optional<std::uint64_t> seed;
  test_tier tier = test_tier::full;  ///< only what it has, and what is named itself
  /// Most trials of an arm that races; 0: as many as it has; empty: as the tier says.
  std::optional<int> repeats;
  std::pair<int, int> part{1, 1};  ///< only the first-th of so many parts of each case; controls are in all
  bool shuffle = false;            ///< cases, and arms within each, in an order drawn from the seed
  int wait_seconds = 10;
  int import_seconds = 60;  ///< patience with the import of a framework
  int not_provoked_budget = 0;
  std::map<std::string, std::string>
      chosen;                     ///< values of CUDA_MODULE_LOADING and CUBLAS_WORKSPACE_CONFIG for trials
  std::vector<std::string> argv;  ///< for the record
};

struct sweep_arguments {
  run_arguments run;            ///< `names` are operations: "sgemm", "cublasCreate", "cublas_create/first"
  std::string depth = "every";  ///< or "thin", "grouped"
  std::pair<int, int> shard{1, 1};
  std::string row;  ///< "libcublas:cuMemAlloc_v2:3=OUT_OF_MEMORY"
};

struct program_sweep_arguments {
  std::vector<std::string> command;       ///< never empty
  std::vector<std::string> libraries;     ///< "cublas": whose calls are failed; none: the driver's
  std::string depth = "thin", ok;         ///< ok: a shell command; empty for none
  std::optional<double> timeout, budget;  ///< seconds
  std::pair<int, int> shard{1, 1};
  std::filesystem::path record, resume;  ///< one of them at most
  int jobs = 1;
  bool json = false;
};

struct baseline_arguments {
  std::filesystem::path record;             ///< of a run; to remove: the name of a stack's folder
  std::filesystem::path into;               ///< folder of stacks
  std::vector<std::string> names;           ///< CASE or CASE/ARM; all where it is empty
  std::vector<std::filesystem::path> with;  ///< further records of the same stack
  bool undefined = false;  ///< nothing is expected of these arms: they are filed, and judge nothing
  bool dry = false;        ///< says what would change, and writes nothing
  bool json = false;
};

std::filesystem::path default_recorded();
/// Records or folders of records that a command reads.
using records_to_read = std::vector<std::filesystem::path>;

struct explain_arguments {
  std::vector<std::string> words;  ///< a message, or files; none, or "-": standard input
  records_to_read records{default_recorded()};
  bool json = false;
  bool more = false;        ///< all of the answer, not the first lines alone
  bool no_machine = false;  ///< do not look at this machine
};

/// How an answer is printed: text where neither is set.
struct print_form {
  bool json = false, markdown = false;
  [[nodiscard]] table_style style() const { return markdown ? table_style::markdown : table_style::text; }
};
/// On standard output. Bytes that are no UTF-8 become U+FFFD. Returns 0.
int print_json(const nlohmann::ordered_json& json, int indent = 2);

/// How a comparison is printed.
struct comparison_style : print_form {
  bool names = false, in_full = false;  ///< of arms only their names; all that each record saw
};

struct diff_arguments : comparison_style {
  std::vector<std::filesystem::path> records;
  bool driver = false;    ///< what the driver said, too
  bool by_stack = false;  ///< records of one stack are one
};

struct gate_arguments : comparison_style {
  std::vector<std::filesystem::path> baseline, candidate;   ///< each of one stack
  std::filesystem::path baseline_python, candidate_python;  ///< in place of records: what `run` runs in
  run_arguments run;
  std::filesystem::path allow;  ///< empty: nothing is allowed
  int at_least = 1;             ///< cases that must have been executed
  std::string date;             ///< empty: today
};

struct merge_arguments : print_form {
  std::vector<std::filesystem::path> records;
  std::filesystem::path hosts;  ///< names of hosts that were to report, one a line; empty: not looked at
};

struct history_arguments : print_form {
  bool adds = false;
  std::filesystem::path file;
  std::vector<std::filesystem::path> records;  ///< to add
  std::vector<std::string> arms;  ///< to show: "CASE/ARM", where * is anything; all where it is empty
};

struct changes_arguments : print_form {
  std::vector<std::filesystem::path> records;
  std::string gpu, release;  ///< empty: that of most releases; all
};

struct matrix_arguments {
  records_to_read records{default_recorded()};
  std::string fault, operation, remedy, stack;  ///< as matrix_filter; empty: all
  std::vector<std::string> by;                  ///< keys of stacks: only what differs between them
  std::string format = "text";                  ///< or "markdown", "csv", "json"
};

struct cost_arguments {
  records_to_read records{default_recorded()};
  std::string remedy;           ///< a pattern; empty: all
  std::string format = "text";  ///< or "markdown", "csv", "json", "svg"
  bool all_work = false;        ///< each kind of work, too
};

struct report_arguments {
  records_to_read records{default_recorded()};
  std::filesystem::path folder;
  std::vector<std::filesystem::path> baselines;  ///< folders of stacks that judge
  std::vector<std::filesystem::path> since;      ///< records, of which the last green one is compared with
  std::filesystem::path history;                 ///< of `cufault history`; empty: none
};

struct inject_arguments {
  std::filesystem::path rules, faultinj, log;  ///< rules in cufault's form or in that of NVIDIA's faultinj
  std::vector<std::string> fail;               ///< "cuMemAlloc_v2:3=OUT_OF_MEMORY"
  bool lenient = false;                        ///< the command runs although a rule is wrong
  std::optional<std::uint64_t> require;        ///< rules act so often at least; 0: nothing is told at the end
  std::vector<std::string> libraries;          ///< "cublas": to be ready for, beside those that rules name
  std::vector<std::string> command;            ///< never empty
};

struct trace_arguments {
  std::filesystem::path chrome;        ///< a Chrome trace of every call; empty: none
  std::filesystem::path json{};        ///< where to write what it tells, too; empty: nowhere
  std::vector<std::string> libraries;  ///< "cublas": whose calls are told, too
  std::vector<std::string> command;    ///< never empty
};

struct why_arguments {
  std::optional<double> after;       ///< seconds: then say where each thread waits in the driver
  bool verbose = false;              ///< and what `trace` tells
  bool no_preload = false;           ///< the driver's log alone
  std::filesystem::path json{};      ///< where to write the answer, too; empty: nowhere
  std::vector<std::string> command;  ///< never empty
};
/// Returns the command's exit code. `seen`: what doctor has found; null: the checks run where the command fails. `libraries`: those that
/// called the driver or asked for variables are added.
int why_command(const why_arguments& arguments, const diagnosis* seen = nullptr,
                std::set<std::string>* libraries = nullptr);

int run_cases(const run_arguments& arguments);
struct run_outcome {
  int exit_code = 0;
  std::filesystem::path record;  ///< empty where there was nothing to run
};
/// The same in one Python, or without one. `stop`: descriptor that becomes readable when the run is to end.
run_outcome run_cases_in(const run_arguments& arguments, std::optional<python_environment> python, int stop);
int sweep_operations(const sweep_arguments& arguments);
int sweep_program(const program_sweep_arguments& arguments);
int show_stack(const target& where, bool json);
/// CASE, or FAMILY.
bool names_case(const std::string& name, const failure_case& c);
/// Families, cases and arms that can be named: "handles", CASE, CASE/ARM.
std::vector<std::string> names_of_cases();
/// Throws usage_error for a name of nothing. `names`: empty for all.
int list_cases(const std::vector<std::string>& names, bool json);
/// 1 where an arm was left out or, of a dry one, anything would change.
int add_to_baseline(const baseline_arguments& arguments);
int show_baselines(const std::vector<std::filesystem::path>& folders, bool json);
/// Says on standard error which lines and stacks of the baselines could not be read so far. Returns how many.
std::size_t tell_unread(const baselines& recorded);
int remove_from_baseline(const baseline_arguments& arguments);
/// What a prediction rests on, and how often it holds among the stacks of a folder.
int show_predictions(const std::filesystem::path& folder, print_form form);
int show_claims(const std::vector<std::filesystem::path>& records, print_form form);
/// `names`: CASE or CASE/ARM; empty for all. `json`: all that is recorded of each arm, in place of the table.
int show_record(const std::filesystem::path& file, const std::vector<std::string>& names,
                const std::vector<std::filesystem::path>& baselines, print_form form);
int show_differences(const diff_arguments& arguments);
int run_gate(const gate_arguments& arguments);
int gate_pythons(const gate_arguments& arguments);
/// `unread`, `incomplete`: as in comparison.
int gate_records(record baseline, record candidate, const gate_arguments& arguments,
                 std::vector<std::string> unread, std::vector<std::string> incomplete);
/// What --json prints where there is no result, a line: {"schema": 1, "exit_code", "reasons": [{"exit_code", "why", "arms"}]}.
std::string json_of_failure(int exit_code, const std::string& why);
/// Of a command whose program has ended: what it came to stays its exit code, so a file that cannot be written is only told. No file: nothing.
void write_json_beside(const std::filesystem::path& file, const nlohmann::ordered_json& json);
int merge_records(const merge_arguments& arguments);
int add_to_history(const history_arguments& arguments);
int show_history(const history_arguments& arguments);
int show_changes(const changes_arguments& arguments);
int show_counterparts(const std::vector<std::filesystem::path>& records, print_form form);
int show_causes(const std::string& status, const std::vector<std::filesystem::path>& records, bool all,
                print_form form);
/// Pages of reports/pages/messages, by names or statuses with commas between them, and the table of all.
int show_message_pages(const std::string& names, const std::vector<std::filesystem::path>& records,
                       print_form form);
int show_message_index(print_form form);
int show_matrix(const matrix_arguments& arguments);
int show_costs(const cost_arguments& arguments);
/// What stands beside a verdict, from the costs that were measured beside these records. Throws input_error.
cost_notes measured_costs(const std::vector<std::filesystem::path>& records);
/// Throws usage_error where no record has a failure of a framework.
/// Throws usage_error where no record has a sweep.
/// `nature`: beside what the driver itself failed.
int show_atlas(const std::vector<std::filesystem::path>& records, bool overview, bool nature,
               print_form form);
int show_messages(const std::string& asked, const std::vector<std::filesystem::path>& records,
                  print_form form);
int write_report(const report_arguments& arguments);
int explain_logs(const explain_arguments& arguments);
/// Becomes the command where nothing is to be told at its end, else returns its exit code.
int inject(const inject_arguments& arguments);
std::string inject_help();                        ///< what rules can hold
std::vector<std::string> injectable_libraries();  ///< what --library takes
/// Each once. Throws usage_error for one that there is not, or whose functions are not known.
std::set<std::string> libraries_asked_for(const std::vector<std::string>& names);
/// LD_PRELOAD of a command under the injector: behind what is preloaded already, a profiler's library, say. `libraries`: whose
/// functions rules are for. Throws usage_error.
std::string preload_with_injector(bool host, const std::vector<std::string>& libraries = {});
int trace_command(const trace_arguments& arguments);  ///< returns the command's exit code
/// The file by which a floor knows of the preflight before it.
std::filesystem::path preflight_stamp(const std::filesystem::path& records);
int check_floor(const std::filesystem::path& records, int at_least);

/// Of the environment; empty where it is not set.
std::string variable(const char* name);
/// Where this program lies, and its data: in the source tree, or beside an installed program.
std::filesystem::path own_path();
/// Of a program as a shell finds it. Throws usage_error.
std::string program_path(const std::string& name);
/// The site's own baseline: CUFAULT_BASELINE or, where that is not set, cufault/baseline in XDG_DATA_HOME (~/.local/share). It need not exist.
std::filesystem::path own_baseline();
/// Folders of stacks that judge: `own`, or own_baseline() where that is empty, then those that come with cufault.
std::vector<std::filesystem::path> baseline_folders(const std::filesystem::path& own = {});
std::filesystem::path claims_file();
std::filesystem::path failures_file();
std::filesystem::path release_notes_file();
std::filesystem::path known_issues_file();
std::filesystem::path ctest_folder();  ///< of an installed tree; else it does not exist
std::filesystem::path explain_folder();
std::vector<std::filesystem::path> snippet_folders();  ///< of the code that pages print
std::filesystem::path answers_folder();                ///< Python programs that answer from the table
std::filesystem::path table_file();                    ///< which the build makes; it need not exist
std::filesystem::path fetch_cublas_script();     ///< ci/fetch-cublas, with the hashes of wheels beside it
std::filesystem::path frameworks_folder();       ///< of run_trials.py
std::vector<std::filesystem::path> own_paths();  ///< folders and files of this installation or build

/// What these records say. For the records that come with cufault the file of the build is read, unless it was made from other sources.
recorded_answers answers_of(const std::vector<std::filesystem::path>& named, const lexicon& words);
/// Of this program, the records that it has and the tables of explain. Throws input_error, or std::filesystem::filesystem_error.
std::string digest_of_sources();
int make_answers();  ///< Writes that file. Returns the exit code.

/// Records, judged by what they show: a control that failed silences its case, whatever the file says of itself. `families`: as
/// load_families().
std::vector<record> judged_records(const std::vector<std::filesystem::path>& named,
                                   const std::set<std::string>& families = {});
/// The same; throws usage_error where there is none.
std::vector<record> load_judged(const std::vector<std::filesystem::path>& named,
                                const std::set<std::string>& families = {});

/// Known issues that a failed call can come from, a line each: "cublasLtMatmul", "CUBLAS_STATUS_NOT_SUPPORTED". `cublas`: version, `gpu`: name
/// or compute capability; each empty where it is not known.
std::vector<std::string> known_of_failure(const std::string& call, const std::string& status,
                                          const std::string& cublas, const std::string& gpu);

/// True if CUFAULT_REQUIRE_GPU is set to 1: no GPU is then a failure.
bool gpu_required();

// What only a build with CUDA can do; without, each says so (harness/cli/gpu_commands_absent.cpp).
struct trial_arguments {
  std::string case_name, arm;
  std::optional<std::int64_t> level;
  std::uint64_t seed = 0;
  int stage = 0;
  target where;
};
void check_libraries(const target& where);  ///< throws usage_error where what was named is not there
int serve_trial(const trial_arguments& arguments);
int serve_shared_trials(const target& where, bool gpu);
int serve_other_process(int device, std::uint64_t leave_free);
int serve_neighbour(int device, const std::string& fault);
int serve_driver_hold();
int serve_probe(const target& where);
inline constexpr const char* build_it_with_cuda =
    "this cufault was built without CUDA and has no cases; build it with a toolkit: ci/suite";

}  // namespace cufault
