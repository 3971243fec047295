#include "server/json.hpp"

#include "server/exact_numbers.hpp"

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace etna::server {
namespace {

/// The library holds two copies of the string being parsed, which may be nearly all of the text: its value,
/// and its raw characters for error messages.
constexpr std::size_t string_copies = 2;

/// A SAX pass that checks a body's JSON against the limits before parsing: with the parser's own callback,
/// the library would rescan a list after each of its objects.
class Guard : public Json::json_sax_t {
public:
    /// Why the text is refused; empty if it is not, or is not JSON.
    [[nodiscard]] const std::string& refusal() const {
        return refusal_.empty() ? numbers_.refusal() : refusal_;
    }
    [[nodiscard]] bool has_too_many() const { return values_ > json_values_max; }

    /// Where the text stops being JSON, counted from 1; empty if it does not, or was refused before.
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
        numbers_.number(text);
        return count();
    }
    bool string(string_t& value) override {
        numbers_.string(value);
        return count();
    }
    bool binary(binary_t& /*value*/) override { return count(); }
    bool start_object(std::size_t /*members*/) override {
        if (!open())
            return false;
        numbers_.open_object();
        return true;
    }
    bool end_object() override { return close(); }
    bool start_array(std::size_t /*items*/) override {
        if (!open())
            return false;
        numbers_.open_list();
        return true;
    }
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
        numbers_.key(name);
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
        ++depth_;
        members_[depth_] = 0;
        return true;
    }
    bool close() {
        --depth_;
        numbers_.close();
        return true;
    }

    std::array<std::size_t, json_depth_max + 1> members_{}; ///< per open object, by depth
    ExactNumbers numbers_;
    std::size_t depth_ = 0;
    std::size_t values_ = 0;
    std::size_t names_ = 0; ///< number of member names
    std::string refusal_;
    std::optional<std::size_t> error_byte_;
};

ApiError refused(std::string message) {
    return {.status = 400, .message = std::move(message), .code = "invalid_json"};
}

ApiError mistake_at(std::size_t byte) {
    return refused(fmt::format("request body is not valid JSON (byte {})", byte));
}

/// `share`: the request's; null: memory is not counted.
std::variant<Json, ApiError> parse(std::string_view body, MemoryShare* share) {
    // The library treats a zero byte as the end.
    if (const std::size_t zero = body.find('\0'); zero != std::string_view::npos)
        return mistake_at(zero + 1);
    const auto claim = [share](std::size_t bytes) { return share == nullptr || share->claim(bytes); };
    const std::size_t held = share == nullptr ? 0 : share->bytes();
    if (!claim(string_copies * body.size()))
        return no_memory();
    const std::size_t for_copies = (share == nullptr ? 0 : share->bytes()) - held;
    Guard guard;
    scan_json(body, guard);
    if (!guard.refusal().empty()) {
        ApiError error = refused(guard.refusal());
        error.status = guard.has_too_many() ? 413 : 400;
        return error;
    }
    if (guard.error_byte())
        return mistake_at(*guard.error_byte());
    if (!claim(guard.bytes_parsed(body.size())))
        return no_memory();
    Json json = parse_json(body);
    if (share != nullptr)
        share->shrink_to(share->bytes() - for_copies);
    if (!json.is_object())
        return refused("request body must be a JSON object");
    return json;
}

} // namespace

std::variant<Json, ApiError> parse_body(const HttpRequest& request) {
    return parse(request.body, request.memory.get());
}

std::variant<Json, ApiError> parse_body(std::string_view body) {
    return parse(body, nullptr);
}

std::string text_of(const Json& json) {
    return dump_json(json);
}

} // namespace etna::server
