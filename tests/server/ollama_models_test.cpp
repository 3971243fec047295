// Ollama's lists and descriptions of models, embeddings, and changes to the folder of models.
#include "core/base/json.hpp"
#include "core/store/model_store.hpp"
#include "tests/server/ollama_client.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/folders.hpp"
#include "tests/support/gguf_writer.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

using namespace etna;
using namespace etna::test;

namespace {

using PullReport = server::StoreAccess::PullReport;

/// A service whose clients may change the models in a folder. `pull` replaces downloads.
FakeService::Options granting(const std::filesystem::path& folder,
                              decltype(server::StoreAccess::pull) pull = {}) {
    FakeService::Options options = {.chat_template = marked_template, .says = "Ok."};
    options.service.store = {.folder = folder, .pull = std::move(pull)};
    options.reads_facts = true;
    return options;
}

/// Stores a name for the embedded model.
void store_demo(const std::filesystem::path& folder, const std::string& name) {
    const store::Manifest manifest = {
        .name = name, .source = "demo", .files = {{.embedded = "demo", .bytes = 1}}};
    REQUIRE(store::ModelStore(folder).put(manifest, store::Existing::refuse));
}

std::vector<std::string> names_in(FakeService& service) {
    std::vector<std::string> names;
    const Json listed = json_of(service.get("/api/tags"));
    for (const Json& model : listed["models"])
        names.push_back(model["name"]);
    std::ranges::sort(names);
    return names;
}

FakeAnswer delete_with(FakeService& service, const std::string& body) {
    return service.ask(
        {.method = "DELETE", .path = "/api/delete", .headers = {{"host", "127.0.0.1"}}, .body = body});
}

/// The plan of a model with one file.
store::PullPlan plan_of(const std::string& name) {
    store::PullPlan plan;
    plan.name = name;
    store::PullFile& file = plan.files.emplace_back();
    file.path = "m.gguf";
    file.download.sha256 = std::string(64, 'a');
    return plan;
}

} // namespace

TEST_CASE("Ollama's list of models has names with tags, sizes and details") {
    FakeService service({.names = {"stories", "tales:7b"}, .reads_facts = true});
    const Json models = json_of(service.get("/api/tags"))["models"];
    REQUIRE(models.size() == 2);
    const Json& model = models[0];
    CHECK((model["name"] == "stories:latest" && model["model"] == "stories:latest"));
    CHECK(models[1]["name"] == "tales:7b");
    const auto bytes = std::filesystem::file_size(ETNA_TEST_DATA "/models/stories260K.gguf");
    CHECK(model["size"] == bytes);
    CHECK(model["digest"].get<std::string>().size() == 64);
    CHECK(model["modified_at"].get<std::string>().ends_with("Z"));
    const Json& details = model["details"];
    CHECK((details["format"] == "gguf" && details["family"] == "llama"));
    CHECK(details["families"] == Json::array({"llama"}));
    CHECK(details["parameter_size"].get<std::string>().ends_with("K"));
    CHECK(details["quantization_level"] == "F32");
}

TEST_CASE("Ollama's list of models in memory has only the loaded ones") {
    FakeService service({.reads_facts = true});
    CHECK(json_of(service.get("/api/ps"))["models"].empty());
    post_json(service, ollama_chat_path, R"({"model": "stories"})");
    const Json models = json_of(service.get("/api/ps"))["models"];
    REQUIRE(models.size() == 1);
    CHECK(models[0]["name"] == "stories:latest");
    CHECK(models[0]["details"]["family"] == "llama"); // known before and after the load
    CHECK(models[0]["context_length"].get<int>() > 0);
    CHECK(models[0]["expires_at"].get<std::string>() > "2100");
    CHECK(models[0].contains("size_vram"));
}

