"""What the algorithms cost: the published formulas as functions of topology, beside the numbers the papers print.

`featherstone_2005` and `featherstone_2010` hold the formulas, `robot` applies them to any topology, and `papers` sets
every number the papers print beside the one the formulas give.
"""
