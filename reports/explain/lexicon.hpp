// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reports/base/enum_names.hpp"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What `explain` knows beside records: how programs print failures, what causes there are and what each looks like, checks that tell
/// causes apart. Data, in cases/explain; this reads it.
namespace cufault {

/// What an event is good for.
enum class event_role {
  failure,    ///< something failed: it has a status, and perhaps a call
  cause,      ///< names a cause by itself
  condition,  ///< a circumstance that a program printed: a version, a setting, a number that speaks for a cause
  context,  ///< words of people, paths, names of projects: they choose among remedies, and speak for no cause
  aside,  ///< something else failed: host memory, another program; said where nothing of a GPU library failed
  fatal,  ///< ended the program; with the name of a GPU library in its line, a failure even where nothing of it is understood
  survived,  ///< the failure in its line, or directly above, was caught and got over
  noise,     ///< known and harmless: nothing else is looked for in its line
};
CUFAULT_NAMES(event_role, failure, cause, condition, context, aside, fatal, survived, noise)

/// What an event of common words must stand with to be one of a GPU library. In the order of how much that is.
enum class event_needs {
  nothing,
  gpu,   ///< a word of GPUs in its line or, where nothing else failed, in the log
  call,  ///< a call of a GPU library, in its line or within three
};
CUFAULT_NAMES(event_needs, nothing, gpu, call)

/// events/SOURCE.json: {"schema": 1, "source": "PyTorch", "events": [...]}. Each of `match` is a text_pattern. Places named status, call
/// and xid make up the failure; all others are facts of the log ("gpu", "driver", "cuda").
struct event_pattern {
  std::string id;  ///< "pytorch.cublas_call"
  event_role role = event_role::condition;
  std::vector<std::string> match;
  std::string status{};  ///< where the text does not say it
  std::string call{};    ///< likewise
  std::string fails{};   ///< of a cause: its status as a failure, which it is where the log has no other
  event_needs needs = event_needs::nothing;
  std::string fact{};     ///< "framework=PyTorch": a fact that it stands for
  bool anywhere = false;  ///< of a cause: also after its failure, since another process or the GPU writes it
  bool last = false;      ///< what follows in its line echoes source: no circumstance is looked for in it
  std::string source{};   ///< of its table
};

/// A library of harness/binding/libraries.json, and what its header says that its functions return.
struct library_code {
  std::string_view name;
  int number;
};
struct status_library {
  std::string_view title, prefix, status_prefix;  ///< "cuBLAS", "cublas", "CUBLAS_STATUS_"
  std::span<const library_code> codes;
};
std::span<const status_library> status_libraries();
/// By how a function or status begins: "cublasLtMatmul", "CUBLAS_STATUS_NOT_SUPPORTED"; nullptr where it is of none.
const status_library* library_of_status(std::string_view status);

/// errors.json: an error with all of its names.
struct error_name {
  std::string name;  ///< that of records: "cudaErrorIllegalAddress", "CUBLAS_STATUS_ALLOC_FAILED", "Xid 79"
  std::vector<std::string> also{};          ///< "CUDA_ERROR_ILLEGAL_ADDRESS"
  std::int64_t code = 0;                    ///< for pages; its header says the same
  std::int64_t older = 0;                   ///< its number in releases whose header had another; 0: none
  std::vector<std::string> texts{};         ///< what its library says of it; each found wherever it stands
  std::vector<std::string> common_texts{};  ///< likewise, but other programs say them, too: event_needs::gpu
  std::vector<std::string> short_texts{};   ///< likewise, behind a word of CUDA: they are common
  bool sticky = false;                      ///< all later calls of the process fail, too
};

/// errors.json: what statuses of all libraries have in common. Of a status the first that fits.
struct status_kind {
  std::string kind;                  ///< "memory": causes have looks for the status "kind.memory"
  std::vector<std::string> status;   ///< patterns
  std::vector<std::string> texts{};  ///< in words, in lower case, behind the name of a library
};

/// grammar.json: words, in lower case but for statuses, by which lines that only speak of a failure are known, and those that name a GPU library.
struct log_grammar {
  std::vector<std::string> before_texts;          ///< patterns that stand before the short_texts of an error
  std::vector<std::string> begin_names;           ///< of errors and functions
  std::vector<std::string> gpu_words;             ///< of lines that speak of a GPU
  std::vector<std::string> statuses;              ///< patterns, of those that no header here has
  std::vector<std::string> statuses_that_follow;  ///< likewise, of all: what else failed explains them
  std::vector<std::string> no_statuses;           ///< likewise, but are none
  std::vector<std::string> libraries;             ///< for GPUs
  std::vector<std::string> behind_cuda;           ///< where "cuda" is not the name of a device
  std::vector<std::string> other_exceptions;  ///< of the program's own source, or of what is missing there
  std::vector<std::string> changes;           ///< behind a bullet or a commit: "fix", "docs(api)"
  std::vector<std::string> source;            ///< how lines of source and commands begin that name errors
  std::vector<std::string> not_made;          ///< before `make`: "failed to"
  std::vector<std::string> make;              ///< before the name of a library and words of `made`
  std::vector<std::string> made;
  std::vector<std::string> questions;       ///< how they begin
  std::vector<std::string> denials;         ///< in the clause before the words
  std::vector<std::string> denials_within;  ///< likewise, in languages without spaces
  std::vector<std::string> denials_behind;  ///< in the sentence behind the words
  std::vector<std::string> quoted;          ///< before a quotation of what others said
};

/// How often a cause is behind a failure that looks so, by documents and reports: a judgement, no measurement.
enum class frequency { rare = 1, occasional = 2, usual = 3 };
CUFAULT_NAMES(frequency, rare, occasional, usual)

/// What a failure looks like. Patterns of fnmatch(3).
struct failure_pattern {
  std::vector<std::string> status;
  std::vector<std::string> call{};  ///< any where it is empty
  frequency how = frequency::occasional;
  std::vector<std::string> when{};  ///< events, of which the log must have one; empty: always
  friend bool operator==(const failure_pattern&, const failure_pattern&) = default;
};

/// What users of a framework or program do against a cause, or to check for it.
struct framework_cure {
  std::string of;  ///< as the fact "framework" names it: "llama.cpp"
  std::string text;
};

/// causes.json. Lists of events are patterns of their ids.
struct known_cause {
  std::string id;                           ///< "memory_exhausted.device_full": its class, and which of these
  std::string text;                         ///< one line
  std::vector<std::string> with_names{};    ///< with places for facts, "{library}": the first that has all
  std::vector<std::string> arms{};          ///< CASE/ARM that have it; of the matrix "matrix.FAULT"
  std::vector<std::string> failures{};      ///< of the catalogue of field failures
  std::vector<failure_pattern> looks{};     ///< by documents and reports, beside what records show
  std::vector<std::string> named_by{};      ///< events that leave hardly another cause
  std::vector<std::string> supported_by{};  ///< events that speak for it
  std::vector<std::string> against{};       ///< events that speak against it
  std::vector<std::string> finer_than{};    ///< causes that this one precedes where the log names it
  std::vector<std::string> driver_codes{};  ///< of driver calls that it makes fail: injected evidence
  std::string process{};                    ///< "usable" or "lost" afterwards, where no record says
  std::vector<std::string> said_to_clear{};  ///< by documents and reports, where no record says
  std::vector<framework_cure> cures{};  ///< likewise, before all others where the log is of that framework
  [[nodiscard]] std::string cause_class() const { return id.substr(0, id.find('.')); }
};

struct check_answer {
  std::vector<std::string> causes;  ///< patterns of ids
  std::string says;                 ///< "an error"
};

/// checks.json: something to look at, which comes out one way under one cause and another way under another.
struct known_check {
  std::string id;
  std::string text;                     ///< what to do; {call} is the call that failed
  std::vector<framework_cure> texts{};  ///< likewise, for users of a framework
  std::vector<std::string> status{};    ///< of failures of which it says something, patterns; empty: all
  double seconds = 60;                  ///< of a person's and the machine's time, a rough figure
  std::string observes{};  ///< of a record: "last_error", "context", ...; empty: it has only answers
  std::vector<check_answer> answers{};
  std::string otherwise{};                            ///< what it says under all other causes
  std::vector<std::string> holds_by{}, refuted_by{};  ///< events that say that an answer is so, or is not
};

/// hardware.json: which toolkit has code for which GPU, and which driver it needs.
struct gpu_model {
  std::vector<std::string> match;  ///< text_patterns of its name
  std::string family{};            ///< "hopper": its event is gpu.hopper
  std::int64_t capability = 0;     ///< 90: 9.0
};
struct toolkit {
  std::string version;            ///< "12.8": from here on, up to the next one
  std::int64_t from = 0, to = 0;  ///< compute capabilities that it compiles for
  std::int64_t driver = 0;        ///< branch of the oldest driver, within its major version
  std::int64_t own_driver = 0;    ///< branch that came with it: what its PTX needs
};

/// pages.json: a page of reports/pages/messages, NAME.md, of one failure.
struct message_page {
  std::string name;
  std::string status;                ///< of the failure, as events have it
  std::string says{};                ///< the page's first sentences: what the failure is
  std::string call{};                ///< that failed, a pattern; empty: any
  std::string framework{};           ///< that the log is of; empty: any
  std::string cause{};               ///< that it is of, where the status has others; empty: any
  std::vector<std::string> texts{};  ///< as programs print it; the first one is explained, or the status
  std::string snippet{};             ///< CASE/ARM of the code that fails; NAME_corrected is the corrected one
  /// In the source tree. Addresses do not change.
  [[nodiscard]] std::string address() const { return "reports/pages/messages/" + name + ".md"; }
  /// What prints it, where the pages are not: packages and wheels have none.
  [[nodiscard]] std::string command() const { return "cufault causes --page " + name; }
};

struct lexicon {
  std::vector<event_pattern> events;
  std::vector<error_name> errors;
  log_grammar grammar;
  std::vector<failure_pattern> questions;  ///< of errors.json
  std::vector<status_kind> kinds;          ///< likewise
  std::vector<known_cause> causes;
  std::vector<std::string> internal_remedies{};  ///< CASE/ARM, patterns: of cases, not of users
  std::vector<known_check> checks;
  std::vector<gpu_model> gpus;
  std::vector<toolkit> toolkits;
  std::vector<message_page> pages;

