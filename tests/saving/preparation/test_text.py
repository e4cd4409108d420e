"""Documents as terms, as scikit-learn's vectorizers count and weigh them."""

import signal
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.pipeline import make_pipeline

from kernelweave.saving.documents import check_pattern
from kernelweave.saving.transformers import as_operation
from prepared import check_operation

DOCUMENTS = [
    "The quick brown fox jumps over the lazy dog.",
    "Étude: the  naïve café — over, over and over!",
    "a b c\t\n dd dd",
    "",
    "fox fox FOX don't can't 3.14 under_score",
    "ﬁne ß İstanbul",
]
NEW = ["the fox of İstanbul", "", "nothing that was there before", "café cafe CAFÉ"]
OPTIONS = [
    {},
    {"ngram_range": (1, 2)},
    {"ngram_range": (2, 3), "token_pattern": r"(?u)\b\w+\b"},
    {"stop_words": "english"},
    {"stop_words": ["the", "over"], "lowercase": False},
    {"strip_accents": "ascii"},
    {"strip_accents": "unicode", "ngram_range": (1, 3)},
    {"binary": True},
    {"min_df": 2},
    {"max_features": 5},
    {"vocabulary": ["over", "fox", "dog"]},
    {"vocabulary": {"fox": 1, "zebra": 0}},
    {"token_pattern": r"(?u)\b(\w)\w+\b"},
    {"token_pattern": r"[a-zA-Z']+|\d+\.?\d{0,2}"},
    {"analyzer": "char", "ngram_range": (1, 3)},
    {"analyzer": "char", "ngram_range": (2, 4), "strip_accents": "unicode"},
    {"analyzer": "char_wb", "ngram_range": (1, 5)},
    {"analyzer": "char_wb", "ngram_range": (3, 3), "lowercase": False},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_counts(options):
    check_operation(CountVectorizer(**options), DOCUMENTS, NEW, names=False)
    vectorizer = CountVectorizer(**options).fit(DOCUMENTS)
    operation = as_operation(vectorizer, "the transformer", 1)
    assert operation.get_feature_names_out().tolist() == vectorizer.get_feature_names_out().tolist()
    assert operation.takes_documents


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize(
    "weighing",
    [
        {},
        {"sublinear_tf": True},
        {"smooth_idf": False},
        {"use_idf": False},
        {"norm": "l1"},
        {"norm": None, "dtype": np.float32},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_tf_idf(options, weighing):
    weighing = {**weighing, "smooth_idf": True} if "vocabulary" in options else weighing
    check_operation(TfidfVectorizer(**options, **weighing), DOCUMENTS, NEW, names=False)


def test_containers_of_documents():
    series = pd.Series(DOCUMENTS, index=list("uvwxyz"))
    expected = CountVectorizer().fit_transform(DOCUMENTS).toarray()
    operation = as_operation(CountVectorizer().fit(DOCUMENTS), "the transformer", 1)
    for documents in (series, series.to_numpy(), np.array(DOCUMENTS, dtype=object), series.to_frame(), tuple(series)):
        np.testing.assert_array_equal(operation.transform(documents).toarray(), expected)
    assert operation.transform([]).shape == (0, expected.shape[1])
    for wrong in ("a document", np.array([["a", "b"]], dtype=object)):
        with pytest.raises(ValueError, match="documents must come as a sequence of texts"):
            operation.transform(wrong)
    for wrong in (None, np.nan, 3):
        with pytest.raises(ValueError, match="document 1 is .*, which is no text"):
            operation.transform(["text", wrong])


def test_counts_and_weights_as_steps():
    pipeline = make_pipeline(CountVectorizer(ngram_range=(1, 2)), TfidfTransformer(sublinear_tf=True))
    check_operation(pipeline, DOCUMENTS, NEW, names=False)
    counts = CountVectorizer().fit_transform(DOCUMENTS)
    check_operation(TfidfTransformer(), counts, counts[:2])
    check_operation(TfidfTransformer(), counts.toarray().astype(float))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.text(max_size=30), min_size=1, max_size=5),
    st.sampled_from(["word", "char", "char_wb"]),
    st.tuples(st.integers(1, 3), st.integers(0, 3)),
    st.sampled_from([None, "ascii", "unicode"]),
    st.booleans(),
)
def test_any_documents(documents, analyzer, sizes, accents, lowercase):
    documents = [*documents, "some words"]
    options = {"analyzer": analyzer, "ngram_range": (sizes[0], sum(sizes)), "strip_accents": accents}
    vectorizer = CountVectorizer(**options, lowercase=lowercase)
    try:
        vectorizer.fit(documents)
    except ValueError:  # no terms
        return
    check_operation(vectorizer, documents, ["other words", *documents[::-1]], names=False)


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?u)\b\w\w+\b",
        r"\b\w+\b",
        r"(?i)[a-z]{3,}",
        r"[^\s]+",
        r"\S+",
        r"\w+|[^\w\s]",
        r"(?:\w{2,5}|!)",
        r"\b(\w+)\b",
        r"\$?\d{1,3}%?",
        r"[\]a-z-]+",
        ".",
    ],
)
def test_patterns_that_are_held(pattern):
    check_pattern(pattern)
    vectorizer = CountVectorizer(token_pattern=pattern)
    check_operation(vectorizer, [*DOCUMENTS, "hmm ]-[ $12% ok!"], NEW, names=False)


