#include "tests/kernels/expert_case.hpp"

#include "tests/kernels/tiles_case.hpp"

namespace etna::test {

Choices make_choices(DeviceCase& device, uint32_t rows, uint32_t count, uint32_t experts_per_token,
                     kernels::Arrangement arrangement) {
    const std::vector<float> unset(std::size_t{rows} * experts_per_token, nan_value);
    const uint64_t group_words = kernels::expert_group_bytes(rows, experts_per_token) / 4;
    return {
        .choice = {.experts = device.upload(unset),
                   .routing_weights = device.upload(unset),
                   .count = count,
                   .experts_per_token = experts_per_token,
                   .rows = rows},
        .groups = {.range = device.upload(std::vector<float>(group_words, nan_value)),
                   .tile_pairs = kernels::expert_tile_pairs(rows * experts_per_token, count, arrangement)}};
}

std::vector<double> row_of(const std::vector<float>& all, std::size_t row, std::size_t width) {
    return {all.begin() + static_cast<std::ptrdiff_t>(row * width),
            all.begin() + static_cast<std::ptrdiff_t>((row + 1) * width)};
}

std::string describe(kernels::PlanFamily family, kernels::Format format, const ExpertShape& shape) {
    return std::string(to_string(family)) + " " + std::string(to_string(format)) + " " +
           std::to_string(shape.experts_per_token) + " of " + std::to_string(shape.experts) + " experts [" +
           std::to_string(shape.height) + "," + std::to_string(shape.width) + "] x[" +
           std::to_string(shape.rows) + "]";
}

Stack make_stack(DeviceCase& device, std::mt19937& random, kernels::Layout layout, const ExpertShape& shape,
                 const std::set<uint32_t>& in_use) {
    const kernels::PackedBytes packed = kernels::packed_bytes(layout, shape.height, shape.width);
    std::vector<std::byte> weights(shape.experts * packed.weights, std::byte{0xFF});
    std::vector<std::byte> scales(shape.experts * packed.scales, std::byte{0xFF});
    Stack stack;
    for (uint32_t expert = 0; expert < shape.experts; ++expert) {
        const WeightSource source = random_weight(random, layout.format, shape.height, shape.width);
        stack.values.push_back(source.values);
        if (!in_use.contains(expert))
            continue;
        const Status status = kernels::repack(
            {.layout = layout,
             .row_count = shape.height,
             .columns = shape.width,
             .source = source.bytes,
             .weights = MutableByteView(weights).subspan(expert * packed.weights, packed.weights),
             .scales = MutableByteView(scales).subspan(expert * packed.scales, packed.scales)});
        if (!status)
            FAIL(status.error().message);
    }
    stack.device = {.matrices = {.layout = layout,
                                 .rows = shape.height,
                                 .columns = shape.width,
                                 .weights = device.upload(weights),
                                 .scales = scales.empty() ? vk::Range{} : device.upload(scales)},
                    .count = shape.experts};
    return stack;
}

kernels::Activations upload_input(DeviceCase& device, const Stack& stack, const std::vector<float>& x,
                                  uint32_t rows, uint32_t width) {
    kernels::Activations input = device.upload_rows(x, rows, width);
    add_packed(device, stack.device.matrices.layout, input);
    return input;
}

double bound(const Stack& stack, uint32_t expert, std::size_t row, std::span<const double> x) {
    const bool packed = stack.device.matrices.layout.arrangement == kernels::Arrangement::tiles;
    return packed ? tiles_bound(stack.values[expert], row, x)
                  : product_bound(stack.values[expert], row, x, 2);
}

std::vector<uint32_t> even_experts(std::mt19937& random, const ExpertShape& shape) {
    std::vector<uint32_t> experts(std::size_t{shape.rows} * shape.experts_per_token);
    for (uint32_t& expert : experts)
        expert = static_cast<uint32_t>(random() % shape.experts) / 2 * 2;
    return experts;
}

} // namespace etna::test
