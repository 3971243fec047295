// Models that share a device, with random weights.
#include "core/engine/engine.hpp"
#include "core/runtime/runtime.hpp"
#include "core/runtime/shared_device.hpp"
#include "core/vk/impl.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/random_model.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

using namespace etna;
using namespace etna::test;
using runtime::LoadedExecutor;
using runtime::Runtime;

namespace {

const Bytes& first_file() {
    static const Bytes bytes = random_model({.architecture = RandomArchitecture::llama});
    return bytes;
}

const Bytes& second_file() {
    static const Bytes bytes = random_model({.architecture = RandomArchitecture::qwen3, .seed = 2});
    return bytes;
}

Result<LoadedExecutor> load(Runtime& runtime, const Bytes& bytes,
                            std::shared_ptr<runtime::DeviceClient> client = nullptr) {
    ETNA_TRY(const gguf::File file, gguf::File::parse(bytes, "random model"));
    runtime::ExecutorOptions options;
    options.context_tokens = 128;
    options.client = std::move(client);
    return runtime.load(file, options);
}

struct Model {
    std::shared_ptr<void> device; // released after the engine
    std::unique_ptr<engine::Engine> engine;

    explicit Model(Result<LoadedExecutor> loaded, std::unique_ptr<engine::Executor> draft = nullptr) {
        if (!loaded)
            FAIL(loaded.error().message);
        device = std::move(loaded->device);
        engine = std::move(engine::Engine::create(std::move(loaded->executor), {}, std::move(draft)).value());
    }
};

struct Answer {
    std::vector<TokenId> tokens; ///< empty if the request failed
    engine::Finished finished;
};

/// Generates greedily.
Answer run(const Model& model, std::optional<engine::Speculation> speculation = std::nullopt) {
    engine::Request request;
    request.prompt = {1, 5, 9, 2, 7};
    request.sampling.temperature = 0;
    request.max_tokens = 40;
    request.speculation = std::move(speculation);
    auto stream = model.engine->submit(std::move(request));
    Answer answer;
    while (stream) {
        engine::Event event = stream->next();
        if (const auto* token = std::get_if<engine::TokenEvent>(&event)) {
            answer.tokens.push_back(token->token);
            continue;
        }
        answer.finished = std::get<engine::Finished>(std::move(event));
        if (answer.finished.error)
            answer.tokens.clear();
        break;
    }
    return answer;
}

/// The answer of the model that is alone in the process.
std::vector<TokenId> tokens_alone(const Bytes& file) {
    Runtime runtime(runtime::Checks::on);
    const std::vector<TokenId> tokens = run(Model(load(runtime, file))).tokens;
    REQUIRE(tokens.size() == 40);
    return tokens;
}

VKAPI_ATTR VkResult VKAPI_CALL lose_device(VkQueue, uint32_t, const VkSubmitInfo*, VkFence) {
    return VK_ERROR_DEVICE_LOST;
}

} // namespace

TEST_CASE("a load reports checked kernels, weights and compiled kernels in order", "[device]") {
    using Phase = runtime::LoadProgress::Phase;
    Runtime runtime(runtime::Checks::on);
    const auto file = gguf::File::parse(first_file(), "random model");
    REQUIRE(file);
    std::vector<runtime::LoadProgress> reports;
    runtime::ExecutorOptions options;
    options.context_tokens = 128;
    options.progress = [&](const runtime::LoadProgress& progress) { reports.push_back(progress); };
    REQUIRE(runtime.load(*file, options));
    std::vector<Phase> phases;
    for (const runtime::LoadProgress& report : reports) {
        CHECK(report.done <= report.total);
        if (phases.empty() || phases.back() != report.phase)
            phases.push_back(report.phase);
    }
    CHECK(phases == std::vector{Phase::checking_kernels, Phase::reading_weights, Phase::compiling_kernels});
}

TEST_CASE("the engine verifies its steps if the runtime checks them, and only then") {
    for (const auto checks : {runtime::Checks::off, runtime::Checks::on}) {
        Runtime runtime(checks);
        const auto loaded = load(runtime, first_file());
        REQUIRE(loaded.has_value());
        CHECK(loaded->executor->limits().verifies_steps == (checks == runtime::Checks::on));
    }
}

TEST_CASE("a model loads while another generates, and both answer as if alone") {
    const std::vector<TokenId> first_tokens = tokens_alone(first_file());
    const std::vector<TokenId> second_tokens = tokens_alone(second_file());
    Runtime runtime(runtime::Checks::on);
    const Model first(load(runtime, first_file()));
    std::optional<Result<LoadedExecutor>> loaded;
    std::atomic<bool> is_loaded = false;
    std::thread loader([&] {
        loaded = load(runtime, second_file());
        is_loaded = true;
    });
    uint32_t right = 0;
    uint32_t answers = 0;
    for (; !is_loaded || answers == 0; ++answers)
        right += run(first).tokens == first_tokens ? 1 : 0;
    loader.join();
    CHECK(right == answers);

    const Model second(std::move(*loaded));
    CHECK(second.device == first.device);
    Answer of_first;
    std::thread other([&] { of_first = run(first); });
    const Answer of_second = run(second);
    other.join();
    CHECK(of_first.tokens == first_tokens);
    CHECK(of_second.tokens == second_tokens);
}

