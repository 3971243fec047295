#include "server/batch/multipart.hpp"

#include "core/base/utf8.hpp"
#include "server/http/request_head.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace etna::server::batch {
namespace {

constexpr std::string_view form_type = "multipart/form-data";
constexpr std::string_view crlf = "\r\n";
constexpr std::size_t boundary_bytes_max = 70; // RFC 2046, 5.1.1

ApiError malformed_form(std::string message) {
    return {.message = "the form cannot be read: " + std::move(message), .code = "invalid_form"};
}

/// Removes blanks at both ends.
std::string_view trimmed_value(std::string_view text) {
    const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
    return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

/// Removes the next parameter, `; name=value` or `; name="value"`, from the front of `rest` and returns it.
/// Empty at the end of `rest`, or if the parameter is malformed; then `rest` is not empty.
std::optional<std::pair<std::string, std::string>> take_parameter(std::string_view& rest) {
    std::string_view text = trimmed_value(rest);
    if (!text.starts_with(';'))
        return std::nullopt;
    text = trimmed_value(text.substr(1));
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0)
        return std::nullopt;
    std::string name = to_lower(text.substr(0, equals));
    text.remove_prefix(equals + 1);
    std::string value;
    if (!text.starts_with('"')) {
        const std::size_t end = std::min(text.find(';'), text.size());
        value = trimmed_value(text.substr(0, end));
        rest = text.substr(end);
        return std::pair(std::move(name), std::move(value));
    }
    for (std::size_t at = 1; at < text.size(); ++at) {
        if (text[at] == '"') {
            rest = trimmed_value(text.substr(at + 1));
            return std::pair(std::move(name), std::move(value));
        }
        // Browsers write a quote as %22; a backslash is part of the file name unless a quote follows.
        const bool is_escape = text[at] == '\\' && at + 1 < text.size() && text[at + 1] == '"';
        at += is_escape ? 1 : 0;
        value += text[at];
    }
    return std::nullopt;
}

/// Returns the boundary of a form; empty if the header has none.
std::string boundary_of(std::string_view content_type) {
    if (to_lower(content_type.substr(0, form_type.size())) != form_type)
        return {};
    std::string_view rest = content_type.substr(form_type.size());
    while (const auto parameter = take_parameter(rest)) {
        if (parameter->first == "boundary" && parameter->second.size() <= boundary_bytes_max)
            return parameter->second;
    }
    return {};
}

std::string utf8_of_latin_1(std::string_view bytes) {
    std::string text;
    for (const char byte : bytes)
        append_utf8(text, static_cast<unsigned char>(byte));
    return text;
}

/// Decodes an extended value, such as UTF-8''%D1%80.txt (RFC 8187, 3.2; Latin-1 as in RFC 5987). Empty if it
/// is malformed, or no valid UTF-8.
std::optional<std::string> decoded_extended(std::string_view value) {
    constexpr int base = 16;
    const std::size_t charset_end = value.find('\'');
    const std::size_t language_end =
        charset_end == std::string_view::npos ? std::string_view::npos : value.find('\'', charset_end + 1);
    if (language_end == std::string_view::npos)
        return std::nullopt;
    const std::string charset = to_lower(value.substr(0, charset_end));
    const bool is_latin_1 = charset == "iso-8859-1";
    if (charset != "utf-8" && !is_latin_1)
        return std::nullopt;
    std::string text;
    std::string_view rest = value.substr(language_end + 1);
    while (!rest.empty()) {
        const std::string_view digits = rest.substr(1, 2);
        unsigned code = 0;
        const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), code, base);
        const bool is_escape = rest.front() == '%';
        if (is_escape && (digits.size() != 2 || read.ptr != digits.data() + 2))
            return std::nullopt;
        text += is_escape ? static_cast<char>(code) : rest.front();
        rest.remove_prefix(is_escape ? 3 : 1);
    }
    if (is_latin_1)
        text = utf8_of_latin_1(text);
    const bool is_text = valid_utf8_prefix(text) == text.size() && text.find('\0') == std::string::npos;
    return is_text ? std::optional(std::move(text)) : std::nullopt;
}

/// A parameter of a part's disposition in its two forms, of which the extended one is preferred (RFC
/// 6266, 4.3).
struct PartName {
    std::optional<std::string> plain = {};
    std::optional<std::string> extended = {};

    [[nodiscard]] std::optional<std::string> value() && {
        return extended ? std::move(extended) : std::move(plain);
    }
};

/// Reads the names of a part from its headers. Returns whether the part is a form field. A malformed extended
/// name counts as absent.
bool read_part_head(std::string_view head, FormPart& part) {
    constexpr std::string_view disposition = "content-disposition:";
    while (!head.empty()) {
        const std::size_t end = std::min(head.find(crlf), head.size());
        const std::string_view line = head.substr(0, end);
        head.remove_prefix(std::min(end + crlf.size(), head.size()));
        if (to_lower(line.substr(0, disposition.size())) != disposition)
            continue;
        std::string_view rest = trimmed_value(line.substr(disposition.size()));
        constexpr std::string_view kind = "form-data";
        if (to_lower(rest.substr(0, kind.size())) != kind)
            return false;
        rest.remove_prefix(kind.size());
        PartName name;
        PartName file_name;
        while (auto parameter = take_parameter(rest)) {
            auto& [key, value] = *parameter;
            if (key == "name" || key == "filename")
                (key == "name" ? name : file_name).plain = std::move(value);
            if (key == "name*" || key == "filename*")
                (key == "name*" ? name : file_name).extended = decoded_extended(value);
        }
        if (!rest.empty())
            return false;
        part.name = std::move(name).value().value_or("");
        part.file_name = std::move(file_name).value();
    }
    return !part.name.empty();
}

} // namespace

ApiResult<std::vector<FormPart>> parse_form(std::string_view content_type, std::string_view body) {
    const std::string boundary = boundary_of(content_type);
    if (boundary.empty()) {
        return ApiError{.status = 415,
                        .message = "the body must be a form: multipart/form-data with a boundary",
                        .code = "unsupported_content_type"};
    }
    const std::string first = "--" + boundary;
    const std::string next = std::string(crlf) + first;
    if (!body.starts_with(first))
        return malformed_form("it does not begin with its boundary");
    body.remove_prefix(first.size());
    std::vector<FormPart> parts;
    while (!body.starts_with("--")) {
        if (!body.starts_with(crlf))
            return malformed_form("no line end follows a boundary");
        body.remove_prefix(crlf.size());
        const std::size_t head_end = body.substr(0, form_head_bytes_max).find("\r\n\r\n");
        if (head_end == std::string_view::npos)
            return malformed_form("the headers of a part have no end");
        FormPart part;
        if (!read_part_head(body.substr(0, head_end), part))
            return malformed_form("a part has no name");
        body.remove_prefix(head_end + 2 * crlf.size());
        const std::size_t end = body.find(next);
        if (end == std::string_view::npos)
            return malformed_form("a part has no end");
        if (parts.size() == form_parts_max)
            return malformed_form("it has too many parts");
        part.content = body.substr(0, end);
        parts.push_back(std::move(part));
        body.remove_prefix(end + next.size());
    }
    return parts;
}

} // namespace etna::server::batch
