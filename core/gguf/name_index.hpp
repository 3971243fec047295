#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace etna::gguf {

/// Maps names to list positions. Sorted rather than hashed: names come from untrusted files, and no set of
/// names can degrade a lookup. The names are borrowed.
class NameIndex {
public:
    NameIndex() = default;
    explicit NameIndex(const std::vector<std::string_view>& names);

    /// Returns a duplicate name, if any.
    [[nodiscard]] std::optional<std::string_view> duplicate() const;

    /// Returns the position in the list; the first one if the name is a duplicate.
    [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const;

private:
    std::vector<std::pair<std::string_view, std::size_t>> sorted_;
};

} // namespace etna::gguf
