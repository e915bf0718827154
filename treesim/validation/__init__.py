"""Checks of what users and files give: arrays, single values, and values out of JSON."""
