// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// bisect: which release of cuBLAS broke an arm or a command, and which mended it?
#include "harness/cli/bisect.hpp"

#include "harness/cli/cli.hpp"
#include "harness/cli/commit.hpp"
#include "harness/cli/swept_command.hpp"
#include "harness/injection/program_sweep_record.hpp"
#include "harness/model/case.hpp"
#include "harness/model/errors.hpp"
#include "harness/model/properties.hpp"
#include "harness/run/lanes.hpp"
#include "harness/run/stack.hpp"
#include "harness/system/elf_file.hpp"
#include "harness/system/gpu_code.hpp"
#include "harness/system/process.hpp"
#include "harness/system/temporary_folder.hpp"
#include "reports/base/files.hpp"
#include "reports/base/json_input.hpp"
#include "reports/judge/comparison.hpp"
#include "reports/printers/bisection.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <regex>
#include <sstream>
#include <utility>

namespace fs = std::filesystem;

namespace cufault {
namespace {

constexpr int exit_range = 3;
constexpr std::size_t longest_line = 1024;  // that is searched: std::regex takes stack for each character

/// A release says nothing of the change: it is skipped or, of an end, there is no search.
struct unusable {
  std::string why;
  int exit_code = exit_unresolved;  // of an end
};

std::string at(const nlohmann::json& value, const char* pointer) {
  return value.value(nlohmann::json::json_pointer(pointer), std::string());
}

/// Throws unusable where a library is for another processor, or has code for GPUs and none for this one. `gpu`: "9.0"; empty: there is none.
void require_code(const release& r, std::string gpu) {
  std::erase(gpu, '.');
  for (const fs::path& file : {r.cublas, r.cublaslt}) try {
      const readable from = open_readable(file);
      const elf_facts elf = read_elf(file, from);
      if (elf.machine != own_machine())
        throw unusable{
            fmt::format("{} is for {}, and this machine is {}", file.string(), elf.machine, own_machine())};
      if (gpu.empty()) continue;
      const auto capability = static_cast<unsigned>(std::stoul(gpu));
      const gpu_code_facts facts = read_gpu_code(file, from, elf);
      if (facts.count.empty() || has_machine_code_for(facts, capability) || has_ptx_for(facts, capability))
        continue;
      std::string has;
      for (const auto& [code, count] : facts.count) has += " " + to_string(code);
      throw unusable{fmt::format("{} has no code for this GPU (sm_{}): it has{}", file.string(), gpu, has)};
    } catch (const input_error& no_library) {
      throw unusable{no_library.what()};
    }
}

class bisecting {
 public:
  bisecting(const bisect_arguments& arguments, int stop)
      : asked_(arguments),
        stop_(stop),
        source_(arguments, stop),
        case_name_(arguments.arm.substr(0, arguments.arm.find('/'))) {
    report_.cufault = this_build.text();
    report_.is_arm = !asked_.arm.empty();
    report_.from = source_.from();
    report_.error = asked_.error;
    report_.once = asked_.once;
    if (report_.is_arm) {
      arm_name_ = asked_.arm.substr(std::min(asked_.arm.size(), case_name_.size() + 1));
      const arm* const a = find_arm(case_name_, arm_name_);
      if (a == nullptr)
        throw usage_error(fmt::format("there is no arm {}; `cufault list CASE` names those of a case",
                                      one_line(asked_.arm)));
      report_.once = a->races.empty();
      report_.what = asked_.arm;
      if (asked_.releases.empty() && asked_.images.empty()) require_gpu_of(case_name_);
    } else {
      report_.what = program_sweep::quoted(asked_.command);
      if (asked_.images.empty()) static_cast<void>(program_path(asked_.command.front()));
    }
    try {
      text_ = asked_.text;
    } catch (const std::regex_error& e) {
      throw usage_error(fmt::format("--text {}: {}", one_line(asked_.text), e.what()));
    }
    report_.repeat = program_sweep::quoted(asked_.words);
    if (!asked_.images.empty()) {
      const char* const engine = std::getenv("CUFAULT_ENGINE");
      std::istringstream words(engine != nullptr ? engine : "docker run --rm --gpus all");
      for (std::string word; words >> word;) engine_.push_back(word);
      if (std::ranges::find(engine_, "run") == engine_.end())
        throw usage_error(fmt::format(
            "CUFAULT_ENGINE='{}' has no word run, as in: docker run --rm --gpus all", one_line(words.str())));
      engine_.front() = program_path(engine_.front());
    }
  }

