"""FASTA files and the weights of their sequences."""

import gzip
import inspect

import numpy as np
import pytest

import minprobflow as mpf
from minprobflow.data import AMINO_ACIDS, as_text, datasets, read_fasta, repeated, sequence_weights
from minprobflow.data.fasta import parse_fasta


@pytest.mark.parametrize("packed", [False, True])
def test_sequences_are_read_and_written_back(tmp_path, packed):
    text = ">>S1 first\nAC-\nWY\n\n>S2\r\nDEF\r\nGH\r\n"
    path = tmp_path / "alignment.fasta"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    alignment = read_fasta(path)
    assert alignment.names == ["S1 first", "S2"]
    assert alignment.text() == ["AC-WY", "DEFGH"]
    assert alignment.rows.dtype == np.uint8 and alignment.rows[0].tolist() == [1, 2, 0, 19, 20]


def test_insertions_are_left_out_and_unknown_residues_are_gaps():
    assert parse_fasta(">a\nAcd.C\n>b\nXC").text() == ["AC", "-C"]
    dna = parse_fasta(">a\nACGT-", alphabet="-ACGT")
    assert dna.rows.tolist() == [[1, 2, 3, 4, 0]]


@pytest.mark.parametrize(
    ("text", "match"),
    [("", "no sequence"), ("ACD\n>a\nACD", "before the first name"), (">a\nACD\n>b\nAC", "b has 2 columns"), (">a\nA1", "letter '1'")],
)
def test_what_is_no_alignment_is_refused(text, match):
    with pytest.raises(mpf.InputError, match=match):
        parse_fasta(text)


@pytest.mark.parametrize(
    ("text", "alphabet", "match"),
    [
        (">a\nA\u00c9", AMINO_ACIDS, "letter '\u00c9', not one of"),
        (">a\nA\u00e9", AMINO_ACIDS, "letter '\u00e9', not one of"),  # not an insertion
        (">a\nA\u4e2d", AMINO_ACIDS, "letter '\u4e2d', not one of"),
        (">a\nacgt", AMINO_ACIDS, "no columns: lower-case letters"),
        (">a\nA", "", "alphabet is of length 0: give text of 2 to 254 letters"),
        (">a\nA", "A" * 300, "of length 300"),
        (">a\nA", "-AA", "'A' twice"),
        (">a\nA", "-acgt", "the alphabet has 'a': use capitals"),
        (">a\nA", "-A\u00c9", "the alphabet has '\u00c9'"),
        (">a\nA", None, "alphabet is None"),
        (b">a\nA", AMINO_ACIDS, "is bytes, not text"),
    ],
)
def test_letters_and_alphabets_that_have_no_value_are_refused(text, alphabet, match):
    with pytest.raises(mpf.InputError, match=match):
        inspect.unwrap(parse_fasta)(text, alphabet=alphabet)  # without the type checks that tests run with


def test_titles_may_hold_any_letters(tmp_path):
    (tmp_path / "a.fasta").write_text(">prot\u00e9ine\nAC\n", "utf-8")
    alignment = read_fasta(tmp_path / "a.fasta")
    assert alignment.names == ["prot\u00e9ine"] and alignment.text() == ["AC"]


def test_values_without_a_letter_are_refused():
    assert as_text(np.asarray([[1.0, 2.0]])) == ["AC"]
    for wrong in (21, -1, 0.5):
        with pytest.raises(mpf.InputError, match="from 0 to 20"):
            as_text(np.asarray([[0, wrong]]))


def test_damaged_files_are_refused(tmp_path):
    with pytest.raises(mpf.InputError, match="no file"):
        read_fasta(tmp_path / "absent.fasta")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b">a\nACD" * 99)[:-20])
    with pytest.raises(mpf.InputError, match="cannot be unpacked"):
        read_fasta(tmp_path / "cut.gz")


@pytest.mark.parametrize("identity", [0.5, 0.8, 1.0])
def test_weights_count_relatives(identity):
    rng = np.random.default_rng(0)
    parents = rng.integers(21, size=(40, 10))
    rows = np.where(rng.random((300, 10)) < 0.15, rng.integers(21, size=(300, 10)), parents[rng.integers(40, size=300)]).astype(np.uint8)
    alike = [sum(np.mean(a == b) >= identity - 1e-9 for b in rows) for a in rows]
    np.testing.assert_allclose(sequence_weights(rows, identity), 1 / np.asarray(alike))
    with pytest.raises(mpf.InputError, match="identity"):
        sequence_weights(rows, 80.0)


def test_rows_are_repeated_by_weight():
    rows = np.arange(50, dtype=np.uint8)[:, None]
    weights = np.random.default_rng(1).random(50)
    counts = np.bincount(repeated(rows, weights, 1000)[:, 0], minlength=50)
    assert counts.sum() == 1000
    assert np.all(np.abs(counts - 1000 * weights / weights.sum()) < 1)


@pytest.mark.skipif(not datasets()["ww-domain"].is_present(), reason="the WW alignment is not in the data folder (set MINPROBFLOW_DATA)")
def test_the_ww_domain():
    data = mpf.load_dataset("ww-domain")
    rows = np.concatenate([data.train, data.valid, data.test])
    assert rows.shape == (7503, 31) and len(np.unique(rows, axis=0)) == 7503
    text = as_text(rows)
    assert "LPPGWEKRMSRSSGRVYYFNHITNASQWERP" in text  # human Pin1
    assert np.mean([t[4] == "W" for t in text]) > 0.8 and AMINO_ACIDS[0] == "-"
