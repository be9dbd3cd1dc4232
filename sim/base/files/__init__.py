"""Files that people give and get: read whole or refused, written whole or not at all."""
