#include "core/base/mapped_file.hpp"
#include "core/store/demo.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>

using namespace etna;

TEST_CASE("the embedded model is the file beside it, byte for byte") {
    const auto file = MappedFile::open(ETNA_SOURCE_DIR "/core/store/demo/stories260K.gguf");
    REQUIRE(file.has_value());
    const ByteView embedded = store::demo_model();
    REQUIRE(embedded.size() == file->bytes().size());
    REQUIRE(std::equal(embedded.begin(), embedded.end(), file->bytes().begin()));
    REQUIRE(reinterpret_cast<std::uintptr_t>(embedded.data()) % 64 == 0);
}
