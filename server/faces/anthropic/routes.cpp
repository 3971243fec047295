#include "server/faces/anthropic/endpoints.hpp"
#include "server/faces/anthropic/errors.hpp"

namespace etna::server::anthropic {

std::vector<RouteOf<AnswerServices>> routes() {
    std::vector<RouteOf<AnswerServices>> routes;
    add_routes(routes, "messages",
               {{"POST", "/v1/messages", "answers a message, in Anthropic's API", create_message},
                {"POST", "/v1/messages/count_tokens", "counts the input tokens of a message", count_tokens}});
    for (RouteOf<AnswerServices>& route : routes)
        route.write_error = write_error;
    return routes;
}

std::vector<RouteOf<AnswerServices>> model_routes() {
    return {{"GET", "/v1/models", "lists the models", list_models},
            {"GET", "/v1/models/{model}", "describes one model", show_model}};
}

} // namespace etna::server::anthropic
