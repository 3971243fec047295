#include "core/store/known_models.hpp"
#include "core/store/model_name.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace etna;
using store::HubModel;
using store::LocalModel;
using store::ModelName;
using store::UrlModel;

namespace {

ModelName parsed_name(std::string_view text) {
    const auto name = store::parse_model_name(text);
    REQUIRE(name.has_value());
    return *name;
}

} // namespace

TEST_CASE("a repository of the hub is named in several ways, with a quantisation and a revision") {
    const HubModel plain{"Qwen", "Qwen3-0.6B-GGUF", "", ""};
    const HubModel full{"Qwen", "Qwen3-0.6B-GGUF", "Q8_0", "refs/pr/3"};
    for (const std::string prefix :
         {"hf.co/", "huggingface.co/", "https://hf.co/", "https://huggingface.co/", "hf:", "hf://"}) {
        CAPTURE(prefix);
        CHECK(parsed_name(prefix + "Qwen/Qwen3-0.6B-GGUF") == ModelName(plain));
        CHECK(parsed_name(prefix + "Qwen/Qwen3-0.6B-GGUF:Q8_0@refs/pr/3") == ModelName(full));
        CHECK(parsed_name(prefix + "Qwen/Qwen3-0.6B-GGUF:latest") == ModelName(plain));
    }
    CHECK(parsed_name("hf:u/r:sub/file.gguf") == ModelName(HubModel{"u", "r", "sub/file.gguf", ""}));
    CHECK(store::to_string(full) == "hf.co/Qwen/Qwen3-0.6B-GGUF:Q8_0@refs/pr/3");
    CHECK(store::to_string(plain) == "hf.co/Qwen/Qwen3-0.6B-GGUF");
}

TEST_CASE("USER/REPO alone is remote only if it cannot be a local name") {
    CHECK(parsed_name("u/r:Q8_0") == ModelName(LocalModel{"u/r:Q8_0"}));
    CHECK(store::parse_remote_name("u/r:Q8_0@v1").value() == ModelName(HubModel{"u", "r", "Q8_0", "v1"}));
    for (const std::string local : {"./u/r", "/u/r", "~/r", "a/b.gguf", "r", "a/b/c"}) {
        CAPTURE(local);
        CHECK(store::parse_remote_name(local).value() == ModelName(LocalModel{local}));
    }
}

TEST_CASE("an address of a .gguf file is taken as it is") {
    CHECK(parsed_name("https://example.org/a/M.GGUF") ==
          ModelName(UrlModel{"https://example.org/a/M.GGUF", "M.GGUF"}));
    CHECK(parsed_name("hf:u/r:sub/FILE.GGUF") == ModelName(HubModel{"u", "r", "sub/FILE.GGUF", ""}));
    CHECK(parsed_name("https://example.org/a/m.gguf") ==
          ModelName(UrlModel{"https://example.org/a/m.gguf", "m.gguf"}));
    CHECK(parsed_name("http://localhost:80/m.gguf?download=true") ==
          ModelName(UrlModel{"http://localhost:80/m.gguf?download=true", "m.gguf"}));
    const std::string direct = "https://huggingface.co/u/r/resolve/main/m.gguf";
    CHECK(parsed_name(direct) == ModelName(UrlModel{direct, "m.gguf"}));
    for (const char* bad : {"https://example.org", "https://example.org/", "https://example.org/m.bin",
                            "https://example.org/..", "https://m.gguf",
                            "https://user:secret@example.org/m.gguf", "https://example.org/con.gguf"}) {
        CAPTURE(bad);
        CHECK(store::parse_model_name(bad).error().kind == ErrorKind::invalid_argument);
    }
    CHECK(store::parse_model_name("https://user:secret@example.org/m.gguf").error().message.find("secret") ==
          std::string::npos);
}

