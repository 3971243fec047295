#pragma once

#include "core/base/result.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

namespace etna::store {

/// A model in a repository of the Hugging Face hub.
struct HubModel {
    std::string user;
    std::string repository;
    std::string quantisation; ///< "Q8_0", or the path of a .gguf file in the repository; empty: not chosen
    std::string revision;     ///< branch, tag or commit; empty: the main branch
    bool operator==(const HubModel&) const = default;
};

/// A file at an http or https address.
struct UrlModel {
    std::string url;
    std::string file_name; ///< ends in .gguf
    bool operator==(const UrlModel&) const = default;
};

/// A path, a stored name or a name that nothing is known of.
struct LocalModel {
    std::string name;
    bool operator==(const LocalModel&) const = default;
};

using ModelName = std::variant<HubModel, UrlModel, LocalModel>;

constexpr std::size_t model_name_bytes_max = 1024;
constexpr std::size_t name_part_bytes_max =
    96; ///< of a user, repository, quantisation or revision; as the hub

/// Parses a MODEL argument. `hf.co/USER/REPO[:QUANT][@REVISION]`, `huggingface.co/...`, `hf:USER/REPO...`,
/// `hf://USER/REPO...` and the name of a known model (known_models.hpp) give a HubModel, also after a leading
/// `https://`; another http or https address gives a UrlModel; anything else is a LocalModel. Errors:
/// invalid_argument (names the part that is empty, overlong, or no name on some system: a path out of its
/// folder, a control character, a backslash, a Windows device).
Result<ModelName> parse_model_name(std::string_view text);

/// As parse_model_name(), for an argument that can only be remote: `USER/REPO[:QUANT][@REVISION]` is a
/// HubModel too.
Result<ModelName> parse_remote_name(std::string_view text);

/// Returns "hf.co/USER/REPO:QUANT@REVISION" without the parts that are empty.
std::string to_string(const HubModel& model);

/// Checks a path from a foreign source, with slashes, to be below its folder on every system. Errors:
/// invalid_argument (names the path and the part).
Status check_relative_path(std::string_view path);

/// Returns the text with all but unreserved characters (RFC 3986, 2.3) and slashes percent-encoded.
std::string encode_url_path(std::string_view path);

} // namespace etna::store
