// `etna plan` from a model's metadata and a reported device to text, JSON and exit codes.

#include "tests/cli/harness.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/gguf_writer.hpp"
#include "tests/support/random_model.hpp"

#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace etna;
using namespace etna::test;

namespace {

constexpr uint64_t mib = uint64_t{1} << 20;

runtime::DeviceReports a_gpu(uint64_t free_bytes) {
    runtime::DeviceReport gpu;
    gpu.profile.name = "Fast GPU";
    gpu.profile.type = vk::DeviceType::discrete;
    gpu.profile.allocation_bytes_max = uint64_t{4} << 30;
    gpu.free_bytes = gpu.total_bytes = free_bytes;
    gpu.is_chosen = true;
    return {gpu};
}

uint64_t bytes_of(const nlohmann::json& plan, std::string_view kind, std::string_view place) {
    uint64_t bytes = 0;
    for (const auto& use : plan["memory"]) {
        if (use["kind"] == kind && use["place"] == place)
            bytes += use["bytes"].get<uint64_t>();
    }
    return bytes;
}

} // namespace

TEST_CASE("plan prints memory by kind and place for the chosen device") {
    Harness etna;
    etna.devices = a_gpu(2048 * mib);
    const Outcome outcome = etna.run({"plan", "demo", "--device", "fast"});
    REQUIRE(outcome.error.empty());
    REQUIRE(outcome.code == 0);
    CHECK(etna.listed_device == "fast");
    CHECK(contains(outcome.output, "demo on Fast GPU\n"));
    CHECK(contains(outcome.output, "keys in f16, values in f16\n"));
    CHECK(contains(outcome.output, "\nweights "));
    CHECK(contains(outcome.output, "\ntotal "));
    CHECK(contains(outcome.output, " 2.00 GiB  device  128.0 MiB of it stay in reserve"));
}

TEST_CASE("plan --json has the memory of the requested context, sequences and cache") {
    Harness etna;
    etna.devices = a_gpu(2048 * mib);
    const auto plan = [&](std::vector<std::string> more) {
        more.insert(more.begin(), {"plan", "demo", "--json"});
        const Outcome outcome = etna.run(more);
        REQUIRE(outcome.code == 0);
        return nlohmann::json::parse(outcome.output);
    };
    const auto small = plan({"-c", "64"});
    CHECK(small["fits"] == true);
    CHECK(small["error"].is_null());
    CHECK(small["context_tokens"] == 64);
    CHECK(small["parallel"] == 1);
    CHECK(bytes_of(small, "outputs", "host") > 0);
    CHECK(bytes_of(small, "outputs", "device") == 0);
    const uint64_t cache = bytes_of(small, "cache", "device");
    CHECK(bytes_of(plan({"-c", "256"}), "cache", "device") == 4 * cache);
    CHECK(bytes_of(plan({"-c", "64", "--parallel", "4"}), "cache", "device") == 4 * cache);
    CHECK(bytes_of(plan({"-c", "64", "--kv-type", "f32"}), "cache", "device") == 2 * cache);
    const auto mixed = plan({"-c", "64", "--value-type", "q8_0"});
    CHECK(mixed["key_type"] == "f16");
    CHECK(mixed["value_type"] == "q8_0");
}

TEST_CASE("plan -c 0 has the model's own context, less only if memory has no room for it") {
    Harness etna;
    const auto planned = [&](uint64_t free_bytes) {
        etna.devices = a_gpu(free_bytes);
        const Outcome outcome = etna.run({"plan", "demo", "-c", "0", "--kv-type", "f16", "--json"});
        REQUIRE(outcome.code == 0);
        return nlohmann::json::parse(outcome.output);
    };
    const auto whole = planned(2048 * mib);
    CHECK(whole["context_tokens"] == whole["model_context_tokens"]);
    CHECK(whole["model_context_tokens"] == 2048);
    const uint64_t used = whole["device_bytes"].get<uint64_t>() - bytes_of(whole, "unused", "device");
    const uint64_t needed = used - bytes_of(whole, "cache", "device") / 2 + 64 * mib;
    const auto cut = planned(needed * 32 / 31); // a part stays in reserve
    CHECK(cut["context_tokens"] < cut["model_context_tokens"]);
    CHECK(contains(
        etna.run({"plan", "demo", "-c", "0", "--kv-type", "f16"}).output,
        fmt::format("\ncontext      {} tokens (the model's: 2048)", cut["context_tokens"].get<uint32_t>())));
}

TEST_CASE("plan shows the memory of a model that does not fit and fails") {
    Harness etna;
    etna.devices = a_gpu(70 * mib);
    const Outcome outcome = etna.run({"plan", "demo", "-c", "1024"});
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.output, "context      1024 tokens"));
    CHECK(contains(outcome.output, " 70.0 MiB  device  66.2 MiB of it stay in reserve"));
    CHECK(outcome.error.starts_with("error: "));
    CHECK(contains(outcome.error, "70 MiB are free"));
    const Outcome json = etna.run({"plan", "demo", "-c", "1024", "--json"});
    CHECK(json.code == 1);
    CHECK(json.error.empty());
    CHECK(nlohmann::json::parse(json.output)["fits"] == false);
}

TEST_CASE("plan without a device or a model is an error") {
    Harness etna;
    CHECK(contains(etna.run({"plan", "demo"}).error, "no device can run models"));
    CHECK(etna.run({"plan"}).code == 2);
    etna.devices = a_gpu(2048 * mib);
    CHECK(contains(etna.run({"plan", "missing"}).error, "missing"));
}

