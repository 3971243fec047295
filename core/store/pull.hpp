#pragma once

#include "core/base/result.hpp"
#include "core/store/download.hpp"
#include "core/store/hub.hpp"
#include "core/store/manifest.hpp"
#include "core/store/model_name.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace etna::store {

/// A file of a model, and its path in the repository.
struct PullFile {
    DownloadRequest download;
    std::string path;
};

/// The model and files that a pull will download.
struct PullPlan {
    std::string name;   ///< of the manifest; see stored_name()
    std::string source; ///< with the commit, if the hub gives it
    std::vector<PullFile> files;
    std::string note;                    ///< see ModelFiles
    std::vector<std::string> projectors; ///< see ModelFiles
    std::vector<std::string> drafts;     ///< see ModelFiles
    uint64_t bytes = 0;
    uint64_t missing_bytes = 0; ///< of the files that are not complete
    uint64_t needed_bytes = 0;  ///< space that these still need on the disk
    uint64_t free_bytes = 0;    ///< of the folder's disk
};

struct PullOptions {
    std::string hub{public_hub};  ///< http or https, without a final slash
    std::filesystem::path folder; ///< the folder of models
    DownloadOptions download;     ///< its on_progress is replaced
};

struct PullProgress {
    std::size_t file = 0; ///< index in PullPlan::files
    DownloadProgress download;
};

/// Resolves the name on the server, without downloading files. A LocalModel is invalid_argument. Blocks.
/// Errors: those of Hub and choose_files().
Result<PullPlan> plan_pull(const ModelName& name, const PullOptions& options);

/// Fetches the files of the plan that are not there into the folder of models, and puts their manifest.
/// Blocks; `on_progress` is called on this thread and may be absent. Errors: those of download() and
/// ModelStore::put(); corrupt (not a GGUF file).
Result<Manifest> pull(const PullPlan& plan, const PullOptions& options,
                      const std::function<void(const PullProgress&)>& on_progress);

/// Returns a clause: how to get the model on a machine with a network, and the path for its file here. Empty
/// for a LocalModel.
std::string by_hand_hint(const ModelName& name, const std::filesystem::path& folder);

} // namespace etna::store
