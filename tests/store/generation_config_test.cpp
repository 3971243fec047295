#include "core/store/generation_config.hpp"
#include "tests/support/catch.hpp"

#include <filesystem>
#include <fstream>

#include <unistd.h>

using namespace etna;

TEST_CASE("a generation config is read as far as it says something of sampling") {
    const auto config = store::parse_generation_config(
        R"({"temperature": 0.6, "top_k": 20, "top_p": null, "do_sample": true, "eos_token_id": [1, 2]})");
    REQUIRE(config.has_value());
    CHECK(config->temperature == 0.6);
    CHECK(config->top_k == 20.0);
    CHECK(!config->top_p);
    CHECK(!config->repetition_penalty);
}

TEST_CASE("an invalid generation config is an error that names the file") {
    for (const char* text :
         {"", "[]", "{\"temperature\": \"hot\"}", "{\"top_k\": {}}", "{\"a\": 1e999}", "\xff"}) {
        CAPTURE(text);
        const auto config = store::parse_generation_config(text);
        REQUIRE(!config.has_value());
        CHECK(config.error().message.find("generation_config.json") != std::string::npos);
    }
}

TEST_CASE("the file is read from the folder of the model, and is optional") {
    const auto folder =
        std::filesystem::temp_directory_path() / ("etna-generation-config-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    const auto model = folder / "model.gguf";
    const auto none = store::generation_config_beside(model);
    REQUIRE(none.has_value());
    CHECK(!none->temperature);
    std::ofstream(folder / "generation_config.json") << R"({"min_p": 0.1})";
    CHECK(store::generation_config_beside(model)->min_p == 0.1);
    std::ofstream(folder / "generation_config.json") << std::string(2 << 20, ' ');
    CHECK(!store::generation_config_beside(model).has_value());
    std::filesystem::remove_all(folder);
}
