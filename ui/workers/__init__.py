"""Simulations of the page, in processes of their own: limited, taken in turn between visitors, cancelled when left."""
