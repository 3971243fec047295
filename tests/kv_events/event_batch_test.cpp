// Batches of events, byte for byte. The expected bytes are written by hand, by the rules of msgspec
// (array_like for the batch and the older events; tagged maps for the newer ones) and of MessagePack.
#include "server/kv_events/event_batch.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <string_view>
#include <vector>

using namespace etna;
using namespace etna::server::kv_events;
using engine::CacheChange;
using engine::ClearedPages;
using engine::RemovedPage;
using engine::StoredPage;

namespace {

/// Parses a text such as "93 cb 'abc'": hexadecimal bytes, and characters in quotes.
std::string bytes_of(std::string_view text) {
    std::string bytes;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\'') {
            const std::size_t end = text.find('\'', i + 1);
            bytes += text.substr(i + 1, end - i - 1);
            i = end;
        } else if (text[i] != ' ') {
            bytes += static_cast<char>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16));
            ++i;
        }
    }
    return bytes;
}

/// 1757500000.25, a real that 32 bits cannot hold, and its bytes.
constexpr double time_s = 1757500000.25;
const std::string time_bytes = "cb 41 da 30 54 98 10 00 00";

const StoredPage first_page = {.hash = {0xdeadbeef12345678, 1}, .tokens = {128000, 255, 65535, 127}};
const StoredPage second_page = {
    .hash = {0xffffffffffffffff, 2}, .parent = first_page.hash, .index = 1, .tokens = {0, 1, 128, 256}};
const StoredPage partial_page = {.hash = {7, 3}, .parent = second_page.hash, .index = 2, .tokens = {42}};

std::string encoded(const std::vector<CacheChange>& changes, EventFormat events = EventFormat::arrays,
                    PartialPages partial_pages = PartialPages::hidden) {
    return encode_batch(time_s, changes, {.events = events, .partial = partial_pages, .page_tokens = 4});
}

} // namespace

TEST_CASE("consecutive pages are encoded as one BlockStored array") {
    CHECK(encoded({first_page, second_page}) ==
          bytes_of("93 " + time_bytes +
                   "91 9c ab 'BlockStored'"
                   "92 cf de ad be ef 12 34 56 78 cf ff ff ff ff ff ff ff ff"
                   "c0"
                   "98 ce 00 01 f4 00 cc ff cd ff ff 7f 00 01 cc 80 cd 01 00"
                   "04 c0 a3 'GPU' c0 92 c0 c0 00 ae 'full_attention' c0 00"));
}

TEST_CASE("pages encoded as maps have vLLM's member names") {
    CHECK(encoded({second_page}, EventFormat::maps) ==
          bytes_of("93 " + time_bytes +
                   "91 8b a4 'type' ab 'BlockStored'"
                   "ac 'block_hashes' 91 cf ff ff ff ff ff ff ff ff"
                   "b1 'parent_block_hash' cf de ad be ef 12 34 56 78"
                   "a9 'token_ids' 94 00 01 cc 80 cd 01 00"
                   "aa 'block_size' 04 a7 'lora_id' c0 a6 'medium' a3 'GPU' a9 'lora_name' c0"
                   "aa 'extra_keys' 91 c0 a9 'group_idx' 00 b2 'kv_cache_spec_kind' ae 'full_attention' 00"));
}

TEST_CASE("removed and cleared pages have vLLM's events") {
    const std::vector<CacheChange> changes = {RemovedPage{{7, 1}, 4}, RemovedPage{{300, 1}, 4},
                                              ClearedPages{}};
    CHECK(encoded(changes) == bytes_of("93 " + time_bytes +
                                       "92 94 ac 'BlockRemoved' 92 07 cd 01 2c a3 'GPU' 00"
                                       "91 b0 'AllBlocksCleared' 00"));
    CHECK(encoded(changes, EventFormat::maps) ==
          bytes_of("93 " + time_bytes +
                   "92 84 a4 'type' ac 'BlockRemoved' ac 'block_hashes' 92 07 cd 01 2c a6 'medium' a3 'GPU'"
                   "a9 'group_idx' 00 81 a4 'type' b0 'AllBlocksCleared' 00"));
}

TEST_CASE("partial pages are published only on request") {
    CHECK(encoded({partial_page}).empty());
    CHECK(encoded({RemovedPage{partial_page.hash, 1}}).empty());
    CHECK(encoded({second_page, partial_page}) == encoded({second_page}));
    CHECK(encoded({partial_page, RemovedPage{partial_page.hash, 1}}, EventFormat::arrays,
                  PartialPages::published) ==
          bytes_of("93 " + time_bytes +
                   "92 9c ab 'BlockStored' 91 07 cf ff ff ff ff ff ff ff ff 91 2a 01 c0 a3 'GPU' c0 91 c0 00"
                   "ae 'full_attention' c0 94 ac 'BlockRemoved' 91 07 a3 'GPU' 00 00"));
    CHECK(encoded({}).empty());
}

TEST_CASE("the first page of a salted text has a salt mark in its extra keys") {
    StoredPage salted = first_page;
    salted.salt_mark = 0x12ab;
    CHECK(encoded({salted, second_page}).find(bytes_of("92 91 b0 '00000000000012ab' c0 00")) !=
          std::string::npos);
}

TEST_CASE("pages of different texts are different events") {
    StoredPage other = second_page;
    other.parent = engine::PageHash{9, 9};
    CHECK(encoded({first_page, other}).substr(10, 1) == bytes_of("92"));
    CHECK(encoded({first_page, first_page}).substr(10, 1) == bytes_of("92"));
    CHECK(encoded({first_page, RemovedPage{{1, 1}, 4}, second_page}).substr(10, 1) == bytes_of("93"));
}

TEST_CASE("long events are encoded with 16-bit and 32-bit lengths") {
    StoredPage long_page = {.hash = {1, 1}, .tokens = std::vector<TokenId>(70'000, 5)};
    const std::string batch = encode_batch(0, std::vector<CacheChange>{long_page}, {.page_tokens = 70'000});
    CHECK(batch.find(bytes_of("c0 dd 00 01 11 70 05 05")) != std::string::npos);
    CHECK(batch.find(bytes_of("ce 00 01 11 70 c0 a3")) != std::string::npos);
    CHECK(batch.starts_with(bytes_of("93 cb 00 00 00 00 00 00 00 00 91")));
    const std::vector<CacheChange> many(300, RemovedPage{{1, 1}, 4});
    CHECK(encoded(many).find(bytes_of("dc 01 2c 01 01")) != std::string::npos);
}
