// The store's file: path, permissions, locking.
#include "tests/storage/child.hpp"
#include "tests/storage/test_store.hpp"

#include <sys/stat.h>
#include <unistd.h>

using namespace etna;
using namespace etna::test;
using namespace server::storage;
namespace fs = std::filesystem;

namespace {

Error error_of(StoreOptions options) {
    std::vector<std::string> warnings;
    const auto store = Store::open(std::move(options), warnings);
    REQUIRE_FALSE(store);
    return store.error();
}

bool is_io_error_about(const Error& error, const fs::path& file) {
    return error.kind == ErrorKind::io && error.message.find(file.string()) != std::string::npos &&
           !error.hint.empty() && !error.message.ends_with('.');
}

unsigned mode_of(const fs::path& path) {
    struct stat info{};
    REQUIRE(::stat(path.c_str(), &info) == 0);
    return info.st_mode & 0777U;
}

void set_mode(const fs::path& path, mode_t mode) {
    REQUIRE(::chmod(path.c_str(), mode) == 0);
}

constexpr uid_t unprivileged = 65534;

/// Runs the work as a user without privileges. Returns its result, or the failure.
std::string as_unprivileged(const std::function<std::string()>& work) {
    return in_child([&]() -> std::string {
        if (::geteuid() == 0 && (::setgid(unprivileged) != 0 || ::setuid(unprivileged) != 0))
            return "cannot change the user";
        return work();
    });
}

/// A store of one response in a folder that the unprivileged user can reach.
fs::path reachable_store(const TemporaryFolder& folder) {
    set_mode(folder.path(), 0755);
    const fs::path file = folder.path() / "in" / "store";
    {
        Store store = open_store(wide_options(file));
        done(store.put(response_of("r")));
    }
    if (::geteuid() == 0) {
        for (const fs::path& path : {file.parent_path(), file})
            REQUIRE(::chown(path.c_str(), unprivileged, unprivileged) == 0);
        fs::remove(file.string() + ".lock"); // root's
    }
    return file;
}

/// Opens and uses a read-only store. Returns the failure; empty: none.
std::string use_read_only(const fs::path& file) {
    std::vector<std::string> warnings;
    auto store = Store::open(wide_options(file), warnings);
    if (!store)
        return "not opened: " + store.error().message;
    if (warnings.size() != 1 || warnings[0].find(file.string()) == std::string::npos)
        return "no warning";
    const auto response = store->response("ann", "r");
    if (!response || !*response || (*response)->object != "object of r")
        return "unreadable";
    for (int i = 0; i < 2; ++i) {
        const Status status = store->put(response_of("new"));
        if (status || !is_io_error_about(status.error(), file))
            return "no error, or a wrong one, from put";
        const auto deleted = store->delete_response("ann", "r");
        if (deleted || !is_io_error_about(deleted.error(), file))
            return "no error, or a wrong one, from a deletion";
        const auto history = store->history("ann", "r");
        if (!history || !*history)
            return "no history";
    }
    return {};
}

} // namespace

TEST_CASE("stored entries are found after reopening") {
    const TemporaryFolder folder;
    const fs::path file = folder.path() / "new" / "er" / "store";
    {
        Store store = open_store(wide_options(file));
        done(store.put(response_of("a")));
        put_after(store, "b", "a");
        done(store.create({.id = "c", .owner = "ann", .metadata = "{}"}, {{"i", "body"}}));
        done(store.put(completion_of("m")));
    }
    Store store = open_store(wide_options(file));
    CHECK(history_of(store, "b") == "a b");
    CHECK(taken(store.item("ann", "c", "i"))->body == "body");
    CHECK(taken(store.completion("ann", "m"))->messages == "messages of m");
    const auto size = taken(store.size());
    CHECK((size.responses == 2 && size.conversations == 1 && size.completions == 1));
}

TEST_CASE("the file and its companions are readable by their owner only") {
    const TemporaryFolder folder;
    const mode_t before = ::umask(0);
    const fs::path file = folder.path() / "a" / "b" / "store";
    Store store = open_store(wide_options(file));
    done(store.put(response_of("r")));
    ::umask(before);
    CHECK((mode_of(folder.path() / "a") == 0700 && mode_of(file.parent_path()) == 0700));
    for (const char* ending : {"", "-wal", "-shm", ".lock"})
        CHECK(mode_of(file.string() + ending) == 0600);
}

TEST_CASE("relative paths and special characters work") {
    const TemporaryFolder folder;
    const fs::path before = fs::current_path();
    fs::current_path(folder.path());
    for (const char* name : {"plain", ":memory:", "file:x?mode=memory", "a%20b#c?d", "deeper/./store"}) {
        {
            Store store = open_store(wide_options(name));
            done(store.put(response_of("r")));
        }
        CHECK(fs::is_regular_file(folder.path() / name));
        Store store = open_store(wide_options(name));
        CHECK(has_response(store, "r"));
    }
    fs::current_path(before);
}

