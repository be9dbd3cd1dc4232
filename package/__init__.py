"""What makes the package `ringside` of a checkout."""
