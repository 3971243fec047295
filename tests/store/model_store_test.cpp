#include "core/store/model_store.hpp"
#include "core/store/sha256.hpp"
#include "tests/support/catch.hpp"

#include <chrono>
#include <fstream>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

using namespace etna;

namespace {

/// An empty store in the temporary directory that goes with the scope.
struct Store {
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("etna-models-" + std::to_string(::getpid()));
    store::ModelStore models{path};
    Store() { std::filesystem::create_directories(path); }
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;
    ~Store() { std::filesystem::remove_all(path); }

    [[nodiscard]] std::string add(std::string_view content) const {
        return models.add_blob(std::as_bytes(std::span(content))).value();
    }
    void write_manifest(const std::string& name, const std::string& text) const {
        std::filesystem::create_directories(path / "manifests");
        std::ofstream(path / "manifests" / (name + ".json")) << text;
    }
    [[nodiscard]] bool has_blob(const std::string& sha256) const {
        return std::filesystem::exists(models.blob_path(sha256));
    }
};

store::Manifest manifest_of(const std::string& name, const std::string& sha256, uint64_t bytes) {
    return {.name = name,
            .source = "hf.co/user/repo:Q8_0",
            .files = {{.sha256 = sha256, .bytes = bytes, .file_name = "m.gguf"}},
            .options = {{"temp", {"0.5"}}, {"stop", {"a", "b\n"}}},
            .created = "2026-01-02T03:04:05Z"};
}

std::string with(std::string text, const std::string& from, const std::string& to) {
    const std::size_t position = text.find(from);
    REQUIRE(position != std::string::npos);
    return text.replace(position, from.size(), to);
}

bool has_text(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("a manifest is found and listed as it was put") {
    const Store store;
    const auto manifest = manifest_of("tiny:1b", store.add("weights"), 7);
    REQUIRE(store.models.put(manifest, store::Existing::refuse));
    CHECK(store.models.find("tiny:1b").value() == manifest);
    const auto listed = store.models.list();
    CHECK(listed.manifests == std::vector{manifest});
    CHECK(listed.damaged.empty());
    CHECK(store.models.path_of(manifest.files[0]) ==
          store.path / "blobs" / ("sha256-" + manifest.files[0].sha256));
    CHECK(store.models.find("none").error().kind == ErrorKind::not_found);
}

TEST_CASE("an existing name is refused, or replaced if that is asked") {
    const Store store;
    auto manifest = manifest_of("tiny", store.add("weights"), 7);
    REQUIRE(store.models.put(manifest, store::Existing::refuse));
    manifest.options.clear();
    const auto refused = store.models.put(manifest, store::Existing::refuse);
    REQUIRE(!refused);
    CHECK(has_text(refused.error().hint, "etna rm tiny"));
    CHECK(store.models.find("tiny")->options.size() == 2);
    REQUIRE(store.models.put(manifest, store::Existing::replace));
    CHECK(store.models.find("tiny")->options.empty());
}

TEST_CASE("a manifest without its blob is not written") {
    const Store store;
    const auto put = store.models.put(manifest_of("tiny", std::string(64, 'a'), 7), store::Existing::refuse);
    REQUIRE(!put);
    CHECK(put.error().kind == ErrorKind::not_found);
    CHECK(store.models.list().manifests.empty());
}

TEST_CASE("a blob goes with the last manifest that uses it") {
    const Store store;
    const std::string shared = store.add("shared");
    REQUIRE(store.models.put(manifest_of("a", shared, 6), store::Existing::refuse));
    REQUIRE(store.models.put(manifest_of("b", shared, 6), store::Existing::refuse));
    CHECK(store.models.remove("a")->shared_bytes == 6);
    CHECK(store.has_blob(shared));
    CHECK(store.models.remove("b")->freed_bytes == 6);
    CHECK(!store.has_blob(shared));
    CHECK(store.models.remove("a").error().kind == ErrorKind::not_found);
}

TEST_CASE("the blobs of a replaced manifest go with it, unless another uses them") {
    const Store store;
    const std::string before = store.add("before");
    const std::string shared = store.add("shared");
    const std::string after = store.add("after");
    auto manifest = manifest_of("a", before, 6);
    manifest.files.push_back({.sha256 = shared, .bytes = 6, .file_name = "n.gguf"});
    REQUIRE(store.models.put(manifest, store::Existing::refuse));
    REQUIRE(store.models.put(manifest_of("b", shared, 6), store::Existing::refuse));
    REQUIRE(store.models.put(manifest_of("a", after, 5), store::Existing::replace));
    CHECK(!store.has_blob(before));
    CHECK(store.has_blob(shared));
    CHECK(store.has_blob(after));
}

TEST_CASE("a fetched model is found by every form of its name") {
    const Store store;
    const std::string sum = store.add("weights");
    const auto put = [&](const std::string& name, const std::string& file) {
        auto manifest = manifest_of(name, sum, 7);
        manifest.files[0].file_name = file;
        REQUIRE(store.models.put(manifest, store::Existing::refuse));
    };
    put("hf.co/u/r:Q8_0", "sub/m-Q8_0.gguf");
    put("hf.co/u/r:Q4_0", "m-Q4_0.gguf");
    put("hf.co/u/r:Q6_K@refs/pr/1", "m-Q6_K.gguf");
    put("hf.co/u/r:plain.gguf", "plain.gguf");
    put("hf.co/Qwen/Qwen3-0.6B-GGUF:Q8_0", "Qwen3-0.6B-Q8_0.gguf");
    put("https://host:8080/a/m.gguf", "m.gguf");
    const auto found = [&](const std::string& name) {
        const auto manifest = store.models.find(name);
        CAPTURE(name);
        REQUIRE(manifest.has_value());
        return manifest->name;
    };
    CHECK(found("hf.co/u/r:Q8_0") == "hf.co/u/r:Q8_0");
    CHECK(found("u/r:q8_0") == "hf.co/u/r:Q8_0");
    CHECK(found("hf:u/r") == "hf.co/u/r:Q4_0"); // the nearest to Q4_K_M
    CHECK(found("u/r@refs/pr/1") == "hf.co/u/r:Q6_K@refs/pr/1");
    CHECK(found("u/r:plain.gguf") == "hf.co/u/r:plain.gguf");
    CHECK(found("qwen3:0.6b") == "hf.co/Qwen/Qwen3-0.6B-GGUF:Q8_0");
    CHECK(found("https://host:8080/a/m.gguf?signature=secret") == "https://host:8080/a/m.gguf");
    for (const std::string name :
         {"hf.co/u/r:Q2_K", "hf.co/u/r@v2", "hf.co/u/other", "hf.co/../x", "m.gguf"}) {
        CAPTURE(name);
        CHECK(store.models.find(name).error().kind == ErrorKind::not_found);
    }
    CHECK(store.models.list().manifests.size() == 6);
    CHECK(store.models.remove("u/r:q8_0")->shared_bytes == 7);
    CHECK(store.models.find("hf.co/u/r:Q8_0").error().kind == ErrorKind::not_found);
}

TEST_CASE("a manifest records its date and the last use") {
    const Store store;
    auto manifest = manifest_of("tiny", store.add("weights"), 7);
    manifest.created.clear();
    REQUIRE(store.models.put(manifest, store::Existing::refuse));
    CHECK(store.models.find("tiny")->created.size() == std::string_view("2026-01-02T03:04:05Z").size());
    const auto path = store.path / "manifests" / "tiny.json";
    std::filesystem::last_write_time(path,
                                     std::filesystem::file_time_type::clock::now() - std::chrono::hours(48));
    const int64_t before = store.models.last_use_unix_s(manifest).value();
    store.models.note_use(manifest);
    CHECK(store.models.last_use_unix_s(manifest).value() - before >= 47 * 3600);
    CHECK(!store.models.last_use_unix_s({.name = "none", .source = "", .files = {}}));
}

TEST_CASE("a damaged manifest can be removed, and keeps blobs until then") {
    const Store store;
    const std::string sum = store.add("weights");
    REQUIRE(store.models.put(manifest_of("good", sum, 7), store::Existing::refuse));
    store.write_manifest("bad", "{\"version\": 1");
    const auto listed = store.models.list();
    CHECK(listed.manifests.size() == 1);
    REQUIRE(listed.damaged.size() == 1);
    CHECK(has_text(listed.damaged[0].message, "bad.json: the manifest is not a JSON object"));
    CHECK(store.models.remove("good")->shared_bytes == 7);
    CHECK(store.has_blob(sum));
    CHECK(store.models.remove("bad").has_value());
    CHECK(store.models.list().damaged.empty());
}

TEST_CASE("a manifest that is truncated anywhere, or longer than its bound, is refused") {
    const std::string text = store::manifest_text(manifest_of("tiny", std::string(64, 'a'), 7));
    REQUIRE(store::parse_manifest(text, "x").has_value());
    for (std::size_t size = 0; size + 2 < text.size(); ++size) // without the final brace and newline
        CHECK(store::parse_manifest(text.substr(0, size), "x").error().kind == ErrorKind::corrupt);
    const auto long_text = store::parse_manifest(text + std::string(store::manifest_bytes_max, ' '), "x");
    CHECK(has_text(long_text.error().message, "more than 1048576"));
    const Store store;
    store.write_manifest("tiny", text + std::string(store::manifest_bytes_max, ' '));
    CHECK(store.models.find("tiny").error().kind == ErrorKind::corrupt);
}

TEST_CASE("a member of a manifest that is out of its bounds is named") {
    const std::string text = store::manifest_text(manifest_of("tiny", std::string(64, 'a'), 7));
    const auto problem = [&](const std::string& from, const std::string& to) {
        const auto manifest = store::parse_manifest(with(text, from, to), "x");
        REQUIRE(!manifest.has_value());
        return manifest.error().message;
    };
    const std::string sum(64, 'a');
    CHECK(has_text(problem("\"tiny\"", "\"../tiny\""), "`name` is not the name of a stored model"));
    CHECK(has_text(problem("\"tiny\"", "\"hf.co/u/../r:Q8_0\""), "`name` is not the name of a stored model"));
    CHECK(has_text(problem("\"tiny\"", "\"u/r:Q8_0\""), "`name` is not the name of a stored model"));
    CHECK(has_text(problem("\"tiny\"", "7"), "`name` is not text"));
    CHECK(has_text(problem("\"bytes\": 7", "\"bytes\": -7"), "`bytes` is not a whole number"));
    CHECK(has_text(problem("\"bytes\": 7", "\"bytes\": 18446744073709551615"), "`bytes` is more than"));
    CHECK(has_text(problem(sum, "../../etc/passwd"), "`sha256` is not 64 hexadecimal digits"));
    CHECK(has_text(problem("\"sha256\": \"" + sum + "\"", "\"path\": \"a/b\""),
                   "`path` is not an absolute path"));
    CHECK(has_text(problem("\"sha256\": \"" + sum + "\",", ""), "exactly one of sha256, path and embedded"));
    CHECK(has_text(problem("\"sha256\": \"" + sum + "\"", "\"embedded\": \"x\""),
                   "`embedded` is not the name"));
    CHECK(has_text(problem("\"m.gguf\"", "\"../m.gguf\""), "`file_name` is not a path below"));
    CHECK(has_text(problem("\"role\": \"model\"", "\"role\": \"x\""), "`role` is neither"));
    CHECK(has_text(problem("\"role\": \"model\"", "\"role\": \"template\""), "`files` has no model"));
    CHECK(has_text(problem("\"temp\"", "\"--temp=\""), "`options` has a member"));
    CHECK(has_text(problem("\"0.5\"", "0.5"), "`temp` is not text"));
    CHECK(has_text(problem("\"version\": 1", "\"version\": 2"), "of version 2"));
    CHECK(has_text(problem("\"b\\n\"", "\"b\\u0000\""), "`stop` is not text"));
}

TEST_CASE("names that leave the folder, or are not valid on every system, are refused") {
    for (const std::string name :
         {"", "../x", "a/b", "/x", ".x", "x.", "-x", "a..b", "a:b:c", "con", "NUL.txt", "com1:8b", "a\\b",
          "a b", "a\nb", "demo", "x.gguf", "\xc3\xa9"}) {
        CAPTURE(name);
        CHECK(store::check_stored_name(name).error().kind == ErrorKind::invalid_argument);
    }
    CHECK(!store::check_stored_name(std::string_view("a\0b", 3)));
    CHECK(!store::check_stored_name(std::string(97, 'x')));
    for (const std::string name : {"x", "qwen3:0.6b", "My_Model-2.1"})
        CHECK(store::check_stored_name(name).has_value());
}

TEST_CASE("a manifest under another name is refused") {
    const Store store;
    store.write_manifest("other", store::manifest_text(manifest_of("tiny", std::string(64, 'a'), 7)));
    CHECK(has_text(store.models.find("other").error().message, "the manifest is of `tiny`"));
}

TEST_CASE("a folder that cannot be written is an error that says what to do") {
    const Store store;
    std::ofstream(store.path / "file") << "x";
    const store::ModelStore models(store.path / "file" / "models");
    const auto put = models.put(manifest_of("tiny", std::string(64, 'a'), 7), store::Existing::refuse);
    REQUIRE(!put);
    CHECK(put.error().kind == ErrorKind::io);
    CHECK(has_text(put.error().hint, "ETNA_MODELS"));
    CHECK(models.list().manifests.empty());
}

TEST_CASE("writers in two processes and a reader see complete manifests only") {
    const Store store;
    const auto first = manifest_of("tiny", store.add("weights"), 7);
    auto second = first;
    second.options = {{"system", {std::string(100'000, 's')}}};
    REQUIRE(store.models.put(first, store::Existing::refuse));
    constexpr int rounds = 200;
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        bool is_good = true;
        for (int i = 0; i < rounds; ++i)
            is_good = store.models.put(second, store::Existing::replace).has_value() && is_good;
        std::_Exit(is_good ? 0 : 1);
    }
    for (int i = 0; i < rounds; ++i) {
        REQUIRE(store.models.put(first, store::Existing::replace));
        const auto found = store.models.find("tiny");
        REQUIRE(found.has_value());
        REQUIRE((*found == first || *found == second));
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a name that is too long for a file is refused before anything is written") {
    const Store store;
    const std::string sum = store.add("weights");
    for (const bool is_long : {false, true}) {
        const std::string path = std::string(is_long ? 250 : 150, 'x') + ".gguf";
        const auto manifest = manifest_of("hf.co/user/repo:" + path, sum, 7);
        CHECK(store.models.check(manifest).has_value() != is_long);
        CHECK(store.models.put(manifest, store::Existing::refuse).has_value() != is_long);
    }
    const auto slashes =
        manifest_of("hf.co/user/repo:" + with(std::string(160, '/'), "//", "a/") + "x.gguf", sum, 7);
    CHECK(!store.models.check(slashes)); // each slash is three characters
    const auto refused =
        store.models.check(manifest_of("hf.co/u/r:" + std::string(300, 'x') + ".gguf", sum, 7));
    REQUIRE(!refused);
    CHECK(refused.error().kind == ErrorKind::invalid_argument);
    CHECK(has_text(refused.error().message, "as a file's name this has"));
}
