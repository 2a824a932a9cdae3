"""Build a prompt, from the request to what is sent: `builder` lists the steps.

`request` checks the arguments, `inputs` reads the thread, `composer` assembles what is already shown, `insertions` adds
what is new, `compaction` condenses, `placement` and `prefixes` record what was sent. Decisions are made in the pure room
`assemble`.
"""
