#include "server/fields.hpp"
#include "server/openai/active_request.hpp"
#include "server/openai/endpoints.hpp"
#include "server/openai/message_fields.hpp"
#include "server/pagination.hpp"
#include "server/persistence.hpp"

#include <utility>

#include <fmt/format.h>

namespace etna::server::openai {
namespace {

/// The store, and the API key whose chats a request can access.
struct OwnedStore {
    storage::Store* store; ///< borrowed
    storage::Owner owner;
};

std::variant<OwnedStore, ApiError> owned_store(Service& service, const HttpRequest& request) {
    if (!service.persistence->stored_kinds().completions)
        return storage_disabled("stored chats");
    return OwnedStore{.store = &*service.persistence->store,
                      .owner = owner_of(service.options.access, request)};
}

ApiError not_found(std::string_view id) {
    return {.status = 404,
            .message = fmt::format("there is no stored chat `{}`; requests with `store` create them", id),
            .param = "completion_id",
            .code = "completion_not_found"};
}

std::variant<storage::Completion, ApiError> find(const OwnedStore& owned, const std::string& id) {
    auto found = owned.store->completion(owned.owner, id);
    if (!found)
        return store_failed(found.error());
    if (!*found)
        return not_found(id);
    return std::move(**found);
}

std::variant<storage::Completion, ApiError> find(Service& service, const HttpRequest& request,
                                                 const Call& call) {
    const auto owned = owned_store(service, request);
    if (const auto* error = std::get_if<ApiError>(&owned))
        return *error;
    return find(std::get<OwnedStore>(owned), call.path_values.front());
}

storage::Metadata texts_of(const Json& metadata) {
    storage::Metadata texts;
    for (const auto& [name, value] : metadata.items())
        texts.emplace(name, value.get<std::string>());
    return texts;
}

storage::CompletionFilter read_filter(const HttpRequest& request) {
    constexpr std::string_view prefix = "metadata[";
    storage::CompletionFilter filter = {.model = query_value(request, "model"), .metadata = {}};
    for (const auto& [name, value] : request.query) {
        if (name.starts_with(prefix) && name.ends_with(']'))
            filter.metadata[name.substr(prefix.size(), name.size() - prefix.size() - 1)] = value;
    }
    return filter;
}

/// Converts a message to its form in the message list.
Json listed_message(const Json& message, std::string id) {
    Json listed = {{"id", std::move(id)}};
    listed.update(message);
    const Json content = message.value("content", Json());
    listed["content"] = content.is_array() ? Json(text_of_content(message)) : content;
    listed["content_parts"] = content.is_array() ? content : Json();
    listed.emplace("name", nullptr);
    listed.emplace("refusal", nullptr);
    return listed;
}

Json parsed(const std::string& text) {
    return parse_json(text);
}

} // namespace

std::optional<ApiError> store_chat(const ActiveRequest& active, Json object) {
    const ChatToStore& chat = *active.call.stored_chat;
    object["metadata"] = chat.metadata;
    object["request_id"] = active.request_id;
    object["service_tier"] = "default";
    for (const auto& [name, value] : chat.request_fields.items())
        object[name == "user" ? "input_user" : name] = value;
    const Status status = active.service->persistence->store->put({.id = active.envelope.id,
                                                                   .owner = active.owner,
                                                                   .model = active.model_name,
                                                                   .metadata = texts_of(chat.metadata),
                                                                   .object = dump_json(object),
                                                                   .messages = dump_json(chat.messages)});
    return status ? std::nullopt : std::optional(store_failed(status.error()));
}

HttpReply list_chats(Service& service, const HttpRequest& request, const Call& /*call*/) {
    const auto owned = owned_store(service, request);
    if (const auto* error = std::get_if<ApiError>(&owned))
        return reply_of(*error);
    const auto page_request = read_page(request, storage::Order::ascending);
    if (const auto* error = std::get_if<ApiError>(&page_request))
        return reply_of(*error);
    const auto& [store, owner] = std::get<OwnedStore>(owned);
    const auto page =
        store->completions(owner, read_filter(request), std::get<storage::PageRequest>(page_request));
    if (!page)
        return reply_of(store_failed(page.error()));
    if (!*page)
        return reply_of(unknown_cursor());
    return list_reply(**page);
}

HttpReply show_chat(Service& service, const HttpRequest& request, const Call& call) {
    const auto found = find(service, request, call);
    if (const auto* error = std::get_if<ApiError>(&found))
        return reply_of(*error);
    return {.body = std::get<storage::Completion>(found).object + "\n"};
}

HttpReply list_chat_messages(Service& service, const HttpRequest& request, const Call& call) {
    const auto found = find(service, request, call);
    if (const auto* error = std::get_if<ApiError>(&found))
        return reply_of(*error);
    const auto& chat = std::get<storage::Completion>(found);
    Json messages = Json::array();
    for (const Json& message : parsed(chat.messages))
        messages.push_back(listed_message(message, fmt::format("{}-{}", chat.id, messages.size())));
    return page_reply(request, std::move(messages), storage::Order::ascending);
}

HttpReply change_chat(Service& service, const HttpRequest& request, const Call& call) {
    const auto body = parse_body(request);
    if (const auto* error = std::get_if<ApiError>(&body))
        return reply_of(*error);
    Fields fields(std::get<Json>(body));
    fields.require_or_null("metadata");
    const Json metadata = read_metadata(fields);
    if (fields.problem())
        return reply_of(*fields.problem());
    OutputOptions output_options;
    output_options.ignored = fields.unknown();
    if (const auto refusal = refuse_unknown(is_strict(request), output_options))
        return reply_of(*refusal);
    const auto owned = owned_store(service, request);
    if (const auto* error = std::get_if<ApiError>(&owned))
        return reply_of(*error);
    const auto& [store, owner] = std::get<OwnedStore>(owned);
    std::string updated;
    const auto existed =
        store->change_completion(owner, call.path_values.front(), [&](storage::Completion& chat) {
            Json object = parsed(chat.object);
            object["metadata"] = metadata;
            chat.object = updated = dump_json(object);
            chat.metadata = texts_of(metadata);
        });
    if (!existed)
        return reply_of(store_failed(existed.error()));
    if (!*existed)
        return reply_of(not_found(call.path_values.front()));
    HttpReply reply = {.body = updated + "\n"};
    report_ignored(output_options, reply);
    return reply;
}

HttpReply remove_chat(Service& service, const HttpRequest& request, const Call& call) {
    const auto owned = owned_store(service, request);
    if (const auto* error = std::get_if<ApiError>(&owned))
        return reply_of(*error);
    const std::string& id = call.path_values.front();
    const auto& [store, owner] = std::get<OwnedStore>(owned);
    const auto existed = store->delete_completion(owner, id);
    if (!existed)
        return reply_of(store_failed(existed.error()));
    if (!*existed)
        return reply_of(not_found(id));
    return {.body = dump_json({{"object", "chat.completion.deleted"}, {"id", id}, {"deleted", true}}) + "\n"};
}

} // namespace etna::server::openai
