// /v1/conversations: items appended by responses and by clients. Source: OpenAI API 2.3.0, /conversations.
#include "server/fields.hpp"
#include "server/ids.hpp"
#include "server/openai/generation_call.hpp"
#include "server/pagination.hpp"
#include "server/responses/endpoints.hpp"
#include "server/responses/items.hpp"
#include "server/responses/past.hpp"
#include "server/service.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace etna::server::responses {
namespace {

constexpr std::size_t items_at_once_max = 20;
constexpr int64_t us_per_second = 1'000'000;

ApiError not_found(std::string_view what, std::string_view id) {
    return {.status = 404,
            .message = fmt::format("there is no {} `{}`", what, id),
            .param = fmt::format("{}_id", what),
            .code = fmt::format("{}_not_found", what)};
}

/// The conversations of one API key.
struct Shelf {
    storage::Store* store; ///< borrowed
    storage::Owner owner;
    std::string id; ///< the conversation in the path
};

std::variant<Shelf, ApiError> shelf_of(Service& service, const HttpRequest& request, const Call& call) {
    if (!service.persistence->stored_kinds().conversations)
        return storage_disabled("conversations");
    return Shelf{.store = &*service.persistence->store,
                 .owner = owner_of(service.options.access, request),
                 .id = call.path_values.empty() ? std::string() : call.path_values.front()};
}

Json json_of(const std::string& text) {
    return parse_json(text);
}

HttpReply json_reply(const Json& json) {
    return {.body = text_of(json) + "\n"};
}

Json conversation_json(const storage::Conversation& conversation) {
    return {{"id", conversation.id},
            {"object", "conversation"},
            {"created_at", conversation.created_us / us_per_second},
            {"metadata", json_of(conversation.metadata)}};
}

HttpReply conversation_reply(const Shelf& shelf) {
    const auto found = shelf.store->conversation(shelf.owner, shelf.id);
    if (!found)
        return reply_of(store_failed(found.error()));
    return *found ? json_reply(conversation_json(**found)) : reply_of(not_found("conversation", shelf.id));
}

HttpReply noting(const openai::Delivery& delivery, HttpReply reply) {
    openai::tell_ignored(delivery, reply);
    return reply;
}

/// Duplicate items, or items over the storage limit, are a client error.
ApiError not_added(const Error& error) {
    if (error.kind != ErrorKind::invalid_argument)
        return store_failed(error);
    return {.status = 400, .message = message_for_client(error), .param = "items", .code = "invalid_value"};
}

/// The parsed request: items with new ids, and metadata.
struct Brought {
    std::vector<storage::Item> items;
    Json told = Json::array();
    Json metadata;
    openai::Delivery delivery; ///< unknown fields
};

/// The items to store, with references resolved. Refuses sealed items that cannot be unsealed, and results of
/// calls that are neither in `past` nor among the items.
std::variant<Json, ApiError> read_whole_items(Fields& fields, Persistence& persistence,
                                              const storage::Owner& owner, Json past) {
    const Json given = read_items(fields, "items");
    if (fields.problem())
        return *fields.problem();
    auto items = with_references(persistence, owner, given, "items");
    if (std::holds_alternative<ApiError>(items))
        return items;
    const auto opened = unsealed(persistence, owner, std::get<Json>(items), "items");
    if (const auto* error = std::get_if<ApiError>(&opened))
        return *error;
    for (const Json& item : std::get<Json>(opened))
        past.push_back(item);
    if (const auto lonely = result_without_call(past))
        return no_call_before(past[*lonely], "items");
    return items;
}

/// The conversation's items that may contain calls. Error: 404.
std::variant<Json, ApiError> past_of(Persistence& persistence, const Shelf& shelf) {
    const auto items = shelf.store->items(shelf.owner, shelf.id);
    if (!items)
        return store_failed(items.error());
    if (!*items)
        return not_found("conversation", shelf.id);
    Json past = Json::array();
    for (const storage::Item& item : **items) {
        Json json = json_of(item.body);
        const std::string type = json.value("type", "");
        if (type.ends_with("_call") || type == "compaction") // may contain calls
            past.push_back(std::move(json));
    }
    return unsealed(persistence, shelf.owner, past, "items");
}

/// Whether a request's items include the result of a call.
bool has_results(const Json* items) {
    return items != nullptr && std::any_of(items->begin(), items->end(), [](const Json& item) {
               const Json type = item.is_object() ? item.value("type", Json()) : Json();
               return type.is_string() && type.get_ref<const std::string&>().ends_with("_output");
           });
}

/// Reads the body that creates or extends a conversation. With `is_new`, items and body are optional.
std::variant<Brought, ApiError> read_brought(Persistence& persistence, const Shelf& shelf,
                                             const HttpRequest& request, bool is_new) {
    const auto body =
        request.body.empty() ? std::variant<Json, ApiError>(Json::object()) : parse_body(request);
    if (const auto* error = std::get_if<ApiError>(&body))
        return *error;
    Fields fields(std::get<Json>(body));
    Brought brought;
    if (is_new)
        brought.metadata = read_metadata(fields);
    else
        fields.require("items");
    const Json* const given = fields.list("items");
    if (given != nullptr && given->size() > items_at_once_max) {
        fields.refuse(
            "items",
            fmt::format("has {} items; at most {} are taken at once", given->size(), items_at_once_max),
            "array_above_max_length");
    }
    std::variant<Json, ApiError> past = Json::array();
    if (!is_new && has_results(given))
        past = past_of(persistence, shelf);
    if (const auto* error = std::get_if<ApiError>(&past))
        return *error;
    auto items = read_whole_items(fields, persistence, shelf.owner, std::get<Json>(std::move(past)));
    if (const auto* error = std::get_if<ApiError>(&items))
        return *error;
    brought.delivery.ignored = fields.unknown();
    if (auto refusal = openai::refuse_unknown(openai::is_strict(request), brought.delivery))
        return std::move(*refusal);
    brought.told = std::get<Json>(std::move(items));
    for (const Json& item : brought.told)
        brought.items.push_back({.id = item["id"].get<std::string>(), .body = text_of(item)});
    return brought;
}

} // namespace

