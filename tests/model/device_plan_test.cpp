#include "core/base/bytes.hpp"
#include "core/engine/device/device_plan.hpp"
#include "core/model/blocks/delta_net.hpp"
#include "core/model/blocks/mamba2.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <string>

using namespace etna;
using engine::DeviceSizes;

namespace {

/// 4 layers, 2 heads of 64: a token takes 4 x 2 x 2 x 64 x 2 bytes = 2 KiB in F16, a page 64 KiB.
model::Config config() {
    model::Config config;
    config.architecture = "llama";
    config.layers.assign(4, {.mixer = model::AttentionConfig{.q_heads = 4, .kv_heads = 2, .head_dim = 64},
                             .feed_forward = 512});
    config.width = 256;
    config.vocabulary = 1000;
    config.context = 4096;
    config.rms_epsilon = 1e-5F;
    config.cache_groups = {{.window_tokens = 0, .rotary = {.dims = 64}}};
    return config;
}

constexpr uint64_t page_bytes = 64 * kibibyte;

/// Scratch memory that grows with rows and context, up to partial results of attention that take 64 MiB.
Result<model::ArenaSizes> arena_sizes(const model::WorkspaceOptions& options) {
    const uint64_t rows = options.batch_rows_max;
    return model::ArenaSizes{.bytes = rows * 8 * kibibyte +
                                      std::min(rows * options.context_tokens * 4, 64 * mebibyte),
                             .padded = {}};
}

Result<engine::DevicePlan> plan(const DeviceSizes& sizes, uint64_t free_bytes,
                                uint64_t weight_bytes = 100 * mebibyte,
                                vk::DeviceType type = vk::DeviceType::discrete) {
    kernels::PlanTarget target;
    target.profile.type = type;
    return engine::plan_device("m.gguf", config(), target, sizes, weight_bytes,
                               {.free_bytes = free_bytes, .total_bytes = free_bytes}, arena_sizes);
}

} // namespace

TEST_CASE("by default the cache holds one sequence of the model's context") {
    const auto made = plan({}, 4 * gibibyte);
    REQUIRE(made);
    CHECK(made->limits.context_tokens == 4096);
    REQUIRE(made->limits.groups.size() == 1);
    CHECK(made->limits.groups[0].page_count == 128);
    CHECK(made->cache_bytes == 128 * page_bytes);
    CHECK(made->weight_bytes == 100 * mebibyte);
    CHECK(made->limits.batch_rows_max == 512);
    CHECK(made->limits.output_rows_max == 64);
    CHECK(plan({}, 4 * gibibyte, 0, vk::DeviceType::cpu)->limits.batch_rows_max == 64);
}

TEST_CASE("an encoder's step takes many texts, and a context that the user asks for") {
    const auto limits = [](uint32_t context, const DeviceSizes& sizes,
                           vk::DeviceType type = vk::DeviceType::discrete) {
        model::Config encoder = config();
        encoder.is_encoder = true;
        encoder.context = context;
        kernels::PlanTarget target;
        target.profile.type = type;
        return engine::plan_device("m.gguf", encoder, target, sizes, 100 * mebibyte,
                                   {.free_bytes = 8 * gibibyte, .total_bytes = 8 * gibibyte}, arena_sizes)
            ->limits;
    };
    CHECK(limits(512, {}).batch_rows_max == 2048);
    CHECK(limits(8192, {}).batch_rows_max == 2048);
    CHECK(limits(8192, {.context_tokens = 8192}).batch_rows_max == 8192);
    CHECK(limits(8192, {.context_tokens = 300}).batch_rows_max == 2048);
    CHECK(limits(8192, {.context_tokens = 8192, .batch_rows_max = 1024}).batch_rows_max == 1024);
    CHECK(limits(512, {}, vk::DeviceType::cpu).batch_rows_max == 512);
    CHECK(limits(8192, {}, vk::DeviceType::cpu).batch_rows_max == 2048);
    CHECK(limits(512, {}).sequences_max == 64);
    CHECK(limits(512, {.sequences_max = 100}).sequences_max == 100);
}

