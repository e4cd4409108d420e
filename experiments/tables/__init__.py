"""The papers' tables: each module declares those of one document, or of a part of it, as `EXPERIMENTS`."""

NOT_TO_BE_HAD = {
    "S2783 (protein stability)": "thesis, Tables 5.2 and 5.3",
    "Splice sites, translation initiation and polyadenylation sites": "thesis, Table 5.4",
    "The yeast kernels (CYGD)": "thesis, Tables 5.8, 5.9 and 5.13 to 5.15, Figures 5.4 to 5.6; SLDR, Table 4; Gönen "
    "and Alpaydın (2009), Tables 2 and 3",
    "ADVERT": "thesis, Tables 5.19 and 5.20, Figure 5.9",
    "The kernels of Caltech-101": "MKL-DR, Table 1; its methods are compared on other data",
    "11_Tumors": "SKFE, a row of Table 2",
    "The thesis' copy of USPS (11000 digits)": "thesis, Figures 5.20 and 5.21; another copy is taken",
}  # data that the papers use, and the tables that cannot be reproduced without them
