#pragma once

#include "core/base/result.hpp"
#include "core/gguf/file.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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
    /// `layer_keys`: keys whose values may differ from layer to layer; integer() then reads the first
    /// layer's.
    MetadataReader(const gguf::File& file, std::string_view architecture,
                   std::vector<std::string_view> layer_keys = {})
        : file_(file), architecture_(architecture), layer_keys_(std::move(layer_keys)) {}

    /// With a fallback, the key may be absent; without one, its absence is an error.
    uint32_t integer(std::string_view key, IntegerBounds bounds,
                     std::optional<uint32_t> fallback = std::nullopt);
    /// The value of each layer, from one for all or a list of `layers`.
    std::vector<uint32_t> integers(std::string_view key, IntegerBounds bounds, uint32_t layers,
                                   std::optional<uint32_t> fallback = std::nullopt);
    double number(std::string_view key, NumberBounds bounds, std::optional<double> fallback = std::nullopt);
    std::string text(std::string_view key, std::string_view fallback);

    [[nodiscard]] bool has(std::string_view key) const;
    [[nodiscard]] const gguf::File& file() const { return file_; }
    [[nodiscard]] const std::string& architecture() const { return architecture_; }

    /// Records an error about `key` with its value and the reason; only the first one counts.
    void fail(ErrorKind kind, std::string_view key, std::string_view why);
    [[nodiscard]] Status status() const;

private:
    [[nodiscard]] std::string full(std::string_view key) const;
    bool usable(std::string_view key, bool required);

    const gguf::File& file_;
    std::string architecture_;
    std::vector<std::string_view> layer_keys_;
    std::optional<Error> error_;
};

} // namespace etna::model
