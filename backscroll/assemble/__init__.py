"""From a history and a budget to a prompt that is valid, fits and can be explained. Pure."""
