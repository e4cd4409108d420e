"""Tables of M. Gönen's PhD thesis (Boğaziçi University, 2010), chapter 5."""
