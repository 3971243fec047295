#include "server/batch/line.hpp"

#include "server/base/ids.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::server::batch {
namespace {

/// A number of a record's answer and its place, in the names of chats and completions or of responses.
struct UsageMember {
    std::string_view name;
    std::string_view detail; ///< member of `name`; empty: the number is `name` itself
    uint64_t TokenUsage::* number;
};

constexpr std::array usage_members = {
    UsageMember{"prompt_tokens", "", &TokenUsage::input},
    UsageMember{"input_tokens", "", &TokenUsage::input},
    UsageMember{"completion_tokens", "", &TokenUsage::output},
    UsageMember{"output_tokens", "", &TokenUsage::output},
    UsageMember{"prompt_tokens_details", "cached_tokens", &TokenUsage::cached},
    UsageMember{"input_tokens_details", "cached_tokens", &TokenUsage::cached},
    UsageMember{"completion_tokens_details", "reasoning_tokens", &TokenUsage::reasoning},
    UsageMember{"output_tokens_details", "reasoning_tokens", &TokenUsage::reasoning},
};

/// Finds the members of RecordSummary in a line or record, without building a tree.
class RecordScan final : public Json::json_sax_t {
public:
    [[nodiscard]] const RecordSummary& found() const { return found_; }
    [[nodiscard]] bool is_object() const { return is_object_; }

    bool null() override { return true; }
    bool boolean(bool /*value*/) override { return true; }
    bool number_integer(number_integer_t /*value*/) override { return true; }
    bool number_unsigned(number_unsigned_t value) override {
        if (is_at({"error", "line"}))
            found_.line = value;
        if (depth_ < usage_depth || names_[0] != "response" || names_[1] != "body" || names_[2] != "usage")
            return true;
        for (const UsageMember& member : usage_members) {
            const bool is_here = member.detail.empty()
                                     ? is_at({"response", "body", "usage", member.name})
                                     : is_at({"response", "body", "usage", member.name, member.detail});
            if (is_here)
                found_.usage.*member.number = value;
        }
        return true;
    }
    bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return true; }
    bool string(string_t& value) override {
        if (is_object_ && is_at({"custom_id"}))
            found_.custom_id = value;
        if (is_at({"response", "body", "model"}))
            found_.model = value;
        return true;
    }
    bool binary(binary_t& /*value*/) override { return true; }
    bool start_object(std::size_t /*elements*/) override {
        is_object_ = is_object_ || depth_ == 0;
        return enter();
    }
    bool key(string_t& name) override {
        if (depth_ <= names_.size())
            names_[depth_ - 1] = name;
        return true;
    }
    bool end_object() override { return --depth_, true; }
    bool start_array(std::size_t /*elements*/) override { return enter(); }
    bool end_array() override { return --depth_, true; }
    bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                     const nlohmann::detail::exception& /*error*/) override {
        return false;
    }

private:
    static constexpr std::size_t usage_depth = 4;

    /// Elements of an array have no names.
    bool enter() {
        if (depth_ < names_.size())
            names_[depth_].clear();
        return ++depth_, true;
    }

    /// Whether the current value has these names, from the outermost object on.
    [[nodiscard]] bool is_at(std::initializer_list<std::string_view> path) const {
        return depth_ == path.size() && std::equal(path.begin(), path.end(), names_.begin());
    }

    RecordSummary found_;
    std::size_t depth_ = 0;
    bool is_object_ = false;
    std::array<std::string, usage_depth + 1> names_; ///< of the current member at each depth
};

LineError line_error(std::string code, std::string message) {
    return {.code = std::move(code), .message = std::move(message)};
}

/// Refuses members of the body that a batch does not support.
std::optional<LineError> check_body(const Json& body) {
    if (body.value("stream", Json()) == true)
        return line_error("unsupported_value", "body.stream: an answer of a batch is never streamed");
    if (body.value("background", Json()) == true) {
        return line_error("unsupported_value",
                          "body.background: an answer of a batch is complete; remove the member");
    }
    return std::nullopt;
}

std::optional<LineError> check_url(const std::string& url, std::string_view endpoint) {
    if (std::ranges::find(endpoint_urls, url) == endpoint_urls.end()) {
        return line_error("invalid_url", fmt::format("url is not one of {}", fmt::join(endpoint_urls, ", ")));
    }
    if (!endpoint.empty() && url != endpoint)
        return line_error("mismatched_url", fmt::format("url is not the batch's endpoint, {}", endpoint));
    return std::nullopt;
}

