#pragma once

#include <array>
#include <string_view>

namespace etna::grammar {

/// Keywords whose value is a schema, or an array of them. Sources: JSON Schema, draft-07 and draft 2020-12.
constexpr std::array<std::string_view, 16> schema_keywords = {"additionalItems",
                                                              "additionalProperties",
                                                              "allOf",
                                                              "anyOf",
                                                              "contains",
                                                              "contentSchema",
                                                              "else",
                                                              "if",
                                                              "items",
                                                              "not",
                                                              "oneOf",
                                                              "prefixItems",
                                                              "propertyNames",
                                                              "then",
                                                              "unevaluatedItems",
                                                              "unevaluatedProperties"};

/// Those whose value has a schema for each name, which is no keyword.
constexpr std::array<std::string_view, 6> map_keywords = {
    "$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"};

} // namespace etna::grammar
