#include "server/faces/llamacpp/endpoints.hpp"
#include "server/faces/llamacpp/errors.hpp"

namespace etna::server::llamacpp {

std::vector<RouteOf<AnswerServices>> routes() {
    std::vector<RouteOf<AnswerServices>> routes;
    add_routes(routes, "completion",
               {{"POST", "/completion", "continues a text, in llama.cpp's API", complete}});
    add_routes(routes, "infill",
               {{"POST", "/infill", "fills the gap between two texts, in llama.cpp's API", infill}});
    add_routes(routes, "embeddings",
               {{"POST", "/embedding", "returns the embeddings of texts, in llama.cpp's API", embed}});
    const std::vector<RouteOf<AnswerServices>> others = {
        {"GET", "/props", "describes a model and its defaults", show_props},
        {"POST", "/props", "refused: the server's properties are its operator's", change_props},
        {"GET", "/slots", "lists the running answers, with --slots", list_slots},
        {"POST", "/slots/{id}", "refused: prompts are cached by their content", change_slot},
        {"POST", "/models/load", "loads a model into memory", load_model},
        {"POST", "/models/unload", "frees the memory of a model", unload_model},
        {"GET", "/lora-adapters", "an empty list", list_adapters},
        {"POST", "/lora-adapters", "refused: there are no adapters", change_adapters},
    };
    routes.insert(routes.end(), others.begin(), others.end());
    for (RouteOf<AnswerServices>& route : routes)
        route.write_error = write_error;
    return routes;
}

} // namespace etna::server::llamacpp
