"""The documents, and what makes those of them that are made from the code: `python -m docs` writes all."""
