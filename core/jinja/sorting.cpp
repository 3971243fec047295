#include "core/jinja/sorting.hpp"

#include "core/jinja/operators.hpp"

#include <algorithm>
#include <numeric>

namespace etna::jinja {

/// Bottom-up merge sort: stable, and safe if a comparison fails or is inconsistent (NaN).
Result<std::vector<std::size_t>> sorted_places(Machine& machine, const std::vector<Value>& keys,
                                               SortOrder order) {
    std::vector<std::size_t> places(keys.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    const Comparison before = order == SortOrder::ascending ? Comparison::less : Comparison::greater;
    std::vector<std::size_t> merged(places.size());
    for (std::size_t width = 1; width < places.size(); width *= 2) {
        for (std::size_t begin = 0; begin < places.size(); begin += 2 * width) {
            const std::size_t middle = std::min(begin + width, places.size());
            const std::size_t end = std::min(begin + 2 * width, places.size());
            std::size_t left = begin;
            std::size_t right = middle;
            for (std::size_t out = begin; out < end; ++out) {
                bool takes_right = left == middle;
                if (!takes_right && right < end) {
                    ETNA_TRY(takes_right, ordered(machine, before, keys[places[right]], keys[places[left]]));
                }
                merged[out] = places[takes_right ? right++ : left++];
            }
        }
        places.swap(merged);
    }
    return places;
}

} // namespace etna::jinja
