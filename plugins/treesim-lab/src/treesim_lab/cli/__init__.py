"""The commands of this package, one file each."""
