"""RNNs and memory: no vendor, no device."""
