#include "server/faces/ollama/endpoints.hpp"
#include "server/faces/ollama/errors.hpp"

#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace etna::server::ollama {
namespace {

/// Returns the error for a part of the API that this server does not implement.
ApiError not_implemented(std::string_view what, std::string_view remedy) {
    return {.status = 501,
            .message = fmt::format("{} is not supported by this server; {}", what, remedy),
            .code = "not_implemented"};
}

} // namespace

ApiResult<HttpReply> refuse_create(AnswerServices& /*services*/, const HttpRequest& /*request*/,
                                   const RoutedRequest& /*routed*/) {
    return not_implemented("creating models", "use `etna create` on its machine");
}

ApiResult<HttpReply> refuse_push(AnswerServices& /*services*/, const HttpRequest& /*request*/,
                                 const RoutedRequest& /*routed*/) {
    return not_implemented("pushing models", "upload the file with the hub's own tools");
}

ApiResult<HttpReply> refuse_blob(AnswerServices& /*services*/, const HttpRequest& /*request*/,
                                 const RoutedRequest& /*routed*/) {
    return not_implemented("uploading files of models", "use `etna create` on its machine");
}

ApiResult<HttpReply> find_blob(AnswerServices& /*services*/, const HttpRequest& /*request*/,
                               const RoutedRequest& routed) {
    return ApiError{.status = 404,
                    .message = fmt::format("blob '{}' not found", routed.path_values.front().substr(0, 100)),
                    .code = "not_found"};
}

std::vector<RouteOf<AnswerServices>> routes() {
    std::vector<RouteOf<AnswerServices>> routes = {
        {"POST", "/api/chat", "answers a chat, in Ollama's API", chat},
        {"POST", "/api/generate", "answers or continues a prompt, in Ollama's API", generate_text},
        {"POST", "/api/embed", "returns the embeddings of texts, in Ollama's API", embed},
        {"POST", "/api/embeddings", "returns the embedding of a text, in Ollama's older API", embeddings},
        {"GET", "/api/tags", "lists the models, in Ollama's API", list_models},
        {"GET", "/api/ps", "lists the models in memory, in Ollama's API", list_running},
        {"POST", "/api/show", "describes a model, in Ollama's API", show_model},
        {"GET", "/api/version", "the server's version, in Ollama's API", show_version},
        {"POST", "/api/pull", "fetches a model; requires --api ollama", pull_model},
        {"POST", "/api/copy", "gives a model a second name; requires --api ollama", copy_model},
        {"DELETE", "/api/delete", "removes a stored model; requires --api ollama", delete_model},
        {"POST", "/api/create", "refused: models are created by etna create", refuse_create},
        {"POST", "/api/push", "refused: models are not uploaded", refuse_push},
        {"POST", "/api/blobs/{digest}", "refused: models are created by etna create", refuse_blob},
        {"GET", "/api/blobs/{digest}", "finds no uploaded file", find_blob},
    };
    for (RouteOf<AnswerServices>& route : routes)
        route.write_error = write_error;
    return routes;
}

} // namespace etna::server::ollama
