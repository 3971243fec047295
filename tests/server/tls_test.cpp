// Connections over TLS, as clients use and misuse them, on a real socket.

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

ConnectionOptions with(const Certificate& certificate) {
    ConnectionOptions options;
    options.tls_certificate = certificate.certificate();
    options.tls_key = certificate.key();
    return options;
}

/// A client that has shaken hands.
TlsClient welcomed(const Echo& echo) {
    TlsClient client(echo.port());
    REQUIRE(client.shake_hands());
    return client;
}

bool is_served(const Echo& echo) {
    TlsClient client = welcomed(echo);
    client.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    return contains(client.read_until("GET /a "), "HTTP/1.1 200 OK\r\n");
}

/// Counts SIGPIPE while it lives, which the HTTP library has told the system to ignore.
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

TEST_CASE("requests follow one another on a connection over TLS, which is parked in between") {
    const auto [kind, version] = GENERATE(std::pair(Certificate::Kind::elliptic, TLS1_2_VERSION),
                                          std::pair(Certificate::Kind::elliptic, TLS1_3_VERSION),
                                          std::pair(Certificate::Kind::rsa, TLS1_3_VERSION));
    const Certificate certificate(kind);
    const Echo echo(with(certificate));
    TlsClient client(echo.port(), {.version = version});
    REQUIRE(client.shake_hands());
    CHECK(client.version() == version);
    client.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(contains(client.read_until("GET /a "), "HTTP/1.1 200 OK\r\n"));
    CHECK(eventually([&] { return echo.listener().requests() == 0; }));
    CHECK(echo.listener().connections() == 1);
    for (const char letter : std::string("\r\nPOST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"))
        client.send({&letter, 1}); // a record each
    CHECK(contains(client.read_until("POST /b hello"), "POST /b hello"));
    // In one record: what follows a body waits inside the session, where no descriptor tells of it.
    client.send("POST /c HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhiGET /d HTTP/1.1\r\nHost: x\r\n\r\n"
                "POST /e HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nyoGET /f HTTP/1.1\r\nHo");
    CHECK(contains(client.read_until("POST /e yo"), "GET /d "));
    client.send("st: x\r\nConnection: close\r\n\r\n");
    CHECK(contains(client.read_all(), "GET /f "));
    CHECK(client.is_farewell_said());
}

TEST_CASE("what is agreed on: TLS 1.2 at least, and HTTP/1.1 where the client asks") {
    const Certificate certificate;
    const Echo echo(with(certificate));
    TlsClient old(echo.port(), {.version = TLS1_1_VERSION});
    CHECK(!old.shake_hands());
    TlsClient several(echo.port(), {.protocols = "\x02h2\x08http/1.1"});
    CHECK(several.shake_hands());
    CHECK(several.protocol() == "http/1.1");
    TlsClient other(echo.port(), {.protocols = "\x02h2"});
    CHECK(!other.shake_hands());
    CHECK(welcomed(echo).protocol().empty());
}

