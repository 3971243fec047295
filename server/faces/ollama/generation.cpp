// POST /api/chat and /api/generate.

#include "core/base/duration.hpp"
#include "server/api/answer.hpp"
#include "server/api/model_choice.hpp"
#include "server/api/request_body.hpp"
#include "server/faces/ollama/answer_pieces.hpp"
#include "server/faces/ollama/endpoints.hpp"
#include "server/faces/ollama/errors.hpp"
#include "server/faces/ollama/names.hpp"
#include "server/faces/ollama/options.hpp"
#include "server/faces/ollama/request.hpp"
#include "server/faces/ollama/timestamps.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace etna::server::ollama {
namespace {

std::string_view endpoint_name(Form form) {
    return form == Form::chat ? "ollama_chat" : "ollama_generate";
}

/// Returns a line with `members`, which may be empty.
Json line_json(const std::string& model, const Json& members, bool is_done) {
    Json line = {{"model", model}, {"created_at", timestamp(std::chrono::system_clock::now())}};
    line.update(members);
    line["done"] = is_done;
    return line;
}

/// Returns the members of a line without text.
Json empty_members(Form form) {
    return form == Form::chat ? Json({{"message", {{"role", "assistant"}, {"content", ""}}}})
                              : Json({{"response", ""}});
}

/// Returns the times and counts of an answer. Prompt time starts when queue time ends.
Json metrics_json(const api::ActiveRequest& active, const generate::Timings& timings) {
    const Metrics::Tokens tokens = active.usage().tokens();
    return {{"total_duration", nanoseconds(active.elapsed_s())},
            {"load_duration", nanoseconds(active.acquired_s())},
            {"prompt_eval_count", tokens.prompt},
            {"prompt_eval_duration", nanoseconds(timings.prompt_ms / ms_per_second)},
            {"eval_count", tokens.completion},
            {"eval_duration", nanoseconds(timings.generation_ms / ms_per_second)}};
}

/// Runs one request, from the body to the last line of the response.
class GenerationAnswer : public api::Answer {
public:
    GenerationAnswer(api::ActiveRequest request, Form form, RequestHead head, Json body)
        : Answer(std::move(request)), form_(form), head_(std::move(head)), body_(std::move(body)),
          idle_line_(dump_json(line_json(head_.model, empty_members(form), false)) + "\n") {}

    ApiStatus begin(const CancelPoll& is_cancelled) override {
        const api::RequestContext context = active.context(default_sampling);
        auto begun = begin_with(read_request(body_, form_, context), is_cancelled);
        const bool is_too_long = !begun && begun.error().code == "context_length_exceeded";
        if (is_too_long && may_truncate(body_)) {
            const std::size_t first = form_ == Form::chat ? first_that_fits(is_cancelled) : 0;
            begun = begin_with(read_request(body_, form_, context, Overflow::shorten, first), is_cancelled);
        }
        body_ = nullptr;
        return begun;
    }

    ApiResult<std::string> complete(const CancelPoll& is_cancelled) override {
        const Status status = run_model(
            {.logprobs = pending_}, [](uint32_t, const generate::Event&) { return true; }, is_cancelled);
        if (!status)
            return active.report_failure(status.error());
        return dump_json(last_line(answer_members(form_, answers.front()))) + "\n";
    }

    ApiResult<bool> stream(EventStream& stream) override {
        AnswerPieces pieces(form_, pending_);
        Json last;
        const Status status = run_model(
            {},
            [&](uint32_t, const generate::Event& event) {
                const Json members = pieces.take(event, answers.front());
                if (std::holds_alternative<generate::Finished>(event))
                    last = members;
                const bool is_line = !members.is_null() && last.is_null();
                return !is_line || stream.send(dump_json(line_json(head_.model, members, false)) + "\n");
            },
            [&] { return stream.is_disconnected(); });
        if (!status)
            return active.report_failure(status.error());
        return stream.send(dump_json(last_line(last)) + "\n");
    }

    void send_failure(EventStream& stream, const ApiError& error) override { stream.send(error_line(error)); }

    [[nodiscard]] HttpReply stream_head() const override { return {.content_type = "application/x-ndjson"}; }

    [[nodiscard]] std::string_view keep_alive_frame() const override { return idle_line_; }

private:
    ApiStatus begin_with(ApiResult<api::GenerationCall> call, const CancelPoll& is_cancelled) {
        if (!call)
            return call.error();
        if (head_.ignores_keep_alive)
            call->ignored.without_effect.emplace_back("keep_alive");
        const generate::Request& request = call->requests.front();
        if (request.logprobs) {
            const bool is_chat = std::holds_alternative<chat::Conversation>(request.prompt);
            pending_.emplace(request, active.model()->file().tokenizer,
                             is_chat ? text::TextPosition::start : text::TextPosition::continuation);
        }
        return active.begin(std::move(*call), default_sampling, is_cancelled);
    }

