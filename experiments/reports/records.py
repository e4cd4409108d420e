"""The figures of full runs that the digest needs, kept in one small JSON file beside the pages of the tables.

A record has what a table is, the version of the code that computed it, and for each data set and method means and
standard deviations, ours and the paper's, of score, support vectors and total cost. A run of a table replaces its
record; the others stay, so that the digest can be written without the files of every run.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from experiments.outcome import COMPARED
from kernelweave.compare.cells import write_atomically

RECORDS = "results.json"
_DECIMALS = 4
_ABOUT = ("title", "source", "version", "score", "test", "baseline")
_PAPER = {"test": "score", "support": "support", "total_cost": "cost"}  # how a paper's figures call the measures


def read_records(folder: Any) -> dict[str, dict[str, Any]]:
    """The records of a folder by table; none where it has no file of them.

    Parameters
    ----------
    folder : path
    """
    path = Path(folder) / RECORDS
    return json.loads(path.read_text("utf-8")) if path.is_file() else {}


def write_records(folder: Any, records: dict[str, dict[str, Any]]) -> None:
    """Write the records of all tables, one line for each data set and method, so that changes can be read.

    Parameters
    ----------
    folder : path
    records : dict from table to record
    """
    tables = []
    for name, record in records.items():
        lines = ",\n".join(f"   {json.dumps(result, ensure_ascii=False)}" for result in record["results"])
        rest = {key: value for key, value in record.items() if key != "results"}
        head = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in rest.items())
        tables.append(f' {json.dumps(name)}: {{\n{head},\n  "results": [\n{lines}\n  ]\n }}')
    write_atomically(Path(folder) / RECORDS, "{\n" + ",\n".join(tables) + "\n}\n")


def record_of(content: dict[str, Any]) -> dict[str, Any]:
    """The record of a table from the JSON of its full run.

    Parameters
    ----------
    content : dict
        What `write_report` wrote, of an outcome of any kind.

    Returns
    -------
    dict
    """
    if "results" in content:  # errors of any estimators
        results = [_of_contender(entry) for entry in content["results"]]
        return {**_about(content), "results": results}
    parts = content.get("data_sets", [content])
    several = "data_sets" in content
    results = [_of_method(row, part["title"] if several else "") for part in parts for row in part["methods"]]
    return {**_about({**parts[0], **content}), "results": results}


def _about(content: dict[str, Any]) -> dict[str, Any]:
    return {key: content[key] for key in _ABOUT if key in content}


def _of_contender(entry: dict[str, Any]) -> dict[str, Any]:
    paper = {} if entry["paper"] is None else {"paper": {"test": list(entry["paper"])}}
    own = {"test": _rounded(entry["mean"], entry["std"])}
    return {"data": entry["data"], "method": entry["method"], **own, **paper, "best": entry["best"]}


def _of_method(row: dict[str, Any], data: str) -> dict[str, Any]:
    printed = row["paper"] or {}
    paper = {
        measure: [printed[name], printed[f"{name}_std"]]
        for measure, name in _PAPER.items()
        if printed.get(name) is not None
    }
    tested = {measure: round(result["pvalue"], _DECIMALS) for measure, result in row["against_baseline"].items()}
    return {
        "data": data,
        "method": row["method"],
        **{measure: _rounded(row["mean"][measure], row["std"][measure]) for measure in COMPARED},
        **({"paper": paper} if paper else {}),
        **({"p": tested} if tested else {}),
    }


def _rounded(mean: float, std: float) -> list[float]:
    return [round(mean, _DECIMALS), round(std, _DECIMALS)]
