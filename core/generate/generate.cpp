#include "core/generate/generate.hpp"

#include "core/generate/generation.hpp"
#include "core/generate/prompt.hpp"

namespace etna::generate {

std::string_view to_string(FinishReason reason) {
    switch (reason) {
    case FinishReason::stop:
        return "stop";
    case FinishReason::length:
        return "length";
    case FinishReason::tool_calls:
        return "tool_calls";
    case FinishReason::cancelled:
        return "cancelled";
    }
    return "unknown";
}

Status generate(const Model& model, const Request& request, const Sink& sink,
                const StopRequested& stop_requested) {
    ETNA_TRY(Generation generation, Generation::begin(model, request));
    return generation.finish([&sink](uint32_t /*choice*/, const Event& event) { return sink(event); },
                             stop_requested);
}

Result<uint32_t> count_prompt_tokens(const Model& model, const Request& request) {
    ETNA_TRY(const Prompt prompt, encode_prompt(model, request));
    return static_cast<uint32_t>(prompt.content.tokens.size());
}

} // namespace etna::generate
