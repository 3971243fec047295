#include "server/batch/endpoints.hpp"

namespace etna::server::batch {

std::vector<RouteOf<const Services>> routes() {
    std::vector<RouteOf<const Services>> routes;
    add_routes(routes, "files",
               {{"POST", "/v1/files", "stores a file for a batch", upload_file},
                {"GET", "/v1/files", "lists the files", list_files},
                {"GET", "/v1/files/{id}/content", "returns the content of a file", send_file},
                {"GET", "/v1/files/{id}", "describes a file", show_file},
                {"DELETE", "/v1/files/{id}", "deletes a file", remove_file}});
    routes.front().body_kind = BodyKind::form;
    add_routes(routes, "batches",
               {{"POST", "/v1/batches", "answers the lines of a file, with a lower priority", create_batch},
                {"GET", "/v1/batches", "lists the batches", list_batches},
                {"POST", "/v1/batches/{id}/cancel", "cancels a batch", cancel_batch},
                {"GET", "/v1/batches/{id}", "returns a batch with its progress", show_batch}});
    return routes;
}

} // namespace etna::server::batch
