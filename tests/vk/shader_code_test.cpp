#include "core/vk/shader_code.hpp"
#include "tests/vk/shaders.hpp"

#include <vector>

using etna::vk::workgroup_size;
using Size = std::array<uint32_t, 3>;

TEST_CASE("the workgroup size is read from the code, with and without specialisation") {
    const uint32_t wide = 128;
    CHECK(workgroup_size(etna::test::add_one_code(), {}) == Size{64, 1, 1});
    CHECK(workgroup_size(etna::test::scale_add_code(), {}) == Size{64, 1, 1});
    CHECK(workgroup_size(etna::test::scale_add_code(), {&wide, 1}) == Size{128, 1, 1});
    CHECK(workgroup_size(etna::test::subgroup_code(), {}) == Size{1, 1, 1});
}

TEST_CASE("damaged code has no workgroup size, and is read within its bounds") {
    CHECK_FALSE(workgroup_size({}, {}));
    const auto code = etna::test::subgroup_code();
    for (size_t length = 0; length < code.size(); ++length)
        (void)workgroup_size(code.first(length), {});
    std::vector<uint32_t> zeros(50, 0);
    CHECK_FALSE(workgroup_size(zeros, {}));
    std::vector<uint32_t> long_word(6, 0xffff0010);
    CHECK_FALSE(workgroup_size(long_word, {}));
}
