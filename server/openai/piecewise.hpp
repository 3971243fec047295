#pragma once

#include "core/base/token.hpp"
#include "server/http/http.hpp"
#include "server/models/models.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// JSON responses about model input, generated incrementally because they may be far larger than their source
/// data.
namespace etna::server::openai {

/// Consumes the next bytes of a response; returns false to stop.
using Put = std::function<bool(std::string_view bytes)>;

/// An incremental response writer and the memory that it holds.
struct Pieces {
    std::function<void(const Put& put)> write;
    std::size_t bytes = 0; ///< approximate size of the response
    std::size_t held = 0;
};

/// {"tokens", "count", "max_model_len"}; each token is its id, or {"id", "piece"}.
Pieces told_tokens(const Models::Handle& model, std::vector<TokenId> tokens, bool with_pieces);

/// {"content", "prompt"}: the text of the tokens, under both names.
Pieces told_text(const Models::Handle& model, std::vector<TokenId> tokens);

/// {"prompt"}.
Pieces told_prompt(std::string text);

/// A long response is generated while it is sent, so that it is never complete in memory; `memory`, which may
/// be null, shrinks to what the writer holds.
HttpReply reply_of(Pieces pieces, std::shared_ptr<MemoryReservation> memory);

} // namespace etna::server::openai
