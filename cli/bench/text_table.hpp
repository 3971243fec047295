#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace etna::cli {

/// Cells of a table for people, [row][column]; the first row holds the headings. Rows have equal lengths.
using TextTable = std::vector<std::vector<std::string>>;

enum class FirstColumn : uint8_t { left, right };

/// Pads the cells to columns, aligned to the right apart from the first if so chosen, with two spaces between
/// them and a newline after each row. Counts characters of UTF-8.
std::string aligned(const TextTable& table, FirstColumn first);

} // namespace etna::cli
