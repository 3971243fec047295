// The page's files, see embed.py, in read-only data. ETNA_PAGE_BYTES is the path of page.bytes.
    .macro embed path
    .incbin "\path"
    .endm

    .section .rodata
    .global etna_page_bytes
    .type etna_page_bytes, %object
etna_page_bytes:
    embed ETNA_PAGE_BYTES
    .byte 0
    .size etna_page_bytes, . - etna_page_bytes
    .section .note.GNU-stack, "", %progbits
