#pragma once

#include "core/base/result.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

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

/// Whether a call may name a function so.
bool is_function_name(std::string_view name);

/// The functions that a request offers, and the types of their parameters.
class Tools {
public:
    /// See ParserOptions::tools. Error: invalid_argument.
    static Result<Tools> create(std::string_view text);

    [[nodiscard]] bool empty() const { return functions_.empty(); }
    [[nodiscard]] bool offers(std::string_view function) const { return functions_.contains(function); }

    /// no_type: the schema does not tell.
    [[nodiscard]] uint8_t types_of(std::string_view function, std::string_view parameter) const;

    using Parameters = std::map<std::string, uint8_t, std::less<>>; ///< types by name

    /// Those that the schema tells of; null for a function that is not offered.
    [[nodiscard]] const Parameters* parameters_of(std::string_view function) const;

private:
    std::map<std::string, Parameters, std::less<>> functions_;
};

/// A function as a request offers it.
struct Function {
    std::string name;
    std::string parameters;              ///< its JSON Schema, members in the request's order; empty for none
    std::vector<std::string> names = {}; ///< of the parameters that the schema tells of, in that order
    bool is_strict = false;              ///< its arguments have to fit the schema
    std::string place;                   ///< of the schema: "tools[0].function.parameters"
};

/// The functions in ParserOptions::tools, each name once, in order. Errors: as Tools::create().
Result<std::vector<Function>> functions_of(std::string_view tools);

/// A value that stands between marks as JSON. It becomes what `types` allow, if it can be read so, and a
/// string otherwise; without types only what is clearly JSON is not a string. Python's spelling of JSON is
/// understood.
std::string value_to_json(std::string_view text, uint8_t types);

} // namespace etna::chat::output