  int search() {
    const std::size_t bad = source_.index_of("--bad", asked_.bad);
    std::vector<std::size_t> goods;
    for (const std::string& name : asked_.good) {
      goods.push_back(source_.index_of("--good", name));
      if (goods.back() == bad)
        throw usage_error(fmt::format("--good and --bad are both {}", source_.all()[bad].name));
    }
    std::ranges::sort(goods);
    if (goods.size() == 2 && (goods[0] > bad || goods[1] < bad))
      throw usage_error("both --good are on one side of --bad: give one that is older and one that is newer");
    for (const std::size_t good : goods) search_between(good, bad);
    print();
    const bool exact =
        std::ranges::all_of(report_.changes, [](const found_change& c) { return c.between.empty(); });
    return exact ? 0 : exit_range;
  }

  /// Of a search that an error ended. Prints what was decided, with the error, and throws usage_error; returns where nothing was.
  void end_early(const std::string& error, int exit_code) {
    if (!decided_) return;
    std::string so_far = "nothing more is known";
    if (seeking_) {
      so_far =
          fmt::format("{} is good and {} is bad so far", name_of(seeking_->good()), name_of(seeking_->bad()));
      add_change();
    }
    for (auto& [index, r] : tried_) {
      r.name = name_of(index);
      if (r.result.empty()) r.result = "undecided", r.why = "the search ended here";
    }
    const std::string why = fmt::format("{}; {}", error, so_far);
    report_.reasons = {{exit_code, why}};
    print();
    throw usage_error(why, exit_code, asked_.json);
  }

 private:
  [[nodiscard]] const std::string& name_of(std::size_t which) const { return source_.all()[which].name; }

  // ---- the search ----

  void search_between(std::size_t good, std::size_t bad) {
    const release_test test = compare_ends(good, bad);
    decided_ = true;
    seeking_.emplace(good, bad);
    while (const auto next = seeking_->next()) {
      const auto like = decide(*next, test);
      seeking_->add(*next, like);
      std::cerr << fmt::format("bisect: {}: {} in {:.1f} s; {} left\n", name_of(*next), tried_[*next].result,
                               tried_[*next].seconds, plural(seeking_->between().size(), "release"));
    }
    if (!report_.is_arm && asked_.control.empty()) require_good_still(good, test);
    add_change();
  }

  void add_change() {
    found_change found{.mended = seeking_->mended(),
                       .good = name_of(seeking_->good()),
                       .bad = name_of(seeking_->bad()),
                       .between = {},
                       .decisions = seeking_->decisions() + 1};
    for (const std::size_t i : seeking_->between()) found.between.push_back(name_of(i));
    report_.changes.push_back(std::move(found));
    seeking_.reset();
  }

  /// Trials of both ends, until they differ by more than chance.
  release_test compare_ends(std::size_t good, std::size_t bad) {
    const outcome_counts &good_end = tried_[good].outcomes, &bad_end = tried_[bad].outcomes;
    for (int number = 0;; ++number) {
      const int trials = report_.once ? 1 : std::min(trials_before_comparison(number), 2 * asked_.most);
      for (const std::size_t end : {good, bad}) {
        std::cerr << fmt::format("bisect: {}, the {} end: {}\n", name_of(end), end == good ? "good" : "bad",
                                 plural(static_cast<std::size_t>(trials), "trial"));
        try {
          while (trials_in(tried_[end].outcomes) < trials) try_once(end);
        } catch (const unusable& why) {
          throw usage_error(fmt::format("--{} {}: {}", end == good ? "good" : "bad", name_of(end), why.why),
                            why.exit_code);
        }
      }
      release_test test(good_end, bad_end, asked_.error);
      const bool differ =
          report_.once ? good_end != bad_end : test.chance() < error_of_comparison(number, asked_.error);
      if (differ) {
        tried_[good].result = "good";
        tried_[bad].result = "bad";
        return test;
      }
      if (report_.once || trials >= 2 * asked_.most)
        throw usage_error(fmt::format("{} and {} cannot be told apart by {} of each: {}; {}", name_of(good),
                                      name_of(bad), plural(static_cast<std::size_t>(trials), "trial"),
                                      words_of(good_end), words_of(bad_end)));
    }
  }

