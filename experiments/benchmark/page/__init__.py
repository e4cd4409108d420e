"""The page of the benchmark, made of the table of cells alone.

============  ======================================================================================
module        contents
============  ======================================================================================
`ranks`       cells that can be compared, mean ranks, and the tests of Friedman, Nemenyi, Wilcoxon and Holm
`findings`    what the cells show, in sentences
`tables`      tables in Markdown
`pictures`    critical differences, and accuracy against costs
`writing`     `write_benchmark_page`
============  ======================================================================================
"""
