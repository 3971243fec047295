// The embedded models' files, byte for byte, in read-only data. ETNA_DEMO_FILE, ETNA_DEMO_DRAFT_FILE and
// ETNA_DEMO_EMBED_FILE are their paths.
    .macro embed name, path
    .balign 64
    .global \name\()_begin
    .global \name\()_end
    .type \name\()_begin, %object
    .type \name\()_end, %object
\name\()_begin:
    .incbin "\path"
\name\()_end:
    .byte 0
    .endm

    .section .rodata
    embed etna_demo, ETNA_DEMO_FILE
    embed etna_demo_draft, ETNA_DEMO_DRAFT_FILE
    embed etna_demo_embed, ETNA_DEMO_EMBED_FILE
    .section .note.GNU-stack, "", %progbits