  std::optional<likeness> decide(std::size_t which, const release_test& test) {
    tried_release& shown = tried_[which];
    constexpr std::array words{"good", "bad", "other"};
    try {
      while (trials_in(shown.outcomes) < asked_.most) {
        try_once(which);
        const auto like =
            report_.once ? test.likeness_of(shown.outcomes.begin()->first) : test.decide(shown.outcomes);
        if (!like) continue;
        shown.result = words.at(static_cast<std::size_t>(*like));
        return like;
      }
      shown.result = "undecided";
      shown.why = "not decided: " + words_of(shown.outcomes);
    } catch (const unusable& why) {
      shown.result = "skipped";
      shown.why = why.why;
    }
    return {};
  }

  /// A command without a control: had something else changed meanwhile, the good end would show it.
  void require_good_still(std::size_t good, const release_test& test) {
    const outcome_counts before = std::exchange(tried_[good].outcomes, {});
    const auto like = decide(good, test);
    const outcome_counts now = tried_[good].outcomes;
    for (const auto& [outcome, trials] : before) tried_[good].outcomes[outcome] += trials;
    if (like == likeness::good) return;
    seeking_.reset();
    throw usage_error(
        fmt::format("{} was good ({}) and at the end is not ({}): something else changed meanwhile, and the "
                    "search says nothing",
                    name_of(good), words_of(before), now.empty() ? tried_[good].why : words_of(now)));
  }

  // ---- one run ----

  /// A release that cannot be had says nothing. Throws unusable.
  const release& ready(std::size_t which) {
    try {
      return source_.ready(which);
    } catch (const std::exception& e) {
      throw unusable{e.what()};
    }
  }

  /// Adds the outcomes of one run. Throws unusable.
  void try_once(std::size_t which) {
    tried_release& one = tried_[which];
    const auto begun = std::chrono::steady_clock::now();
    const release& r = ready(which);
    const temporary_folder scratch("cufault-bisect-");
    if (one.name.empty()) describe_release(r, one, scratch.path());
    for (const std::string& outcome : report_.is_arm ? outcomes_of(run_of_arm(r, scratch.path()))
                                                     : std::vector{outcome_of_command(r, scratch.path())})
      ++one.outcomes[outcome];
    one.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  }

  /// Version and build id, by a process that loads the pair; GPU and driver of the first.
  void describe_release(const release& r, tried_release& shown, const fs::path& scratch) {
    shown.name = r.name;
    nlohmann::json stack;
    if (!r.cublas.empty()) {
      const target where{.cublas = r.cublas, .cublaslt = r.cublaslt, .device = asked_.device};
      stack = read_stack(own_path(), where, nvml(), stop_);
      require_code(r, at(stack, "/gpu/compute_capability"));
    } else {
      const auto said =
          in_release(r, {own_path(), "stack", "--json"}, scratch, std::chrono::minutes(10), true);
      stack = nlohmann::json::parse(said.stdout_text, nullptr, false);
      if (!stack.is_object() || stack.contains("reasons"))
        throw unusable{"cufault stack does not run in this image: " + how_ended(said)};
    }
    if (report_.gpu.empty()) report_.gpu = at(stack, "/gpu/name");
    if (report_.driver.empty()) report_.driver = at(stack, "/driver/version");
    if (report_.runtime.empty()) report_.runtime = at(stack, "/runtime/version");
    shown.version = at(stack, "/cublas/version");
    shown.build_id = at(stack, "/files/cublas/build_id");
    if (!stack.contains("cublas")) return;  // a build without CUDA binds none
    if (const std::string error = stack.value("error", std::string()); !error.empty()) throw unusable{error};
    if (r.cublas.empty()) return;
    if (!is_of_version(r.name, shown.version))
      throw unusable{fmt::format("{}: the library says that it is {}", r.cublas.string(), shown.version)};
    require_pair(r, stack);
  }

