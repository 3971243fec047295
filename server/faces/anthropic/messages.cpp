// POST /v1/messages and /v1/messages/count_tokens.

#include "server/api/answer.hpp"
#include "server/api/model_choice.hpp"
#include "server/api/persistence.hpp"
#include "server/api/request_body.hpp"
#include "server/base/ids.hpp"
#include "server/faces/anthropic/endpoints.hpp"
#include "server/faces/anthropic/errors.hpp"
#include "server/faces/anthropic/message_blocks.hpp"
#include "server/faces/anthropic/request.hpp"

#include <memory>
#include <string>
#include <utility>

namespace etna::server::anthropic {
namespace {

constexpr std::string_view ping = "event: ping\ndata: {\"type\":\"ping\"}\n\n";

/// The API's sampling defaults; the model's recommendations override them.
constexpr sampling::Parameters neutral = {
    .temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0, .repetition_window_tokens = sampling::full_history};

/// Tokens read from the cache do not count as input.
Json usage_json(const api::Usage& usage) {
    const Metrics::Tokens counts = usage.tokens();
    return {{"input_tokens", counts.prompt - counts.cached},
            {"cache_creation_input_tokens", 0},
            {"cache_read_input_tokens", counts.cached},
            {"cache_creation", nullptr},
            {"output_tokens", counts.completion},
            {"output_tokens_details", {{"thinking_tokens", usage.reasoning_tokens()}}},
            {"server_tool_use", nullptr},
            {"service_tier", "standard"},
            {"inference_geo", nullptr}};
}

ThinkingSeal thinking_seal(const api::ActiveRequest& active) {
    return {active.services().persistence->seal, active.owner()};
}

ApiResult<MessagesRequest> read(const api::ActiveRequest& active, const Json& body, std::string_view betas,
                                Purpose purpose) {
    return read_messages_request(body, betas, purpose, thinking_seal(active), active.context(neutral));
}

/// Runs one request, from the body to the last byte of the response.
class MessageAnswer : public api::Answer {
public:
    MessageAnswer(api::ActiveRequest request, Json body, std::string betas)
        : Answer(std::move(request)), body_(std::move(body)), betas_(std::move(betas)) {}

    ApiStatus begin(const CancelPoll& is_cancelled) override {
        auto parsed = read(active, body_, betas_, Purpose::answer);
        body_ = nullptr;
        if (!parsed)
            return parsed.error();
        const generate::Request& request = parsed->call.requests.front();
        options_ = {.display = parsed->display,
                    .ends_after_call = parsed->call.ends_after_call,
                    .stop_sequences = request.stop,
                    .context_tokens = active.model()->context_tokens()};
        parsed->call.call_id_prefix = "toolu_";
        ETNA_CHECK(active.begin(std::move(parsed->call), neutral, is_cancelled));
        active.allow_control(id_);
        return {};
    }

    ApiResult<std::string> complete(const CancelPoll& is_cancelled) override {
        const Status status = run({}, [](uint32_t, const generate::Event&) { return true; }, is_cancelled);
        if (!status)
            return active.report_failure(status.error());
        Json message = message_json(usage_json(active.usage()));
        message["content"] = content_json(options_, thinking_seal(active), answers.front());
        message.update(stop_json(options_, answers.front()));
        return dump_json(message) + "\n";
    }

    /// Starts the message once its prompt is admitted, because its usage counts the cached tokens.
    ApiResult<bool> stream(EventStream& stream) override {
        MessageBlocks blocks(options_, thinking_seal(active));
        bool has_started = false;
        Json waiting = Json::array(); // events before the start
        const auto start = [&] {
            has_started = true;
            send(stream, {{"type", "message_start"}, {"message", message_json(usage_json(active.usage()))}});
            stream.send(ping);
            for (const Json& event : std::exchange(waiting, Json::array()))
                send(stream, event);
        };
        const Status status = run(
            {},
            [&](uint32_t, const generate::Event& event) {
                for (const Json& one : blocks.take(event)) {
                    if (!has_started)
                        waiting.push_back(one);
                    else if (!send(stream, one))
                        return false;
                }
                return true;
            },
            [&] {
                if (!has_started && active.count_cached())
                    start();
                return stream.is_disconnected();
            });
        if (!status)
            return active.report_failure(status.error());
        if (!has_started)
            start();
        send(stream, {{"type", "message_delta"},
                      {"delta", stop_json(options_, answers.front())},
                      {"usage", usage_json(active.usage())}});
        return send(stream, {{"type", "message_stop"}});
    }

    void send_failure(EventStream& stream, const ApiError& error) override {
        send(stream, error_json(error, active.request_id()));
    }

    [[nodiscard]] std::string_view keep_alive_frame() const override { return ping; }

private:
    static bool send(EventStream& stream, const Json& event) {
        return stream.send(sse::write({.data = dump_json(event), .event = event["type"].get<std::string>()}));
    }

    [[nodiscard]] Json message_json(const Json& usage) const {
        return {{"id", id_},
                {"type", "message"},
                {"role", "assistant"},
                {"model", active.model_name()},
                {"content", Json::array()},
                {"stop_reason", nullptr},
                {"stop_sequence", nullptr},
                {"stop_details", nullptr},
                {"container", nullptr},
                {"usage", usage}};
    }

    Json body_; ///< until begin() has read it
    std::string betas_;
    std::string id_ = new_id("msg_");
    BlockOptions options_;
};

/// Errors: those of acquiring the model, reading and counting.
ApiResult<HttpReply> count(api::ActiveRequest& active, const Json& body, const HttpRequest& request) {
    if (const Status loaded = active.acquire(request.is_client_gone); !loaded)
        return active.report_failure(loaded.error());
    ETNA_TRY(auto parsed, read(active, body, request.header("anthropic-beta"), Purpose::count));
    ETNA_CHECK(api::refuse_unknown(active.is_strict(), parsed.call.ignored));
    ETNA_TRY(const auto tokens, active.count_prompt(std::move(parsed.call), request.is_client_gone));
    HttpReply reply = {.body = dump_json({{"input_tokens", tokens}}) + "\n"};
    api::report_ignored(active.ignored(), reply);
    return reply;
}

} // namespace

ApiResult<HttpReply> create_message(AnswerServices& services, const HttpRequest& request,
                                    const RoutedRequest& routed) {
    ETNA_TRY(auto body, parse_body(request));
    ETNA_TRY(auto name, api::model_of(services, request, body));
    const Json stream = body.value("stream", Json(false));
    if (!stream.is_boolean() && !stream.is_null())
        return ApiError{.message = "`stream` must be true or false", .param = "stream"};
    const bool is_streamed = stream == true;
    const auto answer = std::make_shared<MessageAnswer>(
        api::ActiveRequest(services, request, routed, "messages", std::move(name), is_streamed),
        std::move(body), std::string(request.header("anthropic-beta")));
    HttpReply reply = api::reply_with(answer, request, routed, is_streamed);
    reply.headers["request-id"] = routed.request_id; // the header that this API's clients read
    return reply;
}

ApiResult<HttpReply> count_tokens(AnswerServices& services, const HttpRequest& request,
                                  const RoutedRequest& routed) {
    ETNA_TRY(const auto body, parse_body(request));
    ETNA_TRY(auto name, api::model_of(services, request, body));
    api::ActiveRequest active(services, request, routed, "messages", std::move(name), /*is_streamed=*/false);
    active.leave_journal();
    HttpReply reply = api::reply_once(active, count(active, body, request), request, routed);
    reply.headers["request-id"] = routed.request_id;
    return reply;
}

} // namespace etna::server::anthropic