TEST_CASE("a model is described with its metadata, template and capabilities") {
    FakeService service({.names = {"stories"}, .reads_facts = true});
    const Json shown = post_json(service, "/api/show", R"({"model": "stories"})");
    CHECK(shown["model_info"]["general.architecture"] == "llama");
    CHECK(shown["model_info"]["llama.context_length"].get<int>() > 0);
    CHECK(shown["model_info"]["general.parameter_count"].get<uint64_t>() > 200'000);
    CHECK(shown["model_info"]["tokenizer.ggml.tokens"] == Json::array());
    CHECK(shown["capabilities"] == Json::array({"completion"}));
    CHECK((shown["template"] == "" && shown["modelfile"] == "FROM stories\n"));
    CHECK(shown["parameters"] == "num_ctx                        2048");
    CHECK_FALSE(shown.contains("system"));
    CHECK(shown["details"]["format"] == "gguf");
    CHECK_FALSE(shown.contains("tensors"));
    const Json verbose = post_json(service, "/api/show", R"({"name": "stories:latest", "verbose": true})");
    CHECK(verbose["model_info"]["tokenizer.ggml.tokens"].size() > 100);
    REQUIRE(verbose["tensors"].size() > 10);
    CHECK((verbose["tensors"][0]["name"].is_string() && verbose["tensors"][0]["shape"].is_array()));
    CHECK(ollama_error(service.post("/api/show", R"({"model": "gone"})"), 404)
              .starts_with("model 'gone' not found"));
    CHECK(ollama_error(service.post("/api/show", "{}")).starts_with("`model`"));

    const TemporaryFolder folder;
    FakeService with_store(granting(folder.path()));
    store::Manifest manifest = {.name = "calm",
                                .source = "demo",
                                .files = {{.embedded = "demo", .bytes = 1}},
                                .options = {{"temp", {"0"}}, {"system", {"Be calm."}}}};
    REQUIRE(store::ModelStore(folder.path()).put(manifest, store::Existing::refuse));
    const Json calm = post_json(with_store, "/api/show", R"({"model": "calm"})");
    CHECK(calm["system"] == "Be calm.");
    CHECK(calm["parameters"].get<std::string>().starts_with("temperature                    0\nnum_ctx "));
    const std::string modelfile = calm["modelfile"];
    CHECK(modelfile.starts_with("FROM calm\nTEMPLATE \"\"\""));
    CHECK(modelfile.ends_with("SYSTEM \"\"\"Be calm.\"\"\"\nPARAMETER temperature 0\n"));
    CHECK(calm["template"].get<std::string>().find("{%") != std::string::npos);
    const Json& capabilities = calm["capabilities"];
    CHECK(std::ranges::find(capabilities, "tools") != capabilities.end());
    CHECK(std::ranges::find(capabilities, "thinking") != capabilities.end());
}

TEST_CASE("Ollama's clients get a server version that they accept and an answer at its root") {
    FakeService service({});
    CHECK(json_of(service.get("/api/version"))["version"].get<std::string>().starts_with("0."));
    CHECK(service.ask({.method = "HEAD", .path = "/", .headers = {{"host", "127.0.0.1"}}}).status == 200);
    CHECK(service.get("/").status == 200);
}

TEST_CASE("Ollama's API returns the same embeddings as OpenAI's with times and a count") {
    FakeService service({});
    const auto expected = [&](const std::string& input) {
        return post_json(service, "/v1/embeddings",
                         R"({"model": "stories", "input": )" + input + "}")["data"];
    };
    const Json one = post_json(service, "/api/embed", R"({"model": "stories", "input": "Once upon a time"})");
    CHECK(one["model"] == "stories");
    REQUIRE(one["embeddings"].size() == 1);
    CHECK(one["embeddings"][0] == expected("\"Once upon a time\"")[0]["embedding"]);
    CHECK(one["prompt_eval_count"] ==
          post_json(service, "/tokenize", R"({"prompt": "Once upon a time"})")["count"]);
    CHECK(one["total_duration"].get<int64_t>() >= one["load_duration"].get<int64_t>());
    CHECK(one["load_duration"].get<int64_t>() > 0);
    const Json two =
        post_json(service, "/api/embed", R"({"model": "stories", "input": ["The end", "Once"]})");
    REQUIRE(two["embeddings"].size() == 2);
    CHECK(two["embeddings"][1] == expected("\"Once\"")[0]["embedding"]);
    const auto width = two["embeddings"][0].size();
    const Json three =
        post_json(service, "/api/embed", R"({"model": "stories", "input": "Once", "dimensions": 3})");
    CHECK(three["embeddings"][0].size() == 3);
    const Json all =
        post_json(service, "/api/embed", R"({"model": "stories", "input": "Once", "dimensions": 100000})");
    CHECK(all["embeddings"][0].size() == width);
    CHECK(post_json(service, "/api/embed", R"({"model": "stories"})")["embeddings"] == Json::array());
}

TEST_CASE("a text that is too long is truncated for embedding unless truncate is false") {
    FakeService service({});
    std::string words;
    for (int i = 0; i < 2000; ++i)
        words += "word ";
    const std::string body = R"({"model": "stories", "input": ["a", ")" + words + "\"]";
    const Json answer = post_json(service, "/api/embed", body + "}");
    REQUIRE(answer["embeddings"].size() == 2);
    CHECK(answer["prompt_eval_count"].get<int>() <= 512 + 2);
    const std::string error = ollama_error(service.post("/api/embed", body + R"(, "truncate": false})"));
    CHECK(error.find("tokens") != std::string::npos);
    CHECK(error.starts_with("`input[1]`: "));
}

