"""One package per vendor vocabulary; each translates to the core and shares nothing else."""
