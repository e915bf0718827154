"""Cost of the algorithms: published formulas as functions of topology, compared with the papers' numbers.

`featherstone_2005` and `featherstone_2010` contain the formulas, `robot` applies them to any topology, and
`papers` compares every number in the papers with that of the formulas.
"""
