#include "server/api/owner.hpp"
#include "server/api/pagination.hpp"
#include "server/api/persistence.hpp"
#include "server/api/request_body.hpp"
#include "server/base/fields.hpp"
#include "server/faces/openai/completion_job.hpp"
#include "server/faces/openai/endpoints.hpp"
#include "server/faces/openai/message_fields.hpp"

#include <utility>

#include <fmt/format.h>

namespace etna::server::openai {
namespace {

/// The store, and the API key whose chats a request can access.
struct OwnedStore {
    storage::Store* store; ///< borrowed
    storage::Owner owner;
};

ApiResult<OwnedStore> owned_store(AnswerServices& services, const HttpRequest& request) {
    if (!services.persistence->stored_kinds().completions)
        return storage_disabled("stored chats");
    return OwnedStore{.store = &*services.persistence->store,
                      .owner = owner_of(services.options.access, request)};
}

ApiError not_found(std::string_view id) {
    return {.status = 404,
            .message = fmt::format("there is no stored chat `{}`; requests with `store` create them", id),
            .param = "completion_id",
            .code = "completion_not_found"};
}

ApiResult<storage::Completion> find(AnswerServices& services, const HttpRequest& request,
                                    const RoutedRequest& routed) {
    ETNA_TRY(const auto owned, owned_store(services, request));
    const std::string& id = routed.path_values.front();
    ETNA_TRY(auto found, from_store(owned.store->completion(owned.owner, id)));
    if (!found)
        return not_found(id);
    return std::move(*found);
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

} // namespace

ApiStatus store_chat(const CompletionJob& job, Json object) {
    const ChatToStore& chat = *job.request().stored_chat;
    object["metadata"] = chat.metadata;
    object["request_id"] = job.active.request_id();
    object["service_tier"] = "default";
    for (const auto& [name, value] : chat.request_fields.items())
        object[name == "user" ? "input_user" : name] = value;
    const Status status =
        job.active.services().persistence->store->put({.id = job.envelope().id,
                                                       .owner = job.active.owner(),
                                                       .model = job.active.model_name(),
                                                       .metadata = texts_of(chat.metadata),
                                                       .object = dump_json(object),
                                                       .messages = dump_json(chat.messages)});
    return status ? ApiStatus() : store_failed(status.error());
}

ApiResult<HttpReply> list_chats(AnswerServices& services, const HttpRequest& request,
                                const RoutedRequest& /*routed*/) {
    ETNA_TRY(const auto owned, owned_store(services, request));
    ETNA_TRY(const auto page_request, read_page(request, storage::Order::ascending));
    const auto& [store, owner] = owned;
    ETNA_TRY(const auto page, from_store(store->completions(owner, read_filter(request), page_request)));
    if (!page)
        return unknown_cursor();
    return list_reply(*page);
}

ApiResult<HttpReply> show_chat(AnswerServices& services, const HttpRequest& request,
                               const RoutedRequest& routed) {
    ETNA_TRY(const auto found, find(services, request, routed));
    return HttpReply{.body = found.object + "\n"};
}

ApiResult<HttpReply> list_chat_messages(AnswerServices& services, const HttpRequest& request,
                                        const RoutedRequest& routed) {
    ETNA_TRY(const auto chat, find(services, request, routed));
    Json messages = Json::array();
    for (const Json& message : parse_json(chat.messages))
        messages.push_back(listed_message(message, fmt::format("{}-{}", chat.id, messages.size())));
    return page_reply(request, std::move(messages), storage::Order::ascending);
}

ApiResult<HttpReply> change_chat(AnswerServices& services, const HttpRequest& request,
                                 const RoutedRequest& routed) {
    ETNA_TRY(const auto body, parse_body(request));
    Fields fields(body);
    fields.require_or_null("metadata");
    const Json metadata = read_metadata(fields);
    ETNA_CHECK(fields.status());
    const api::IgnoredMembers ignored = {.unknown = fields.unknown()};
    ETNA_CHECK(api::refuse_unknown(api::is_strict(request), ignored));
    ETNA_TRY(const auto owned, owned_store(services, request));
    const auto& [store, owner] = owned;
    std::string updated;
    ETNA_TRY(const auto existed, from_store(store->change_completion(
                                     owner, routed.path_values.front(), [&](storage::Completion& chat) {
                                         Json object = parse_json(chat.object);
                                         object["metadata"] = metadata;
                                         chat.object = updated = dump_json(object);
                                         chat.metadata = texts_of(metadata);
                                     })));
    if (!existed)
        return not_found(routed.path_values.front());
    HttpReply reply = {.body = updated + "\n"};
    api::report_ignored(ignored, reply);
    return reply;
}

ApiResult<HttpReply> remove_chat(AnswerServices& services, const HttpRequest& request,
                                 const RoutedRequest& routed) {
    ETNA_TRY(const auto owned, owned_store(services, request));
    const std::string& id = routed.path_values.front();
    const auto& [store, owner] = owned;
    ETNA_TRY(const auto existed, from_store(store->delete_completion(owner, id)));
    if (!existed)
        return not_found(id);
    return HttpReply{
        .body = dump_json({{"object", "chat.completion.deleted"}, {"id", id}, {"deleted", true}}) + "\n"};
}

} // namespace etna::server::openai
