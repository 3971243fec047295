#pragma once

#include "core/base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace etna::cli::toml {

enum class ScalarKind : uint8_t { boolean, integer, number, string };

struct Scalar {
    ScalarKind kind = ScalarKind::string;
    std::string text; ///< of a string its content; of a number its digits without underscores and plus sign
};

enum class Form : uint8_t { scalar, array };

/// One `key = value` of a file.
struct Item {
    std::vector<std::string> path; ///< the table's names, then the key's
    Form form = Form::scalar;
    std::vector<Scalar> values; ///< one, unless it is an array
    uint32_t line = 0;          ///< from 1
};

/// Reads the part of TOML 1.0 (toml.io) that settings need: tables, bare, quoted and dotted keys, strings of
/// one line, booleans, decimal numbers, arrays of these. Everything else is refused, and so are keys and
/// tables that appear twice. A byte order mark is skipped. Error: invalid_argument, "NAME:LINE: PROBLEM".
Result<std::vector<Item>> read(std::string_view text, std::string_view name);

} // namespace etna::cli::toml
