#pragma once

#include <cstddef>
#include <cstdint>

/// Tables that unicode_tables.py writes; unicode.hpp reads them.
namespace etna::chat::jinja::tables {

/// Code points from `first` to `last`, every `step`-th, change their case by `delta`.
struct CaseRange {
    uint32_t first;
    uint32_t last;
    uint32_t step;
    int32_t delta;
};

/// A code point that becomes two or three (zeros fill up).
struct CaseExpansion {
    uint32_t code_point;
    uint32_t becomes[3];
};

/// Where the properties change: code point << 11 | properties from there on. See Property.
extern const uint32_t property_runs[];
extern const std::size_t property_run_count;
extern const CaseRange upper_ranges[], lower_ranges[], title_ranges[];
extern const std::size_t upper_range_count, lower_range_count, title_range_count;
extern const CaseExpansion upper_expansions[], lower_expansions[], title_expansions[];
extern const std::size_t upper_expansion_count, lower_expansion_count, title_expansion_count;

} // namespace etna::chat::jinja::tables
