#include "core/kernels/kernel_choices.hpp"
#include "core/model/model.hpp"
#include "core/model/plan.hpp"
#include "tests/model/model_case.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/random_model.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

using namespace etna;
using namespace etna::test;

// Requirements on a file, and the errors if it does not meet them. No device is needed: planning precedes
// loading.
namespace {

RandomModelOptions one_layer() {
    return {.layers = 1, .vocabulary = 304, .tokenizer = RandomTokenizer::none};
}

kernels::PlanTarget target() {
    return {.family = kernels::PlanFamily::nvidia, .profile = {}};
}

Result<model::Blueprint> plan(const Bytes& bytes) {
    const auto file = gguf::File::parse(bytes, "m.gguf");
    if (!file)
        FAIL(file.error().message);
    return model::plan_model(*file, target());
}

/// Of a planned model.
model::WeightReads reads_of(const model::Blueprint& blueprint) {
    const kernels::PlanTarget planned = target();
    const auto reads = model::weight_reads(model::DryModel(blueprint, planned));
    if (!reads)
        FAIL(reads.error().message);
    return *reads;
}

std::vector<std::string> tuned_names(const model::Blueprint& blueprint, const kernels::PlanTarget& planned) {
    const auto shapes = model::tuned_shapes(model::DryModel(blueprint, planned));
    if (!shapes)
        FAIL(shapes.error().message);
    std::vector<std::string> names;
    for (const kernels::TunedShape& shape : *shapes)
        names.push_back(describe(shape));
    std::ranges::sort(names);
    return names;
}

/// Names of the shader variants that a file's model launches.
std::vector<std::string_view> kernels_of(const Bytes& bytes, const kernels::PlanTarget& planned = target()) {
    const auto file = gguf::File::parse(bytes, "m.gguf");
    REQUIRE(file);
    const auto blueprint = model::plan_model(*file, planned);
    if (!blueprint)
        FAIL(blueprint.error().message);
    const auto used = model::used_kernels(model::DryModel(*blueprint, planned), {});
    if (!used)
        FAIL(used.error().message);
    return used->names();
}

bool has_kernel(const std::vector<std::string_view>& names, std::string_view part) {
    return std::ranges::any_of(
        names, [&](std::string_view name) { return name.find(part) != std::string_view::npos; });
}

Error error_of(const Bytes& bytes) {
    const auto blueprint = plan(bytes);
    REQUIRE(!blueprint);
    return blueprint.error();
}

/// Replaces a name in the file by one of the same length, everywhere.
Bytes renamed(Bytes bytes, std::string_view from, std::string_view to) {
    REQUIRE(from.size() == to.size());
    const auto* first = reinterpret_cast<const std::byte*>(from.data());
    auto found = std::search(bytes.begin(), bytes.end(), first, first + from.size());
    REQUIRE(found != bytes.end());
    std::memcpy(&*found, to.data(), to.size());
    return bytes;
}

} // namespace

TEST_CASE("experts in a layout that is not read are named") {
    RandomModelOptions options = one_layer();
    options.architecture = RandomArchitecture::qwen3moe;
    GgufWriter writer = random_model_writer(options);
    writer.add_tensor({"blk.0.ffn_gate.0.weight", 0, {32}, Bytes(128)});
    const Error error = error_of(renamed(writer.bytes(), "ffn_gate_exps", "ffn_gate_exqs"));
    CHECK(error.kind == ErrorKind::unsupported);
    CHECK(error.message == "m.gguf: experts as in tensor blk.0.ffn_gate.0.weight are not supported");
}

TEST_CASE("the plan of a valid file has every tensor once, with the bytes of its layout") {
    const auto blueprint = plan(random_model(one_layer()));
    REQUIRE(blueprint);
    CHECK(blueprint->architecture->name == "llama");
    CHECK(blueprint->tensors.size() == 12);
    // F32, rows of 64 and 96 elements: nothing is padded.
    const uint64_t elements = 2 * 304 * 64 + 64 * (64 + 32 + 32 + 64) + 3 * 64 * 96 + 3 * 64;
    CHECK(blueprint->weight_bytes == 4 * elements);
}

