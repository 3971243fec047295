#include "server/base/json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace etna::server {
namespace {

/// The library holds two copies of the string being parsed, which may be nearly all of the text: its value,
/// and its raw characters for error messages.
constexpr std::size_t string_copies = 2;

/// JSON Schema keywords whose numbers constrain answers; the values of the first two may be nested.
constexpr std::array<std::string_view, 7> number_keywords = {
    "const", "enum", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"};
constexpr std::size_t nesting_keywords = 2;

/// Decimal digits that uniquely identify a double.
constexpr std::size_t double_digits = 17;

/// Whether a double preserves all significant digits of the number.
bool fits_double(std::string_view number) {
    std::size_t digits = 0;
    std::size_t zeros = 0; // trailing zeros after the last significant digit
    for (const char letter : number.substr(0, number.find_first_of("eE"))) {
        if (letter < '0' || letter > '9' || (letter == '0' && digits == 0))
            continue;
        zeros = letter == '0' ? zeros + 1 : 0;
        ++digits;
    }
    return digits - zeros <= double_digits;
}

/// A SAX pass that checks a body's JSON against the limits before parsing: with the parser's own callback,
/// the library would rescan a list after each of its objects. Refuses numbers that a double would round in
/// the values of `number_keywords`, wherever they occur: a schema may be anywhere in a request.
class LimitChecker : public Json::json_sax_t {
public:
    /// Why the text is refused; empty if it is not, or is not JSON.
    [[nodiscard]] const std::string& refusal() const { return refusal_; }
    [[nodiscard]] bool has_too_many() const { return values_ > json_values_max; }

    /// Position of the first syntax error, counted from 1; empty if there is none, or the text was refused
    /// before.
    [[nodiscard]] std::optional<std::size_t> error_byte() const { return error_byte_; }

    /// The approximate memory of the parsed text.
    [[nodiscard]] std::size_t bytes_parsed(std::size_t text_bytes) const {
        return text_bytes + (values_ + names_) * json_value_bytes;
    }

    bool null() override { return count(); }
    bool boolean(bool /*value*/) override { return count(); }
    bool number_integer(number_integer_t /*value*/) override { return count(); }
    bool number_unsigned(number_unsigned_t /*value*/) override { return count(); }
    bool number_float(number_float_t /*value*/, const string_t& text) override {
        constexpr std::size_t digits_shown = 40;
        if (!keyword_.empty() && !fits_double(text)) {
            refusal_ =
                fmt::format("the body's JSON has a number with more than {} digits, in `{}`: {}; round it",
                            double_digits, keyword_, text.substr(0, digits_shown));
        }
        return count();
    }
    bool string(string_t& /*value*/) override { return count(); }
    bool binary(binary_t& /*value*/) override { return count(); }
    bool start_object(std::size_t /*members*/) override { return open(); }
    bool end_object() override { return close(); }
    bool start_array(std::size_t /*items*/) override { return open(); }
    bool end_array() override { return close(); }
    bool parse_error(std::size_t byte, const std::string& /*token*/, const Json::exception& error) override {
        constexpr int number_out_of_range = 406; // error id in the library's documentation
        if (error.id == number_out_of_range) {
            refusal_ = "the body's JSON has a number that is too large";
        } else {
            error_byte_ = byte;
        }
        return false;
    }
    bool key(string_t& name) override {
        ++names_;
        if (++members_[depth_] > json_members_max)
            refusal_ = fmt::format("the body's JSON has an object of more than {} members", json_members_max);
        if (keyword_depth_ == 0) {
            const auto* const found = std::find(number_keywords.begin(), number_keywords.end(), name);
            keyword_ = found == number_keywords.end() ? std::string_view() : *found;
        }
        return refusal_.empty();
    }

private:
    bool count() {
        if (++values_ > json_values_max)
            refusal_ = fmt::format("the body's JSON has more than {} values", json_values_max);
        return refusal_.empty();
    }
    bool open() {
        if (!count())
            return false;
        if (depth_ == json_depth_max) {
            refusal_ = fmt::format("the body's JSON is nested more than {} deep", json_depth_max);
            return false;
        }
        if (keyword_depth_ == 0) {
            const auto* const nesting_end = number_keywords.begin() + nesting_keywords;
            if (std::find(number_keywords.begin(), nesting_end, keyword_) != nesting_end) {
                keyword_depth_ = depth_;
            } else {
                keyword_ = {};
            }
        }
        ++depth_;
        members_[depth_] = 0;
        return true;
    }
    bool close() {
        --depth_;
        if (keyword_depth_ == 0 || depth_ <= keyword_depth_) {
            keyword_depth_ = 0;
            keyword_ = {};
        }
        return true;
    }

    std::array<std::size_t, json_depth_max + 1> members_{}; ///< per open object, by depth
    std::size_t depth_ = 0;
    std::size_t values_ = 0;
    std::size_t names_ = 0;         ///< number of member names
    std::string_view keyword_;      ///< the number keyword whose value is read; empty: none
    std::size_t keyword_depth_ = 0; ///< the depth of the keyword if its value is nested; 0: it is not
    std::string refusal_;
    std::optional<std::size_t> error_byte_;
};

ApiError refused(std::string message) {
    return {.message = std::move(message), .code = "invalid_json"};
}

ApiError invalid_at(std::size_t byte) {
    return refused(fmt::format("request body is not valid JSON (byte {})", byte));
}

} // namespace

Json number_json(float value) {
    const std::string digits = fmt::format("{}", value);
    double number = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return number;
}

std::size_t json_memory_bytes(const Json& json) {
    std::size_t bytes = json_value_bytes;
    if (json.is_string())
        bytes += json.get_ref<const std::string&>().size();
    if (!json.is_structured())
        return bytes;
    for (auto value = json.begin(); value != json.end(); ++value)
        bytes += (json.is_object() ? json_value_bytes + value.key().size() : 0) + json_memory_bytes(*value);
    return bytes;
}

ApiResult<Json> parse_body(std::string_view body, MemoryReservation* memory) {
    // The library treats a zero byte as the end.
    if (const std::size_t zero = body.find('\0'); zero != std::string_view::npos)
        return invalid_at(zero + 1);
    const auto reserve = [memory](std::size_t bytes) { return memory == nullptr || memory->reserve(bytes); };
    const std::size_t held = memory == nullptr ? 0 : memory->bytes();
    if (!reserve(string_copies * body.size()))
        return no_memory();
    const std::size_t for_copies = (memory == nullptr ? 0 : memory->bytes()) - held;
    LimitChecker checker;
    scan_json(body, checker);
    if (!checker.refusal().empty()) {
        ApiError error = refused(checker.refusal());
        error.status = checker.has_too_many() ? 413 : 400;
        return error;
    }
    if (checker.error_byte())
        return invalid_at(*checker.error_byte());
    if (!reserve(checker.bytes_parsed(body.size())))
        return no_memory();
    Json json = parse_json(body);
    if (memory != nullptr)
        memory->shrink_to(memory->bytes() - for_copies);
    if (!json.is_object())
        return refused("request body must be a JSON object");
    return json;
}

} // namespace etna::server
