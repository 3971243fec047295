#include "tests/storage/raw_file.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <sqlite3.h>

namespace etna::test {

int64_t run_sql(const std::filesystem::path& file, const std::string& sql) {
    sqlite3* database = nullptr;
    int64_t last = 0;
    const auto keep = [](void* place, int columns, char** texts, char**) {
        if (columns > 0 && texts[0] != nullptr)
            *static_cast<int64_t*>(place) = std::atoll(texts[0]);
        return 0;
    };
    int code = ::sqlite3_open(file.c_str(), &database);
    if (code == SQLITE_OK)
        code = ::sqlite3_exec(database, sql.c_str(), keep, &last, nullptr);
    const std::string message = ::sqlite3_errmsg(database);
    ::sqlite3_close(database);
    if (code != SQLITE_OK)
        throw std::runtime_error(file.string() + ": " + message);
    return last;
}

std::string content_of(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

void overwrite(const std::filesystem::path& file, const std::string& content) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << content;
}

} // namespace etna::test
