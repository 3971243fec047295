// GET / and the page's other files.

#include "server/page/endpoints.hpp"
#include "server/page/page_files.hpp"
#include "server/page/state.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace etna::server::page {
namespace {

constexpr std::string_view policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src "
    "'self'; "
    "font-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types etna";

/// How long a browser may use a file without asking again.
enum class Caching : uint8_t {
    revalidated, ///< at an address that does not change
    immutable,   ///< at an address with the hash of all files
};

/// Calls `take` with each element of a comma-separated header value, without spaces around it.
template <class Take>
void for_each_element(std::string_view value, const Take& take) {
    while (!value.empty()) {
        const std::size_t end = std::min(value.find(','), value.size());
        std::string_view element = value.substr(0, end);
        value.remove_prefix(std::min(end + 1, value.size()));
        element.remove_prefix(std::min(element.find_first_not_of(" \t"), element.size()));
        element = element.substr(0, element.find_last_not_of(" \t") + 1);
        take(element);
    }
}

/// Returns whether the weight of "gzip;q=0.5" is more than 0.
bool is_acceptable(std::string_view element) {
    const std::string weights = to_lower(element);
    const std::size_t at = weights.find("q=");
    return at == std::string::npos || std::strtod(weights.c_str() + at + 2, nullptr) > 0;
}

/// Source: RFC 9110, 12.5.3.
bool accepts_gzip(const HttpRequest& request) {
    bool any = false;
    std::optional<bool> gzip;
    for_each_element(request.header("accept-encoding"), [&](std::string_view element) {
        std::string name = to_lower(element.substr(0, element.find(';')));
        name.erase(name.find_last_not_of(" \t") + 1);
        if (name == "gzip" || name == "x-gzip")
            gzip = is_acceptable(element);
        if (name == "*")
            any = is_acceptable(element);
    });
    return gzip.value_or(any);
}

/// Compares weakly, as for all conditional GETs. Source: RFC 9110, 13.1.2.
bool has_version(const HttpRequest& request, std::string_view tag) {
    bool is_known = false;
    for_each_element(request.header("if-none-match"), [&](std::string_view element) {
        if (element.starts_with("W/"))
            element.remove_prefix(2);
        is_known = is_known || element == "*" || element == tag;
    });
    return is_known;
}

HttpReply file_reply(const PageFile& file, const HttpRequest& request, Caching caching) {
    const bool is_compressed = accepts_gzip(request);
    const std::string tag = fmt::format("\"{}{}\"", file.hash, is_compressed ? "-gzip" : "");
    HttpReply reply = {
        .headers = {{"cache-control",
                     caching == Caching::immutable ? "public, max-age=31536000, immutable" : "no-cache"},
                    {"cross-origin-resource-policy", "same-origin"},
                    {"etag", tag},
                    {"referrer-policy", "no-referrer"},
                    {"vary", "Accept-Encoding, Origin"},
                    {"x-content-type-options", "nosniff"}},
        .content_type = std::string(file.content_type),
        .is_logged = false};
    if (has_version(request, tag)) {
        reply.status = 304;
        return reply;
    }
    if (is_compressed)
        reply.headers["content-encoding"] = "gzip";
    reply.body = is_compressed ? file.gzip : file.plain;
    return reply;
}

/// Error: 404.
ApiResult<HttpReply> named_file(const HttpRequest& request, std::string_view name, Caching caching) {
    const auto files = page_files();
    const auto file = std::ranges::find(files, name, &PageFile::name);
    if (file != files.end())
        return file_reply(*file, request, caching);
    return ApiError{.status = 404,
                    .message = fmt::format("the page has no file {}", header_value(name)),
                    .code = "file_not_found"};
}

/// GET /page/{version}/{file}.
ApiResult<HttpReply> show_versioned_file(const Services& /*services*/, const HttpRequest& request,
                                         const RoutedRequest& routed) {
    const std::string& version = routed.path_values[0];
    const std::string& name = routed.path_values[1];
    const bool has_own_address = name == "index.html" || name == "worker.js"; // with headers of their own
    if (version == page_hash())
        return named_file(request, has_own_address ? "" : name, Caching::immutable);
    return ApiError{.status = 404,
                    .message = "this server has another version of the page; reload it",
                    .code = "file_not_found"};
}

/// GET /page/worker.js: at a stable address, because a browser asks there for a new version.
ApiResult<HttpReply> show_worker(const Services& /*services*/, const HttpRequest& request,
                                 const RoutedRequest& /*routed*/) {
    ETNA_TRY(HttpReply reply, named_file(request, "worker.js", Caching::revalidated));
    reply.headers["service-worker-allowed"] = "/";
    return reply;
}

/// GET /manifest.webmanifest and /icon.svg.
ApiResult<HttpReply> show_root_file(const Services& /*services*/, const HttpRequest& request,
                                    const RoutedRequest& /*routed*/) {
    return named_file(request, std::string_view(request.path).substr(request.path.rfind('/') + 1),
                      Caching::revalidated);
}

} // namespace

bool is_from_browser(const HttpRequest& request) {
    return to_lower(request.header("accept")).find("text/html") != std::string::npos ||
           !request.header("sec-fetch-mode").empty();
}

ApiResult<HttpReply> show_document(const HttpRequest& request) {
    ETNA_TRY(HttpReply reply, named_file(request, "index.html", Caching::revalidated));
    reply.headers["content-security-policy"] = policy;
    reply.headers["cross-origin-opener-policy"] = "same-origin";
    return reply;
}

std::vector<RouteOf<const Services>> routes() {
    constexpr RouteAccess large = RouteAccess::open_large;
    return {
        {"GET", "/page/state", "models, devices, clients and requests, for the web page", show_state},
        {"GET", "/page/requests/{id}", "one of the last requests, for the web page", show_request},
        {"GET", "/page/worker.js", "the service worker of the web page", show_worker, large},
        {"GET", "/page/{version}/{file}", "a file of the web page", show_versioned_file, large},
        {"GET", "/manifest.webmanifest", "the manifest of the web page", show_root_file, large},
        {"GET", "/icon.svg", "the icon of the web page", show_root_file, large},
    };
}

} // namespace etna::server::page
