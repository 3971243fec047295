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

/// Keywords whose value maps names, which are not keywords, to schemas.
constexpr std::array<std::string_view, 6> map_keywords = {
    "$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"};

} // namespace etna::grammar