@pytest.mark.parametrize(
    "pattern",
    [
        r"(\w+)+x",
        r"(?:\w*)*",
        r"\w+\w+\w+x",
        r"\w*\s*x",
        r"(a|a)*b",
        r"(a|aa)+b",
        r"(\w+|\d+)x",
        r"a{0,99}a{0,99}b",
        r"a{1,5}a{1,5}a{1,5}b",
        r"a?" * 40 + "a" * 40,
        r"(.)\1",
        r"(?=\w+)x",
        r"(?<=a)b",
        r"(a)(b)",
        r"((a))",
        r"(?P<name>a)",
        r"(?#comment)a",
        r"[a-",
        r"(a",
        r"a)",
        r"*a",
        r"[z-a]",
        r"a{3,1}",
        "x|" * 80,
        "x" * 2000,
        r"(?L)a",
        r"a++",
    ],
)
def test_patterns_that_are_not(pattern):
    with pytest.raises(ValueError, match="the pattern"):
        check_pattern(pattern)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from([r"\w", "a", r"\b", "[ab]", "+", "*", "?", "{0,9}", "{2}", "|", "(", ")", "(?:", "."])))
def test_held_patterns_take_little_time(pieces):
    pattern = "".join(pieces)
    try:
        check_pattern(pattern)
    except ValueError:
        return
    operation = as_operation(CountVectorizer(vocabulary=["a"]).fit(["a"]), "the transformer", 1)
    operation = type(operation)(**{**vars(operation), "token_pattern": pattern})
    signal.alarm(20)
    start = time.perf_counter()
    operation.transform(["a" * 2000 + "!"])
    signal.alarm(0)
    assert time.perf_counter() - start < 10.0


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"tokenizer": str.split, "token_pattern": None}, "CountVectorizer with a function as tokenizer"),
        ({"preprocessor": str.lower}, "CountVectorizer with a function as preprocessor"),
        ({"analyzer": str.split}, "CountVectorizer with a function as analyzer"),
        ({"strip_accents": str.lower}, "CountVectorizer with a function as strip_accents"),
        ({"token_pattern": r"(?:\w+)+"}, r"CountVectorizer with a token_pattern that loading would not trust"),
        ({"encoding": "latin-1"}, "CountVectorizer with other documents than text"),
        ({"ngram_range": (1, 1000)}, "CountVectorizer with n-grams of more than 100 parts"),
        ({"dtype": np.complex128}, "CountVectorizer with the dtype complex128"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_refused(options, what):
    vectorizer = CountVectorizer(**options).fit(["some words"])
    with pytest.raises(ValueError, match=f"^kernel 'notes': transformer is {what}.*; pickle the model instead, or"):
        as_operation(vectorizer, "kernel 'notes': transformer", 1)
