#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace etna::test {

/// What a value does not keep to, by keyword; empty where it fits. Knows the few keywords that these tests
/// use. `root`: what references point into.
std::string misfit(const nlohmann::ordered_json& schema, const nlohmann::ordered_json& value,
                   const nlohmann::ordered_json& root);

} // namespace etna::test
