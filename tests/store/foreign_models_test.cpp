#include "core/store/foreign_models.hpp"
#include "core/store/model_store.hpp"
#include "core/store/resolve.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

using namespace etna;

namespace {

/// Empty folders of all programs in the temporary directory that go with the scope.
struct Folders {
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("etna-foreign-" + std::to_string(::getpid()));
    store::ForeignFolders folders = {.hugging_face = {path / "nowhere", path / "hf"},
                                     .llama_cpp = {path / "llama"},
                                     .ollama = {path / "ollama"}};
    Folders() { std::filesystem::create_directories(path / "models"); }
    Folders(const Folders&) = delete;
    Folders& operator=(const Folders&) = delete;
    ~Folders() { std::filesystem::remove_all(path); }

    std::filesystem::path add(const std::string& file, const std::string& content = "GGUF") const {
        std::filesystem::create_directories((path / file).parent_path());
        std::ofstream(path / file) << content;
        return path / file;
    }
    [[nodiscard]] std::vector<std::string> names() const {
        std::vector<std::string> names;
        for (const store::FoundModel& model : store::foreign_models(folders))
            names.push_back(model.name);
        return names;
    }
    [[nodiscard]] Result<store::ModelSource> resolve(const std::string& name) const {
        return store::resolve(name, path / "models", folders);
    }
};

const std::string main_commit(40, 'c');
const std::string weights_sum(64, 'a');
const std::string missing_sum(64, 'b');

std::string ollama_manifest(const std::vector<std::string>& layers) {
    std::string text = R"({"schemaVersion":2,"layers":[{"mediaType":"application/vnd.ollama.image.template",)"
                       R"("digest":"sha256:x","size":1})";
    for (const std::string& sum : layers)
        text += R"(,{"mediaType":"application/vnd.ollama.image.model","digest":"sha256:)" + sum + R"("})";
    return text + "]}";
}

} // namespace

TEST_CASE("models of the hub's cache have the names that the hub gives them") {
    const Folders at;
    const std::string snapshot = "hf/models--user--repo-GGUF/snapshots/" + main_commit + "/";
    at.add(snapshot + "repo-Q8_0.gguf", "12345678");
    at.add(snapshot + "repo-Q4_K_M-00001-of-00002.gguf");
    const auto second = at.add(snapshot + "repo-Q4_K_M-00002-of-00002.gguf");
    at.add(snapshot + "mmproj-F16.gguf");
    at.add("hf/models--user--repo-GGUF/refs/main", main_commit);
    CHECK(at.names() == std::vector<std::string>{"hf.co/user/repo-GGUF:Q4_K_M", "hf.co/user/repo-GGUF:Q8_0"});
    CHECK(at.resolve("hf.co/user/repo-GGUF:Q8_0")->path == at.path / (snapshot + "repo-Q8_0.gguf"));
    const auto split = at.resolve("hf.co/user/repo-GGUF");
    REQUIRE(split.has_value());
    REQUIRE(split->parts.size() == 2);
    CHECK(split->parts[1] == second);
    CHECK(at.resolve("hf.co/user/repo-GGUF:Q2_K").error().kind == ErrorKind::not_found);
    CHECK(at.resolve("hf.co/user/other").error().kind == ErrorKind::not_found);
}

TEST_CASE("an older snapshot needs its revision") {
    const Folders at;
    const std::string older(40, 'd');
    at.add("hf/models--u--r/snapshots/" + main_commit + "/r-Q8_0.gguf");
    at.add("hf/models--u--r/snapshots/" + older + "/r-Q8_0.gguf");
    at.add("hf/models--u--r/refs/main", main_commit);
    CHECK(at.names() == std::vector<std::string>{"hf.co/u/r:Q8_0", "hf.co/u/r:Q8_0@" + older});
    CHECK(at.resolve("hf.co/u/r:Q8_0")->path.string().find(main_commit) != std::string::npos);
    CHECK(at.resolve("hf.co/u/r:Q8_0@" + older)->path.string().find(older) != std::string::npos);
}

