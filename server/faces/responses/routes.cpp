#include "server/faces/responses/dialect.hpp"
#include "server/faces/responses/endpoints.hpp"

namespace etna::server::responses {

std::vector<RouteOf<const Services>> routes() {
    std::vector<RouteOf<const Services>> routes;
    add_under_roots(
        routes, "responses",
        {{"POST", "/responses", "creates a response", create},
         {"POST", "/responses/input_tokens", "counts the input tokens of a response", count_input},
         {"POST", "/responses/compact", "compacts a conversation into one item", compact},
         {"POST", "/responses/{id}/control", "ends the reasoning of a running response", control},
         {"POST", "/responses/{id}/cancel", "cancels a background response", cancel},
         {"GET", "/responses/{id}/input_items", "lists the input items of a response", list_input},
         {"GET", "/responses/{id}", "returns a response or its events", show},
         {"DELETE", "/responses/{id}", "deletes a response", remove}});
    for (RouteOf<const Services>& route : routes)
        route.check_headers = check_dialect;
    add_under_roots(
        routes, "conversations",
        {{"POST", "/conversations", "creates a conversation", create_conversation},
         {"POST", "/conversations/{id}/items", "adds items to a conversation", add_items},
         {"GET", "/conversations/{id}/items", "lists the items of a conversation", list_items},
         {"GET", "/conversations/{id}/items/{item}", "returns one item", show_item},
         {"DELETE", "/conversations/{id}/items/{item}", "removes an item from a conversation", remove_item},
         {"GET", "/conversations/{id}", "returns a conversation", show_conversation},
         {"POST", "/conversations/{id}", "changes the metadata of a conversation", change_conversation},
         {"DELETE", "/conversations/{id}", "deletes a conversation", remove_conversation}});
    return routes;
}

} // namespace etna::server::responses
