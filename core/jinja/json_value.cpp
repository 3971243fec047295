#include "core/jinja/json_value.hpp"

#include "core/jinja/json.hpp"
#include "core/jinja/numbers.hpp"

#include <charconv>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace etna::jinja {
namespace {

Json json_of_digits(const std::string& digits) {
    uint64_t number = 0;
    const char* const end = digits.data() + digits.size();
    if (const auto read = std::from_chars(digits.data(), end, number);
        read.ec == std::errc() && read.ptr == end)
        return number;
    return std::strtod(digits.c_str(), nullptr);
}

} // namespace

Value value_of_json(const Json& json) {
    switch (json.type()) {
    case Json::value_t::boolean:
        return json.get<bool>();
    case Json::value_t::number_integer:
        return json.get<int64_t>();
    case Json::value_t::number_unsigned:
        return integer_value(std::to_string(json.get<uint64_t>()));
    case Json::value_t::number_float:
        return json.get<double>();
    case Json::value_t::string:
        return json.get_ref<const std::string&>();
    case Json::value_t::array: {
        std::vector<Value> items;
        items.reserve(json.size());
        for (const Json& item : json)
            items.push_back(value_of_json(item));
        return Value::list(std::move(items));
    }
    case Json::value_t::object: {
        std::vector<std::pair<std::string, Value>> entries;
        entries.reserve(json.size());
        for (const auto& [name, member] : json.items())
            entries.emplace_back(name, value_of_json(member));
        return Value::dict(std::move(entries));
    }
    default:
        return None{};
    }
}

Json json_of_value(const Value& value) {
    switch (value.type()) {
    case Type::boolean:
        return value.boolean();
    case Type::integer:
        return value.integer();
    case Type::large:
        return json_of_digits(value.string());
    case Type::real:
        return value.real();
    case Type::string:
        return value.string();
    case Type::list:
    case Type::tuple: {
        Json list = Json::array();
        for (const Value& item : value.sequence()->items)
            list.push_back(json_of_value(item));
        return list;
    }
    case Type::dict: {
        Json object = Json::object();
        for (const Dict::Entry& entry : value.dict()->entries)
            object.emplace(entry.key.string(), json_of_value(entry.value));
        return object;
    }
    default:
        return nullptr;
    }
}

std::string compact_json(const Value& value) {
    return dump_json(json_of_value(value));
}

} // namespace etna::jinja
