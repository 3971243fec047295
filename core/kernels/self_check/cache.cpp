#include "core/kernels/self_check/cache.hpp"

#include "core/base/half.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>

namespace etna::kernels {
namespace {

constexpr uint32_t block_elements = 32; ///< of q8_0, that share a scale

template <class T>
T load(ByteView bytes, uint64_t at) {
    T value{};
    std::memcpy(&value, bytes.subspan(at, sizeof value).data(), sizeof value);
    return value;
}

template <class T>
void store(std::span<std::byte> bytes, uint64_t at, T value) {
    std::memcpy(bytes.subspan(at, sizeof value).data(), &value, sizeof value);
}

/// A half with a random fraction and one of four neighbouring exponents, the least of which is `exponent`.
uint16_t random_half(Noise& noise, uint32_t sign_mask, uint32_t exponent) {
    const uint32_t bits = noise.bits();
    return static_cast<uint16_t>((bits & (sign_mask | 0x3FFU)) | (exponent + (bits >> 16) % 4) << 10);
}

/// Stores a number in (-2, 2).
void put_number(CacheFormat format, Noise& noise, std::span<std::byte> bytes, RunCache::ElementOffset at) {
    switch (format) {
    case CacheFormat::f32:
        store(bytes, at.element, 2 * noise.number());
        break;
    case CacheFormat::f16:
        store(bytes, at.element, random_half(noise, 0x8000, 12)); // from 2^-3
        break;
    case CacheFormat::q8_0:
        store(bytes, at.element, static_cast<int8_t>(static_cast<int32_t>(noise.bits() % 255) - 127));
        break;
    }
}

void put_zero(CacheFormat format, std::span<std::byte> bytes, RunCache::ElementOffset at) {
    const uint64_t element_bytes = format == CacheFormat::f32 ? 4 : format == CacheFormat::f16 ? 2 : 1;
    std::ranges::fill(bytes.subspan(at.element, element_bytes), std::byte{0});
}

double number_at(CacheFormat format, ByteView bytes, RunCache::ElementOffset at) {
    if (format == CacheFormat::f32)
        return load<float>(bytes, at.element);
    if (format == CacheFormat::f16)
        return half_to_float(load<uint16_t>(bytes, at.element));
    return double{half_to_float(load<uint16_t>(bytes, at.scale))} * load<int8_t>(bytes, at.element);
}

/// What storing adds to a number's distance; the direction of rounding to f16 is the driver's choice.
double storing_error(CacheFormat format, const std::vector<Bounded>& head, std::size_t d) {
    if (format == CacheFormat::f32)
        return 0;
    if (format == CacheFormat::f16)
        return 0x1p-10 * std::abs(head[d].value) + 0x1p-24;
    double largest = 0;
    const std::size_t first = d / block_elements * block_elements;
    for (std::size_t i = first; i < std::min(first + block_elements, head.size()); ++i)
        largest = std::max(largest, std::abs(head[i].value) + head[i].tolerance);
    return largest * (0.5 / 127 + 0x1p-9); // half a step, and the scale's own rounding
}

/// The cache without its memory.
RunCache shaped(const CacheShape& shape) {
    RunCache cache;
    const uint32_t used = divide_up(shape.positions, page_tokens);
    cache.device = {.formats = {shape.format, shape.format},
                    .kv_heads = shape.kv_heads,
                    .head_dim = shape.head_dim,
                    .pages = used + 1};
    cache.head_stride = static_cast<uint32_t>(round_up(shape.head_dim, 8));
    cache.table.assign(RunCache::table_start, used); // a page that is not the sequence's
    for (uint32_t page = used; page > 0; --page)
        cache.pages.push_back(page - 1);
    cache.table.insert(cache.table.end(), cache.pages.begin(), cache.pages.end());
    return cache;
}

uint64_t bytes_of(const CacheShape& shape, const RunCache& cache) {
    return layer_cache_bytes(shape.format, cache.device.pages, shape.kv_heads, shape.head_dim);
}

} // namespace

RunCache::ElementOffset RunCache::offset_of(uint32_t position, uint32_t kv_head, uint32_t dim) const {
    const CacheFormat format = device.formats.keys;
    const uint64_t element_bytes = format == CacheFormat::f32 ? 4 : format == CacheFormat::f16 ? 2 : 1;
    const uint64_t piece = uint64_t{pages[position / page_tokens]} * device.kv_heads + kv_head;
    const uint64_t start = piece * layer_cache_bytes(format, 1, 1, device.head_dim);
    const uint64_t place_scales = uint64_t{4} * divide_up(head_stride, 2 * block_elements);
    const uint64_t in_page = position % page_tokens;
    return {.element = start + (in_page * head_stride + dim) * element_bytes,
            .scale = start + uint64_t{page_tokens} * head_stride + in_page * place_scales +
                     uint64_t{2} * (dim / block_elements)};
}

RunCache put_cache(KernelRun& run, const CacheShape& shape) {
    RunCache cache = shaped(shape);
    const std::vector<std::byte> unwritten(bytes_of(shape, cache), std::byte{0xFF}); // NaN
    cache.device.keys = run.put(unwritten);
    cache.device.values = run.put(unwritten);
    return cache;
}

RunCache put_noise_cache(KernelRun& run, Noise& noise, const CacheShape& shape, CacheContent& content) {
    RunCache cache = shaped(shape);
    const auto fill = [&](std::vector<double>& numbers) {
        constexpr std::byte unwritten{0x7E}; // NaN in f16: no kernel may use a position that is not the row's
        std::vector<std::byte> bytes(bytes_of(shape, cache), unwritten);
        numbers.reserve(uint64_t{shape.positions} * shape.kv_heads * shape.head_dim);
        for (uint32_t position = 0; position < shape.positions; ++position) {
            for (uint32_t head = 0; head < shape.kv_heads; ++head) {
                for (uint32_t d = 0; d < shape.head_dim; ++d) {
                    const RunCache::ElementOffset at = cache.offset_of(position, head, d);
                    if (shape.format == CacheFormat::q8_0 && d % block_elements == 0)
                        store(std::span(bytes), at.scale, random_half(noise, 0, 5)); // from 2^-10 to 2^-6
                    put_number(shape.format, noise, bytes, at);
                    numbers.push_back(number_at(shape.format, bytes, at));
                }
                for (uint32_t d = shape.head_dim; d < cache.head_stride; ++d)
                    put_zero(shape.format, bytes, cache.offset_of(position, head, d));
            }
        }
        return run.put(bytes);
    };
    cache.device.keys = fill(content.keys);
    cache.device.values = fill(content.values);
    return cache;
}

void expect_position(KernelRun& run, const RunCache& cache, vk::Range keys_or_values, uint32_t position,
                     uint32_t kv_head, const std::vector<Bounded>& expected) {
    run.expect(keys_or_values, [=](ByteView content) {
        const CacheFormat format = cache.device.formats.keys;
        for (uint32_t d = 0; d < expected.size(); ++d) {
            const double stored = number_at(format, content, cache.offset_of(position, kv_head, d));
            const double tolerance = expected[d].tolerance + storing_error(format, expected, d);
            if (!(std::abs(stored - expected[d].value) <= tolerance))
                return false;
        }
        return true;
    });
}

} // namespace etna::kernels