  /// Whether healthy programs get this status from this call, which asks what there is: "CUDNN_STATUS_NOT_SUPPORTED".
  [[nodiscard]] bool is_question(const std::string& status, const std::string& call) const;
  /// The name that records use for an error, or the text itself: CUDA_ERROR_OUT_OF_MEMORY, OUT_OF_MEMORY.
  [[nodiscard]] std::string canonical(std::string_view status) const;
  /// The page that says most of a failure in a log of these frameworks: by its framework, then by its call; nullptr where none has its status.
  /// `first_cause`: empty where none is known, which leaves out no page.
  [[nodiscard]] const message_page* page_of(const std::string& status, const std::string& call = {},
                                            std::span<const std::string> frameworks = {},
                                            std::string_view first_cause = {}) const;
  [[nodiscard]] bool is_sticky(std::string_view status) const;
  [[nodiscard]] bool is_status(std::string_view word) const;
  /// A status that what else failed explains.
  [[nodiscard]] bool follows(std::string_view status) const;
  /// By its header, else by that of an older release; empty where neither has the number.
  [[nodiscard]] std::string_view by_code(const status_library& of, std::int64_t code) const;
  /// "kind.memory"; empty for what is no status of a library.
  [[nodiscard]] std::string kind_of(const std::string& status) const;
};

/// Reads the folder. Throws input_error, also where the tables contradict each other: an id twice, an event that is named and is not there.
lexicon load_lexicon(const std::filesystem::path& folder);

/// By fnmatch(3).
bool matches(const std::string& pattern, const std::string& text);
bool matches_any(const std::vector<std::string>& patterns, const std::string& text);

}  // namespace cufault
