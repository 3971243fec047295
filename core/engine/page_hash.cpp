#include "core/engine/page_hash.hpp"

#include <bit>
#include <vector>

namespace etna::engine {
namespace {

constexpr int rounds_per_word = 2;
constexpr int final_rounds = 4;

struct SipState {
    uint64_t v0, v1, v2, v3;

    void rounds(int count) {
        for (int i = 0; i < count; ++i) {
            v0 += v1;
            v2 += v3;
            v1 = std::rotl(v1, 13) ^ v0;
            v3 = std::rotl(v3, 16) ^ v2;
            v0 = std::rotl(v0, 32);
            v2 += v1;
            v0 += v3;
            v1 = std::rotl(v1, 17) ^ v2;
            v3 = std::rotl(v3, 21) ^ v0;
            v2 = std::rotl(v2, 32);
        }
    }

    void absorb(uint64_t word) {
        v3 ^= word;
        rounds(rounds_per_word);
        v0 ^= word;
    }

    [[nodiscard]] uint64_t folded() const { return v0 ^ v1 ^ v2 ^ v3; }
};

uint64_t little_endian(ByteView bytes) {
    uint64_t word = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i)
        word |= std::to_integer<uint64_t>(bytes[i]) << (8 * i);
    return word;
}

} // namespace

PageHash sip_hash(const HashKey& key, ByteView bytes) {
    // The constants spell "somepseudorandomlygeneratedbytes"; 0xee and 0xdd mark the wide output.
    SipState state{0x736f6d6570736575 ^ key[0], 0x646f72616e646f6d ^ key[1] ^ 0xee,
                   0x6c7967656e657261 ^ key[0], 0x7465646279746573 ^ key[1]};
    const uint64_t length_mark = static_cast<uint64_t>(bytes.size()) << 56;
    for (; bytes.size() >= 8; bytes = bytes.subspan(8))
        state.absorb(little_endian(bytes.first(8)));
    state.absorb(length_mark | little_endian(bytes));
    PageHash hash{};
    state.v2 ^= 0xee;
    state.rounds(final_rounds);
    hash[0] = state.folded();
    state.v1 ^= 0xdd;
    state.rounds(final_rounds);
    hash[1] = state.folded();
    return hash;
}

PageHash root_hash(const HashKey& key, uint64_t model_salt, uint64_t request_salt) {
    const std::array<uint64_t, 2> salts = {model_salt, request_salt};
    return sip_hash(key, std::as_bytes(std::span(salts)));
}

PageHash page_hash(const HashKey& key, const PageHash& parent, const ContentRun& content) {
    std::vector<std::byte> bytes;
    bytes.reserve(sizeof(PageHash) + content.ids.size_bytes() + content.kinds.size_bytes());
    const std::array<ByteView, 3> parts = {std::as_bytes(std::span(parent)), std::as_bytes(content.ids),
                                           std::as_bytes(content.kinds)};
    for (const ByteView part : parts)
        bytes.insert(bytes.end(), part.begin(), part.end());
    return sip_hash(key, bytes);
}

} // namespace etna::engine
