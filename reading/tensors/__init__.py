"""Tensors in files: safetensors, npy, npz and what torch.save writes, read in pieces."""
