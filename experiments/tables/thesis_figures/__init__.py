"""Figures 5.19 to 5.22 of M. Gönen's PhD thesis (Boğaziçi University, 2010), as tables."""
