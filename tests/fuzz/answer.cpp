// Fuzzes the answers of every API with any output of a model, for any syntax; the properties are in
// tests/server/answer_loss.hpp.
#include "tests/server/answer_loss.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    if (const auto lost = etna::test::lost_answer(input)) {
        (void)std::fprintf(stderr, "%s\n", lost->c_str());
        std::abort();
    }
    return 0;
}
