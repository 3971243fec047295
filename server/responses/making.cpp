#include "server/responses/making.hpp"

#include "server/ids.hpp"
#include "server/openai/answer.hpp"
#include "server/openai/chat_request.hpp"
#include "server/responses/items.hpp"

#include <algorithm>
#include <ctime>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace etna::server::responses {
namespace {

/// The shortest decimal form: 0.7, not the double value of the nearest float.
Json decimal(float value) {
    return parse_json(fmt::format("{}", value));
}

/// Assigns new ids to items added to a conversation, so that ids do not collide.
void rename_new(Json& items) {
    for (Json& item : items) {
        if (item["type"] != "item_reference")
            rename(item);
    }
}

void tell_without_effect(const Request& request, openai::Delivery& delivery) {
    delivery.ignored.insert(delivery.ignored.end(), request.ignored.begin(), request.ignored.end());
    delivery.noted.insert(delivery.noted.end(), request.noted.begin(), request.noted.end());
}

/// Makes ids unique within a list, so that pages can start after an id.
void rename_repeated(Json& items) {
    std::set<std::string> seen = {""};
    for (Json& item : items) {
        if (!seen.insert(item["id"].get<std::string>()).second)
            rename(item);
    }
}

} // namespace

Making::Making(Service& service, const HttpRequest& request, Request asked)
    : service_(&service), owner_(owner_of(service.options.access, request)), request_(std::move(asked)),
      kind_{.endpoint = "responses",
            .id_prefix = "resp_",
            .object = "response",
            .chunk_object = "response",
            .prompt_member = "input",
            .read = [this](const Json& body,
                           const openai::RequestContext& context) { return read(body, context); },
            .in_own_words =
                [this](ApiError error) { return in_words_of_responses(std::move(error), request_); }} {
    form_.wording = wording_of(request);
    response_.id = new_id("resp_");
    response_.created_unix_s = std::time(nullptr);
    response_.told = request_.told;
    for (const auto& [name, usual] :
         {std::pair{"temperature", 1}, {"top_p", 1}, {"presence_penalty", 0}, {"frequency_penalty", 0}}) {
        const Json wanted = request_.chat.value(name, Json()); // until the defaults are known
        response_.told[name] = wanted.is_number() ? wanted : Json(usual);
    }
    run_ = std::make_shared<Run>(response_.id, owner_, request_.is_streamed);
}

std::variant<std::shared_ptr<Making>, ApiError> Making::prepare(Service& service, const HttpRequest& request,
                                                                const Call& call, const Json& body,
                                                                Purpose purpose) {
    // Its items exist in four forms: as received, as returned, as model input, and as messages.
    constexpr std::size_t copies = 4;
    if (request.memory != nullptr && !request.reserve_memory(copies * request.memory->bytes()))
        return no_memory();
    auto asked = read_request(body, purpose);
    if (auto* error = std::get_if<ApiError>(&asked))
        return std::move(*error);
    auto name = openai::model_of(service, body);
    if (auto* error = std::get_if<ApiError>(&name))
        return std::move(*error);
    std::shared_ptr<Making> making(new Making(service, request, std::get<Request>(std::move(asked))));
    if (auto error = making->load_items())
        return std::move(*error);
    if (auto error = making->check_wishes())
        return std::move(*error);
    making->response_.told["store"] = making->request_.stores;
    making->purpose_ = purpose;
    making->response_.model = std::get<std::string>(name);
    making->answering_ = openai::make_answering(service, request, call, making->kind_,
                                                making->response_.model, making->request_.chat);
    making->run_->set_input(making->request_.input);
    making->run_->set(making->object());
    return making;
}

/// Loads the model input: the prior context and the request's own items. Errors: see prepare().
std::optional<ApiError> Making::load_items() {
    Persistence& persistence = *service_->persistence;
    auto past = load_past(persistence, owner_, request_);
    if (auto* error = std::get_if<ApiError>(&past))
        return std::move(*error);
    past_ = std::get<Past>(std::move(past));
    if (request_.conversation)
        rename_new(request_.input);
    auto input = with_references(persistence, owner_, request_.input, "input");
    if (auto* error = std::get_if<ApiError>(&input))
        return std::move(*error);
    request_.input = std::get<Json>(std::move(input));
    rename_repeated(request_.input);
    const char* const past_member = request_.conversation ? "conversation" : "previous_response_id";
    auto before = unsealed(persistence, owner_, past_.items, past_member);
    if (auto* error = std::get_if<ApiError>(&before))
        return std::move(*error);
    auto own = unsealed(persistence, owner_, request_.input, "input");
    if (auto* error = std::get_if<ApiError>(&own))
        return std::move(*error);
    items_ = std::get<Json>(std::move(before));
    std::size_t past_items = items_.size();
    for (Json& item : std::get<Json>(own))
        items_.push_back(std::move(item));
    for (auto lonely = result_without_call(items_); lonely; lonely = result_without_call(items_)) {
        if (*lonely >= past_items)
            return no_call_before(items_[*lonely], "input");
        items_.erase(*lonely); // its call was deleted
        --past_items;
    }
    return std::nullopt;
}

