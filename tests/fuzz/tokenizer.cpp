// Fuzzes tokenizers, detokenizer and stop matcher with any bytes; the properties are in
// tests/text/properties.hpp.
#include "tests/text/properties.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (const auto failure = etna::test::broken_property(text)) {
        (void)std::fprintf(stderr, "%s\n", failure->c_str());
        std::abort();
    }
    return 0;
}
