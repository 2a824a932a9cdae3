"""The loop of an agent: build the prompt, send it, run the calls, repeat until there is an answer.

`loop` is the loop, `step` one request, `execution` and `calls` the calls of one reply. Tools, permissions
and sandboxes live beside this folder; nothing here knows a tool by its name.
"""
