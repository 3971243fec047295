// The publisher from a subscriber's view, over loopback sockets.
#include "server/kv_events/publisher.hpp"
#include "tests/support/catch.hpp"

#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <zmq.h>

using namespace etna;
using namespace etna::server::kv_events;
using engine::CacheChange;
using engine::CacheObserver;
using engine::ClearedPages;
using engine::StoredPage;

namespace {

using Frames = std::vector<std::string>;

/// A subscriber, or a replay client.
class Peer {
public:
    Peer(int kind, const std::string& endpoint, int receive_max = 100'000)
        : socket_(zmq_socket(context_, kind)) {
        constexpr int none = 0;
        zmq_setsockopt(socket_, ZMQ_LINGER, &none, sizeof(none));
        zmq_setsockopt(socket_, ZMQ_RCVHWM, &receive_max, sizeof(receive_max));
        if (kind == ZMQ_SUB)
            zmq_setsockopt(socket_, ZMQ_SUBSCRIBE, "kv@", 3);
        REQUIRE(zmq_connect(socket_, endpoint.c_str()) == 0);
    }
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;
    ~Peer() {
        zmq_close(socket_);
        zmq_ctx_term(context_);
    }

    void send(const Frames& frames) {
        for (std::size_t i = 0; i < frames.size(); ++i)
            zmq_send(socket_, frames[i].data(), frames[i].size(), i + 1 < frames.size() ? ZMQ_SNDMORE : 0);
    }
    /// Returns the next message; empty on timeout.
    Frames receive(int limit_ms = 10'000) {
        zmq_pollitem_t item = {socket_, 0, ZMQ_POLLIN, 0};
        if (zmq_poll(&item, 1, limit_ms) <= 0)
            return {};
        Frames frames;
        for (int more = 1; more != 0;) {
            zmq_msg_t message;
            zmq_msg_init(&message);
            REQUIRE(zmq_msg_recv(&message, socket_, 0) >= 0);
            frames.emplace_back(static_cast<const char*>(zmq_msg_data(&message)), zmq_msg_size(&message));
            more = zmq_msg_more(&message);
            zmq_msg_close(&message);
        }
        return frames;
    }

private:
    void* context_ = zmq_ctx_new();
    void* socket_;
};

std::string number_of(uint64_t number) {
    std::string bytes;
    for (int shift = 56; shift >= 0; shift -= 8)
        bytes += static_cast<char>(number >> shift);
    return bytes;
}

StoredPage page(uint64_t hash) {
    return {.hash = {hash, 0}, .tokens = {static_cast<TokenId>(hash), 2}};
}

const std::string cleared_tail = std::string("\x91\x91\xb0") + "AllBlocksCleared" + '\0';

struct Service {
    explicit Service(PublisherOptions options = {}) {
        options.endpoint = "tcp://127.0.0.1:*";
        options.replay_endpoint = "tcp://127.0.0.1:*";
        publisher = Publisher::open(options, [this](std::string_view line) {
                        const std::scoped_lock lock(mutex);
                        warnings.emplace_back(line);
                    }).value();
    }
    /// Returns the stored batches of a topic, starting at a sequence number.
    Frames replay(uint64_t first, const std::string& topic = "") {
        Peer peer(ZMQ_DEALER, publisher->replay_endpoint());
        Frames request = {"", number_of(first)};
        if (!topic.empty())
            request.push_back(topic);
        peer.send(request);
        Frames all;
        while (true) {
            const Frames frames = peer.receive();
            REQUIRE(frames.size() == 3);
            CHECK(frames[0].empty());
            if (frames[1] == number_of(UINT64_MAX)) {
                CHECK(frames[2].empty());
                return all;
            }
            all.push_back(frames[1] + frames[2]);
        }
    }
    std::size_t warned() {
        const std::scoped_lock lock(mutex);
        return warnings.size();
    }

