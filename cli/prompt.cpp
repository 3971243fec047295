#include "cli/prompt.hpp"

#include "cli/terminal/printable.hpp"
#include "cli/terminal/quote.hpp"
#include "cli/text_file.hpp"

#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace etna::cli {
namespace {

constexpr std::size_t block_bytes = 64 * kibibyte;

void drop_newline(std::string& text) {
    if (text.ends_with("\r\n")) {
        text.resize(text.size() - 2);
    } else if (text.ends_with('\n')) {
        text.pop_back();
    }
}

} // namespace

Result<std::optional<std::string>> read_input(int descriptor, FinalNewline newline) {
    struct stat status{};
    if (::fstat(descriptor, &status) != 0)
        return std::optional<std::string>();
    if (!S_ISFIFO(status.st_mode) && !S_ISSOCK(status.st_mode) && !S_ISREG(status.st_mode))
        return std::optional<std::string>();
    std::string text;
    std::array<char, block_bytes> block;
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
            return Error{ErrorKind::invalid_argument,
                         fmt::format("standard input is longer than {} MiB", input_bytes_max / mebibyte)};
        }
    }
    if (newline == FinalNewline::dropped)
        drop_newline(text);
    return std::optional(std::move(text));
}

Result<std::string> read_prompt_file(const std::filesystem::path& path) {
    ETNA_TRY(std::string text, read_text_file(path, input_bytes_max));
    drop_newline(text);
    return text;
}

std::optional<std::string> assemble_prompt(const std::optional<std::string>& first,
                                           const std::optional<std::string>& second) {
    const bool has_second = second && !second->empty();
    if (first && has_second)
        return *first + "\n\n" + *second;
    return has_second ? second : first;
}

Error no_model(std::string_view prompt) {
    constexpr std::size_t shown_bytes_max = 200; // a truncated prompt would not be a usable command
    const bool can_be_copied = prompt.size() <= shown_bytes_max && printable(prompt) == prompt;
    return {ErrorKind::invalid_argument, "no model given",
            fmt::format("try `etna run demo {}`, or `etna run --help`",
                        can_be_copied ? shell_quoted(prompt) : "PROMPT")};
}

Error no_prompt(std::string_view model) {
    return {ErrorKind::invalid_argument, "there is no prompt",
            fmt::format("`etna chat {0}` holds a conversation; else give the prompt as an argument, "
                        "`etna run {0} \"Once upon a time\"`, or through a pipe",
                        model)};
}

} // namespace etna::cli
