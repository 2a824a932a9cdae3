"""Users' preferences and lasting facts about users, read from their messages. Pure."""
