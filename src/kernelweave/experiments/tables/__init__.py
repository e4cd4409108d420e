"""The papers' tables: a folder for each document, in it a module for each table, which declares `EXPERIMENT`."""
