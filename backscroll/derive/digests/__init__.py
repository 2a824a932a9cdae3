"""Rules by kind of tool: what a call was about, and what of its result a later step is most likely to need."""
