#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace etna::grammar {

/// An open-addressing table from hashes, which may collide, to numbers. A look-up mostly touches one cache
/// line, whereas std::unordered_multimap follows pointers, which took a third of the time to compile a large
/// grammar.
/// Source: linear probing, Knuth, TAOCP volume 3, 6.4, algorithm L.
class HashIndex {
public:
    static constexpr std::size_t probes_of_mismatch = 16; ///< matches() touches other memory

    /// Returns the first number under this hash for which `matches` returns true. `probes` receives the
    /// number of probed slots; each mismatch under the same hash counts as probes_of_mismatch more. It is
    /// large only if the hashed data was chosen to collide.
    template <class Matches>
    [[nodiscard]] std::optional<uint32_t> find(std::size_t hash, Matches matches, std::size_t& probes) const {
        probes = 1;
        if (slots_.empty())
            return std::nullopt;
        for (std::size_t at = first_of(hash); slots_[at].number != none; at = after(at), ++probes) {
            if (slots_[at].hash != static_cast<uint32_t>(hash))
                continue;
            if (matches(slots_[at].number))
                return slots_[at].number;
            probes += probes_of_mismatch;
        }
        return std::nullopt;
    }

    /// Precondition: `number` is not UINT32_MAX.
    void add(std::size_t hash, uint32_t number) {
        if (2 * (count_ + 1) > slots_.size())
            grow();
        put({.hash = static_cast<uint32_t>(hash), .number = number});
        ++count_;
    }

private:
    static constexpr uint32_t none = UINT32_MAX;
    static constexpr std::size_t slots_at_first = 16;
    struct Slot {
        uint32_t hash = 0; ///< lower half of the hash
        uint32_t number = none;
    };

    [[nodiscard]] std::size_t first_of(std::size_t hash) const {
        return static_cast<uint32_t>(hash) & (slots_.size() - 1);
    }
    [[nodiscard]] std::size_t after(std::size_t at) const { return (at + 1) & (slots_.size() - 1); }

    void put(Slot slot) {
        std::size_t at = first_of(slot.hash);
        while (slots_[at].number != none)
            at = after(at);
        slots_[at] = slot;
    }

    void grow() {
        std::vector<Slot> before(slots_.empty() ? slots_at_first : 2 * slots_.size());
        before.swap(slots_);
        for (const Slot& slot : before) {
            if (slot.number != none)
                put(slot);
        }
    }

    std::vector<Slot> slots_; ///< size is a power of two; at least half are free
    std::size_t count_ = 0;
};

} // namespace etna::grammar
