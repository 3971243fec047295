#include "core/grammar/schema/json_value.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace etna::grammar {
namespace {

class Builder final : public nlohmann::json_sax<nlohmann::json> {
public:
    bool null() override { return add({}); }
    bool boolean(bool value) override { return add({.kind = JsonValue::Kind::boolean, .truth = value}); }
    bool number_integer(number_integer_t value) override { return number(std::to_string(value)); }
    bool number_unsigned(number_unsigned_t value) override { return number(std::to_string(value)); }
    bool number_float(number_float_t /*value*/, const string_t& text) override { return number(text); }
    bool string(string_t& value) override {
        return add({.kind = JsonValue::Kind::string, .text = std::move(value)});
    }
    bool binary(binary_t& /*value*/) override { return fail(ErrorKind::invalid_argument, "binary data"); }
    bool start_object(std::size_t /*size*/) override { return open(JsonValue::Kind::object); }
    bool key(string_t& name) override {
        Level& level = levels_.back();
        if (!level.names.insert(name).second)
            return fail(ErrorKind::invalid_argument,
                        fmt::format("the name \"{}\" twice in one object", name));
        level.value.members.push_back({.name = std::move(name), .value = {}});
        return true;
    }
    bool end_object() override { return close(); }
    bool start_array(std::size_t /*size*/) override { return open(JsonValue::Kind::array); }
    bool end_array() override { return close(); }
    bool parse_error(std::size_t position, const std::string& /*token*/,
                     const nlohmann::detail::exception& error) override {
        constexpr int number_out_of_range = 406; // error id in nlohmann's documentation
        return fail(ErrorKind::invalid_argument,
                    fmt::format("{} at byte {}",
                                error.id == number_out_of_range ? "a number that is too large" : "a mistake",
                                position));
    }

    JsonValue result;
    Status status;

private:
    struct Level {
        JsonValue value;
        std::unordered_set<std::string> names = {};
    };

    bool fail(ErrorKind kind, std::string_view what) {
        if (status.has_value())
            status = Error{kind, fmt::format("the JSON text has {}", what)};
        return false;
    }
    bool number(std::string text) { return add({.kind = JsonValue::Kind::number, .text = std::move(text)}); }
    bool open(JsonValue::Kind kind) {
        if (levels_.size() == json_nesting_max) {
            return fail(ErrorKind::unsupported,
                        fmt::format("more than {} levels of nesting", json_nesting_max));
        }
        levels_.push_back({.value = {.kind = kind, .id = next_id_}});
        return count();
    }
    bool close() {
        JsonValue value = std::move(levels_.back().value);
        levels_.pop_back();
        note_names(value);
        put(std::move(value));
        return true;
    }
    static void note_names(JsonValue& value) {
        constexpr std::size_t few = 16;
        if (value.members.size() <= few)
            return;
        value.by_name.resize(value.members.size());
        std::iota(value.by_name.begin(), value.by_name.end(), 0U);
        std::sort(value.by_name.begin(), value.by_name.end(),
                  [&](uint32_t a, uint32_t b) { return value.members[a].name < value.members[b].name; });
    }
    bool add(JsonValue value) {
        value.id = next_id_;
        put(std::move(value));
        return count();
    }
    bool count() {
        return ++next_id_ < json_values_max ||
               fail(ErrorKind::unsupported, fmt::format("more than {} values", json_values_max));
    }
    void put(JsonValue value) {
        if (levels_.empty()) {
            result = std::move(value);
        } else if (JsonValue& parent = levels_.back().value; parent.is_object()) {
            parent.members.back().value = std::move(value);
        } else {
            parent.items.push_back(std::move(value));
        }
    }

    std::vector<Level> levels_;
    uint32_t next_id_ = 0;
};

} // namespace

Result<JsonValue> parse_json(std::string_view text) {
    Builder builder;
    nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
    ETNA_CHECK(builder.status);
    return std::move(builder.result);
}

} // namespace etna::grammar
