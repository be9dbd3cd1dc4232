"""What somebody measured on a set-up of his own, in the place of what the layers have."""
