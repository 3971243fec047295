#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace etna::grammar {

/// Numbers under hashes, several of which may be the same. A look touches one line of memory, mostly, where
/// std::unordered_multimap follows pointers; it was a third of what making a large grammar took. Source:
/// linear probing, Knuth, TAOCP volume 3, 6.4, algorithm L.
class NumbersByHash {
public:
    static constexpr std::size_t looks_of_miss = 16; ///< is_wanted() goes to other places of memory

    /// The first number under this hash that `is_wanted`. Sets `looks` to how many places were looked at; one
    /// that had the hash and was not wanted counts as looks_of_miss more. There are many only where somebody
    /// has chosen what is hashed.
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
        uint32_t hash = 0; ///< its lower half
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

    std::vector<Place> places_; ///< a power of two, half of them free at least
    std::size_t count_ = 0;
};

} // namespace etna::grammar
