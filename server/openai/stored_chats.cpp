#include "server/openai/stored_chats.hpp"

#include "server/fields.hpp"
#include "server/openai/message_fields.hpp"
#include "server/pagination.hpp"
#include "server/persistence.hpp"

#include <utility>

#include <fmt/format.h>

namespace etna::server::openai {
namespace {

/// The stored chats of one API key.
struct Shelf {
    storage::Store* store; ///< borrowed
    storage::Owner owner;
};

std::variant<Shelf, ApiError> shelf_of(Service& service, const HttpRequest& request) {
    if (!service.persistence->stored_kinds().completions)
        return storage_disabled("stored chats");
    return Shelf{.store = &*service.persistence->store, .owner = owner_of(service.options.access, request)};
}

ApiError not_found(std::string_view id) {
    return {.status = 404,
            .message =
                fmt::format("there is no stored chat `{}`: it is kept where the request says `store`", id),
            .param = "completion_id",
            .code = "completion_not_found"};
}

std::variant<storage::Completion, ApiError> find(const Shelf& shelf, const std::string& id) {
    auto found = shelf.store->completion(shelf.owner, id);
    if (!found)
        return store_failed(found.error());
    if (!*found)
        return not_found(id);
    return std::move(**found);
}

std::variant<storage::Completion, ApiError> find(Service& service, const HttpRequest& request,
                                                 const Call& call) {
    const auto shelf = shelf_of(service, request);
    if (const auto* error = std::get_if<ApiError>(&shelf))
        return *error;
    return find(std::get<Shelf>(shelf), call.path_values.front());
}

storage::Metadata texts_of(const Json& metadata) {
    storage::Metadata texts;
    for (const auto& [name, value] : metadata.items())
        texts.emplace(name, value.get<std::string>());
    return texts;
}

storage::CompletionFilter read_filter(const HttpRequest& request) {
    constexpr std::string_view begin = "metadata[";
    storage::CompletionFilter filter = {.model = query_value(request, "model"), .metadata = {}};
    for (const auto& [name, value] : request.query) {
        if (name.starts_with(begin) && name.ends_with(']'))
            filter.metadata[name.substr(begin.size(), name.size() - begin.size() - 1)] = value;
    }
    return filter;
}

/// Converts a message to its form in the message list.
Json told_message(const Json& message, std::string id) {
    Json told = {{"id", std::move(id)}};
    told.update(message);
    const Json content = message.value("content", Json());
    told["content"] = content.is_array() ? Json(text_of_content(message)) : content;
    told["content_parts"] = content.is_array() ? content : Json();
    told.emplace("name", nullptr);
    told.emplace("refusal", nullptr);
    return told;
}

Json parsed(const std::string& text) {
    return parse_json(text);
}

} // namespace

std::optional<ApiError> keep_chat(const Answering& answering, Json object) {
    const ChatToKeep& kept = *answering.call.kept;
    object["metadata"] = kept.metadata;
    object["request_id"] = answering.request_id;
    object["service_tier"] = "default";
    for (const auto& [name, value] : kept.asked.items())
        object[name == "user" ? "input_user" : name] = value;
    const Status status = answering.service->persistence->store->put({.id = answering.head.id,
                                                                      .owner = answering.owner,
                                                                      .model = answering.model_name,
                                                                      .metadata = texts_of(kept.metadata),
                                                                      .object = text_of(object),
                                                                      .messages = text_of(kept.messages)});
    return status ? std::nullopt : std::optional(store_failed(status.error()));
}

HttpReply list_chats(Service& service, const HttpRequest& request, const Call& /*call*/) {
    const auto shelf = shelf_of(service, request);
    if (const auto* error = std::get_if<ApiError>(&shelf))
        return reply_of(*error);
    const auto wish = read_page(request, storage::Order::ascending);
    if (const auto* error = std::get_if<ApiError>(&wish))
        return reply_of(*error);
    const auto& [store, owner] = std::get<Shelf>(shelf);
    const auto page = store->completions(owner, read_filter(request), std::get<storage::PageRequest>(wish));
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
    Json told = Json::array();
    for (const Json& message : parsed(chat.messages))
        told.push_back(told_message(message, fmt::format("{}-{}", chat.id, told.size())));
    return page_reply(request, std::move(told), storage::Order::ascending);
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
    Delivery delivery;
    delivery.ignored = fields.unknown();
    if (const auto refusal = refuse_unknown(is_strict(request), delivery))
        return reply_of(*refusal);
    const auto shelf = shelf_of(service, request);
    if (const auto* error = std::get_if<ApiError>(&shelf))
        return reply_of(*error);
    const auto& [store, owner] = std::get<Shelf>(shelf);
    std::string told;
    const auto was_there =
        store->change_completion(owner, call.path_values.front(), [&](storage::Completion& chat) {
            Json object = parsed(chat.object);
            object["metadata"] = metadata;
            chat.object = told = text_of(object);
            chat.metadata = texts_of(metadata);
        });
    if (!was_there)
        return reply_of(store_failed(was_there.error()));
    if (!*was_there)
        return reply_of(not_found(call.path_values.front()));
    HttpReply reply = {.body = told + "\n"};
    tell_ignored(delivery, reply);
    return reply;
}

HttpReply remove_chat(Service& service, const HttpRequest& request, const Call& call) {
    const auto shelf = shelf_of(service, request);
    if (const auto* error = std::get_if<ApiError>(&shelf))
        return reply_of(*error);
    const std::string& id = call.path_values.front();
    const auto& [store, owner] = std::get<Shelf>(shelf);
    const auto was_there = store->delete_completion(owner, id);
    if (!was_there)
        return reply_of(store_failed(was_there.error()));
    if (!*was_there)
        return reply_of(not_found(id));
    return {.body = text_of({{"object", "chat.completion.deleted"}, {"id", id}, {"deleted", true}}) + "\n"};
}

} // namespace etna::server::openai
