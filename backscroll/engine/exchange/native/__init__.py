"""Native files: whole logs, in and out, looked over before anything is written, and believed only as far as they prove themselves."""
