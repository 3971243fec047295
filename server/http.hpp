#pragma once

#include "server/memory_share.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What an endpoint knows of HTTP. No socket and no library: those are in server/connection.
namespace etna::server {

/// What the other side of a connection has done with it.
enum class PeerState : uint8_t {
    open,
    half_closed, ///< it sends nothing more; whether it still reads, only a write can tell
    gone,        ///< reset, or an error
};

/// The status of a request whose client left before its answer was whole: for logs and metrics, since nobody
/// reads it. The number is nginx's.
constexpr int client_left_status = 499;

/// Names in lower case. Where a request repeats one, the first counts, except that `Host` twice is refused.
using Headers = std::map<std::string, std::string, std::less<>>;

/// A request whose head and body have arrived.
struct HttpRequest {
    std::string method = {}; ///< "GET"
    std::string path = {};   ///< decoded, without the query
    std::vector<std::pair<std::string, std::string>> query =
        {}; ///< decoded, in its order; a value may be empty
    Headers headers = {};
    std::string body = {};
    std::string remote_address = {}; ///< for logs
    std::string remote_network = {}; ///< see Socket::remote_network()
    /// Whether nobody waits for the answer any more: the connection was reset, or closed in both directions.
    /// A client that only closed its sending half still waits. Cheap enough to be asked many times a second.
    /// Valid until the answer is returned; after that HttpWriter::write() tells.
    std::function<bool()> is_client_gone = [] { return false; };
    /// What the request holds of the memory that there is for requests. Whoever keeps something of it, or
    /// made something of it, beyond the answer's return keeps this, too. Null: nobody counts.
    std::shared_ptr<MemoryShare> memory = {};

    /// See MemoryShare::claim().
    [[nodiscard]] bool claim_memory(std::size_t bytes) const {
        return memory == nullptr || memory->claim(bytes);
    }

    /// The header's value; empty where it is absent.
    [[nodiscard]] std::string_view header(std::string_view name) const {
        const auto found = headers.find(name);
        return found == headers.end() ? std::string_view() : std::string_view(found->second);
    }
};

/// Where a streamed body goes. Blocks while the client does not read, at most the connection's write timeout.
class HttpWriter {
public:
    HttpWriter() = default;
    HttpWriter(const HttpWriter&) = delete;
    HttpWriter& operator=(const HttpWriter&) = delete;
    virtual ~HttpWriter() = default;

    /// False when the client is gone; everything after is then dropped.
    virtual bool write(std::string_view bytes) = 0;

    /// What is known of the client without writing.
    virtual PeerState peer() = 0;
};

/// What the request log records about an answer beside its head.
struct AnswerLog {
    std::optional<int> final_status = {}; ///< if it differs: a stream failed after its head, the client left
    std::string error = {};               ///< `error.code`, else `error.type`; empty: no error
    std::string param = {};               ///< `error.param`, the member that the error is about
    std::string model = {};               ///< the model's name; empty: none was chosen
    std::optional<uint32_t> prompt_tokens = {};
    std::optional<uint32_t> completion_tokens = {};
};

/// An answer: a status and headers, and the body whole or in pieces.
struct HttpReply {
    int status = 200;
    Headers headers = {};
    std::string content_type = "application/json";
    std::string body = {};
    /// Writes the body in pieces, after the headers have been sent; replaces `body`. Called once at most, on
    /// the connection's thread; not at all where the client is gone before.
    std::function<void(HttpWriter&)> stream = {};
    AnswerLog log = {};
    /// Returns what replaces `log` once the stream has ended; empty: nothing does.
    std::function<AnswerLog()> final_log = {};
    bool is_counted = false; ///< whoever made the answer has put it into the figures
};

/// ASCII letters made small: names of headers, hosts and schemes have no case.
std::string in_small_letters(std::string_view text);

/// The text as it may stand in a header: visible ASCII, at most a kilobyte.
std::string header_value(std::string_view text);

} // namespace etna::server
