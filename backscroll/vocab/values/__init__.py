"""Single values: times, fields, patterns, valid Unicode, nesting. No noun of the record."""
