"""A question, written once: what can be asked, by which methods, in which words, and when two questions are the same.

kinds      every kind of question: the sums its answer is made of, and how it is called
methods    every method: what it needs, whom it trusts, which one is taken by default
query      a question as a value, checked at birth
said       from words to a question: what Python, the command line and HTTP take, and refuse alike
sameness   the name under which the answer to a question is kept
answers    an answer and an expectation as values, and as JSON
words      a question as ledgers show it

Federations in one process and on a wire carry the same question. Everything here is public and pure; `kinds` and
`methods` load no numpy, so that help can be shown quickly.
"""
