"""What several commands share: types and options, and the request they make; tables, figures and progress."""
