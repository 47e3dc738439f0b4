"""Families about offices: tickets, files, leave, access."""

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


def tickets(rng: random.Random) -> TableTask:
    """Close duplicates of the oldest ticket and assign that one."""
    owners = people(rng, 3)
    parts = rng.sample(["login", "search", "billing", "export", "mail", "upload"], 3)
    components = dict(zip(parts, ({"owner": owner} for owner in owners), strict=True))
    part, fault = parts[0], rng.choice(["crash", "slow", "wrong total", "blank page"])
    kinds = [(part, fault, "open")] * rng.randint(3, 5) + [
        (part, fault, "closed"),
        (part, "typo", "open"),
    ]
    kinds += [(other, fault, "open") for other in parts[1:]]
    rng.shuffle(kinds)
    days = sorted(rng.sample(range(1, 29), len(kinds)))
    rng.shuffle(days)
    table: dict[str, Any] = {}
    for code, (where, what, state), day in zip(
        codes(rng, "T", len(kinds)), kinds, days, strict=True
    ):
        table[code] = {
            "component": where,
            "label": what,
            "state": state,
            "opened": f"2026-03-{day:02}",
            "assignee": "",
            "duplicate_of": "",
        }
    alike = [
        c
        for c, row in table.items()
        if (row["component"], row["label"], row["state"]) == (part, fault, "open")
    ]
    oldest = min(alike, key=lambda code: table[code]["opened"])
    oracle: Calls = [("list_tickets", {"component": part, "label": fault}), ("list_components", {})]
    goal: dict[str, Any] = {oldest: {"assignee": components[part]["owner"]}}
    for code in alike:
        if code != oldest:
            oracle.append(("close_as_duplicate", {"ticket_id": code, "of": oldest}))
            goal[code] = {"state": "closed", "duplicate_of": oldest}
    oracle.append(("assign", {"ticket_id": oldest, "person": components[part]["owner"]}))
    return TableTask(
        f"The open tickets labelled {fault!r} for {part} are all one bug. Keep the one that was "
        f"opened first, close the others as its duplicates, and assign it to the owner of {part}.",
        {"tickets": table, "components": components},
        (
            lists(
                "list_tickets",
                "tickets",
                ["component", "label", "state"],
                ["component", "label", "state", "opened", "assignee"],
            ),
            lists("list_components", "components", [], ["owner"]),
            gets("show_ticket", "tickets", "ticket_id"),
            changes(
                "close_as_duplicate",
                "Close a ticket as a duplicate of another one.",
                {"ticket_id": TEXT, "of": TEXT},
                [
                    sets("tickets", "ticket_id", "state", "closed"),
                    sets("tickets", "ticket_id", "duplicate_of", arg("of")),
                ],
                [
                    (cell("tickets", "ticket_id", "state"), "==", "open", "it is closed already"),
                    (cell("tickets", "of", "state"), "==", "open", "the other one is closed"),
                    (arg("ticket_id"), "!=", arg("of"), "a ticket is no duplicate of itself"),
                ],
            ),
            changes(
                "assign",
                "Assign an open ticket.",
                {"ticket_id": TEXT, "person": TEXT},
                [sets("tickets", "ticket_id", "assignee", arg("person"))],
                [(cell("tickets", "ticket_id", "state"), "==", "open", "it is closed")],
            ),
        ),
        {"tickets": goal},
        tuple(oracle),
    )


def files(rng: random.Random) -> TableTask:
    """Archive a year's reports and delete temporary files."""
    year, other = rng.sample(range(2018, 2027), 2)
    folder, archive = rng.choice(["inbox", "shared", "desk"]), f"archive-{year}"
    names = [f"{item}.pdf" for item in rng.sample(ITEMS, 10)]
    kinds = [("report", year, folder)] * rng.randint(2, 4) + [("report", other, folder)] * 2
    kinds += [("temporary", year, folder)] * rng.randint(1, 3) + [("temporary", year, "scratch")]
    kinds.append(("report", year, "outbox"))
    rng.shuffle(kinds)
    table: dict[str, Any] = {}
    for code, name, (kind, when, where) in zip(codes(rng, "N", 12), names, kinds, strict=False):
        table[code] = {"name": name, "kind": kind, "year": when, "folder": where}
    moves = [
        c
        for c, r in table.items()
        if (r["kind"], r["year"], r["folder"]) == ("report", year, folder)
    ]
    drops = [c for c, r in table.items() if (r["kind"], r["folder"]) == ("temporary", folder)]
    oracle: Calls = [("list_files", {"folder": folder})]
    oracle += [("move_file", {"file_id": code, "folder": archive}) for code in moves]
    oracle += [("delete_file", {"file_id": code}) for code in drops]
    goal: dict[str, Any] = {code: {"folder": archive} for code in moves}
    return TableTask(
        f"Tidy up the folder {folder!r}: move the reports of {year} to the folder {archive!r} and "
        "delete the temporary files. Touch nothing in other folders.",
        {"files": table},
        (
            lists("list_files", "files", ["folder", "kind"], ["name", "kind", "year", "folder"]),
            changes(
                "move_file",
                "Move a file to a folder.",
                {"file_id": TEXT, "folder": TEXT},
                [sets("files", "file_id", "folder", arg("folder"))],
            ),
            changes(
                "delete_file",
                "Delete a temporary file for good.",
                {"file_id": TEXT},
                [{"delete": ["files", arg("file_id")]}],
                [(cell("files", "file_id", "kind"), "==", "temporary", "it is not temporary")],
            ),
        ),
        {"files": goal | dict.fromkeys(drops)},
        tuple(oracle),
    )


