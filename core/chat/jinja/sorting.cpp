#include "core/chat/jinja/sorting.hpp"

#include "core/chat/jinja/operators.hpp"

#include <algorithm>
#include <numeric>

namespace etna::chat::jinja {

Result<std::vector<std::size_t>> sorted_places(Machine& machine, const std::vector<Value>& keys,
                                               SortOrder order) {
    std::vector<std::size_t> places(keys.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    Status failed;
    std::stable_sort(places.begin(), places.end(), [&](std::size_t left, std::size_t right) {
        if (!failed)
            return false;
        const bool is_up = order == SortOrder::ascending;
        const auto less =
            ordered(machine, Comparison::less, keys[is_up ? left : right], keys[is_up ? right : left]);
        if (!less)
            failed = less.error();
        return less && *less;
    });
    ETNA_CHECK(std::move(failed));
    return places;
}

} // namespace etna::chat::jinja