    /// Returns the first message with which a chat that is too long fits, or the last one possible; binary
    /// search.
    std::size_t first_that_fits(const CancelPoll& is_cancelled) {
        const api::RequestContext context = active.context(default_sampling);
        const std::size_t tokens_max = std::min<std::size_t>(
            context.context_tokens - 1, context.limits.prompt_tokens_max.value_or(context.context_tokens));
        const std::vector<std::size_t> starts = possible_starts(body_);
        const auto is_too_long = [&](std::size_t first, std::size_t max) {
            auto call = read_request(body_, form_, context, Overflow::refuse, first);
            const auto counted =
                call ? active.count_prompt(std::move(*call), is_cancelled) : ApiResult<std::size_t>(max + 1);
            return !counted || *counted > max;
        };
        const auto found = std::lower_bound(starts.begin(), starts.end(), tokens_max, is_too_long);
        if (found != starts.end())
            return *found;
        return starts.empty() ? 0 : starts.back();
    }

    /// As run(), after which the model may be unloaded.
    Status run_model(generate::CollectedAnswer::Options collected, const Receiver& receive,
                     const CancelPoll& is_cancelled) {
        const Status status = run(std::move(collected), receive, is_cancelled);
        apply(head_.keep_alive, active.services(), active.client(), active.model_name());
        return status;
    }

    [[nodiscard]] Json last_line(const Json& members) const {
        Json line = line_json(head_.model, members, true);
        line.update(metrics_json(active, answers.front().finished()->timings));
        if (form_ == Form::generate && !head_.is_raw)
            line["context"] = exchange_tokens();
        return line;
    }

    /// Returns the tokens of the prompt and the answer, with which the next request can continue.
    [[nodiscard]] Json exchange_tokens() const {
        const auto prompt = active.generation()->prompt_tokens(0);
        const std::vector<TokenId>& answer = answers.front().finished()->tokens;
        std::vector<TokenId> tokens(prompt.begin(), prompt.end());
        tokens.insert(tokens.end(), answer.begin(), answer.end());
        return tokens;
    }

    Form form_;
    RequestHead head_;
    Json body_; ///< until begin() has read it
    std::string idle_line_;
    std::optional<generate::PendingLogprobs> pending_; ///< before the first token; empty without logprobs
};

/// Loads or unloads the model of a request without messages or prompt, and checks the request.
ApiResult<HttpReply> load(api::ActiveRequest& active, Form form, const RequestHead& head, const Json& body,
                          const HttpRequest& request) {
    HttpReply reply;
    if (head.only_unloads()) {
        ETNA_CHECK(api::unload_model(active.services(), request, active.model_name()));
    } else {
        if (const Status loaded = active.acquire(request.is_client_gone); !loaded)
            return active.report_failure(loaded.error());
        ETNA_TRY(auto call, read_request(body, form, active.context(default_sampling)));
        if (head.ignores_keep_alive)
            call.ignored.without_effect.emplace_back("keep_alive");
        ETNA_CHECK(api::refuse_unknown(active.is_strict(), call.ignored));
        api::report_ignored(call.ignored, reply);
        apply(head.keep_alive, active.services(), active.client(), active.model_name());
    }
    Json line = line_json(head.model, empty_members(form), true);
    line["done_reason"] = head.only_unloads() ? "unload" : "load";
    reply.body = dump_json(line) + "\n";
    return reply;
}

ApiResult<HttpReply> serve(AnswerServices& services, const HttpRequest& request, const RoutedRequest& routed,
                           Form form) {
    ETNA_TRY(auto body, parse_body(request));
    ETNA_TRY(auto head, read_head(body, form));
    if (head.keep_alive && !is_operator(services.options.access, request)) {
        if (head.only_unloads())
            return *check_operator(services.options.access, request, "unloading a model");
        head.keep_alive.reset();
        head.ignores_keep_alive = true;
    }
    ETNA_TRY(auto name, served_name(services, request, head.model));
    api::ActiveRequest active(services, request, routed, endpoint_name(form), std::move(name),
                              head.is_streamed && !head.only_loads);
    if (head.only_loads) {
        active.leave_journal();
        return api::reply_once(active, load(active, form, head, body, request), request, routed);
    }
    const bool is_streamed = head.is_streamed;
    return api::reply_with(
        std::make_shared<GenerationAnswer>(std::move(active), form, std::move(head), std::move(body)),
        request, routed, is_streamed);
}

} // namespace

ApiResult<HttpReply> chat(AnswerServices& services, const HttpRequest& request, const RoutedRequest& routed) {
    return serve(services, request, routed, Form::chat);
}

ApiResult<HttpReply> generate_text(AnswerServices& services, const HttpRequest& request,
                                   const RoutedRequest& routed) {
    return serve(services, request, routed, Form::generate);
}

} // namespace etna::server::ollama