TEST_CASE("the kernels that a model needs are those that its steps launch") {
    RandomModelOptions dense = one_layer();
    dense.matrices = WeightFormat::q4_0;
    dense.embedding_format = WeightFormat::q8_0;
    dense.head_format = WeightFormat::f16;
    dense.role_formats = {{"ffn_down", WeightFormat::q5_1}};
    const auto separate = kernels_of(random_model(dense));
    CHECK(has_kernel(separate, "embed_q8_0"));
    CHECK_FALSE(has_kernel(separate, "embed_f16"));
    for (const std::string_view name : {"linear_rows_q4_0", "linear_rows_q5_1", "linear_rows_f16"})
        CHECK(has_kernel(separate, name));
    for (const std::string_view name : {"linear_rows_q8_0", "expert", "suppress", "delta_net", "mamba2"})
        CHECK_FALSE(has_kernel(separate, name));
    dense.head = HeadKind::tied;
    const auto tied = kernels_of(random_model(dense));
    CHECK(has_kernel(tied, "linear_rows_q8_0"));
    CHECK_FALSE(has_kernel(tied, "linear_rows_f16"));

    RandomModelOptions mixture = one_layer();
    mixture.architecture = RandomArchitecture::qwen3moe;
    mixture.matrices = WeightFormat::q8_0;
    const auto experts = kernels_of(random_model(mixture));
    for (const std::string_view name : {"expert_rows_q8_0", "expert_route", "expert_group", "expert_sum"}) {
        INFO(name);
        CHECK(has_kernel(experts, name));
    }
    CHECK_FALSE(has_kernel(experts, "expert_rows_f32"));
}

TEST_CASE("each kind of layer needs the kernels of its mixer alone") {
    const std::vector<std::pair<RandomArchitecture, std::string_view>> kinds{
        {RandomArchitecture::qwen35, "delta_net"},     {RandomArchitecture::qwen3next, "delta_net"},
        {RandomArchitecture::granitehybrid, "mamba2"}, {RandomArchitecture::deepseek2, "latent_store"},
        {RandomArchitecture::lfm2, "convolution"},     {RandomArchitecture::gemma3n, "altup"}};
    for (const auto& [architecture, own] : kinds) {
        INFO(to_string(architecture));
        RandomModelOptions options = one_layer();
        options.architecture = architecture;
        options.layers = 2;
        const auto kernels = kernels_of(random_model(options));
        CHECK(has_kernel(kernels, own));
        for (const std::string_view other : {"delta_net", "mamba2", "latent_store", "altup"}) {
            if (other != own)
                CHECK_FALSE(has_kernel(kernels, other));
        }
    }
}

TEST_CASE("every kernel that a model launches has a self-check") {
    for (const kernels::PlanFamily family : {kernels::PlanFamily::nvidia, kernels::PlanFamily::amd,
                                             kernels::PlanFamily::intel, kernels::PlanFamily::lavapipe}) {
        kernels::PlanTarget planned = target();
        planned.family = family;
        planned.profile.shader_float16 = planned.profile.shader_int64 = true;
        planned.profile.workgroup_invocations_max = 1024;
        planned.profile.shared_bytes = 32768;
        kernels::VariantSet checked;
        for (const kernels::KernelUse& use : kernel_uses(planned))
            checked.add(use.variant);
        for (const RandomArchitecture architecture : all_random_architectures) {
            INFO(to_string(architecture));
            RandomModelOptions options = one_layer();
            options.architecture = architecture;
            options.layers = 2;
            for (const std::string_view name : kernels_of(random_model(options), planned)) {
                INFO(name);
                CHECK(checked.contains(*kernels::variant_named(name)));
            }
        }
    }
}

TEST_CASE("a missing tensor is named") {
    const RandomModelOptions options = one_layer();
    const Bytes bytes = renamed(random_model(options), "blk.0.attn_k.weight", "blk.0.attn_j.weight");
    const Error error = error_of(bytes);
    CHECK(error.kind == ErrorKind::corrupt);
    CHECK(error.message == "m.gguf: tensor blk.0.attn_k.weight is missing");
}

