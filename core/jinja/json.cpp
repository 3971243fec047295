#include "core/jinja/json.hpp"

#include "core/jinja/errors.hpp"
#include "core/jinja/numbers.hpp"
#include "core/jinja/print.hpp"
#include "core/jinja/sorting.hpp"
#include "core/jinja/unicode.hpp"

#include <cmath>

#include <fmt/format.h>

namespace etna::jinja {
namespace {

class JsonWriter {
public:
    JsonWriter(Machine& machine, const JsonStyle& style) : machine_(machine), style_(style) {}

    Status write(const Value& value);
    std::string text;

private:
    Status items(const List& list);
    Status entries(const Dict& dict);
    Result<std::string> key(const Value& key);
    void string(const std::string& bytes);
    void escaped(char32_t code_point);
    void new_line();

    Machine& machine_;
    const JsonStyle& style_;
    std::size_t level_ = 0;
};

std::string number_text(double number) {
    if (std::isnan(number))
        return "NaN";
    if (std::isinf(number))
        return number < 0 ? "-Infinity" : "Infinity";
    return real_text(number);
}

void JsonWriter::escaped(char32_t code_point) {
    const std::string_view letters = "\"\\\n\r\t\f\b";
    const std::string_view names = "\"\\nrtfb";
    const std::size_t known =
        code_point < 0x80 ? letters.find(static_cast<char>(code_point)) : std::string_view::npos;
    if (known != std::string_view::npos) {
        text += {'\\', names[known]};
    } else if (code_point < 0x20 ||
               (style_.ascii_only && code_point >= 0x7F && code_point < 0x10000 && code_point != 0x7F)) {
        text += fmt::format("\\u{:04x}", static_cast<uint32_t>(code_point));
    } else if (style_.ascii_only && code_point >= 0x10000) {
        text +=
            fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + ((static_cast<uint32_t>(code_point) - 0x10000) >> 10),
                        0xDC00 + (static_cast<uint32_t>(code_point) & 0x3FF));
    } else {
        append_utf8(text, code_point);
    }
}

void JsonWriter::string(const std::string& bytes) {
    text += '"';
    for (std::size_t position = 0; position < bytes.size();) {
        const Decoded decoded = decode_at(bytes, position);
        position += decoded.bytes;
        escaped(decoded.code_point);
    }
    text += '"';
}

void JsonWriter::new_line() {
    if (!style_.indent)
        return;
    text += '\n';
    for (std::size_t i = 0; i < level_; ++i)
        text += *style_.indent;
}

Status JsonWriter::items(const List& list) {
    if (list.items.empty()) {
        text += "[]";
        return {};
    }
    text += '[';
    ++level_;
    for (std::size_t i = 0; i < list.items.size(); ++i) {
        text += i == 0 ? "" : style_.item_separator;
        new_line();
        ETNA_CHECK(write(list.items[i]));
    }
    --level_;
    new_line();
    text += ']';
    return {};
}

Result<std::string> JsonWriter::key(const Value& key) {
    switch (key.type()) {
    case Type::string:
        return key.string();
    case Type::none:
        return std::string("null");
    case Type::boolean:
        return std::string(key.boolean() ? "true" : "false");
    case Type::integer:
    case Type::large:
        return integer_text(key);
    case Type::real:
        return number_text(key.real());
    default:
        return type_error(fmt::format("keys must be str, int, float, bool or None, not {}", type_name(key)));
    }
}

Status JsonWriter::entries(const Dict& dict) {
    if (dict.entries.empty()) {
        text += "{}";
        return {};
    }
    std::vector<Value> keys;
    keys.reserve(dict.entries.size());
    for (const Dict::Entry& entry : dict.entries)
        keys.push_back(entry.key);
    std::vector<std::size_t> places(keys.size());
    for (std::size_t i = 0; i < places.size(); ++i)
        places[i] = i;
    if (style_.sort_keys) {
        ETNA_TRY(places, sorted_places(machine_, keys, SortOrder::ascending));
    }
    text += '{';
    ++level_;
    bool is_first = true;
    for (const std::size_t place : places) {
        text += std::exchange(is_first, false) ? "" : style_.item_separator;
        new_line();
        ETNA_TRY(const auto name, key(keys[place]));
        string(name);
        text += style_.key_separator;
        ETNA_CHECK(write(dict.entries[place].value));
    }
    --level_;
    new_line();
    text += '}';
    return {};
}

Status JsonWriter::write(const Value& value) {
    const Machine::Level level(machine_);
    ETNA_CHECK(level.check());
    ETNA_CHECK(machine_.spend(step_work + (style_.indent ? level_ * style_.indent->size() : 0)));
    ETNA_CHECK(machine_.room_for(text.size()));
    switch (value.type()) {
    case Type::none:
        text += "null";
        return {};
    case Type::boolean:
        text += value.boolean() ? "true" : "false";
        return {};
    case Type::integer:
    case Type::large:
        text += integer_text(value);
        return {};
    case Type::real:
        text += number_text(value.real());
        return {};
    case Type::string:
        ETNA_CHECK(machine_.reserve(value.string().size()));
        string(value.string());
        return {};
    case Type::list:
    case Type::tuple:
        return items(*value.sequence());
    case Type::dict:
        return entries(*value.dict());
    default:
        return type_error(fmt::format("Object of type {} is not JSON serializable", type_name(value)));
    }
}

} // namespace

Result<std::string> to_json(Machine& machine, const Value& value, const JsonStyle& style) {
    JsonWriter writer(machine, style);
    ETNA_CHECK(writer.write(value));
    return std::move(writer.text);
}

} // namespace etna::jinja
