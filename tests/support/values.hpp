#pragma once

#include "core/jinja/json.hpp"
#include "core/jinja/value.hpp"

#include <string_view>
#include <vector>

namespace etna::test {

/// Returns the items of a list in JSON. Precondition: it is one.
inline std::vector<jinja::Value> values_of(std::string_view json_list) {
    return jinja::from_json(json_list).value().sequence()->items;
}

} // namespace etna::test
