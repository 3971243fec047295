#pragma once

#include "core/base/result.hpp"
#include "core/generate/generation.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace etna::cli {

/// Returns the context tokens reserved for an answer: a quarter of the context, or max_tokens if that is
/// less.
uint32_t tokens_for_answer(const generate::Model& model, std::optional<uint32_t> max_tokens);

struct ResultLimits {
    uint32_t answer_tokens = 0; ///< context tokens reserved for the answer
    std::size_t calls = 1;      ///< outstanding results that share the rest, this one included
};

/// Truncates `text`, the UTF-8 content of the request's last message, if the context has no room for all of
/// it: replaces the middle by a note. A truncated text takes half of its share of the room, so that more
/// calls can follow. Returns the number of bytes removed. Renders and tokenizes the prompt a few times.
/// Errors: those of rendering and tokenizing. Precondition: the prompt is a conversation whose last message
/// has no content.
Result<std::size_t> fit_result(const generate::Model& model, generate::Request request, ResultLimits limits,
                               std::string& text);

} // namespace etna::cli
