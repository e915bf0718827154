"""Mimic joints: conversion between independent coordinates and those of the spanning tree."""
