"""The Tool Service of the examples, which pulls its commands from a stream, as services of a JetStream deployment do."""

import asyncio
import sys

sys.path.insert(0, sys.argv[1])

import tool_service
from nats.errors import TimeoutError as NatsTimeout
from tides import TOOLS


class PullingService(tool_service.Service):
    async def serve(self, versions):
        streams = self.connection.jetstream()
        every = [(version, target, tool) for version in versions for target, tool in TOOLS.items()]
        self.pulling = [asyncio.create_task(self.pull(streams, *one)) for one in every]

    async def pull(self, streams, version, target, tool):
        subject, durable = f"cg.{version}.*.*.cmd.tool.{target}", f"tides-{target}".replace(".", "-")
        while True:
            try:  # whoever operates the platform makes the streams
                subscription = await streams.pull_subscribe(subject, durable, stream=f"cg_cmd_{version}")
                break
            except Exception:  # they are not there yet, or have no leader
                await asyncio.sleep(0.1)
        while True:
            try:
                commands = await subscription.fetch(16, timeout=1)
            except NatsTimeout:
                continue
            except Exception:  # a server that is busy; commands stay in the stream
                tool_service.log.exception("cannot pull from `%s`", subject)
                await asyncio.sleep(0.1)
                continue
            for command in commands:
                await self.slots.acquire()
                task = asyncio.create_task(self.take(command, tool))
                self.tasks.add(task)
                task.add_done_callback(lambda done: (self.tasks.discard(done), self.slots.release()))

    async def take(self, command, tool):
        await self.handle(command, tool)
        await command.ack()


tool_service.Service = PullingService
asyncio.run(tool_service.main())
