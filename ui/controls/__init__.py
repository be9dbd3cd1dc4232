"""Where a person chooses: settings, fields of parameters, what-ifs, what stands beside a run."""