/// Refuses features that this server, or the client's standard, does not have. Errors: 400.
std::optional<ApiError> Making::check_wishes() {
    for (const Json& tool : request_.told["tools"]) {
        if (form_.wording == Wording::openai || tool["type"] == "function")
            continue;
        return ApiError{.status = 400,
                        .message = fmt::format("Open Responses knows no {} tools: ask without `etna-dialect`",
                                               tool["type"].get<std::string>()),
                        .param = "tools",
                        .code = "unsupported_value"};
    }
    request_.stores = request_.stores && service_->persistence->stored_kinds().responses;
    if (request_.is_background && !request_.stores) {
        return ApiError{.status = 400,
                        .message =
                            "`background` needs a server that keeps responses, and this one keeps none",
                        .param = "background",
                        .code = "unsupported_value"};
    }
    return std::nullopt;
}

Json Making::object() const {
    Json json = to_json(response_);
    if (form_.wording == Wording::open_responses && json["text"]["format"]["type"] == "json_schema")
        json["text"]["format"].emplace("description", nullptr); // required, but nullable
    return json;
}

/// The items left after truncation, without results of truncated calls.
Json Making::left_items() const {
    Json left = Json::array();
    std::set<std::string> called;
    for (std::size_t i = dropped_; i < items_.size(); ++i) {
        const Json call = items_[i].value("call_id", Json());
        const bool is_result = items_[i].value("type", "message").ends_with("_output");
        if (is_result && !called.contains(call.get<std::string>()))
            continue;
        if (call.is_string())
            called.insert(call.get<std::string>());
        left.push_back(items_[i]);
    }
    return left;
}

/// Builds the chat completion that generates the response.
void Making::compose() {
    Json body = request_.chat;
    Json messages = messages_of(left_items(), request_.tool_names);
    if (request_.instructions)
        messages.insert(messages.begin(), Json({{"role", "system"}, {"content", *request_.instructions}}));
    if (messages.empty() && purpose_ == Purpose::count) // tools and template take tokens
        messages.push_back({{"role", "user"}, {"content", ""}});
    body["messages"] = std::move(messages);
    answering_->body = std::move(body);
}

std::variant<openai::GenerationCall, ApiError> Making::read(const Json& body,
                                                            const openai::RequestContext& context) {
    auto read = openai::read_chat(body, context);
    if (auto* error = std::get_if<ApiError>(&read))
        return in_words_of_responses(std::move(*error), request_);
    auto& call = std::get<openai::GenerationCall>(read);
    const generate::Request& wanted = call.requests.front();
    const auto& model = *answering_->model;
    const sampling::Parameters parameters = with_overrides(
        with_overrides(openai::sampling_defaults(context.dialect), model.recommended_sampling()),
        wanted.sampling);
    response_.told["temperature"] = decimal(parameters.temperature);
    response_.told["top_p"] = decimal(parameters.top_p);
    response_.told["presence_penalty"] = decimal(parameters.presence_penalty);
    response_.told["frequency_penalty"] = decimal(parameters.frequency_penalty);
    form_.tells_logprobs = wanted.logprobs.has_value();
    form_.tells_summary = request_.tells_summary;
    form_.may_call_several = request_.told["parallel_tool_calls"] == true;
    form_.calls_max = request_.calls_max;
    form_.tool_names = request_.tool_names;
    form_.told_stops = openai::told_stops(wanted, *context.tokenizer);
    form_.untold = openai::UntoldTokens(wanted, *context.tokenizer, text::TextPosition::start);
    if (request_.included.sealed_reasoning) {
        form_.seal = [this](const std::string& text) {
            auto sealed = service_->persistence->seal.seal(text, purpose_of(sealed_reasoning, owner_));
            return sealed ? std::move(*sealed) : std::string();
        };
    }
    tell_without_effect(request_, call.delivery);
    call.writer = [this](uint32_t, std::span<const TokenId>) {
        return std::make_unique<OutputWriter>(form_, output_);
    };
    return std::move(call);
}

std::optional<ApiError> Making::acquire(const std::function<bool()>& is_cancelled) {
    if (answering_->model != nullptr)
        return std::nullopt;
    const Status loaded = answering_->acquire(is_cancelled);
    return loaded ? std::nullopt : std::optional(answering_->failed(loaded.error()));
}

