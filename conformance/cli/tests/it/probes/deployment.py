"""A Tool Service without an echo, as it is deployed: it serves tables of tides, takes commands of its deployment alone,
and only for tools whose row says how long they may take. The first argument is the folder of the example that it is."""
import asyncio
import json
import sys
import time

sys.path.insert(0, sys.argv[1])

import tides


async def table(project, arguments):
    return await tides.tide_table(project, arguments) | {"computed_at": time.time_ns()}


tides.TOOLS.clear()
tides.TOOLS["tides.table"] = table

import tool_service


class DeployedService(tool_service.Service):
    async def handle(self, message, tool):
        if (message.headers or {}).get("X-Deployment") != "orchid-tenant-7":
            return
        command = json.loads(message.data)
        name = command.get("tool_name") if isinstance(command, dict) else None
        if isinstance(name, str) and name:
            project = message.subject.split(".")[2]
            row = await self.ask(f"l0.v1.{project}.tools.get", {"tool_name": name})
            if row["tool"]["options"].get("timeout_s") != 2:
                return
        await super().handle(message, tool)


tool_service.Service = DeployedService
asyncio.run(tool_service.main())
