#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace etna::cli {

/// Returns "LABEL [####......] DETAIL" with at most `columns` columns. The bar takes what the texts leave, up
/// to 30 columns; below 5 there is none, and clauses at the end of the detail, after ", ", are left out until
/// the line fits. `part` is from 0 to 1; the texts are ASCII.
std::string progress_bar(std::string_view label, double part, std::string_view detail, uint32_t columns);

} // namespace etna::cli
