// Where the certificates of a distribution are.
#include "core/store/http_client.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/gguf_writer.hpp"

#include <filesystem>
#include <fstream>

using etna::store::system_ca_file;

TEST_CASE("the certificates of each distribution are found") {
    for (const char* path :
         {"etc/ssl/certs/ca-certificates.crt", "etc/pki/tls/certs/ca-bundle.crt",
          "etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "etc/ssl/ca-bundle.pem", "etc/ssl/cert.pem"}) {
        const etna::test::TemporaryFolder root;
        CAPTURE(path);
        CHECK(system_ca_file(root.path()).empty());
        const auto file = root.path() / path;
        std::filesystem::create_directories(file); // a folder is not a file of certificates
        CHECK(system_ca_file(root.path()).empty());
        std::filesystem::remove(file);
        std::ofstream(file) << "certificates";
        CHECK(system_ca_file(root.path()) == file);
    }
}
