#include "core/generate/ranking.hpp"

#include <algorithm>
#include <numeric>

namespace etna::generate {

std::vector<std::size_t> rank(const std::vector<KeptAnswer>& answers, std::size_t count) {
    std::vector<std::size_t> places(answers.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
        return answers[a].mean_logprob() > answers[b].mean_logprob();
    });
    places.resize(std::min(places.size(), count));
    return places;
}

} // namespace etna::generate
