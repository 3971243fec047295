// /v1/conversations: items appended by responses and by clients. Source: OpenAI API 2.3.0, /conversations.
#include "server/api/generation_call.hpp"
#include "server/api/owner.hpp"
#include "server/api/pagination.hpp"
#include "server/api/request_body.hpp"
#include "server/base/fields.hpp"
#include "server/base/ids.hpp"
#include "server/faces/responses/endpoints.hpp"
#include "server/faces/responses/items.hpp"
#include "server/faces/responses/prior_context.hpp"
#include "server/faces/responses/services.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace etna::server::responses {
namespace {

constexpr std::size_t added_items_max = 20;
constexpr int64_t us_per_second = 1'000'000;

ApiError not_found(std::string_view what, std::string_view id) {
    return {.status = 404,
            .message = fmt::format("there is no {} `{}`", what, id),
            .param = fmt::format("{}_id", what),
            .code = fmt::format("{}_not_found", what)};
}

/// The store, and the API key whose conversations a request can access.
struct OwnedStore {
    storage::Store* store; ///< borrowed
    storage::Owner owner;
    std::string id; ///< the conversation in the path
};

ApiResult<OwnedStore> owned_store(const Services& services, const HttpRequest& request,
                                  const RoutedRequest& routed) {
    if (!services.answers.persistence->stored_kinds().conversations)
        return storage_disabled("conversations");
    return OwnedStore{.store = &*services.answers.persistence->store,
                      .owner = owner_of(services.answers.options.access, request),
                      .id = routed.path_values.empty() ? std::string() : routed.path_values.front()};
}

HttpReply json_reply(const Json& json) {
    return {.body = dump_json(json) + "\n"};
}

Json conversation_json(const storage::Conversation& conversation) {
    return {{"id", conversation.id},
            {"object", "conversation"},
            {"created_at", conversation.created_us / us_per_second},
            {"metadata", parse_json(conversation.metadata)}};
}

ApiResult<HttpReply> conversation_reply(const OwnedStore& owned) {
    const auto found = owned.store->conversation(owned.owner, owned.id);
    if (!found)
        return store_failed(found.error());
    if (!*found)
        return not_found("conversation", owned.id);
    return json_reply(conversation_json(**found));
}

HttpReply with_ignored(const api::IgnoredMembers& ignored, HttpReply reply) {
    api::report_ignored(ignored, reply);
    return reply;
}

/// Duplicate items, or items over the storage limit, are a client error.
ApiError not_added(const Error& error) {
    if (error.kind != ErrorKind::invalid_argument)
        return store_failed(error);
    return {.message = message_for_client(error), .param = "items", .code = "invalid_value"};
}

/// The parsed request: items with new ids, and metadata.
struct ItemsRequest {
    std::vector<storage::Item> items;
    Json echoed = Json::array(); ///< the items as returned
    Json metadata;
    api::IgnoredMembers ignored;
};

/// The items to store, with references resolved. Refuses sealed items that cannot be unsealed, and results of
/// calls that are neither in `prior` nor among the items.
ApiResult<Json> read_new_items(Fields& fields, const api::FileTexts& files, Persistence& persistence,
                               const storage::Owner& owner, Json prior) {
    const Json given = read_items(fields, "items", files);
    ETNA_CHECK(fields.status());
    ETNA_TRY(auto items, resolve_references(persistence, owner, given, "items"));
    ETNA_TRY(const auto opened, unseal(persistence, owner, items, "items"));
    for (const Json& item : opened)
        prior.push_back(item);
    if (const auto orphan = result_without_call(prior))
        return missing_call_error(prior[*orphan], "items");
    return items;
}

/// The conversation's items that may contain calls. Error: 404.
ApiResult<Json> prior_calls(Persistence& persistence, const OwnedStore& owned) {
    ETNA_TRY(const auto items, from_store(owned.store->items(owned.owner, owned.id)));
    if (!items)
        return not_found("conversation", owned.id);
    Json prior = Json::array();
    for (const storage::Item& item : *items) {
        Json json = parse_json(item.body);
        const std::string type = json.value("type", "");
        if (type.ends_with("_call") || type == "compaction") // may contain calls
            prior.push_back(std::move(json));
    }
    return unseal(persistence, owned.owner, prior, "items");
}

/// Whether a request's items include the result of a call.
bool has_results(const Json* items) {
    return items != nullptr && std::any_of(items->begin(), items->end(), [](const Json& item) {
               const Json type = item.is_object() ? item.value("type", Json()) : Json();
               return type.is_string() && type.get_ref<const std::string&>().ends_with("_output");
           });
}

/// Reads the body that creates or extends a conversation. With `is_new`, items and body are optional.
ApiResult<ItemsRequest> read_items_request(const Services& services, const OwnedStore& owned,
                                           const HttpRequest& request, bool is_new) {
    Persistence& persistence = *services.answers.persistence;
    ETNA_TRY(const auto body, request.body.empty() ? ApiResult<Json>(Json::object()) : parse_body(request));
    Fields fields(body);
    ItemsRequest parsed;
    if (is_new)
        parsed.metadata = read_metadata(fields);
    else
        fields.require("items");
    const Json* const given = fields.list("items");
    if (given != nullptr && given->size() > added_items_max) {
        fields.refuse("items",
                      fmt::format("has {} items; at most {} are allowed", given->size(), added_items_max),
                      "array_above_max_length");
    }
    ETNA_TRY(auto prior, !is_new && has_results(given) ? prior_calls(persistence, owned)
                                                       : ApiResult<Json>(Json::array()));
    ETNA_TRY(auto items, read_new_items(fields, api::file_texts(services.answers, request), persistence,
                                        owned.owner, std::move(prior)));
    parsed.ignored = {.unknown = fields.unknown()};
    ETNA_CHECK(api::refuse_unknown(api::is_strict(request), parsed.ignored));
    parsed.echoed = std::move(items);
    for (const Json& item : parsed.echoed)
        parsed.items.push_back({.id = item["id"].get<std::string>(), .body = dump_json(item)});
    return parsed;
}

} // namespace

