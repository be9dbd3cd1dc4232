"""Where a person chooses: the sidebar, fields of parameters, what-ifs, what stands beside a run."""
