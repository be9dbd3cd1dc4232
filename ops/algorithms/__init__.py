"""One family of algorithms a file; every module here is found and registered by `ops.registry`."""