TEST_CASE("several contexts share half of the free memory, after the first") {
    CHECK(plan({.contexts = 4}, 4 * gibibyte)->limits.groups[0].page_count == 4 * 128);
    const auto crowded = plan({.contexts = 1000}, 4 * gibibyte);
    CHECK(crowded->cache_bytes > gibibyte);
    CHECK(crowded->cache_bytes <= 2 * gibibyte);
    CHECK(crowded->limits.context_tokens == 4096);
    const auto whole = plan({}, 4 * gibibyte);
    const uint64_t tight = whole->weight_bytes + whole->workspace_bytes + 150 * page_bytes + 64 * mebibyte;
    CHECK(plan({.contexts = 1000}, tight * 32 / 31)->limits.groups[0].page_count == 128);
}

TEST_CASE("a default context shrinks to the available memory") {
    const auto whole = plan({}, 4 * gibibyte);
    REQUIRE(whole);
    // Room for about 40 pages in addition to the rest and the margin of 64 MiB + 1/32.
    const uint64_t needed = whole->weight_bytes + whole->workspace_bytes + 40 * page_bytes + 64 * mebibyte;
    const auto made = plan({}, needed * 32 / 31 + page_bytes / 2);
    REQUIRE(made);
    CHECK(made->limits.groups[0].page_count == 40);
    CHECK(made->limits.context_tokens == 40 * 32);
    CHECK(made->model_context_tokens == 4096);
}

TEST_CASE("a requested context that does not fit is an error") {
    const auto made = plan({.context_tokens = 65536}, 300 * mebibyte);
    REQUIRE(!made);
    CHECK(made.error().kind == ErrorKind::out_of_memory);
    // 128 MiB do not fit in addition to 100 MiB of weights, the workspace and 64 MiB + 300 MiB / 32.
    const auto whole = plan({.context_tokens = 65536}, 4 * gibibyte);
    REQUIRE(whole);
    const uint64_t reserve = 64 * mebibyte + 300 * mebibyte / 32;
    const uint64_t left = 300 * mebibyte - reserve - whole->weight_bytes - whole->workspace_bytes;
    CHECK(left < 128 * mebibyte);
    CHECK(made.error().message.starts_with("m.gguf: a context of 65536 tokens in addition to the model needs "
                                           "129 MiB of device memory; of 300 MiB free, "
                                           "the model leaves " +
                                           std::to_string(left / mebibyte) + " MiB (100 MiB for weights, "));
    CHECK(made.error().message.ends_with(" to work in, 73 MiB in reserve)"));
}

TEST_CASE("a model that does not fit is an error with both numbers") {
    const auto made = plan({}, 90 * mebibyte);
    REQUIRE(!made);
    CHECK(made.error().kind == ErrorKind::out_of_memory);
    CHECK(made.error().message.find("90 MiB are free") != std::string::npos);
    CHECK(made.error().message.find("(100 MiB for weights, ") != std::string::npos);
    CHECK(made.error().message.find(", 66 MiB in reserve)") != std::string::npos);
    CHECK(!made.error().hint.empty());
}

TEST_CASE("memory for keys and values can be set, and bounds the context") {
    const auto much = plan({.kv_memory_bytes = 1000 * page_bytes + 5}, 4 * gibibyte);
    REQUIRE(much);
    CHECK(much->limits.groups[0].page_count == 1000);
    CHECK(much->limits.context_tokens == 4096);
    const auto little = plan({.kv_memory_bytes = 10 * page_bytes}, 4 * gibibyte);
    REQUIRE(little);
    CHECK(little->limits.context_tokens == 320);
    const auto contradiction =
        plan({.context_tokens = 4096, .kv_memory_bytes = 10 * page_bytes}, 4 * gibibyte);
    REQUIRE(!contradiction);
    CHECK(contradiction.error().kind == ErrorKind::invalid_argument);
    const auto tiny = plan({.context_tokens = 64, .kv_memory_bytes = page_bytes + 1}, 4 * gibibyte);
    REQUIRE(!tiny);
    CHECK(tiny.error().kind == ErrorKind::invalid_argument);
    CHECK(tiny.error().message.find(": 64 KiB for keys and values hold 32 tokens") != std::string::npos);
    CHECK(!plan({.kv_memory_bytes = 1}, 4 * gibibyte));
    CHECK(!plan({.kv_memory_bytes = 8 * gibibyte}, 4 * gibibyte));
}

TEST_CASE("an F32 cache takes twice the memory of F16, Q8_0 seventeen thirty-seconds of it") {
    using enum kernels::CacheFormat;
    const auto cache_bytes = [](kernels::CacheFormat keys, kernels::CacheFormat values) {
        const auto made = plan({.cache_formats = {keys, values}}, 4 * gibibyte);
        REQUIRE(made);
        return made->cache_bytes;
    };
    constexpr uint64_t halves = 128 * page_bytes / 2;
    CHECK(cache_bytes(f32, f32) == 4 * halves);
    CHECK(cache_bytes(f32, f16) == 3 * halves);
    CHECK(cache_bytes(q8_0, f16) == halves + halves * 17 / 32);
    CHECK(cache_bytes(f16, q8_0) == halves + halves * 17 / 32);
}

