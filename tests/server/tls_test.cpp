// Connections over TLS, with well-behaved and hostile clients, over a real socket.

#include "server/http/tls.hpp"
#include "tests/server/certificate.hpp"
#include "tests/server/echo.hpp"
#include "tests/server/tls_client.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <thread>
#include <vector>

using namespace etna::server;
using namespace std::chrono_literals;
using etna::test::Certificate;
using etna::test::contains;
using etna::test::Echo;
using etna::test::eventually;
using etna::test::RawClient;
using etna::test::TlsClient;

namespace {

ConnectionOptions tls_options(const Certificate& certificate) {
    ConnectionOptions options;
    options.tls_certificate = certificate.certificate();
    options.tls_key = certificate.key();
    return options;
}

/// A client after its handshake.
TlsClient connected_client(const Echo& echo) {
    TlsClient client(echo.port());
    REQUIRE(client.handshake());
    return client;
}

bool is_served(const Echo& echo) {
    TlsClient client = connected_client(echo);
    client.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    return contains(client.read_until("GET /a "), "HTTP/1.1 200 OK\r\n");
}

/// Counts SIGPIPE while it lives; the HTTP library ignores the signal otherwise.
class BrokenPipes {
public:
    BrokenPipes() : before_(std::signal(SIGPIPE, [](int) { count = count + 1; })) {}
    BrokenPipes(const BrokenPipes&) = delete;
    BrokenPipes& operator=(const BrokenPipes&) = delete;
    ~BrokenPipes() { std::signal(SIGPIPE, before_); }

    static inline std::atomic<int> count{0};

private:
    void (*before_)(int);
};

} // namespace

TEST_CASE("a TLS connection serves successive requests and is idle in between") {
    const auto [kind, version] = GENERATE(std::pair(Certificate::Kind::elliptic, TLS1_2_VERSION),
                                          std::pair(Certificate::Kind::elliptic, TLS1_3_VERSION),
                                          std::pair(Certificate::Kind::rsa, TLS1_3_VERSION));
    const Certificate certificate(kind);
    const Echo echo(tls_options(certificate));
    TlsClient client(echo.port(), {.version = version});
    REQUIRE(client.handshake());
    CHECK(client.version() == version);
    client.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(contains(client.read_until("GET /a "), "HTTP/1.1 200 OK\r\n"));
    CHECK(eventually([&] { return echo.listener().requests() == 0; }));
    CHECK(echo.listener().connections() == 1);
    for (const char letter : std::string("\r\nPOST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"))
        client.send({&letter, 1}); // a record each
    CHECK(contains(client.read_until("POST /b hello"), "POST /b hello"));
    // In one record: the bytes after a body are buffered in the session, where the descriptor does not signal
    // them.
    client.send("POST /c HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhiGET /d HTTP/1.1\r\nHost: x\r\n\r\n"
                "POST /e HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nyoGET /f HTTP/1.1\r\nHo");
    CHECK(contains(client.read_until("POST /e yo"), "GET /d "));
    client.send("st: x\r\nConnection: close\r\n\r\n");
    CHECK(contains(client.read_all(), "GET /f "));
    CHECK(client.has_close_notify());
}

TEST_CASE("TLS 1.2 is the minimum, and ALPN selects http/1.1 or fails") {
    const Certificate certificate;
    const Echo echo(tls_options(certificate));
    TlsClient tls_1_1(echo.port(), {.version = TLS1_1_VERSION});
    CHECK(!tls_1_1.handshake());
    TlsClient several(echo.port(), {.protocols = "\x02h2\x08http/1.1"});
    CHECK(several.handshake());
    CHECK(several.protocol() == "http/1.1");
    TlsClient other(echo.port(), {.protocols = "\x02h2"});
    CHECK(!other.handshake());
    CHECK(connected_client(echo).protocol().empty());
}

