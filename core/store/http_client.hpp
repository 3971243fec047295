#pragma once

#include "core/base/bytes.hpp"
#include "core/base/cancel.hpp"
#include "core/base/result.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace etna::store {

/// How servers are reached. TLS certificates are always verified.
struct HttpSettings {
    std::string token;             ///< bearer token; empty: none
    std::string token_origin;      ///< the token is sent to this origin only; see origin_of()
    std::string http_proxy;        ///< for http addresses; empty: none
    std::string https_proxy;       ///< for https addresses; empty: none
    std::string no_proxy;          ///< hosts that are reached directly, separated by commas
    std::filesystem::path ca_file; ///< certificates to trust, in PEM; empty: the system's
    std::chrono::seconds connect_limit{20};
    std::chrono::seconds stall_limit{30}; ///< with fewer than slow_bytes_per_s
};

/// Bytes of a file: `begin` included, `end` not.
struct ByteRange {
    uint64_t begin = 0;
    uint64_t end = 0;
    bool operator==(const ByteRange&) const = default;
};

enum class BodyDemand : uint8_t { more, enough };

struct HttpResponse;

struct HttpRequest {
    std::string url;
    std::optional<ByteRange> range = {};
    /// For the response of each server on the way; 0: none, for long files.
    std::chrono::seconds time_limit{0};
    /// Receives the body of a 2xx response in pieces, after its status and headers; `enough` ends the
    /// transfer without an error. May be absent.
    std::function<BodyDemand(const HttpResponse& head, ByteView piece)> on_body = {};
};

struct HttpResponse {
    int status = 0;
    std::string url; ///< after redirects
    /// Names in lower case. Those of the last response; `x-...` of earlier ones too: the hub describes a file
    /// in the redirect to it.
    std::map<std::string, std::string, std::less<>> headers;
    std::optional<std::chrono::seconds> retry_after = {};

    /// Returns the header's value; empty if it is absent.
    [[nodiscard]] std::string_view header(std::string_view name) const;
};

/// A request for text: GET, or POST if there is a body.
struct TextRequest {
    std::string url;
    std::string json_body = {};
};

struct TextResponse {
    int status = 0;
    std::string body;
};

/// "https://host:port" of an address, in lower case, without the port if it is the scheme's own; empty if the
/// text is not an http or https address.
std::string origin_of(const std::string& url);

/// Returns the address that a redirect leads to. Errors: unsupported (not http or https, from https to http,
/// or no address).
Result<std::string> redirect_target(const std::string& from, const std::string& location);

/// Returns the address without its query, user and password, for messages: a signature in a query is a
/// secret.
std::string printable_url(const std::string& url);

/// Returns the system's certificates under a root folder (`/`): distributions keep them in different files,
/// and libcurl knows only that of the one that it was built on. Empty if there is none.
std::filesystem::path system_ca_file(const std::filesystem::path& root);

/// Sends requests one at a time. Reuses connections. Source: libcurl. For one thread.
class HttpClient {
public:
    static constexpr int redirects_max = 8;
    static constexpr std::size_t text_bytes_max = 16 * mebibyte;
    static constexpr std::size_t header_bytes_max = 256 * kibibyte; ///< of one response, with interim ones
    static constexpr std::size_t unread_bytes_max = 64 * kibibyte;  ///< of a body that is not passed on
    static constexpr long slow_bytes_per_s = 256;

    /// `is_stopped`: called often.
    explicit HttpClient(HttpSettings settings, CancelPoll is_stopped = {});
    HttpClient(HttpClient&&) noexcept;
    HttpClient& operator=(HttpClient&&) noexcept;
    ~HttpClient();

    /// Follows redirects, up to redirects_max. A server never redirects to an address of smaller scope than
    /// its own (network_scope.hpp): a public one not into a private network or to this machine. The address
    /// that is connected to decides, whatever the name resolves to; behind a proxy, the address that is
    /// written. Blocks until the response is complete; ends a body that is not passed on after
    /// unread_bytes_max. A status of 400 or more is a response, not an error. Errors: unreachable (the host
    /// is unknown or does not answer), io (the connection broke, stalled, took longer than the limit, or the
    /// body is shorter than announced), unsupported (a redirect that is refused, too many header bytes, or an
    /// untrusted certificate), cancelled.
    Result<HttpResponse> get(const HttpRequest& request);

    /// Returns the response of any status with its body; follows no redirect. Blocks. Errors: those of get();
    /// io also if the body is longer than text_bytes_max.
    Result<TextResponse> exchange(const TextRequest& request);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace etna::store
