#include "core/jinja/from_json.hpp"

#include "core/jinja/numbers.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace etna::jinja {
namespace {

/// Builds the value during parsing, to bound nesting and to preserve key order.
class Builder final : public nlohmann::json_sax<nlohmann::json> {
public:
    explicit Builder(std::size_t nesting_max) : nesting_max_(nesting_max) {}

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
                     const nlohmann::detail::exception& error) override {
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

Result<Value> from_json(std::string_view text, std::size_t nesting_max) {
    Builder builder(nesting_max);
    const bool is_whole = nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
    if (!is_whole || !builder.failure.empty())
        return Error{.kind = ErrorKind::invalid_argument, .message = "JSON: " + builder.failure};
    return std::move(builder.result);
}

} // namespace etna::jinja
