// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
// Where this program and its data lie, and what the environment says.
#pragma once

#include "reports/base/words.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace cufault {

/// True if CUFAULT_REQUIRE_GPU is set to 1: no GPU is then a failure.
bool gpu_required();

/// Where this program lies, and its data: in the source tree, or beside an installed program.
std::filesystem::path own_path();
/// Of a program as a shell finds it. Throws usage_error.
std::string program_path(const std::string& name);
std::filesystem::path
share_folder();  ///< share/cufault of this build or installation: what a build makes lies in it
std::filesystem::path default_recorded();
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
std::filesystem::path table_file();                    ///< which the build makes; it need not exist
std::filesystem::path answers_folder();                ///< of the programs in Python that commands are
std::vector<std::filesystem::path> snippet_folders();  ///< of the code that pages print
std::filesystem::path fetch_cublas_script();     ///< ci/fetch-cublas, with the hashes of wheels beside it
std::filesystem::path frameworks_folder();       ///< of run_trials.py
std::vector<std::filesystem::path> own_paths();  ///< folders and files of this installation or build

}  // namespace cufault