TEST_CASE("a tensor of the wrong shape is named with both shapes") {
    GgufWriter writer = random_model_writer(one_layer());
    writer.add_tensor({"blk.0.attn_q.bias", 0, {60}, Bytes(60 * 4)});
    const Error error = error_of(writer.bytes());
    CHECK(error.kind == ErrorKind::corrupt);
    CHECK(error.message == "m.gguf: tensor blk.0.attn_q.bias has shape [60], the metadata asks for [64]");
}

TEST_CASE("errors name at most five unclaimed tensors") {
    GgufWriter writer = random_model_writer(one_layer());
    for (int i = 0; i < 7; ++i)
        writer.add_tensor({"extra." + std::to_string(i), 0, {8}, Bytes(32)});
    const Error error = error_of(writer.bytes());
    CHECK(error.kind == ErrorKind::unsupported);
    CHECK(error.message ==
          "m.gguf: 7 tensors that this architecture does not use: extra.0, extra.1, extra.2, extra.3, "
          "extra.4, ...");
}

TEST_CASE("head norms are qwen3's alone") {
    GgufWriter writer = random_model_writer(one_layer());
    writer.add_tensor({"blk.0.attn_q_norm.weight", 0, {16}, Bytes(64)});
    CHECK(error_of(writer.bytes()).message ==
          "m.gguf: 1 tensor that this architecture does not use: blk.0.attn_q_norm.weight");
}

TEST_CASE("an unknown architecture is refused by name, with the known ones") {
    GgufWriter writer;
    writer.add("general.architecture", "mamba");
    const Error error = error_of(writer.bytes());
    CHECK(error.kind == ErrorKind::unsupported);
    CHECK(error.message == "m.gguf: architecture `mamba` is not supported");
    CHECK(error.hint == "similar: mamba2; supported are bert, deepseek2, falcon-h1, gemma-embedding, gemma2, "
                        "gemma3, gemma3n, gemma4, "
                        "glm4, glm4moe, gpt-oss, granite, granitehybrid, granitemoe, jina-bert-v2, lfm2, "
                        "lfm2moe, llama, mamba2, "
                        "mistral3, modern-bert, nemotron_h, nemotron_h_moe, nomic-bert, phi3, qwen2, "
                        "qwen2moe, qwen2vl, qwen3, "
                        "qwen35, qwen35moe, qwen3moe, qwen3next, qwen3vl, qwen3vlmoe, smollm3");
    GgufWriter newer;
    newer.add("general.architecture", "gemma5");
    CHECK(error_of(newer.bytes())
              .hint.starts_with("similar: gemma2, gemma3, gemma4; supported are bert, deepseek2, "));
    GgufWriter long_name;
    long_name.add("general.architecture", std::string(100000, 'x'));
    CHECK(error_of(long_name.bytes()).message ==
          "m.gguf: architecture `" + std::string(100, 'x') + "...` is not supported");
    CHECK(error_of(GgufWriter().bytes()).kind == ErrorKind::corrupt);
}

TEST_CASE("the error for a quantised vector names the supported types") {
    GgufWriter writer = random_model_writer(one_layer());
    constexpr uint32_t q4_0 = 2;
    writer.add_tensor({"blk.0.attn_q.bias", q4_0, {64}, Bytes(2 * 18)});
    const Error error = error_of(writer.bytes());
    CHECK(error.kind == ErrorKind::unsupported);
    CHECK(error.message ==
          "m.gguf: tensor blk.0.attn_q.bias is of type Q4_0; vectors may be F32, F16 and BF16");
}

TEST_CASE("frequency divisors must be positive numbers") {
    GgufWriter writer = random_model_writer(one_layer());
    writer.add_tensor({"rope_freqs.weight", 0, {8}, Bytes(32)});
    CHECK(error_of(writer.bytes()).message ==
          "m.gguf: tensor rope_freqs.weight: every element must be a positive number");
}

