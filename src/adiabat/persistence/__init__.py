"""Models in files: one safetensors file, written whole or not at all, that executes nothing."""