  static std::string how_ended(const process_result& p) {
    return fmt::format("{}; {}", program_sweep::ended(p), program_sweep::last_words(p.stderr_text));
  }

  /// A step in which another library was loaded than asked is an error.
  static void require_pair(const release& r, const nlohmann::json& stack) {
    for (const auto& [pointer, asked] :
         {std::pair{"/cublas/path", &r.cublas}, std::pair{"/cublaslt/path", &r.cublaslt},
          std::pair{"/cublaslt/called_by_cublas", &r.cublaslt}})
      if (const std::string loaded = at(stack, pointer); !loaded.empty() && loaded != *asked)
        throw usage_error(fmt::format("{} was loaded in place of {}", loaded, asked->string()));
  }

  /// Runs a program on a release, in its image if it is one. `own`: cufault itself, which an image gets from here. Any other gets the pair
  /// preloaded. Throws interrupted.
  process_result in_release(const release& r, std::vector<std::string> argv, const fs::path& scratch,
                            std::chrono::milliseconds timeout, bool own) {
    spawn_options options;
    options.timeout = timeout;
    options.keep_output = 4U << 20;
    std::string container;
    if (r.cublas.empty()) {
      container = fmt::format("cufault-bisect-{}-{}", getpid(), ++containers_);
      options.argv = engine_;
      options.argv.insert(options.argv.end(), {"--name", container});
      if (own) {
        // At a path that no image has: of a package the tree is /usr.
        const fs::path tree = own_path().parent_path().parent_path(), there = "/cufault";
        options.argv.insert(options.argv.end(), {"-v", fmt::format("{}:{}:ro", tree.string(), there.string()),
                                                 "-v", fmt::format("{0}:{0}", scratch.string())});
        argv.front() = there / own_path().lexically_relative(tree);
      }
      options.argv.insert(options.argv.end(), {"--entrypoint", argv.front(), r.name});
      options.argv.insert(options.argv.end(), argv.begin() + 1, argv.end());
    } else {
      argv.front() = program_path(argv.front());
      options.argv = std::move(argv);
      if (!own) {
        // cuBLASLt first: DT_RPATH of a libcublas would find another one before LD_LIBRARY_PATH.
        options.preload = {r.cublaslt, r.cublas};
        options.environment = {{"LD_DEBUG", "libs"}, {"LD_DEBUG_OUTPUT", scratch / "loaded"}};
      } else {
        options.environment = {{"TMPDIR", scratch},
                               {"CUFAULT_PYTHON", ""}};  // what a killed run leaves goes with scratch
      }
    }
    process_result ended = run_process(options, {}, stop_);
    if (ended.how != ending::exited && !container.empty()) {  // it is no child of ours
      spawn_options removal;
      removal.argv.assign(engine_.begin(), std::ranges::find(engine_, "run"));
      removal.argv.insert(removal.argv.end(), {"rm", "-f", container});
      static_cast<void>(run_process(removal, {}));
    }
    if (ended.how == ending::interrupted) throw interrupted{};
    if (!own && !r.cublas.empty()) require_loaded(r, scratch);
    return ended;
  }

  /// By what the loader told of each process that kept our environment: LD_PRELOAD keeps nothing from opening another library by its path.
  static void require_loaded(const release& r, const fs::path& scratch) {
    bool loaded = false;
    constexpr std::string_view begin = "calling init: ";
    for (const auto& entry : fs::directory_iterator(scratch)) {
      if (!entry.path().filename().string().starts_with("loaded.")) continue;
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);) {
        const auto from = line.find(begin);
        if (from == line.npos) continue;
        const fs::path file = line.substr(from + begin.size());
        const std::string name = file.filename();
        const bool lt = name.starts_with("libcublasLt.so");
        if (!lt && !name.starts_with("libcublas.so")) continue;
        std::error_code unseen;
        if (!fs::equivalent(file, lt ? r.cublaslt : r.cublas, unseen))
          throw usage_error(
              fmt::format("the command loaded {} beside {}: it opens a library by its path, and cannot be "
                          "bisected so; give it --images",
                          file.string(), (lt ? r.cublaslt : r.cublas).string()));
        loaded = loaded || !lt;
      }
      in.close();
      fs::remove(entry.path());
    }
    if (!loaded)
      throw usage_error(
          fmt::format("no process of the command loaded {}: the command is linked statically, or not with "
                      "glibc; give it --images",
                      r.cublas.string()));
  }

