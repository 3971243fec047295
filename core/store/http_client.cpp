#include "core/store/http_client.hpp"

#include "core/gguf/cursor.hpp"
#include "core/store/network_scope.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include <curl/curl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace etna::store {
namespace {

constexpr std::size_t header_value_bytes_max = 4096;

struct UrlDeleter {
    void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
struct EasyDeleter {
    void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct HeaderListDeleter {
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using Url = std::unique_ptr<CURLU, UrlDeleter>;
using HeaderList = std::unique_ptr<curl_slist, HeaderListDeleter>;

/// Returns one part of an address; empty if it is absent.
std::string url_part(CURLU* url, CURLUPart part, unsigned int flags = 0) {
    char* text = nullptr;
    if (curl_url_get(url, part, &text, flags) != CURLUE_OK)
        return {};
    std::string copy(text);
    curl_free(text);
    return copy;
}

Url url_of(const std::string& text) {
    Url url(curl_url());
    if (url && curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK)
        url.reset();
    return url;
}

std::string in_lower_case(std::string_view text) {
    std::string lower(text);
    for (char& c : lower)
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return lower;
}

std::string_view without_blanks(std::string_view text) {
    constexpr std::string_view blanks = " \t\r\n";
    const std::size_t first = text.find_first_not_of(blanks);
    return first == std::string_view::npos ? std::string_view()
                                           : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

bool is_recorded(std::string_view name) {
    constexpr std::array<std::string_view, 6> names = {"content-length", "content-range", "content-type",
                                                       "etag",           "link",          "location"};
    return name.starts_with("x-linked-") || name.starts_with("x-repo-") || name.starts_with("x-error-") ||
           std::find(names.begin(), names.end(), name) != names.end();
}

void start_libcurl() {
    static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
    (void)started;
}

bool is_redirect(int status) {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/// Returns the port of a proxy's address as libcurl reads it; 0 without a proxy.
uint16_t proxy_port(const std::string& proxy) {
    constexpr uint16_t port_by_default = 1080;
    const Url url(curl_url());
    if (proxy.empty() || !url ||
        curl_url_set(url.get(), CURLUPART_URL, proxy.c_str(),
                     CURLU_GUESS_SCHEME | CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK)
        return 0;
    const std::string port = url_part(url.get(), CURLUPART_PORT);
    if (port.empty())
        return proxy.starts_with("https:") ? 443 : port_by_default;
    return static_cast<uint16_t>(std::strtoul(port.c_str(), nullptr, 10));
}

uint16_t port_of(const sockaddr& address) {
    if (address.sa_family == AF_INET)
        return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
    return address.sa_family == AF_INET6 ? ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port)
                                         : 0;
}

std::optional<NetworkScope> written_scope(const std::string& url) {
    const Url parsed = url_of(url);
    return parsed ? scope_of_host(url_part(parsed.get(), CURLUPART_HOST)) : std::nullopt;
}

Error redirect_refused(const std::string& from, std::string_view problem) {
    return {ErrorKind::unsupported, fmt::format("{}: {}", printable_url(from), problem),
            "the server or a proxy in between is at fault; check --hub and HTTPS_PROXY"};
}

} // namespace

std::string_view HttpResponse::header(std::string_view name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

std::string origin_of(const std::string& url) {
    const Url parsed = url_of(url);
    if (!parsed)
        return {};
    const std::string scheme = url_part(parsed.get(), CURLUPART_SCHEME);
    const std::string host = url_part(parsed.get(), CURLUPART_HOST);
    if ((scheme != "http" && scheme != "https") || host.empty())
        return {};
    const std::string port = url_part(parsed.get(), CURLUPART_PORT, CURLU_NO_DEFAULT_PORT);
    return in_lower_case(fmt::format("{}://{}{}{}", scheme, host, port.empty() ? "" : ":", port));
}

Result<std::string> redirect_target(const std::string& from, const std::string& location) {
    const Url target = url_of(from);
    if (!target || location.empty() ||
        curl_url_set(target.get(), CURLUPART_URL, location.c_str(), 0) != CURLUE_OK)
        return redirect_refused(from, "it redirects to an invalid address");
    const std::string to = url_part(target.get(), CURLUPART_URL);
    if (origin_of(to).empty())
        return redirect_refused(from, "it redirects to an address that is neither http nor https");
    if (from.starts_with("https:") && !to.starts_with("https:"))
        return redirect_refused(from, "it redirects from https to http");
    return to;
}

std::filesystem::path system_ca_file(const std::filesystem::path& root) {
    constexpr std::array paths = {
        "etc/ssl/certs/ca-certificates.crt",                // Debian, Ubuntu, Arch
        "etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", // Fedora, RHEL
        "etc/pki/tls/certs/ca-bundle.crt",                  // their older releases
        "etc/ssl/ca-bundle.pem",                            // openSUSE
        "etc/ssl/cert.pem",                                 // Alpine
    };
    for (const char* path : paths) {
        std::error_code ignored;
        if (std::filesystem::is_regular_file(root / path, ignored))
            return root / path;
    }
    return {};
}

std::string printable_url(const std::string& url) {
    std::string printable = url.substr(0, url.find_first_of("?#"));
    const std::size_t scheme = printable.find("://");
    const std::size_t host = scheme == std::string::npos ? 0 : scheme + 3;
    const std::size_t user_end = printable.substr(0, printable.find('/', host)).rfind('@');
    if (user_end != std::string::npos && user_end >= host)
        printable.erase(host, user_end + 1 - host);
    return printable;
}

struct HttpClient::Impl {
    HttpSettings settings;
    CancelPoll is_stopped;
    std::unique_ptr<CURL, EasyDeleter> easy;

    // Of the transfer in progress.
    HttpResponse response = {};
    const HttpRequest* request = nullptr;
    const TextRequest* text_request = nullptr; ///< of exchange(); its response goes to `text`
    std::string text = {};
    bool has_enough = false;
    std::size_t header_bytes = 0;
    std::size_t unread_bytes = 0;
    bool takes_problems = true; ///< x-error-... are recorded: the server is the one that was asked
    NetworkScope scope_min = NetworkScope::host; ///< of the address that is connected to
    uint16_t proxy = 0;                          ///< port of the proxy; 0: none
    bool is_refused = false;                     ///< an address was of smaller scope

    static curl_socket_t on_open_socket(void* self, curlsocktype purpose, curl_sockaddr* address);
    static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self);
    static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self);
    static int on_progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t);

    [[nodiscard]] Status check(const std::string& url) const;
    void prepare(const std::string& url, HeaderList& headers);
    void prepare_connection(const std::string& url);
    Result<HttpResponse> finish(CURLcode code, const std::string& url);
    Result<HttpResponse> send_once(const std::string& url);
    [[nodiscard]] NetworkScope reached_scope(const std::string& url) const;
    Result<HttpResponse> send_checked(const std::string& url);
};

std::size_t HttpClient::Impl::on_header(char* data, std::size_t size, std::size_t count, void* self) {
    auto* impl = static_cast<Impl*>(self);
    HttpResponse& response = impl->response;
    const std::string_view line(data, size * count);
    impl->header_bytes += line.size();
    if (impl->header_bytes > header_bytes_max)
        return 0;
    if (line.starts_with("HTTP/")) // another response: after 100 Continue
        std::erase_if(response.headers, [](const auto& header) { return !header.first.starts_with("x-"); });
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos)
        return line.size();
    const std::string name = in_lower_case(without_blanks(line.substr(0, colon)));
    const std::string_view value = without_blanks(line.substr(colon + 1));
    const bool is_problem = name.starts_with("x-error-");
    if (is_recorded(name) && (!is_problem || impl->takes_problems) && value.size() <= header_value_bytes_max)
        response.headers.insert_or_assign(name, std::string(value));
    return line.size();
}

std::size_t HttpClient::Impl::on_body(char* data, std::size_t size, std::size_t count, void* self) {
    auto* impl = static_cast<Impl*>(self);
    const std::size_t bytes = size * count;
    if (impl->response.status == 0) {
        long status = 0;
        curl_easy_getinfo(impl->easy.get(), CURLINFO_RESPONSE_CODE, &status);
        impl->response.status = static_cast<int>(status);
    }
    if (impl->text_request != nullptr) {
        if (impl->text.size() + bytes > text_bytes_max)
            return 0;
        impl->text.append(data, bytes);
        return bytes;
    }
    if (impl->response.status / 100 != 2 || !impl->request->on_body) {
        impl->unread_bytes += bytes;
        impl->has_enough = impl->unread_bytes > unread_bytes_max;
        return impl->has_enough ? 0 : bytes;
    }
    const auto piece = std::as_bytes(std::span(data, bytes));
    impl->has_enough = impl->request->on_body(impl->response, piece) == BodyDemand::enough;
    return impl->has_enough ? 0 : bytes;
}

int HttpClient::Impl::on_progress(void* self, curl_off_t /*total*/, curl_off_t /*now*/, curl_off_t /*up*/,
                                  curl_off_t /*up_now*/) {
    const auto* impl = static_cast<const Impl*>(self);
    return impl->is_stopped && impl->is_stopped() ? 1 : 0;
}

/// Opens the socket for a connection, if its address may be connected to.
curl_socket_t HttpClient::Impl::on_open_socket(void* self, curlsocktype purpose, curl_sockaddr* address) {
    auto* impl = static_cast<Impl*>(self);
    const bool is_proxy = impl->proxy != 0 && port_of(address->addr) == impl->proxy;
    const bool is_allowed =
        purpose == CURLSOCKTYPE_IPCXN && (is_proxy || scope_of(address->addr) >= impl->scope_min);
    if (!is_allowed) {
        impl->is_refused = true;
        return CURL_SOCKET_BAD;
    }
    return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

Status HttpClient::Impl::check(const std::string& url) const {
    if (easy == nullptr)
        return Error{ErrorKind::out_of_memory, "libcurl did not start"};
    if (origin_of(url).empty()) {
        return invalid_argument(fmt::format("{} is not an http or https address", gguf::backquoted(url)),
                                "write https://HOST/...");
    }
    return {};
}

void HttpClient::Impl::prepare_connection(const std::string& url) {
    CURL* curl = easy.get();
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, static_cast<long>(settings.connect_limit.count()));
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, slow_bytes_per_s);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, static_cast<long>(settings.stall_limit.count()));
    if (request != nullptr)
        curl_easy_setopt(curl, CURLOPT_TIMEOUT, static_cast<long>(request->time_limit.count()));
    // Set even if empty: libcurl would read the environment otherwise.
    const std::string& proxy_url = url.starts_with("https:") ? settings.https_proxy : settings.http_proxy;
    curl_easy_setopt(curl, CURLOPT_PROXY, proxy_url.c_str());
    proxy = proxy_port(proxy_url);
    curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, &Impl::on_open_socket);
    curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, this);
    curl_easy_setopt(curl, CURLOPT_NOPROXY, settings.no_proxy.c_str());
    curl_easy_setopt(curl, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    const auto ca_file = settings.ca_file.empty() ? system_ca_file("/") : settings.ca_file;
    if (!ca_file.empty())
        curl_easy_setopt(curl, CURLOPT_CAINFO, ca_file.c_str());
}

