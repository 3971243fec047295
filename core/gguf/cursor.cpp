#include "core/gguf/cursor.hpp"

#include "core/gguf/limits.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace etna::gguf {
namespace {

constexpr std::string_view incomplete = "the download may be incomplete";

} // namespace

std::string backquoted(std::string_view text) {
    std::string result = "`";
    for (const char c : text.substr(0, max_quoted_bytes)) {
        if (c >= ' ' && c <= '~') {
            result += c;
        } else {
            result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        }
    }
    result += text.size() > max_quoted_bytes ? "...`" : "`";
    return result;
}

Cursor::Cursor(ByteView bytes, uint64_t file_bytes, std::string_view file_name)
    : bytes_(bytes.first(std::min<uint64_t>(bytes.size(), max_directory_bytes))), file_bytes_(file_bytes),
      file_name_(file_name) {}

void Cursor::enter(std::string_view section, std::string_view entry) {
    section_ = section;
    entry_ = entry;
}

Result<bool> Cursor::read_bool() {
    ETNA_TRY(const auto value, read<uint8_t>());
    if (value > 1) {
        return corrupt(fmt::format("a boolean of {} holds {}, which is neither 0 nor 1",
                                   entry_.empty() ? std::string(section_) : backquoted(entry_), value));
    }
    return value == 1;
}

Result<std::string_view> Cursor::read_string() {
    ETNA_TRY(const auto length, read<uint64_t>());
    if (length > remaining())
        return truncated();
    const std::string_view text(reinterpret_cast<const char*>(bytes_.data() + position_), length);
    position_ += length;
    return text;
}

Result<uint64_t> Cursor::read_count(uint64_t minimum_bytes, std::string_view things) {
    ETNA_TRY(const auto count, read<uint64_t>());
    if (count > remaining() / minimum_bytes) {
        Error error =
            corrupt(fmt::format("{} claims {} {}, more than the rest of the file can hold",
                                entry_.empty() ? std::string(section_) : backquoted(entry_), count, things));
        error.hint = incomplete;
        return error;
    }
    return count;
}

Error Cursor::corrupt(std::string_view problem) const {
    return {ErrorKind::corrupt, fmt::format("{}: {} (at byte {})", file_name_, problem, position_),
            std::string(damaged_hint)};
}

Error Cursor::truncated() const {
    if (bytes_.size() == max_directory_bytes && bytes_.size() < file_bytes_) {
        return {ErrorKind::unsupported,
                fmt::format("{}: metadata and tensor directory take more than {} MiB", file_name_,
                            max_directory_bytes / mebibyte),
                std::string(damaged_hint)};
    }
    const std::string entry = entry_.empty() ? std::string() : fmt::format(", in {}", backquoted(entry_));
    return {ErrorKind::corrupt,
            fmt::format("{}: ends inside {}{} (at byte {})", file_name_, section_, entry, file_bytes_),
            std::string(incomplete)};
}

} // namespace etna::gguf