def leave(rng: random.Random) -> TableTask:
    """Approve the leave that people have days for, reject the rest."""
    team, other = rng.sample(["sales", "research", "support", "legal", "press"], 2)
    names = people(rng, 8)
    staff: dict[str, Any] = {}
    requests: dict[str, Any] = {}
    goal: dict[str, Any] = {"staff": {}, "requests": {}}
    count = rng.randint(3, 5)
    for place, (who, code, name) in enumerate(
        zip(codes(rng, "E", 8), codes(rng, "L", 8), names, strict=True)
    ):
        left = rng.randint(3, 15)
        fits = place == 0 or (place != 1 and rng.random() < 0.6)
        days = rng.randint(1, left) if fits else left + rng.randint(1, 6)
        mine = place < count
        staff[who] = {"name": name, "team": team if mine else other, "days_left": left}
        requests[code] = {
            "employee": who,
            "team": team if mine else other,
            "days": days,
            "status": "open",
        }
        if mine:
            goal["requests"][code] = {"status": "approved" if fits else "rejected"}
            if fits:
                goal["staff"][who] = {"days_left": left - days}
    oracle: Calls = [("list_requests", {"team": team}), ("list_staff", {"team": team})]
    for code, row in goal["requests"].items():
        verb = "approve_leave" if row["status"] == "approved" else "reject_leave"
        oracle.append((verb, {"request_id": code}))
    needed, who_id = (
        cell("requests", "request_id", "days"),
        cell("requests", "request_id", "employee"),
    )
    is_open = (cell("requests", "request_id", "status"), "==", "open", "it is decided already")
    return TableTask(
        f"Decide on all open leave requests of the {team} team: approve those for which the person "
        "has enough days left, and reject the others.",
        {"staff": staff, "requests": requests},
        (
            lists("list_requests", "requests", ["team", "status"], ["employee", "days", "status"]),
            lists("list_staff", "staff", ["team", "name"], ["name", "team", "days_left"]),
            changes(
                "approve_leave",
                "Approve a request; its days are taken off.",
                {"request_id": TEXT},
                [
                    sets("requests", "request_id", "status", "approved"),
                    adds("staff", who_id, "days_left", {"difference": [0, needed]}),
                ],
                [is_open],
            ),
            changes(
                "reject_leave",
                "Reject a request.",
                {"request_id": TEXT},
                [sets("requests", "request_id", "status", "rejected")],
                [is_open],
            ),
        ),
        goal,
        tuple(oracle),
    )


def access(rng: random.Random) -> TableTask:
    """Take a leaver out of all groups, hand their documents on, close the account."""
    names = people(rng, 5)
    users = {
        code: {"name": name, "manager": "", "state": "active"}
        for code, name in zip(codes(rng, "U", 5), names, strict=True)
    }
    ids = list(users)
    leaver, manager = rng.sample(ids, 2)
    for code in ids:
        users[code]["manager"] = (
            manager if code != manager else next(i for i in ids if i != manager)
        )
    topics = rng.sample(["finance", "payroll", "design", "backup", "press", "travel", "audit"], 6)
    inside = set(rng.sample(topics, rng.randint(2, 3)))
    groups = {
        topic: {
            "members": sorted(
                [
                    *rng.sample([i for i in ids if i != leaver], 2),
                    *([leaver] if topic in inside else []),
                ]
            )
        }
        for topic in topics
    }
    owners = [leaver] * rng.randint(1, 3) + rng.sample([i for i in ids if i != leaver], 3)
    rng.shuffle(owners)
    documents = dict(zip(codes(rng, "W", 6), ({"owner": owner} for owner in owners), strict=False))
    mine = [code for code, row in documents.items() if row["owner"] == leaver]
    oracle: Calls = [
        ("list_users", {}),
        ("show_user", {"user_id": leaver}),
        ("list_groups", {}),
        ("list_documents", {"owner": leaver}),
    ]
    oracle += [
        ("remove_from_group", {"group": t, "user_id": leaver}) for t in topics if t in inside
    ]
    oracle += [("hand_over", {"document_id": code, "user_id": manager}) for code in mine]
    oracle.append(("disable_user", {"user_id": leaver}))
    return TableTask(
        f"{users[leaver]['name']} is leaving. Take them out of every group, hand their documents "
        "to their manager, and disable their account.",
        {"users": users, "groups": groups, "documents": documents},
        (
            lists("list_users", "users", ["name"], ["name", "state"]),
            gets("show_user", "users", "user_id"),
            lists("list_groups", "groups", [], ["members"]),
            lists("list_documents", "documents", ["owner"], ["owner"]),
            changes(
                "remove_from_group",
                "Take a user out of a group.",
                {"group": TEXT, "user_id": TEXT},
                [{"remove": ["groups", arg("group"), "members"], "value": arg("user_id")}],
                [(arg("user_id"), "in", cell("groups", "group", "members"), "not a member")],
            ),
            changes(
                "hand_over",
                "Give a document to another user.",
                {"document_id": TEXT, "user_id": TEXT},
                [sets("documents", "document_id", "owner", arg("user_id"))],
                [(cell("users", "user_id", "state"), "==", "active", "that user is disabled")],
            ),
            changes(
                "disable_user",
                "Disable an account.",
                {"user_id": TEXT},
                [sets("users", "user_id", "state", "disabled")],
                [(cell("users", "user_id", "state"), "==", "active", "it is disabled already")],
            ),
        ),
        {
            "groups": {
                t: {"members": [i for i in groups[t]["members"] if i != leaver]} for t in inside
            },
            "documents": {code: {"owner": manager} for code in mine},
            "users": {leaver: {"state": "disabled"}},
        },
        tuple(oracle),
    )
