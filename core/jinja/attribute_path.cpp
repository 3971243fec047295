#include "core/jinja/attribute_path.hpp"

#include "core/jinja/access.hpp"
#include "core/jinja/number_text.hpp"
#include "core/jinja/numbers.hpp"
#include "core/jinja/text.hpp"

#include <algorithm>

namespace etna::jinja {

Result<std::vector<Value>> attribute_path(const Value* attribute) {
    std::vector<Value> path;
    if (attribute == nullptr || attribute->is(Type::none))
        return path;
    if (!attribute->is(Type::string)) {
        path.push_back(*attribute);
        return path;
    }
    for (const std::string& part : split(attribute->string(), ".", -1)) {
        const bool is_number = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
        const auto number = is_number ? parse_integer(part, 10) : std::nullopt;
        path.push_back(number ? integer_value(*number) : Value(part));
    }
    return path;
}

Result<Value> follow(Machine& machine, const Value& value, const std::vector<Value>& path,
                     const Value* fallback) {
    Value current = value;
    for (const Value& key : path) {
        ETNA_TRY(current, subscript(machine, current, key));
        if (fallback != nullptr && current.is(Type::undefined))
            current = *fallback;
    }
    return current;
}

} // namespace etna::jinja
