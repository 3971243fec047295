// Where the certificates of a distribution are.
#include "core/store/http_client.hpp"
#include "tests/support/catch.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

using etna::store::system_ca_file;

TEST_CASE("the certificates of each distribution are found") {
    const auto root = std::filesystem::temp_directory_path() / ("etna-ca-" + std::to_string(::getpid()));
    for (const char* path :
         {"etc/ssl/certs/ca-certificates.crt", "etc/pki/tls/certs/ca-bundle.crt",
          "etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "etc/ssl/ca-bundle.pem", "etc/ssl/cert.pem"}) {
        CAPTURE(path);
        const auto file = root / path;
        std::filesystem::create_directories(file); // a folder is not a file of certificates
        CHECK(system_ca_file(root).empty());
        std::filesystem::remove(file);
        std::ofstream(file) << "certificates";
        CHECK(system_ca_file(root) == file);
        std::filesystem::remove_all(root);
        CHECK(system_ca_file(root).empty());
    }
}
