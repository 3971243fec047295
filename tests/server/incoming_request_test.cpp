// Incremental parsing of requests from fragments of any length.

#include "server/http/incoming_request.hpp"
#include "tests/support/catch.hpp"

#include <array>
#include <random>

using namespace etna::server;
using Stage = IncomingRequest::Stage;

namespace {

constexpr std::size_t body_bytes_max = 100'000;

IncomingLimits bounds() {
    return {.header_bytes_max = 1000, .body_bytes_max = [](const HttpRequest&) { return body_bytes_max; }};
}

std::shared_ptr<MemoryBudget> memory(std::size_t bytes_max = SIZE_MAX) {
    return std::make_shared<MemoryBudget>(bytes_max);
}

struct Case {
    std::string bytes;
    std::string body; ///< the expected body
    std::string rest; ///< the bytes that follow the request
};

const std::string head = "POST /a HTTP/1.1\r\nHost: x\r\n";
const std::string chunked = head + "Transfer-Encoding: chunked\r\n\r\n";

int status_of(const std::string& bytes) {
    IncomingRequest request(memory());
    const auto refusal = request.feed(bytes, bounds());
    return refusal ? refusal->status : 200;
}

} // namespace

TEST_CASE("a request is complete at the same byte, however it is fragmented") {
    const auto one =
        GENERATE(Case{head + "\r\n", "", ""}, Case{"\r\n\r\n" + head + "\r\n", "", "GET / HT"},
                 Case{head + "Content-Length: 5\r\n\r\nhello", "hello", "GET "},
                 Case{head + "Content-Length: 0\r\n\r\n", "", "x"}, Case{chunked + "0\r\n\r\n", "", "G"},
                 Case{chunked + "3\r\nabc\r\nA;name=\"v\"\r\n0123456789\r\n0 ;x\r\nTrailer: 1\r\n\r\n",
                      "abc0123456789", "GET"});
    for (std::size_t piece = 1; piece <= one.bytes.size(); ++piece) {
        CAPTURE(one.bytes, piece);
        IncomingRequest request(memory());
        CHECK(request.stage() == Stage::none);
        for (std::size_t at = 0; at < one.bytes.size(); at += piece) {
            REQUIRE(request.stage() != Stage::complete);
            const bool is_last = at + piece >= one.bytes.size();
            REQUIRE(!request.feed(one.bytes.substr(at, piece) + (is_last ? one.rest : ""), bounds()));
        }
        REQUIRE(request.stage() == Stage::complete);
        const ReceivedRequest received = request.take_request();
        CHECK(received.head.request.path == "/a");
        CHECK(received.head.request.body == one.body);
        CHECK(received.pipelined == one.rest);
    }
}

TEST_CASE("malformed chunks get 400") {
    for (const char* body : {"x\r\n", "\r\n", "-1\r\n", "0x1\r\na\r\n", "1\r\nab\r\n", "1 1\r\na\r\n",
                             "3\r\nabcd\r\n", "1\r\na\n\r\n"}) {
        CAPTURE(body);
        CHECK(status_of(chunked + body) == 400);
    }
    for (const char* body : {"1;x\ny\r\na\r\n0\r\n\r\n", "1;x\ry\r\na\r\n0\r\n\r\n", "1 \n\r\na\r\n",
                             "0\n\r\n\r\n", "0\r\njunk\r\n\r\n", "0\r\n: x\r\n\r\n", "0\r\nA: b\n\r\n\r\n",
                             "0\r\nA : b\r\n\r\n", "0\r\n x\r\n\r\n", "0\r\nGET / HTTP/1.1\r\n\r\n"}) {
        CAPTURE(body);
        CHECK(status_of(chunked + body) == 400);
    }
    CHECK(status_of(chunked + std::string(2000, '0')) == 400); // an endless size
    CHECK(status_of(chunked + "1;" + std::string(2000, 'x') + "\r\na\r\n") == 400);
    std::string trailer;
    for (int i = 0; i < 100; ++i)
        trailer += "X: " + std::string(100, 'y') + "\r\n";
    CHECK(status_of(chunked + "0\r\n" + trailer) == 400);
}

