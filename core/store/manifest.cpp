#include "core/store/manifest.hpp"

#include "core/base/json.hpp"
#include "core/gguf/cursor.hpp"
#include "core/gguf/split.hpp"
#include "core/store/embedded.hpp"
#include "core/store/http_client.hpp"
#include "core/store/sha256.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace etna::store {
namespace {

constexpr uint64_t manifest_version = 1;
constexpr int depth_max = 8;
constexpr std::size_t name_bytes_max = 1024;
constexpr std::string_view template_role = "template";

bool is_alphanumeric(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// Reads members of JSON objects and names them in errors.
class ManifestReader {
public:
    explicit ManifestReader(std::string_view origin) : origin_(origin) {}

    [[nodiscard]] Error corrupt(std::string_view member, std::string_view problem) const {
        return {ErrorKind::corrupt, fmt::format("{}: `{}` {}", origin_, member, problem),
                "remove the file, and pull or create the model again"};
    }

    /// Returns the text of a member; empty if it is missing.
    [[nodiscard]] Result<std::string> text(const Json& object, const char* name, std::size_t bytes_max) const;
    [[nodiscard]] Result<StoredFile> file(const Json& object) const;
    [[nodiscard]] Result<std::vector<StoredFile>> files(const Json& manifest) const;
    [[nodiscard]] Result<std::vector<PresetOption>> options(const Json& manifest) const;

private:
    [[nodiscard]] Result<PresetOption> option(const std::string& name, const Json& value) const;
    [[nodiscard]] Status check_location(const StoredFile& file) const;

    std::string_view origin_;
};

Result<std::string> ManifestReader::text(const Json& object, const char* name, std::size_t bytes_max) const {
    const auto found = object.find(name);
    if (found == object.end())
        return std::string();
    if (!found->is_string())
        return corrupt(name, "is not text");
    std::string value = found->get<std::string>();
    if (value.size() > bytes_max)
        return corrupt(name, fmt::format("has {} bytes, more than {}", value.size(), bytes_max));
    if (value.find('\0') != std::string::npos)
        return corrupt(name, "contains a zero byte");
    return value;
}

Status ManifestReader::check_location(const StoredFile& file) const {
    const int locations =
        (file.sha256.empty() ? 0 : 1) + (file.path.empty() ? 0 : 1) + (file.embedded.empty() ? 0 : 1);
    if (locations != 1)
        return corrupt("files", "has an entry without exactly one of sha256, path and embedded");
    if (!file.sha256.empty() && !is_sha256_hex(file.sha256))
        return corrupt("sha256", "is not 64 hexadecimal digits in lower case");
    if (!file.path.empty() && !file.path.is_absolute())
        return corrupt("path", "is not an absolute path");
    if (!file.embedded.empty() && embedded_model(file.embedded) == nullptr)
        return corrupt("embedded", "is not the name of a model inside etna");
    if (!file.file_name.empty() && !check_relative_path(file.file_name))
        return corrupt("file_name", "is not a path below its folder");
    return {};
}

Result<StoredFile> ManifestReader::file(const Json& object) const {
    if (!object.is_object())
        return corrupt("files", "has an entry that is not an object");
    StoredFile file;
    ETNA_TRY(const std::string role, text(object, "role", name_bytes_max));
    if (role != "model" && role != template_role)
        return corrupt("role", "is neither `model` nor `template`");
    file.role = role == "model" ? FileRole::model : FileRole::chat_template;
    ETNA_TRY(file.sha256, text(object, "sha256", name_bytes_max));
    ETNA_TRY(file.path, text(object, "path", 4 * name_bytes_max));
    ETNA_TRY(file.embedded, text(object, "embedded", name_bytes_max));
    ETNA_TRY(file.file_name, text(object, "file_name", name_bytes_max));
    const auto bytes = object.find("bytes");
    if (bytes == object.end() || !bytes->is_number_unsigned())
        return corrupt("bytes", "is not a whole number");
    file.bytes = bytes->get<uint64_t>();
    if (file.bytes > uint64_t{1} << 50U)
        return corrupt("bytes", "is more than a pebibyte");
    ETNA_CHECK(check_location(file));
    return file;
}

Result<std::vector<StoredFile>> ManifestReader::files(const Json& manifest) const {
    const auto found = manifest.find("files");
    if (found == manifest.end() || !found->is_array() || found->empty())
        return corrupt("files", "is not a list of files");
    if (found->size() > manifest_files_max)
        return corrupt("files",
                       fmt::format("has {} entries, more than {}", found->size(), manifest_files_max));
    std::vector<StoredFile> files;
    for (const Json& entry : *found) {
        ETNA_TRY(StoredFile one, file(entry));
        files.push_back(std::move(one));
    }
    const auto weights = std::count_if(files.begin(), files.end(),
                                       [](const StoredFile& one) { return one.role == FileRole::model; });
    const bool is_embedded =
        std::any_of(files.begin(), files.end(), [](const StoredFile& one) { return !one.embedded.empty(); });
    if (weights == 0 || (is_embedded && weights > 1) || std::ssize(files) - weights > 1)
        return corrupt("files", "has no model, or more than one embedded model or template");
    return files;
}

Result<PresetOption> ManifestReader::option(const std::string& name, const Json& value) const {
    const bool is_name =
        !name.empty() && name.size() <= stored_name_bytes_max &&
        std::all_of(name.begin(), name.end(), [](char c) { return is_alphanumeric(c) || c == '-'; });
    if (!is_name)
        return corrupt("options", "has a member that is not the name of an option");
    PresetOption option{.name = name, .values = {}};
    const Json list = value.is_array() ? value : Json::array({value});
    for (const Json& one : list) {
        if (!one.is_string() || one.get_ref<const std::string&>().find('\0') != std::string::npos)
            return corrupt(name, "is not text or a list of texts");
        option.values.push_back(one.get<std::string>());
    }
    if (option.values.empty())
        return corrupt(name, "is an empty list");
    return option;
}

Result<std::vector<PresetOption>> ManifestReader::options(const Json& manifest) const {
    std::vector<PresetOption> options;
    const auto found = manifest.find("options");
    if (found == manifest.end())
        return options;
    if (!found->is_object())
        return corrupt("options", "is not an object");
    if (found->size() > manifest_options_max) {
        return corrupt("options",
                       fmt::format("has {} members, more than {}", found->size(), manifest_options_max));
    }
    for (const auto& [name, value] : found->items()) {
        ETNA_TRY(PresetOption one, option(name, value));
        options.push_back(std::move(one));
    }
    return options;
}

Json as_json(const StoredFile& file) {
    Json json = {{"role", file.role == FileRole::model ? "model" : template_role}};
    if (!file.sha256.empty())
        json["sha256"] = file.sha256;
    if (!file.path.empty())
        json["path"] = file.path.string();
    if (!file.embedded.empty())
        json["embedded"] = file.embedded;
    json["bytes"] = file.bytes;
    if (!file.file_name.empty())
        json["file_name"] = file.file_name;
    return json;
}

/// Returns what prevents the text from being a stored name: a clause without a subject; empty if nothing.
std::string name_problem(std::string_view name) {
    if (name.empty())
        return "is empty";
    if (name.size() > stored_name_bytes_max)
        return fmt::format("has {} bytes, more than {}", name.size(), stored_name_bytes_max);
    const auto* const odd = std::find_if_not(name.begin(), name.end(), [](char c) {
        return is_alphanumeric(c) || std::string_view("._-:").find(c) != std::string_view::npos;
    });
    if (odd != name.end())
        return fmt::format("has the character {}", gguf::backquoted({odd, 1}));
    if (!is_alphanumeric(name.front()) || !is_alphanumeric(name.back()))
        return "does not start and end with a letter or digit";
    if (std::count(name.begin(), name.end(), ':') > 1 || name.find("..") != std::string_view::npos)
        return "has two colons, or two dots in a row";
    if (gguf::has_gguf_extension(name))
        return "ends in .gguf, as a file does";
    return embedded_model(name) == nullptr ? "" : "is the name of a model inside etna";
}

/// Whether resolve() can find a manifest of this name.
bool is_manifest_name(std::string_view name) {
    if (check_stored_name(name))
        return true;
    const auto remote = parse_remote_name(name);
    return remote && !name.empty() && stored_name(*remote) == name;
}

} // namespace

uint64_t Manifest::bytes() const {
    return std::accumulate(files.begin(), files.end(), uint64_t{0},
                           [](uint64_t sum, const StoredFile& file) { return sum + file.bytes; });
}

Status check_stored_name(std::string_view name) {
    if (const std::string problem = name_problem(name); !problem.empty()) {
        return invalid_argument(fmt::format("the name {} {}", gguf::backquoted(name), problem),
                                "use letters, digits, dots, dashes and one colon, such as `my-model:8b`");
    }
    std::string file_name(name);
    std::replace(file_name.begin(), file_name.end(), ':', '.');
    return check_relative_path(file_name);
}

std::string stored_name(const ModelName& name) {
    if (const auto* model = std::get_if<HubModel>(&name))
        return to_string(*model);
    const auto* url = std::get_if<UrlModel>(&name);
    return url == nullptr ? std::string() : printable_url(url->url);
}

Result<Manifest> parse_manifest(std::string_view text, std::string_view origin) {
    const ManifestReader reader(origin);
    if (text.size() > manifest_bytes_max) {
        return Error{ErrorKind::corrupt, fmt::format("{}: the manifest has {} bytes, more than {}", origin,
                                                     text.size(), manifest_bytes_max)};
    }
    const Json json = parse_json(text, depth_max);
    if (!json.is_object()) {
        return Error{ErrorKind::corrupt, fmt::format("{}: the manifest is not a JSON object", origin),
                     "remove the file, and pull or create the model again"};
    }
    const auto version = json.find("version");
    if (version == json.end() || !version->is_number_unsigned())
        return reader.corrupt("version", "is not a whole number");
    if (version->get<uint64_t>() != manifest_version) {
        return unsupported(fmt::format("{}: the manifest is of version {}, and this etna reads version {}",
                                       origin, version->get<uint64_t>(), manifest_version),
                           "use the etna that wrote it, or a later one");
    }
    Manifest manifest;
    ETNA_TRY(manifest.name, reader.text(json, "name", model_name_bytes_max));
    if (!is_manifest_name(manifest.name))
        return reader.corrupt("name", "is not the name of a stored model");
    ETNA_TRY(manifest.source, reader.text(json, "source", 4 * name_bytes_max));
    ETNA_TRY(manifest.files, reader.files(json));
    ETNA_TRY(manifest.options, reader.options(json));
    ETNA_TRY(manifest.created, reader.text(json, "created", name_bytes_max));
    return manifest;
}

std::string manifest_text(const Manifest& manifest) {
    Json files = Json::array();
    for (const StoredFile& file : manifest.files)
        files.push_back(as_json(file));
    Json json = {{"version", manifest_version},
                 {"name", manifest.name},
                 {"source", manifest.source},
                 {"files", std::move(files)}};
    Json options = Json::object();
    for (const PresetOption& option : manifest.options)
        options[option.name] = option.values.size() == 1 ? Json(option.values.front()) : Json(option.values);
    if (!options.empty())
        json["options"] = std::move(options);
    json["created"] = manifest.created;
    return dump_json_indented(json) + "\n";
}

} // namespace etna::store
