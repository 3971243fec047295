// The demo model's file, byte for byte, in read-only data. ETNA_DEMO_FILE is its path.
    .section .rodata
    .balign 64
    .global etna_demo_begin
    .global etna_demo_end
    .type etna_demo_begin, %object
    .type etna_demo_end, %object
etna_demo_begin:
    .incbin ETNA_DEMO_FILE
etna_demo_end:
    .byte 0
    .section .note.GNU-stack, "", %progbits
