"""Families about lending and learning: a library, a term's courses."""

from __future__ import annotations

import random
from typing import Any

from assay.policy.environments.families_trade import Calls
from assay.policy.environments.family_kit import (
    ITEMS,
    TEXT,
    adds,
    arg,
    cell,
    changes,
    codes,
    gets,
    lists,
    people,
    sets,
)
from assay.policy.environments.table_task import TableTask


def library(rng: random.Random) -> TableTask:
    """Take back a member's books and lend another."""
    names = people(rng, 4)
    members = dict(zip(codes(rng, "M", 4), ({"name": n, "fee": 0} for n in names), strict=True))
    member = rng.choice(list(members))
    members[member]["fee"] = rng.randint(1, 20)
    titles = [f"The {item}" for item in rng.sample(ITEMS, 8)]
    books: dict[str, Any] = {}
    for code, title in zip(codes(rng, "K", 8), titles, strict=True):
        books[code] = {"title": title, "copies": rng.randint(1, 4)}
    held = rng.sample(list(books), rng.randint(2, 3))
    wanted = rng.choice([code for code in books if code not in held])
    loans = {f"{member}+{code}": {"member": member, "book": code} for code in held}
    for other in members:
        if other != member:
            code = rng.choice(list(books))
            loans[f"{other}+{code}"] = {"member": other, "book": code}
    oracle: Calls = [
        ("list_members", {}),
        ("list_loans", {"member": member}),
        ("list_books", {"title": books[wanted]["title"]}),
    ]
    oracle += [("return_book", {"loan_id": f"{member}+{code}"}) for code in held]
    oracle.append(("settle_fee", {"member_id": member}))
    oracle.append(("lend_book", {"member_id": member, "book_id": wanted}))
    goal_books = {code: {"copies": books[code]["copies"] + 1} for code in held}
    goal_loans: dict[str, Any] = {f"{member}+{code}": None for code in held}
    goal_loans[f"{member}+{wanted}"] = {"member": member, "book": wanted}
    return TableTask(
        f"{members[member]['name']} brings back everything they have on loan, pays their fee and "
        f"borrows {books[wanted]['title']!r}. Nobody may borrow while a fee is open.",
        {"members": members, "books": books, "loans": loans},
        (
            lists("list_members", "members", ["name"], ["name", "fee"]),
            lists("list_books", "books", ["title"], ["title", "copies"]),
            lists("list_loans", "loans", ["member", "book"], ["member", "book"]),
            changes(
                "return_book",
                "End a loan.",
                {"loan_id": TEXT},
                [
                    adds("books", cell("loans", "loan_id", "book"), "copies", 1),
                    {"delete": ["loans", arg("loan_id")]},
                ],
            ),
            changes(
                "settle_fee",
                "Take a member's open fee in full.",
                {"member_id": TEXT},
                [sets("members", "member_id", "fee", 0)],
                [(cell("members", "member_id", "fee"), ">", 0, "there is no fee")],
            ),
            changes(
                "lend_book",
                "Lend a copy of a book.",
                {"member_id": TEXT, "book_id": TEXT},
                [
                    adds("books", "book_id", "copies", -1),
                    {
                        "insert": "loans",
                        "key": {"join": [arg("member_id"), "+", arg("book_id")]},
                        "row": {"member": arg("member_id"), "book": arg("book_id")},
                    },
                ],
                [
                    (cell("books", "book_id", "copies"), ">", 0, "no copy is left"),
                    (cell("members", "member_id", "fee"), "==", 0, "a fee is open"),
                ],
            ),
        ),
        {
            "members": {member: {"fee": 0}},
            "books": goal_books | {wanted: {"copies": books[wanted]["copies"] - 1}},
            "loans": goal_loans,
        },
        tuple(oracle),
    )


def courses(rng: random.Random) -> TableTask:
    """Enrol a student in the courses of a term that they may take."""
    names = people(rng, 3)
    subjects = rng.sample(
        ["algebra", "optics", "ethics", "botany", "logic", "drama", "law", "music"], 7
    )
    basics = [f"{subject} 1" for subject in subjects]
    passed = rng.sample(basics, 4)
    students = {
        code: {
            "name": name,
            "passed": passed if not place else rng.sample(basics, 2),
            "enrolled": [],
        }
        for place, (code, name) in enumerate(zip(codes(rng, "S", 3), names, strict=True))
    }
    student = next(iter(students))
    term = rng.choice(["spring", "autumn"])
    table: dict[str, Any] = {}
    take = []
    open_ones = set(rng.sample(passed, rng.randint(2, 3)))
    for code, basic in zip(codes(rng, "U", 7), basics, strict=True):
        seats = rng.randint(1, 9) if basic in open_ones or basic not in passed else 0
        table[code] = {"title": basic[:-1] + "2", "term": term, "needs": basic, "seats": seats}
        if basic in open_ones:
            take.append(code)
    extra = f"U-{rng.randint(100, 999)}"
    other_term = "autumn" if term == "spring" else "spring"
    table[extra] = {"title": "history 2", "term": other_term, "needs": passed[0], "seats": 5}
    oracle: Calls = [
        ("list_students", {}),
        ("show_student", {"student_id": student}),
        ("list_courses", {"term": term}),
    ]
    oracle += [("enrol", {"student_id": student, "course_id": code}) for code in take]
    return TableTask(
        f"Enrol {students[student]['name']} in every course of the {term} term that still has a "
        "seat and whose requirement they have passed. Say in how many courses that is.",
        {"students": students, "courses": table},
        (
            lists("list_students", "students", ["name"], ["name"]),
            gets("show_student", "students", "student_id"),
            lists("list_courses", "courses", ["term"], ["title", "term", "needs", "seats"]),
            changes(
                "enrol",
                "Enrol a student in a course.",
                {"student_id": TEXT, "course_id": TEXT},
                [
                    {
                        "append": ["students", arg("student_id"), "enrolled"],
                        "value": arg("course_id"),
                    },
                    adds("courses", "course_id", "seats", -1),
                ],
                [
                    (cell("courses", "course_id", "seats"), ">", 0, "the course is full"),
                    (
                        cell("courses", "course_id", "needs"),
                        "in",
                        cell("students", "student_id", "passed"),
                        "a requirement is missing",
                    ),
                ],
            ),
        ),
        {
            "students": {student: {"enrolled": take}},
            "courses": {code: {"seats": table[code]["seats"] - 1} for code in take},
        },
        tuple(oracle),
        answer=str(len(take)),
    )
