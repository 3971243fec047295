#include "core/sampling/penalties.hpp"

#include "core/sampling/change.hpp"

namespace etna::sampling {
namespace {

/// Calls change(logit, count) once for each token of the window, and stores the result.
template <class Change>
void change_counted(std::span<float> logits, std::span<const TokenId> window, std::span<uint32_t> counts,
                    const Change& change) {
    for (const TokenId token : window) {
        if (token < logits.size())
            ++counts[token];
    }
    for (const TokenId token : window) {
        if (token >= logits.size() || counts[token] == 0)
            continue;
        logits[token] = rounded_logit(logits[token], change(double{logits[token]}, counts[token]));
        counts[token] = 0;
    }
}

} // namespace

void apply_repetition_penalty(std::span<float> logits, const Parameters& parameters, const History& history,
                              std::span<uint32_t> counts) {
    const double penalty = parameters.repetition_penalty;
    if (penalty == 1)
        return;
    change_counted(logits, history.last(parameters.repetition_window_tokens), counts,
                   [&](double logit, uint32_t) { return logit > 0 ? logit / penalty : logit * penalty; });
}

void apply_frequency_penalty(std::span<float> logits, const Parameters& parameters, const History& history,
                             std::span<uint32_t> counts) {
    const double penalty = parameters.frequency_penalty;
    if (penalty == 0)
        return;
    change_counted(logits, history.last_output(parameters.frequency_window_tokens), counts,
                   [&](double logit, uint32_t count) { return logit - penalty * count; });
}

void apply_presence_penalty(std::span<float> logits, const Parameters& parameters, const History& history,
                            std::span<uint32_t> counts) {
    const double penalty = parameters.presence_penalty;
    if (penalty == 0)
        return;
    change_counted(logits, history.last_output(parameters.presence_window_tokens), counts,
                   [&](double logit, uint32_t) { return logit - penalty; });
}

} // namespace etna::sampling
