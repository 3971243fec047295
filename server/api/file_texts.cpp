#include "server/api/file_texts.hpp"

#include "core/base/file_reader.hpp"
#include "core/base/utf8.hpp"
#include "server/api/answer_services.hpp"
#include "server/api/content_parts.hpp"
#include "server/api/owner.hpp"
#include "server/http/http.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <span>

#include <fmt/format.h>

namespace etna::server::api {

/// A file of a part. Its content is not checked.
struct FileTexts::File {
    std::string name = {};
    std::string media_type = {}; ///< empty: not given
    std::string content = {};
};

namespace {

constexpr std::string_view data_scheme = "data:";

/// Returns the first of these members that is a string; empty if none is.
std::string text_member_of(const Json& object, std::initializer_list<const char*> names) {
    for (const char* const name : names) {
        const auto found = object.find(name);
        if (found != object.end() && found->is_string())
            return found->get<std::string>();
    }
    return {};
}

/// Returns the object of a part that holds its file.
const Json& holder_of(const Json& part) {
    for (const char* const name : {"file", "source"}) {
        const auto found = part.find(name);
        if (found != part.end() && found->is_object())
            return *found;
    }
    return part;
}

/// Returns the value of a letter of base64, in both alphabets of RFC 4648; -1 for any other character.
int value_of(char letter) {
    constexpr int letters = 26;
    constexpr int first_digit = 52;
    if (letter >= 'A' && letter <= 'Z')
        return letter - 'A';
    if (letter >= 'a' && letter <= 'z')
        return letter - 'a' + letters;
    if (letter >= '0' && letter <= '9')
        return letter - '0' + first_digit;
    if (letter == '+' || letter == '-')
        return 62;
    return letter == '/' || letter == '_' ? 63 : -1;
}

/// Decodes base64, with or without padding and line ends. Empty for any other text.
std::optional<std::string> decoded_base64(std::string_view text) {
    constexpr unsigned bits_of_letter = 6;
    constexpr unsigned bits_of_byte = 8;
    constexpr unsigned byte_mask = 0xff;
    std::string bytes;
    bytes.reserve(text.size() / 4 * 3 + 3);
    unsigned pending = 0;
    unsigned bits = 0;
    std::size_t letters = 0;
    std::size_t padding = 0;
    for (const char letter : text) {
        if (letter == '\r' || letter == '\n' || letter == ' ')
            continue;
        padding += letter == '=' ? 1 : 0;
        if (letter == '=')
            continue;
        const int value = value_of(letter);
        if (value < 0 || padding > 0)
            return std::nullopt;
        ++letters;
        pending = pending << bits_of_letter | static_cast<unsigned>(value);
        bits += bits_of_letter;
        if (bits >= bits_of_byte) {
            bits -= bits_of_byte;
            bytes += static_cast<char>(pending >> bits & byte_mask);
        }
    }
    const bool is_padded = padding == 0 || (padding <= 2 && (letters + padding) % 4 == 0);
    return letters % 4 == 1 || !is_padded ? std::nullopt : std::optional(std::move(bytes));
}

/// Decodes "%41" to "A"; invalid escapes stay unchanged.
std::string decoded_percent(std::string_view text) {
    constexpr int base = 16;
    std::string bytes;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const std::string_view digits = text.substr(i + 1, 2);
        unsigned code = 0;
        const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), code, base);
        const bool is_escape = text[i] == '%' && digits.size() == 2 && read.ptr == digits.data() + 2;
        bytes += is_escape ? static_cast<char>(code) : text[i];
        i += is_escape ? 2 : 0;
    }
    return bytes;
}

/// The parts of a data URL (RFC 2397), or base64 alone.
struct EncodedData {
    std::string media_type = {};
    bool is_base64 = true;
    std::string_view data = {};
};

EncodedData split_data(std::string_view text) {
    if (to_lower(text.substr(0, data_scheme.size())) != data_scheme)
        return {.data = text};
    text.remove_prefix(data_scheme.size());
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string head = to_lower(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    return {
        .media_type = head.substr(0, head.find(';')), .is_base64 = head.ends_with(";base64"), .data = text};
}

/// Returns whether files of the type are never read as text, whatever their content.
bool is_other_medium(std::string_view media_type) {
    constexpr std::array<std::string_view, 6> others = {"image/", "audio/", "video/",
                                                        "font/",  "model/", "application/pdf"};
    return std::ranges::any_of(others, [&](std::string_view one) { return media_type.starts_with(one); });
}

bool is_text(std::string_view content) {
    return !content.starts_with("%PDF-") && content.find('\0') == std::string_view::npos &&
           valid_utf8_prefix(content) == content.size();
}

/// Returns the text of a document's `content`: a string, or blocks of text. Empty if it has another form.
std::optional<std::string> text_of_blocks(const Json& content) {
    if (content.is_string())
        return content.get<std::string>();
    if (!content.is_array())
        return std::nullopt;
    std::string text;
    for (const Json& block : content) {
        const bool is_block = block.is_object() && block.value("type", Json()) == "text" &&
                              block.contains("text") && block["text"].is_string();
        if (!is_block)
            return std::nullopt;
        text += (text.empty() ? "" : "\n") + block["text"].get<std::string>();
    }
    return text;
}

void refuse_too_large(Fields& fields, std::string_view path, uint64_t bytes) {
    fields.refuse(path, fmt::format("has a file of {} bytes; the maximum is {}", bytes, file_text_bytes_max),
                  "file_too_large");
}

} // namespace