std::variant<std::size_t, ApiError> Making::count(const std::function<bool()>& is_cancelled) {
    if (auto error = acquire(is_cancelled))
        return std::move(*error);
    compose();
    auto read = openai::read_chat(answering_->body, {.dialect = answering_->dialect,
                                                     .limits = service_->options.limits,
                                                     .tokenizer = &answering_->model->tokenizer(),
                                                     .context_tokens = answering_->model->context_tokens()});
    if (auto* error = std::get_if<ApiError>(&read))
        return in_words_of_responses(std::move(*error), request_);
    auto& call = std::get<openai::GenerationCall>(read);
    const auto claim = [this](std::size_t bytes) {
        return answering_->memory == nullptr || answering_->memory->reserve(bytes);
    };
    const std::size_t held = answering_->memory == nullptr ? 0 : answering_->memory->bytes();
    const auto prompt = generate::encode(*answering_->model, call.requests.front(),
                                         {.is_cancelled = is_cancelled, .reserve_memory = claim});
    if (answering_->memory != nullptr)
        answering_->memory->shrink_to(held); // counting may run many times
    answering_->call.delivery = call.delivery;
    tell_without_effect(request_, answering_->call.delivery);
    if (!prompt)
        return answering_->failed(prompt.error());
    answering_->in_flight->set_status(200);
    return prompt->tokens.size();
}

std::variant<std::size_t, ApiError> Making::count_left(const std::function<bool()>& is_cancelled) {
    auto taken = count(is_cancelled);
    const auto* const tokens = std::get_if<std::size_t>(&taken);
    if (!request_.drops_oldest || tokens == nullptr || *tokens <= room().most)
        return taken;
    drop_to_fit(room().after_dropping, is_cancelled);
    return count(is_cancelled);
}

std::optional<ApiError> Making::leave_room(const std::function<bool()>& is_cancelled) {
    const auto taken = count(is_cancelled);
    if (const auto* error = std::get_if<ApiError>(&taken))
        return *error;
    if (std::get<std::size_t>(taken) > room().after_dropping)
        drop_to_fit(room().after_dropping, is_cancelled);
    return std::nullopt;
}

/// Drops the fewest oldest items with which the prompt has at most `tokens_max` tokens: up to a user message,
/// so that templates that require alternating turns work; up to any item if that is not enough. Drops all
/// droppable items if nothing suffices.
void Making::drop_to_fit(std::size_t tokens_max, const std::function<bool()>& is_cancelled) {
    const std::size_t end = std::max(droppable(items_), dropped_);
    std::vector<std::size_t> questions;
    std::vector<std::size_t> all;
    for (std::size_t i = dropped_ + 1; i <= end; ++i) {
        all.push_back(i);
        if (items_[i].value("role", "") == "user")
            questions.push_back(i);
    }
    if (!drop_to_one_of(questions, tokens_max, is_cancelled) &&
        !drop_to_one_of(all, tokens_max, is_cancelled))
        dropped_ = end;
}

/// Drops the items before the first of `places` for which the prompt is short enough; binary search. Returns
/// whether there is one.
bool Making::drop_to_one_of(const std::vector<std::size_t>& places, std::size_t tokens_max,
                            const std::function<bool()>& is_cancelled) {
    const std::size_t before = dropped_;
    std::size_t low = 0;
    std::size_t high = places.size();
    while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        dropped_ = places[middle];
        const auto taken = count(is_cancelled);
        const auto* const tokens = std::get_if<std::size_t>(&taken);
        if (is_cancelled())
            break;
        if (tokens != nullptr && *tokens <= tokens_max) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    dropped_ = high < places.size() ? places[high] : before;
    return high < places.size();
}

/// The maximum prompt tokens, and the target after truncation, which leaves room for the requested answer, up
/// to a fraction of the context.
Making::Room Making::room() const {
    constexpr std::size_t usual_answer = 1024;
    constexpr std::size_t answers_part = 4;
    const std::size_t context = answering_->model->context_tokens();
    const Json wanted = request_.told["max_output_tokens"];
    const std::size_t answer = wanted.is_null() ? usual_answer : wanted.get<std::size_t>();
    const std::size_t most = service_->options.limits.prompt_tokens_max.value_or(context - 1);
    return {.most = std::min(context - 1, most),
            .after_dropping = std::min(context - std::min(answer, context / answers_part), most)};
}

std::optional<ApiError> Making::begin(const std::function<bool()>& is_cancelled) {
    if (auto error = acquire(is_cancelled))
        return error;
    std::optional<ApiError> too_long; // the error with all items
    while (true) {
        compose();
        const auto error = answering_->begin(is_cancelled);
        if (!error)
            break;
        const bool is_too_long = error->code == "context_length_exceeded";
        if (!is_too_long || !request_.drops_oldest || dropped_ >= droppable(items_))
            return in_words_of_responses(too_long ? *too_long : *error, request_);
        if (too_long) {
            ++dropped_; // the estimate was too low
        } else {
            drop_to_fit(room().after_dropping, is_cancelled);
        }
        too_long = error;
    }
    if (dropped_ > 0)
        response_.told["etna"] = {{"dropped_items", items_.size() - left_items().size()}};
    has_begun_ = true;
    run_->set(object());
    return std::nullopt;
}

} // namespace etna::server::responses
