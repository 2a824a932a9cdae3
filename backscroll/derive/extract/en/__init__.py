"""The reader of English: names, who is what, who does what, who is related to whom.

`reader` is the entry point, `message` holds who "I" and "she" are while a message is read, `grammar` has words, phrases and clauses; the other modules are one kind of
statement each.
"""
