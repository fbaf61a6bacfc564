"""
place: asyncio tasks and an async generator
stops: 7
condition: n == 1 -> 3
"""

import asyncio


async def batches():
    for n in range(2):
        await asyncio.sleep(0)
        batch = n  # <- breakpoint
        yield batch


async def work(name):
    n = len(name)
    await asyncio.sleep(0)
    return n  # <- breakpoint


async def main():
    results = await asyncio.gather(work("a"), work("bb"), work("ccc"))
    async for n in batches():
        results.append(n)  # <- breakpoint
    print(results)


asyncio.run(main())