TEST_CASE("keys and values become Q8_0 only if the context needs it") {
    const auto formats = [](const Result<engine::DevicePlan>& made) {
        REQUIRE(made);
        return made->cache_formats.keys == made->cache_formats.values ? made->cache_formats.keys
                                                                      : kernels::CacheFormat::f32;
    };
    using enum kernels::CacheFormat;
    const auto whole = plan({}, 4 * gibibyte);
    const uint64_t rest = whole->weight_bytes + whole->workspace_bytes + 64 * mebibyte;
    const auto free_for = [&](uint64_t pages) { return (rest + pages * page_bytes) * 32 / 31 + page_bytes; };
    CHECK(formats(plan({.adapts_cache_formats = true}, 4 * gibibyte)) == f16);
    // 70 of 128 pages fit in F16, all of them in Q8_0.
    const auto adapted = plan({.adapts_cache_formats = true}, free_for(70));
    CHECK(formats(adapted) == q8_0);
    CHECK(adapted->limits.context_tokens == 4096);
    CHECK(formats(plan({}, free_for(70))) == f16);
    CHECK(formats(plan({.context_tokens = 4096, .adapts_cache_formats = true}, free_for(70))) == q8_0);
    CHECK(!plan({.context_tokens = 4096}, free_for(70)));
    CHECK(formats(plan({.cache_formats = {f32, f32}, .adapts_cache_formats = true}, free_for(70))) == f32);
    // Not even Q8_0 holds the model's context: a short one becomes longer, a long one stays exact.
    CHECK(formats(plan({.adapts_cache_formats = true}, free_for(40))) == q8_0);
    const auto long_context = [](uint64_t free_bytes) {
        model::Config shape = config();
        shape.context = 131072;
        return engine::plan_device("m.gguf", shape, {}, {.adapts_cache_formats = true}, 0,
                                   {.free_bytes = free_bytes, .total_bytes = free_bytes}, arena_sizes);
    };
    const auto cut = long_context(256 * mebibyte);
    CHECK(formats(cut) == f16);
    CHECK(cut->limits.context_tokens >= 8192);
    CHECK(cut->limits.context_tokens < 131072);
}

TEST_CASE("sizes out of range are refused") {
    CHECK(!plan({.sequences_max = 0}, 4 * gibibyte));
    CHECK(!plan({.batch_rows_max = 1U << 20U}, 4 * gibibyte));
    CHECK(!plan({.context_tokens = UINT32_MAX}, 4 * gibibyte));
}

namespace {

/// The shape of Gemma 3 4B: every sixth of 34 layers has full attention, the others a window of 1,024. A page
/// takes 32 x 4 x 256 x 2 x 2 bytes = 128 KiB a layer in F16.
model::Config gemma3_4b() {
    model::Config shape = config();
    shape.architecture = "gemma3";
    shape.layers.assign(
        34, {.mixer = model::AttentionConfig{.q_heads = 8, .kv_heads = 4, .head_dim = 256, .group = 1},
             .feed_forward = 10240});
    shape.context = 131072;
    shape.cache_groups.push_back({.window_tokens = 1024, .rotary = {}});
    for (uint32_t layer = 5; layer < 34; layer += 6)
        shape.layers[layer].attention()->group = 0;
    return shape;
}

Result<engine::DevicePlan> plan_gemma3(const DeviceSizes& sizes) {
    kernels::PlanTarget target;
    target.profile.type = vk::DeviceType::discrete;
    return engine::plan_device("m.gguf", gemma3_4b(), target, sizes, 0,
                               {.free_bytes = 64 * gibibyte, .total_bytes = 64 * gibibyte}, arena_sizes);
}

constexpr uint64_t layer_page_bytes = 128 * kibibyte;

} // namespace

