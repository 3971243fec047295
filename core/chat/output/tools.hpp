#pragma once

#include "core/base/result.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace etna::chat::output {

/// JSON types, as a set of bits.
enum Types : uint8_t {
    no_type = 0,
    text_type = 1,
    integer_type = 2,
    number_type = 4,
    boolean_type = 8,
    object_type = 16,
    array_type = 32,
    null_type = 64
};

/// The functions that a request offers, and the types of their parameters.
class Tools {
public:
    /// See ParserOptions::tools. Error: invalid_argument.
    static Result<Tools> create(std::string_view text);

    [[nodiscard]] bool empty() const { return functions_.empty(); }
    [[nodiscard]] bool offers(std::string_view function) const { return functions_.contains(function); }

    /// no_type: the schema does not tell.
    [[nodiscard]] uint8_t types_of(std::string_view function, std::string_view parameter) const;

private:
    using Parameters = std::map<std::string, uint8_t, std::less<>>;
    std::map<std::string, Parameters, std::less<>> functions_;
};

/// A value that stands between marks as JSON. It becomes what `types` allow, if it can be read so, and a
/// string otherwise; without types only what is clearly JSON is not a string. Python's spelling of JSON is
/// understood.
std::string value_to_json(std::string_view text, uint8_t types);

} // namespace etna::chat::output