ApiResult<HttpReply> create_conversation(const Services& services, const HttpRequest& request,
                                         const RoutedRequest& routed) {
    ETNA_TRY(auto own, owned_store(services, request, routed));
    ETNA_TRY(const auto parsed, read_items_request(services, own, request, /*is_new=*/true));
    own.id = new_id("conv_");
    const Status created = own.store->create(
        {.id = own.id, .owner = own.owner, .metadata = dump_json(parsed.metadata)}, parsed.items);
    if (!created)
        return not_added(created.error());
    ETNA_TRY(auto reply, conversation_reply(own));
    return with_ignored(parsed.ignored, std::move(reply));
}

ApiResult<HttpReply> show_conversation(const Services& services, const HttpRequest& request,
                                       const RoutedRequest& routed) {
    ETNA_TRY(const auto owned, owned_store(services, request, routed));
    return conversation_reply(owned);
}

ApiResult<HttpReply> change_conversation(const Services& services, const HttpRequest& request,
                                         const RoutedRequest& routed) {
    ETNA_TRY(const auto own, owned_store(services, request, routed));
    ETNA_TRY(const auto body, parse_body(request));
    Fields fields(body);
    fields.require_or_null("metadata");
    const Json metadata = read_metadata(fields);
    ETNA_CHECK(fields.status());
    const api::IgnoredMembers ignored = {.unknown = fields.unknown()};
    ETNA_CHECK(api::refuse_unknown(api::is_strict(request), ignored));
    if (const auto changed = own.store->set_metadata(own.owner, own.id, dump_json(metadata)); !changed)
        return store_failed(changed.error());
    ETNA_TRY(auto reply, conversation_reply(own));
    return with_ignored(ignored, std::move(reply));
}

ApiResult<HttpReply> remove_conversation(const Services& services, const HttpRequest& request,
                                         const RoutedRequest& routed) {
    ETNA_TRY(const auto own, owned_store(services, request, routed));
    ETNA_TRY(const auto existed, from_store(own.store->delete_conversation(own.owner, own.id)));
    if (!existed)
        return not_found("conversation", own.id);
    return json_reply({{"id", own.id}, {"object", "conversation.deleted"}, {"deleted", true}});
}

ApiResult<HttpReply> add_items(const Services& services, const HttpRequest& request,
                               const RoutedRequest& routed) {
    ETNA_TRY(const auto own, owned_store(services, request, routed));
    ETNA_TRY(auto given, read_items_request(services, own, request, /*is_new=*/false));
    const auto added =
        own.store->add_items(own.owner, {.conversation = own.id, .items = std::move(given.items)});
    if (!added)
        return not_added(added.error());
    if (!*added)
        return not_found("conversation", own.id);
    return with_ignored(given.ignored, list_reply(std::move(given.echoed), /*has_more=*/false));
}

ApiResult<HttpReply> list_items(const Services& services, const HttpRequest& request,
                                const RoutedRequest& routed) {
    ETNA_TRY(const auto own, owned_store(services, request, routed));
    ETNA_TRY(const auto page_request, read_page(request, storage::Order::descending));
    ETNA_TRY(const auto page, from_store(own.store->items(own.owner, own.id, page_request)));
    if (page)
        return list_reply(*page);
    ETNA_TRY(const auto conversation, from_store(own.store->conversation(own.owner, own.id)));
    return conversation ? unknown_cursor() : not_found("conversation", own.id);
}

ApiResult<HttpReply> show_item(const Services& services, const HttpRequest& request,
                               const RoutedRequest& routed) {
    ETNA_TRY(const auto own, owned_store(services, request, routed));
    ETNA_TRY(const auto item, from_store(own.store->item(own.owner, own.id, routed.path_values.back())));
    if (!item)
        return not_found("item", routed.path_values.back());
    return json_reply(parse_json(item->body));
}

ApiResult<HttpReply> remove_item(const Services& services, const HttpRequest& request,
                                 const RoutedRequest& routed) {
    ETNA_TRY(const auto own, owned_store(services, request, routed));
    ETNA_TRY(const auto existed,
             from_store(own.store->delete_item(own.owner, own.id, routed.path_values.back())));
    if (!existed)
        return not_found("item", routed.path_values.back());
    return conversation_reply(own);
}

} // namespace etna::server::responses
