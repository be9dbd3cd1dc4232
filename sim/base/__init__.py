"""What all else stands on, with nothing of the field in it: arrays, the compiler, XML and YAML with line numbers."""