bool is_file_part(const Json& part) {
    const Json type = part.is_object() ? part.value("type", Json()) : Json();
    return type == "file" || type == "input_file" || type == "document";
}

std::optional<FileTexts::File> FileTexts::read_stored(Fields& fields, std::string_view path,
                                                      const std::string& id) const {
    const auto found = find_stored_ ? find_stored_(owner_, id) : std::nullopt;
    if (!found) {
        fields.refuse(path, fmt::format("names the file `{}`, which is not stored on this server", id),
                      "file_not_found");
        return std::nullopt;
    }
    if (found->bytes > file_text_bytes_max) {
        refuse_too_large(fields, path, found->bytes);
        return std::nullopt;
    }
    File file = {.name = found->name, .content = std::string(found->bytes, '\0')};
    const auto reader = FileReader::open(found->path);
    if (!reader || !reader->read(0, std::as_writable_bytes(std::span(file.content)))) {
        fields.refuse(path, fmt::format("names the file `{}`, which cannot be read", id), "file_not_found");
        return std::nullopt;
    }
    return file;
}

std::optional<FileTexts::File> FileTexts::find(Fields& fields, std::string_view path,
                                               const Json& part) const {
    const Json& holder = holder_of(part);
    if (const std::string id = text_member_of(holder, {"file_id"}); !id.empty())
        return read_stored(fields, path, id);
    File file = {.name = text_member_of(holder, {"filename", "name"}),
                 .media_type = to_lower(text_member_of(holder, {"media_type", "mime_type"}))};
    if (const auto content = holder.find("content"); content != holder.end() && &holder != &part) {
        if (auto text = text_of_blocks(*content)) {
            file.content = std::move(*text);
            return file;
        }
    }
    const bool has_data = holder.contains("file_data") || holder.contains("data");
    const std::string data = text_member_of(holder, {"file_data", "data"});
    if (!has_data && !text_member_of(holder, {"file_url", "url"}).empty()) {
        fields.refuse(path, "names an address, which this server does not fetch; send the file's content",
                      "unsupported_value");
        return std::nullopt;
    }
    if (!has_data) {
        refuse_part(fields, path, part);
        return std::nullopt;
    }
    if (text_member_of(holder, {"type"}) == "text") { // Anthropic's plain text
        file.content = data;
        return file;
    }
    const EncodedData encoded = split_data(data);
    if (!encoded.media_type.empty())
        file.media_type = encoded.media_type;
    auto content = encoded.is_base64 ? decoded_base64(encoded.data) : decoded_percent(encoded.data);
    if (!content) {
        fields.refuse(path, "has a file that is not base64");
        return std::nullopt;
    }
    file.content = std::move(*content);
    return file;
}

std::optional<std::string> FileTexts::read(Fields& fields, std::string_view path, const Json& part) const {
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    auto file = find(fields, path, part);
    if (!file)
        return std::nullopt;
    if (file->content.size() > file_text_bytes_max) {
        refuse_too_large(fields, path, file->content.size());
        return std::nullopt;
    }
    if (is_other_medium(file->media_type) || !is_text(file->content)) {
        const std::string type = file->media_type.empty() ? "binary data" : file->media_type;
        fields.adopt({.message = fmt::format("{} input of type {} is not supported by this model; files of "
                                             "text in UTF-8 are",
                                             medium_of(part["type"].get<std::string>()), type),
                      .param = fields.path_of(path),
                      .code = "invalid_value"});
        return std::nullopt;
    }
    if (reserve_memory_ && !reserve_memory_(file->content.size())) {
        fields.adopt(no_memory());
        return std::nullopt;
    }
    std::string text;
    for (const std::string& line : {file->name.empty() ? text_member_of(part, {"title"}) : file->name,
                                    text_member_of(part, {"context"})})
        text += line.empty() ? "" : line + "\n";
    std::string_view content = file->content;
    if (content.starts_with(byte_order_mark))
        content.remove_prefix(byte_order_mark.size());
    return text.append(content);
}

FileTexts file_texts(const AnswerServices& services, const HttpRequest& request) {
    return {services.find_stored_file, owner_of(services.options.access, request),
            [&request](std::size_t bytes) { return request.reserve_memory(bytes); }};
}

} // namespace etna::server::api
