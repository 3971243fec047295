#include "core/generate/generate.hpp"

#include "core/generate/generation.hpp"
#include "core/generate/prompt.hpp"

#include <utility>

namespace etna::generate {

Status generate(const Model& model, const Request& request, const Sink& sink,
                const CancelPoll& is_cancelled) {
    ETNA_TRY(Generation generation, Generation::begin(model, request));
    return generation.finish([&sink](uint32_t /*choice*/, const Event& event) { return sink(event); },
                             is_cancelled);
}

Result<EncodedPrompt> encode(const Model& model, const Request& request, const PromptCosts& costs) {
    ETNA_TRY(Prompt prompt, encode_prompt(model, request, {.costs = &costs}));
    return EncodedPrompt{.text = std::move(prompt.text), .tokens = std::move(prompt.content.tokens)};
}

Result<std::string> render(const Model& model, const Request& request, const PromptCosts& costs) {
    ETNA_TRY(auto rendered, render_conversation(model, std::get<chat::Conversation>(request.prompt),
                                                request.now_unix_s, costs));
    return std::move(rendered.text);
}

Result<uint32_t> count_prompt_tokens(const Model& model, const Request& request) {
    ETNA_TRY(const EncodedPrompt prompt, encode(model, request));
    return static_cast<uint32_t>(prompt.tokens.size());
}

} // namespace etna::generate