TEST_CASE("a matrix larger than an allocation is split, and refused if not even eight rows fit") {
    const Bytes bytes = random_model(one_layer());
    const auto file = gguf::File::parse(bytes, "m.gguf");
    REQUIRE(file);
    kernels::PlanTarget poor = target();
    poor.profile.allocation_bytes_max = 77824; // exactly what 304 rows of 64 take: must stay below
    const auto cut = model::plan_model(*file, poor);
    REQUIRE(cut);
    REQUIRE(cut->tensors[0].name == "token_embd.weight");
    CHECK(cut->tensors[0].rows == 296);
    CHECK(cut->tensors[1].name == "token_embd.weight");
    CHECK(cut->tensors[1].rows == 8);
    poor.profile.allocation_bytes_max = 2048; // eight rows
    const auto refused = model::plan_model(*file, poor);
    REQUIRE(!refused);
    CHECK(refused.error().kind == ErrorKind::unsupported);
    CHECK(refused.error().message.starts_with("m.gguf: eight rows of tensor token_embd.weight take"));
}

TEST_CASE("a step reads all weights but the embedding table, unless it is the head too") {
    RandomModelOptions options = one_layer();
    for (const HeadKind head : {HeadKind::separate, HeadKind::tied}) {
        options.head = head;
        const auto blueprint = plan(random_model(options));
        REQUIRE(blueprint);
        const uint64_t table_bytes = uint64_t{304} * 64 * 4;
        CHECK(reads_of(*blueprint).bytes(7) ==
              blueprint->weight_bytes - (head == HeadKind::tied ? 0 : table_bytes));
    }
}

TEST_CASE("a prompt row is multiplied by the matrices of the layers, not by the head") {
    RandomModelOptions options = one_layer();
    for (const HeadKind head : {HeadKind::separate, HeadKind::tied}) {
        options.head = head;
        const auto blueprint = plan(random_model(options));
        REQUIRE(blueprint);
        uint64_t weights = 0;
        for (const model::PlannedTensor& tensor : blueprint->tensors) {
            const bool is_of_layer = tensor.name.starts_with("blk.");
            if (tensor.role == model::TensorRole::matrix && is_of_layer)
                weights += uint64_t{tensor.rows} * tensor.columns;
        }
        REQUIRE(weights > 0);
        CHECK(reads_of(*blueprint).row_weights == weights);
    }
}

TEST_CASE("the shapes to tune are the distinct shapes of the dispatches") {
    RandomModelOptions options{.layers = 3,
                               .embedding = 256,
                               .heads = 4,
                               .kv_heads = 2,
                               .head_dim = 64,
                               .feed_forward = 512,
                               .vocabulary = 320,
                               .tokenizer = RandomTokenizer::none};
    options.matrices = options.head_format = WeightFormat::q8_0;
    const Bytes bytes = random_model(options);
    const auto file = gguf::File::parse(bytes, "m.gguf");
    REQUIRE(file);
    kernels::PlanTarget gpu = target();
    gpu.profile.shader_float16 = gpu.profile.shader_int64 = true;
    gpu.profile.workgroup_invocations_max = 1024;
    gpu.profile.shared_bytes = 32768;
    const auto blueprint = model::plan_model(*file, gpu);
    REQUIRE(blueprint);
    std::vector<std::string> names = tuned_names(*blueprint, gpu);
    CHECK(names == std::vector<std::string>{
                       "attention, heads of 64, 4 to 2", "attention_decode, heads of 64, 4 to 2",
                       "fused_linear q8_0 256 x 256", // attn_output
                       "fused_linear q8_0 256 x 512", // ffn_down
                       "gated_linear q8_0 512 x 256", // ffn_gate and ffn_up
                       "linear q8_0 256 x 512",       // the last ffn_down, whose sum no block's norm follows
                       "linear q8_0 320 x 256",       // head
                       "linear q8_0 512 x 256",       // attn_q, attn_k and attn_v
                   });
    // heads_linear has no candidates.
    gpu.profile.large_push_constants = true;
    std::erase(names, "linear q8_0 512 x 256");
    CHECK(tuned_names(*blueprint, gpu) == names);
}

TEST_CASE("a table of inputs of each layer is neither multiplied nor tuned") {
    RandomModelOptions options = one_layer();
    options.architecture = RandomArchitecture::gemma4;
    options.layers = 2;
    const auto blueprint = plan(random_model(options));
    REQUIRE(blueprint);
    uint64_t weights = 0;
    uint32_t table_rows = 0;
    for (const model::PlannedTensor& tensor : blueprint->tensors) {
        const bool is_table = tensor.name == "per_layer_token_embd.weight";
        table_rows += is_table ? tensor.rows : 0;
        if (tensor.role == model::TensorRole::matrix && !is_table && tensor.name != "token_embd.weight" &&
            tensor.name != "output.weight")
            weights += uint64_t{tensor.rows} * tensor.columns;
    }
    REQUIRE(table_rows > 0);
    CHECK(reads_of(*blueprint).row_weights == weights);
}