TEST_CASE("layers with a window get pages for windows, not for the context") {
    const auto one = plan_gemma3({.context_tokens = 32768, .sequences_max = 1});
    REQUIRE(one);
    CHECK(one->limits.groups[0].page_count == 1024);
    CHECK(one->limits.groups[1].page_count == 49); // 1024 + 512 positions, of which one is common
    CHECK(one->cache_bytes == (5 * 1024 + 29 * 49) * layer_page_bytes);
    CHECK(static_cast<double>(one->cache_bytes) < 0.19 * 34 * 1024 * layer_page_bytes);
    CHECK(check(one->limits));
    // Five windows a context, so that several shorter sequences run together.
    const auto shared = plan_gemma3({.context_tokens = 32768});
    CHECK(shared->limits.groups[1].page_count == 5 * 49);
    CHECK(plan_gemma3({.context_tokens = 512})->limits.groups[1].page_count == 16); // shorter than a window
}

namespace {

/// The shape of Qwen3.5 0.8B: 18 of 24 layers have a gated delta net of 16 heads of 128, the others attention
/// with 2 KV heads of 256: a page takes 64 KiB a layer in F16.
model::Config qwen35_08b() {
    model::Config shape = config();
    shape.architecture = "qwen35";
    const model::DeltaNetConfig net{
        .shape = {.key_heads = 16, .value_heads = 16, .key_dim = 128, .value_dim = 128},
        .convolution_width = 4};
    shape.layers.assign(24, {.mixer = net, .feed_forward = 3584});
    for (uint32_t layer = 3; layer < 24; layer += 4)
        shape.layers[layer].mixer = model::AttentionConfig{.q_heads = 8, .kv_heads = 2, .head_dim = 256};
    shape.context = 262144;
    return shape;
}

Result<engine::DevicePlan> plan_qwen35(const DeviceSizes& sizes, uint64_t free_bytes = 64 * gibibyte) {
    kernels::PlanTarget target;
    target.profile.type = vk::DeviceType::discrete;
    return engine::plan_device("m.gguf", qwen35_08b(), target, sizes, 0,
                               {.free_bytes = free_bytes, .total_bytes = free_bytes}, arena_sizes);
}

// 1 MiB of state, a ring of 16 inputs of 6144 channels, two halves of 9 pending rows of 2048 + 2048 + 16
// numbers.
constexpr uint64_t layer_slot_bytes = mebibyte + uint64_t{16} * 6144 * 4 + uint64_t{2} * 9 * 4112 * 4;
constexpr uint64_t slot_bytes = 18 * layer_slot_bytes;

} // namespace

TEST_CASE("recurrent layers have states of running and of earlier sequences, and no pages") {
    const auto made = plan_qwen35({.context_tokens = 32768, .sequences_max = 16});
    REQUIRE(made);
    CHECK(check(made->limits));
    CHECK(made->limits.groups.size() == 1);
    CHECK(made->limits.pending_rows_max == 9);
    CHECK(made->limits.sequences_max == 16);
    CHECK(made->cache_bytes == 1024 * 6 * 64 * kibibyte);
    // An eighth of the cache holds states of earlier sequences.
    CHECK(made->limits.state_slots == 16 + made->cache_bytes / 8 / slot_bytes);
    // Each of three buffers in 18 layers is rounded up to 256 bytes.
    CHECK(made->state_bytes >= made->limits.state_slots * slot_bytes);
    CHECK(made->state_bytes < made->limits.state_slots * slot_bytes + uint64_t{3} * 18 * 256);
    CHECK(plan_qwen35({.context_tokens = 32})->limits.state_slots == 64 + 1);
    const auto more = plan_qwen35({.context_tokens = 32768, .state_cache_bytes = 10 * slot_bytes + 5});
    CHECK(more->limits.state_slots == 64 + 10);
    const auto plain = plan({}, 4 * gibibyte);
    CHECK(plain->limits.state_slots == 0);
    CHECK(plain->limits.pending_rows_max == 0);
    CHECK(plain->state_bytes == 0);
}

TEST_CASE("fewer sequences run together if their states take over a quarter of the memory") {
    const auto made = plan_qwen35({.sequences_max = 64}, 4 * gibibyte);
    REQUIRE(made);
    CHECK(check(made->limits));
    const uint64_t room = made->state_bytes + made->cache_bytes;
    CHECK(made->limits.sequences_max < 64);
    CHECK(made->limits.sequences_max * slot_bytes <= room / 3);
    CHECK((made->limits.sequences_max + 1) * slot_bytes >= room / 5);
    CHECK(made->limits.context_tokens < 262144); // capped by the remaining memory
    CHECK(made->weight_bytes + made->workspace_bytes + room <= 4 * gibibyte);
}

