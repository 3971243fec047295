#include "core/gguf/foreign.hpp"

#include <algorithm>
#include <cctype>
#include <string>

#include <fmt/format.h>

namespace etna::gguf {
namespace {

constexpr std::string_view convert = "convert the model to GGUF, or download a GGUF version of it";
constexpr std::string_view unpack = "unpack it first";
constexpr std::string_view web_page = "a web page was saved instead of the model; download the file itself";

struct Signature {
    std::string_view start; ///< the file's first bytes
    std::string_view what;
    std::string_view hint;
};

constexpr Signature signatures[] = {
    {"version https://git-lfs", "is a Git LFS pointer, not the model itself",
     "run `git lfs pull`, or download the file itself"},
    {"PK\x03\x04", "is a ZIP archive or a PyTorch checkpoint", convert},
    {"\x1f\x8b", "is compressed with gzip", unpack},
    {"\x28\xb5\x2f\xfd", "is compressed with zstd", unpack},
    {"\xfd"
     "7zXZ",
     "is compressed with xz", unpack},
    {"lmgg", "is a GGML file, the format before GGUF", convert},
    {"fmgg", "is a GGMF file, a format before GGUF", convert},
    {"tjgg", "is a GGJT file, a format before GGUF", convert},
};

/// The first bytes as lower-case text, without white space before them.
std::string opening_text(std::string_view text) {
    constexpr std::size_t looked_at = 64;
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    if (text.starts_with(byte_order_mark))
        text.remove_prefix(byte_order_mark.size());
    text = text.substr(0, looked_at);
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    std::string lower(text);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return lower;
}

/// A safetensors file starts with the 64-bit size of its JSON header, which follows.
bool is_safetensors(std::string_view text) {
    constexpr std::size_t size_bytes = 8;
    return text.size() > size_bytes + 1 && text.substr(size_bytes, 2) == "{\"" &&
           text[size_bytes - 1] == '\0';
}

} // namespace

bool is_web_page(std::string_view opening) {
    const std::string text = opening_text(opening);
    return text.starts_with("<!doctype html") || text.starts_with("<html") || text.starts_with("<head") ||
           text.starts_with("<!--") || text.starts_with("<script") || text.starts_with("<meta");
}

std::optional<Error> recognise_foreign(ByteView bytes, std::string_view file_name) {
    if (bytes.empty())
        return Error{ErrorKind::corrupt, fmt::format("{}: is empty", file_name), "download it again"};
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const auto foreign = [&](std::string_view what, std::string_view hint) {
        return unsupported(fmt::format("{}: {}", file_name, what), std::string(hint));
    };
    for (const Signature& signature : signatures) {
        if (text.starts_with(signature.start))
            return foreign(signature.what, signature.hint);
    }
    if (is_safetensors(text))
        return foreign("is a safetensors file", convert);
    if (is_web_page(text))
        return foreign("is an HTML page", web_page);
    if (opening_text(text).starts_with("{\""))
        return foreign("is a JSON document", "a server's answer may have been saved instead of the model");
    return std::nullopt;
}

} // namespace etna::gguf
