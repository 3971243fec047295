#include "cli/bench/text_table.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace etna::cli {
namespace {

std::size_t characters(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
        return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
    }));
}

} // namespace

std::string aligned(const TextTable& table, FirstColumn first) {
    std::vector<std::size_t> widths(table.empty() ? 0 : table.front().size());
    for (const auto& row : table) {
        for (std::size_t column = 0; column < widths.size(); ++column)
            widths[column] = std::max(widths[column], characters(row[column]));
    }
    std::string text;
    for (const auto& row : table) {
        for (std::size_t column = 0; column < widths.size(); ++column) {
            const std::string padding(widths[column] - characters(row[column]), ' ');
            const bool is_left = column == 0 && first == FirstColumn::left;
            text += column == 0 ? "" : "  ";
            text += is_left ? row[column] + padding : padding + row[column];
        }
        text += '\n';
    }
    return text;
}

} // namespace etna::cli