TEST_CASE("a draft model and its target share the device and the client") {
    const std::vector<TokenId> tokens = tokens_alone(first_file());
    Runtime runtime(runtime::Checks::on);
    auto draft = load(runtime, first_file());
    REQUIRE(draft);
    auto target = load(runtime, first_file(), draft->client);
    REQUIRE(target);
    CHECK(target->device == draft->device);
    CHECK(target->client == draft->client);
    const Model model(std::move(target), std::move(draft->executor));
    const Answer answer = run(model, engine::Speculation{.tokens_max = 4, .uses_model = true});
    CHECK(answer.tokens == tokens);
    CHECK(answer.finished.accepted_drafts > 0);
}

TEST_CASE("models and listings share the device and its kernels") {
    Runtime runtime(runtime::Checks::on);
    auto loaded = load(runtime, first_file());
    REQUIRE(loaded);
    const auto device = std::static_pointer_cast<runtime::SharedDevice>(loaded->device);
    const auto library = device->library({}, kernels::Precision::exact, {}).value();
    CHECK(library == device->library({}, kernels::Precision::exact, {}).value());
    CHECK(library != device->library({}, kernels::Precision::fast, {}).value());
    const auto other = library->target().family == kernels::PlanFamily::nvidia ? kernels::PlanFamily::amd
                                                                               : kernels::PlanFamily::nvidia;
    CHECK(library != device->library(other, kernels::Precision::exact, {}).value());
    CHECK_FALSE(library->created().empty());
    const auto reports = runtime.list({}, {});
    REQUIRE(reports);
    CHECK(reports->front().total_bytes > 0);
}

TEST_CASE("a loaded model reports what its steps read, the peak of its memory and the device's rates") {
    Runtime runtime(runtime::Checks::on);
    auto loaded = load(runtime, first_file());
    REQUIRE(loaded);
    const uint64_t weight_bytes = loaded->weight_reads.bytes(1).value();
    CHECK(weight_bytes > 0);
    const uint64_t peak_bytes = loaded->memory().peak_bytes;
    CHECK(peak_bytes >= weight_bytes);
    const auto copy_bytes_s = loaded->copy_rate();
    REQUIRE(copy_bytes_s);
    CHECK(*copy_bytes_s > 1e6);
    CHECK(*copy_bytes_s < 1e14);
    const auto matrix_flop_s = loaded->matrix_rate();
    REQUIRE(matrix_flop_s);
    CHECK(*matrix_flop_s > 1e8);
    CHECK(*matrix_flop_s < 1e16);
    CHECK(loaded->memory().peak_bytes > peak_bytes); // the copied buffers
}

TEST_CASE("kernels are measured by part of their names") {
    Runtime runtime(runtime::Checks::on);
    runtime::KernelBenchOptions options;
    std::vector<std::string> names;
    options.progress = [&](const std::string& name, std::size_t number, std::size_t) {
        CHECK(number == names.size());
        names.push_back(name);
    };
    options.filter = "rms_norm 4096";
    const auto timings = runtime.bench(options);
    REQUIRE(timings);
    CHECK(timings->copy_bytes_s > 0);
    REQUIRE(timings->kernels.size() == 2); // one row, and a prompt's
    for (std::size_t i = 0; i < 2; ++i) {
        const runtime::KernelTiming& kernel = timings->kernels[i];
        CHECK(kernel.name == names.at(i));
        CHECK(kernel.bytes > 2 * 4096 * 4);
        REQUIRE(kernel.samples_us.size() == 5);
        for (const double one : kernel.samples_us)
            CHECK(one > 0);
    }
    options.filter = "no such kernel";
    CHECK(runtime.bench(options).error().kind == ErrorKind::not_found);
}

TEST_CASE("a device is closed with its last user") {
    Runtime runtime(runtime::Checks::on);
    auto loaded = load(runtime, first_file());
    REQUIRE(loaded);
    const std::weak_ptr<void> device = loaded->device;
    loaded = load(runtime, second_file());
    CHECK_FALSE(device.expired());
    loaded = Error{ErrorKind::cancelled, "unloaded"};
    CHECK(device.expired());
}

TEST_CASE("a lost device is opened again for the next model") {
    Runtime runtime(runtime::Checks::on);
    const Model lost(load(runtime, first_file()));
    auto& device = static_cast<runtime::SharedDevice*>(lost.device.get())->device();
    device.impl().device.functions.vkQueueSubmit = lose_device;
    CHECK(run(lost).finished.error.value().kind == ErrorKind::device_lost);
    const Model next(load(runtime, first_file()));
    CHECK(next.device != lost.device);
    CHECK(run(next).tokens.size() == 40);
}