TEST_CASE("states that do not fit are an error") {
    const auto made = plan_qwen35({.state_cache_bytes = 8 * gibibyte}, 4 * gibibyte);
    REQUIRE(!made);
    CHECK(made.error().kind == ErrorKind::out_of_memory);
    CHECK(made.error().message.starts_with("m.gguf: the state of its recurrent layers needs"));
    // Keys and values get the memory that the states leave, as in the error.
    const auto long_context = plan_qwen35({.context_tokens = 262144}, 4 * gibibyte);
    REQUIRE(!long_context);
    CHECK(long_context.error().message.find(" for states, ") != std::string::npos);
}

TEST_CASE("a given memory is divided between full and windowed layers") {
    const auto made = plan_gemma3({.context_tokens = 32768, .kv_memory_bytes = 8 * gibibyte});
    REQUIRE(made);
    const uint64_t full = made->limits.groups[0].page_count;
    const uint64_t windowed = made->limits.groups[1].page_count;
    CHECK(made->cache_bytes == (5 * full + 29 * windowed) * layer_page_bytes);
    CHECK(made->cache_bytes <= 8 * gibibyte);
    CHECK(made->cache_bytes >
          8 * gibibyte - (5 + 29 * 49) * layer_page_bytes); // one window more would not fit
    // Sequences of 4,096 tokens, each with its window: 15 if every layer stored all positions.
    CHECK(8 * gibibyte / (34 * 128 * layer_page_bytes) == 15);
    CHECK(std::min(full / 128, windowed / 33) == 38);
}

namespace {

constexpr uint32_t long_context = 131072;

/// The shape of DeepSeek-V2-Lite: 27 layers of latents of 512 with 64 rotated elements.
model::Config deepseek2_lite() {
    model::Config shape = config();
    shape.architecture = "deepseek2";
    model::AttentionConfig attention{.q_heads = 16, .kv_heads = 1, .head_dim = 576};
    attention.latent = {.rank = 512, .unrotated = 128, .rotated = 64, .value_dim = 128};
    shape.layers.assign(27, {.mixer = attention, .feed_forward = 10944});
    shape.context = long_context;
    return shape;
}

/// The shape of Granite 4.0 H Tiny: 4 of 40 layers have attention, the others Mamba 2 with a state of 1.5
/// MiB.
model::Config granite4_tiny() {
    model::Config shape = config();
    shape.architecture = "granitehybrid";
    const model::Mamba2Config mamba{.shape = {.heads = 48, .groups = 1, .head_dim = 64, .state_dim = 128},
                                    .convolution_width = 4};
    shape.layers.assign(40, {.mixer = mamba, .feed_forward = 512});
    for (const uint32_t layer : {5U, 15U, 25U, 35U})
        shape.layers[layer].mixer = model::AttentionConfig{.q_heads = 12, .kv_heads = 4, .head_dim = 128};
    shape.context = long_context;
    return shape;
}

Result<engine::DevicePlan> plan_long(const model::Config& shape, uint64_t free_bytes,
                                     const DeviceSizes& sizes = {}) {
    kernels::PlanTarget target;
    target.profile.type = vk::DeviceType::discrete;
    return engine::plan_device("m.gguf", shape, target, sizes, 0,
                               {.free_bytes = free_bytes, .total_bytes = free_bytes}, arena_sizes);
}

} // namespace

TEST_CASE("without a requested context the plan has the model's 131,072 tokens") {
    const auto windowed = plan_long(gemma3_4b(), 64 * gibibyte);
    REQUIRE(windowed);
    CHECK(windowed->limits.context_tokens == long_context);
    CHECK(windowed->limits.groups[0].page_count == 4096);
    CHECK(windowed->limits.groups[1].page_count == 5 * 49);
    CHECK(windowed->cache_bytes == (5 * 4096 + 29 * 5 * 49) * layer_page_bytes);
    CHECK(check(windowed->limits));

    // A page of latents takes 32 x 576 x 2 bytes, and there are no values.
    const auto latent = plan_long(deepseek2_lite(), 64 * gibibyte);
    REQUIRE(latent);
    CHECK(latent->limits.context_tokens == long_context);
    CHECK(latent->cache_bytes == uint64_t{27} * 4096 * 32 * 576 * 2);
    CHECK(check(latent->limits));

    // A page takes 64 KiB a layer.
    const auto recurrent = plan_long(granite4_tiny(), 64 * gibibyte);
    REQUIRE(recurrent);
    CHECK(recurrent->limits.context_tokens == long_context);
    CHECK(recurrent->cache_bytes == uint64_t{4} * 4096 * 64 * kibibyte);
    const uint64_t state_bytes = recurrent->state_bytes / recurrent->limits.state_slots;
    CHECK(state_bytes >= 36 * 3 * mebibyte / 2);
    const uint32_t snapshots = recurrent->limits.state_slots - recurrent->limits.sequences_max;
    CHECK(snapshots == recurrent->cache_bytes / 8 / state_bytes);
    CHECK(check(recurrent->limits));
}

