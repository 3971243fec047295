#include "core/generate/request.hpp"

namespace etna::generate {

bool can_shift(const Request& request) {
    const auto* const conversation = std::get_if<chat::Conversation>(&request.prompt);
    const bool has_tools = conversation != nullptr && !conversation->tools.empty();
    const bool limits_reasoning = conversation != nullptr && request.reasoning;
    return !request.grammar && !has_tools && !limits_reasoning && !request.prompt_logprobs &&
           !request.best_of && !request.beams;
}

bool shortens_prompt(const Request& request) {
    if (!request.context_shift || request.context_shift->scope == ShiftScope::answer)
        return false;
    return request.context_shift->scope == ShiftScope::prompt || can_shift(request);
}

bool continues_answer(const Request& request) {
    return request.context_shift && request.context_shift->scope != ShiftScope::prompt && can_shift(request);
}

void fill(Request& request, const RequestDefaults& defaults) {
    if (!request.max_tokens && !request.is_unbounded)
        request.max_tokens = defaults.max_tokens;
    const bool has_room = !request.max_tokens || *request.max_tokens >= defaults.min_tokens;
    if (request.min_tokens == 0 && has_room)
        request.min_tokens = defaults.min_tokens;
    if (request.stop.empty())
        request.stop = defaults.stop;
    if (!request.seed)
        request.seed = defaults.seed;
    if (request.logit_bias.empty())
        request.logit_bias = defaults.logit_bias;
    auto* const conversation = std::get_if<chat::Conversation>(&request.prompt);
    if (conversation != nullptr && conversation->thinking == chat::Thinking::template_default)
        conversation->thinking = defaults.thinking;
}

} // namespace etna::generate
