#include "core/model/kernel_scope.hpp"

#include "core/model/blocks/altup.hpp"
#include "core/model/blocks/latent_attention.hpp"
#include "core/model/blocks/mamba2.hpp"
#include "core/model/blocks/short_convolution.hpp"
#include "core/model/config.hpp"
#include "core/model/weights.hpp"

namespace etna::model {

kernels::KernelScope kernel_scope(const gguf::File& file) {
    kernels::KernelScope scope;
    scope.suppressed = file.find(suppressed_tokens_key) != nullptr;
    for (const gguf::Tensor& tensor : file.tensors()) {
        const auto format = static_cast<std::size_t>(format_of(tensor.type));
        scope.delta_nets = scope.delta_nets || tensor.name.ends_with(".ssm_beta.weight") ||
                           tensor.name.ends_with(".ssm_ba.weight");
        scope.mamba2 = scope.mamba2 || tensor.name.ends_with(mamba2_skip_name);
        scope.latents = scope.latents || tensor.name.ends_with(latent_projection_name);
        scope.short_convolutions = scope.short_convolutions || tensor.name.ends_with(short_convolution_name);
        scope.altup = scope.altup || tensor.name.ends_with(altup_router_name);
        const bool is_layer_table = tensor.name == "per_layer_token_embd.weight";
        const bool is_table =
            tensor.name == "token_embd.weight" || tensor.name.ends_with(".nextn.embed_tokens.weight");
        if (is_table || is_layer_table)
            scope.tables.set(format);
        if (tensor.dimensions >= 2 && tensor.shape[0] % kernels::tile_columns != 0)
            scope.odd_columns = true;
        if (tensor.dimensions >= 3 && !tensor.name.starts_with("altup_")) {
            scope.stacks.set(format);
        } else if (tensor.dimensions >= 2 && !is_layer_table &&
                   !(is_table && file.find_tensor("output.weight") != nullptr)) {
            scope.matrices.set(format); // without a head tensor, the table serves as head
        }
    }
    return scope;
}

} // namespace etna::model
