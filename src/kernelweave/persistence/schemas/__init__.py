"""What prediction reads of each class that a saved model may hold, and the check of a loaded model against it.

==============  ====================================================================================
module          contents
==============  ====================================================================================
`language`      kinds of values, of which a schema consists, and what checks an object against one
`rules`         conditions on several attributes of an object at once
`operations`    preparations of views, and the operations of which they consist
`kernels`       views and kernels
`features`      explicit features of kernels, and models on them
`recipes`       `CohortModel`
`rivals`        the models of `recipes.baselines`
`models`        estimators, combiners, machines and gates; `check_model`
==============  ====================================================================================
"""