TEST_CASE("what is no TLS closes its own connection, and no other") {
    const Certificate certificate;
    const Echo echo(with(certificate));
    TlsClient neighbour = welcomed(echo);
    std::string noise;
    for (unsigned i = 0; i < 100'000; ++i)
        noise += static_cast<char>(i * i * 31 + (i >> 3));
    std::string bent = TlsClient(echo.port()).next_flight();
    for (std::size_t i = 20; i < bent.size(); i += 7)
        bent[i] = static_cast<char>(bent[i] ^ 0x55);
    for (const std::string& bytes :
         {std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), noise, bent, std::string(20'000, '\0'),
          std::string("\x16\x03\x01\xff\xff", 5) + noise, std::string("\x15\x03\x01\x00\x02\x02\x28", 7)}) {
        CAPTURE(bytes.substr(0, 20));
        RawClient client(echo.port());
        client.send(bytes);
        client.read_all(); // an alert, perhaps
        CHECK(client.is_closed(0ms));
    }
    RawClient(echo.port()).reset();
    RawClient(echo.port()).finish();
    TlsClient late = welcomed(echo);
    late.raw().send(noise);
    late.raw().read_all();
    CHECK(late.raw().is_closed(0ms));
    CHECK(eventually([&] { return echo.listener().connections() == 1; }));
    neighbour.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(contains(neighbour.read_until("GET /a "), "200 OK"));
    CHECK(is_served(echo));
}

TEST_CASE("who begins no handshake, or does not end it, costs no thread and has the time of a head") {
    const Certificate certificate;
    ConnectionOptions options = with(certificate);
    options.header_timeout = 2s;
    options.handlers_max = 1;
    const Echo echo(options);
    const std::string hello = TlsClient(echo.port()).next_flight();
    std::vector<RawClient> slow;
    for (int i = 0; i < 20; ++i) {
        slow.emplace_back(echo.port()); // says nothing
        slow.emplace_back(echo.port());
        slow.back().send(hello.substr(0, hello.size() / 2));
        slow.emplace_back(echo.port());
        slow.back().send(hello);
    }
    CHECK(is_served(echo));
    RawClient dripping(echo.port());
    std::size_t sent = 0;
    while (sent < hello.size() && !dripping.is_closed(2'000ms / (hello.size() / 2)))
        dripping.send(hello.substr(sent++, 1));
    CHECK(sent < hello.size());
    for (RawClient& client : slow) {
        client.read_all();
        CHECK(client.is_closed(0ms));
    }
    CHECK(eventually([&] { return echo.listener().connections() == 0; }));
}

TEST_CASE("over TLS, idle connections cost no thread and hold nobody up") {
    const Certificate certificate;
    ConnectionOptions options = with(certificate);
    options.handlers_max = 2;
    const Echo echo(options);
    std::vector<TlsClient> idle;
    idle.reserve(100);
    for (int i = 0; i < 100; ++i)
        idle.push_back(welcomed(echo));
    CHECK(is_served(echo));
    idle[50].send("GET /b HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(contains(idle[50].read_until("GET /b "), "200 OK"));
    idle.clear();
    CHECK(eventually([&] { return echo.listener().connections() == 0; }));
}

TEST_CASE("over TLS, idle connections end after their time, with a farewell") {
    const Certificate certificate;
    ConnectionOptions options = with(certificate);
    options.idle_timeout = 50ms;
    const Echo echo(options);
    TlsClient client = welcomed(echo);
    CHECK(client.read_all().empty());
    CHECK(client.is_farewell_said());
}

TEST_CASE("over TLS, heads and bodies that are too long, too slow or cut off are told so") {
    const Certificate certificate;
    ConnectionOptions options = with(certificate);
    options.header_timeout = 2s;
    options.body_timeout = 100ms;
    options.header_bytes_max = 20'000;
    const Echo echo(options);
    const auto answer = [&](const std::string& bytes) {
        TlsClient client = welcomed(echo);
        client.send(bytes);
        return client.read_until("refused");
    };
    CHECK(contains(answer("GET / HTTP/1.1\r\nX: "), "HTTP/1.1 408 "));
    CHECK(contains(answer("GET / HTTP/1.1\r\nX: " + std::string(25'000, 'x')), "HTTP/1.1 431 "));
    CHECK(contains(answer("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n"), "HTTP/1.1 413 "));
    CHECK(contains(answer("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc"), "HTTP/1.1 408 "));
    TlsClient cut = welcomed(echo); // without a farewell
    cut.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
    cut.raw().finish();
    CHECK(contains(cut.read_until("refused"), "HTTP/1.1 400 "));
}

TEST_CASE("over TLS, a stream comes in pieces, and what is larger than every buffer arrives whole") {
    const Certificate certificate;
    Echo echo(with(certificate));
    TlsClient client = welcomed(echo);
    client.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(contains(client.read_until("one "), "Transfer-Encoding: chunked\r\n"));
    TlsClient flooded = welcomed(echo);
    flooded.send("GET /flood HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    std::this_thread::sleep_for(100ms); // until the server waits
    std::string flood = flooded.read_until(std::string(3'000, 'x'));
    echo.may_go_on = true;
    CHECK(contains(client.read_until("0\r\n\r\n"), "3\r\ntwo\r\n"));
    flood += flooded.read_all();
    const auto body = flood.begin() + static_cast<std::ptrdiff_t>(flood.find("\r\n\r\n"));
    CHECK(std::count(body, flood.end(), 'x') % 1'000'000 == 0);
    CHECK(flood.ends_with("x\r\n0\r\n\r\n"));
}

TEST_CASE("over TLS, who ends the sending half is served, by a farewell or without") {
    const Certificate certificate;
    Echo echo(with(certificate));
    std::vector<TlsClient> clients;
    for (const char* path : {"/wait", "/wait", "/stream", "/stream"}) {
        clients.push_back(welcomed(echo));
        clients.back().send(std::string("GET ") + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        REQUIRE(eventually([&] { return echo.waiting == static_cast<int>(clients.size()); }));
        if (clients.size() % 2 == 0)
            clients.back().say_farewell();
        clients.back().raw().finish();
    }
    clients.push_back(welcomed(echo)); // a farewell alone
    clients.back().send("GET /wait HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    clients.back().say_farewell();
    std::this_thread::sleep_for(50ms);
    CHECK(echo.seen_gone == 0);
    echo.may_go_on = true;
    for (TlsClient& client : clients)
        CHECK(contains(client.read_all(), "HTTP/1.1 200 OK\r\n"));
    TlsClient idle = welcomed(echo);
    idle.say_farewell();
    CHECK(idle.read_all().empty());
    CHECK(idle.is_farewell_said());
}

TEST_CASE("over TLS, who is gone or does not read is noticed, and no signal is raised") {
    const Certificate certificate;
    ConnectionOptions options = with(certificate);
    options.write_timeout = 200ms;
    const Echo echo(options);
    const BrokenPipes pipes;
    for (const char* path : {"/wait", "/stream"}) {
        for (const bool is_reset : {true, false}) {
            CAPTURE(path, is_reset);
            const int before = echo.waiting, gone = echo.seen_gone;
            TlsClient client = welcomed(echo);
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
    TlsClient deaf = welcomed(echo);
    deaf.send("GET /flood HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(eventually([&] { return echo.seen_gone == gone + 1; }));
    CHECK(BrokenPipes::count == 0);
}

TEST_CASE("over TLS, places that are taken and connections that are broken from inside") {
    const Certificate certificate;
    ConnectionOptions options = with(certificate);
    options.connections_max = 3;
    options.handlers_max = 1;
    const Echo echo(options);
    TlsClient first = welcomed(echo);
    first.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    REQUIRE(eventually([&] { return echo.waiting == 1; }));
    TlsClient second = welcomed(echo);
    second.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(contains(second.read_all(), "HTTP/1.1 503 "));
    const TlsClient third = welcomed(echo), fourth = welcomed(echo);
    TlsClient(echo.port()).shake_hands(); // takes the place of an idle one

    options.connections_max = 1;
    const Echo full(options);
    TlsClient busy = welcomed(full);
    busy.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    REQUIRE(eventually([&] { return full.waiting == 1; }));
    // There is no place to shake hands at. A connection that is just looked at is not counted for that
    // moment.
    CHECK(eventually([&] { return !TlsClient(full.port()).shake_hands(); }));
    full.listener().abort();
    echo.listener().abort();
    CHECK(eventually([&] { return echo.seen_gone == 1; }));
}

TEST_CASE("over TLS, what is at work when the server stops is finished") {
    const Certificate certificate;
    auto echo = std::make_unique<Echo>(with(certificate));
    TlsClient client = welcomed(*echo), idle = welcomed(*echo);
    client.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    client.read_until("one ");
    echo.reset();
    CHECK(contains(client.read_all(), "two"));
    CHECK(idle.read_all().empty());
    CHECK(idle.is_farewell_said());
}

TEST_CASE("a certificate and a key that cannot be used are told, with what to do") {
    const Certificate one, other, rsa(Certificate::Kind::rsa);
    const std::filesystem::path none = one.folder() / "none.pem", text = one.folder() / "text";
    std::ofstream(text) << "no PEM\n";
    std::ofstream(one.folder() / "broken.pem")
        << "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    const auto told = [&](const std::filesystem::path& certificate, const std::filesystem::path& key) {
        const auto loaded = TlsContext::load(certificate, key);
        REQUIRE(!loaded.has_value());
        return std::string(to_string(loaded.error().kind)) + ": " + loaded.error().message + " (" +
               loaded.error().hint + ")";
    };
    REQUIRE(TlsContext::load(one.certificate(), one.key()).has_value());
    CHECK(told(none, one.key()) == "not_found: the certificate " + none.string() +
                                       " cannot be read: No such file or directory (--tls-cert and --tls-key "
                                       "take files in PEM)");
    CHECK(contains(told(one.certificate(), none), "not_found: the key " + none.string() + " cannot be read"));
    for (const auto& path : {text, one.key(), one.folder(), std::filesystem::path("/dev/null")}) {
        CHECK(contains(told(path, one.key()),
                       "invalid_argument: " + path.string() +
                           " holds no certificate in PEM (such a file has a line -----BEGIN CERTIFICATE"));
    }
    CHECK(contains(told(one.folder() / "broken.pem", one.key()), "broken.pem cannot be used: "));
    for (const auto& path : {text, one.certificate(), one.folder()}) {
        CHECK(contains(told(one.certificate(), path), "invalid_argument: " + path.string() +
                                                          " holds no private key in PEM (such a file has"));
    }
    for (const auto& path : {other.key(), rsa.key()}) {
        CHECK(contains(told(one.certificate(), path), "the key " + path.string() +
                                                          " is not that of the certificate " +
                                                          one.certificate().string() + " (give the key"));
    }
    CHECK(contains(told(one.certificate(), one.locked_key()), "is locked with a password (etna asks for"));

    ConnectionOptions options;
    options.tls_key = one.key();
    CHECK(!Listener::open(options, {}).has_value()); // never without TLS by mistake
}
