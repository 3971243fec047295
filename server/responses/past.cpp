#include "server/responses/past.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace etna::server::responses {
namespace {

ApiError nothing_is_kept(std::string_view member) {
    return {.status = 400,
            .message =
                fmt::format("`{}` needs a server that keeps responses, and this one keeps nothing", member),
            .param = std::string(member),
            .code = "unsupported_parameter"};
}

/// Lists as the store keeps them, one after the other.
void append(Json& items, const std::string& list) {
    for (Json& item : Json::parse(list, nullptr, /*allow_exceptions=*/false))
        items.push_back(std::move(item));
}

std::variant<Past, ApiError> load_response(Keeping& keeping, const memory::Owner& owner,
                                           const std::string& id) {
    auto history = keeping.store->history(owner, id);
    if (!history)
        return store_failed(history.error());
    if (!*history) {
        const bool is_running = keeping.runs.find(owner, id) != nullptr;
        return ApiError{.status = 400,
                        .message = is_running ? fmt::format("the response `{}` is not finished yet", id)
                                              : fmt::format("there is no response `{}` to go on from", id),
                        .param = "previous_response_id",
                        .code = is_running ? "previous_response_not_ready" : "previous_response_not_found"};
    }
    Past past;
    for (const std::string& turn : (*history)->turns())
        append(past.items, turn);
    past.history = std::move(**history);
    return past;
}

std::variant<Past, ApiError> load_conversation(memory::Store& store, const memory::Owner& owner,
                                               const std::string& id) {
    const auto items = store.items(owner, id);
    if (!items)
        return store_failed(items.error());
    if (!*items)
        return ApiError{.status = 404,
                        .message = fmt::format("there is no conversation `{}`", id),
                        .param = "conversation",
                        .code = "conversation_not_found"};
    Past past;
    for (const memory::Item& item : **items)
        past.items.push_back(Json::parse(item.body, nullptr, /*allow_exceptions=*/false));
    return past;
}

ApiError wrong_item(const std::string& name, std::size_t index, std::string_view problem) {
    const std::string place = fmt::format("{}[{}]", name, index);
    return {.status = 400,
            .message = fmt::format("`{}` {}", place, problem),
            .param = place,
            .code = "invalid_value"};
}

} // namespace

memory::Owner owner_of(const AccessRules& access, const HttpRequest& request) {
    return access.api_keys.empty() ? memory::Owner() : fingerprint(given_key(request));
}

ApiError store_failed(const Error& error) {
    return {.status = error.kind == ErrorKind::invalid_argument ? 400 : 500,
            .message = "what the server keeps cannot be used: " + error.message,
            .type = error.kind == ErrorKind::invalid_argument ? "invalid_request_error" : "server_error",
            .code = "store_failed"};
}

std::variant<Past, ApiError> load_past(Keeping& keeping, const memory::Owner& owner, const Request& request) {
    if (!request.previous && !request.conversation)
        return Past();
    if (!keeping.store)
        return nothing_is_kept(request.previous ? "previous_response_id" : "conversation");
    return request.previous ? load_response(keeping, owner, *request.previous)
                            : load_conversation(*keeping.store, owner, *request.conversation);
}

std::variant<Json, ApiError> resolved(const Keeping& keeping, const Json& items, const std::string& name) {
    Json whole = Json::array();
    for (std::size_t i = 0; i < items.size(); ++i) {
        Json item = items[i];
        const Json& type = item["type"];
        if (type == "compaction") {
            const auto opened =
                keeping.seal.unseal(item["encrypted_content"].get<std::string>(), sealed_items);
            if (!opened)
                return wrong_item(name, i, opened.error().message);
            append(whole, *opened);
            continue;
        }
        const Json sealed = type == "reasoning" ? item.value("encrypted_content", Json()) : Json();
        if (sealed.is_string() && item.value("content", Json::array()).empty()) {
            const auto opened = keeping.seal.unseal(sealed.get<std::string>(), sealed_reasoning);
            if (!opened)
                return wrong_item(name, i, opened.error().message);
            item["content"] = Json::array({{{"type", "reasoning_text"}, {"text", *opened}}});
        }
        if (type == "item_reference")
            return wrong_item(name, i, "refers to an item: send the item itself, or go on from its response");
        whole.push_back(std::move(item));
    }
    return whole;
}

} // namespace etna::server::responses