void HttpClient::Impl::prepare(const std::string& url, HeaderList& headers) {
    CURL* curl = easy.get();
    curl_easy_reset(curl); // keeps open connections
    prepare_connection(url);
    curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "etna/" ETNA_VERSION);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, &Impl::on_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, this);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &Impl::on_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, this);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, &Impl::on_progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, this);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    if (request != nullptr && request->range) {
        const std::string range = fmt::format("{}-{}", request->range->begin, request->range->end - 1);
        curl_easy_setopt(curl, CURLOPT_RANGE, range.c_str());
    }
    if (!settings.token.empty() && origin_of(url) == settings.token_origin)
        headers.reset(curl_slist_append(nullptr, ("Authorization: Bearer " + settings.token).c_str()));
    if (text_request != nullptr && !text_request->json_body.empty()) {
        headers.reset(curl_slist_append(headers.release(), "Content-Type: application/json"));
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, text_request->json_body.c_str());
    }
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
}

Result<HttpResponse> HttpClient::Impl::finish(CURLcode code, const std::string& url) {
    long status = 0;
    curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
    response.status = static_cast<int>(status);
    response.url = url;
    curl_off_t retry_after_s = 0;
    curl_easy_getinfo(easy.get(), CURLINFO_RETRY_AFTER, &retry_after_s);
    if (retry_after_s > 0)
        response.retry_after = std::chrono::seconds(retry_after_s);
    if (code == CURLE_OK || (code == CURLE_WRITE_ERROR && has_enough))
        return response;
    if (header_bytes > header_bytes_max) {
        return unsupported(fmt::format("{}: the headers of the response have more than {} bytes",
                                       printable_url(url), header_bytes_max),
                           "the server or a proxy in between is at fault; check --hub and HTTPS_PROXY");
    }
    const auto failed = [&](ErrorKind kind, std::string_view hint) {
        return Error{kind, fmt::format("{}: {}", printable_url(url), in_lower_case(curl_easy_strerror(code))),
                     std::string(hint)};
    };
    switch (code) {
    case CURLE_ABORTED_BY_CALLBACK:
        return Error{ErrorKind::cancelled, "the download was stopped", {}};
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_URL_MALFORMAT:
        return failed(ErrorKind::unreachable, "check the network, --hub, and the proxy in HTTPS_PROXY");
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CONNECT_ERROR:
        return failed(
            ErrorKind::unsupported,
            "install the certificates (the package ca-certificates), or name those of a private hub or "
            "proxy in SSL_CERT_FILE");
    default:
        return failed(ErrorKind::io, "run the command again: it resumes");
    }
}