TEST_CASE("snapshots of a context of 131,072 tokens stay within a requested memory") {
    const auto made =
        plan_long(granite4_tiny(), 64 * gibibyte, {.state_cache_bytes = gibibyte, .sequences_max = 4});
    REQUIRE(made);
    const uint64_t state_bytes = made->state_bytes / made->limits.state_slots;
    const uint32_t snapshots = made->limits.state_slots - made->limits.sequences_max;
    CHECK(made->limits.sequences_max == 4);
    CHECK(snapshots * state_bytes <= gibibyte);
    CHECK((snapshots + 1) * state_bytes > gibibyte);
}

TEST_CASE("a model without attention has pages without bytes for its context, and snapshots") {
    model::Config shape = granite4_tiny();
    shape.architecture = "mamba2";
    shape.layers.assign(40, shape.layers[0]);
    shape.context = 1U << 20;
    const auto made = plan_long(shape, 64 * gibibyte, {.sequences_max = 4});
    REQUIRE(made);
    CHECK(check(made->limits));
    CHECK(made->limits.context_tokens == 1U << 20);
    CHECK(made->cache_bytes == 0);
    REQUIRE(made->limits.groups.size() == 1);
    CHECK(made->limits.groups[0].page_count == 4 * 32768); // a context for each sequence
    CHECK(made->limits.state_slots == 4 + 4 * 4);
    CHECK(plan_long(shape, 64 * gibibyte)->limits.groups[0].page_count == 1U << 18);
    // The options of keys and values have no effect.
    const auto bounded = plan_long(shape, 64 * gibibyte, {.kv_memory_bytes = 1, .sequences_max = 4});
    REQUIRE(bounded);
    CHECK(bounded->limits.groups[0].page_count == 4 * 32768);
    CHECK(bounded->limits.context_tokens == 1U << 20);
    // Snapshots take a ninth of what running states leave.
    const uint64_t slot_bytes_all = made->state_bytes / made->limits.state_slots;
    const auto small = plan_long(shape, made->workspace_bytes + 20 * slot_bytes_all, {.sequences_max = 4});
    REQUIRE(small);
    CHECK(small->limits.state_slots < 4 + 4);
    CHECK(small->limits.state_slots > small->limits.sequences_max);
}

TEST_CASE("a model's context of 131,072 tokens is cut to what memory has room for") {
    for (const model::Config& shape : {gemma3_4b(), deepseek2_lite(), granite4_tiny()}) {
        INFO(shape.architecture);
        const DeviceSizes few{.sequences_max = 4};
        const auto whole = plan_long(shape, 64 * gibibyte, few);
        REQUIRE(whole);
        const uint64_t free_bytes = whole->cache_bytes / 2 + whole->state_bytes + gibibyte / 4;
        const auto cut = plan_long(shape, free_bytes, few);
        REQUIRE(cut);
        CHECK(cut->limits.context_tokens < long_context);
        CHECK(cut->limits.context_tokens > long_context / 4);
        CHECK(cut->cache_bytes + cut->state_bytes + cut->workspace_bytes + cut->reserve_bytes <= free_bytes);
        CHECK(check(cut->limits));
        DeviceSizes demanding = few;
        demanding.context_tokens = long_context;
        CHECK(!plan_long(shape, free_bytes, demanding));
    }
}

TEST_CASE("a model's context whose page tables alone do not fit is cut too") {
    model::Config shape = config();
    shape.context = model::context_max; // 64 tables of 8 MiB
    const auto cut = plan_long(shape, 300 * mebibyte);
    REQUIRE(cut);
    CHECK(cut->model_context_tokens == model::context_max);
    CHECK(cut->limits.context_tokens >= 8192);
    CHECK(cut->cache_bytes + cut->workspace_bytes + cut->reserve_bytes <= 300 * mebibyte);
    CHECK(!plan_long(shape, 300 * mebibyte, {.context_tokens = model::context_max}));
}
