"""One package per vendor vocabulary; what they have in common is in miopy/calls."""
