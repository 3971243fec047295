#include "server/faces/responses/response_prompt.hpp"

#include "server/api/persistence.hpp"
#include "server/api/sampling_fields.hpp"
#include "server/faces/responses/items.hpp"
#include "server/faces/responses/prior_context.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace etna::server::responses {
namespace {

/// Assigns new ids to items added to a conversation, so that ids do not collide.
void assign_new_ids(Json& items) {
    for (Json& item : items) {
        if (item["type"] != "item_reference")
            assign_new_id(item);
    }
}

/// Makes ids unique within a list, so that pages can start after an id.
void make_ids_unique(Json& items) {
    std::set<std::string> seen = {""};
    for (Json& item : items) {
        if (!seen.insert(item["id"].get<std::string>()).second)
            assign_new_id(item);
    }
}

Json without_cut_calls(Json items) {
    Json remaining = Json::array();
    for (Json& item : items) {
        if (!is_cut_call(item))
            remaining.push_back(std::move(item));
    }
    return remaining;
}

} // namespace

ApiStatus ResponsePrompt::load(Persistence& persistence, const storage::Owner& owner, const Json& context,
                               Request& request) {
    if (request.conversation)
        assign_new_ids(request.input);
    ETNA_TRY(auto input, resolve_references(persistence, owner, request.input, "input"));
    request.input = std::move(input);
    make_ids_unique(request.input);
    ETNA_TRY(auto prior, unseal(persistence, owner, context,
                                request.conversation ? "conversation" : "previous_response_id"));
    ETNA_TRY(auto own, unseal(persistence, owner, request.input, "input"));
    items_ = std::move(prior);
    items_ = without_cut_calls(std::move(items_));
    std::size_t prior_count = items_.size();
    for (Json& item : without_cut_calls(std::move(own)))
        items_.push_back(std::move(item));
    for (auto orphan = result_without_call(items_); orphan; orphan = result_without_call(items_)) {
        if (*orphan >= prior_count)
            return missing_call_error(items_[*orphan], "input");
        items_.erase(*orphan); // its call was deleted
        --prior_count;
    }
    return {};
}

Json ResponsePrompt::remaining_items() const {
    Json remaining = Json::array();
    std::set<std::string> called;
    for (std::size_t i = truncated_; i < items_.size(); ++i) {
        const Json call = items_[i].value("call_id", Json());
        const bool is_result = items_[i].value("type", "message").ends_with("_output");
        if (is_result && !called.contains(call.get<std::string>()))
            continue;
        if (call.is_string())
            called.insert(call.get<std::string>());
        remaining.push_back(items_[i]);
    }
    return remaining;
}

std::size_t ResponsePrompt::truncated_count() const {
    return truncated_ == 0 ? 0 : items_.size() - remaining_items().size();
}

ApiResult<api::GenerationCall> ResponsePrompt::call(const api::ActiveRequest& active,
                                                    const Request& request) const {
    std::vector<chat::Message> messages = messages_of(remaining_items(), request.tools.names);
    if (messages.empty() && !request.instructions) {
        if (purpose_ == Purpose::answer)
            return ApiError{.message = "`input` is empty", .param = "input", .code = "invalid_value"};
        messages.emplace_back(); // tools and template take tokens
    }
    return generation_call(request, std::move(messages),
                           active.context(api::sampling_defaults(active.dialect())));
}

ApiResult<std::size_t> ResponsePrompt::count(api::ActiveRequest& active, const Request& request,
                                             const CancelPoll& is_cancelled) const {
    ETNA_TRY(auto generation, call(active, request));
    return active.count_prompt(std::move(generation), is_cancelled);
}

bool ResponsePrompt::can_truncate() const {
    return truncated_ < removable_items(items_);
}

ResponsePrompt::Limits ResponsePrompt::limits(const api::ActiveRequest& active, const Request& request) {
    constexpr std::size_t default_answer_tokens = 1024;
    constexpr std::size_t answer_divisor = 4; // an answer reserves at most this part of the context
    const std::size_t context = active.model()->context_tokens();
    const Json requested = request.echoed["max_output_tokens"];
    const std::size_t answer = requested.is_null() ? default_answer_tokens : requested.get<std::size_t>();
    const std::size_t limit = active.services().options.limits.prompt_tokens_max.value_or(context - 1);
    return {.max = std::min(context - 1, limit),
            .after_truncation = std::min(context - std::min(answer, context / answer_divisor), limit)};
}

void ResponsePrompt::truncate(api::ActiveRequest& active, const Request& request,
                              const CancelPoll& is_cancelled) {
    const std::size_t tokens_max = limits(active, request).after_truncation;
    const std::size_t end = std::max(removable_items(items_), truncated_);
    std::vector<std::size_t> user_messages;
    std::vector<std::size_t> all;
    for (std::size_t i = truncated_ + 1; i <= end; ++i) {
        all.push_back(i);
        if (items_[i].value("role", "") == "user")
            user_messages.push_back(i);
    }
    if (!truncate_to_first_fit(user_messages, tokens_max, active, request, is_cancelled) &&
        !truncate_to_first_fit(all, tokens_max, active, request, is_cancelled))
        truncated_ = end;
}

/// Removes the items before the first of `starts` for which the prompt is short enough; binary search.
/// Returns whether there is one.
bool ResponsePrompt::truncate_to_first_fit(const std::vector<std::size_t>& starts, std::size_t tokens_max,
                                           api::ActiveRequest& active, const Request& request,
                                           const CancelPoll& is_cancelled) {
    const std::size_t before = truncated_;
    std::size_t low = 0;
    std::size_t high = starts.size();
    while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        truncated_ = starts[middle];
        const auto counted = count(active, request, is_cancelled);
        if (is_cancelled())
            break;
        if (counted && *counted <= tokens_max) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    truncated_ = high < starts.size() ? starts[high] : before;
    return high < starts.size();
}

} // namespace etna::server::responses
