#pragma once

#include "core/base/cancel.hpp"
#include "core/generate/embedding.hpp"
#include "server/api/active_request.hpp"
#include "server/base/api_error.hpp"
#include "server/base/json.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

// Embeddings of the texts of one request.
namespace etna::server::api {

/// Maximum texts of a request; OpenAI's.
inline constexpr std::size_t embedding_inputs_max = 2048;

/// A text, or its tokens.
using EmbeddingInput = decltype(generate::EmbeddingRequest::input);

/// The texts of one request, and the form of their embeddings.
struct EmbeddingCall {
    std::vector<EmbeddingInput> inputs = {};
    std::string input_member = "input"; ///< that holds them
    bool is_list = false;               ///< they are elements of it, otherwise there is one
    std::optional<uint32_t> dimensions = {};
    generate::Normalisation normalisation = generate::Normalisation::l2;
    generate::Overlong overlong = generate::Overlong::refuse;
    int32_t priority = 0; ///< that the body names
};

/// Checks that the model has embeddings, of these dimensions. Errors: 400. Precondition: it is acquired.
ApiStatus check_embeddings(const ActiveRequest& active, const std::optional<uint32_t>& dimensions);

/// Embeds the texts, many of them together, and counts their tokens, which it returns. `take` receives the
/// embeddings in order. Errors: those of generate::Embedder; one about a text names its member, with the
/// index in a list: `input[3]`.
/// Precondition: check_embeddings() has succeeded.
ApiResult<uint32_t> embed(ActiveRequest& active, EmbeddingCall call, const CancelPoll& is_cancelled,
                          const std::function<void(const generate::Embedding&)>& take);

/// Returns the elements as numbers with the digits of a float.
Json numbers_json(const std::vector<float>& values);

} // namespace etna::server::api
