#include "cli/text_io.hpp"

#include "core/base/whole_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <span>
#include <system_error>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace etna::cli {
namespace {

Error failed(std::string_view what, const std::filesystem::path& path, int error_number) {
    return {ErrorKind::io, fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(error_number))};
}

constexpr std::size_t input_block_bytes = 64 * kibibyte;

} // namespace

std::vector<std::string> split_lines(std::string_view text) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        lines.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

void drop_newline(std::string& text) {
    if (text.ends_with("\r\n")) {
        text.resize(text.size() - 2);
    } else if (text.ends_with('\n')) {
        text.pop_back();
    }
}

Result<std::optional<std::string>> read_input(int descriptor, FinalNewline newline) {
    struct stat status{};
    if (::fstat(descriptor, &status) != 0)
        return std::optional<std::string>();
    if (!S_ISFIFO(status.st_mode) && !S_ISSOCK(status.st_mode) && !S_ISREG(status.st_mode))
        return std::optional<std::string>();
    std::string text;
    std::array<char, input_block_bytes> block;
    while (true) {
        const ssize_t count = ::read(descriptor, block.data(), block.size());
        if (count == 0)
            break;
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return Error{ErrorKind::io, fmt::format("cannot read standard input: {}", std::strerror(errno))};
        text.append(block.data(), static_cast<std::size_t>(count));
        if (text.size() > input_bytes_max) {
            return invalid_argument(
                fmt::format("standard input is longer than {} MiB", input_bytes_max / mebibyte));
        }
    }
    if (newline == FinalNewline::dropped)
        drop_newline(text);
    return std::optional(std::move(text));
}

Result<std::string> read_text_file(const std::filesystem::path& path, std::size_t bytes_max) {
    std::error_code failure;
    const auto status = std::filesystem::status(path, failure);
    if (!std::filesystem::exists(status))
        return Error{ErrorKind::not_found, fmt::format("there is no file {}", path.string())};
    if (!std::filesystem::is_regular_file(status)) {
        return Error{ErrorKind::io, fmt::format("{} is not a regular file", path.string()),
                     "write its content to a file, and name that file"};
    }
    std::ifstream file(path, std::ios::binary);
    if (!file)
        return failed("read", path, errno);
    std::string text(bytes_max + 1, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (file.bad())
        return failed("read", path, errno);
    text.resize(static_cast<std::size_t>(file.gcount()));
    if (text.size() > bytes_max)
        return invalid_argument(fmt::format("{} is longer than {} bytes", path.string(), bytes_max));
    return text;
}

Status write_text_file(const std::filesystem::path& path, std::string_view text) {
    std::error_code failure;
    if (std::filesystem::is_directory(path, failure))
        return Error{ErrorKind::io, fmt::format("{} is a folder", path.string()), "name a file in it"};
    const std::array parts = {std::as_bytes(std::span(text))};
    return write_whole_file(path, parts);
}

} // namespace etna::cli