TEST_CASE("a part that is not a plain name is refused by name") {
    const std::string overlong(store::name_part_bytes_max + 1, 'x');
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"hf.co/", "no repository"},
        {"hf.co/u", "no repository"},
        {"hf.co//r", "the user"},
        {"hf.co/u/", "the repository"},
        {"hf.co/u/r:", "the quantisation"},
        {"hf.co/u/r@", "the revision"},
        {"hf.co/../r", "the user `..`"},
        {"hf.co/u/..", "the repository `..`"},
        {"hf.co/u/r/../../x", "the repository"},
        {"hf.co/u/r:..", "the quantisation"},
        {"hf.co/u/r:../x.gguf", "leaves its folder"},
        {"hf.co/u/r:/etc/x.gguf", "leaves its folder"},
        {"hf.co/u/r:a//x.gguf", "empty part"},
        {"hf.co/u/r@../../x", "the revision `..`"},
        {"hf.co/u\\v/r", "the user"},
        {"hf.co/u/CON", "device on Windows"},
        {"hf.co/u/lpt1.txt", "device on Windows"},
        {"hf.co/C:/r", "the quantisation"},
        {"hf.co/u/r:nul", "device on Windows"},
        {"hf.co/u/%2e%2e", "the repository"},
        {"hf.co/u/r?x=1", "the repository"},
        {"hf.co/u/r\n", "control character"},
        {"hf.co/u/r x", "control character"},
        {std::string("hf.co/u/r\0x", 11), "control character"},
        {"hf.co/u/" + overlong, "has 97 bytes, more than 96"},
        {"hf.co/u/r:" + std::string(5000, 'x'), "bytes, more than 1024"},
    };
    for (const auto& [text, message] : cases) {
        CAPTURE(text);
        const auto name = store::parse_model_name(text);
        REQUIRE(!name.has_value());
        CHECK(name.error().kind == ErrorKind::invalid_argument);
        CHECK_THAT(name.error().message, Catch::Matchers::ContainsSubstring(message));
    }
}

TEST_CASE("a path of a repository stays below its folder on every system") {
    for (const char* good : {"a.gguf", "a/b-00001-of-00002.gguf", "Q8_0/..a", "contents.gguf", "com.gguf"}) {
        CAPTURE(good);
        CHECK(store::check_relative_path(good).has_value());
    }
    for (const char* bad : {"", "/a", "a/", "..", "a/../b", "./a", "a//b", "C:a", "a\\b", "a/aux",
                            "COM3.gguf", "a\nb", "a\x7f"}) {
        CAPTURE(bad);
        CHECK(store::check_relative_path(bad).error().kind == ErrorKind::invalid_argument);
    }
    CHECK(!store::check_relative_path(std::string_view("a\0b", 3)).has_value());
    CHECK(store::encode_url_path("a b/ü#?%.gguf") == "a%20b/%C3%BC%23%3F%25.gguf");
}

TEST_CASE("known models have unique names in lower case, and name valid repositories") {
    std::set<std::string_view> names;
    for (const store::KnownModel& model : store::known_models()) {
        CAPTURE(model.name);
        CHECK(names.insert(model.name).second);
        CHECK(std::count(model.name.begin(), model.name.end(), ':') == 1);
        CHECK(
            std::none_of(model.name.begin(), model.name.end(), [](char c) { return c >= 'A' && c <= 'Z'; }));
        const HubModel hub{std::string(model.user), std::string(model.repository),
                           std::string(model.quantisation), ""};
        CHECK(parsed_name(store::to_string(hub)) == ModelName(hub));
        CHECK(parsed_name(model.name) == ModelName(hub));
    }
    CHECK(names.size() >= 25);
    CHECK(parsed_name("Qwen3:0.6B") == ModelName(HubModel{"Qwen", "Qwen3-0.6B-GGUF", "Q8_0", ""}));
    CHECK(store::known_model("qwen") == nullptr);
    CHECK(parsed_name("qwen") == ModelName(LocalModel{"qwen"}));
}

TEST_CASE("a family's name alone means its usual size, and a size needs no number of active parameters") {
    std::map<std::string_view, int> usual;
    for (const store::KnownModel& model : store::known_models())
        usual[model.family()] += store::is_usual(model) ? 1 : 0;
    for (const auto& [family, count] : usual) {
        CAPTURE(family);
        CHECK(count == 1);
        CHECK(store::known_model(family)->family() == family);
    }
    for (const auto& [typed, meant] :
         std::map<std::string, std::string>{{"qwen3", "qwen3:8b"},
                                            {"Llama3.2", "llama3.2:3b"},
                                            {"gpt-oss", "gpt-oss:20b"},
                                            {"gemma4:latest", "gemma4:e4b"},
                                            {"qwen3.6:35b", "qwen3.6:35b-a3b"},
                                            {"qwen3.8", "qwen3.8:27b"},
                                            {"nemotron3:30B", "nemotron3:30b-a3b"}}) {
        CAPTURE(typed);
        REQUIRE(store::known_model(typed) != nullptr);
        CHECK(store::known_model(typed)->name == meant);
    }
    for (const char* unknown : {"qwen3:", "qwen3:8", "qwen3:30b-a", "latest", ":latest", "", "gemma4:4b"})
        CHECK(store::known_model(unknown) == nullptr);
}

TEST_CASE("the sizes of known models are plausible for their quantisation") {
    for (const store::KnownModel& model : store::known_models()) {
        CAPTURE(model.name);
        const double bits = 8.0 * model.download_mb / model.parameters_m;
        CHECK(bits > 4);
        CHECK(bits < 9.5);
        CHECK(model.active_m <= model.parameters_m);
        CHECK(model.context_tokens >= 512);
    }
}
