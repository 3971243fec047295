#include "server/http/exchange.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <new>
#include <utility>

#include <fmt/format.h>

namespace etna::server {
namespace {

constexpr std::string_view interim_reply = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr std::string_view last_chunk = "0\r\n\r\n";
constexpr int no_content = 204;
constexpr int not_modified = 304;
constexpr std::size_t small_body_bytes = 16 * 1024;

bool ends_line(std::string_view text) {
    return text.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos;
}

Refusal refusal_of(const std::exception_ptr& exception) {
    try {
        std::rethrow_exception(exception);
    } catch (const std::bad_alloc&) {
        return {.status = 503, .problem = "out of memory for the request"};
    } catch (...) {
        return {.status = 500, .problem = "internal server error"};
    }
}

} // namespace

std::string_view reason_phrase(int status) {
    constexpr std::array<std::pair<int, std::string_view>, 30> phrases = {
        {{200, "OK"},
         {201, "Created"},
         {202, "Accepted"},
         {204, "No Content"},
         {304, "Not Modified"},
         {400, "Bad Request"},
         {401, "Unauthorized"},
         {403, "Forbidden"},
         {404, "Not Found"},
         {405, "Method Not Allowed"},
         {406, "Not Acceptable"},
         {408, "Request Timeout"},
         {409, "Conflict"},
         {411, "Length Required"},
         {413, "Content Too Large"},
         {414, "URI Too Long"},
         {415, "Unsupported Media Type"},
         {417, "Expectation Failed"},
         {421, "Misdirected Request"},
         {422, "Unprocessable Content"},
         {429, "Too Many Requests"},
         {431, "Request Header Fields Too Large"},
         {499, "Client Closed Request"},
         {500, "Internal Server Error"},
         {501, "Not Implemented"},
         {502, "Bad Gateway"},
         {503, "Service Unavailable"},
         {504, "Gateway Timeout"},
         {505, "HTTP Version Not Supported"},
         {529, "Overloaded"}}};
    const auto found = std::ranges::find(phrases, status, &std::pair<int, std::string_view>::first);
    return found == phrases.end() ? "Unknown" : found->second;
}

std::string response_head(const HttpResponse& response, const ResponseFraming& framing) {
    std::string head = fmt::format("HTTP/1.1 {} {}\r\n", response.status, reason_phrase(response.status));
    const auto add = [&](std::string_view name, std::string_view value) {
        if (!ends_line(name) && !ends_line(value))
            head += fmt::format("{}: {}\r\n", name, value);
    };
    for (const auto& [name, value] : response.headers)
        add(name, value);
    if (response.stream || !response.body.empty())
        add("Content-Type", response.content_type);
    if (!response.stream && response.status != no_content && response.status != not_modified)
        add("Content-Length", std::to_string(response.body.size()));
    if (response.stream && !framing.is_http_1_0)
        add("Transfer-Encoding", "chunked");
    // It is the default in HTTP/1.1, but event stream clients check for it.
    const bool is_event_stream = response.content_type.starts_with("text/event-stream");
    if (framing.closes) {
        add("Connection", "close");
    } else {
        if (framing.is_http_1_0 || is_event_stream)
            add("Connection", "keep-alive");
        add("Keep-Alive", fmt::format("timeout={}", framing.idle_timeout.count()));
    }
    return head + "\r\n";
}

/// Writes a streamed body: in chunks, or up to the end of the connection.
class Exchange::Writer final : public HttpWriter {
public:
    /// Borrows the exchange.
    explicit Writer(Exchange& exchange) : exchange_(&exchange) {}

    bool write(std::string_view bytes) override {
        if (bytes.empty() || exchange_->is_http_1_0_)
            return exchange_->write(bytes);
        return exchange_->write(fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes));
    }
    PeerState peer() override { return exchange_->peer(); }

private:
    Exchange* exchange_; ///< borrowed
};

Exchange::Exchange(Socket socket, ReceivedRequest request, const Options& options, const Handlers& handlers)
    : socket_(std::move(socket)), request_(std::move(request.head.request)),
      pipelined_(std::move(request.pipelined)), options_(options), handlers_(&handlers),
      is_http_1_0_(request.head.is_http_1_0), is_head_(request_.method == "HEAD"),
      closes_(request.head.closes_after_it), may_probe_(!is_http_1_0_) {
    request_.remote_address = socket_.remote_address();
    request_.remote_network = socket_.remote_network();
    request_.is_client_gone = [this] { return is_client_gone(); };
    summary_ = {.method = request_.method,
                .path = request_.path,
                .headers = request_.headers,
                .remote_address = request_.remote_address};
}

bool Exchange::run(const std::function<bool()>& is_last) {
    try {
        const HttpResponse response = answer();
        closes_ =
            closes_ || is_last() || (is_http_1_0_ && response.stream); // its body ends with the connection
        return send(response) && !closes_;
    } catch (const std::exception&) { // memory ran out for the response
        return false;
    }
}

HttpResponse Exchange::answer() {
    try {
        HttpResponse response = handlers_->answer(request_);
        if (!response.stream) {
            if (!request_.reserve_memory(response.body.size()))
                throw std::bad_alloc();
            memory_ = request_.memory;
            request_ = {};
            if (memory_ != nullptr)
                memory_->shrink_to(response.body.size());
        }
        request_ = {}; // a stream has its own copies
        return response;
    } catch (...) {
        return refuse(refusal_of(std::current_exception()));
    }
}

HttpResponse Exchange::refuse(const Refusal& refusal) {
    closes_ = true;
    Refusal complete = refusal;
    complete.request = summary_;
    return handlers_->refuse(complete);
}

/// Returns whether all of the response was sent.
bool Exchange::send(const HttpResponse& response) {
    std::string head = response_head(
        response, {.is_http_1_0 = is_http_1_0_,
                   .closes = closes_,
                   .idle_timeout = std::chrono::duration_cast<std::chrono::seconds>(options_.idle_timeout)});
    if (is_head_)
        return write(head);
    if (response.stream)
        return send_stream(response, head);
    if (response.body.size() > small_body_bytes)
        return write(head) && write(response.body);
    head += response.body; // in one packet
    return write(head);
}

/// A stream that fails leaves its body without an end, so that the client sees that it is cut off.
bool Exchange::send_stream(const HttpResponse& response, const std::string& head) {
    if (!write(head))
        return false;
    Writer writer(*this);
    try {
        response.stream(writer);
    } catch (const std::exception&) {
        return false;
    }
    return is_http_1_0_ || write(last_chunk);
}

bool Exchange::write(std::string_view bytes) {
    is_broken_ = is_broken_ || (!bytes.empty() && !socket_.write(bytes, options_.write_timeout));
    return !is_broken_;
}

/// For use while a response is generated. A client that has closed its sending half may have closed both: an
/// interim response, which clients skip (RFC 9110, 15.2), reveals it.
bool Exchange::is_client_gone() {
    const PeerState state = socket_.peer();
    if (state == PeerState::half_closed && may_probe_) {
        may_probe_ = false;
        is_broken_ = is_broken_ || !socket_.write(interim_reply, std::chrono::milliseconds(0));
    }
    return is_broken_ || state == PeerState::gone;
}

} // namespace etna::server
