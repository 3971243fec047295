// A row of the batch, mirrored by kernels::RowInfo.
#define INPUT_IS_SLOT 0x80000000u
#define NO_PAGE 0xFFFFFFFFu
#define PAGE_TOKENS 32u

struct RowInfo {
    uint source;       // token id, or slot with INPUT_IS_SLOT
    uint position;     // in the sequence
    uint attend_begin; // the row attends to positions [attend_begin, attend_end), at least one
    uint attend_end;
    uint table;        // first word of the sequence's page table
    uint first_page;   // of consecutive pages, or NO_PAGE
};
layout(buffer_reference, std430, buffer_reference_align = 8) readonly buffer RowInfos { RowInfo v[]; };

// Page of a position; clamped, because nothing else guards against a wrong table.
uint page_of(RowInfo row, Words tables, uint position, uint pages) {
    uint number = position / PAGE_TOKENS;
    uint page = row.first_page == NO_PAGE ? tables.v[row.table + number] : row.first_page + number;
    return min(page, pages - 1);
}
