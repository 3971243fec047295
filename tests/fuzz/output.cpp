// Fuzzes the output parsers with any text, for any model family; the properties are in
// tests/output/feeding.hpp.
#include "tests/output/feeding.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    if (const auto failure = etna::test::broken_property(input)) {
        (void)std::fprintf(stderr, "%s\n", failure->c_str());
        std::abort();
    }
    return 0;
}
