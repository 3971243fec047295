#pragma once

#include "server/app/router.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace etna::server {

/// An API that the server speaks.
struct ApiSummary {
    std::string_view name;
    std::string_view covers;    ///< what clients find
    std::string_view base_path; ///< of the base URL that clients are set to
    std::string_view clients;   ///< that tests run
};

/// The APIs, in the order of their routes.
std::span<const ApiSummary> api_summaries();

/// All routes of the server, in matching order: those of the faces, the operator's, of batches and of the
/// page.
std::vector<Route> all_routes(const ServiceOptions& options);

/// Continues the answers that an earlier process left unfinished: see responses::run_pending().
void continue_answers(Service& service);

/// Writes an error of a request that no route takes, in the format that its headers or path ask for.
HttpReply write_unrouted_error(const HttpRequest& request, const ApiError& error);

/// A human-readable list of routes, one per line: method, path, summary; a heading for each API.
std::string route_lines(const std::vector<Route>& routes);

} // namespace etna::server
