"""The page of the benchmark, made of the table of cells alone.

============  ======================================================================================
module        contents
============  ======================================================================================
`shared`      the cells on which methods can be compared
`ranks`       mean ranks, and the tests of Friedman, Nemenyi, Wilcoxon and Holm
`findings`    what the cells show, in sentences
`tables`      tables in Markdown
`pictures`    critical differences, and accuracy against costs; `labels` places the names at marks
`writing`     `write_benchmark_page`
============  ======================================================================================
"""
