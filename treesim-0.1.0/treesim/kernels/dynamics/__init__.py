"""Forward and inverse dynamics, the mass matrix and its sparse factors."""
