#include "core/kernels/library.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/vulkan.hpp"

#include <array>

using namespace etna;
using namespace etna::kernels;

TEST_CASE("a variant is usable if the device has its features") {
    vk::DeviceProfile rich;
    rich.name = "rich";
    rich.subgroup_arithmetic = rich.cooperative_matrix = rich.shader_float16 = rich.storage_16bit =
        rich.shader_int64 = rich.integer_dot_product = rich.large_push_constants = rich.subgroup_shuffle =
            true;
    vk::DeviceProfile poor;
    poor.name = "poor";
    for (uint32_t index = 0; index < shaders::variant_count; ++index) {
        const auto variant = static_cast<shaders::Variant>(index);
        const shaders::Code& code = shaders::code(variant);
        INFO(code.name);
        REQUIRE(usable(variant, rich).has_value() == !code.words.empty());
        const Status status = usable(variant, poor);
        REQUIRE(status.has_value() == (!code.words.empty() && code.required == 0));
        if (!status) {
            REQUIRE(status.error().kind == ErrorKind::unsupported);
            REQUIRE(status.error().message.find(code.name) != std::string::npos);
        }
    }
    const Status lacking = usable(shaders::rms_norm(shaders::Reduce::subgroup), poor);
    REQUIRE_FALSE(lacking);
    CHECK(lacking.error().message == "kernel rms_norm_subgroup needs subgroup arithmetic, which poor lacks");
}

TEST_CASE("a library lists each requested pipeline once") {
    Library library(test::gpu().device, {});
    CHECK(library.created().empty());
    const std::array<uint32_t, 1> gelu{1};
    constexpr uint32_t gate_multiply_bytes = 88;
    constexpr uint32_t soft_cap_bytes = 24;
    const auto* first = library.pipeline(shaders::gate_multiply(), gelu, gate_multiply_bytes).value();
    REQUIRE(library.pipeline(shaders::gate_multiply(), gelu, gate_multiply_bytes).value() == first);
    REQUIRE(library.pipeline(shaders::soft_cap(), {}, soft_cap_bytes));
    const std::vector<CreatedPipeline> created = library.created();
    REQUIRE(created.size() == 2);
    CHECK(created[0].variant == shaders::gate_multiply());
    CHECK(created[0].specialization == std::vector<uint32_t>{1});
    CHECK(created[0].pipeline == first);
    CHECK(created[1].variant == shaders::soft_cap());
    CHECK(created[1].specialization.empty());
}
