"""What the chat draws: answers as they come, tool lines, diffs, status, the picker."""
