"""The English reader: names, properties, actions and relations of people and things.

`reader` is the entry point, `message` resolves "I" and "she" while a message is read, `grammar` has words, phrases and clauses; the other modules are one kind of
statement each.
"""
