#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace etna::grammar {

/// Numbers indexed by hash; hashes may collide. A look-up mostly touches one cache line, whereas
/// std::unordered_multimap follows pointers, which took a third of the time to compile a large grammar.
/// Source: linear probing, Knuth, TAOCP volume 3, 6.4, algorithm L.
class NumbersByHash {
public:
    static constexpr std::size_t looks_of_miss = 16; ///< is_wanted() touches other memory

    /// Returns the first number under this hash for which `is_wanted` returns true. `looks` receives the
    /// number of probed slots; each one with the hash that was not wanted counts as looks_of_miss more. It is
    /// large only if the hashed data was chosen to collide.
    template <class IsWanted>
    [[nodiscard]] std::optional<uint32_t> find(std::size_t hash, IsWanted is_wanted,
                                               std::size_t& looks) const {
        looks = 1;
        if (places_.empty())
            return std::nullopt;
        for (std::size_t at = first_of(hash); places_[at].number != none; at = behind(at), ++looks) {
            if (places_[at].hash != static_cast<uint32_t>(hash))
                continue;
            if (is_wanted(places_[at].number))
                return places_[at].number;
            looks += looks_of_miss;
        }
        return std::nullopt;
    }

    /// Precondition: `number` is not UINT32_MAX.
    void add(std::size_t hash, uint32_t number) {
        if (2 * (count_ + 1) > places_.size())
            grow();
        put({.hash = static_cast<uint32_t>(hash), .number = number});
        ++count_;
    }

private:
    static constexpr uint32_t none = UINT32_MAX;
    static constexpr std::size_t places_at_first = 16;
    struct Place {
        uint32_t hash = 0; ///< lower half of the hash
        uint32_t number = none;
    };

    [[nodiscard]] std::size_t first_of(std::size_t hash) const {
        return static_cast<uint32_t>(hash) & (places_.size() - 1);
    }
    [[nodiscard]] std::size_t behind(std::size_t at) const { return (at + 1) & (places_.size() - 1); }

    void put(Place place) {
        std::size_t at = first_of(place.hash);
        while (places_[at].number != none)
            at = behind(at);
        places_[at] = place;
    }

    void grow() {
        std::vector<Place> before(places_.empty() ? places_at_first : 2 * places_.size());
        before.swap(places_);
        for (const Place& place : before) {
            if (place.number != none)
                put(place);
        }
    }

    std::vector<Place> places_; ///< size is a power of two; at least half are free
    std::size_t count_ = 0;
};

} // namespace etna::grammar