TEST_CASE("the legacy endpoint returns one unnormalised embedding") {
    FakeService service({});
    const Json scaled =
        post_json(service, "/api/embed", R"({"model": "stories", "input": "Once"})")["embeddings"][0];
    const Json raw =
        post_json(service, "/api/embeddings", R"({"model": "stories", "prompt": "Once"})")["embedding"];
    REQUIRE(raw.size() == scaled.size());
    double sum = 0;
    for (const Json& element : raw)
        sum += element.get<double>() * element.get<double>();
    const double length = std::sqrt(sum);
    CHECK(std::abs(length - 1) > 1e-3);
    for (std::size_t i = 0; i < raw.size(); ++i)
        CHECK(std::abs(raw[i].get<double>() / length - scaled[i].get<double>()) < 1e-5);
    CHECK(post_json(service, "/api/embeddings", R"({"model": "stories", "prompt": ""})")["embedding"] ==
          Json::array());
}

TEST_CASE("errors of Ollama's embeddings name the member, and keep_alive unloads the model") {
    FakeService service({});
    const auto error = [&](const std::string& more, int status = 400) {
        return ollama_error(service.post("/api/embed", R"({"model": "stories")" + more + "}"), status);
    };
    CHECK(error(R"(, "input": 5)").starts_with("`input`"));
    CHECK(error(R"(, "input": ["a", 5])").starts_with("`input[1]`"));
    CHECK(error(R"(, "input": "a", "dimensions": -1)").starts_with("`dimensions`"));
    CHECK(error(R"(, "input": "a", "truncate": 1)").starts_with("`truncate`"));
    CHECK(ollama_error(service.post("/api/embeddings", R"({"model": "stories", "prompt": 5})"))
              .starts_with("`prompt`"));
    CHECK(ollama_error(service.post("/api/embed", R"({"model": "gone", "input": "a"})"), 404)
              .starts_with("model 'gone' not found"));
    CHECK(ignored_fields(service.post(
              "/api/embed", R"({"model": "stories", "input": "a", "options": {"num_ctx": 5}, "odd": 1})")) ==
          "odd, options.num_ctx");
    CHECK(service.service().models.find("stories")->is_loaded);
    service.post("/api/embed", R"({"model": "stories", "input": "a", "keep_alive": 0})");
    CHECK_FALSE(service.service().models.find("stories")->is_loaded);
}

TEST_CASE("clients cannot change models unless the operator allows it") {
    FakeService service({});
    for (const char* const path : {"/api/pull", "/api/copy"}) {
        const std::string error = ollama_error(
            service.post(path, R"({"model": "m", "source": "stories", "destination": "m"})"), 403);
        CHECK(error.find("--api ollama") != std::string::npos);
    }
    CHECK(ollama_error(delete_with(service, R"({"model": "stories"})"), 403).find("--api ollama") !=
          std::string::npos);
}

