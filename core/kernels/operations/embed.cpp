#include "core/kernels/operations/embed.hpp"

#include "core/kernels/record.hpp"
#include "shaders/embed/arguments.h"

namespace etna::kernels {

static_assert(sizeof(shaders::EmbedArguments) == 112);

void embed(const Launcher& launcher, const Embed& operation) {
    const Rows& rows = operation.rows;
    const Matrix& table = operation.table;
    if (rows.count == 0 ||
        !require(launcher, table.columns == operation.output.columns, "embed",
                 "table and output differ in width") ||
        !require(launcher, rows.infos.bytes >= uint64_t{rows.count} * sizeof(RowInfo), "embed",
                 "row infos are short") ||
        !require(launcher,
                 operation.constant.bytes == 0 || operation.constant.bytes >= uint64_t{table.columns} * 4,
                 "embed", "the constant is short"))
        return;
    const vk::Range output = operation.output.rows(rows.first, rows.count);
    const auto variant = shaders::embed(static_cast<shaders::Format>(table.layout.format),
                                        static_cast<shaders::Arrangement>(table.layout.arrangement));
    table.for_each_part([&](const MatrixPart& part, uint32_t first_token) {
        const shaders::EmbedArguments arguments{
            .weights = part.weights.address,
            .scales = part.scales.address,
            .rows = rows.infos.address,
            .slots = operation.slots.address,
            .embeddings = operation.embeddings.address,
            .positions = operation.positions.address,
            .constant = operation.constant.address,
            .y = output.address,
            .vocabulary = table.rows,
            .first_token = first_token,
            .part_tokens = part.rows,
            .columns = table.columns,
            .padded_columns = padded_columns(table.columns),
            .y_stride = operation.output.stride,
            .slot_count = static_cast<uint32_t>(operation.slots.bytes / 4),
            .embedding_count =
                static_cast<uint32_t>(operation.embeddings.bytes / (uint64_t{table.columns} * 4)),
            .scale = operation.scale,
            .embedding_scale = operation.embedding_scale,
            .position_count =
                static_cast<uint32_t>(operation.positions.bytes / (uint64_t{table.columns} * 4)),
            .has_constant = operation.constant.bytes > 0 ? 1U : 0U,
        };
        // All parts are one step, because each writes different rows. The first declares the output for all.
        launch(launcher,
               {.variant = variant,
                .specialization = {},
                .groups = {divide_up(table.columns, 512), rows.count, 1},
                .reads = {part.weights, part.scales, rows.infos, operation.slots, operation.embeddings,
                          operation.positions, operation.constant},
                .writes = {first_token == 0 ? output : vk::Range{}}},
               arguments);
    });
}

bool is_embed(shaders::Variant variant) {
    for (std::size_t format = 0; format < format_count; ++format) {
        for (const Arrangement arrangement : {Arrangement::rows, Arrangement::lanes, Arrangement::tiles}) {
            if (variant == shaders::embed(static_cast<shaders::Format>(format),
                                          static_cast<shaders::Arrangement>(arrangement)))
                return true;
        }
    }
    return false;
}

} // namespace etna::kernels
