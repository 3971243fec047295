#pragma once

#include "server/batch/batches.hpp"
#include "tests/server/api_client.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/eventually.hpp"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/stat.h>

// A server with files and batches, and requests to it.
namespace etna::test {

using namespace server::batch;
using server::HttpReply;
using server::HttpRequest;
using server::Json;

inline constexpr const char* form_type = "multipart/form-data; boundary=xyz";
inline constexpr const char* test_key = "key-1";

inline std::string form_of(const std::string& content, const std::string& purpose = "batch",
                           const std::string& more = "") {
    return "--xyz\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\n" + purpose + "\r\n" + more +
           "--xyz\r\nContent-Disposition: form-data; name=\"file\"; filename=\"in.jsonl\"\r\n"
           "Content-Type: application/octet-stream\r\n\r\n" +
           content + "\r\n--xyz--\r\n";
}

inline std::string request_line_of(int number) {
    return fmt::format(R"({{"custom_id": "id-{}", "method": "POST", "url": "/v1/completions", "body": )"
                       R"({{"model": "stories", "prompt": "Once", "max_tokens": 4}}}})"
                       "\n",
                       number);
}

inline std::string request_lines(int count) {
    std::string lines;
    for (int number = 0; number < count; ++number)
        lines += request_line_of(number);
    return lines;
}

/// Called once, when this thread next asks a BatchServer's clock.
inline thread_local std::function<void()> at_next_time;

/// A server with files and batches in a folder.
class BatchServer {
public:
    using Answer = std::function<HttpReply(const HttpRequest&)>;

    explicit BatchServer(std::vector<std::string> keys = {}) {
        std::string name = (std::filesystem::temp_directory_path() / "etna-batches-XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        folder = name;
        FakeService::Options options;
        options.says = " a dog";
        options.service.access.api_keys = std::move(keys);
        service_ = std::make_unique<FakeService>(std::move(options));
        open();
    }
    BatchServer(const BatchServer&) = delete;
    BatchServer& operator=(const BatchServer&) = delete;
    ~BatchServer() {
        batches_ = nullptr;
        std::filesystem::remove_all(folder);
    }

    /// Opens the folder again, as after a kill.
    void open() {
        batches_ = nullptr;
        Batches::Options options = {.limits = limits, .lines_at_once = lines_at_once};
        auto opened = Batches::open(folder, options, [this] {
            if (const auto action = std::exchange(at_next_time, {}))
                action();
            return now_s.load();
        });
        REQUIRE(opened.has_value());
        batches_ = std::move(*opened);
        service_->service().batches = batches_.get();
        service_->service().find_stored_file = server::batch::finder_of(batches_->files());
    }

    /// Before start().
    void set_keys(std::vector<std::string> keys) {
        service_->service().options.access.api_keys = std::move(keys);
    }

    /// Returns the files below the folder with this name suffix.
    [[nodiscard]] std::vector<std::filesystem::path> stored(const std::string& ending) const {
        std::vector<std::filesystem::path> found;
        std::error_code ignored; // files may disappear meanwhile
        for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, ignored)) {
            if (entry.path().string().ends_with(ending))
                found.push_back(entry.path());
        }
        return found;
    }

    /// Returns the bytes below the folder; a file with several names counts once.
    [[nodiscard]] uint64_t bytes_on_disk() const {
        std::map<std::pair<dev_t, ino_t>, uint64_t> bytes;
        for (const std::filesystem::path& path : stored("")) {
            struct stat info{};
            if (::lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode))
                bytes[{info.st_dev, info.st_ino}] = static_cast<uint64_t>(info.st_size);
        }
        uint64_t sum = 0;
        for (const auto& [file, size] : bytes)
            sum += size;
        return sum;
    }
    Files& files() { return batches_->files(); }

    /// Starts running batches. `answer`: empty: the router.
    void start(const Answer& answer = {}) {
        batches_->start(
            service_->service(), answer ? answer : [this](const HttpRequest& request) {
                return service_->router().answer(request);
            });
    }

    FakeAnswer ask(const std::string& method, const std::string& path, const std::string& body = "",
                   const std::string& type = "application/json", const std::string& key = test_key) {
        return service_->ask(
            {.method = method,
             .path = path,
             .headers = {{"host", "127.0.0.1"}, {"authorization", "Bearer " + key}, {"content-type", type}},
             .body = body});
    }

    /// Begins a download; the stream of the reply sends the content.
    HttpReply download(const Json& file, const std::string& key = test_key) {
        return service_->router().answer(
            {.method = "GET",
             .path = "/v1/files/" + file["id"].get<std::string>() + "/content",
             .headers = {{"host", "127.0.0.1"}, {"authorization", "Bearer " + key}}});
    }

    Json upload(const std::string& content, const std::string& key = test_key) {
        return json_of(ask("POST", "/v1/files", form_of(content), form_type, key));
    }

    /// Asks for a batch over the file.
    FakeAnswer ask_for_batch(const Json& file, const std::string& key = test_key) {
        const Json body = {{"input_file_id", file["id"]},
                           {"endpoint", "/v1/completions"},
                           {"completion_window", "24h"},
                           {"metadata", {{"run", "7"}}}};
        return ask("POST", "/v1/batches", etna::dump_json(body), "application/json", key);
    }
    Json create(const Json& file, const std::string& key = test_key) {
        return json_of(ask_for_batch(file, key));
    }

    Json show(const Json& batch, const std::string& key = test_key) {
        return json_of(ask("GET", "/v1/batches/" + batch["id"].get<std::string>(), "", "", key));
    }

    /// Waits for a status, and returns the batch.
    Json wait_for(const Json& batch, const std::string& status, const std::string& key = test_key) {
        Json shown;
        (void)eventually([&] {
            shown = show(batch, key);
            return shown["status"] == status;
        });
        CAPTURE(etna::dump_json(shown));
        CHECK(shown["status"] == status);
        return shown;
    }

    /// Returns the records of a file by custom_id; checks that each occurs once.
    std::map<std::string, Json> content(const Json& id) {
        std::map<std::string, Json> found;
        const FakeAnswer answer = ask("GET", "/v1/files/" + id.get<std::string>() + "/content");
        REQUIRE(answer.status == 200);
        for (std::size_t begin = 0; begin < answer.body.size();) {
            const std::size_t end = answer.body.find('\n', begin);
            const Json record = parse_json(answer.body.substr(begin, end - begin));
            CHECK(found.emplace(record["custom_id"].is_null() ? "" : record["custom_id"], record).second);
            begin = end + 1;
        }
        return found;
    }

    std::filesystem::path folder;
    StoreLimits limits;
    uint32_t lines_at_once = 4;
    std::atomic<int64_t> now_s{1'000'000};
    FakeService& service() { return *service_; }

private:
    std::unique_ptr<FakeService> service_;
    std::unique_ptr<Batches> batches_; ///< destroyed first
};

} // namespace etna::test
