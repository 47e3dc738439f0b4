"""Families about goods and money: orders, stock, invoices, deliveries."""

from __future__ import annotations

import random
from typing import Any

from assay.policy.environments.family_kit import (
    CITIES,
    COUNT,
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

Calls = list[tuple[str, dict[str, Any]]]


def orders(rng: random.Random) -> TableTask:
    """Cancel a customer's pending orders and refund one that was delivered."""
    names = people(rng, 3)
    customers = dict(
        zip(codes(rng, "C", 3), ({"name": n, "credit": 0} for n in names), strict=True)
    )
    target = rng.choice(list(customers))
    items = rng.sample(ITEMS, 12)
    table: dict[str, Any] = {}
    kinds = ["pending"] * rng.randint(2, 3) + ["delivered", "delivered", "shipped"]
    rng.shuffle(kinds)
    owners = [target] * len(kinds) + [c for c in customers if c != target] * 3
    kinds += [rng.choice(["pending", "delivered"]) for _ in range(6)]
    rows = list(zip(owners, kinds, items, strict=False))
    rng.shuffle(rows)
    for code, (owner, status, item) in zip(codes(rng, "O", 12)[: len(rows)], rows, strict=False):
        table[code] = {
            "customer": owner,
            "item": item,
            "status": status,
            "total": rng.randint(10, 400),
        }
    mine = {code: row for code, row in table.items() if row["customer"] == target}
    pending = [code for code, row in mine.items() if row["status"] == "pending"]
    refund = rng.choice([code for code, row in mine.items() if row["status"] == "delivered"])
    credit = sum(mine[code]["total"] for code in [*pending, refund])
    buyer = cell("orders", "order_id", "customer")
    pay_back = {"add": ["customers", buyer, "credit"], "by": cell("orders", "order_id", "total")}
    state = cell("orders", "order_id", "status")
    oracle: Calls = [("list_customers", {}), ("list_orders", {"customer": target})]
    oracle += [("cancel_order", {"order_id": code}) for code in pending]
    oracle.append(("refund_order", {"order_id": refund}))
    return TableTask(
        f"Customer {customers[target]['name']} writes: please cancel all my orders that are still "
        f"pending, and refund the {mine[refund]['item']}, which was delivered broken. Tell the "
        "customer how much is credited in all.",
        {"customers": customers, "orders": table},
        (
            lists("list_customers", "customers", ["name"], ["name"]),
            lists("list_orders", "orders", ["customer", "status"], ["item", "status", "total"]),
            changes(
                "cancel_order",
                "Cancel a pending order and credit its total.",
                {"order_id": TEXT},
                [sets("orders", "order_id", "status", "cancelled"), pay_back],
                [(state, "==", "pending", "only pending orders can be cancelled")],
            ),
            changes(
                "refund_order",
                "Refund a delivered order and credit its total.",
                {"order_id": TEXT},
                [sets("orders", "order_id", "status", "refunded"), pay_back],
                [(state, "==", "delivered", "only delivered orders can be refunded")],
            ),
        ),
        {
            "customers": {target: {"credit": credit}},
            "orders": {c: {"status": "cancelled"} for c in pending}
            | {refund: {"status": "refunded"}},
        },
        tuple(oracle),
        answer=str(credit),
    )


def stock(rng: random.Random) -> TableTask:
    """Bring a warehouse up to its minimum levels from another one."""
    here, there = rng.sample(CITIES, 2)
    products = rng.sample(ITEMS, rng.randint(4, 6))
    short = set(rng.sample(products, rng.randint(2, 3)))
    table: dict[str, Any] = {}
    goal: dict[str, Any] = {}
    oracle: Calls = [("list_stock", {"warehouse": here}), ("list_stock", {"warehouse": there})]
    for product in products:
        least = rng.randint(10, 40)
        have = least - rng.randint(1, 9) if product in short else least + rng.randint(0, 9)
        spare = least + rng.randint(30, 60)
        one, other = f"{here}/{product}", f"{there}/{product}"
        table[one] = {"warehouse": here, "product": product, "quantity": have, "minimum": least}
        table[other] = {"warehouse": there, "product": product, "quantity": spare, "minimum": least}
        if product in short:
            lack = least - have
            oracle.append(("move_stock", {"source": other, "target": one, "quantity": lack}))
            goal |= {one: {"quantity": least}, other: {"quantity": spare - lack}}
    return TableTask(
        f"Some products in the {here} warehouse are below their minimum. Bring each of them up to "
        f"exactly its minimum with stock from {there}; leave the others alone.",
        {"stock": table},
        (
            lists(
                "list_stock", "stock", ["warehouse", "product"], ["product", "quantity", "minimum"]
            ),
            changes(
                "move_stock",
                "Move a quantity from one stock row to another, by their ids.",
                {"source": TEXT, "target": TEXT, "quantity": COUNT},
                [
                    adds("stock", "source", "quantity", {"difference": [0, arg("quantity")]}),
                    adds("stock", "target", "quantity", arg("quantity")),
                ],
                [
                    (
                        cell("stock", "source", "product"),
                        "==",
                        cell("stock", "target", "product"),
                        "both rows must be of one product",
                    ),
                    (
                        cell("stock", "source", "quantity"),
                        ">=",
                        arg("quantity"),
                        "not enough stock",
                    ),
                ],
            ),
        ),
        {"stock": goal},
        tuple(oracle),
    )


def invoices(rng: random.Random) -> TableTask:
    """Pay a vendor's overdue invoices from the account that can."""
    vendors = [
        f"{name.split()[1]} {rng.choice(['Ltd', 'Sons', 'Works'])}" for name in people(rng, 3)
    ]
    vendor, month = rng.choice(vendors), rng.choice(["March", "April", "May", "June"])
    table: dict[str, Any] = {}
    rows = [(vendor, month)] * rng.randint(2, 4) + [(vendor, "July")] * 2
    rows += [(v, month) for v in vendors if v != vendor]
    rng.shuffle(rows)
    for code, (who, when) in zip(codes(rng, "I", 12), rows, strict=False):
        amount = rng.randint(50, 900)
        table[code] = {"vendor": who, "due": when, "amount": amount, "status": "open"}
    pay = [c for c, row in table.items() if (row["vendor"], row["due"]) == (vendor, month)]
    total = sum(table[code]["amount"] for code in pay)
    accounts = {
        "A-travel": {"purpose": "travel", "balance": total * 2},
        "A-supplies": {"purpose": "supplies", "balance": total + rng.randint(0, 500)},
    }
    oracle: Calls = [("list_invoices", {"vendor": vendor}), ("list_accounts", {})]
    oracle += [("pay_invoice", {"invoice_id": c, "account_id": "A-supplies"}) for c in pay]
    due = cell("invoices", "invoice_id", "amount")
    return TableTask(
        f"Pay all open invoices of {vendor} that are due in {month} from the account for supplies, "
        "and say how much was paid in all.",
        {"invoices": table, "accounts": accounts},
        (
            lists(
                "list_invoices",
                "invoices",
                ["vendor", "due", "status"],
                ["vendor", "due", "amount", "status"],
            ),
            lists("list_accounts", "accounts", ["purpose"], ["purpose", "balance"]),
            changes(
                "pay_invoice",
                "Pay an open invoice from an account.",
                {"invoice_id": TEXT, "account_id": TEXT},
                [
                    sets("invoices", "invoice_id", "status", "paid"),
                    adds("accounts", "account_id", "balance", {"difference": [0, due]}),
                ],
                [
                    (cell("invoices", "invoice_id", "status"), "==", "open", "it is paid already"),
                    (
                        cell("accounts", "account_id", "balance"),
                        ">=",
                        due,
                        "the balance is too low",
                    ),
                ],
            ),
        ),
        {
            "invoices": {code: {"status": "paid"} for code in pay},
            "accounts": {"A-supplies": {"balance": accounts["A-supplies"]["balance"] - total}},
        },
        tuple(oracle),
        answer=str(total),
    )


def deliveries(rng: random.Random) -> TableTask:
    """Load a district's parcels into vans, first fit by number."""
    district, other = rng.sample(["north", "south", "east", "west", "harbour", "old town"], 2)
    vans: dict[str, Any] = {}
    for code in codes(rng, "V", 3):
        vans[code] = {"district": district, "free_kg": rng.randint(25, 40)}
    stray = f"V-{rng.randint(100, 999)}"
    vans[stray] = {"district": other, "free_kg": 90}
    parcels: dict[str, Any] = {}
    count = rng.randint(3, 5)
    places = [district] * count + [other] * 3
    rng.shuffle(places)
    for code, place in zip(codes(rng, "P", len(places)), places, strict=True):
        parcels[code] = {
            "district": place,
            "weight_kg": rng.randint(5, 15),
            "van": "",
        }
    free = {code: van["free_kg"] for code, van in vans.items() if van["district"] == district}
    oracle: Calls = [
        ("list_parcels", {"district": district}),
        ("list_vans", {"district": district}),
    ]
    goal: dict[str, Any] = {"parcels": {}, "vans": {}}
    for code, parcel in parcels.items():
        if parcel["district"] != district:
            continue
        van = next(van for van in free if free[van] >= parcel["weight_kg"])
        free[van] -= parcel["weight_kg"]
        oracle.append(("load_parcel", {"parcel_id": code, "van_id": van}))
        goal["parcels"][code] = {"van": van}
        goal["vans"][van] = {"free_kg": free[van]}
    weight = cell("parcels", "parcel_id", "weight_kg")
    return TableTask(
        f"Load all parcels for the {district} district. Take them in order of their numbers, and "
        "put each into the first van of that district, in order of numbers, that still has room.",
        {"parcels": parcels, "vans": vans},
        (
            lists("list_parcels", "parcels", ["district", "van"], ["district", "weight_kg", "van"]),
            lists("list_vans", "vans", ["district"], ["district", "free_kg"]),
            gets("show_parcel", "parcels", "parcel_id"),
            changes(
                "load_parcel",
                "Load a parcel into a van.",
                {"parcel_id": TEXT, "van_id": TEXT},
                [
                    sets("parcels", "parcel_id", "van", arg("van_id")),
                    adds("vans", "van_id", "free_kg", {"difference": [0, weight]}),
                ],
                [
                    (cell("parcels", "parcel_id", "van"), "==", "", "it is loaded already"),
                    (cell("vans", "van_id", "free_kg"), ">=", weight, "the van has no room for it"),
                ],
            ),
        ),
        goal,
        tuple(oracle),
    )
