#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace etna {

/// Names and their values, searched byte by byte from the start of a name, as in a trie. A sorted list: it
/// takes 16 bytes and the characters of a name, and no set of names degrades a search. Names come from
/// untrusted files. Immutable after finish(); thread-safe then.
class SortedNames {
public:
    /// The names that begin with the same bytes: a range of the list.
    struct Prefix {
        uint32_t begin = 0;
        uint32_t end = 0;
        std::size_t bytes = 0; ///< length of the prefix

        [[nodiscard]] bool is_empty() const { return begin == end; }
    };

    /// Copies `name`, which must not be empty.
    void add(std::string_view name, uint32_t value);
    /// Call it after the last add(), before any search. Of equal names, the one added first stays.
    void finish();

    [[nodiscard]] std::size_t size() const { return names_.size(); }
    /// Returns the empty prefix: all names.
    [[nodiscard]] Prefix all() const { return {0, static_cast<uint32_t>(names_.size()), 0}; }
    /// Returns the names of `prefix` that continue with `byte`. Takes O(log size()) steps.
    [[nodiscard]] Prefix extended(const Prefix& prefix, char byte) const;
    /// Returns the value of the name that equals the prefix.
    [[nodiscard]] std::optional<uint32_t> value_at(const Prefix& prefix) const;
    /// Returns whether a name is longer than the prefix.
    [[nodiscard]] bool has_longer(const Prefix& prefix) const;

private:
    struct Name {
        std::size_t begin = 0; ///< in `characters_`
        uint32_t bytes = 0;
        uint32_t value = 0;
    };
    [[nodiscard]] std::string_view text_of(const Name& name) const {
        return {characters_.data() + name.begin, name.bytes};
    }

    std::vector<char> characters_;
    std::vector<Name> names_;             ///< sorted by their text after finish()
    std::array<uint32_t, 257> by_byte_{}; ///< start of the names with this first byte
};

} // namespace etna