TEST_CASE("bytes that are not TLS close their own connection only") {
    const Certificate certificate;
    const Echo echo(tls_options(certificate));
    TlsClient other = connected_client(echo);
    std::string noise;
    for (unsigned i = 0; i < 100'000; ++i)
        noise += static_cast<char>(i * i * 31 + (i >> 3));
    std::string corrupted = TlsClient(echo.port()).next_flight();
    for (std::size_t i = 20; i < corrupted.size(); i += 7)
        corrupted[i] = static_cast<char>(corrupted[i] ^ 0x55);
    for (const std::string& bytes :
         {std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), noise, corrupted, std::string(20'000, '\0'),
          std::string("\x16\x03\x01\xff\xff", 5) + noise, std::string("\x15\x03\x01\x00\x02\x02\x28", 7)}) {
        CAPTURE(bytes.substr(0, 20));
        RawClient client(echo.port());
        client.send(bytes);
        client.read_all(); // possibly an alert
        CHECK(client.is_closed(0ms));
    }
    RawClient(echo.port()).reset();
    RawClient(echo.port()).finish();
    TlsClient late = connected_client(echo);
    late.raw().send(noise);
    late.raw().read_all();
    CHECK(late.raw().is_closed(0ms));
    CHECK(eventually([&] { return echo.listener().connections() == 1; }));
    other.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(contains(other.read_until("GET /a "), "200 OK"));
    CHECK(is_served(echo));
}

TEST_CASE("an incomplete handshake occupies no thread and times out after header_timeout") {
    const Certificate certificate;
    ConnectionOptions options = tls_options(certificate);
    options.header_timeout = 2s;
    options.handlers_max = 1;
    const Echo echo(options);
    const std::string hello = TlsClient(echo.port()).next_flight();
    std::vector<RawClient> slow;
    for (int i = 0; i < 20; ++i) {
        slow.emplace_back(echo.port()); // sends nothing
        slow.emplace_back(echo.port());
        slow.back().send(hello.substr(0, hello.size() / 2));
        slow.emplace_back(echo.port());
        slow.back().send(hello);
    }
    CHECK(is_served(echo));
    RawClient trickling(echo.port());
    std::size_t sent = 0;
    while (sent < hello.size() && !trickling.is_closed(2'000ms / (hello.size() / 2)))
        trickling.send(hello.substr(sent++, 1));
    CHECK(sent < hello.size());
    for (RawClient& client : slow) {
        client.read_all();
        CHECK(client.is_closed(0ms));
    }
    CHECK(eventually([&] { return echo.listener().connections() == 0; }));
}

TEST_CASE("idle TLS connections occupy no thread and delay no request") {
    const Certificate certificate;
    ConnectionOptions options = tls_options(certificate);
    options.handlers_max = 2;
    const Echo echo(options);
    std::vector<TlsClient> idle;
    idle.reserve(100);
    for (int i = 0; i < 100; ++i)
        idle.push_back(connected_client(echo));
    CHECK(is_served(echo));
    idle[50].send("GET /b HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(contains(idle[50].read_until("GET /b "), "200 OK"));
    idle.clear();
    CHECK(eventually([&] { return echo.listener().connections() == 0; }));
}

TEST_CASE("idle TLS connections are closed after idle_timeout, with close_notify") {
    const Certificate certificate;
    ConnectionOptions options = tls_options(certificate);
    options.idle_timeout = 50ms;
    const Echo echo(options);
    TlsClient client = connected_client(echo);
    CHECK(client.read_all().empty());
    CHECK(client.has_close_notify());
}

TEST_CASE("over TLS, oversized, slow and truncated requests get 431, 413, 408 and 400") {
    const Certificate certificate;
    ConnectionOptions options = tls_options(certificate);
    options.header_timeout = 2s;
    options.body_timeout = 100ms;
    options.header_bytes_max = 20'000;
    const Echo echo(options);
    const auto answer = [&](const std::string& bytes) {
        TlsClient client = connected_client(echo);
        client.send(bytes);
        return client.read_until("refused");
    };
    CHECK(contains(answer("GET / HTTP/1.1\r\nX: "), "HTTP/1.1 408 "));
    CHECK(contains(answer("GET / HTTP/1.1\r\nX: " + std::string(25'000, 'x')), "HTTP/1.1 431 "));
    CHECK(contains(answer("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n"), "HTTP/1.1 413 "));
    CHECK(contains(answer("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc"), "HTTP/1.1 408 "));
    TlsClient cut = connected_client(echo); // without close_notify
    cut.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
    cut.raw().finish();
    CHECK(contains(cut.read_until("refused"), "HTTP/1.1 400 "));
}

TEST_CASE("over TLS, a stream is chunked, and a body larger than every buffer arrives complete") {
    const Certificate certificate;
    Echo echo(tls_options(certificate));
    TlsClient client = connected_client(echo);
    client.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(contains(client.read_until("one "), "Transfer-Encoding: chunked\r\n"));
    TlsClient flooded = connected_client(echo);
    flooded.send("GET /flood HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    std::this_thread::sleep_for(100ms); // until the server's write blocks
    std::string flood = flooded.read_until(std::string(3'000, 'x'));
    echo.may_go_on = true;
    CHECK(contains(client.read_until("0\r\n\r\n"), "3\r\ntwo\r\n"));
    flood += flooded.read_all();
    const auto body = flood.begin() + static_cast<std::ptrdiff_t>(flood.find("\r\n\r\n"));
    CHECK(std::count(body, flood.end(), 'x') % 1'000'000 == 0);
    CHECK(flood.ends_with("x\r\n0\r\n\r\n"));
}

TEST_CASE("over TLS, a half-closed client is served, with close_notify or without") {
    const Certificate certificate;
    Echo echo(tls_options(certificate));
    std::vector<TlsClient> clients;
    for (const char* path : {"/wait", "/wait", "/stream", "/stream"}) {
        clients.push_back(connected_client(echo));
        clients.back().send(std::string("GET ") + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        REQUIRE(eventually([&] { return echo.waiting == static_cast<int>(clients.size()); }));
        if (clients.size() % 2 == 0)
            clients.back().send_close_notify();
        clients.back().raw().finish();
    }
    clients.push_back(connected_client(echo)); // close_notify alone
    clients.back().send("GET /wait HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    clients.back().send_close_notify();
    std::this_thread::sleep_for(50ms); // for an effect that must not happen
    CHECK(echo.seen_gone == 0);
    echo.may_go_on = true;
    for (TlsClient& client : clients)
        CHECK(contains(client.read_all(), "HTTP/1.1 200 OK\r\n"));
    TlsClient idle = connected_client(echo);
    idle.send_close_notify();
    CHECK(idle.read_all().empty());
    CHECK(idle.has_close_notify());
}

TEST_CASE("over TLS, disconnected and stalled clients are detected without SIGPIPE") {
    const Certificate certificate;
    ConnectionOptions options = tls_options(certificate);
    options.write_timeout = 200ms;
    const Echo echo(options);
    const BrokenPipes pipes;
    for (const char* path : {"/wait", "/stream"}) {
        for (const bool is_reset : {true, false}) {
            CAPTURE(path, is_reset);
            const int before = echo.waiting, gone = echo.seen_gone;
            TlsClient client = connected_client(echo);
            client.send(std::string("GET ") + path + " HTTP/1.1\r\nHost: x\r\n\r\n");
            REQUIRE(eventually([&] { return echo.waiting == before + 1; }));
            if (is_reset) {
                client.raw().reset();
            } else {
                const TlsClient closed = std::move(client);
            }
            CHECK(eventually([&] { return echo.seen_gone == gone + 1; }));
        }
    }
    const int gone = echo.seen_gone;
    TlsClient stalled = connected_client(echo);
    stalled.send("GET /flood HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(eventually([&] { return echo.seen_gone == gone + 1; }));
    CHECK(BrokenPipes::count == 0);
}

TEST_CASE("over TLS, the limits of connections and handlers hold, and abort() breaks connections") {
    const Certificate certificate;
    ConnectionOptions options = tls_options(certificate);
    options.connections_max = 3;
    options.handlers_max = 1;
    const Echo echo(options);
    TlsClient first = connected_client(echo);
    first.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    REQUIRE(eventually([&] { return echo.waiting == 1; }));
    TlsClient second = connected_client(echo);
    second.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(contains(second.read_all(), "HTTP/1.1 503 "));
    const TlsClient third = connected_client(echo), fourth = connected_client(echo);
    TlsClient(echo.port()).handshake(); // evicts an idle one

    options.connections_max = 1;
    const Echo full(options);
    TlsClient busy = connected_client(full);
    busy.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    REQUIRE(eventually([&] { return full.waiting == 1; }));
    // No connection is left for a handshake. A connection is not counted while the poller handles it.
    CHECK(eventually([&] { return !TlsClient(full.port()).handshake(); }));
    full.listener().abort();
    echo.listener().abort();
    CHECK(eventually([&] { return echo.seen_gone == 1; }));
}

TEST_CASE("over TLS, requests that run when the server stops are finished") {
    const Certificate certificate;
    auto echo = std::make_unique<Echo>(tls_options(certificate));
    TlsClient client = connected_client(*echo), idle = connected_client(*echo);
    client.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    client.read_until("one ");
    echo.reset();
    CHECK(contains(client.read_all(), "two"));
    CHECK(idle.read_all().empty());
    CHECK(idle.has_close_notify());
}

TEST_CASE("unusable certificates and keys are errors with hints") {
    const Certificate one, other, rsa(Certificate::Kind::rsa);
    const std::filesystem::path none = one.folder() / "none.pem", text = one.folder() / "text";
    std::ofstream(text) << "no PEM\n";
    std::ofstream(one.folder() / "broken.pem")
        << "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    const auto error_of = [&](const std::filesystem::path& certificate, const std::filesystem::path& key) {
        const auto loaded = TlsContext::load(certificate, key);
        REQUIRE(!loaded.has_value());
        return std::string(to_string(loaded.error().kind)) + ": " + loaded.error().message + " (" +
               loaded.error().hint + ")";
    };
    REQUIRE(TlsContext::load(one.certificate(), one.key()).has_value());
    CHECK(error_of(none, one.key()) == "not_found: cannot read the certificate " + none.string() +
                                           ": No such file or directory (pass PEM files to --tls-cert and "
                                           "--tls-key)");
    CHECK(contains(error_of(one.certificate(), none), "not_found: cannot read the key " + none.string()));
    for (const auto& path : {text, one.key(), one.folder(), std::filesystem::path("/dev/null")}) {
        CHECK(contains(error_of(path, one.key()),
                       "invalid_argument: " + path.string() +
                           ": no certificate in PEM format (pass a file with a line -----BEGIN CERTIFICATE"));
    }
    CHECK(contains(error_of(one.folder() / "broken.pem", one.key()), "broken.pem is unusable: "));
    for (const auto& path : {text, one.certificate(), one.folder()}) {
        CHECK(contains(error_of(one.certificate(), path),
                       "invalid_argument: " + path.string() +
                           ": no private key in PEM format (pass a file with"));
    }
    for (const auto& path : {other.key(), rsa.key()}) {
        CHECK(contains(error_of(one.certificate(), path), "the key " + path.string() +
                                                              " does not match the certificate " +
                                                              one.certificate().string() + " (pass the key"));
    }
    CHECK(contains(error_of(one.certificate(), one.encrypted_key()),
                   "the private key is encrypted (decrypt it with"));

    ConnectionOptions options;
    options.tls_key = one.key();
    CHECK(!Listener::open(options, {}).has_value()); // no silent fallback to plain HTTP
}
