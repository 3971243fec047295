#pragma once

#include "core/store/resolve.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// The names of models and their files.
namespace etna::server {

/// Normalizes a model name for matching: lower-case ASCII, without the suffixes that programs append: ".gguf"
/// of files, ":latest" of tags.
std::string normalized_name(std::string_view name);

/// Lists the served models for a client that requested `requested`: all of them, or the three most similar if
/// there are more than eight.
std::string served_names(std::string_view requested, std::span<const std::string> names);

/// A model source and the name that clients use for it.
struct NamedSource {
    std::string name;
    store::ModelSource source;
    std::vector<std::string> aliases = {}; ///< additional names of the model
};

/// Identifies one version of a file; it differs after the file is replaced.
struct FileIdentity {
    uint64_t device = 0;
    uint64_t inode = 0;
    uint64_t bytes = 0;
    int64_t modified_ns = 0;

    bool operator==(const FileIdentity&) const = default;
};

/// A currently served model.
struct ListedSource {
    store::ModelSource source;
    std::optional<FileIdentity> identity = {}; ///< empty: embedded, or the file was missing at the last scan
    int64_t created_unix_s = 0;                ///< the file's time, or the time of the first scan
    std::vector<std::string> aliases = {};     ///< of a named model
};

/// Returns whether a source that was found again is the one that is listed. One that was not fetched is.
bool is_unchanged(const store::ModelSource& listed, const store::ModelSource& found);

/// The available models: the configured ones, and the files of a folder under their file names. A file takes
/// precedence over an embedded configured model; any other configured model, and any alias, takes precedence
/// over a file. Files whose names are not UTF-8, and so cannot appear in JSON, are left out. Omissions are
/// logged once. Not thread-safe.
class ModelSources {
public:
    /// `folder`: empty for none. Names and aliases must be distinct.
    ModelSources(std::vector<NamedSource> named, std::filesystem::path folder);

    /// Rescans and returns the models by name. A configured model whose file is missing stays listed
    /// unchanged: it may be loaded.
    const std::map<std::string, ListedSource, std::less<>>& scan();

    /// Adds a configured model. Its name must be new.
    void add(NamedSource model) { named_.push_back(std::move(model)); }

    /// Removes the configured model with this name.
    void remove(std::string_view name);

    /// Returns the source as scan() lists it for a new model.
    [[nodiscard]] static ListedSource listed(const store::ModelSource& source);

private:
    using Listed = std::map<std::string, ListedSource, std::less<>>;

    void add_file(Listed& now, const store::ModelFile& file);
    void log_once(std::string message);
    [[nodiscard]] bool is_alias(const std::string& name) const;

    std::vector<NamedSource> named_;
    std::filesystem::path folder_;
    Listed listed_;
    std::set<std::string> logged_;
};

} // namespace etna::server
