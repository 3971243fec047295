#include "core/jinja/value.hpp"

#include "core/jinja/containers.hpp"
#include "core/jinja/object.hpp"

#include <algorithm>

namespace etna::jinja {

Value::Value() : content_(std::shared_ptr<const Missing>()) {}

Value::Value(std::string_view text)
    : content_(std::shared_ptr<const Text>(std::make_shared<Text>(std::string(text)))) {}

Value Value::list(std::vector<Value> items) {
    auto list = std::make_shared<List>();
    for (const Value& item : items)
        list->depth = std::max(list->depth, item.depth() + 1);
    list->items = std::move(items);
    return Value(std::move(list));
}

Value Value::dict(std::vector<std::pair<std::string, Value>> entries) {
    auto dict = std::make_shared<Dict>();
    for (auto& [key, value] : entries) {
        dict->depth = std::max(dict->depth, value.depth() + 1);
        dict->set(key, std::move(value));
    }
    return Value(std::move(dict));
}

Type Value::type() const {
    constexpr Type types[] = {Type::undefined, Type::none,   Type::boolean, Type::integer, Type::large,
                              Type::real,      Type::string, Type::list,    Type::dict,    Type::object};
    const Type type = types[content_.index()];
    return type == Type::list && sequence()->is_tuple ? Type::tuple : type;
}

const LargeInteger& Value::large() const {
    return *std::get<std::shared_ptr<const LargeInteger>>(content_);
}

const std::string& Value::string() const {
    return std::get<std::shared_ptr<const Text>>(content_)->bytes;
}

bool Value::is_markup() const {
    const auto* text = std::get_if<std::shared_ptr<const Text>>(&content_);
    return text != nullptr && (*text)->markup;
}

const std::shared_ptr<List>& Value::sequence() const {
    return std::get<std::shared_ptr<List>>(content_);
}

const std::shared_ptr<Dict>& Value::dict() const {
    return std::get<std::shared_ptr<Dict>>(content_);
}

const std::shared_ptr<Object>& Value::object() const {
    return std::get<std::shared_ptr<Object>>(content_);
}

const Missing* Value::missing() const {
    return std::get<std::shared_ptr<const Missing>>(content_).get();
}

bool Value::same_as(const Value& other) const {
    if (content_.index() != other.content_.index())
        return false;
    return std::visit(
        [&](const auto& mine) {
            using Mine = std::decay_t<decltype(mine)>;
            const auto& theirs = std::get<Mine>(other.content_);
            if constexpr (std::is_same_v<Mine, None>) {
                return true;
            } else if constexpr (std::is_same_v<Mine, std::shared_ptr<const Text>>) {
                return mine->bytes == theirs->bytes && mine->markup == theirs->markup;
            } else if constexpr (std::is_same_v<Mine, std::shared_ptr<const LargeInteger>>) {
                return mine->decimal == theirs->decimal;
            } else {
                return mine == theirs;
            }
        },
        content_);
}

std::size_t Value::depth() const {
    if (const auto* list = std::get_if<std::shared_ptr<List>>(&content_))
        return (*list)->depth;
    if (const auto* dict = std::get_if<std::shared_ptr<Dict>>(&content_))
        return (*dict)->depth;
    if (const auto* object = std::get_if<std::shared_ptr<Object>>(&content_))
        return (*object)->depth();
    return 0;
}

std::string_view type_name(const Value& value) {
    switch (value.type()) {
    case Type::undefined:
        return "Undefined";
    case Type::none:
        return "NoneType";
    case Type::boolean:
        return "bool";
    case Type::integer:
    case Type::large:
        return "int";
    case Type::real:
        return "float";
    case Type::string:
        return value.is_markup() ? "Markup" : "str";
    case Type::list:
        return "list";
    case Type::tuple:
        return "tuple";
    case Type::dict:
        return "dict";
    case Type::object:
        return value.object()->type_name();
    }
    return "object";
}

} // namespace etna::jinja