  std::string outcome_of_command(const release& r, const fs::path& scratch) {
    const std::chrono::milliseconds timeout(std::llround(asked_.timeout * 1000));
    if (!asked_.control.empty()) {
      const auto control = in_release(r, {"/bin/sh", "-c", asked_.control}, scratch, timeout, false);
      if (control.how != ending::exited || control.exit_code != 0)
        throw unusable{"the control failed: " + how_ended(control)};
    }
    const process_result ran = in_release(r, asked_.command, scratch, timeout, false);
    std::string outcome = program_sweep::ended(ran);
    if (!asked_.ok.empty()) {
      const program_sweep::command_runs oracle{.argv = asked_.command, .preload = {}, .ok = asked_.ok};
      outcome =
          oracle.accepts(ran, outcome, {}, scratch, stop_) ? "acceptable" : outcome + ", not acceptable";
    }
    if (asked_.text.empty()) return outcome;
    std::istringstream lines(ran.stdout_text + '\n' + ran.stderr_text);
    bool printed = false;
    for (std::string line; !printed && std::getline(lines, line);) {
      line.resize(std::min(line.size(), longest_line));
      printed = std::regex_search(line, text_);
    }
    return outcome + (printed ? ", with the text" : ", without the text");
  }

  /// The arm with the controls of its case, by `cufault run` in a process of its own.
  arm_result run_of_arm(const release& r, const fs::path& scratch) {
    const fs::path records = scratch / "records";
    fs::create_directories(records);  // ours, also where a container writes to it
    std::vector<std::string> argv{own_path(),
                                  "run",
                                  "--tier=full",
                                  "--repeats=6",
                                  fmt::format("--device={}", asked_.device),
                                  fmt::format("--wait={}", asked_.wait_seconds),
                                  "--records",
                                  records,
                                  asked_.arm};
    if (!r.cublas.empty()) argv.insert(argv.end(), {"--cublas", r.cublas, "--cublaslt", r.cublaslt});
    const process_result ran = in_release(r, argv, scratch, std::chrono::hours(2), true);
    const auto files = records_in({records});
    const record seen = files.empty() ? record{} : load_record(files.front());
    if (!seen.complete) throw usage_error(fmt::format("{}: cufault run: {}", r.name, how_ended(ran)));
    if (!r.cublas.empty()) require_pair(r, *seen.stack);
    const arm_result* found = nullptr;
    for (const case_result& c : seen.cases)
      for (const arm_result& a : c.arms) {
        if (c.name == case_name_ && a.name == arm_name_) found = &a;
        if (c.name != case_name_ || a.kind != arm_kind::control) continue;
        if (const auto judged = judgement_of(a, nullptr); judged.v == verdict::unresolved)
          throw unusable{fmt::format("control {}: {}", a.name, judged.why)};
      }
    const std::string no_gpu = at(*seen.stack, "/no_gpu");
    if (found == nullptr && !no_gpu.empty()) throw unusable{"there is no GPU: " + no_gpu, exit_skipped};
    if (found == nullptr) throw usage_error(fmt::format("{}: the record has no arm {}", r.name, asked_.arm));
    return *found;
  }

  /// Before releases are fetched, which takes minutes.
  void require_gpu_of(const std::string& case_name) const {
    const failure_case* of = find_case(case_name);
    if (of == nullptr || properties_of(*of).needs != "gpu") return;
    const std::string no_gpu = read_stack(own_path(), {}, nvml(), stop_).value("no_gpu", std::string());
    if (!no_gpu.empty()) throw usage_error("there is no GPU: " + no_gpu, exit_skipped);
  }

