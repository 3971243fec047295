// Fuzzes the GGUF reader with any bytes.
#include "tests/fuzz/gguf_walk.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data,
                                      std::size_t size); // NOLINT(readability-identifier-naming)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
    static_cast<void>(etna::fuzz::walk_gguf(etna::ByteView(reinterpret_cast<const std::byte*>(data), size)));
    return 0;
}
