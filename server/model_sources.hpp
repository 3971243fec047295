#pragma once

#include "core/store/resolve.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace etna::server {

/// A model under the name that clients call it by.
struct NamedSource {
    std::string name;
    store::ModelSource source;
    std::vector<std::string> aliases = {}; ///< further names of the same one
};

/// What tells one content of a path from the next.
struct FileIdentity {
    uint64_t device = 0;
    uint64_t inode = 0;
    uint64_t bytes = 0;
    int64_t modified_ns = 0;

    bool operator==(const FileIdentity&) const = default;
};

/// A model that is served at the moment.
struct ListedSource {
    store::ModelSource source;
    std::optional<FileIdentity> identity = {}; ///< empty: embedded, or not there when it was looked for
    int64_t created_unix_s = 0;                ///< the file's time, or that of the first look
    std::vector<std::string> aliases = {};     ///< of a named one
};

/// Which models there are: those that were named, and the files of a folder, under their own names. A file
/// wins over a named model that is embedded; any other named model, and an alias, wins over a file. Files
/// whose names are no UTF-8, which JSON could not say, are left out. What is left out is logged, once. Not
/// thread-safe.
class ModelSources {
public:
    /// `folder`: empty for none. Names and aliases differ.
    ModelSources(std::vector<NamedSource> named, std::filesystem::path folder);

    /// By name, as it is now. A named model whose file has gone stays as it was: it may be in memory.
    const std::map<std::string, ListedSource, std::less<>>& look();

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
