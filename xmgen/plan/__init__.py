"""Experiment -> Plan: which resources an experiment takes."""
