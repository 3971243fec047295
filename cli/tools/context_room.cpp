#include "cli/tools/context_room.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace etna::cli {
namespace {

constexpr uint32_t answer_share = 4;

/// Returns the start of the character that contains the byte at `position`.
std::size_t character_at(std::string_view text, std::size_t position) {
    while (position > 0 && position < text.size() &&
           (static_cast<unsigned char>(text[position]) & 0xc0U) == 0x80U)
        --position;
    return position;
}

/// Returns about `bytes` of the text, three quarters from its start and the rest from its end.
std::string without_middle(std::string_view text, std::size_t bytes) {
    const std::size_t head = character_at(text, bytes - bytes / 4);
    const std::size_t tail = character_at(text, text.size() - bytes / 4);
    return fmt::format("{}\n({} bytes were cut off here: the context has no room for them)\n{}",
                       text.substr(0, head), tail - head, text.substr(tail));
}

uint32_t difference(uint32_t more, uint32_t less) {
    return more > less ? more - less : 0;
}

} // namespace

uint32_t tokens_for_answer(const generate::Model& model, std::optional<uint32_t> max_tokens) {
    return std::min(model.context_tokens() / answer_share, max_tokens.value_or(model.context_tokens()));
}

Result<std::size_t> fit_result(const generate::Model& model, generate::Request request, ResultLimits limits,
                               std::string& text) {
    std::string& content = std::get<chat::Conversation>(request.prompt).messages.back().content;
    ETNA_TRY(const uint32_t base_tokens, count_prompt_tokens(model, request));
    const uint32_t room = difference(difference(model.context_tokens(), limits.answer_tokens), base_tokens);
    const auto share = room / static_cast<uint32_t>(std::max<std::size_t>(1, limits.calls));
    content = text;
    ETNA_TRY(uint32_t tokens, count_prompt_tokens(model, request));
    if (difference(tokens, base_tokens) <= share)
        return std::size_t{0};
    const uint32_t wanted = share / 2;
    std::size_t bytes = text.size();
    while (bytes > 0 && difference(tokens, base_tokens) > wanted) {
        // Assumes a constant number of tokens per byte, but always removes at least an eighth.
        bytes = std::min(bytes * wanted / (tokens - base_tokens), bytes - (bytes + 7) / 8);
        content = without_middle(text, bytes);
        ETNA_TRY(tokens, count_prompt_tokens(model, request));
    }
    const std::size_t left_out = text.size() - bytes;
    text = content;
    return left_out;
}

} // namespace etna::cli
