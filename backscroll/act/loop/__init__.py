"""The loop of an agent: build the prompt, send it, carry out the calls, observe, until there is an answer.

`loop` is the loop, `step` one request, `acting` and `calls` the calls of one reply, `events` what watchers are told. Tools, permissions
and sandboxes live beside this folder; nothing here knows a tool by its name.
"""