TEST_CASE("a file can be open in one store at a time, across processes") {
    const TemporaryFolder folder;
    const fs::path file = folder.path() / "store";
    {
        const Store store = open_store(wide_options(file));
        CHECK(is_io_error_about(error_of(wide_options(file)), file));
        CHECK(in_child([&]() -> std::string {
                  std::vector<std::string> warnings;
                  const auto second = Store::open(wide_options(file), warnings);
                  if (second || !warnings.empty())
                      return "opened";
                  return is_io_error_about(second.error(), file) ? "" : second.error().message;
              }).empty());
    }
    Child holder([&](int descriptor) {
        const Store store = open_store(wide_options(file));
        write_all(descriptor, "open");
        ::pause();
    });
    holder.wait_for_output("open");
    CHECK(is_io_error_about(error_of(wide_options(file)), file));
    holder.kill();
    CHECK(holder.output() == "open");
    CHECK_NOTHROW(open_store(wide_options(file)));
}

TEST_CASE("other programs can read the open file") {
    const TemporaryFolder folder;
    Store store = open_store(wide_options(folder.path() / "store"));
    done(store.put(response_of("a")));
    CHECK(run_sql(folder.path() / "store", "SELECT count(*) FROM responses") == 1);
    done(store.put(response_of("b")));
    CHECK(run_sql(folder.path() / "store", "SELECT count(*) FROM responses") == 2);
}

TEST_CASE("a file of a newer version is refused and unchanged") {
    const TemporaryFolder folder;
    const fs::path file = folder.path() / "store";
    {
        Store store = open_store(wide_options(file));
        done(store.put(response_of("r")));
    }
    run_sql(file, "PRAGMA user_version = 2");
    const std::string content = content_of(file);
    const Error error = error_of(wide_options(file));
    CHECK(error.kind == ErrorKind::unsupported);
    CHECK(error.message.find(file.string()) != std::string::npos);
    CHECK_FALSE(error.hint.empty());
    CHECK(content_of(file) == content);
    CHECK_FALSE(fs::exists(file.string() + ".damaged-1"));
}

TEST_CASE("paths that are not regular files are refused and unchanged") {
    const TemporaryFolder folder;
    const fs::path directory = folder.path() / "directory";
    fs::create_directory(directory);
    CHECK(is_io_error_about(error_of(wide_options(directory)), directory));
    CHECK(fs::is_directory(directory));
    overwrite(folder.path() / "file", "text");
    const fs::path below = folder.path() / "file" / "store";
    CHECK(is_io_error_about(error_of(wide_options(below)), below));
    const fs::path pipe = folder.path() / "pipe";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    CHECK(is_io_error_about(error_of(wide_options(pipe)), pipe));
    CHECK(fs::is_fifo(pipe));
    const fs::path nowhere = folder.path() / "link";
    fs::create_symlink(folder.path() / "no" / "such" / "folder", nowhere);
    CHECK(is_io_error_about(error_of(wide_options(nowhere)), nowhere));
    const fs::path link = folder.path() / "link2";
    fs::create_symlink(folder.path() / "elsewhere", link);
    open_store(wide_options(link));
    CHECK(fs::is_regular_file(folder.path() / "elsewhere"));
    CHECK(fs::is_symlink(link));
}

TEST_CASE("a symbolic link is resolved to its file") {
    const TemporaryFolder folder;
    const fs::path file = folder.path() / "store";
    const fs::path link = folder.path() / "link";
    fs::create_symlink(file, link);
    {
        Store store = open_store(wide_options(link));
        done(store.put(response_of("r")));
        CHECK(is_io_error_about(error_of(wide_options(file)), file));
    }
    Store store = open_store(wide_options(file));
    CHECK(has_response(store, "r"));
    CHECK(is_io_error_about(error_of(wide_options(link)), file));
}

TEST_CASE("a read-only file is opened for reading") {
    const TemporaryFolder folder;
    const fs::path file = reachable_store(folder);
    SECTION("the file") {
        set_mode(file, 0444);
    }
    SECTION("its folder") {
        set_mode(file.parent_path(), 0555);
    }
    SECTION("both") {
        set_mode(file, 0444);
        set_mode(file.parent_path(), 0555);
    }
    const std::string content = content_of(file);
    CHECK(as_unprivileged([&] { return use_read_only(file); }).empty());
    CHECK(content_of(file) == content);
    set_mode(file.parent_path(), 0755);
    set_mode(file, 0644);
    CHECK(as_unprivileged([&]() -> std::string { // and for writing once it is writable
              std::vector<std::string> warnings;
              auto store = Store::open(wide_options(file), warnings);
              return store && warnings.empty() && store->put(response_of("new")) ? "" : "not written";
          })
              .empty());
}

TEST_CASE("an uncreatable file is an io error") {
    const TemporaryFolder folder;
    set_mode(folder.path(), 0555);
    const fs::path file = folder.path() / "in" / "store";
    CHECK(as_unprivileged([&]() -> std::string {
              std::vector<std::string> warnings;
              const auto store = Store::open(wide_options(file), warnings);
              return !store && is_io_error_about(store.error(), file) ? "" : "opened, or a wrong error";
          }).empty());
    set_mode(folder.path(), 0755);
}
