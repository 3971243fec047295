#include "core/base/build_id.hpp"
#include "tests/support/catch.hpp"

TEST_CASE("the build id is the linker's, the same at each call") {
    const std::string id = etna::build_id();
    REQUIRE(id.size() >= 16);
    REQUIRE(id.find_first_not_of("0123456789abcdef") == std::string::npos);
    REQUIRE(etna::build_id() == id);
}
