"""What a person types: the line, keys, mentions, pastes, attachments, questions and interrupts."""
