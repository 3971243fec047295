#include "core/jinja/filters.hpp"

#include "core/jinja/errors.hpp"
#include "core/jinja/operators.hpp"

#include <fmt/format.h>

namespace etna::jinja {
namespace {

const Native* find_filter(std::string_view name) {
    for (const auto table : {text_filters(), wrap_filters(), pretty_filters(), url_filters(),
                             number_filters(), sequence_filters(), selection_filters()}) {
        if (const Native* found = find_native(table, name))
            return found;
    }
    return nullptr;
}

} // namespace

bool is_filter(std::string_view name) {
    return find_filter(name) != nullptr;
}

Result<Value> call_filter(Machine& machine, std::string_view name, const Value& value, Arguments arguments) {
    const Native* filter = find_filter(name);
    if (filter == nullptr)
        return python_error("TemplateRuntimeError", fmt::format("No filter named '{}' found.", name));
    return call_native(machine, *filter, value, std::move(arguments));
}

Result<bool> flag(Machine& machine, const Value* argument, bool fallback) {
    if (argument == nullptr)
        return fallback;
    return is_true(machine, *argument);
}

} // namespace etna::jinja
