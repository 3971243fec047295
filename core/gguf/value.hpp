#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

namespace etna::gguf {

struct Array;

/// A metadata value. Strings are borrowed from the File and are not checked for UTF-8.
/// Integers and floats have the width of the file.
using Value = std::variant<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, float, bool,
                           std::string_view, Array, uint64_t, int64_t, double>;

/// A metadata array, all elements of one type. Nested arrays are elements of type Array.
struct Array {
    using Items =
        std::variant<std::vector<uint8_t>, std::vector<int8_t>, std::vector<uint16_t>, std::vector<int16_t>,
                     std::vector<uint32_t>, std::vector<int32_t>, std::vector<float>, std::vector<bool>,
                     std::vector<std::string_view>, std::vector<Array>, std::vector<uint64_t>,
                     std::vector<int64_t>, std::vector<double>>;
    Items items;
};

struct KeyValue {
    std::string_view key;
    Value value;
};

} // namespace etna::gguf