TEST_CASE("llama.cpp's files are found by their own names and by the hub's") {
    const Folders at;
    const auto file = at.add("llama/user_repo-GGUF_repo-Q8_0.gguf");
    at.add("llama/user_repo-GGUF_repo-Q8_0.gguf.json", "{}");
    at.add("llama/incomplete-00001-of-00002.gguf");
    CHECK(at.names() == std::vector<std::string>{"user_repo-GGUF_repo-Q8_0"});
    CHECK(at.resolve("user_repo-GGUF_repo-Q8_0")->path == file);
    CHECK(at.resolve("hf.co/user/repo-GGUF:Q8_0")->path == file);
    CHECK(at.resolve("hf.co/user/repo-GGUF")->path == file);
    CHECK(at.resolve("hf.co/user/other-GGUF").error().kind == ErrorKind::not_found);
}

TEST_CASE("Ollama's models are its blobs") {
    const Folders at;
    const auto blob = at.add("ollama/blobs/sha256-" + weights_sum, "12345");
    at.add("ollama/manifests/registry.ollama.ai/library/llama3.2/3b", ollama_manifest({weights_sum}));
    at.add("ollama/manifests/registry.ollama.ai/library/mine/latest", ollama_manifest({weights_sum}));
    at.add("ollama/manifests/registry.ollama.ai/someone/tuned/v1", ollama_manifest({weights_sum}));
    at.add("ollama/manifests/registry.ollama.ai/library/gone/latest", ollama_manifest({missing_sum}));
    CHECK(at.names() == std::vector<std::string>{"llama3.2:3b", "mine:latest", "someone/tuned:v1"});
    CHECK(store::foreign_models(at.folders)[0].bytes == 5);
    for (const std::string name : {"llama3.2:3b", "mine", "mine:latest", "someone/tuned:v1"}) {
        CAPTURE(name);
        const auto source = at.resolve(name);
        REQUIRE(source.has_value());
        CHECK(source->path == blob);
    }
}

TEST_CASE("hostile manifests and names of other programs are skipped") {
    const Folders at;
    at.add("ollama/blobs/sha256-" + weights_sum);
    const std::string folder = "ollama/manifests/registry.ollama.ai/library/m/";
    at.add(folder + "1", ollama_manifest({"../../../etc/passwd"}));
    at.add(folder + "2", "<html>");
    at.add(folder + "3", R"({"layers":7})");
    at.add(folder + "4", R"([])");
    at.add(folder + "5",
           R"({"layers":[7,{"mediaType":7},{"mediaType":"application/vnd.ollama.image.model"}]})");
    at.add(folder + "6", std::string(10'000, '['));
    at.add(folder + "7", std::string((1 << 20) + 1, ' '));
    at.add("ollama/manifests/x", ollama_manifest({weights_sum}));
    at.add("hf/models--/snapshots/a/x.gguf");
    at.add("hf/models--u/snapshots/a/x.gguf");
    at.add("hf/models--con--r/snapshots/a/x.gguf");
    std::filesystem::create_directory_symlink(at.path, at.path / "hf" / "loop");
    CHECK(at.names().empty());
}

TEST_CASE("a stored name is its manifest's files and options") {
    const Folders at;
    const auto one = at.add("elsewhere/one.bin");
    const auto two = at.add("elsewhere/two.bin");
    const store::ModelStore models(at.path / "models");
    const std::string text = "{{ x }}";
    const std::string sum = models.add_blob(std::as_bytes(std::span(text))).value();
    const store::Manifest manifest = {
        .name = "mine",
        .source = "one",
        .files = {{.path = one, .bytes = 4},
                  {.path = two, .bytes = 4},
                  {.role = store::FileRole::chat_template, .sha256 = sum, .bytes = text.size()}},
        .options = {{"temp", {"0"}}},
        .created = ""};
    REQUIRE(models.put(manifest, store::Existing::refuse));
    at.add("models/mine.gguf"); // the manifest takes precedence
    const auto source = at.resolve("mine");
    REQUIRE(source.has_value());
    CHECK(source->path == one);
    CHECK(source->parts == std::vector{one, two});
    CHECK(source->options == std::vector<store::PresetOption>{
                                 {"temp", {"0"}}, {"chat-template", {models.blob_path(sum).string()}}});
    std::filesystem::remove(two);
    CHECK(at.resolve("mine").error().message.find("two.bin, which is not there") != std::string::npos);
    CHECK(at.resolve("nothing").error().hint.find("mine") != std::string::npos);
    REQUIRE(models.put({.name = "small", .source = "demo", .files = {{.embedded = "demo"}}},
                       store::Existing::refuse));
    CHECK(!at.resolve("small")->bytes.empty());
}