TEST_CASE("a pull of a model that is there succeeds without the operator's permission") {
    FakeService service({});
    for (const char* const name : {"stories", "stories:latest"}) {
        const std::string body = R"({"model": ")" + std::string(name) + "\"";
        CHECK(post_json(service, "/api/pull", body + R"(, "stream": false})")["status"] == "success");
        const FakeAnswer stream = service.post("/api/pull", body + "}");
        CHECK(lines_of(stream).back() == Json({{"status", "success"}}));
    }
    CHECK(ollama_error(service.post("/api/pull", R"({"model": "gone"})"), 403).find("--api ollama") !=
          std::string::npos);
    CHECK(ollama_error(service.post("/api/pull", R"({"stream": false})")).starts_with("`model`"));

    const TemporaryFolder folder;
    int pulls = 0;
    FakeService granted(granting(folder.path(), [&](const std::string&, const auto&, const auto&) {
        ++pulls;
        return Result<store::Manifest>(Error{ErrorKind::unreachable, "no network", {}});
    }));
    store_demo(folder.path(), "mine");
    CHECK(post_json(granted, "/api/pull", R"({"model": "mine:latest", "stream": false})")["status"] ==
          "success");
    CHECK(pulls == 0);
    CHECK(granted.post("/api/pull", R"({"model": "hf.co/user/repo", "stream": false})").status == 502);
    CHECK(pulls == 1); // a model of the hub may have a newer version
}

TEST_CASE("unsupported parts of Ollama's API are refused by name") {
    FakeService service({});
    CHECK(ollama_error(service.post("/api/create", R"({"model": "m"})"), 501).find("etna create") !=
          std::string::npos);
    ollama_error(service.post("/api/push", R"({"model": "m"})"), 501);
    ollama_error(service.post("/api/blobs/sha256:aa", "x"), 501);
    ollama_error(service.get("/api/blobs/sha256:aa"), 404);
    CHECK(service.ask({.method = "HEAD", .path = "/api/blobs/sha256:aa", .headers = {{"host", "127.0.0.1"}}})
              .status == 404);
}

TEST_CASE("a stored model is copied, answers under both names, and is deleted") {
    const TemporaryFolder folder;
    FakeService service(granting(folder.path()));
    store_demo(folder.path(), "mine");
    CHECK(names_in(service) == std::vector<std::string>{"mine:latest", "stories:latest"});
    const FakeAnswer copied =
        service.post("/api/copy", R"({"source": "mine", "destination": "yours:latest"})");
    CHECK((copied.status == 200 && copied.body.empty()));
    CHECK(names_in(service) == std::vector<std::string>{"mine:latest", "stories:latest", "yours:latest"});
    for (const char* const name : {"mine", "yours:latest"}) {
        const Json answer =
            post_json(service, ollama_chat_path,
                      R"({"model": ")" + std::string(name) +
                          R"(", "stream": false, "messages": [{"role": "user", "content": "Hi"}]})");
        CHECK((answer["model"] == name && answer["done"] == true));
    }
    CHECK(delete_with(service, R"({"name": "yours:latest"})").status == 200);
    CHECK(names_in(service) == std::vector<std::string>{"mine:latest", "stories:latest"});
    CHECK(ollama_error(service.post(ollama_chat_path, R"({"model": "yours"})"), 404)
              .starts_with("model 'yours' not found"));
    CHECK(ollama_error(delete_with(service, R"({"model": "yours"})"), 404)
              .starts_with("model 'yours' not found"));
}

