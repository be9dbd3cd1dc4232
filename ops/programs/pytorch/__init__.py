"""`torch.distributed`, on numpy arrays or on the tensors of an installed PyTorch."""
