#pragma once

#include "core/base/result.hpp"
#include "core/generate/generate.hpp"

#include <cstddef>
#include <cstdint>

namespace etna::cli {

/// Forgets the oldest turns of the request's conversation, as few as make its prompt leave `reserve_tokens`
/// of the context; the system message and the last turn stay. Returns how many messages went, all of them
/// right after the system message. The prompt is rendered and counted a few times, never once for every turn.
/// Errors, after which the request is of no use: those of rendering and tokenizing; invalid_argument (the
/// last turn alone does not fit). Precondition: the prompt is a conversation.
Result<std::size_t> make_room(const generate::Model& model, generate::Request& request,
                              uint32_t reserve_tokens);

/// The request with the system message and the last turn alone: what make_room() never forgets. Precondition:
/// the prompt is a conversation.
generate::Request with_last_turn(generate::Request request);

} // namespace etna::cli
