#include "core/store/sha256.hpp"

#include "core/base/file_reader.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>
#include <openssl/evp.h>

namespace etna::store {

struct Sha256::Impl {
    EVP_MD_CTX* context = EVP_MD_CTX_new();
};

Sha256::Sha256() : impl_(std::make_unique<Impl>()) {
    EVP_DigestInit_ex(impl_->context, EVP_sha256(), nullptr);
}

Sha256::~Sha256() {
    EVP_MD_CTX_free(impl_->context);
}

void Sha256::add(ByteView bytes) {
    EVP_DigestUpdate(impl_->context, bytes.data(), bytes.size());
}

std::string Sha256::hex() {
    std::array<unsigned char, 32> digest{};
    EVP_DigestFinal_ex(impl_->context, digest.data(), nullptr);
    std::string text;
    for (const unsigned char byte : digest)
        text += fmt::format("{:02x}", byte);
    return text;
}

bool is_sha256_hex(std::string_view text) {
    return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
               return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
           });
}

Result<std::string> sha256_of_file(const std::filesystem::path& path,
                                   const std::function<bool(uint64_t done_bytes)>& on_bytes) {
    constexpr uint64_t piece_bytes = 4 * mebibyte;
    ETNA_TRY(const FileReader file, FileReader::open(path));
    std::vector<std::byte> piece(std::min(piece_bytes, file.bytes()));
    Sha256 sum;
    for (uint64_t done = 0; done < file.bytes();) {
        const MutableByteView part(piece.data(), std::min(piece_bytes, file.bytes() - done));
        ETNA_CHECK(file.read(done, part));
        sum.add(part);
        done += part.size();
        if (on_bytes && !on_bytes(done))
            return Error{ErrorKind::cancelled, "the check of the file was stopped", {}};
    }
    return sum.hex();
}

} // namespace etna::store
