"""Families about places and times: flights, appointments, hotel rooms, meetings."""

from __future__ import annotations

import random
from typing import Any

from assay.policy.environments.families_trade import Calls
from assay.policy.environments.family_kit import (
    CITIES,
    TEXT,
    adds,
    arg,
    cell,
    changes,
    codes,
    lists,
    people,
    sets,
)
from assay.policy.environments.table_task import TableTask


def flights(rng: random.Random) -> TableTask:
    """Move the passengers of a cancelled flight to later ones with free seats."""
    city, other = rng.sample(CITIES, 2)
    names = people(rng, 7)
    count = rng.randint(2, 4)
    times = sorted(rng.sample(range(6, 22), 5))
    ids = codes(rng, "F", 6)
    rng.shuffle(ids)
    cancelled, *rest = ids
    table: dict[str, Any] = {
        cancelled: {"to": city, "departs": f"{times[1]:02}:15", "seats": 0, "status": "cancelled"}
    }
    seats = [3, 1, rng.randint(1, 2), 6]
    for flight, hour, free in zip(rest, [times[0], *times[2:]], seats, strict=False):
        table[flight] = {"to": city, "departs": f"{hour:02}:15", "seats": free, "status": "planned"}
    table[rest[4]] = {"to": other, "departs": f"{times[2]:02}:15", "seats": 9, "status": "planned"}
    bookings = {
        code: {"passenger": name, "flight": cancelled if index < count else rest[0]}
        for index, (code, name) in enumerate(zip(codes(rng, "B", 7), names, strict=True))
    }
    later = rest[1:4]
    free_seats = {flight: table[flight]["seats"] for flight in later}
    goal: dict[str, Any] = {"bookings": {}, "flights": {}}
    oracle: Calls = [("list_bookings", {"flight": cancelled}), ("list_flights", {"to": city})]
    for code in list(bookings)[:count]:
        flight = next(flight for flight in later if free_seats[flight] > 0)
        free_seats[flight] -= 1
        oracle.append(("rebook", {"booking_id": code, "flight_id": flight}))
        goal["bookings"][code] = {"flight": flight}
        goal["flights"][flight] = {"seats": free_seats[flight]}
    return TableTask(
        f"Flight {cancelled} to {city} is cancelled. Rebook its passengers, in order of booking "
        "number, each to the earliest flight to the same city that departs later than the "
        "cancelled one and still has a free seat.",
        {"flights": table, "bookings": bookings},
        (
            lists(
                "list_flights", "flights", ["to", "status"], ["to", "departs", "seats", "status"]
            ),
            lists("list_bookings", "bookings", ["flight", "passenger"], ["passenger", "flight"]),
            changes(
                "rebook",
                "Move a booking to another flight.",
                {"booking_id": TEXT, "flight_id": TEXT},
                [
                    sets("bookings", "booking_id", "flight", arg("flight_id")),
                    adds("flights", "flight_id", "seats", -1),
                ],
                [
                    (
                        cell("flights", "flight_id", "status"),
                        "==",
                        "planned",
                        "that flight is cancelled",
                    ),
                    (cell("flights", "flight_id", "seats"), ">", 0, "that flight is full"),
                ],
            ),
        ),
        goal,
        tuple(oracle),
    )


def appointments(rng: random.Random) -> TableTask:
    """Move a doctor's patients to a colleague of the same specialty."""
    names = people(rng, 7)
    doctors = dict(zip(codes(rng, "D", 3), ["skin", "skin", "heart"], strict=True))
    specialty_of = list(doctors.items())
    ill, colleague, stranger = (code for code, _ in specialty_of)
    table = {
        code: {"name": name, "specialty": doctors[code]}
        for code, name in zip(doctors, names[:3], strict=True)
    }
    hours = [f"{hour:02}:00" for hour in range(8, 16)]
    patients = names[3 : 3 + rng.randint(2, 4)]
    slots: dict[str, Any] = {}
    when = sorted(rng.sample(hours, len(patients)))
    for doctor in (ill, colleague, stranger):
        free = set(rng.sample(hours, len(patients) + rng.randint(0, 2)))
        for hour in hours:
            patient = "" if hour in free else "blocked"
            if doctor == ill:
                patient = patients[when.index(hour)] if hour in when else ""
            slots[f"{doctor}@{hour}"] = {"doctor": doctor, "hour": hour, "patient": patient}
    open_slots = [
        s for s, row in slots.items() if row["doctor"] == colleague and not row["patient"]
    ]
    goal: dict[str, Any] = {}
    oracle: Calls = [
        ("list_doctors", {}),
        ("list_slots", {"doctor": ill}),
        ("list_slots", {"doctor": colleague}),
    ]
    for hour, patient, target in zip(when, patients, open_slots, strict=False):
        source = f"{ill}@{hour}"
        oracle.append(("move_appointment", {"source": source, "target": target}))
        goal |= {source: {"patient": ""}, target: {"patient": patient}}
    return TableTask(
        f"{table[ill]['name']} is ill today. Move all of the doctor's patients, earliest first, to "
        "the earliest free hours of the other doctor of the same specialty.",
        {"doctors": table, "slots": slots},
        (
            lists("list_doctors", "doctors", ["specialty", "name"], ["name", "specialty"]),
            lists("list_slots", "slots", ["doctor", "patient"], ["doctor", "hour", "patient"]),
            changes(
                "move_appointment",
                "Move a patient from one slot to a free one.",
                {"source": TEXT, "target": TEXT},
                [
                    sets("slots", "target", "patient", cell("slots", "source", "patient")),
                    sets("slots", "source", "patient", ""),
                ],
                [
                    (
                        cell("slots", "source", "patient"),
                        "not in",
                        ["", "blocked"],
                        "no patient there",
                    ),
                    (cell("slots", "target", "patient"), "==", "", "that slot is taken"),
                ],
            ),
        ),
        {"slots": goal},
        tuple(oracle),
    )


