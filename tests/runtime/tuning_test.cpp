#include "core/base/build_id.hpp"
#include "core/kernels/policy.hpp"
#include "core/runtime/runtime.hpp"
#include "core/runtime/shared_device.hpp"
#include "core/runtime/tuning.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/log_recorder.hpp"
#include "tests/support/random_model.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

using namespace etna;
using namespace etna::test;
using kernels::PlanFamily;
using kernels::Precision;
using kernels::TunedKernel;
using runtime::DeviceFile;
using runtime::Runtime;
using runtime::StoredChoice;
using runtime::StoredTuning;

namespace {

struct TuningFolder {
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("etna-tuning-" + std::to_string(::getpid()));
    TuningFolder() { std::filesystem::remove_all(path); }
    ~TuningFolder() { std::filesystem::remove_all(path); }
    TuningFolder(const TuningFolder&) = delete;
    TuningFolder& operator=(const TuningFolder&) = delete;
};

kernels::PlanTarget stored_target(uint32_t driver_version = 1) {
    kernels::PlanTarget target{.family = PlanFamily::amd, .profile = {}};
    target.profile.name = "device";
    target.profile.driver_version = driver_version;
    target.profile.workgroup_invocations_max = 256;
    return target;
}

StoredTuning stored_in(const TuningFolder& folder, const kernels::PlanTarget& target) {
    return {folder.path, target.profile, target.family, target.precision};
}

std::vector<StoredChoice> some_choices() {
    return {{.shape = {.kernel = TunedKernel::linear,
                       .layout = {kernels::Format::q4_k, kernels::Arrangement::rows},
                       .rows = 4096,
                       .columns = 512},
             .sizes = {.workgroup = 128, .rows = 4},
             .time_us = 12.5,
             .policy_us = 15,
             .date = "2026-11-26"},
            {.shape = {.kernel = TunedKernel::attention, .rows = 8, .columns = 64, .kv_heads = 2},
             .sizes = {.workgroup = 32, .rows = 4},
             .time_us = 3,
             .date = "2026-11-27"}};
}

/// The file of stored_in() with any content.
void write_text(const TuningFolder& folder, const kernels::PlanTarget& target, std::string_view text) {
    DeviceFile(folder.path, target.profile, "tuning", "amd exact etna " ETNA_VERSION " " + build_id())
        .write(std::as_bytes(std::span(text)));
}

} // namespace

TEST_CASE("choices are stored per device, driver, build, family and precision") {
    const TuningFolder folder;
    const kernels::PlanTarget target = stored_target();
    const StoredTuning stored = stored_in(folder, target);
    CHECK(stored.read(target).empty());
    REQUIRE(stored.write(some_choices()));
    CHECK(stored.read(target) == some_choices());
    CHECK(stored_in(folder, target).read(target) == some_choices());
    CHECK(stored_in(folder, stored_target(2)).read(target).empty());
    CHECK(
        StoredTuning(folder.path, target.profile, PlanFamily::nvidia, Precision::exact).read(target).empty());
    CHECK(StoredTuning(folder.path, target.profile, PlanFamily::amd, Precision::fast).read(target).empty());
    REQUIRE(stored.forget());
    CHECK(stored.read(target).empty());
    CHECK_FALSE(StoredTuning({}, target.profile, PlanFamily::amd, Precision::exact).write(some_choices()));
    CHECK(StoredTuning({}, target.profile, PlanFamily::amd, Precision::exact).read(target).empty());
}

TEST_CASE("choices for models of fast precision are read as such") {
    const TuningFolder folder;
    kernels::PlanTarget target = stored_target();
    target.precision = Precision::fast;
    const StoredTuning stored = stored_in(folder, target);
    REQUIRE(stored.write(some_choices()));
    const std::vector<StoredChoice> choices = stored.read(target);
    REQUIRE(choices.size() == 2);
    CHECK(choices[0].precision == Precision::fast);
}

