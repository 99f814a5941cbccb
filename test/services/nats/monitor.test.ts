/**
 * Goal: a server's monitoring tells what it says and nothing where it does not, and asking costs a host's start little.
 * Method: programs that answer as a server, as something else, half, and never; and a process that asks once and says what it
 * has loaded for that.
 */
import { execFile } from "node:child_process";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import { afterEach, expect, test } from "vitest";
import { readMonitor } from "../../../services/nats/monitor.ts";
import { freePort } from "../../support/free-port.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** The address of a program that answers so. */
async function answering(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // Proof: it listens on a port.
}

const varz = {
  ...{ server_id: "N1", server_name: "n1", more: "of no use" },
  jetstream: { config: { sync_always: true, max_storage: 1_000 }, stats: { storage: 10 } },
};

test("what a server says of its disk is told", async () => {
  const asked: (string | undefined)[] = [];
  const url = await answering(({ url: path }, response) => {
    asked.push(path);
    response.write(JSON.stringify(varz).slice(0, 30)); // It comes in pieces.
    setTimeout(() => response.end(JSON.stringify(varz).slice(30)), 20);
  });
  expect(await readMonitor(url)).toEqual({
    ...{ serverId: "N1", serverName: "n1", syncAlways: true },
    storage: { usedBytes: 10, maxBytes: 1_000 },
  });
  expect(asked).toEqual(["/varz"]);
});

test.each<[string, RequestListener]>([
  ["another program", (_, response) => response.end("<html>hello</html>")],
  ["a program that hangs up", (request) => request.socket.destroy()],
  ["one that says half", (_, response) => response.destroy(undefined)],
  ["one that never answers", () => undefined],
  ["one that never ends", (_, response) => void response.write("{")],
])("nothing is told by %s", async (_, answer) => {
  expect(await readMonitor(await answering(answer))).toBeUndefined();
});

test("nothing is told where nobody listens, or by what is no address", async () => {
  expect(await readMonitor(`http://127.0.0.1:${await freePort()}`)).toBeUndefined();
  expect(await readMonitor("no address")).toBeUndefined();
});

test("a process that asks loads none of what fetch brings, which would hold a host's start for 60 ms", async () => {
  const url = await answering((_, response) => response.end(JSON.stringify(varz)));
  const program = `
    const { readMonitor } = await import(${JSON.stringify(new URL("../../../services/nats/monitor.ts", import.meta.url).href)});
    const said = await readMonitor(${JSON.stringify(url)});
    console.log(said.serverId, process.moduleLoadList.filter((name) => name.includes("deps/undici/undici")).length);`;
  const words = ["--conditions=sagamesh-source", "--input-type=module", "--eval", program];
  expect((await promisify(execFile)(process.execPath, words)).stdout).toBe("N1 0\n");
});
