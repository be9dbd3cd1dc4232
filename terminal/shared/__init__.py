"""What several commands share: types and options, and the plan they make; tables, figures and progress."""
