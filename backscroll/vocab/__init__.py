"""The domain types: frozen values with validation and JSON forms only. Imports nothing above it."""