def hotel(rng: random.Random) -> TableTask:
    """Give a guest the cheapest free room of a kind, and services."""
    guests = people(rng, 5)
    kinds = ["single", "double", "suite"]
    rooms: dict[str, Any] = {}
    prices = rng.sample(range(60, 400), 12)
    for index, number in enumerate(sorted(rng.sample(range(101, 500), 12))):
        rooms[f"R{number}"] = {
            "kind": kinds[index % 3],
            "price": prices[index],
            "guest": guests[index % 4 + 1] if index < 6 else "",
        }
    guest = guests[0]
    old = rng.choice([code for code, room in rooms.items() if not room["guest"]])
    rooms[old]["guest"] = guest
    kind = rng.choice([k for k in kinds if k != rooms[old]["kind"]])
    new = min(
        (code for code, room in rooms.items() if room["kind"] == kind and not room["guest"]),
        key=lambda code: rooms[code]["price"],
    )
    services = rng.sample(
        ["breakfast", "parking", "late check-out", "extra bed", "airport transfer"], 2
    )
    booking = f"H-{rng.randint(1000, 9999)}"
    stays = {booking: {"guest": guest, "room": old, "services": []}}
    for code, name in zip(codes(rng, "G", 4), guests[1:], strict=True):
        stays[code] = {"guest": name, "room": "", "services": ["breakfast"]}
    oracle: Calls = [("list_stays", {"guest": guest}), ("list_rooms", {"kind": kind, "guest": ""})]
    oracle.append(("change_room", {"stay_id": booking, "room_id": new}))
    oracle += [("add_service", {"stay_id": booking, "service": service}) for service in services]
    return TableTask(
        f"{guest} would like to move to a {kind} room: give them the cheapest free one. They also "
        f"want {services[0]} and {services[1]}. Say the price of the new room.",
        {"rooms": rooms, "stays": stays},
        (
            lists("list_stays", "stays", ["guest"], ["guest", "room", "services"]),
            lists("list_rooms", "rooms", ["kind", "guest"], ["kind", "price", "guest"]),
            changes(
                "change_room",
                "Move a stay to a free room.",
                {"stay_id": TEXT, "room_id": TEXT},
                [
                    sets("rooms", cell("stays", "stay_id", "room"), "guest", ""),
                    sets("rooms", "room_id", "guest", cell("stays", "stay_id", "guest")),
                    sets("stays", "stay_id", "room", arg("room_id")),
                ],
                [(cell("rooms", "room_id", "guest"), "==", "", "that room is taken")],
            ),
            changes(
                "add_service",
                "Add a service to a stay.",
                {"stay_id": TEXT, "service": TEXT},
                [{"append": ["stays", arg("stay_id"), "services"], "value": arg("service")}],
                [
                    (
                        arg("service"),
                        "not in",
                        cell("stays", "stay_id", "services"),
                        "has it already",
                    )
                ],
            ),
        ),
        {
            "rooms": {old: {"guest": ""}, new: {"guest": guest}},
            "stays": {booking: {"room": new, "services": services}},
        },
        tuple(oracle),
        answer=str(rooms[new]["price"]),
    )


def meetings(rng: random.Random) -> TableTask:
    """Book the first hour at which several people are free."""
    names = people(rng, 5)
    wanted = sorted(rng.sample(names, 3))
    day = rng.choice(["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"])
    title = f"{rng.choice(['budget', 'design', 'hiring', 'safety', 'launch'])} review"
    hours = [f"{hour:02}:00" for hour in range(9, 17)]
    first = rng.randrange(2, len(hours))
    slots: dict[str, Any] = {}
    busy_before = {hour: rng.choice(wanted) for hour in hours[:first]}
    for name in names:
        for place, hour in enumerate(hours):
            busy = busy_before.get(hour) == name or rng.random() < 0.35
            if place == first and name in wanted:
                busy = False
            slots[f"{name}, {day} {hour}"] = {
                "person": name,
                "day": day,
                "hour": hour,
                "title": "busy" if busy else "",
            }
    keys = [f"{name}, {day} {hours[first]}" for name in wanted]
    oracle: Calls = [("list_slots", {"person": name}) for name in wanted]
    oracle += [("book_slot", {"slot_id": key, "title": title}) for key in keys]
    return TableTask(
        f"Book a one-hour meeting {title!r} on {day} for {wanted[0]}, {wanted[1]} and {wanted[2]}, "
        "at the first hour at which all three are free, in each one's calendar. Say the hour.",
        {"slots": slots},
        (
            lists("list_slots", "slots", ["person", "hour", "title"], ["person", "hour", "title"]),
            changes(
                "book_slot",
                "Put a title into a free slot of somebody's calendar.",
                {"slot_id": TEXT, "title": TEXT},
                [sets("slots", "slot_id", "title", arg("title"))],
                [(cell("slots", "slot_id", "title"), "==", "", "that slot is busy")],
            ),
        ),
        {"slots": {key: {"title": title} for key in keys}},
        tuple(oracle),
        answer=hours[first],
    )