Json text_of(const Json& object, const char* name) {
    const Json value = object.value(name, Json());
    return value.is_string() ? value : Json();
}

/// {"status_code", "request_id", "body"} as JSON text.
std::string response_json(const LineAnswer& answer) {
    std::string_view body = answer.body;
    while (body.ends_with('\n'))
        body.remove_suffix(1);
    const bool is_one_line = !body.empty() && body.find_first_of("\r\n") == std::string_view::npos;
    const std::string rewritten = is_one_line ? std::string() : dump_json(parse_json(body));
    return fmt::format(R"({{"status_code":{},"request_id":{},"body":{}}})", answer.status,
                       dump_json(answer.request_id), is_one_line ? body : std::string_view(rewritten));
}

std::string record(const std::optional<std::string>& custom_id, std::string_view response,
                   std::string_view error) {
    return fmt::format("{{\"id\":{},\"custom_id\":{},\"response\":{},\"error\":{}}}\n",
                       dump_json(new_id("batch_req_")), custom_id ? dump_json(*custom_id) : "null", response,
                       error);
}

} // namespace

TokenUsage& TokenUsage::operator+=(const TokenUsage& more) {
    input += more.input;
    cached += more.cached;
    output += more.output;
    reasoning += more.reasoning;
    return *this;
}

std::optional<std::string> custom_id_of(std::string_view text) {
    RecordScan scan;
    return scan_json(text, scan) && scan.is_object() ? scan.found().custom_id : std::nullopt;
}

Result<LineRequest, LineError> read_line(const InputLine& line, std::string_view endpoint) {
    if (line.is_too_long)
        return line_error("line_too_long", "the line is over the limit of bytes (--line-max)");
    auto parsed = parse_body(line.text); // under the limits of a request's body
    if (!parsed) {
        return line_error("invalid_json_line",
                          fmt::format("the line is not a JSON object: {}", parsed.error().message));
    }
    Json& json = *parsed;
    const Json custom_id = text_of(json, "custom_id");
    if (custom_id.is_null() || custom_id.get_ref<const std::string&>().empty())
        return line_error("missing_required_parameter", "custom_id: missing, or not a string");
    if (custom_id.get_ref<const std::string&>().size() > custom_id_bytes_max) {
        return line_error("string_above_max_length",
                          fmt::format("custom_id: longer than {} bytes", custom_id_bytes_max));
    }
    if (text_of(json, "method") != "POST")
        return line_error("invalid_method", "method: must be \"POST\"");
    const Json url = text_of(json, "url");
    if (url.is_null())
        return line_error("missing_required_parameter", "url: missing, or not a string");
    if (auto problem = check_url(url, endpoint))
        return *problem;
    const auto body = json.find("body");
    if (body == json.end() || !body->is_object())
        return line_error("missing_required_parameter", "body: missing, or not an object");
    if (auto problem = check_body(*body))
        return *problem;
    return LineRequest{.number = line.number, .custom_id = custom_id, .url = url, .body = std::move(*body)};
}

std::string result_record(const std::string& custom_id, const LineAnswer& answer) {
    return record(custom_id, response_json(answer), "null");
}

std::string error_record(uint64_t number, const std::optional<std::string>& custom_id, const LineError& error,
                         const LineAnswer* answer) {
    const Json json = {{"code", error.code}, {"message", error.message}, {"line", number}};
    return record(custom_id, answer == nullptr ? "null" : response_json(*answer), dump_json(json));
}

LineError error_of_answer(const LineAnswer& answer) {
    const Json body = parse_json(answer.body);
    const Json error = body.is_object() ? body.value("error", Json()) : Json();
    if (!error.is_object())
        return line_error("server_error", fmt::format("the endpoint answered with status {}", answer.status));
    const Json code = text_of(error, "code");
    const Json type = text_of(error, "type");
    const Json message = text_of(error, "message");
    return line_error(code.is_string()   ? code.get<std::string>()
                      : type.is_string() ? type.get<std::string>()
                                         : "server_error",
                      message.is_string() ? message.get<std::string>() : "");
}

std::optional<RecordSummary> read_record(std::string_view text) {
    RecordScan scan;
    if (!scan_json(text, scan) || !scan.is_object())
        return std::nullopt;
    const bool is_key = scan.found().custom_id || scan.found().line;
    return is_key ? std::optional(scan.found()) : std::nullopt;
}

} // namespace etna::server::batch