HttpReply create_conversation(Service& service, const HttpRequest& request, const Call& call) {
    const auto shelf = shelf_of(service, request, call);
    if (const auto* error = std::get_if<ApiError>(&shelf))
        return reply_of(*error);
    const auto brought = read_brought(*service.persistence, std::get<Shelf>(shelf), request, /*is_new=*/true);
    if (const auto* error = std::get_if<ApiError>(&brought))
        return reply_of(*error);
    const auto& [items, told, metadata, delivery] = std::get<Brought>(brought);
    Shelf own = std::get<Shelf>(shelf);
    own.id = new_id("conv_");
    const Status made =
        own.store->create({.id = own.id, .owner = own.owner, .metadata = text_of(metadata)}, items);
    return made ? noting(delivery, conversation_reply(own)) : reply_of(not_added(made.error()));
}

HttpReply show_conversation(Service& service, const HttpRequest& request, const Call& call) {
    const auto shelf = shelf_of(service, request, call);
    if (const auto* error = std::get_if<ApiError>(&shelf))
        return reply_of(*error);
    return conversation_reply(std::get<Shelf>(shelf));
}

HttpReply change_conversation(Service& service, const HttpRequest& request, const Call& call) {
    const auto shelf = shelf_of(service, request, call);
    if (const auto* error = std::get_if<ApiError>(&shelf))
        return reply_of(*error);
    const auto body = parse_body(request);
    if (const auto* error = std::get_if<ApiError>(&body))
        return reply_of(*error);
    Fields fields(std::get<Json>(body));
    fields.require_or_null("metadata");
    const Json metadata = read_metadata(fields);
    if (fields.problem())
        return reply_of(*fields.problem());
    openai::Delivery delivery;
    delivery.ignored = fields.unknown();
    if (const auto refusal = openai::refuse_unknown(openai::is_strict(request), delivery))
        return reply_of(*refusal);
    const auto& own = std::get<Shelf>(shelf);
    const auto changed = own.store->set_metadata(own.owner, own.id, text_of(metadata));
    if (!changed)
        return reply_of(store_failed(changed.error()));
    return noting(delivery, conversation_reply(own));
}

