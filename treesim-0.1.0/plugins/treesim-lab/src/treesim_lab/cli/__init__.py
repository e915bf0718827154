"""Commands of this package, one module each."""
