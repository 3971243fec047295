#include "core/generate/ranking.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace etna::generate {

double KeptAnswer::mean_logprob() const {
    const std::size_t drawn = tokens + (end_logprob ? 1 : 0);
    if (drawn == 0)
        return -std::numeric_limits<double>::infinity();
    return (logprob_sum + end_logprob.value_or(0)) / static_cast<double>(drawn);
}

bool KeptAnswer::was_cut() const {
    const auto* const finished = events.empty() ? nullptr : std::get_if<Finished>(&events.back());
    return finished != nullptr && finished->finish_reason == FinishReason::cancelled;
}

std::vector<std::size_t> rank(const std::vector<KeptAnswer>& answers, std::size_t count) {
    std::vector<std::size_t> places(answers.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
        if (answers[a].was_cut() != answers[b].was_cut())
            return answers[b].was_cut();
        return answers[a].mean_logprob() > answers[b].mean_logprob();
    });
    places.resize(std::min(places.size(), count));
    return places;
}

uint32_t tokens_beside(const std::vector<KeptAnswer>& answers, const std::vector<std::size_t>& places) {
    std::size_t tokens = 0;
    for (std::size_t place = 0; place < answers.size(); ++place) {
        if (std::find(places.begin(), places.end(), place) == places.end())
            tokens += answers[place].tokens;
    }
    return static_cast<uint32_t>(tokens);
}

} // namespace etna::generate
