#include "core/base/near_names.hpp"
#include "tests/support/catch.hpp"

using namespace etna;

TEST_CASE("edit distances by hand") {
    REQUIRE(edit_distance("", "") == 0);
    REQUIRE(edit_distance("abc", "") == 3);
    REQUIRE(edit_distance("", "abc") == 3);
    REQUIRE(edit_distance("kitten", "sitting") == 3);
    REQUIRE(edit_distance("demo", "DEMO") == 0);
    REQUIRE(edit_distance("dmeo", "demo") == 1); // one swap
    REQUIRE(edit_distance("tmep", "temp") == 1);
}

TEST_CASE("near misses come nearest first, at most three, and nothing far is offered") {
    const std::vector<std::string> names = {"llama", "llama-2", "qwen3", "lama", "llamas"};
    REQUIRE(near_names("llama", names) == std::vector<std::string>{"llama", "lama", "llamas"});
    REQUIRE(near_names("qwen", names) == std::vector<std::string>{"qwen3"});
    REQUIRE(near_names("gemma-3-27b", names).empty());
    REQUIRE(near_names("", names).empty());
    REQUIRE(near_names(std::string(100000, 'l'), names).empty());
}
