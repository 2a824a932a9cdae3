"""Rules by kind of tool: the subject of a call, and the part of its result that a later step most likely needs."""