Result<HttpResponse> HttpClient::Impl::send_once(const std::string& url) {
    HeaderList headers;
    prepare(url, headers);
    response.status = 0;
    response.retry_after.reset();
    has_enough = false;
    header_bytes = 0;
    unread_bytes = 0;
    is_refused = false;
    const CURLcode code = curl_easy_perform(easy.get());
    curl_easy_setopt(easy.get(), CURLOPT_HTTPHEADER, nullptr); // `headers` ends here
    return finish(code, url);
}

/// Returns the scope of the server that the last response came from. Behind a proxy it is that of the address
/// as written, and a name counts as public.
NetworkScope HttpClient::Impl::reached_scope(const std::string& url) const {
    char* address = nullptr;
    long port = 0;
    curl_easy_getinfo(easy.get(), CURLINFO_PRIMARY_IP, &address);
    curl_easy_getinfo(easy.get(), CURLINFO_PRIMARY_PORT, &port);
    const bool was_proxy = proxy != 0 && port == proxy;
    const auto scope = was_proxy || address == nullptr ? written_scope(url) : scope_of_host(address);
    return scope.value_or(NetworkScope::internet);
}

/// Sends a request, and raises `scope_min` to the scope of its server. Errors: those of get().
Result<HttpResponse> HttpClient::Impl::send_checked(const std::string& url) {
    constexpr std::string_view refusal = "a server redirects into a private network or to this machine";
    if (written_scope(url).value_or(NetworkScope::internet) < scope_min)
        return redirect_refused(url, refusal);
    auto received = send_once(url);
    if (!received && is_refused)
        return redirect_refused(url, refusal);
    ETNA_CHECK(received);
    const NetworkScope scope = reached_scope(url);
    if (scope < scope_min) // by a connection that was open before
        return redirect_refused(url, refusal);
    scope_min = scope;
    return received;
}

