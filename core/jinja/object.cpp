#include "core/jinja/object.hpp"

#include "core/jinja/errors.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace etna::jinja {

std::optional<Value> Arguments::take(std::string_view name) {
    const auto found =
        std::find_if(keyword.begin(), keyword.end(), [&](const auto& each) { return each.first == name; });
    if (found == keyword.end())
        return {};
    std::optional<Value> value(std::move(found->second));
    keyword.erase(found);
    return value;
}

Result<Value> Object::call(Machine& /*machine*/, Arguments&& /*arguments*/) {
    return type_error(fmt::format("'{}' object is not callable", type_name()));
}

Result<std::optional<std::size_t>> Object::length(Machine& /*machine*/) {
    return std::optional<std::size_t>();
}

std::optional<Value> Object::item(std::size_t /*place*/) const {
    return {};
}

Result<std::unique_ptr<Cursor>> Object::iterate(Machine& /*machine*/) {
    return std::unique_ptr<Cursor>();
}

Result<std::unique_ptr<Cursor>> Object::iterate_reversed(Machine& /*machine*/) {
    return std::unique_ptr<Cursor>();
}

Result<std::optional<Value>> Object::attribute(Machine& /*machine*/, std::string_view /*name*/) {
    return std::optional<Value>();
}

} // namespace etna::jinja
