#include "core/store/model_name.hpp"

#include "core/gguf/cursor.hpp"
#include "core/gguf/split.hpp"
#include "core/store/known_models.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace etna::store {
namespace {

constexpr std::string_view model_extension = ".gguf";
constexpr std::string_view hub_form = "hf.co/USER/REPO[:QUANT][@REVISION]";

bool is_letter_or_digit(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::string lower_case(std::string_view text) {
    std::string lower(text);
    for (char& c : lower)
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return lower;
}

/// Whether Windows takes a file of this name for a device, whatever its extension.
bool is_windows_device(std::string_view part) {
    constexpr std::array<std::string_view, 4> devices = {"con", "prn", "aux", "nul"};
    const std::string stem = lower_case(part.substr(0, part.find('.')));
    const bool is_numbered = stem.size() == 4 && stem[3] >= '1' && stem[3] <= '9' &&
                             (stem.starts_with("com") || stem.starts_with("lpt"));
    return is_numbered || std::find(devices.begin(), devices.end(), stem) != devices.end();
}

/// Returns what prevents the text from being one part of a name: a clause without a subject; empty if
/// nothing.
std::string part_problem(std::string_view part) {
    if (part.empty())
        return "is empty";
    if (part.size() > name_part_bytes_max)
        return fmt::format("has {} bytes, more than {}", part.size(), name_part_bytes_max);
    const auto* const odd = std::find_if_not(part.begin(), part.end(), [](char c) {
        return is_letter_or_digit(c) || c == '.' || c == '-' || c == '_';
    });
    if (odd != part.end())
        return fmt::format("has the character {}", gguf::backquoted({odd, 1}));
    if (part.front() == '.' || part.front() == '-' || part.back() == '.' ||
        part.find("..") != std::string_view::npos)
        return "starts with a dot or dash, ends with a dot, or has two dots in a row";
    return is_windows_device(part) ? "is the name of a device on Windows" : "";
}

Status check_part(std::string_view what, std::string_view part, std::string_view name) {
    const std::string problem = part_problem(part);
    if (problem.empty())
        return {};
    return invalid_argument(
        fmt::format("{}: the {} {} {}", gguf::backquoted(name), what, gguf::backquoted(part), problem),
        fmt::format("write {}", hub_form));
}

/// Checks a branch or tag: parts with slashes between, such as refs/pr/3.
Status check_revision(std::string_view revision, std::string_view name) {
    for (std::string_view rest = revision;;) {
        const std::size_t slash = std::min(rest.find('/'), rest.size());
        ETNA_CHECK(check_part("revision", rest.substr(0, slash), name));
        if (slash == rest.size())
            return {};
        rest.remove_prefix(slash + 1);
    }
}

/// Parses the part after the host: USER/REPO[:QUANT][@REVISION].
Result<ModelName> parse_reference(std::string_view reference, std::string_view name) {
    HubModel model;
    std::string_view rest = reference;
    if (const std::size_t at = rest.find('@'); at != std::string_view::npos) {
        model.revision = rest.substr(at + 1);
        ETNA_CHECK(check_revision(model.revision, name));
        rest = rest.substr(0, at);
    }
    if (const std::size_t colon = rest.find(':'); colon != std::string_view::npos) {
        model.quantisation = rest.substr(colon + 1);
        rest = rest.substr(0, colon);
        if (!gguf::has_gguf_extension(model.quantisation)) {
            ETNA_CHECK(check_part("quantisation", model.quantisation, name));
        } else {
            ETNA_CHECK(check_relative_path(model.quantisation));
        }
        if (lower_case(model.quantisation) == "latest")
            model.quantisation.clear();
    }
    const std::size_t slash = rest.find('/');
    if (slash == std::string_view::npos) {
        return invalid_argument(
            fmt::format("{}: there is no repository after the user", gguf::backquoted(name)),
            fmt::format("write {}", hub_form));
    }
    model.user = rest.substr(0, slash);
    model.repository = rest.substr(slash + 1);
    ETNA_CHECK(check_part("user", model.user, name));
    ETNA_CHECK(check_part("repository", model.repository, name));
    return ModelName(std::move(model));
}

/// Returns the part after the host of a reference to the hub; empty for other names.
std::optional<std::string_view> reference_after_host(std::string_view name) {
    for (const std::string_view scheme : {"https://", "http://"}) {
        if (name.starts_with(scheme))
            name.remove_prefix(scheme.size());
    }
    for (const std::string_view host : {"hf.co/", "huggingface.co/", "www.huggingface.co/", "hf://", "hf:"}) {
        if (name.starts_with(host))
            return name.substr(host.size());
    }
    return std::nullopt;
}

bool is_url(std::string_view name) {
    return name.starts_with("https://") || name.starts_with("http://");
}

Result<ModelName> parse_url(std::string_view url) {
    const std::size_t host = url.find("//") + 2;
    const std::string_view path = url.substr(host, url.find_first_of("?#", host) - host);
    const std::size_t slash = path.rfind('/');
    if (slash == 0 || slash == std::string_view::npos || !gguf::has_gguf_extension(path)) {
        return invalid_argument(
            fmt::format("{} does not end in a file name with {}", gguf::backquoted(url), model_extension),
            fmt::format("give the address of one .gguf file, or {}", hub_form));
    }
    if (path.substr(0, path.find('/')).find('@') != std::string_view::npos) {
        return invalid_argument("an address with a user's name or password in it is not taken",
                                "remove what is before the @");
    }
    const std::string_view file_name = path.substr(slash + 1);
    ETNA_CHECK(check_relative_path(file_name));
    return ModelName(UrlModel{std::string(url), std::string(file_name)});
}

Status check_text(std::string_view text) {
    if (text.size() > model_name_bytes_max) {
        return invalid_argument(
            fmt::format("the model's name has {} bytes, more than {}", text.size(), model_name_bytes_max));
    }
    if (std::any_of(text.begin(), text.end(),
                    [](char c) { return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f; })) {
        return invalid_argument(
            fmt::format("{}: a space or control character is in the name", gguf::backquoted(text)));
    }
    return {};
}

/// Whether this is USER/REPO[...], and does not look like a file.
bool is_bare_reference(std::string_view name) {
    const std::string_view repository = name.substr(0, name.find_first_of(":@"));
    return std::count(repository.begin(), repository.end(), '/') == 1 && !repository.ends_with('/') &&
           std::string_view("/.~").find(name.front()) == std::string_view::npos &&
           !gguf::has_gguf_extension(repository);
}

/// Parses a name that is known to be remote; empty for others.
Result<std::optional<ModelName>> parse_marked(std::string_view text) {
    if (const KnownModel* known = known_model(text)) {
        return std::optional(ModelName(HubModel{std::string(known->user), std::string(known->repository),
                                                std::string(known->quantisation), ""}));
    }
    const auto reference = reference_after_host(text);
    if (!reference && !is_url(text))
        return std::optional<ModelName>();
    ETNA_CHECK(check_text(text));
    const bool is_file = is_url(text) && gguf::has_gguf_extension(text.substr(0, text.find_first_of("?#"))) &&
                         text.find("/resolve/") != std::string_view::npos;
    if (!reference || is_file) {
        ETNA_TRY(auto url, parse_url(text));
        return std::optional(std::move(url));
    }
    ETNA_TRY(auto model, parse_reference(*reference, text));
    return std::optional(std::move(model));
}

} // namespace

Result<ModelName> parse_model_name(std::string_view text) {
    ETNA_TRY(auto marked, parse_marked(text));
    return marked ? std::move(*marked) : ModelName(LocalModel{std::string(text)});
}

Result<ModelName> parse_remote_name(std::string_view text) {
    if (text.empty())
        return invalid_argument("the model's name is empty", fmt::format("write {}", hub_form));
    ETNA_TRY(auto marked, parse_marked(text));
    if (marked)
        return std::move(*marked);
    if (!is_bare_reference(text))
        return ModelName(LocalModel{std::string(text)});
    ETNA_CHECK(check_text(text));
    return parse_reference(text, text);
}

std::string to_string(const HubModel& model) {
    return fmt::format("hf.co/{}/{}{}{}{}{}", model.user, model.repository,
                       model.quantisation.empty() ? "" : ":", model.quantisation,
                       model.revision.empty() ? "" : "@", model.revision);
}

Status check_relative_path(std::string_view path) {
    const auto refuse = [&](std::string_view problem) -> Status {
        return invalid_argument(fmt::format("the path {} {}", gguf::backquoted(path), problem),
                                "name a file of the repository, as its page at the hub lists it");
    };
    if (path.empty() || path.size() > model_name_bytes_max)
        return refuse(fmt::format("has {} bytes, and 1 to {} are taken", path.size(), model_name_bytes_max));
    const bool has_odd = std::any_of(path.begin(), path.end(), [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '\\' || c == ':';
    });
    if (has_odd)
        return refuse("has a control character, a backslash or a colon");
    for (std::string_view rest = path;;) {
        const std::size_t slash = std::min(rest.find('/'), rest.size());
        const std::string_view part = rest.substr(0, slash);
        if (part.empty() || part == "." || part == "..")
            return refuse("leaves its folder, or has an empty part");
        if (is_windows_device(part))
            return refuse("names a device on Windows");
        if (slash == rest.size())
            return {};
        rest.remove_prefix(slash + 1);
    }
}

std::string encode_url_path(std::string_view path) {
    std::string encoded;
    for (const char c : path) {
        if (is_letter_or_digit(c) || std::string_view("-._~/").find(c) != std::string_view::npos) {
            encoded += c;
        } else {
            encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
        }
    }
    return encoded;
}

} // namespace etna::store
