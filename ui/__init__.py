"""Everything a person looks at. Views depend on a trace and an instant; nothing here reaches back."""
