#pragma once

#include "core/base/result.hpp"
#include "core/generate/generation.hpp"

#include <cstddef>
#include <cstdint>

namespace etna::cli {

/// Drops the oldest turns of the request's conversation, as few as needed for its prompt to leave
/// `reserve_tokens` of the context; the system message and the last turn stay. Returns the number of messages
/// dropped, all of them right after the system message. Renders and tokenizes the prompt a few times, not
/// once per turn. Errors, after which the request is unusable: those of rendering and tokenizing;
/// invalid_argument (the last turn alone does not fit). Precondition: the prompt is a conversation.
Result<std::size_t> trim_history(const generate::Model& model, generate::Request& request,
                                 uint32_t reserve_tokens);

/// Returns the request with only the system message and the last turn, which trim_history() never drops.
/// Precondition: the prompt is a conversation.
generate::Request with_last_turn(generate::Request request);

} // namespace etna::cli
