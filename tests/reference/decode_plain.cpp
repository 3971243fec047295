#include "tests/reference/decode.hpp"
#include "tests/reference/decode_blocks.hpp"

namespace etna::reference {

void decode_f32(const std::byte* bytes, Element* element) {
    element->code = load<float>(bytes);
}

void decode_f16(const std::byte* bytes, Element* element) {
    element->code = half_to_double(load<uint16_t>(bytes));
}

void decode_bf16(const std::byte* bytes, Element* element) {
    element->code = bfloat16_to_double(load<uint16_t>(bytes));
}

} // namespace etna::reference
