// Files and batches of several keys: what one keeps or runs, others do not lose by it.

#include "server/batch/owner_shares.hpp"
#include "tests/batch/batch_server.hpp"
#include "tests/server/echo.hpp"
#include "tests/support/eventually.hpp"

#include <algorithm>
#include <fstream>
#include <mutex>

namespace etna::test {
namespace {

std::vector<std::string> eight_keys() {
    std::vector<std::string> keys;
    for (int number = 1; number <= 8; ++number)
        keys.push_back(fmt::format("key-{}", number));
    return keys;
}

const std::vector<std::string> two_keys = {"key-1", "key-2"};

/// Records whose lines run, and holds them until it is opened.
class Gate {
public:
    HttpReply answer(const HttpRequest& request) {
        {
            const std::scoped_lock lock(mutex_);
            begun_.push_back(std::string(request.header("authorization").substr(7)));
        }
        (void)eventually([&] { return is_open || request.is_client_gone(); });
        return {.status = request.is_client_gone() ? server::client_closed_status : 200, .body = "{}"};
    }

    std::vector<std::string> begun() {
        const std::scoped_lock lock(mutex_);
        return begun_;
    }
    long begun_of(const std::string& key) {
        const auto all = begun();
        return std::ranges::count(all, key);
    }

    std::atomic<bool> is_open{false};

private:
    std::mutex mutex_;
    std::vector<std::string> begun_;
};

/// The client of a download, which acts when it has its first block.
class BlockReader final : public server::HttpWriter {
public:
    explicit BlockReader(std::function<void()> act) : act_(std::move(act)) {}

    bool write(std::string_view block) override {
        bytes += block.size();
        if (++blocks == 1)
            act_();
        return true;
    }
    server::PeerState peer() override { return server::PeerState::open; }