TEST_CASE("a row of a mixture reads the experts that it chooses") {
    RandomModelOptions options = one_layer();
    options.architecture = RandomArchitecture::qwen3moe;
    const auto blueprint = plan(random_model(options));
    REQUIRE(blueprint);
    uint64_t expert_bytes = 0; // all five of them, of which a row chooses two
    for (const model::PlannedTensor& tensor : blueprint->tensors)
        expert_bytes += tensor.role == model::TensorRole::stack ? tensor.device_bytes() : 0;
    REQUIRE(expert_bytes > 0);
    const model::WeightReads reads = reads_of(*blueprint);
    CHECK(reads.expert_bytes == expert_bytes / 5 * 2);
    CHECK(reads.bytes(1) == reads.shared_bytes + reads.expert_bytes);
    CHECK_FALSE(reads.bytes(2));
    uint64_t row_weights = 0;
    for (const model::PlannedTensor& tensor : blueprint->tensors) {
        if (tensor.role == model::TensorRole::stack)
            row_weights += 2ULL * tensor.rows * tensor.columns;
        else if (tensor.role == model::TensorRole::matrix && tensor.name.starts_with("blk."))
            row_weights += uint64_t{tensor.rows} * tensor.columns;
    }
    CHECK(reads.row_weights == row_weights);
}

TEST_CASE("fused tensors are checked as one and planned as their parts") {
    RandomModelOptions options = one_layer();
    options.architecture = RandomArchitecture::phi3;
    Bytes bytes = random_model(options);
    const auto file = gguf::File::parse(bytes, "m.gguf");
    REQUIRE(file);
    const auto blueprint = model::plan_model(*file, target());
    REQUIRE(blueprint);
    CHECK(blueprint->tensors.size() == 12);
    const auto part = std::find_if(blueprint->tensors.begin(), blueprint->tensors.end(),
                                   [](const auto& one) { return one.name == "blk.0.attn_v.weight"; });
    REQUIRE(part != blueprint->tensors.end());
    CHECK(part->tensor->name == "blk.0.attn_qkv.weight");
    CHECK(part->rows == 32);
    CHECK(part->offset == uint64_t{64 + 32} * 64 * 4); // after q and k, rows of 64 F32 elements

    set_integer(bytes, "phi3.attention.head_count_kv", 1);
    const Error error = error_of(bytes);
    CHECK(error.kind == ErrorKind::corrupt);
    CHECK(error.message ==
          "m.gguf: tensor blk.0.attn_qkv.weight has shape [64, 128], the metadata asks for [64, 96]");
}

TEST_CASE("a stack of experts' gates and ups is planned as two, whose rows lie in runs") {
    RandomModelOptions options = one_layer();
    options.architecture = RandomArchitecture::gemma4;
    options.window_pattern = 1;
    options.mixture = options.fused_experts = true;
    Bytes bytes = random_model(options);
    const auto file = gguf::File::parse(bytes, "m.gguf");
    REQUIRE(file);
    const auto blueprint = model::plan_model(*file, target());
    REQUIRE(blueprint);
    const auto part = std::find_if(blueprint->tensors.begin(), blueprint->tensors.end(),
                                   [](const auto& one) { return one.name == "blk.0.ffn_up_exps.weight"; });
    REQUIRE(part != blueprint->tensors.end());
    CHECK(part->tensor->name == "blk.0.ffn_gate_up_exps.weight");
    CHECK(part->role == model::TensorRole::stack);
    CHECK(part->count == 5);
    CHECK(part->rows == 32);
    CHECK(part->offset == uint64_t{32} * 64 * 4); // after the first expert's gate
    CHECK(part->run_rows == 32);
    CHECK(part->run_stride == 64);

    set_integer(bytes, "gemma4.expert_feed_forward_length", 16);
    CHECK(error_of(bytes).message ==
          "m.gguf: tensor blk.0.ffn_gate_up_exps.weight has shape [64, 64, 5], the "
          "metadata asks for [64, 32, 5]");
}

