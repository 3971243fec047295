#include "core/generate/generate.hpp"

#include "core/generate/generation.hpp"
#include "core/generate/prompt.hpp"

#include <utility>

namespace etna::generate {

Status generate(const Model& model, const Request& request, const Sink& sink,
                const StopRequested& stop_requested) {
    ETNA_TRY(Generation generation, Generation::begin(model, request));
    return generation.finish([&sink](uint32_t /*choice*/, const Event& event) { return sink(event); },
                             stop_requested);
}

Result<EncodedPrompt> encode(const Model& model, const Request& request,
                             const StopRequested& stop_requested) {
    ETNA_TRY(Prompt prompt, encode_prompt(model, request, {.stop_requested = &stop_requested}));
    return EncodedPrompt{.text = std::move(prompt.text), .tokens = std::move(prompt.content.tokens)};
}

Result<uint32_t> count_prompt_tokens(const Model& model, const Request& request) {
    ETNA_TRY(const EncodedPrompt prompt, encode(model, request));
    return static_cast<uint32_t>(prompt.tokens.size());
}

} // namespace etna::generate