    std::size_t bytes = 0;
    int blocks = 0;

private:
    std::function<void()> act_;
};

} // namespace

TEST_CASE("an owner within its share has room, and loses nothing to one beyond it") {
    server::batch::OwnerShares shares(100);
    shares.add("a", 100);
    CHECK(!shares.has_room(1));
    CHECK(shares.is_within_share("b", 50));
    CHECK(!shares.is_within_share("b", 51));
    CHECK(!shares.is_within_share("a", 1));
    CHECK(shares.beyond_share("b") == std::vector<server::storage::Owner>{"a"});
    CHECK(shares.beyond_share("a").empty());
    shares.remove("a", 60);
    shares.add("b", 55);
    CHECK(shares.beyond_share("c") == std::vector<server::storage::Owner>{"b", "a"}); // shares of 34
    shares.remove("a", 6);
    CHECK(shares.beyond_share("c") == std::vector<server::storage::Owner>{"b"});
    CHECK(shares.has_room(11));
    CHECK(!shares.has_room(12));
    CHECK(!server::batch::OwnerShares(0).is_within_share("a", 1));
    CHECK(server::batch::OwnerShares(1).is_within_share("a", 1));
}

TEST_CASE("finished batches of one key do not remove those of another") {
    BatchServer server(two_keys);
    server.limits.finished_batches_max = 10;
    server.open();
    server.start([](const HttpRequest&) { return HttpReply{.body = "{}"}; });
    const Json others = server.wait_for(server.create(server.upload(request_lines(1), "key-2"), "key-2"),
                                        "completed", "key-2");
    const Json empty = server.upload("\n");
    const Json first = server.wait_for(server.create(empty), "failed");
    server.now_s += 1;
    for (std::size_t i = 0; i < 15; ++i)
        (void)server.wait_for(server.create(empty), "failed");
    CHECK(server.show(others, "key-2") == others);
    CHECK(server.ask("GET", "/v1/batches/" + first["id"].get<std::string>()).status == 404);
}

TEST_CASE("unfinished batches of one key do not refuse those of eight others") {
    auto keys = eight_keys();
    keys.emplace_back("heavy");
    BatchServer server(keys);
    server.limits.batches_max = 16;
    server.open();
    const auto create_all = [&](const std::string& key) {
        const Json file = server.upload(request_lines(1), key);
        int created = 0;
        while (created < 100 && server.ask_for_batch(file, key).status == 200)
            ++created;
        return created;
    };
    CHECK(create_all("heavy") == 16);
    for (const std::string& key : eight_keys())
        CHECK(create_all(key) >= 16 / 9); // a share of all nine
    server.limits.batches_max = 0;
    server.open();
    CHECK(server.ask_for_batch(server.upload(request_lines(1))).status == 429);
}

TEST_CASE("the lines of eight keys run at once beside four long batches of another") {
    auto keys = eight_keys();
    keys.emplace_back("heavy");
    BatchServer server(keys);
    Gate gate;
    server.start([&](const HttpRequest& request) { return gate.answer(request); });
    for (int i = 0; i < 4; ++i)
        (void)server.create(server.upload(request_lines(1000), "heavy"), "heavy");
    CHECK(eventually([&] { return gate.begun_of("heavy") >= 4; })); // all lines that run at once
    std::vector<Json> light;
    for (const std::string& key : eight_keys())
        light.push_back(server.create(server.upload(request_lines(1), key), key));
    for (const std::string& key : eight_keys())
        CHECK(eventually([&] { return gate.begun_of(key) == 1; })); // no line of `heavy` has ended
    gate.is_open = true;
    for (std::size_t i = 0; i < light.size(); ++i)
        (void)server.wait_for(light[i], "completed", eight_keys()[i]);
}

TEST_CASE("keys with long batches get equal numbers of lines, whatever their numbers of batches") {
    BatchServer server(eight_keys());
    server.lines_at_once = 2;
    server.open();
    Gate gate;
    gate.is_open = true;
    std::vector<Json> batches;
    for (const std::string& key : eight_keys()) {
        for (int i = 0; i < (key == "key-1" ? 4 : 1); ++i)
            batches.push_back(server.create(server.upload(request_lines(400), key), key));
    }
    server.start([&](const HttpRequest& request) {
        HttpReply reply = gate.answer(request);
        std::this_thread::sleep_for(std::chrono::milliseconds(1)); // the work of a line
        return reply;
    });
    CHECK(eventually([&] { return gate.begun().size() >= 800; }));
    std::map<std::string, int> lines;
    const std::vector<std::string> begun = gate.begun();
    for (std::size_t i = 0; i < 800; ++i)
        ++lines[begun[i]];
    for (const std::string& key : eight_keys()) {
        CAPTURE(key, lines[key]);
        CHECK(lines[key] >= 60); // of 100
        CHECK(lines[key] <= 150);
    }
}

TEST_CASE("files of one key give way to those of another, oldest first, and no further than its share") {
    BatchServer server(two_keys);
    server.limits.files_bytes_max = 100'000;
    server.open();
    std::vector<Json> heavy;
    const std::string content(9'000, 'x');
    for (FakeAnswer answer; answer.status != 413;) {
        server.now_s += 1;
        answer = server.ask("POST", "/v1/files", form_of(content), form_type, "key-1");
        if (answer.status == 200)
            heavy.push_back(json_of(answer));
    }
    CHECK(heavy.size() == 10);
    const auto upload_light = [&] {
        return server.ask("POST", "/v1/files", form_of(content), form_type, "key-2").status;
    };
    const auto has = [&](const Json& file) {
        return server.ask("GET", "/v1/files/" + file["id"].get<std::string>(), "", "", "key-1").status == 200;
    };
    CHECK(upload_light() == 200);
    CHECK(!has(heavy[0]));
    CHECK(has(heavy[1]));
    int light = 1;
    while (light < 100 && upload_light() == 200)
        ++light;
    CHECK(light == 5); // half of the room
    CHECK(has(heavy[5]));
    CHECK(server.bytes_on_disk() <= server.limits.files_bytes_max);
}

TEST_CASE("downloads of one key end when another key within its share needs their room") {
    BatchServer server(two_keys);
    server.limits.files_bytes_max = 1'000'000;
    server.open();
    const std::string content(450'000, 'x'); // two blocks
    const Json first = server.upload(content);
    server.now_s += 1;
    const Json second = server.upload(content);
    HttpReply slow = server.download(first);
    HttpReply fast = server.download(second);
    const auto upload = [&](const std::string& key) {
        return server.ask("POST", "/v1/files", form_of(content), form_type, key).status;
    };
    CHECK(upload("key-1") == 413); // beyond its share
    int light = 0;
    BlockReader slow_client([&] { light = upload("key-2"); });
    CHECK_THROWS(slow.stream(slow_client)); // its connection closes without an end of the body
    CHECK(light == 200);
    CHECK(slow_client.blocks == 1);
    CHECK(server.files().bytes() <= server.limits.files_bytes_max);
    BlockReader fast_client([] {});
    fast.stream(fast_client);
    CHECK(fast_client.bytes == content.size());
    slow.stream = {};
    fast.stream = {};
    CHECK(server.files().bytes() == server.bytes_on_disk());
    CHECK(upload("key-2") == 413); // beyond its share, too
}

TEST_CASE("a download of a file that its key has deleted does not keep another key's upload out") {
    BatchServer server(two_keys);
    server.limits.files_bytes_max = 1'000'000;
    server.open();
    const std::string content(900'000, 'x');
    const Json file = server.upload(content);
    HttpReply slow = server.download(file);
    const std::string small(300'000, 'y');
    int deleted = 0;
    int light = 0;
    BlockReader slow_client([&] {
        deleted = server.ask("DELETE", "/v1/files/" + file.at("id").get<std::string>()).status;
        CHECK(server.files().bytes() > content.size() - 1); // it is on the disk
        light = server.ask("POST", "/v1/files", form_of(small), form_type, "key-2").status;
    });
    CHECK_THROWS(slow.stream(slow_client));
    CHECK(deleted == 200);
    CHECK(light == 200);
    CHECK(server.files().bytes() < content.size());
    slow.stream = {};
    CHECK(server.files().bytes() == server.bytes_on_disk());
}

TEST_CASE("the bound of bytes includes the inputs of running batches whose files were deleted") {
    BatchServer server;
    server.limits.files_bytes_max = 100'000;
    server.open();
    Gate gate;
    server.start([&](const HttpRequest& request) { return gate.answer(request); });
    const std::string lines = request_lines(200);
    int uploads = 0;
    std::vector<Json> batches;
    for (FakeAnswer answer; uploads < 100 && answer.status != 413; ++uploads) {
        answer = server.ask("POST", "/v1/files", form_of(lines), form_type);
        if (answer.status != 200)
            break;
        const FakeAnswer batch = server.ask_for_batch(json_of(answer));
        if (batch.status == 200)
            batches.push_back(json_of(batch));
        CHECK(server.ask("DELETE", "/v1/files/" + json_of(answer)["id"].get<std::string>()).status == 200);
        CHECK(server.bytes_on_disk() <= server.limits.files_bytes_max);
    }
    CHECK(uploads == 100'000 / static_cast<int>(lines.size() + 2048));
    server.open(); // as after a kill
    CHECK(server.files().bytes() >= server.bytes_on_disk());
    CHECK(server.ask("POST", "/v1/files", form_of(lines), form_type).status == 413);
    server.start([&](const HttpRequest& request) { return gate.answer(request); });
    for (const Json& batch : batches) {
        CHECK(server.ask("POST", "/v1/batches/" + batch["id"].get<std::string>() + "/cancel").status == 200);
        (void)server.wait_for(batch, "cancelled");
    }
    CHECK(eventually([&] { return server.files().bytes() < 30'000; })); // the states of the batches
    CHECK(server.ask("POST", "/v1/files", form_of(lines), form_type).status == 200);
}

TEST_CASE("a batch whose outputs would exceed the bound ends with an error, and its answers are stored") {
    BatchServer server;
    server.limits.files_bytes_max = 100'000;
    server.open();
    const bool has_results = GENERATE(true, false);
    server.start([&](const HttpRequest&) {
        return HttpReply{.status = has_results ? 200 : 400,
                         .body = R"({"error": {"message": ")" + std::string(1'000, 'x') + R"("}})"};
    });
    const Json batch = server.create(server.upload(request_lines(200)));
    const Json done = server.wait_for(batch, "failed");
    CHECK(done["errors"]["data"][0]["code"] == "storage_full");
    const int records = done["request_counts"][has_results ? "completed" : "failed"].get<int>();
    CHECK(records > 10);
    CHECK(records < 100);
    const Json& id = done[has_results ? "output_file_id" : "error_file_id"];
    CHECK(server.content(id).size() == static_cast<std::size_t>(records));
    CHECK(server.bytes_on_disk() <= server.limits.files_bytes_max);
    CHECK(server.files().bytes() >= server.bytes_on_disk());
    CHECK(server.ask("DELETE", "/v1/files/" + id.get<std::string>()).status == 200);
    CHECK(server.ask("POST", "/v1/files", form_of(std::string(20'000, 'x')), form_type).status == 200);
}

TEST_CASE("a running batch beyond its key's share ends when another key needs the room") {
    BatchServer server(two_keys);
    server.limits.files_bytes_max = 100'000;
    server.open();
    Gate gate;
    server.start([&](const HttpRequest& request) { return gate.answer(request); });
    const Json file = server.upload(std::string(80'000, '\n') + request_lines(8));
    const Json batch = server.create(file);
    CHECK(eventually([&] { return gate.begun_of("key-1") >= 4; }));
    CHECK(server.ask("DELETE", "/v1/files/" + file["id"].get<std::string>()).status == 200);
    const std::string content(40'000, 'x');
    CHECK(server.ask("POST", "/v1/files", form_of(content), form_type).status == 413); // its own key
    CHECK(server.show(batch)["status"] == "in_progress");
    CHECK(server.ask("POST", "/v1/files", form_of(content), form_type, "key-2").status == 200);
    CHECK(server.show(batch)["errors"]["data"][0]["code"] == "storage_full");
    CHECK(server.bytes_on_disk() <= server.limits.files_bytes_max);
}

TEST_CASE("a batch within its key's share gets room for its outputs from another key's files") {
    BatchServer server(two_keys);
    server.limits.files_bytes_max = 100'000;
    server.open();
    const Json batch = server.create(server.upload(request_lines(20), "key-2"), "key-2");
    while (server.ask("POST", "/v1/files", form_of(std::string(5'000, 'x')), form_type).status == 200) {
    }
    server.start(
        [&](const HttpRequest&) { return HttpReply{.body = "\"" + std::string(1'000, 'x') + "\""}; });
    CHECK(server.wait_for(batch, "completed", "key-2")["request_counts"]["completed"] == 20);
    CHECK(server.bytes_on_disk() <= server.limits.files_bytes_max);
}

TEST_CASE("the bound includes descriptions, states, and contents that are being sent") {
    BatchServer server;
    server.limits.files_bytes_max = 30'000;
    server.open();
    int uploads = 0;
    while (uploads < 2'000 && server.ask("POST", "/v1/files", form_of(""), form_type).status == 200)
        ++uploads;
    CHECK(uploads < 180);
    CHECK(server.bytes_on_disk() <= server.limits.files_bytes_max);
    for (const auto& path : server.stored(".jsonl"))
        CHECK(server.ask("DELETE", "/v1/files/" + path.stem().string()).status == 200);
    CHECK(server.files().bytes() == 0);

    const Json file = server.upload(request_lines(100));
    Files::Guard guard = server.files().read("", file["id"]);
    CHECK(server.ask("DELETE", "/v1/files/" + file["id"].get<std::string>()).status == 200);
    CHECK(server.files().bytes() == file["bytes"].get<uint64_t>());
    guard = nullptr;
    CHECK(server.files().bytes() == 0);

    const Json input = server.upload("\n");
    int batches = 0;
    while (batches < 200 && server.ask_for_batch(input).status == 200)
        ++batches;
    CHECK(batches <= 30'000 / 4 / 2'048); // a quarter of the bound
    CHECK(server.bytes_on_disk() <= server.limits.files_bytes_max);
}

TEST_CASE("the number of files is bounded, and the bound does not refuse another key") {
    BatchServer server(two_keys);
    server.limits.files_max = 20;
    server.open();
    Files& files = server.files();
    const auto add = [&](const std::string& owner) {
        return files.add({.owner = owner, .name = "x", .purpose = "batch"}, "");
    };
    for (std::size_t i = 0; i < server.limits.files_max; ++i)
        REQUIRE(add("heavy"));
    CHECK(add("heavy").error().kind == ErrorKind::busy);
    server.now_s += 1;
    CHECK(add("light"));
    CHECK(files.list("heavy").size() == server.limits.files_max - 1);
    CHECK(files.list("light").size() == 1);
}

TEST_CASE("damaged files and remains of a kill count, or are removed at the start") {
    BatchServer server;
    const Json file = server.upload(request_lines(50));
    const Json batch = server.create(file);
    const auto folder = server.folder / "batches" / batch["id"].get<std::string>();
    std::ofstream(server.folder / "files" / "file-x.jsonl.partial") << std::string(5'000, 'x');
    std::ofstream(server.folder / "files" / "file-y.jsonl") << std::string(5'000, 'x'); // never described
    std::ofstream(folder / "results-0-of-1.jsonl.damaged-1") << std::string(5'000, 'x');
    std::ofstream(server.folder / "files" / "file-z.json") << "damaged";
    std::ofstream(server.folder / "files" / "file-z.jsonl") << std::string(5'000, 'x');
    server.open();
    CHECK(server.stored(".partial").empty());
    CHECK(!std::filesystem::exists(server.folder / "files" / "file-y.jsonl"));
    CHECK(server.files().bytes() >= server.bytes_on_disk());
    CHECK(server.files().bytes() <= server.bytes_on_disk() + 2'048);
    server.start();
    (void)server.wait_for(batch, "completed");
    CHECK(eventually([&] { return server.stored(".damaged-1").empty(); }));
    CHECK(server.files().bytes() >= server.bytes_on_disk());
}

} // namespace etna::test