TEST_CASE("gemma3n's projections of streams are planned as a matrix for each stream") {
    RandomModelOptions options = one_layer();
    options.architecture = RandomArchitecture::gemma3n;
    options.window_pattern = 1;
    Bytes bytes = random_model(options);
    const auto file = gguf::File::parse(bytes, "m.gguf");
    REQUIRE(file);
    const auto blueprint = model::plan_model(*file, target());
    REQUIRE(blueprint);
    const auto part = std::find_if(blueprint->tensors.begin(), blueprint->tensors.end(),
                                   [](const auto& one) { return one.name == "altup_unembd_proj.2.weight"; });
    REQUIRE(part != blueprint->tensors.end());
    CHECK(part->tensor->name == "altup_unembd_proj.weight");
    CHECK(part->role == model::TensorRole::matrix);
    CHECK(part->count == 1);
    CHECK(part->rows == 64);
    CHECK(part->offset == uint64_t{2} * 64 * 64 * 4);
    const std::vector<std::string_view> kernels = kernels_of(bytes);
    CHECK(has_kernel(kernels, "altup"));
    CHECK_FALSE(has_kernel(kernels, "expert"));

    set_integer(bytes, "gemma3n.altup.num_inputs", 3);
    CHECK(error_of(bytes).message ==
          "m.gguf: tensor altup_proj.weight has shape [64, 64, 3], the metadata asks for [64, 64, 2]");
}

TEST_CASE("a query tensor with gates is planned as two matrices, whose rows lie in runs") {
    RandomModelOptions options = one_layer();
    options.architecture = RandomArchitecture::qwen35;
    options.attention_interval = 1;
    Bytes bytes = random_model(options);
    const auto file = gguf::File::parse(bytes, "m.gguf");
    REQUIRE(file);
    const auto blueprint = model::plan_model(*file, target());
    REQUIRE(blueprint);
    const auto part = std::find_if(blueprint->tensors.begin(), blueprint->tensors.end(),
                                   [](const auto& one) { return one.name == "blk.0.attn_q_gate.weight"; });
    REQUIRE(part != blueprint->tensors.end());
    CHECK(part->tensor->name == "blk.0.attn_q.weight");
    CHECK(part->rows == 64);
    CHECK(part->offset == uint64_t{16} * 64 * 4); // after the first head's query
    CHECK(part->run_rows == 16);
    CHECK(part->run_stride == 32);

    set_integer(bytes, "qwen35.attention.head_count", 2);
    CHECK(error_of(bytes).message ==
          "m.gguf: tensor blk.0.attn_q.weight has shape [64, 128], the metadata asks for [64, 64]");
}

TEST_CASE("qwen35 needs the tensors of its gated delta nets, in the shapes of its metadata") {
    RandomModelOptions options = one_layer();
    options.architecture = RandomArchitecture::qwen35;
    options.layers = 2;
    REQUIRE(plan(random_model(options)));
    for (const std::string name :
         {"ssm_norm.weight", "ssm_dt.bias", "ssm_beta.weight", "ssm_conv1d.weight", "attn_gate.weight"}) {
        std::string other = "blk.0." + name;
        other.back() = '_';
        CHECK(error_of(renamed(random_model(options), "blk.0." + name, other)).message ==
              "m.gguf: tensor blk.0." + name + " is missing");
    }
    Bytes bytes = random_model(options);
    set_integer(bytes, "qwen35.ssm.conv_kernel", 3);
    CHECK(error_of(bytes).message ==
          "m.gguf: tensor blk.0.ssm_conv1d.weight has shape [4, 128], the metadata asks for [3, 128]");
}

