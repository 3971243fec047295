// POST /completion and /infill.

#include "server/api/answer.hpp"
#include "server/api/model_choice.hpp"
#include "server/api/request_body.hpp"
#include "server/faces/llamacpp/completion_choice.hpp"
#include "server/faces/llamacpp/endpoints.hpp"
#include "server/faces/llamacpp/errors.hpp"
#include "server/faces/llamacpp/request.hpp"
#include "server/faces/llamacpp/sampling.hpp"
#include "server/faces/llamacpp/settings.hpp"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace etna::server::llamacpp {
namespace {

/// The endpoint; it determines how a body is read.
enum class Endpoint : uint8_t { completion, infill };

ApiResult<CompletionRequest> read(Endpoint endpoint, const api::ActiveRequest& active, const Json& body) {
    const api::RequestContext context = active.context(sampling_defaults);
    return endpoint == Endpoint::infill ? read_infill(body, context, active.model()->file().infill_tokens)
                                        : read_completion(body, context);
}

/// The answers to all prompts of a request.
class CompletionAnswer : public api::Answer {
public:
    CompletionAnswer(api::ActiveRequest request, Endpoint endpoint, Json body)
        : Answer(std::move(request)), endpoint_(endpoint), body_(std::move(body)) {}

    ApiStatus begin(const CancelPoll& is_cancelled) override {
        auto parsed = read(endpoint_, active, body_);
        body_ = nullptr;
        if (!parsed)
            return parsed.error();
        generate::Request& first = parsed->call.requests.front();
        generate::fill(first, active.model()->defaults().requests);
        const text::Tokenizer& tokenizer = active.model()->file().tokenizer;
        const sampling::Parameters parameters =
            with_overrides(active.context(sampling_defaults).sampling_defaults, first.sampling);
        context_ = {.output = parsed->output,
                    .settings = settings_json(parameters, first, *parsed),
                    .model = active.model_name(),
                    .tokenizer = &tokenizer,
                    .pending = generate::PendingLogprobs(first, tokenizer, text::TextPosition::continuation)};
        ETNA_CHECK(active.begin(std::move(parsed->call), sampling_defaults, is_cancelled));
        make_choices();
        return {};
    }

    ApiResult<std::string> complete(const CancelPoll& is_cancelled) override {
        const Status status = run([](const Json&) { return true; }, is_cancelled);
        if (!status)
            return active.report_failure(status.error());
        Json list = Json::array();
        for (const CompletionChoice& choice : choices_)
            list.push_back(choice.result());
        return dump_json(context_.output.is_list ? list : list.front()) + "\n";
    }

    ApiResult<bool> stream(EventStream& stream) override {
        const auto send = [&](const Json& json) { return stream.send(sse::data(dump_json(json))); };
        const Status status = run(send, [&] {
            for (CompletionChoice& choice : choices_) {
                if (const auto progress = choice.take_progress())
                    send(*progress);
            }
            return stream.is_disconnected();
        });
        if (!status)
            return active.report_failure(status.error());
        return !stream.is_disconnected();
    }

    void send_failure(EventStream& stream, const ApiError& error) override {
        stream.send(sse::data(dump_json(error_object(error))));
    }

private:
    void make_choices() {
        const generate::Generation& generation = *active.generation();
        const auto per_prompt = generation.choices() / static_cast<uint32_t>(active.prompt_count());
        choices_.reserve(generation.choices());
        for (uint32_t choice = 0; choice < generation.choices(); ++choice) {
            const std::size_t prompt = choice / per_prompt;
            choices_.emplace_back(context_, choice, generation.prompt_tokens(prompt),
                                  [&generation, prompt] { return generation.prompt_progress(prompt); });
        }
    }

    /// `deliver` receives the pieces of a stream, ending each choice with its result, and returns false to
    /// stop.
    Status run(const std::function<bool(const Json& piece)>& deliver, const CancelPoll& is_cancelled) {
        return active.run(
            [&](uint32_t index, const generate::Event& event) {
                CompletionChoice& choice = choices_[index];
                const bool is_streamed = context_.output.is_streamed;
                auto progress = is_streamed ? choice.take_progress() : std::nullopt;
                const auto piece = choice.take(event);
                if ((progress && !deliver(*progress)) || (piece && !deliver(*piece)))
                    return api::Delivery::disconnected;
                if (is_streamed && std::holds_alternative<generate::Finished>(event))
                    deliver(choice.result());
                return choice.is_complete() ? api::Delivery::complete : api::Delivery::proceed;
            },
            is_cancelled);
    }

    Endpoint endpoint_;
    Json body_; ///< until begin() has read it
    ChoiceContext context_;
    std::vector<CompletionChoice> choices_;
};

ApiResult<HttpReply> serve(Endpoint endpoint, AnswerServices& services, const HttpRequest& request,
                           const RoutedRequest& routed) {
    ETNA_TRY(auto body, parse_body(request));
    ETNA_TRY(auto name, api::model_of(services, request, body));
    const bool is_streamed = body.value("stream", Json(false)) == true;
    const auto answer = std::make_shared<CompletionAnswer>(
        api::ActiveRequest(services, request, routed, endpoint == Endpoint::infill ? "infill" : "completion",
                           std::move(name), is_streamed),
        endpoint, std::move(body));
    return api::reply_with(answer, request, routed, is_streamed);
}

} // namespace

ApiResult<HttpReply> complete(AnswerServices& services, const HttpRequest& request,
                              const RoutedRequest& routed) {
    return serve(Endpoint::completion, services, request, routed);
}

ApiResult<HttpReply> infill(AnswerServices& services, const HttpRequest& request,
                            const RoutedRequest& routed) {
    return serve(Endpoint::infill, services, request, routed);
}

} // namespace etna::server::llamacpp
