#include "cli/text_file.hpp"

#include "core/base/whole_file.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <span>
#include <system_error>

#include <fmt/format.h>

namespace etna::cli {
namespace {

Error failed(std::string_view what, const std::filesystem::path& path, int error_number) {
    return {ErrorKind::io, fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(error_number))};
}

} // namespace

Result<std::string> read_text_file(const std::filesystem::path& path, std::size_t bytes_max) {
    std::error_code failure;
    const auto status = std::filesystem::status(path, failure);
    if (!std::filesystem::exists(status))
        return Error{ErrorKind::not_found, fmt::format("there is no file {}", path.string())};
    if (!std::filesystem::is_regular_file(status)) {
        return Error{ErrorKind::io, fmt::format("{} is no regular file", path.string()),
                     "keep what it gives in a file, and name that"};
    }
    std::ifstream file(path, std::ios::binary);
    if (!file)
        return failed("read", path, errno);
    std::string text(bytes_max + 1, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (file.bad())
        return failed("read", path, errno);
    text.resize(static_cast<std::size_t>(file.gcount()));
    if (text.size() > bytes_max) {
        return Error{ErrorKind::invalid_argument,
                     fmt::format("{} is longer than {} bytes", path.string(), bytes_max)};
    }
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
