"""The way of a prompt, from what is asked to what is sent: `builder` walks it step by step.

`request` checks what is asked, `sheet` reads, `composer` puts together what is shown already, `insertions` finds what is new to say, `compaction` condenses, `placement` and
`prefixes` write down what was sent. Everything is decided in the pure room `assemble`.
"""