    std::mutex mutex;
    std::vector<std::string> warnings;
    std::unique_ptr<Publisher> publisher;
};

/// Publishes until a subscriber receives its first message, because a subscription takes effect with a delay.
/// Returns the message.
Frames join(Peer& subscriber, CacheObserver& observer) {
    for (uint64_t hash = 1; hash < 1000; ++hash) {
        observer.take({page(hash)});
        if (Frames frames = subscriber.receive(20); !frames.empty())
            return frames;
    }
    return {};
}

} // namespace

TEST_CASE("a subscriber gets topic and number and payload; a replay sends the same bytes") {
    Service service;
    service.publisher->start("pod:1");
    const auto observer = service.publisher->observe("stories", 2);
    Peer subscriber(ZMQ_SUB, service.publisher->endpoint());
    const Frames first = join(subscriber, *observer);
    REQUIRE(first.size() == 3);
    CHECK(first[0] == "kv@pod:1@stories");
    REQUIRE(first[1].size() == 8);
    for (uint64_t hash = 2000; hash < 2100; ++hash)
        REQUIRE(observer->take({page(hash)}));
    Frames told = {first[1] + first[2]};
    while (told.size() < 101) {
        const Frames frames = subscriber.receive();
        REQUIRE(frames.size() == 3);
        told.push_back(frames[1] + frames[2]);
    }
    const auto first_number = static_cast<uint64_t>(static_cast<uint8_t>(first[1][7]));
    CHECK(told[1].substr(0, 8) == number_of(first_number + 1));
    CHECK(service.replay(first_number) == told);
    CHECK(service.replay(first_number + 60) == Frames(told.begin() + 60, told.end()));
    CHECK(service.replay(first_number + 101).empty());
    CHECK(service.replay(0).size() == told.size() + first_number); // a late subscriber gets everything
    CHECK(service.replay(0, "kv@pod:1@stories").size() == told.size() + first_number);
    CHECK(service.replay(0, "kv@pod:1@other").empty());
    CHECK(service.warned() == 0);
}

TEST_CASE("each model has separate sequence numbers and a topic") {
    Service service;
    service.publisher->start("pod");
    const auto a = service.publisher->observe("a", 2), b = service.publisher->observe("b", 2);
    a->take({page(1)});
    a->take({page(2)});
    b->take({page(3)});
    CHECK(service.replay(0, "kv@pod@a").size() == 2);
    const Frames of_b = service.replay(0, "kv@pod@b");
    REQUIRE(of_b.size() == 1);
    CHECK(of_b[0].starts_with(number_of(0)));
    CHECK(service.replay(0).size() == 2); // without a topic, the first model's
    const auto counts = service.publisher->counts();
    REQUIRE(counts.size() == 2);
    CHECK(counts[0].model == "a");
    CHECK(counts[0].published == 2);
    CHECK(counts[0].dropped == 0);
}

TEST_CASE("the stored batches are limited in number and bytes") {
    Service service({.replay_batches_max = 5});
    service.publisher->start("pod");
    const auto observer = service.publisher->observe("a", 2);
    for (uint64_t hash = 0; hash < 20; ++hash)
        observer->take({page(hash)});
    const Frames kept = service.replay(0);
    REQUIRE(kept.size() == 5);
    CHECK(kept[0].starts_with(number_of(15)));

    Service small({.replay_bytes_max = 1000});
    small.publisher->start("pod");
    const auto other = small.publisher->observe("a", 2);
    for (uint64_t hash = 0; hash < 100; ++hash)
        other->take({page(hash)});
    const std::size_t count = small.replay(0).size();
    CHECK(count > 2);
    CHECK(count < 20);
}

TEST_CASE("a full queue replaces a model's queued changes by AllBlocksCleared") {
    Service service({.queued_changes_max = 4});
    const auto observer = service.publisher->observe("a", 2); // nothing is published before start()
    CHECK(observer->take({page(1), page(2)}));
    CHECK(observer->take({page(3)}));
    CHECK(!observer->has_room());
    CHECK(!observer->take({page(4), page(5)}));
    CHECK(observer->has_room()); // one change has replaced three
    CHECK(observer->take({ClearedPages{}, page(1), page(4)}));
    service.publisher->start("pod");
    const Frames told = service.replay(0);
    REQUIRE(told.size() == 2);
    CHECK(told[0].ends_with(cleared_tail));
    CHECK(told[1].find("AllBlocksCleared") < told[1].find("BlockStored"));
    CHECK(service.publisher->counts()[0].dropped == 1);
    CHECK(service.warned() == 1);
}

TEST_CASE("an empty queue accepts more changes than its limit and splits them into batches") {
    Service service({.queued_changes_max = 4});
    service.publisher->start("pod");
    const auto observer = service.publisher->observe("a", 2);
    std::vector<CacheChange> all = {ClearedPages{}};
    for (uint64_t hash = 0; hash < 5000; ++hash)
        all.emplace_back(page(hash));
    const bool is_taken = observer->take(std::move(all));
    CHECK(is_taken);
    CHECK(service.replay(0).size() == 2);
}

TEST_CASE("a stopped engine clears its pages; a model's previous engine has no effect") {
    Service service;
    service.publisher->start("pod");
    const auto old = service.publisher->observe("a", 2);
    old->take({page(1)});
    const auto current = service.publisher->observe("a", 2);
    CHECK(old->take({page(2)}));
    old->end();
    current->take({page(3)});
    const Frames told = service.replay(0);
    REQUIRE(told.size() >= 2); // the first page may be published before it is cleared
    CHECK(told[told.size() - 2].ends_with(cleared_tail));
    CHECK(told.back().find("BlockStored") != std::string::npos);
    current->end();
    CHECK(service.replay(0).back().ends_with(cleared_tail));
}

TEST_CASE("a subscriber that does not read and malicious peers delay no engine") {
    Service service({.high_water = 10});
    service.publisher->start("pod");
    const auto observer = service.publisher->observe("a", 2);
    Peer deaf(ZMQ_SUB, service.publisher->endpoint(), 1);
    REQUIRE(!join(deaf, *observer).empty());
    Peer liar(ZMQ_DEALER, service.publisher->replay_endpoint());
    for (const Frames& request :
         {Frames{"nonsense"}, Frames{"", "short"}, Frames{"x", number_of(0)}, Frames{""},
          Frames{"", number_of(0), "topic", "more", "and more"}, Frames{"", ""}})
        liar.send(request);
    Peer flood(ZMQ_DEALER, service.publisher->replay_endpoint(), 1);
    for (int i = 0; i < 200; ++i)
        flood.send({"", number_of(0)});         // and never reads
    liar.send({"", std::string(100'000, 'x')}); // over the frame limit: disconnected
    const auto start = std::chrono::steady_clock::now();
    const uint64_t before = service.publisher->counts()[0].published;
    for (uint64_t hash = 0; hash < 3000; ++hash)
        REQUIRE(observer->take({page(hash)}));
    CHECK(std::chrono::steady_clock::now() - start <
          std::chrono::seconds(20)); // bounded, however slow the machine
    CHECK(service.replay(before).size() >= 3000);
    CHECK(service.warned() == 1); // a single line, not one per request
}

TEST_CASE("observers may outlive the publisher") {
    std::shared_ptr<CacheObserver> observer;
    {
        Service service;
        observer = service.publisher->observe("a", 2);
        service.publisher->start("pod");
        observer->take({page(1)});
    }
    CHECK(observer->take({page(2)}));
    CHECK(observer->has_room());
    observer->end();
}

TEST_CASE("an invalid endpoint and an address in use are errors") {
    const auto open = [](const std::string& endpoint) {
        return Publisher::open({.endpoint = endpoint}, [](std::string_view) {});
    };
    CHECK(open("5557").error().kind == ErrorKind::invalid_argument);
    CHECK(open("http://*:5557").error().kind == ErrorKind::invalid_argument);
    Service service;
    const std::string taken = service.publisher->endpoint();
    CHECK(taken.starts_with("tcp://127.0.0.1:"));
    const auto second =
        Publisher::open({.endpoint = "tcp://127.0.0.1:*", .replay_endpoint = taken}, [](auto) {});
    REQUIRE(!second);
    CHECK(second.error().kind == ErrorKind::io);
    CHECK(second.error().message.find(taken) != std::string::npos);
}
