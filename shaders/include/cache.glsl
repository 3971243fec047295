// The paged key/value cache: [page][kv_head][PAGE_TOKENS][head_stride], f32 or f16 (two a word), head_stride = head_dim
// rounded up to 8 with zeros behind, so that 16-byte loads stay inside a place.
#define CACHE_f32 0
#define CACHE_f16 1

// First element of a place.
uint cache_place(uint page, uint kv_heads, uint kv_head, uint place, uint head_stride) {
    return ((page * kv_heads + kv_head) * PAGE_TOKENS + place % PAGE_TOKENS) * head_stride;
}
