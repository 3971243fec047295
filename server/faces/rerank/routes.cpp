#include "server/faces/rerank/endpoints.hpp"

namespace etna::server::rerank {

std::vector<RouteOf<AnswerServices>> routes() {
    std::vector<RouteOf<AnswerServices>> routes;
    for (const char* const path : {"/v1/rerank", "/rerank", "/v1/reranking", "/reranking"})
        add_routes(routes, "rerank",
                   {{"POST", path, "ranks documents by their relevance for a query", rerank}});
    for (RouteOf<AnswerServices>& route : routes)
        route.write_error = write_error;
    add_routes(routes, "rerank",
               {{"POST", "/v2/rerank", "ranks documents by their relevance for a query, in Cohere's API",
                 rerank_cohere}});
    routes.back().write_error = write_cohere_error;
    for (const char* const path : {"/v1/score", "/score"})
        add_routes(routes, "score", {{"POST", path, "scores texts against each other", score}});
    return routes;
}

} // namespace etna::server::rerank