  std::vector<std::string> outcomes_of(const arm_result& seen) {
    if (seen.trials.empty()) throw unusable{"no trial was made"};
    std::vector<std::string> outcomes;
    for (const observation& o : seen.trials) {
      if (!comparable(o)) throw unusable{fmt::format("{}: {}", to_string(o.ended), why_not_comparable(o))};
      outcomes.push_back((o.level ? fmt::format("at {}: ", *o.level) : "") + describe(signature_of(o)));
    }
    if (!seen.races.empty()) return outcomes;
    // As records are compared: levels and measurements within their bands.
    for (const auto& [name, known] : known_)
      if (is_same(compare_arms(&known, &seen).v)) return {name};
    std::string name = describe(seen);
    for (const auto& [known, arm] : known_)
      if (known == name) name += fmt::format(" ({})", compare_arms(&arm, &seen).why);
    known_.emplace_back(name, seen);
    return {name};
  }

  void print() {
    for (auto& [index, r] : tried_) report_.releases.push_back(std::move(r));
    for (const found_change& change : report_.changes)
      if (report_.is_arm && asked_.images.empty())
        report_.repeat +=
            fmt::format("; one release: cufault run --cublas {} {}",
                        program_sweep::quoted({source_.ready(source_.index_of("--bad", change.bad)).cublas}),
                        report_.what);
    if (asked_.json)
      print_json(to_json(report_));
    else
      print_bisection(std::cout, report_, asked_.style());
  }

  const bisect_arguments& asked_;
  int stop_, containers_ = 0;
  release_source source_;
  std::string case_name_, arm_name_;
  std::vector<std::string> engine_;
  std::regex text_;
  bisection_report report_;
  bool decided_ = false;                                   // the ends differ
  std::optional<bisection> seeking_;                       // the search that goes on
  std::map<std::size_t, tried_release> tried_;             // by index of the release
  std::vector<std::pair<std::string, arm_result>> known_;  // what an arm that does not race came to, by name
};

int search(const bisect_arguments& arguments, int stop) {
  std::optional<bisecting> all;
  try {
    all.emplace(arguments, stop);
    return all->search();
  } catch (const interrupted&) {
    if (all) all->end_early("interrupted", exit_interrupted);
    throw usage_error("interrupted; no release is decided", exit_interrupted);
  } catch (const std::exception& e) {
    const auto* const refused = dynamic_cast<const usage_error*>(&e);
    if (all) all->end_early(e.what(), refused != nullptr ? refused->exit_code : int{exit_unresolved});
    throw;
  }
}

/// In a lane: what main() has to know of it.
std::string search_in_lane(const bisect_arguments& arguments, int stop) {
  std::signal(SIGPIPE, SIG_IGN);  // main() looks whether nobody reads
  int code = exit_unresolved;
  std::string error;
  bool json_is_printed = false;
  try {
    code = search(arguments, stop);
  } catch (const usage_error& e) {
    code = e.exit_code;
    error = e.what();
    json_is_printed = e.json_is_printed;
  } catch (const std::exception& e) {
    error = e.what();
  }
  const bool written = std::cout.flush().good();
  return dump_json(
      {{"exit_code", code}, {"error", error}, {"json_is_printed", json_is_printed}, {"written", written}});
}

}  // namespace

int bisect_releases(const bisect_arguments& arguments) {
  const interrupt_guard guard;
  // However this process ends, its lane ends what it has started.
  lanes one(1, [&](const std::string&, int stop) { return search_in_lane(arguments, stop); });
  one.ask(0, "");
  auto answer = one.next(guard.descriptor());
  if (!answer) {
    one.stop();
    answer = one.next(-1);
  }
  if (!answer->died.empty()) throw usage_error("the process that searches " + answer->died);
  const auto said = nlohmann::json::parse(answer->text);
  if (!said["written"].get<bool>()) std::cout.setstate(std::ios::badbit);
  const int code = said["exit_code"];
  if (const std::string error = said["error"]; !error.empty())
    throw usage_error(error, code, said["json_is_printed"]);
  return code;
}

}  // namespace cufault
