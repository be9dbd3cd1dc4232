"""The questions of lessons, asked and answered beside their runs."""
