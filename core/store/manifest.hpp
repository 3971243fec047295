#pragma once

#include "core/base/result.hpp"
#include "core/store/model_name.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace etna::store {

enum class FileRole : uint8_t { model, chat_template };

/// A file of a stored model: exactly one of `sha256`, `path` and `embedded` is set.
struct StoredFile {
    FileRole role = FileRole::model;
    std::string sha256 = {};         ///< of a blob of the store, in hexadecimal
    std::filesystem::path path = {}; ///< of a file outside the store, absolute; used in place
    std::string embedded = {};       ///< name of an embedded model
    uint64_t bytes = 0;
    std::string file_name = {}; ///< for people; of a repository's file, its path there
    bool operator==(const StoredFile&) const = default;
};

/// An option of `etna run`, `chat` or `serve` that the model sets unless the user does.
struct PresetOption {
    std::string name; ///< long name, without dashes
    std::vector<std::string> values;
    bool operator==(const PresetOption&) const = default;
};

/// The model behind a stored name: its files, origin and options.
struct Manifest {
    std::string name;
    std::string source;            ///< the model that it was made from: a name or a path
    std::vector<StoredFile> files; ///< at least one model; the parts of a split model in order
    std::vector<PresetOption> options = {};
    std::string created = {}; ///< date and time in UTC, for people: "2026-11-26T02:15:00Z"
    bool operator==(const Manifest&) const = default;

    [[nodiscard]] uint64_t bytes() const; ///< of all files
};

constexpr std::size_t manifest_bytes_max = std::size_t{1} << 20U;
constexpr std::size_t manifest_files_max = 1000;
constexpr std::size_t manifest_options_max = 100;
constexpr std::size_t stored_name_bytes_max = 96;

/// Checks a name for a stored model: letters, digits, and `.`, `_`, `-` and one `:` inside. Errors:
/// invalid_argument (names the problem; also the name of an embedded model, a .gguf file, and a name that is
/// a device on Windows).
Status check_stored_name(std::string_view name);

/// Returns the name under which a fetched model is stored: "hf.co/USER/REPO:QUANT@REVISION", or an address
/// without its query. Empty for a LocalModel.
std::string stored_name(const ModelName& name);

/// Parses the JSON text of a manifest. Unknown members are ignored. `origin` identifies the text in errors.
/// Errors: corrupt (no such JSON, or a member out of its bounds; each names the member), unsupported (of a
/// later version).
Result<Manifest> parse_manifest(std::string_view text, std::string_view origin);

/// Returns the JSON text of a manifest, indented, with a final newline.
std::string manifest_text(const Manifest& manifest);

} // namespace etna::store
