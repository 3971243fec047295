#include "core/runtime/device_rates.hpp"
#include "core/runtime/runtime.hpp"
#include "tests/support/catch.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

using namespace etna;

namespace {

struct RatesFolder {
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("etna-rates-" + std::to_string(::getpid()));
    RatesFolder() { std::filesystem::remove_all(path); }
    ~RatesFolder() { std::filesystem::remove_all(path); }
    RatesFolder(const RatesFolder&) = delete;
    RatesFolder& operator=(const RatesFolder&) = delete;
};

} // namespace

TEST_CASE("a token costs its bytes or its products, whichever is slower, and its dispatches") {
    const runtime::DeviceRates rates = {.copy_bytes_s = 1e12, .matrix_flop_s = 1e14, .dispatch_us = 5};
    const auto reading = estimate_speed(rates, {.bytes = 5e9, .dispatches = 200, .weights = 8e9});
    CHECK(reading.generation_tok_s == Approx(1 / (0.005 + 0.001)));
    CHECK(reading.prompt_tok_s == Approx(6250));
    const auto multiplying = estimate_speed(rates, {.bytes = 1e6, .dispatches = 0, .weights = 8e9});
    CHECK(multiplying.generation_tok_s == Approx(6250));
}

TEST_CASE("the best measured rates of a device are stored") {
    const RatesFolder folder;
    runtime::Runtime runtime;
    std::vector<std::string> measured;
    const auto rates = [&] {
        const auto result =
            runtime.rates({.device = "", .cache_folder = folder.path, .progress = [&](std::string_view what) {
                               measured.emplace_back(what);
                           }});
        REQUIRE(result.has_value());
        return *result;
    };
    const auto first = rates();
    CHECK(measured == std::vector<std::string>{"copy rate", "matrix rate", "cost of a dispatch"});
    CHECK(first.copy_bytes_s > 1e6);
    CHECK(first.matrix_flop_s > 1e6);
    CHECK(first.dispatch_us > 0);
    const auto second = rates();
    CHECK(measured.size() == 6);
    CHECK(second.copy_bytes_s >= first.copy_bytes_s);
    CHECK(second.matrix_flop_s >= first.matrix_flop_s);
    CHECK(second.dispatch_us <= first.dispatch_us);
}
