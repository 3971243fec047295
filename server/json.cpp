#include "server/json.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace etna::server {
namespace {

/// Keywords of JSON Schema whose numbers say which answers are allowed: no digit of them may be lost.
constexpr std::array<std::string_view, 7> exact_keywords = {
    "const", "enum", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"};

/// Their values are objects whose names are no keywords, but those of members or schemas.
constexpr std::array<std::string_view, 5> naming_keywords = {"properties", "patternProperties", "$defs",
                                                             "definitions", "dependentSchemas"};

template <class Names>
bool is_among(const Names& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

/// Digits that any double can be told from all others by.
constexpr std::size_t double_digits = 17;

/// Whether a double keeps all digits of the number, from the first to the last that is not zero.
bool is_kept(std::string_view text) {
    std::size_t digits = 0;
    std::size_t zeros = 0; // behind the last digit that counts
    for (const char letter : text.substr(0, text.find_first_of("eE"))) {
        if (letter < '0' || letter > '9' || (letter == '0' && digits == 0))
            continue;
        zeros = letter == '0' ? zeros + 1 : 0;
        ++digits;
    }
    return digits - zeros <= double_digits;
}

/// What a body's JSON has to keep to. It reads ahead of the parser: asked by the parser's own callback, the
/// library would look through a list again after each of its objects.
class Guard : public Json::json_sax_t {
public:
    /// Why the text is refused; empty where it is not, or is no JSON.
    [[nodiscard]] const std::string& refusal() const { return refusal_; }
    [[nodiscard]] bool has_too_many() const { return values_ > json_values_max; }

    /// What the text takes once it is parsed, about.
    [[nodiscard]] std::size_t bytes_parsed(std::size_t text_bytes) const {
        return text_bytes + (values_ + names_) * json_value_bytes;
    }

    bool null() override { return count(); }
    bool boolean(bool /*value*/) override { return count(); }
    bool number_integer(number_integer_t /*value*/) override { return count(); }
    bool number_unsigned(number_unsigned_t /*value*/) override { return count(); }
    bool number_float(number_float_t /*value*/, const string_t& text) override {
        if (is_exact_[depth_] && !is_kept(text)) {
            refusal_ = fmt::format("the body's JSON has a number of more digits than are kept, in `{}`: {}; "
                                   "round it to {} digits",
                                   exact_name_, text.substr(0, digits_shown), double_digits);
        }
        return refusal_.empty() && count();
    }
    bool string(string_t& /*value*/) override { return count(); }
    bool binary(binary_t& /*value*/) override { return count(); }
    bool start_object(std::size_t /*members*/) override { return open(); }
    bool end_object() override { return close(); }
    bool start_array(std::size_t /*items*/) override { return open(); }
    bool end_array() override { return close(); }
    bool parse_error(std::size_t /*place*/, const std::string& /*token*/,
                     const Json::exception& /*error*/) override {
        return false;
    }
    bool key(string_t& name) override {
        ++names_;
        if (++members_[depth_] > json_members_max)
            refusal_ = fmt::format("the body's JSON has an object of more than {} members", json_members_max);
        const bool is_keyword = !has_names_[depth_];
        const bool is_exact_itself = is_keyword && is_among(exact_keywords, name);
        is_exact_[depth_] = is_within_exact_[depth_] || is_exact_itself;
        is_naming_ = is_keyword && is_among(naming_keywords, name);
        if (is_exact_itself && !is_within_exact_[depth_])
            exact_name_ = name;
        return refusal_.empty();
    }

private:
    static constexpr std::size_t digits_shown = 40;

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
        const bool is_exact = is_exact_[depth_];
        ++depth_;
        members_[depth_] = 0;
        is_within_exact_[depth_] = is_exact_[depth_] = is_exact;
        has_names_[depth_] = std::exchange(is_naming_, false);
        return true;
    }
    bool close() { return --depth_, true; }

    std::array<std::size_t, json_depth_max + 1> members_{};  ///< of what is open at each depth
    std::array<bool, json_depth_max + 1> is_within_exact_{}; ///< whether all that is open there is exact
    std::array<bool, json_depth_max + 1> is_exact_{};        ///< the same of its next value
    std::array<bool, json_depth_max + 1> has_names_{};       ///< whether its members are no keywords
    bool is_naming_ = false;                                 ///< the next value's are not, if it has any
    std::string exact_name_;                                 ///< the last of exact_keywords
    std::size_t depth_ = 0;
    std::size_t values_ = 0;
    std::size_t names_ = 0; ///< of members
    std::string refusal_;
};

ApiError refused(std::string message) {
    return {.status = 400, .message = std::move(message)};
}

ApiError mistake_at(std::size_t byte) {
    return refused(fmt::format("the body is no JSON: there is a mistake at byte {}", byte));
}

std::variant<Json, ApiError> parse(std::string_view body,
                                   const std::function<bool(std::size_t bytes)>& claim) {
    // The library takes a zero byte for the end.
    if (const std::size_t zero = body.find('\0'); zero != std::string_view::npos)
        return mistake_at(zero + 1);
    try {
        Guard guard;
        Json::sax_parse(body.begin(), body.end(), &guard);
        if (!guard.refusal().empty()) {
            ApiError error = refused(guard.refusal());
            error.status = guard.has_too_many() ? 413 : 400;
            return error;
        }
        if (!claim(guard.bytes_parsed(body.size()))) {
            return ApiError{.status = 503,
                            .message = "the requests at work hold all the memory there is for requests",
                            .type = "server_error",
                            .code = "overloaded",
                            .retry_after_s = 1};
        }
        Json json = Json::parse(body.begin(), body.end());
        if (!json.is_object())
            return refused("the body is no JSON object");
        return json;
    } catch (const Json::parse_error& error) {
        return mistake_at(error.byte);
    } catch (const Json::exception&) { // a number beyond the range of double
        return refused("the body's JSON has a number that is too large");
    }
}

} // namespace

std::variant<Json, ApiError> parse_body(const HttpRequest& request) {
    return parse(request.body, request.claim_memory);
}

std::variant<Json, ApiError> parse_body(std::string_view body) {
    return parse(body, [](std::size_t) { return true; });
}

std::string text_of(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

} // namespace etna::server