TEST_CASE("errors of copies and deletions give the cause") {
    const TemporaryFolder folder;
    FakeService service(granting(folder.path()));
    store_demo(folder.path(), "mine");
    const auto copy = [&](const std::string& body, int status = 400) {
        return ollama_error(service.post("/api/copy", body), status);
    };
    CHECK(copy(R"({"source": "mine"})").starts_with("`destination`"));
    CHECK(copy(R"({"destination": "m"})").starts_with("`source`"));
    CHECK(copy(R"({"source": "mine", "destination": "../etc/passwd"})").starts_with("`destination`"));
    CHECK(copy(R"({"source": "mine", "destination": "a/b"})").starts_with("`destination`"));
    CHECK(copy(R"({"source": "gone", "destination": "m"})", 404).starts_with("model 'gone' not found"));
    CHECK(copy(R"({"source": "stories", "destination": "m"})").find("not stored by etna") !=
          std::string::npos);
    CHECK(ollama_error(delete_with(service, R"({"model": "stories"})")).find("not stored by etna") !=
          std::string::npos);
    CHECK(ollama_error(delete_with(service, "{}")).starts_with("`model`"));
    CHECK(names_in(service) == std::vector<std::string>{"mine:latest", "stories:latest"});
}

TEST_CASE("a pull streams its progress and the model is usable afterwards") {
    const TemporaryFolder folder;
    FakeService service(granting(
        folder.path(),
        [&](const std::string& name, const PullReport& report, const CancelPoll&) -> Result<store::Manifest> {
            const store::PullPlan plan = plan_of(name);
            for (const uint64_t done : {0U, 50U, 100U})
                report(plan, {.file = 0, .download = {.done_bytes = done, .total_bytes = 100}});
            report(plan,
                   {.file = 0,
                    .download = {
                        .phase = store::DownloadPhase::checking, .done_bytes = 100, .total_bytes = 100}});
            store_demo(folder.path(), name);
            return store::ModelStore(folder.path()).find(name);
        }));
    const std::vector<Json> lines = lines_of(service.post("/api/pull", R"({"name": "tiny"})"));
    REQUIRE(lines.size() >= 5);
    CHECK(lines.front() == Json({{"status", "pulling manifest"}}));
    CHECK(lines.back() == Json({{"status", "success"}}));
    const Json& last =
        *std::ranges::find_if(lines, [](const Json& line) { return line.value("completed", 0) == 100; });
    CHECK(last["status"] == "pulling aaaaaaaaaaaa");
    CHECK(last["digest"] == "sha256:" + std::string(64, 'a'));
    CHECK(last["total"] == 100);
    CHECK(std::ranges::find(lines, Json({{"status", "verifying sha256 digest"}})) != lines.end());
    CHECK(names_in(service) == std::vector<std::string>{"stories:latest", "tiny:latest"});
    CHECK(post_json(service, ollama_chat_path, R"({"model": "tiny"})")["done_reason"] == "load");
    const Json whole =
        post_json(service, "/api/pull", R"({"model": "tiny2", "stream": false, "insecure": true})");
    CHECK(whole == Json({{"status", "success"}}));
}

TEST_CASE("a failed pull reports the error and a pull ends when its client disconnects") {
    const TemporaryFolder folder;
    bool was_stopped = false;
    FakeService service(
        granting(folder.path(),
                 [&](const std::string& name, const PullReport& report,
                     const CancelPoll& is_stopped) -> Result<store::Manifest> {
                     if (name == "gone")
                         return Error{ErrorKind::not_found, "there is no /secret/folder/gone on the hub"};
                     report(plan_of(name), {.file = 0, .download = {.done_bytes = 1, .total_bytes = 1}});
                     was_stopped = is_stopped();
                     return Error{ErrorKind::cancelled, "stopped"};
                 }));
    const std::vector<Json> lines = lines_of(service.post("/api/pull", R"({"model": "gone"})"));
    REQUIRE(lines.size() == 2);
    CHECK(lines[1] == Json({{"error", "there is no gone on the hub"}}));
    CHECK(ollama_error(service.post("/api/pull", R"({"model": "gone", "stream": false})"), 404) ==
          "there is no gone on the hub");
    service.post("/api/pull", R"({"model": "big"})", 1); // the client leaves after the first bytes
    CHECK(was_stopped);
    CHECK(ollama_error(service.post("/api/pull", "{}")).starts_with("`model`"));
}