TEST_CASE("qwen3next stores the projections of a delta net together, by key head") {
    RandomModelOptions options = one_layer();
    options.architecture = RandomArchitecture::qwen3next;
    options.layers = 2;
    options.fused_inputs = true;
    const Bytes bytes = random_model(options);
    const auto file = gguf::File::parse(bytes, "m.gguf");
    REQUIRE(file);
    const auto blueprint = model::plan_model(*file, target());
    REQUIRE(blueprint);
    using Part = std::tuple<std::string, uint32_t, uint64_t, uint32_t>; // first row in a run, rows of a run
    std::vector<Part> parts;
    for (const auto& one : blueprint->tensors) {
        if (one.tensor->name == "blk.0.ssm_in.weight" || one.tensor->name == "blk.0.ssm_ba.weight")
            parts.emplace_back(one.name, one.rows, one.offset / one.row_bytes, one.run_rows);
    }
    // Two key heads of 16 elements, four value heads of 16.
    CHECK(parts == std::vector<Part>{{"blk.0.attn_qkv.weight", 32, 0, 16},
                                     {"blk.0.attn_qkv.weight", 32, 16, 16},
                                     {"blk.0.attn_qkv.weight", 64, 32, 32},
                                     {"blk.0.attn_gate.weight", 64, 64, 32},
                                     {"blk.0.ssm_beta.weight", 4, 0, 2},
                                     {"blk.0.ssm_alpha.weight", 4, 2, 2}});
    options.fused_inputs = false;
    REQUIRE(plan(random_model(options)));
    CHECK(error_of(renamed(random_model(options), "blk.0.ssm_ba.weight", "blk.0.ssm_bb.weight")).message ==
          "m.gguf: tensor blk.0.ssm_ba.weight is missing");
}

TEST_CASE("a shared expert needs its tensors, in the shapes of the metadata") {
    RandomModelOptions options = one_layer();
    options.architecture = RandomArchitecture::qwen35moe;
    options.layers = 2;
    options.shared_feed_forward = 48;
    REQUIRE(plan(random_model(options)));
    for (const std::string name : {"ffn_gate_inp_shexp.weight", "ffn_gate_shexp.weight",
                                   "ffn_up_shexp.weight", "ffn_down_shexp.weight"}) {
        std::string other = "blk.0." + name;
        other.back() = '_';
        CHECK(error_of(renamed(random_model(options), "blk.0." + name, other)).message ==
              "m.gguf: tensor blk.0." + name + " is missing");
    }
    Bytes bytes = random_model(options);
    set_integer(bytes, "qwen35moe.expert_shared_feed_forward_length", 32);
    CHECK(error_of(bytes).message ==
          "m.gguf: tensor blk.0.ffn_gate_shexp.weight has shape [64, 48], the metadata asks for [64, 32]");
}

TEST_CASE("llama may have experts as wide as a dense block") {
    RandomModelOptions options = one_layer();
    options.mixture = true;
    REQUIRE(plan(random_model(options)));
    CHECK(error_of(renamed(random_model(options), "blk.0.ffn_gate_inp.weight", "blk.0.ffn_gate_imp.weight"))
              .message == "m.gguf: tensor blk.0.ffn_gate_inp.weight is missing");
    Bytes bytes = random_model(options);
    set_integer(bytes, "llama.expert_count", 0);
    CHECK(error_of(bytes).message == "m.gguf: tensor blk.0.ffn_gate.weight is missing");
}

TEST_CASE("the first layer that predicts further tokens is a draft head, and others are not loaded") {
    RandomModelOptions options = one_layer();
    options.architecture = RandomArchitecture::qwen35;
    options.layers = 2;
    const auto without = plan(random_model(options));
    REQUIRE(without);
    CHECK_FALSE(without->config.has_draft_head);
    options.predicting_layers = 2;
    GgufWriter writer = random_model_writer(options);
    writer.add_tensor({"blk.3.nextn.unknown", 0, {8}, Bytes(32)});
    const Bytes bytes = writer.bytes();
    const auto with = plan(bytes);
    REQUIRE(with);
    CHECK(with->config.has_draft_head);
    CHECK(with->config.layer_count() == 3);
    CHECK(with->config.decoder_layers() == 2);
    CHECK(with->config.layers[2].attention()->output_gate);
    CHECK(with->config.ignored_layers == 1);
    CHECK(with->weight_bytes > without->weight_bytes);
    const auto file = gguf::File::parse(bytes, "m.gguf");
    const auto ignored = model::plan_model(*file, target(), {.has_draft_head = false});
    REQUIRE(ignored);
    CHECK_FALSE(ignored->config.has_draft_head);
    CHECK(ignored->config.ignored_layers == 2);
    CHECK(ignored->tensors.size() == without->tensors.size());
    CHECK(ignored->weight_bytes == without->weight_bytes);
    writer.add_tensor({"blk.4.attn_norm.weight", 0, {8}, Bytes(32)});
    CHECK(error_of(writer.bytes()).message ==
          "m.gguf: 1 tensor that this architecture does not use: blk.4.attn_norm.weight");
}

