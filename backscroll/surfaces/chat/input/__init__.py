"""The user's input: the line, keys, mentions, pastes, attachments, questions and interrupts."""
