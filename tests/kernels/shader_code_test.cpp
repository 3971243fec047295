#include "shaders/variants.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

using namespace etna;

namespace {

constexpr uint32_t spirv_magic = 0x07230203;
constexpr uint32_t header_words = 5;
constexpr uint32_t op_capability = 17;

/// Operands of every OpCapability, SPIR-V specification 2.3 (word count in the high half, opcode in the low).
std::vector<uint32_t> capabilities(std::span<const uint32_t> words) {
    std::vector<uint32_t> found;
    for (std::size_t at = header_words; at < words.size() && words[at] >> 16 != 0; at += words[at] >> 16) {
        if ((words[at] & 0xFFFF) == op_capability)
            found.push_back(words[at + 1]);
    }
    return found;
}

/// Whether an address is reinterpreted: an OpBitcast (124) whose result type is an OpTypePointer (32).
bool casts_pointers(std::span<const uint32_t> words) {
    constexpr uint32_t op_type_pointer = 32;
    constexpr uint32_t op_bitcast = 124;
    std::vector<uint32_t> pointer_types;
    for (std::size_t at = header_words; at < words.size() && words[at] >> 16 != 0; at += words[at] >> 16) {
        const uint32_t operation = words[at] & 0xFFFF;
        if (operation == op_type_pointer)
            pointer_types.push_back(words[at + 1]);
        if (operation == op_bitcast &&
            std::find(pointer_types.begin(), pointer_types.end(), words[at + 1]) != pointer_types.end())
            return true;
    }
    return false;
}

} // namespace

TEST_CASE("no variant casts one buffer reference to another, which crashes SwiftShader") {
    for (uint32_t index = 0; index < shaders::variant_count; ++index) {
        const shaders::Code& code = shaders::code(static_cast<shaders::Variant>(index));
        INFO(code.name);
        REQUIRE_FALSE(casts_pointers(code.words));
    }
}

TEST_CASE("every variant is SPIR-V, and requires no optional capability that it does not declare") {
    // Shader; GroupNonUniform, its Arithmetic and Ballot; PhysicalStorageBufferAddresses
    constexpr std::array poor{1U, 61U, 63U, 64U, 5347U};
    using shaders::Feature;
    const std::map<uint32_t, Feature> features{
        {9, Feature::shader_float16},         {11, Feature::shader_int64},
        {62, Feature::subgroup_shuffle}, // GroupNonUniformVote
        {65, Feature::subgroup_shuffle},      {6018, Feature::integer_dot_product},
        {6019, Feature::integer_dot_product}, {5345, Feature::cooperative_matrix}, // VulkanMemoryModel
        {6022, Feature::cooperative_matrix}};
    for (uint32_t index = 0; index < shaders::variant_count; ++index) {
        const shaders::Code& code = shaders::code(static_cast<shaders::Variant>(index));
        INFO(code.name);
        if (code.words.empty()) {
            REQUIRE(code.required != 0); // only an optional variant may be left out
            continue;
        }
        REQUIRE(code.words[0] == spirv_magic);
        const auto asked = capabilities(code.words);
        REQUIRE_FALSE(asked.empty());
        for (const uint32_t capability : asked) {
            INFO("capability " << capability);
            const bool subgroup = capability >= 61 && capability <= 68;
            const auto feature = features.find(capability);
            REQUIRE(
                (feature != features.end() || std::find(poor.begin(), poor.end(), capability) != poor.end()));
            if (feature != features.end())
                REQUIRE((code.required & static_cast<uint32_t>(feature->second)) != 0);
            if (subgroup)
                REQUIRE(code.required != 0);
        }
    }
}