TEST_CASE("a draft head that lacks a tensor, or has one of another shape, is refused by name") {
    RandomModelOptions options = one_layer();
    options.architecture = RandomArchitecture::qwen35;
    options.layers = 2;
    options.predicting_layers = 1;
    const Bytes bytes = random_model(options);
    REQUIRE(plan(bytes));
    for (const std::string role : {"nextn.eh_proj", "nextn.enorm", "nextn.hnorm", "attn_q_norm"}) {
        const std::string name = "blk.2." + role;
        CHECK(error_of(renamed(bytes, name, name.substr(0, name.size() - 1) + "x")).message ==
              "m.gguf: tensor " + name + ".weight is missing");
    }
    GgufWriter writer = random_model_writer(options);
    writer.add_tensor({"blk.2.nextn.embed_tokens.weight", 0, {64, 303}, Bytes(std::size_t{64} * 303 * 4)});
    CHECK(error_of(writer.bytes()).message == "m.gguf: tensor blk.2.nextn.embed_tokens.weight has shape [64, "
                                              "303], the metadata asks for [64, 304]");
}

TEST_CASE("LongRoPE needs both sets of divisors, of the right length") {
    RandomModelOptions options = one_layer();
    options.architecture = RandomArchitecture::phi3;
    options.rope_scaling = RopeScaling::longrope;
    const auto blueprint = plan(random_model(options));
    REQUIRE(blueprint);
    const model::RotaryConfig& rotary = blueprint->config.cache_groups[0].rotary;
    CHECK(rotary.scaling == model::RotaryScaling::longrope);
    CHECK(rotary.divisors.size() == 8);
    CHECK(rotary.long_divisors.size() == 8);
    CHECK(rotary.long_divisors.back() == 4);
    CHECK(rotary.attention_factor == Approx(1.19));
    CHECK(error_of(renamed(random_model(options), "rope_factors_short.weight", "rope_factors_shirt.weight"))
              .message == "m.gguf: tensor rope_factors_short.weight is missing");
    Bytes bytes = random_model(options);
    set_integer(bytes, "phi3.rope.dimension_count", 12);
    CHECK(error_of(bytes).message ==
          "m.gguf: tensor rope_factors_long.weight has shape [8], the metadata asks for [6]");
}

TEST_CASE("qwen2 needs its biases") {
    RandomModelOptions options = one_layer();
    options.architecture = RandomArchitecture::qwen2;
    REQUIRE(plan(random_model(options)));
    CHECK(error_of(renamed(random_model(options), "blk.0.attn_v.bias", "blk.0.attn_w.bias")).message ==
          "m.gguf: tensor blk.0.attn_v.bias is missing");
}

TEST_CASE("a stack of experts must have the shape that the metadata asks for") {
    RandomModelOptions options = one_layer();
    options.architecture = RandomArchitecture::qwen3moe;
    const auto blueprint = plan(random_model(options));
    REQUIRE(blueprint);
    const auto stack = std::find_if(blueprint->tensors.begin(), blueprint->tensors.end(),
                                    [](const auto& one) { return one.name == "blk.0.ffn_down_exps.weight"; });
    REQUIRE(stack != blueprint->tensors.end());
    CHECK(stack->count == 5);
    CHECK(stack->rows == 64);
    CHECK(stack->columns == 32);
    CHECK(stack->device_bytes() == uint64_t{5} * 64 * 32 * 4);
    Bytes bytes = random_model(options);
    set_integer(bytes, "qwen3moe.expert_feed_forward_length", 16);
    CHECK(error_of(bytes).message == "m.gguf: tensor blk.0.ffn_gate_exps.weight has shape [64, 32, 5], the "
                                     "metadata asks for [64, 16, 5]");
}
