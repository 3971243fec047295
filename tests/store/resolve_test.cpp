#include "core/store/embedded.hpp"
#include "core/store/resolve.hpp"
#include "tests/support/catch.hpp"

#include <fstream>

#include <unistd.h>

using namespace etna;

namespace {

/// A folder of models in the temporary directory that goes with the scope.
struct ModelsFolder {
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("etna-store-" + std::to_string(::getpid()));
    explicit ModelsFolder(const std::vector<std::string>& files) {
        std::filesystem::create_directories(path);
        for (const std::string& file : files)
            std::ofstream(path / file) << "x";
    }
    ModelsFolder(const ModelsFolder&) = delete;
    ModelsFolder& operator=(const ModelsFolder&) = delete;
    ~ModelsFolder() { std::filesystem::remove_all(path); }
};

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("`demo` and `demo-draft` are embedded models, whatever the folder holds") {
    const ModelsFolder folder({"demo.gguf", "demo-draft.gguf"});
    for (const char* name : {"demo", "demo-draft"}) {
        CAPTURE(name);
        const auto source = store::resolve(name, folder.path);
        REQUIRE(source.has_value());
        REQUIRE(source->path.empty());
        REQUIRE(source->bytes.data() == store::embedded_model(name)->bytes.data());
        REQUIRE(source->name == name);
    }
}

TEST_CASE("a file named demo does not make two models of it") {
    const ModelsFolder folder({"demo.gguf", "foo.gguf"});
    const Error error = store::resolve("nosuch", folder.path).error();
    REQUIRE(contains(error.hint, "models that exist: foo, demo, demo-draft;"));
    const std::string path = (folder.path / "demo.gguf").string();
    REQUIRE(store::resolve(path, folder.path).value().path == path);
}

TEST_CASE("what is wrong with a path besides absence is left to opening it") {
    const ModelsFolder folder({});
    const auto loop = folder.path / "loop.gguf";
    std::filesystem::create_symlink(loop, loop);
    REQUIRE(store::resolve(loop.string(), folder.path).value().path == loop);
}

TEST_CASE("without a folder of models the error says so") {
    const Error error = store::resolve("nosuch", {}).error();
    REQUIRE(error.kind == ErrorKind::not_found);
    REQUIRE(contains(error.message, "neither HOME nor XDG_DATA_HOME is an absolute path"));
    REQUIRE(store::resolve("demo", {}).has_value());
}

TEST_CASE("a slash or .gguf makes a path") {
    const ModelsFolder folder({"tiny.gguf"});
    const std::string path = (folder.path / "tiny.gguf").string();
    REQUIRE(store::resolve(path, "/nonexistent").value().path == path);
    for (const std::string missing : {"./none", "none.gguf", "/nonexistent/none.gguf"}) {
        const auto result = store::resolve(missing, folder.path);
        CAPTURE(missing);
        REQUIRE(!result.has_value());
        REQUIRE(result.error().kind == ErrorKind::not_found);
        REQUIRE(contains(result.error().message, missing));
        REQUIRE(!result.error().hint.empty());
    }
}

TEST_CASE("a name is found in the folder, split models by their first part") {
    const ModelsFolder folder(
        {"tiny.gguf", "big-00001-of-00002.gguf", "big-00002-of-00002.gguf", "notes.txt"});
    REQUIRE(store::resolve("tiny", folder.path).value().path == folder.path / "tiny.gguf");
    REQUIRE(store::resolve("big", folder.path).value().path == folder.path / "big-00001-of-00002.gguf");
    REQUIRE(store::model_names(folder.path) == std::vector<std::string>{"big", "tiny"});
}

TEST_CASE("an unknown name says what was tried, what exists and what was perhaps meant") {
    const ModelsFolder folder({"smollm2.gguf", "qwen3.gguf"});
    const Error error = store::resolve("smolm2", folder.path).error();
    REQUIRE(error.kind == ErrorKind::not_found);
    REQUIRE(contains(error.message, (folder.path / "smolm2.gguf").string()));
    REQUIRE(contains(error.hint, "did you mean `smollm2`?"));
    REQUIRE(contains(error.hint, "qwen3"));
    REQUIRE(contains(error.hint, "demo"));
}

TEST_CASE("a missing folder and odd names are plain errors") {
    REQUIRE(store::resolve("x", "/nonexistent/models").error().kind == ErrorKind::not_found);
    REQUIRE(store::resolve("", "/nonexistent").error().kind == ErrorKind::invalid_argument);
    REQUIRE(store::resolve(std::string_view("a\0b", 3), "/nonexistent").error().kind ==
            ErrorKind::invalid_argument);
    REQUIRE(store::resolve(std::string(5000, 'x'), "/nonexistent").error().kind == ErrorKind::not_found);
}
