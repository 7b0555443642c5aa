"""What the functions of every dialect are made of: their decorator, checks of arguments, passes.

No vendor's numbers are here, nor names that are one vendor's own: a dialect gives those. Dropout
names the arguments that MIOpen and cuDNN spell alike.
"""
