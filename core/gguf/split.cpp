#include "core/gguf/split.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

#include <fmt/format.h>

namespace etna::gguf {
namespace {

constexpr std::string_view number_key = "split.no"; ///< counts from zero
constexpr std::string_view count_key = "split.count";
constexpr std::string_view tensor_count_key = "split.tensors.count";

constexpr std::size_t number_digits = 5;

/// Parses and removes the number at the end of `text`.
std::optional<uint32_t> take_number(std::string_view& text) {
    if (text.size() < number_digits)
        return std::nullopt;
    const std::string_view digits = text.substr(text.size() - number_digits);
    if (!std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; }))
        return std::nullopt;
    uint32_t number = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    text.remove_suffix(number_digits);
    return number;
}

bool take_suffix(std::string_view& text, std::string_view suffix) {
    if (!text.ends_with(suffix))
        return false;
    text.remove_suffix(suffix.size());
    return true;
}

constexpr std::string_view same_download = "all parts must come from the same download";

Status check_value(const Metadata& metadata, std::string_view key, uint64_t expected,
                   const std::string& file_name) {
    const auto value = metadata.unsigned_integer(key);
    if (value == expected)
        return {};
    const std::string found = value ? fmt::to_string(*value) : "missing";
    return Error{ErrorKind::corrupt,
                 fmt::format("{}: `{}` is {} where {} is expected", file_name, key, found, expected),
                 std::string(same_download)};
}

} // namespace

std::filesystem::path SplitName::path(uint32_t part_number) const {
    return fmt::format("{}-{:05}-of-{:05}{}", prefix, part_number, count, extension);
}

bool has_gguf_extension(std::string_view file_name) {
    constexpr std::string_view extension = ".gguf";
    if (file_name.size() < extension.size())
        return false;
    return std::ranges::equal(file_name.substr(file_name.size() - extension.size()), extension,
                              [](char letter, char lower) {
                                  const bool is_capital = letter >= 'A' && letter <= 'Z';
                                  return (is_capital ? letter - 'A' + 'a' : letter) == lower;
                              });
}

std::optional<SplitName> parse_split_name(const std::filesystem::path& path) {
    const std::string full_path = path.string();
    std::string_view text = full_path;
    if (!has_gguf_extension(text))
        return std::nullopt;
    const std::string extension(text.substr(text.rfind('.')));
    text.remove_suffix(extension.size());
    const auto count = take_number(text);
    if (!count || !take_suffix(text, "-of-"))
        return std::nullopt;
    const auto number = take_number(text);
    if (!number || !take_suffix(text, "-") || *number == 0 || *number > *count)
        return std::nullopt;
    return SplitName{std::string(text), *number, *count, extension};
}

std::optional<SplitName> find_split_name(const std::filesystem::path& path) {
    constexpr int links_max = 40; // as Linux follows
    const auto has_parts = [](const SplitName& name) {
        std::error_code ignored;
        const uint32_t other = name.number == 1 ? name.count : 1;
        return std::filesystem::exists(name.path(other), ignored);
    };
    auto own = parse_split_name(path);
    if (own && has_parts(*own))
        return own;
    std::error_code failure;
    std::filesystem::path link = path;
    for (int links = 0; links < links_max && std::filesystem::is_symlink(link, failure); ++links) {
        const auto target = std::filesystem::read_symlink(link, failure);
        if (failure)
            break;
        link = link.parent_path() / target; // an absolute target replaces the folder
        if (auto name = parse_split_name(link); name && has_parts(*name))
            return name;
    }
    return own;
}

Status check_not_split(const Metadata& metadata, std::string_view file_name) {
    const auto count = metadata.unsigned_integer(count_key);
    if (!count || *count <= 1)
        return {};
    return invalid_argument(
        fmt::format("{}: is one of {} parts of a split model, and its name does not lead to the others",
                    file_name, *count),
        fmt::format("name the parts NAME-00001-of-{:05}.gguf and so on, in one folder", *count));
}

Status check_parts_agree(std::span<const std::filesystem::path> paths, std::span<const Part> parts) {
    for (uint32_t i = 0; i < parts.size(); ++i) {
        ETNA_CHECK(check_value(parts[i].metadata, number_key, i, paths[i].string()));
        ETNA_CHECK(check_value(parts[i].metadata, count_key, parts.size(), paths[i].string()));
    }
    const std::string first_name = paths.front().string();
    const auto claimed = parts[0].metadata.unsigned_integer(tensor_count_key);
    if (!claimed) {
        return Error{ErrorKind::corrupt, fmt::format("{}: `{}` is missing", first_name, tensor_count_key),
                     std::string(same_download)};
    }
    uint64_t tensors = 0;
    for (uint32_t i = 0; i < parts.size(); ++i) {
        ETNA_CHECK(check_value(parts[i].metadata, tensor_count_key, *claimed, paths[i].string()));
        tensors += parts[i].tensors.size();
    }
    if (tensors != *claimed) {
        return Error{ErrorKind::corrupt,
                     fmt::format("{}: the {} parts hold {} tensors where `{}` is {}", first_name,
                                 parts.size(), tensors, tensor_count_key, *claimed),
                     std::string(same_download)};
    }
    return {};
}

} // namespace etna::gguf
