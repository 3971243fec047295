#pragma once

#include "core/base/result.hpp"
#include "core/generate/generate.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace etna::cli {

/// Tokens of the context that are kept free for an answer: a quarter, or as many as it may have.
uint32_t tokens_for_answer(const generate::Model& model, std::optional<uint32_t> max_tokens);

struct ResultLimits {
    uint32_t answer_tokens = 0; ///< of the context, that stay free for the answer
    std::size_t calls = 1;      ///< results that are to come and share the rest, this one too
};

/// Cuts `text`, UTF-8 that becomes the content of the request's last message, where the context has no room
/// for all of it: the middle goes, and a mark says so. A text that is cut takes half of the room, so that
/// more calls may follow. Returns how many bytes went. The prompt is rendered and counted a few times.
/// Errors: those of rendering and tokenizing. Precondition: the prompt is a conversation whose last message
/// has no content.
Result<std::size_t> fit_result(const generate::Model& model, generate::Request request, ResultLimits limits,
                               std::string& text);

} // namespace etna::cli
