#pragma once

#include "core/base/token.hpp"
#include "server/http.hpp"
#include "server/models.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// Answers that tell what a model is given, as JSON, piece by piece: they may be far longer than what they
/// are made of.
namespace etna::server::openai {

/// Takes the next bytes of an answer; false when nobody wants more.
using Put = std::function<bool(std::string_view bytes)>;

/// What writes an answer piece by piece, from no more than it holds.
struct Pieces {
    std::function<void(const Put& put)> write;
    std::size_t bytes = 0; ///< of the answer, about
    std::size_t held = 0;
};

/// {"tokens", "count", "max_model_len"}; each token its id, or {"id", "piece"}.
Pieces told_tokens(const Models::Handle& model, std::vector<TokenId> tokens, bool with_pieces);

/// {"content", "prompt"}: the text of tokens, by both names.
Pieces told_text(const Models::Handle& model, std::vector<TokenId> tokens);

/// {"prompt"}.
Pieces told_prompt(std::string text);

/// A long answer is made while it is sent, so that it is never whole in memory; `memory`, which may be null,
/// shrinks to what it holds.
HttpReply reply_of(Pieces pieces, std::shared_ptr<MemoryShare> memory);

} // namespace etna::server::openai
