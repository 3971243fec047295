#include "core/kernels/self_check/cache.hpp"

#include "core/base/half.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

namespace etna::kernels {
namespace {

uint64_t element_bytes(CacheFormat format) {
    return format == CacheFormat::f32 ? 4 : 2;
}

/// A number in (-2, 2) at `to`, as the cache stores it.
double put_number(CacheFormat format, Noise& noise, std::byte* to) {
    if (format == CacheFormat::f32) {
        const float number = 2 * noise.number();
        std::memcpy(to, &number, sizeof number);
        return number;
    }
    const uint32_t bits = noise.bits();
    const auto half = static_cast<uint16_t>((bits & 0x83FF) | (12 + (bits >> 16) % 4) << 10); // from 2^-3
    std::memcpy(to, &half, sizeof half);
    return half_to_float(half);
}

double number_at(CacheFormat format, const std::byte* from) {
    if (format == CacheFormat::f32) {
        float number = 0;
        std::memcpy(&number, from, sizeof number);
        return number;
    }
    uint16_t half = 0;
    std::memcpy(&half, from, sizeof half);
    return half_to_float(half);
}

/// What storing adds to a number's distance; the direction of rounding to f16 is the driver's choice.
double storing_error(CacheFormat format, double number) {
    return format == CacheFormat::f32 ? 0 : 0x1p-10 * std::abs(number) + 0x1p-24;
}

/// The cache without its memory.
TrialCache shaped(const CacheShape& shape) {
    TrialCache cache;
    const uint32_t used = divide_up(shape.places, page_tokens);
    cache.device = {
        .format = shape.format, .kv_heads = shape.kv_heads, .head_dim = shape.head_dim, .pages = used + 1};
    cache.head_stride = static_cast<uint32_t>(round_up(shape.head_dim, 8));
    cache.table.assign(TrialCache::table_start, used); // a page that is not the sequence's
    for (uint32_t page = used; page > 0; --page)
        cache.pages.push_back(page - 1);
    cache.table.insert(cache.table.end(), cache.pages.begin(), cache.pages.end());
    return cache;
}

uint64_t bytes_of(const CacheShape& shape, const TrialCache& cache) {
    return layer_cache_bytes(shape.format, cache.device.pages, shape.kv_heads, shape.head_dim);
}

} // namespace

uint64_t TrialCache::element(uint32_t place, uint32_t kv_head, uint32_t dim) const {
    const uint64_t row = uint64_t{pages[place / page_tokens]} * device.kv_heads + kv_head;
    return (row * page_tokens + place % page_tokens) * head_stride + dim;
}

TrialCache put_cache(Trial& trial, const CacheShape& shape) {
    TrialCache cache = shaped(shape);
    const std::vector<std::byte> unwritten(bytes_of(shape, cache), std::byte{0xFF}); // NaN
    cache.device.keys = trial.put(unwritten);
    cache.device.values = trial.put(unwritten);
    return cache;
}

TrialCache put_noise_cache(Trial& trial, Noise& noise, const CacheShape& shape, CacheContent& content) {
    TrialCache cache = shaped(shape);
    const auto fill = [&](std::vector<double>& numbers) {
        std::vector<std::byte> bytes(bytes_of(shape, cache));
        numbers.reserve(uint64_t{shape.places} * shape.kv_heads * shape.head_dim);
        for (uint32_t place = 0; place < shape.places; ++place) {
            for (uint32_t head = 0; head < shape.kv_heads; ++head) {
                std::byte* to = bytes.data() + cache.element(place, head, 0) * element_bytes(shape.format);
                for (uint32_t d = 0; d < shape.head_dim; ++d, to += element_bytes(shape.format))
                    numbers.push_back(put_number(shape.format, noise, to));
            }
        }
        return trial.put(bytes);
    };
    cache.device.keys = fill(content.keys);
    cache.device.values = fill(content.values);
    return cache;
}

void expect_place(Trial& trial, const TrialCache& cache, vk::Range keys_or_values, uint32_t place,
                  uint32_t kv_head, const std::vector<Bounded>& expected) {
    const CacheFormat format = cache.device.format;
    const uint64_t bytes_each = element_bytes(format);
    const vk::Range range =
        keys_or_values.part(cache.element(place, kv_head, 0) * bytes_each, expected.size() * bytes_each);
    trial.expect(range, [=](ByteView content) {
        for (std::size_t d = 0; d < expected.size(); ++d) {
            const double stored = number_at(format, content.data() + d * bytes_each);
            const double tolerance = expected[d].tolerance + storing_error(format, expected[d].value);
            if (!(std::abs(stored - expected[d].value) <= tolerance))
                return false;
        }
        return true;
    });
}

} // namespace etna::kernels
