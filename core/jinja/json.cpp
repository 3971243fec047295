#include "core/jinja/json.hpp"

#include "core/base/json.hpp"
#include "core/jinja/builtins.hpp"
#include "core/jinja/numbers.hpp"
#include "core/jinja/print.hpp"
#include "core/jinja/text.hpp"

#include <cmath>
#include <numeric>

#include <fmt/format.h>

namespace etna::jinja {
namespace {

class JsonWriter {
public:
    JsonWriter(Machine& machine, const JsonStyle& style) : machine_(machine), style_(style) {}

    Status write(const Value& value);
    std::string text;

private:
    template <class WriteItem>
    Status container(std::string_view brackets, std::size_t count, const WriteItem& write_item);
    Status entries(const Dict& dict);
    static std::optional<std::string> scalar(const Value& value);
    void string(const std::string& bytes);
    void escaped(char32_t code_point);
    void new_line();

    Machine& machine_;
    const JsonStyle& style_;
    std::size_t level_ = 0;
};

std::string json_number(double number) {
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

/// Writes a list or object of `count` items; write_item(i) writes one.
template <class WriteItem>
Status JsonWriter::container(std::string_view brackets, std::size_t count, const WriteItem& write_item) {
    text += brackets[0];
    ++level_;
    for (std::size_t i = 0; i < count; ++i) {
        text += i == 0 ? "" : style_.item_separator;
        new_line();
        ETNA_CHECK(write_item(i));
    }
    --level_;
    if (count > 0)
        new_line();
    text += brackets[1];
    return {};
}

/// Returns the text of null, a boolean or a number; nothing for other types.
std::optional<std::string> JsonWriter::scalar(const Value& value) {
    switch (value.type()) {
    case Type::none:
        return "null";
    case Type::boolean:
        return value.boolean() ? "true" : "false";
    case Type::integer:
    case Type::large:
        return integer_text(value);
    case Type::real:
        return json_number(value.real());
    default:
        return {};
    }
}

Status JsonWriter::entries(const Dict& dict) {
    std::vector<Value> keys;
    keys.reserve(dict.entries.size());
    for (const Dict::Entry& entry : dict.entries)
        keys.push_back(entry.key);
    std::vector<std::size_t> order(keys.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (style_.sort_keys) {
        ETNA_TRY(order, sorted_order(machine_, keys, Comparison::less));
    }
    return container("{}", keys.size(), [&](std::size_t i) -> Status {
        const Value& key = keys[order[i]];
        const auto name = key.is(Type::string) ? key.string() : scalar(key);
        if (!name)
            return type_error("keys must be str, int, float, bool or None, not {}", type_name(key));
        string(*name);
        text += style_.key_separator;
        return write(dict.entries[order[i]].value);
    });
}

Status JsonWriter::write(const Value& value) {
    const DepthGuard guard(machine_.levels());
    ETNA_CHECK(machine_.check_recursion());
    ETNA_CHECK(machine_.spend(step_work + (style_.indent ? level_ * style_.indent->size() : 0)));
    ETNA_CHECK(machine_.room_for(text.size()));
    if (const auto plain = scalar(value)) {
        text += *plain;
        return {};
    }
    if (value.is(Type::string)) {
        ETNA_CHECK(machine_.reserve(value.string().size()));
        string(value.string());
        return {};
    }
    if (value.is(Type::dict))
        return entries(*value.dict());
    if (!value.is_sequence())
        return type_error("Object of type {} is not JSON serializable", type_name(value));
    const auto& items = value.sequence()->items;
    return container("[]", items.size(), [&](std::size_t i) { return write(items[i]); });
}

/// Builds the value during parsing, to bound nesting and to preserve key order.
class JsonReader final : public Json::json_sax_t {
public:
    explicit JsonReader(std::size_t nesting_max) : nesting_max_(nesting_max) {}

    bool null() override { return add(None{}); }
    bool boolean(bool value) override { return add(value); }
    bool number_integer(number_integer_t value) override { return add(static_cast<int64_t>(value)); }
    bool number_unsigned(number_unsigned_t value) override {
        return add(integer_value(std::to_string(value)));
    }
    bool number_float(number_float_t value, const string_t& text) override {
        const bool is_real = text.find_first_of(".eE") != std::string::npos;
        return add(is_real ? Value(value) : integer_value(text));
    }
    bool string(string_t& value) override { return add(Value(value)); }
    bool binary(binary_t& /*value*/) override { return fail("binary data"); }
    bool start_object(std::size_t /*size*/) override { return open(true); }
    bool key(string_t& value) override {
        levels_.back().key = value;
        return true;
    }
    bool end_object() override { return close(); }
    bool start_array(std::size_t /*size*/) override { return open(false); }
    bool end_array() override { return close(); }
    bool parse_error(std::size_t position, const std::string& /*token*/,
                     const Json::exception& error) override {
        constexpr int number_out_of_range = 406; // error id in nlohmann::json's documentation
        return fail(fmt::format(
            "{} at byte {}", error.id == number_out_of_range ? "a number too large" : "invalid", position));
    }

    Value result;
    std::string failure;

private:
    struct Level {
        bool is_object = false;
        std::string key = {};
        std::vector<Value> items = {};
        std::vector<std::pair<std::string, Value>> entries = {};
    };

    bool fail(std::string message) {
        if (failure.empty())
            failure = std::move(message);
        return false;
    }
    bool open(bool is_object) {
        if (levels_.size() == nesting_max_)
            return fail(fmt::format("more than {} levels of nesting", nesting_max_));
        levels_.push_back({.is_object = is_object});
        return true;
    }
    bool close() {
        Level level = std::move(levels_.back());
        levels_.pop_back();
        return add(level.is_object ? Value::dict(std::move(level.entries))
                                   : Value::list(std::move(level.items)));
    }
    bool add(Value value) {
        if (levels_.empty()) {
            result = std::move(value);
        } else if (levels_.back().is_object) {
            levels_.back().entries.emplace_back(std::move(levels_.back().key), std::move(value));
        } else {
            levels_.back().items.push_back(std::move(value));
        }
        return true;
    }

    std::size_t nesting_max_;
    std::vector<Level> levels_;
};

} // namespace

Result<std::string> to_json(Machine& machine, const Value& value, const JsonStyle& style) {
    JsonWriter writer(machine, style);
    ETNA_CHECK(writer.write(value));
    return std::move(writer.text);
}

Result<Value> from_json(std::string_view text, std::size_t nesting_max) {
    JsonReader reader(nesting_max);
    if (!scan_json(text, reader) || !reader.failure.empty())
        return Error{.kind = ErrorKind::invalid_argument, .message = "JSON: " + reader.failure};
    return std::move(reader.result);
}

} // namespace etna::jinja
