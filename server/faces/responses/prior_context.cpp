#include "server/faces/responses/prior_context.hpp"

#include "server/api/owner.hpp"

#include <utility>

#include <fmt/format.h>

namespace etna::server::responses {
namespace {

ApiError cannot_continue(std::string_view member, std::string_view what) {
    return {.message = fmt::format("`{}` requires stored {}; this server stores none", member, what),
            .param = std::string(member),
            .code = "unsupported_parameter"};
}

/// Appends a list in the store's format.
void append(Json& items, const std::string& list) {
    Json parsed = parse_json(list);
    if (!parsed.is_array())
        return;
    for (Json& item : parsed)
        items.push_back(std::move(item));
}

ApiError interrupted_error(const std::string& id) {
    return {.message = fmt::format("the response `{}` was interrupted and cannot be continued", id),
            .param = "previous_response_id",
            .code = "previous_response_interrupted"};
}

ApiResult<PriorContext> load_response(Persistence& persistence, RunningResponses& running,
                                      const storage::Owner& owner, const std::string& id) {
    ETNA_TRY(auto history, from_store(persistence.store->history(owner, id)));
    if (!history) {
        const auto stream = running.find(owner, id);
        if (stream != nullptr && stream->is_unstored())
            return interrupted_error(id);
        const bool is_running = stream != nullptr && !stream->has_ended();
        return ApiError{.message = is_running ? fmt::format("the response `{}` is not finished yet", id)
                                              : fmt::format("there is no response `{}` to continue", id),
                        .param = "previous_response_id",
                        .code = is_running ? "previous_response_not_ready" : "previous_response_not_found"};
    }
    PriorContext context;
    for (const std::string& turn : history->turns()) {
        if (turn.empty())
            return interrupted_error(id);
        append(context.items, turn);
    }
    context.history = std::move(*history);
    return context;
}

ApiResult<PriorContext> load_conversation(storage::Store& store, const storage::Owner& owner,
                                          const std::string& id) {
    ETNA_TRY(const auto items, from_store(store.items(owner, id)));
    if (!items) {
        return ApiError{.status = 404,
                        .message = fmt::format("there is no conversation `{}`", id),
                        .param = "conversation",
                        .code = "conversation_not_found"};
    }
    PriorContext context;
    for (const storage::Item& item : *items)
        context.items.push_back(parse_json(item.body));
    return context;
}

/// The item with that id, from a response's turn or a conversation; null if not found.
Result<Json> item_of(storage::Store& store, const storage::Owner& owner, const std::string& id) {
    ETNA_TRY(const auto turn, store.turn_of_item(owner, id));
    for (const Json& item : turn ? parse_json(*turn) : Json::array()) {
        if (item["id"] == id)
            return item;
    }
    ETNA_TRY(const auto item, store.item(owner, id));
    return item ? parse_json(item->body) : Json();
}

ApiError wrong_item(const std::string& name, std::size_t index, std::string_view problem) {
    const std::string path = fmt::format("{}[{}]", name, index);
    return {.message = fmt::format("`{}` {}", path, problem), .param = path, .code = "invalid_value"};
}

} // namespace

ApiResult<PriorContext> load_prior_context(Persistence& persistence, RunningResponses& running,
                                           const storage::Owner& owner, const Request& request) {
    if (!request.previous && !request.conversation)
        return PriorContext();
    if (request.previous && !persistence.stored_kinds().responses)
        return cannot_continue("previous_response_id", "responses");
    if (request.conversation && !persistence.stored_kinds().conversations)
        return cannot_continue("conversation", "conversations");
    return request.previous ? load_response(persistence, running, owner, *request.previous)
                            : load_conversation(*persistence.store, owner, *request.conversation);
}

ApiResult<Json> resolve_references(Persistence& persistence, const storage::Owner& owner, const Json& items,
                                   const std::string& name) {
    Json resolved = Json::array();
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (items[i]["type"] != "item_reference") {
            resolved.push_back(items[i]);
            continue;
        }
        if (!persistence.store) {
            return wrong_item(name, i,
                              "refers to a stored item; this server stores nothing: send the item itself");
        }
        ETNA_TRY(auto found, from_store(item_of(*persistence.store, owner,
                                                items[i]["id"].get_ref<const std::string&>())));
        if (found.is_null()) {
            return ApiError{
                .status = 404,
                .message = fmt::format("Item with id '{}' not found: it was not stored, or it was deleted",
                                       items[i]["id"].get<std::string>()),
                .param = name,
                .code = "item_not_found"};
        }
        resolved.push_back(std::move(found));
    }
    return resolved;
}

ApiResult<Json> unseal(const Persistence& persistence, const storage::Owner& owner, const Json& items,
                       const std::string& name) {
    Json resolved = Json::array();
    for (std::size_t i = 0; i < items.size(); ++i) {
        Json item = items[i];
        const Json type = item["type"]; // a copy: members are added to the item
        const Json sealed = item.value("encrypted_content", Json());
        const bool is_compaction = type == "compaction";
        const bool is_sealed_reasoning =
            type == "reasoning" && sealed.is_string() && item.value("content", Json::array()).empty();
        if (!is_compaction && !is_sealed_reasoning) {
            resolved.push_back(std::move(item));
            continue;
        }
        const auto opened =
            persistence.seal.unseal(sealed.get_ref<const std::string&>(),
                                    purpose_of(is_compaction ? sealed_items : sealed_reasoning, owner));
        if (!opened)
            return wrong_item(name, i, opened.error().message);
        if (is_compaction) {
            append(resolved, *opened);
            continue;
        }
        item["content"] = Json::array({{{"type", "reasoning_text"}, {"text", *opened}}});
        resolved.push_back(std::move(item));
    }
    return resolved;
}

} // namespace etna::server::responses
