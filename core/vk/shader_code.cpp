#include "core/vk/shader_code.hpp"

#include <cstddef>
#include <unordered_map>

namespace etna::vk {
namespace {

// Numbers of the SPIR-V specification.
constexpr size_t header_words = 5;
enum Opcode : uint16_t {
    op_execution_mode = 16,
    op_constant = 43,
    op_constant_composite = 44,
    op_spec_constant = 50,
    op_spec_constant_composite = 51,
    op_function = 54,
    op_decorate = 71,
    op_execution_mode_id = 331,
};
constexpr uint32_t mode_local_size = 17;
constexpr uint32_t mode_local_size_id = 38;
constexpr uint32_t decoration_spec_id = 1;
constexpr uint32_t decoration_built_in = 11;
constexpr uint32_t built_in_workgroup_size = 25;

using Size = std::array<uint32_t, 3>;

/// The workgroup size as declared before the first function.
struct Declarations {
    std::optional<Size> literal;
    std::optional<Size> ids; ///< constants that hold the size
    uint32_t built_in = 0;   ///< id of the composite that is the WorkgroupSize built-in
    std::unordered_map<uint32_t, uint32_t> spec_ids;
    std::unordered_map<uint32_t, uint32_t> constants;
    std::unordered_map<uint32_t, Size> composites;
};

/// `words` is one instruction with its opcode word.
void read_instruction(uint16_t opcode, std::span<const uint32_t> words, Declarations& found) {
    const auto size_at = [&](size_t first) { return Size{words[first], words[first + 1], words[first + 2]}; };
    switch (opcode) {
    case op_execution_mode:
        if (words.size() == 6 && words[2] == mode_local_size)
            found.literal = size_at(3);
        break;
    case op_execution_mode_id:
        if (words.size() == 6 && words[2] == mode_local_size_id)
            found.ids = size_at(3);
        break;
    case op_decorate:
        if (words.size() == 4 && words[2] == decoration_spec_id)
            found.spec_ids[words[1]] = words[3];
        if (words.size() == 4 && words[2] == decoration_built_in && words[3] == built_in_workgroup_size)
            found.built_in = words[1];
        break;
    case op_constant:
    case op_spec_constant:
        if (words.size() == 4)
            found.constants[words[2]] = words[3];
        break;
    case op_constant_composite:
    case op_spec_constant_composite:
        if (words.size() == 6)
            found.composites[words[2]] = size_at(3);
        break;
    default:
        break;
    }
}

std::optional<Size> evaluate(const Declarations& found, const Size& ids,
                             std::span<const uint32_t> specialization) {
    Size size{};
    for (size_t axis = 0; axis < ids.size(); ++axis) {
        const auto constant = found.constants.find(ids[axis]);
        if (constant == found.constants.end())
            return std::nullopt;
        size[axis] = constant->second;
        const auto spec_id = found.spec_ids.find(ids[axis]);
        if (spec_id != found.spec_ids.end() && spec_id->second < specialization.size())
            size[axis] = specialization[spec_id->second];
    }
    return size;
}

} // namespace

std::optional<std::array<uint32_t, 3>> workgroup_size(std::span<const uint32_t> code,
                                                      std::span<const uint32_t> specialization) {
    Declarations found;
    for (size_t at = header_words; at < code.size();) {
        const size_t length = code[at] >> 16;
        const auto opcode = static_cast<uint16_t>(code[at] & 0xffff);
        if (length == 0 || length > code.size() - at)
            return std::nullopt;
        if (opcode == op_function)
            break;
        read_instruction(opcode, code.subspan(at, length), found);
        at += length;
    }
    if (const auto composite = found.composites.find(found.built_in); composite != found.composites.end())
        return evaluate(found, composite->second, specialization);
    if (found.ids)
        return evaluate(found, *found.ids, specialization);
    return found.literal;
}

} // namespace etna::vk