TEST_CASE("plan counts a draft model, which is loaded first") {
    Harness etna;
    etna.devices = a_gpu(2048 * mib);
    const auto plan = [&](std::vector<std::string> more) {
        more.insert(more.begin(), {"plan", "demo", "-c", "64", "--json"});
        return nlohmann::json::parse(etna.run(more).output);
    };
    const auto alone = plan({});
    const auto both = plan({"--draft", "demo"});
    CHECK(both["device_bytes"] == 2 * alone["device_bytes"].get<uint64_t>());
    CHECK(both["device_free_bytes"] == alone["device_free_bytes"]);
    CHECK(both["fits"] == true);
    CHECK(contains(etna.run({"plan", "demo", "--draft", "demo"}).output, "draft model, "));
    etna.devices = a_gpu(80 * mib);
    CHECK(plan({})["fits"] == true);
    CHECK(plan({"--draft", "demo"})["fits"] == false);
    CHECK(contains(etna.run({"plan", "demo", "--draft", "nowhere"}).error, "no model `nowhere`"));
}

TEST_CASE("plan counts a draft head and its cache, and leaves both out with --no-mtp") {
    Harness etna;
    etna.devices = a_gpu(2048 * mib);
    const TemporaryFolder folder;
    const auto path = folder.path() / "predicting.gguf";
    RandomModelOptions options{.architecture = RandomArchitecture::qwen35, .layers = 4};
    const auto plan = [&](uint32_t predicting_layers, std::vector<std::string> more) {
        options.predicting_layers = predicting_layers;
        write_file(path, random_model(options));
        more.insert(more.begin(), {"plan", path.string(), "-c", "256", "--json"});
        return nlohmann::json::parse(etna.run(more).output);
    };
    const auto without = plan(0, {});
    const auto with = plan(1, {});
    const auto ignored = plan(1, {"--no-mtp"});
    for (const std::string kind : {"weights", "cache"}) {
        CHECK(bytes_of(with, kind, "device") > bytes_of(without, kind, "device"));
        CHECK(bytes_of(ignored, kind, "device") == bytes_of(without, kind, "device"));
    }
}

TEST_CASE("plan names the experts in host memory, and their cost") {
    Harness etna;
    etna.devices = a_gpu(2048 * mib);
    const TemporaryFolder folder;
    const auto path = folder.path() / "mixture.gguf";
    write_file(path, random_model({.architecture = RandomArchitecture::qwen3moe, .layers = 4}));
    const Outcome text = etna.run({"plan", path.string(), "--experts-in-host", "3"});
    REQUIRE(text.code == 0);
    CHECK(contains(text.output,
                   "\nexperts      experts of the last 3 layers (0.0 GiB) are in host memory: each "
                   "token reads up to "));
    const Outcome json = etna.run({"plan", path.string(), "--n-cpu-moe", "2", "--json"});
    REQUIRE(json.code == 0);
    const auto plan = nlohmann::json::parse(json.output);
    CHECK(plan["host_expert_layers"] == 2);
    CHECK(bytes_of(plan, "weights", "host") > 0);
    const Outcome automatic = etna.run({"plan", path.string(), "--experts-in-host", "auto", "--json"});
    CHECK(nlohmann::json::parse(automatic.output)["host_expert_layers"] == 0);
    CHECK(nlohmann::json::parse(
              etna.run({"plan", path.string(), "--cpu-moe", "--json"}).output)["host_expert_layers"] == 4);
}

TEST_CASE("plan --list estimates the speed of the known models that fit from three rates") {
    Harness etna;
    etna.devices = a_gpu(8192 * mib);
    etna.rates = runtime::DeviceRates{.copy_bytes_s = 500e9, .matrix_flop_s = 100e12, .dispatch_us = 5};
    const Outcome outcome = etna.run({"plan", "--list", "--json"});
    REQUIRE(outcome.code == 0);
    const auto list = nlohmann::json::parse(outcome.output);
    const auto model = [&](std::string_view name) {
        for (const auto& one : list["models"]) {
            if (one["name"] == name)
                return one;
        }
        return nlohmann::json();
    };
    CHECK(list["copy_bytes_s"] == 500e9);
    CHECK(model("qwen3:8b")["fits"] == true);
    CHECK(model("qwen3:14b")["fits"] == false);
    // 5.028 GB at 500 GB/s, and 6 dispatches of 5 us in each of 26 + 1.2 * 8.191 layers
    const double token_s = 5.028 / 500 + 6 * (26 + 1.2 * 8.191) * 5e-6;
    CHECK(model("qwen3:8b")["generation_tok_s"].get<double>() == Approx(1 / token_s));
    CHECK(model("qwen3:8b")["prompt_tok_s_max"].get<double>() == Approx(100e12 / (2 * 8.191e9)));
    // a mixture reads the share of its active parameters
    const double mixture_s = 18.557 * 3.3 / 30.532 / 500 + 9 * 40 * 5e-6;
    CHECK(model("qwen3:30b-a3b")["generation_tok_s"].get<double>() == Approx(1 / mixture_s));

    const Outcome text = etna.run({"plan", "--list"});
    CHECK(contains(text.output, "qwen3:8b"));
    CHECK(!contains(text.output, "qwen3:14b"));
    CHECK(contains(text.error, "copies 500.0 GB/s, products 100.00 TFLOP/s, 5.0 us a dispatch"));
}

TEST_CASE("plan --list without a measurement has no speeds and says so") {
    Harness etna;
    etna.devices = a_gpu(8192 * mib);
    const Outcome outcome = etna.run({"plan", "--list"});
    CHECK(outcome.code == 0);
    CHECK(contains(outcome.output, "qwen3:8b"));
    CHECK(contains(outcome.error, "no speeds, because the device was not measured"));
    CHECK(etna.run({"plan", "--list", "demo"}).code == 2);
    etna.devices = runtime::DeviceReports{};
    CHECK(etna.run({"plan", "--list"}).code == 1);
}
