#pragma once

#include "core/gguf/file.hpp"
#include "tests/support/catch.hpp"

#include <cstddef>
#include <vector>

namespace etna::test {

/// All bytes of a tensor, as its file has them.
inline std::vector<std::byte> tensor_content(const gguf::File& file, const gguf::Tensor& tensor) {
    std::vector<std::byte> content(tensor.bytes);
    REQUIRE(file.read(tensor, 0, content).has_value());
    return content;
}

} // namespace etna::test
