"""Drawing of the chat: answers as they arrive, tool lines, diffs, status, the picker."""
