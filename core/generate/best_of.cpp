#include "core/generate/best_of.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace etna::generate {

double BufferedAnswer::mean_logprob() const {
    const std::size_t sampled = tokens + (end_logprob ? 1 : 0);
    if (sampled == 0)
        return -std::numeric_limits<double>::infinity();
    return (logprob_sum + end_logprob.value_or(0)) / static_cast<double>(sampled);
}

bool BufferedAnswer::was_cancelled() const {
    const auto* const finished = events.empty() ? nullptr : std::get_if<Finished>(&events.back());
    return finished != nullptr && finished->finish_reason == FinishReason::cancelled;
}

std::vector<std::size_t> rank(const std::vector<BufferedAnswer>& answers, std::size_t count) {
    std::vector<std::size_t> indices(answers.size());
    std::iota(indices.begin(), indices.end(), std::size_t{0});
    std::stable_sort(indices.begin(), indices.end(), [&](std::size_t a, std::size_t b) {
        if (answers[a].was_cancelled() != answers[b].was_cancelled())
            return answers[b].was_cancelled();
        return answers[a].mean_logprob() > answers[b].mean_logprob();
    });
    indices.resize(std::min(indices.size(), count));
    return indices;
}

uint32_t discarded_tokens(const std::vector<BufferedAnswer>& answers, const std::vector<std::size_t>& best) {
    std::size_t tokens = 0;
    for (std::size_t index = 0; index < answers.size(); ++index) {
        if (std::find(best.begin(), best.end(), index) == best.end())
            tokens += answers[index].tokens;
    }
    return static_cast<uint32_t>(tokens);
}

} // namespace etna::generate
