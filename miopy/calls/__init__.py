"""What the functions of every dialect are made of: their decorator, checks of arguments, passes.

No vendor's names and numbers are here; a dialect gives its own.
"""
