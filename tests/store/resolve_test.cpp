#include "core/store/embedded.hpp"
#include "core/store/model_store.hpp"
#include "core/store/resolve.hpp"
#include "tests/support/catch.hpp"

#include <fstream>
#include <span>
#include <string>
#include <vector>

#include <unistd.h>

using namespace etna;

namespace {

/// A folder of models in the temporary directory that goes with the scope.
struct ModelsFolder {
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("etna-store-" + std::to_string(::getpid()));
    explicit ModelsFolder(const std::vector<std::string>& files) {
        std::filesystem::create_directories(path);
        for (const std::string& file : files) {
            std::filesystem::create_directories((path / file).parent_path());
            std::ofstream(path / file) << "x";
        }
    }
    ModelsFolder(const ModelsFolder&) = delete;
    ModelsFolder& operator=(const ModelsFolder&) = delete;
    ~ModelsFolder() { std::filesystem::remove_all(path); }
};

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("`demo`, `demo-draft` and `demo-embed` are embedded models, whatever the folder holds") {
    const ModelsFolder folder({"demo.gguf", "demo-draft.gguf", "demo-embed.gguf"});
    for (const char* name : {"demo", "demo-draft", "demo-embed"}) {
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
    REQUIRE(contains(error.hint, "models that exist: foo, demo, demo-draft, demo-embed"));
    const std::string path = (folder.path / "demo.gguf").string();
    REQUIRE(store::resolve(path, folder.path).value().path == path);
}

TEST_CASE("resolve() only reports a missing path; other problems surface when it is opened") {
    const ModelsFolder folder({});
    const auto loop = folder.path / "loop.gguf";
    std::filesystem::create_symlink(loop, loop);
    REQUIRE(store::resolve(loop.string(), folder.path).value().path == loop);
}

TEST_CASE("the error reports that no folder of models is known") {
    const Error error = store::resolve("nosuch", {}).error();
    REQUIRE(error.kind == ErrorKind::not_found);
    REQUIRE(contains(error.message, "neither HOME nor XDG_DATA_HOME is an absolute path"));
    REQUIRE(store::resolve("demo", {}).has_value());
}

TEST_CASE("a file whose name ends in .GGUF is a model") {
    const ModelsFolder folder(
        {"Tiny.GGUF", "Big-00001-of-00002.GGUF", "Big-00002-of-00002.GGUF", "x.gguf.txt"});
    CHECK(store::model_names(folder.path) == std::vector<std::string>{"Big", "Tiny"});
    CHECK(store::resolve("Tiny", folder.path).value().path == folder.path / "Tiny.GGUF");
    CHECK(contains(store::resolve("none.GGUF", folder.path).error().message, "no such file: none.GGUF"));
    CHECK_FALSE(store::check_stored_name("mine.GGUF"));
    CHECK(
        contains(store::resolve(folder.path.string(), folder.path).error().hint, "Big-00001-of-00002.GGUF"));
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

TEST_CASE("the error for an unknown name lists the path tried, the existing names and near misses") {
    const ModelsFolder folder({"smollm2.gguf", "qwen3.gguf"});
    const Error error = store::resolve("smolm2", folder.path).error();
    REQUIRE(error.kind == ErrorKind::not_found);
    REQUIRE(contains(error.message, (folder.path / "smolm2.gguf").string()));
    REQUIRE(contains(error.hint, "did you mean `smollm2`?"));
    REQUIRE(contains(store::resolve("gptoss", folder.path).error().hint, "did you mean `gpt-oss`?"));
    REQUIRE(contains(store::resolve("qwen3:7b", folder.path).error().hint, "`qwen3:8b`"));
    REQUIRE(contains(error.hint, "qwen3"));
    REQUIRE(contains(error.hint, "demo"));
}

TEST_CASE("a name that is nowhere says where to get a model and where to put it") {
    const ModelsFolder folder({});
    for (const std::string name : {"llama9.2", "llama9.2:1b"}) {
        const Error error = store::resolve(name, folder.path).error();
        CAPTURE(error.hint);
        CHECK(error.kind == ErrorKind::not_found);
        CHECK(contains(error.hint, "https://huggingface.co/models?library=gguf&search=llama9.2"));
        CHECK(contains(error.hint, "put it into " + folder.path.string() +
                                       ", where its name is the file's without .gguf"));
    }
    CHECK(contains(store::resolve("x", {}).error().hint, "and give its path"));
    CHECK(!contains(store::resolve("a b&c\x1b", folder.path).error().hint, "b&c\x1b"));
}

TEST_CASE("a remote model that is not stored names the command that fetches it") {
    const ModelsFolder folder({});
    for (const std::string name :
         {"hf.co/user/repo-GGUF:Q8_0", "huggingface.co/user/repo", "https://huggingface.co/user/repo",
          "hf:user/repo@v1", "user/repo:Q8_0", "https://example.org/a.gguf", "qwen3:0.6b"}) {
        const Error error = store::resolve(name, folder.path).error();
        CAPTURE(name, error.message, error.hint);
        CHECK(error.kind == ErrorKind::not_found);
        CHECK(contains(error.message, "`" + name + "` is not stored on this machine"));
        CHECK(error.hint == "fetch it with `etna pull " + name + "`");
    }
    for (const char* reference : {"ollama.com/library/x", "docker://ai/x"})
        CHECK(contains(store::resolve(reference, folder.path).error().message, "does not fetch from"));
    CHECK(store::resolve("hf.co/../x", folder.path).error().kind == ErrorKind::invalid_argument);
    CHECK(contains(store::resolve("models/none.gguf", folder.path).error().message, "no such file"));
}

TEST_CASE("a fetched model resolves to its blobs") {
    const ModelsFolder folder({});
    const store::ModelStore models(folder.path);
    const auto add = [&](const std::string& text) {
        return models.add_blob(std::as_bytes(std::span(text))).value();
    };
    const std::string one = add("1");
    const std::string two = add("2");
    REQUIRE(models.put({.name = "hf.co/u/r:Q4_0",
                        .source = "hf.co/u/r:Q4_0",
                        .files = {{.sha256 = one, .bytes = 1, .file_name = "m-Q4_0-00001-of-00002.gguf"},
                                  {.sha256 = two, .bytes = 1, .file_name = "m-Q4_0-00002-of-00002.gguf"}}},
                       store::Existing::refuse));
    const auto source = store::resolve("u/r", folder.path);
    REQUIRE(source.has_value());
    CHECK(source->name == "u/r");
    CHECK(source->path == models.blob_path(one));
    CHECK(source->parts == std::vector{models.blob_path(one), models.blob_path(two)});
    CHECK(contains(store::resolve("u/r:Q2_K", folder.path).error().hint, "`etna pull u/r:Q2_K`"));
    std::filesystem::remove(models.blob_path(two));
    CHECK(contains(store::resolve("u/r", folder.path).error().message, "which is not there"));
}

TEST_CASE("weights in another format and folders are refused as such") {
    const ModelsFolder folder({"hf/model.safetensors", "hf/config.json", "some/one.gguf", "none/notes.txt"});
    const auto refused = [&](const std::string& path) {
        const auto source = store::resolve((folder.path / path).string(), folder.path);
        REQUIRE(!source.has_value());
        CHECK(source.error().kind == ErrorKind::invalid_argument);
        return source.error();
    };
    CHECK(contains(refused("hf").message, "hf is a folder of safetensors"));
    CHECK(contains(refused("hf").hint, "convert_hf_to_gguf.py " + (folder.path / "hf").string()));
    CHECK(contains(refused("hf/model.safetensors").message, "model.safetensors holds safetensors, not GGUF"));
    CHECK(contains(refused("some").hint, "some/one.gguf"));
    CHECK(contains(refused("none").message, "none is a folder"));
}

TEST_CASE("a missing folder and odd names are plain errors") {
    REQUIRE(store::resolve("x", "/nonexistent/models").error().kind == ErrorKind::not_found);
    REQUIRE(store::resolve("", "/nonexistent").error().kind == ErrorKind::invalid_argument);
    REQUIRE(store::resolve(std::string_view("a\0b", 3), "/nonexistent").error().kind ==
            ErrorKind::invalid_argument);
    REQUIRE(store::resolve(std::string(5000, 'x'), "/nonexistent").error().kind == ErrorKind::not_found);
}

TEST_CASE("resolve_name() finds stored and embedded models, and reads no name as a path") {
    const ModelsFolder folder({"m.gguf", "sub/n.gguf"});
    CHECK(store::resolve_name("m", folder.path).value().path == folder.path / "m.gguf");
    CHECK(store::resolve_name("demo", folder.path).value().path.empty());
    const std::string path = (folder.path / "m.gguf").string();
    CHECK(store::resolve(path, folder.path).has_value());
    for (const std::string& name : {path, std::string("./m"), std::string("m.gguf"), std::string("sub/n"),
                                    std::string("../") + folder.path.filename().string() + "/m.gguf"}) {
        CAPTURE(name);
        CHECK(store::resolve_name(name, folder.path).error().kind == ErrorKind::not_found);
    }
    CHECK(store::resolve_name("", folder.path).error().kind == ErrorKind::invalid_argument);
    CHECK(store::resolve_name(std::string("a\0b", 3), folder.path).error().kind ==
          ErrorKind::invalid_argument);
}
