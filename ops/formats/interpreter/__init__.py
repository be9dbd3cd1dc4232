"""What carrying out the programs of several formats has in common."""
