#include "cli/bench/bench_requests.hpp"

#include <utility>
#include <variant>

#include <fmt/format.h>

namespace etna::cli {

void add_random_tokens(std::vector<TokenId>& tokens, uint64_t seed, uint32_t count, uint32_t vocabulary) {
    // SplitMix64 (Steele, Lea and Flood, 2014)
    uint64_t state = seed * 0xD1B54A32D192ED03U;
    for (uint32_t i = 0; i < count; ++i) {
        state += 0x9E3779B97F4A7C15U;
        uint64_t mixed = (state ^ (state >> 30U)) * 0xBF58476D1CE4E5B9U;
        mixed = (mixed ^ (mixed >> 27U)) * 0x94D049BB133111EBU;
        tokens.push_back(static_cast<TokenId>((mixed ^ (mixed >> 31U)) % vocabulary));
    }
}

Result<engine::Finished> wait_for_end(engine::Stream& stream) {
    while (true) {
        engine::Event event = stream.next();
        auto* end = std::get_if<engine::Finished>(&event);
        if (end == nullptr)
            continue;
        if (end->error)
            return *end->error;
        return std::move(*end);
    }
}

Status check_batch(uint32_t batch, const engine::Limits& limits) {
    if (batch <= limits.sequences_max)
        return {};
    return Error{.kind = ErrorKind::out_of_memory,
                 .message = fmt::format("memory limits the sequences to {}", limits.sequences_max),
                 .hint = "choose a smaller --batch"};
}

} // namespace etna::cli
