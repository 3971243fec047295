#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace etna::gguf {

/// Positions in a list by name. Sorted rather than hashed: names come from untrusted files, and no choice of
/// names can make this slow. The names are borrowed.
class NameIndex {
public:
    NameIndex() = default;
    explicit NameIndex(const std::vector<std::string_view>& names);

    /// A name that was given twice, if there is one.
    [[nodiscard]] std::optional<std::string_view> duplicate() const;

    /// Position in the list; of the first one where a name was given twice.
    [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const;

private:
    std::vector<std::pair<std::string_view, std::size_t>> sorted_;
};

} // namespace etna::gguf
