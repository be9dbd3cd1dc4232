"""Machine + schedule -> trace. Knows no collective by name and draws nothing."""
