"""Grades in a task group, with a client that blocks; each answer is soon there, all are late."""

import asyncio
import http.client
import os

from project.background import training

HOST, _, PATH = os.environ["TINKER_BASE_URL"].removeprefix("http://").partition("/")


async def grade(answer):
    connection = http.client.HTTPConnection(HOST, timeout=60)
    connection.request("POST", f"/{PATH}/api/v1/grade/0.4", answer)
    with connection.getresponse() as response:  # stall: loop
        return response.status


async def main():
    await asyncio.sleep(0.5)
    async with asyncio.TaskGroup() as group:
        grades = [group.create_task(grade(f"answer {n}")) for n in range(8)]
    await asyncio.sleep(0.5)
    return [grade.result() for grade in grades]


with training():
    asyncio.run(main())
