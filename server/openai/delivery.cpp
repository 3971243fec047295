#include "core/base/utf8.hpp"
#include "core/text/tokenizer.hpp"
#include "server/openai/generation_call.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::server::openai {
namespace {

void read_annotation(Fields& fields, const Json& name, Delivery& delivery) {
    if (name == "formatted_prompt") {
        delivery.tells_prompt = true;
    } else if (name == "token_ids") {
        delivery.tells_tokens = true;
    } else if (name == "timing") {
        delivery.tells_timing = true;
    } else if (name.is_string()) {
        fields.adopt_unknown({"nvext.annotations." + name.get<std::string>()});
    } else {
        fields.refuse("nvext.annotations", "must be a list of strings", "invalid_type");
    }
}

void read_stream_options(Fields& fields, Delivery& delivery) {
    const Json* object = fields.object("stream_options");
    if (object == nullptr)
        return;
    Fields options(*object, "stream_options");
    delivery.includes_usage = options.flag("include_usage").value_or(false);
    const bool counts_each = options.flag("continuous_usage_stats").value_or(false); // vLLM's
    delivery.counts_each_chunk = delivery.includes_usage && counts_each;
    options.accept({"include_obfuscation"});
    constexpr const char* problem = "is for `stream`: true only";
    if (!delivery.is_streamed && options.any("include_usage") != nullptr) {
        options.refuse("include_usage", problem);
    } else if (!delivery.is_streamed) {
        fields.refuse("stream_options", problem);
    }
    if (options.problem())
        fields.adopt(*options.problem());
    fields.adopt_unknown(options.unknown());
}

} // namespace

void note_without_effect(Fields& fields, bool is_kept) {
    if (is_kept) {
        fields.accept({"store", "user", "metadata"}); // all are returned with the stored object
    } else {
        fields.note({"store", "user", "metadata"});
    }
    fields.note({"safety_identifier", "prompt_cache_key", "service_tier"});
}

void read_ignored(const Fields& fields, Delivery& delivery) {
    delivery.ignored = fields.unknown();
    delivery.noted = fields.without_effect();
}

bool is_strict(const HttpRequest& request) {
    return request.header("etna-strict") == "1";
}

std::optional<ApiError> refuse_unknown(bool is_strict, const Delivery& delivery) {
    if (!is_strict || delivery.ignored.empty())
        return std::nullopt;
    return ApiError{.status = 400,
                    .message = fmt::format("unknown: {}", fmt::join(delivery.ignored, ", ")),
                    .param = delivery.ignored.front(),
                    .code = "unknown_parameter"};
}

void tell_ignored(const Delivery& delivery, HttpReply& reply) {
    std::vector<std::string> names = delivery.ignored;
    names.insert(names.end(), delivery.noted.begin(), delivery.noted.end());
    if (!names.empty())
        reply.headers["etna-ignored"] = header_value(fmt::format("{}", fmt::join(names, ", ")));
}

std::vector<std::string> told_stops(const generate::Request& request, const text::Tokenizer& tokenizer) {
    std::vector<std::string> told;
    if (request.matched_stop == generate::MatchedStop::excluded)
        return told;
    for (const TokenId token : request.stop_tokens) {
        const bool is_hidden = tokenizer.type(token) == text::TokenType::control &&
                               request.control_tokens == text::ControlTokens::hidden;
        std::string text(tokenizer.bytes(token));
        const bool is_string = // reported with the text
            std::find(request.stop.begin(), request.stop.end(), text) != request.stop.end();
        if (!is_hidden && !is_string)
            told.push_back(std::move(text));
    }
    return told;
}

std::string told_stop(const std::vector<std::string>& told, const generate::Finished& finished) {
    const bool is_told = finished.finish_reason == generate::FinishReason::stop &&
                         std::find(told.begin(), told.end(), finished.matched) != told.end();
    return is_told ? repaired_utf8(finished.matched) : std::string();
}

void lift(Json& answer, const char* member) {
    std::optional<Json> lifted; // inserted last: adding a member may relocate the choices
    for (Json& choice : answer["choices"]) {
        const auto found = choice.find(member);
        if (found == choice.end())
            continue;
        lifted = std::move(*found);
        choice.erase(found);
    }
    if (lifted)
        answer[member] = std::move(*lifted);
}

void read_delivery(Fields& fields, Delivery& delivery) {
    delivery.is_streamed = fields.flag("stream").value_or(false);
    read_stream_options(fields, delivery);
    const Json* nvext = fields.object("nvext");
    const auto annotations = nvext == nullptr ? Json() : nvext->value("annotations", Json());
    if (!annotations.is_null() && !annotations.is_array())
        fields.refuse("nvext.annotations", "must be a list of strings", "invalid_type");
    for (const Json& name : annotations.is_array() ? annotations : Json::array())
        read_annotation(fields, name, delivery);
}

} // namespace etna::server::openai
