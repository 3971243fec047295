#include "cli/options/key_file.hpp"

#include "cli/text_file.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace etna::cli {
namespace {

constexpr std::string_view blanks = " \t\r\v\f";

/// Returns the key in a line; empty if there is none.
std::string_view key_in(std::string_view line) {
    const std::size_t begin = std::min(line.find_first_not_of(blanks), line.size());
    std::string_view key = line.substr(begin);
    for (std::size_t at = key.find('#'); at != std::string_view::npos; at = key.find('#', at + 1)) {
        if (at == 0 || blanks.find(key[at - 1]) != std::string_view::npos)
            key = key.substr(0, at);
    }
    return key.substr(0, key.find_last_not_of(blanks) + 1);
}

} // namespace

Result<std::vector<std::string>> read_keys(const std::filesystem::path& file) {
    constexpr std::size_t bytes_max = 1 << 20;
    ETNA_TRY(const std::string text, read_text_file(file, bytes_max));
    std::vector<std::string> keys;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::string_view key = key_in(std::string_view(text).substr(begin, end - begin));
        if (!key.empty())
            keys.emplace_back(key);
        begin = end + 1;
    }
    if (keys.empty()) {
        return Error{ErrorKind::invalid_argument, fmt::format("{} has no key", file.string()),
                     "put one key on each line; what begins with # is a comment"};
    }
    return keys;
}

} // namespace etna::cli
