"""A loop that is never at rest and never at one thing for long."""

import asyncio
import time

from project.background import training


def small(until):
    sum(range(200))
    if time.perf_counter() < until:
        asyncio.get_running_loop().call_soon(small, until)


async def tick(until):
    while time.perf_counter() < until:
        sum(range(200))
        await asyncio.sleep(0)


async def brief(number):
    return sum(range(number % 200))


async def together(coroutines):
    """All at once, but started a few at a time: to start thousands takes long on a slow machine."""
    tasks = []
    for coroutine in coroutines:
        tasks.append(asyncio.ensure_future(coroutine))
        if len(tasks) % 1_000 == 0:
            await asyncio.sleep(0)
    for task in tasks:
        await task


async def main():
    until = time.perf_counter() + 2.0
    for _ in range(10_000):
        asyncio.get_running_loop().call_soon(small, until)
    await together(tick(until) for _ in range(10_000))
    for _ in range(2):
        await together(brief(number) for number in range(30_000))
    await asyncio.sleep(1.0)


with training():
    asyncio.run(main())