HttpReply remove_conversation(Service& service, const HttpRequest& request, const Call& call) {
    const auto shelf = shelf_of(service, request, call);
    if (const auto* error = std::get_if<ApiError>(&shelf))
        return reply_of(*error);
    const auto& own = std::get<Shelf>(shelf);
    const auto was_there = own.store->delete_conversation(own.owner, own.id);
    if (!was_there)
        return reply_of(store_failed(was_there.error()));
    if (!*was_there)
        return reply_of(not_found("conversation", own.id));
    return json_reply({{"id", own.id}, {"object", "conversation.deleted"}, {"deleted", true}});
}

HttpReply add_items(Service& service, const HttpRequest& request, const Call& call) {
    const auto shelf = shelf_of(service, request, call);
    if (const auto* error = std::get_if<ApiError>(&shelf))
        return reply_of(*error);
    auto brought = read_brought(*service.persistence, std::get<Shelf>(shelf), request, /*is_new=*/false);
    if (const auto* error = std::get_if<ApiError>(&brought))
        return reply_of(*error);
    const auto& own = std::get<Shelf>(shelf);
    auto& given = std::get<Brought>(brought);
    const auto added =
        own.store->add_items(own.owner, {.conversation = own.id, .items = std::move(given.items)});
    if (!added)
        return reply_of(not_added(added.error()));
    return *added ? noting(given.delivery, list_reply(std::move(given.told), /*has_more=*/false))
                  : reply_of(not_found("conversation", own.id));
}

HttpReply list_items(Service& service, const HttpRequest& request, const Call& call) {
    const auto shelf = shelf_of(service, request, call);
    if (const auto* error = std::get_if<ApiError>(&shelf))
        return reply_of(*error);
    const auto wish = read_page(request, storage::Order::descending);
    if (const auto* error = std::get_if<ApiError>(&wish))
        return reply_of(*error);
    const auto& own = std::get<Shelf>(shelf);
    const auto page = own.store->items(own.owner, own.id, std::get<storage::PageRequest>(wish));
    if (!page)
        return reply_of(store_failed(page.error()));
    if (*page)
        return list_reply(**page);
    const auto there = own.store->conversation(own.owner, own.id);
    if (!there)
        return reply_of(store_failed(there.error()));
    return reply_of(*there ? unknown_cursor() : not_found("conversation", own.id));
}

HttpReply show_item(Service& service, const HttpRequest& request, const Call& call) {
    const auto shelf = shelf_of(service, request, call);
    if (const auto* error = std::get_if<ApiError>(&shelf))
        return reply_of(*error);
    const auto& own = std::get<Shelf>(shelf);
    const auto item = own.store->item(own.owner, own.id, call.path_values.back());
    if (!item)
        return reply_of(store_failed(item.error()));
    return *item ? json_reply(json_of((*item)->body)) : reply_of(not_found("item", call.path_values.back()));
}

HttpReply remove_item(Service& service, const HttpRequest& request, const Call& call) {
    const auto shelf = shelf_of(service, request, call);
    if (const auto* error = std::get_if<ApiError>(&shelf))
        return reply_of(*error);
    const auto& own = std::get<Shelf>(shelf);
    const auto was_there = own.store->delete_item(own.owner, own.id, call.path_values.back());
    if (!was_there)
        return reply_of(store_failed(was_there.error()));
    return *was_there ? conversation_reply(own) : reply_of(not_found("item", call.path_values.back()));
}

} // namespace etna::server::responses
