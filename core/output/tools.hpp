#pragma once

#include "core/base/result.hpp"
#include "core/jinja/value.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace etna::output {

/// JSON types, combined as bits.
enum JsonType : uint8_t {
    no_type = 0,
    string_type = 1,
    integer_type = 2,
    number_type = 4,
    boolean_type = 8,
    object_type = 16,
    array_type = 32,
    null_type = 64
};

/// Whether `name` is a valid function name for a call.
bool is_function_name(std::string_view name);

/// The functions offered by a request, with the types of their parameters.
class Tools {
public:
    /// See ParserOptions::tools. Error: invalid_argument.
    static Result<Tools> create(std::span<const jinja::Value> tools);

    [[nodiscard]] bool empty() const { return functions_.empty(); }
    [[nodiscard]] bool offers(std::string_view function) const { return functions_.contains(function); }

    /// Whether the name of an offered function starts with `text`.
    [[nodiscard]] bool may_offer(std::string_view text) const;

    /// Returns the parameter's types; no_type if the schema does not declare them.
    [[nodiscard]] uint8_t types_of(std::string_view function, std::string_view parameter) const;

    using Parameters = std::map<std::string, uint8_t, std::less<>>; ///< types by name

    /// Returns the parameters declared in the schema; null for a function that is not offered.
    [[nodiscard]] const Parameters* parameters_of(std::string_view function) const;

private:
    std::map<std::string, Parameters, std::less<>> functions_;
};

/// A function offered by a request.
struct Function {
    std::string name;
    jinja::Value parameters;             ///< their JSON Schema; undefined or none: none
    std::vector<std::string> names = {}; ///< names of the declared parameters, in schema order
    bool is_strict = false;              ///< the arguments must match the schema
    std::string schema_path; ///< path of the schema in the request: "tools[0].function.parameters"
};

/// Returns the functions in ParserOptions::tools, each name once, in order. Errors: as Tools::create().
Result<std::vector<Function>> functions_of(std::span<const jinja::Value> tools);

/// Converts a value enclosed in markers to JSON. Parses it as one of `types` if possible, else returns a
/// string; without types, anything that is not clearly JSON is a string. A null is accepted as the absence of
/// a value that is not a string. Also accepts Python's spelling of JSON.
std::string value_to_json(std::string_view text, uint8_t types);

} // namespace etna::output
