"""What NCCL's search finds between GPUs and NICs: rings inside nodes, and the NICs of channels between them."""
