#pragma once

#include "core/base/result.hpp"
#include "core/gguf/file.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etna::model {

struct IntegerBounds {
    uint64_t min = 1;
    uint64_t max = 1;
};
enum class LowerBound : uint8_t { exclusive, inclusive };
struct NumberBounds {
    double min = 0;
    double max = 1;
    LowerBound lower = LowerBound::exclusive;
};

/// Reads values of keys "<architecture>.<key>" within bounds. The first error sticks, so that a config reads
/// as a list; after an error, reads return fallback values. Borrows the file.
class MetadataReader {
public:
    MetadataReader(const gguf::File& file, std::string_view architecture)
        : file_(file), architecture_(architecture) {}

    /// With a fallback, the key may be absent; without one, its absence is an error.
    uint32_t integer(std::string_view key, IntegerBounds bounds,
                     std::optional<uint32_t> fallback = std::nullopt);
    /// One for each of `count` layers: a list of that length, or one value for all. Ones after an error.
    std::vector<uint32_t> integers(std::string_view key, uint32_t count, IntegerBounds bounds);
    /// One for each of `count` layers: a list of as many, or one value for all; any values. Zeros after an
    /// error.
    std::vector<double> numbers(std::string_view key, uint32_t count);
    double number(std::string_view key, NumberBounds bounds, std::optional<double> fallback = std::nullopt);
    bool flag(std::string_view key, bool fallback);
    std::string text(std::string_view key, std::string_view fallback);

    [[nodiscard]] bool has(std::string_view key) const;
    [[nodiscard]] const gguf::File& file() const { return file_; }
    [[nodiscard]] const std::string& architecture() const { return architecture_; }

    /// Records an error about `key` with its value and the reason; only the first one counts.
    void fail(ErrorKind kind, std::string_view key, std::string_view why);
    /// The same about a key without the architecture.
    void fail_at(ErrorKind kind, const std::string& full_key, std::string_view why);
    [[nodiscard]] Status status() const;

private:
    [[nodiscard]] std::string full(std::string_view key) const;
    bool usable(std::string_view key, bool required);

    const gguf::File& file_;
    std::string architecture_;
    std::optional<Error> error_;
};

} // namespace etna::model
