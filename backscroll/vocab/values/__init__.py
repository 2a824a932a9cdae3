"""Types and checks of single values: times, fields, patterns, valid Unicode, nesting."""
