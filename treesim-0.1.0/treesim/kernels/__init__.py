"""Numeric kernels: one file per algorithm; functions on small tuples and arrays, without stateful classes and I/O.

A *step* is the mathematics of one body, written on the tuples of `algebra.linear` and `algebra.spatial`. A *sweep* is a
loop over bodies (forward or outward: parents first; backward or inward: children first) or along a body's path to the
base. Only sweeps read and write tables. Functions named `*_states` are entries. They allocate scratch memory, run a
kernel for each of `count` states stored consecutively in flat arrays, and return a status (see `entries.status`). Every
function runs on any number type; the generic engine compiles the same source.

Subpackages, each of which imports only from those before it:

| subpackage | content |
|---|---|
| algebra | Numbers, vectors, matrices, spatial algebra, joint transforms, and the tables that kernels read and write. |
| entries | Entries: functions that run a kernel for many states, generated from a declaration of its arrays. |
| kinematics | Positions, velocities, accelerations and Jacobians of bodies, frames and the centre of mass. |
| dynamics | Forward and inverse dynamics, the mass matrix and its sparse factors. |
| published | Published algorithms, for comparison with treesim's own. |
| published.parallel | Published algorithms for parallel machines: constraint forces, assemblies, cyclic reduction. |
| mimic | Mimic joints: conversion between independent coordinates and those of the spanning tree. |
| operational | Inverse operational-space inertia of frames, and derived quantities. |
| constrained | Constrained forward dynamics: frames fixed in the world or to each other. |
| stepping | One time step by each compiled integrator. |
| contact | One time step with contact, joint limits and joint friction: collision, constraint rows, solvers, work. |

Notation (RBDA = Featherstone, Rigid Body Dynamics Algorithms, 2008; F05, F10 = Featherstone 2005, 2010; J91 = Jain):

| name | symbol | meaning |
|---|---|---|
| parent[i] | λ(i) | parent of body i; body 0 is the fixed base |
| dof_parent[k] | λe(k) | parent of degree of freedom k in the expanded graph, -1 = none |
| X | iXλ(i) | transform between body i and its parent; R, p: child's axes and origin in the parent |
| screw[k] | S | unit screw of degree of freedom k; every joint is a sequence of unit screws fixed in its body |
| v, a, c | v, a, c | velocity, acceleration, velocity-product acceleration v x S qd, in body coordinates |
| I, Ic, IA | I, I^c, I^A | rigid, composite and articulated inertia; R and P for the latter two in kernels after J91 |
| pA, U, D, u | p^A, U, D, u | bias force, IA S, S' U, tau - S' pA |
| L, D | L, D | factors H = L' D L or H = L' L, rows packed by ancestor depth |
| W | 0Xi | pose of body i in the world |
| Omega | Ω | S H^-1 S', the inverse inertia between bodies (F10, appendix B) |

Coordinates are Featherstone's: angular part first, each body in a frame whose z axis is its joint's axis.
"""