TEST_CASE("a body over its limit gets 413 before it has arrived") {
    CHECK(status_of(head + "Content-Length: 100001\r\n\r\n") == 413);
    CHECK(status_of(head + "Content-Length: 100000\r\n\r\n") == 200);
    CHECK(status_of(chunked + "FFFFFFFFFFFFFFFFFFFF\r\n") == 413);
    CHECK(status_of(chunked + "1\r\na\r\n186A0\r\n") == 413);
    CHECK(status_of(chunked + "186A0\r\n") == 200);
}

TEST_CASE("all bodies share a memory budget, small ones are free, and reservations are released") {
    constexpr std::size_t small = MemoryReservation::uncounted_bytes;
    const auto budget = memory(1500);
    const auto post = [](std::size_t bytes) {
        return head + "Content-Length: " + std::to_string(bytes) + "\r\n\r\n" + std::string(bytes, 'x');
    };
    {
        IncomingRequest first(budget), second(budget), third(budget);
        CHECK(!first.feed(post(small + 1000), bounds()));
        CHECK(budget->held() == 1000);
        const auto refusal = second.feed(post(small + 501), bounds());
        REQUIRE(refusal.has_value());
        CHECK(refusal->status == 503);
        CHECK(!third.feed(post(small), bounds()));
        const ReceivedRequest received = first.take_request();
        CHECK(budget->held() == 1000);
        CHECK(received.head.request.reserve_memory(small + 500));
        CHECK(!received.head.request.reserve_memory(small + 1));
        CHECK(received.head.request.reserve_memory(small)); // small reservations never fail
        received.head.request.memory->shrink_to(100);
        CHECK(budget->held() == 100);
        CHECK(budget->take_freed() == 1400);
    }
    CHECK(budget->held() == 0);
    CHECK(budget->take_freed() == 100);
    CHECK(!budget->take(SIZE_MAX));
}

TEST_CASE("100 Continue is sent once, only if the client still waits") {
    const auto continues = [](const std::string& bytes) {
        IncomingRequest request(memory());
        REQUIRE(!request.feed(bytes, bounds()));
        const bool once = request.must_send_continue();
        CHECK(!request.must_send_continue());
        return once;
    };
    const std::string asking = head + "Expect: 100-continue\r\nContent-Length: 3\r\n\r\n";
    CHECK(continues(asking));
    CHECK(!continues(asking + "a"));
    CHECK(!continues(asking + "abc"));
    CHECK(!continues(head + "Content-Length: 3\r\n\r\n"));
    CHECK(!continues(head + "Expect: 100-continue\r\n\r\n"));
}

TEST_CASE("random input is parsed the same in one piece and in many") {
    constexpr std::array words = {"POST",
                                  "/a",
                                  " ",
                                  "HTTP/1.1",
                                  "\r\n",
                                  "\r\n\r\n",
                                  "Host: x",
                                  "Content-Length: ",
                                  "Transfer-Encoding: chunked",
                                  "3",
                                  "0",
                                  ";",
                                  "abc",
                                  ":",
                                  "\r",
                                  "\n",
                                  "\t",
                                  "0\r\n\r\n",
                                  "3\r\n",
                                  "%41",
                                  "FF",
                                  "Expect: 100-continue"};
    const auto outcome = [](const std::string& bytes, std::size_t piece) {
        IncomingRequest request(memory());
        std::size_t at = 0;
        for (; at < bytes.size() && request.stage() != Stage::complete; at += piece) {
            if (const auto refusal = request.feed(bytes.substr(at, piece), bounds()))
                return std::to_string(refusal->status);
        }
        if (request.stage() != Stage::complete)
            return std::string("unfinished");
        const ReceivedRequest received = request.take_request();
        const std::string rest = received.pipelined + bytes.substr(std::min(at, bytes.size()));
        return "complete: " + received.head.request.path + "|" + received.head.request.body + "|" + rest;
    };
    std::mt19937 random(1);
    std::size_t complete = 0;
    for (int round = 0; round < 20'000; ++round) {
        std::string bytes = round % 2 == 0 ? head : chunked;
        for (auto words_left = random() % 12; words_left > 0; --words_left)
            bytes += words[random() % words.size()];
        CAPTURE(bytes);
        const std::string at_once = outcome(bytes, bytes.size());
        complete += at_once.starts_with("complete") ? 1 : 0;
        REQUIRE(outcome(bytes, 1) == at_once);
        REQUIRE(outcome(bytes, 1 + random() % 7) == at_once);
    }
    CHECK(complete > 100);
}
