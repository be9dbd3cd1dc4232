"""What training steps are made of: models, layers, buckets, losses, and a world of ranks that compute and talk."""