TEST_CASE("a file of choices that is damaged, foreign or impossible is ignored with a warning") {
    const TuningFolder folder;
    const kernels::PlanTarget target = stored_target();
    const StoredTuning stored = stored_in(folder, target);
    const std::string good = "linear q4_k rows 4096 512 0 128 4 0 12.500 15.000 2026-11-26\n";
    write_text(folder, target, good);
    REQUIRE(stored.read(target).size() == 1);
    const test::LogRecorder log;
    std::size_t warnings = 0;
    const auto is_ignored = [&] {
        return stored.read(target).empty() && log.all().size() == ++warnings &&
               log.all().back().find("is ignored") != std::string::npos;
    };
    for (const std::string_view text :
         {"\n", "linear", "linear q4_k rows 4096 512 0 128 4 0 12.5 15 2026-11-26", // no newline
          "lineal q4_k rows 4096 512 0 128 4 0 12.5 15 2026-11-26\n",               // kernel
          "linear q9_k rows 4096 512 0 128 4 0 12.5 15 2026-11-26\n",               // format
          "linear q4_k rows -1 512 0 128 4 0 12.5 15 2026-11-26\n",                 // number
          "linear q4_k rows 99999999999 512 0 128 4 0 12.5 15 2026-11-26\n",        // number
          "linear q4_k rows 4096 512 0 128 4 0 nan 15 2026-11-26\n",                // time
          "linear q4_k rows 4096 512 0 128 4 0 0 15 2026-11-26\n",                  // time
          "linear q4_k rows 4096 512 0 128 4 0 12.5 -1 2026-11-26\n",               // time
          "linear q4_k rows 4096 512 0 128 4 0 12.5 15 2026-11-2\n",                // date
          "linear q4_k rows 4096 512 0 128 4 0 12.5 15 2026-11-26 more\n",          // words
          "linear q4_k rows 4096 512 0 96 4 0 12.5 15 2026-11-26\n",                // no such candidate
          "linear q4_k rows 4096 512 0 512 4 0 12.5 15 2026-11-26\n",  // larger than the device's
          "linear q4_k rows 4096 512 0 128 0 0 12.5 15 2026-11-26\n",  // no rows
          "linear q4_k rows 4096 512 0 128 4 64 12.5 15 2026-11-26\n", // no choice of subgroups
          "linear q4_k tiles 4096 512 0 128 2 0 12.5 15 2026-11-26\n", // no such kernel here
          "attention_decode f32 rows 32 77 8 128 2 0 12.5 15 2026-11-26\n"}) {
        INFO(text);
        write_text(folder, target, text);
        CHECK(is_ignored());
    }
    write_text(folder, target, good + good); // twice the same shape
    CHECK(is_ignored());
    write_text(folder, target, good);
    const std::filesystem::path file = std::filesystem::directory_iterator(folder.path)->path();
    std::filesystem::resize_file(file, std::filesystem::file_size(file) - 3);
    CHECK(is_ignored());
    std::ofstream(file, std::ios::binary) << "something else";
    CHECK(is_ignored());
    REQUIRE(stored.write(some_choices())); // replaces it
    CHECK(stored.read(target) == some_choices());
}

namespace {

const Bytes& tuned_file() {
    static const Bytes bytes = random_model({.architecture = RandomArchitecture::qwen3,
                                             .layers = 1,
                                             .embedding = 256,
                                             .feed_forward = 512,
                                             .matrices = WeightFormat::q8_0});
    return bytes;
}

Result<runtime::LoadedExecutor> load_tuned(Runtime& runtime, const std::filesystem::path& folder) {
    ETNA_TRY(const gguf::File file, gguf::File::parse(tuned_file(), "random model"));
    runtime::ExecutorOptions options;
    options.context_tokens = 128;
    options.cache_folder = folder;
    return runtime.load(file, options);
}

kernels::Tuning tuning_of(const runtime::LoadedExecutor& loaded) {
    const auto device = std::static_pointer_cast<runtime::SharedDevice>(loaded.device);
    return device->library({}, Precision::exact, {}).value()->target().tuning;
}

} // namespace

TEST_CASE("a model is tuned shape by shape, and the next load uses what was stored", "[device]") {
    const TuningFolder folder;
    Runtime runtime(runtime::Checks::on);
    const auto file = gguf::File::parse(tuned_file(), "random model").value();
    std::size_t shapes = 0;
    runtime::TuneRequest request{
        .device = {}, .cache_folder = folder.path, .progress = {}, .is_cancelled = {}};
    request.progress = [&](const kernels::TunedShape&, std::size_t number, std::size_t total) {
        CHECK(number < total);
        shapes = number + 1;
    };
    request.is_cancelled = [&] { return shapes == 3; }; // while the third is measured
    const auto cut = runtime.tune(file, request);
    INFO((cut ? "" : cut.error().message));
    REQUIRE(cut);
    CHECK(cut->is_cancelled);
    REQUIRE(cut->choices.size() == 2);

    auto loaded = load_tuned(runtime, folder.path);
    REQUIRE(loaded);
    const kernels::Tuning tuning = tuning_of(*loaded);
    REQUIRE(tuning.entries().size() == 2);
    for (const kernels::TunedChoice& choice : cut->choices)
        CHECK(tuning.find(choice.shape) == choice.sizes);
    const auto reports = runtime.list({}, folder.path);
    REQUIRE(reports);
    const auto chosen = std::ranges::find(*reports, true, &runtime::DeviceReport::is_chosen);
    REQUIRE(chosen != reports->end());
    CHECK(chosen->tuned.size() == 2);

    REQUIRE(runtime.forget_tuning({}, folder.path));
    CHECK(tuning_of(load_tuned(runtime, folder.path).value()).entries().empty());
}