HttpClient::HttpClient(HttpSettings settings, CancelPoll is_stopped) : impl_(std::make_unique<Impl>()) {
    start_libcurl();
    impl_->settings = std::move(settings);
    impl_->is_stopped = std::move(is_stopped);
    impl_->easy.reset(curl_easy_init());
}
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;
HttpClient::~HttpClient() = default;

Result<HttpResponse> HttpClient::get(const HttpRequest& request) {
    ETNA_CHECK(impl_->check(request.url));
    impl_->request = &request;
    impl_->text_request = nullptr;
    impl_->response = {};
    impl_->scope_min = NetworkScope::host; // the user named this address
    std::string url = request.url;
    for (int redirects = 0;; ++redirects) {
        impl_->takes_problems = origin_of(url) == origin_of(request.url);
        ETNA_TRY(auto response, impl_->send_checked(url));
        if (!is_redirect(response.status))
            return response;
        if (redirects == redirects_max) {
            return redirect_refused(request.url,
                                    fmt::format("it redirects more than {} times", redirects_max));
        }
        ETNA_TRY(url, redirect_target(url, std::string(response.header("location"))));
    }
}

Result<TextResponse> HttpClient::exchange(const TextRequest& request) {
    ETNA_CHECK(impl_->check(request.url));
    impl_->request = nullptr;
    impl_->text_request = &request;
    impl_->scope_min = NetworkScope::host;
    impl_->takes_problems = true;
    impl_->text.clear();
    impl_->response = {};
    ETNA_TRY(const auto response, impl_->send_once(request.url));
    return TextResponse{.status = response.status, .body = std::move(impl_->text)};
}

} // namespace etna::store
