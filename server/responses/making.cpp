#include "server/responses/making.hpp"

#include "server/ids.hpp"
#include "server/openai/answer.hpp"
#include "server/openai/chat_request.hpp"
#include "server/responses/items.hpp"
#include "server/sse.hpp"

#include <algorithm>
#include <ctime>
#include <utility>

#include <fmt/format.h>

namespace etna::server::responses {
namespace {

constexpr std::chrono::seconds reassuring_interval{10}; ///< between events while nothing else comes

Wording wording_of(const HttpRequest& request) {
    return request.header("etna-dialect") == "open-responses" ? Wording::open_responses : Wording::openai;
}

/// {"code", "message"}: the codes that the API has for responses are few.
Json error_of(const ApiError& error) {
    constexpr int first_server_error = 500;
    constexpr int too_many = 429;
    const char* code = error.status >= first_server_error ? "server_error" : "invalid_prompt";
    return {{"code", error.status == too_many ? "rate_limit_exceeded" : code}, {"message", error.message}};
}

/// As people wrote it: 0.7, and not what the nearest float is in double precision.
Json decimal(float value) {
    return Json::parse(fmt::format("{}", value));
}

} // namespace

Making::Making(Service& service, const HttpRequest& request, Request asked)
    : service_(&service), owner_(owner_of(service.options.access, request)), request_(std::move(asked)),
      kind_{.endpoint = "responses",
            .id_prefix = "resp_",
            .object = "response",
            .chunk_object = "response",
            .prompt_member = "input",
            .read = [this](const Json& body, const openai::RequestContext& context) {
                return read(body, context);
            }} {
    form_.wording = wording_of(request);
    response_.id = new_id("resp_");
    response_.created_unix_s = std::time(nullptr);
    response_.told = request_.told;
    run_ = std::make_shared<Run>(response_.id, owner_);
}

std::variant<std::shared_ptr<Making>, ApiError> Making::prepare(Service& service, const HttpRequest& request,
                                                                const Call& call) {
    auto body = parse_body(request);
    if (auto* error = std::get_if<ApiError>(&body))
        return std::move(*error);
    auto asked = read_request(std::get<Json>(body));
    if (auto* error = std::get_if<ApiError>(&asked))
        return std::move(*error);
    auto name = openai::model_of(service, std::get<Json>(body));
    if (auto* error = std::get_if<ApiError>(&name))
        return std::move(*error);
    std::shared_ptr<Making> making(new Making(service, request, std::get<Request>(std::move(asked))));
    Keeping& keeping = *service.keeping;
    auto past = load_past(keeping, making->owner_, making->request_);
    if (auto* error = std::get_if<ApiError>(&past))
        return std::move(*error);
    making->past_ = std::get<Past>(std::move(past));
    auto before = resolved(keeping, making->past_.items, "previous_response_id");
    if (auto* error = std::get_if<ApiError>(&before))
        return std::move(*error);
    auto own = resolved(keeping, making->request_.input, "input");
    if (auto* error = std::get_if<ApiError>(&own))
        return std::move(*error);
    making->items_ = std::get<Json>(std::move(before));
    for (Json& item : std::get<Json>(own))
        making->items_.push_back(std::move(item));
    making->request_.stores = making->request_.stores && keeping.store.has_value();
    making->response_.told["store"] = making->request_.stores;
    making->response_.model = std::get<std::string>(name);
    making->answering_ = openai::make_answering(service, request, call, making->kind_,
                                                making->response_.model, making->request_.chat);
    making->run_->set(making->object());
    return making;
}

Json Making::object() const {
    Json json = to_json(response_);
    if (form_.wording == Wording::open_responses)
        json.emplace("usage", nullptr); // which OpenAI's schema knows as an object alone
    return json;
}

/// The chat completion that the response is made as.
void Making::compose() {
    Json body = request_.chat;
    Json left = Json::array();
    for (std::size_t i = dropped_; i < items_.size(); ++i)
        left.push_back(items_[i]);
    Json messages = messages_of(left);
    if (request_.instructions)
        messages.insert(messages.begin(), Json({{"role", "system"}, {"content", *request_.instructions}}));
    body["messages"] = std::move(messages);
    answering_->body = std::move(body);
}

std::variant<openai::GenerationCall, ApiError> Making::read(const Json& body,
                                                            const openai::RequestContext& context) {
    auto read = openai::read_chat(body, context);
    if (auto* error = std::get_if<ApiError>(&read))
        return in_words_of_responses(std::move(*error));
    auto& call = std::get<openai::GenerationCall>(read);
    const generate::Request& wanted = call.requests.front();
    const auto& model = *answering_->model;
    const sampling::Parameters parameters =
        with_wishes(with_wishes(openai::sampling_defaults(context.dialect), model.recommended_sampling()),
                    wanted.sampling);
    response_.told["temperature"] = decimal(parameters.temperature);
    response_.told["top_p"] = decimal(parameters.top_p);
    response_.told["presence_penalty"] = decimal(parameters.presence_penalty);
    response_.told["frequency_penalty"] = decimal(parameters.frequency_penalty);
    form_.tells_logprobs = wanted.logprobs.has_value();
    form_.tells_summary = request_.tells_summary;
    form_.may_call_several = request_.told["parallel_tool_calls"] == true;
    form_.calls_max = request_.calls_max;
    form_.custom_tools = request_.custom_tools;
    form_.told_stops = openai::told_stops(wanted, *context.tokenizer);
    if (request_.included.sealed_reasoning) {
        form_.seal = [seal = &service_->keeping->seal](const std::string& text) {
            auto sealed = seal->seal(text, sealed_reasoning);
            return sealed ? std::move(*sealed) : std::string();
        };
    }
    call.writer = [this](uint32_t, std::span<const TokenId>) {
        return std::make_unique<OutputWriter>(form_, output_);
    };
    return std::move(call);
}

/// Whether there was something to leave out: the oldest item that is not the last, and results of calls that
/// have gone with it.
bool Making::drop_oldest() {
    const std::size_t before = dropped_;
    // Half of what is left, so that a long past is not tried item by item.
    const std::size_t most = items_.size() - 1;
    dropped_ = std::min(most, dropped_ + std::max<std::size_t>((most - dropped_) / 4, 1));
    while (dropped_ < most && items_[dropped_].value("type", "").ends_with("_output"))
        ++dropped_;
    return dropped_ > before;
}

std::optional<ApiError> Making::acquire(const std::function<bool()>& is_unwanted) {
    if (answering_->model != nullptr)
        return std::nullopt;
    const Status loaded = answering_->acquire(is_unwanted);
    return loaded ? std::nullopt : std::optional(answering_->failed(loaded.error()));
}

std::variant<std::size_t, ApiError> Making::count(const std::function<bool()>& is_unwanted) {
    if (auto error = acquire(is_unwanted))
        return std::move(*error);
    compose();
    auto read = openai::read_chat(answering_->body, {.dialect = answering_->dialect,
                                                     .limits = service_->options.limits,
                                                     .tokenizer = &answering_->model->tokenizer(),
                                                     .context_tokens = answering_->model->context_tokens()});
    if (auto* error = std::get_if<ApiError>(&read))
        return in_words_of_responses(std::move(*error));
    const auto prompt = generate::encode(
        *answering_->model, std::get<openai::GenerationCall>(read).requests.front(), is_unwanted);
    if (!prompt)
        return answering_->failed(prompt.error());
    answering_->in_flight->set_status(200);
    return prompt->tokens.size();
}

std::optional<ApiError> Making::begin(const std::function<bool()>& is_unwanted) {
    if (auto error = acquire(is_unwanted))
        return error;
    while (true) {
        compose();
        const auto error = answering_->begin(is_unwanted);
        if (!error)
            break;
        const bool is_too_long = error->code == "context_length_exceeded";
        if (!is_too_long || !request_.drops_oldest || !drop_oldest())
            return in_words_of_responses(*error);
    }
    if (dropped_ > 0)
        response_.told["etna"] = {{"dropped_items", dropped_}};
    has_begun_ = true;
    run_->set(object());
    return std::nullopt;
}

std::optional<ApiError> Making::keep_pending() {
    response_.status = ResponseStatus::queued;
    run_->set(object());
    const Status kept = service_->keeping->store->put({.id = response_.id,
                                                       .owner = owner_,
                                                       .object = text_of(object()),
                                                       .input = text_of(request_.input),
                                                       .turn = {},
                                                       .is_pending = true});
    return kept ? std::nullopt : std::optional(store_failed(kept.error()));
}

void Making::make(const Sink& send, const std::function<bool()>& is_unwanted) {
    send_ = send;
    tell_state("response.created");
    if (request_.is_background) {
        tell_state("response.queued");
        response_.status = ResponseStatus::in_progress;
    }
    tell_state("response.in_progress");
    const auto is_over = [&] { return is_waiting(is_unwanted); };
    auto error = has_begun_ ? std::nullopt : begin(is_over);
    if (!error) {
        settle(answering_->run(
            [&](const Json& events) {
                for (const Json& event : events)
                    tell(event);
                return is_heard_;
            },
            is_over));
    } else {
        fail(*error);
    }
    tell_end();
    run_->end();
}

/// To be asked now and then: whether the answer has to end; tells clients that it goes on.
bool Making::is_waiting(const std::function<bool()>& is_unwanted) {
    if (Clock::now() - told_ > reassuring_interval)
        tell_state("response.in_progress");
    return !is_heard_ || run_->is_cancelled() || is_unwanted();
}

/// What has become of it.
void Making::settle(const Status& status) {
    response_.output = output_->items;
    response_.text = output_->text;
    response_.usage = usage_of(answering_->usage->json());
    if (!status)
        return fail(answering_->failed(status.error()));
    response_.status = ResponseStatus::completed;
    if (output_->finish_reason == generate::FinishReason::length) {
        response_.status = ResponseStatus::incomplete;
        response_.incomplete = "max_output_tokens";
    } else if (run_->is_cancelled()) {
        response_.status = ResponseStatus::cancelled;
    }
    if (response_.status == ResponseStatus::completed)
        response_.completed_unix_s = std::time(nullptr);
}

void Making::fail(const ApiError& error) {
    failure_ = error;
    const bool is_wanted_so = run_->is_cancelled();
    response_.status = is_wanted_so ? ResponseStatus::cancelled : ResponseStatus::failed;
    if (!is_wanted_so)
        response_.error = error_of(error);
}

/// The last event, after what it tells has been kept: nobody hears of a whole response that could be lost.
void Making::tell_end() {
    const auto last_event = [&] {
        const std::string state = response_.status == ResponseStatus::cancelled
                                      ? "incomplete"
                                      : std::string(to_string(response_.status));
        return frame_of({{"type", "response." + state}, {"response", object()}});
    };
    std::string frame = last_event();
    const bool is_left = !is_heard_ && !request_.is_background;
    if (request_.stores && !is_left) {
        if (const Status kept = keep(frame); !kept) {
            fail(store_failed(kept.error()));
            --next_number_;
            frame = last_event();
        }
    }
    run_->set(object());
    run_->add(frame);
    is_heard_ = is_heard_ && send_(frame) && send_(sse::done);
    answering_->in_flight->set_status(failure_ ? failure_->status : is_heard_ ? 200 : client_left_status);
}

Status Making::keep(std::string_view last_frame) {
    Json turn = request_.input;
    for (const Json& item : response_.output)
        turn.push_back(item);
    memory::Response kept = {.id = response_.id,
                             .owner = owner_,
                             .object = text_of(object()),
                             .input = text_of(request_.input),
                             .turn = text_of(turn)};
    for (const std::string& frame : request_.is_streamed ? run_->frames() : std::vector<std::string>())
        kept.events += frame;
    if (request_.is_streamed)
        kept.events += last_frame;
    memory::Addition addition = {.conversation = request_.conversation.value_or(""), .items = {}};
    for (const Json& item : turn)
        addition.items.push_back({.id = item["id"].get<std::string>(), .body = text_of(item)});
    return service_->keeping->store->put(kept, past_.history ? &*past_.history : nullptr,
                                         request_.conversation ? &addition : nullptr);
}

void Making::tell_state(std::string_view type) {
    run_->set(object());
    tell({{"type", type}, {"response", object()}});
}

std::string Making::frame_of(Json event) {
    const std::string type = event["type"];
    event["sequence_number"] = next_number_++;
    return sse::write({.data = text_of(event), .event = type});
}

bool Making::tell(Json event) {
    const std::string frame = frame_of(std::move(event));
    told_ = Clock::now();
    if (request_.is_streamed)
        run_->add(frame);
    is_heard_ = send_(frame) && is_heard_;
    return is_heard_;
}

} // namespace etna::server::responses
