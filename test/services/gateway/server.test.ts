/**
 * The gateway's HTTP server: what reaches its door, and what does not.
 *
 * Method: a server on a free port and requests over real sockets, raw ones where a client would be too polite. The door
 * is one that the test holds open, so that what is in flight is known.
 */
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { ErrorDocument } from "../../../protocol/documents/stderr.ts";
import { isMeshError } from "../../../protocol/errors.ts";
import { limits } from "../../../protocol/limits.ts";
import type { Door, DoorRequest, Reply } from "../../../services/gateway/door.ts";
import { type Gateway, startGateway } from "../../../services/gateway/server.ts";
import { type Log, silentLog } from "../../../services/process/log.ts";

const open: Gateway[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const gateway of open.splice(0)) await gateway.close(0);
});

interface Line {
  readonly level: string;
  readonly fields: object;
  readonly event: string;
}

const accepted: Reply = {
  status: 202,
  headers: { "content-type": "application/json" },
  body: '{"stored":true}',
  about: { kind: "result", saga: "s1", intent: "2-0" },
};

async function start(door?: Door, whyNotReady: () => Promise<string | undefined> = async () => undefined) {
  const gateway = await startGateway({ host: "127.0.0.1", port: 0 });
  open.push(gateway);
  const lines: Line[] = [];
  const levels = ["debug", "info", "warn", "error"] as const;
  const log = Object.fromEntries(
    levels.map((level) => [
      level,
      (fields: object, event: string) => void lines.push({ level, fields, event }),
    ]),
  ) as unknown as Log;
  const requests: DoorRequest[] = [];
  const bodies: string[] = [];
  const noting: Door = async (request) => {
    bodies.push(Buffer.from(await request.body()).toString());
    requests.push(request);
    return door === undefined ? Promise.resolve(accepted) : door(request);
  };
  return { gateway, lines, requests, bodies, open: () => gateway.open({ door: noting, log, whyNotReady }) };
}

const post = (url: string, body: string | Uint8Array, more: object = {}): Promise<Response> =>
  fetch(`${url}/callback/a.b.c`, { method: "POST", body: body as string, ...more });
const codeOf = async (response: Response): Promise<string> =>
  ErrorDocument.parse(await response.json()).error.code;

/** All that the server says on a connection, until it closes it. */
function raw(gateway: Gateway, text: string): Promise<string> {
  const socket = connect(gateway.port, "127.0.0.1", () => socket.write(text));
  sockets.push(socket);
  let heard = "";
  socket.on("data", (data) => (heard += data.toString()));
  socket.on("error", () => undefined);
  return new Promise((resolve) => socket.once("close", () => resolve(heard)));
}

describe("a request", () => {
  test("reaches the door as it was sent, and the door's reply the one who asked", async () => {
    const t = await start();
    t.open();
    const response = await post(t.gateway.url, "slot=tue", {
      headers: { "content-type": "text/plain", accept: "*/*" },
    });
    expect([response.status, await response.json()]).toEqual([202, { stored: true }]);
    expect(t.requests).toMatchObject([
      { method: "POST", url: "/callback/a.b.c", contentType: "text/plain", accept: "*/*" },
    ]);
    expect(t.bodies).toEqual(["slot=tue"]);
  });

  test("over the limit is refused with 413, whether or not it says its length, and the door hears nothing of it", async () => {
    const t = await start();
    t.open();
    const large = Buffer.alloc(limits.callbackBytesMax + 1, "x");
    const said = await post(t.gateway.url, large);
    expect([said.status, await codeOf(said)]).toEqual([413, "TOO_LARGE"]);
    const unsaid = await new Promise<number>((resolve, reject) => {
      const request = httpRequest(`${t.gateway.url}/callback/a.b.c`, { method: "POST" }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      request.on("error", reject);
      request.write(large.subarray(0, 1_000)); // Chunked.
      request.end(large.subarray(1_000));
    });
    expect(unsaid).toBe(413);
    expect(t.requests).toEqual([]);
    expect((await post(t.gateway.url, Buffer.alloc(limits.callbackBytesMax, "x"))).status).toBe(202);
  });

  test("that trickles in is cut off", async () => {
    const t = await start();
    t.open();
    const begunAt = performance.now();
    const trickle = raw(t.gateway, "POST /callback/a.b.c HTTP/1.1\r\nhost: a\r\ncontent-le");
    expect(await trickle).toContain("408");
    expect(performance.now() - begunAt).toBeLessThan(10_000);
    expect(t.requests).toEqual([]);
  });

  test("whose headers are endless is refused", async () => {
    const t = await start();
    t.open();
    expect(await raw(t.gateway, `GET /${"x".repeat(20_000)} HTTP/1.1\r\nhost: a\r\n\r\n`)).toContain("431");
    expect(t.requests).toEqual([]);
  });

  test("beyond what is answered at once is told to come again", async () => {
    let letGo = () => {};
    const held = new Promise<Reply>((resolve) => (letGo = () => resolve(accepted)));
    const t = await start(() => held);
    t.open();
    const many = Array.from({ length: 200 }, () => post(t.gateway.url, "{}"));
    while (t.requests.length < 200) await sleep(10);
    const more = await post(t.gateway.url, "{}");
    expect([more.status, more.headers.get("retry-after"), await codeOf(more)]).toEqual([
      503,
      "2",
      "UNAVAILABLE",
    ]);
    letGo();
    expect((await Promise.all(many)).map(({ status }) => status)).toEqual(many.map(() => 202));
    expect((await post(t.gateway.url, "{}")).status).toBe(202);
  });
});

test("a body that the door does not ask for is not read", async () => {
  const t = await start();
  let isAsked = false;
  t.gateway.open({
    door: async () => ({ ...accepted, status: 401 }),
    log: silentLog,
    whyNotReady: async () => undefined,
    answered: () => (isAsked = true),
  });
  const socket = connect(t.gateway.port, "127.0.0.1", () =>
    socket.write("POST /callback/a.b.c HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000\r\n\r\n"),
  );
  sockets.push(socket);
  const [heard] = (await once(socket, "data")) as [Buffer];
  expect(heard.toString()).toContain("HTTP/1.1 401");
  expect(isAsked).toBe(true);
});

describe("health", () => {
  test("a gateway that has no mesh yet lives, is not ready, and sends whoever answers away for a moment", async () => {
    const t = await start();
    expect((await fetch(`${t.gateway.url}/healthz`)).status).toBe(200);
    expect((await fetch(`${t.gateway.url}/readyz`)).status).toBe(503);
    const early = await post(t.gateway.url, "{}");
    expect([early.status, await codeOf(early)]).toEqual([503, "UNAVAILABLE"]);
    t.open();
    expect((await fetch(`${t.gateway.url}/readyz`)).status).toBe(200);
    expect((await post(t.gateway.url, "{}")).status).toBe(202);
  });

  test("one whose server does not answer is not ready, and says why", async () => {
    const t = await start(undefined, async () => "JetStream gave no answer");
    t.open();
    const ready = await fetch(`${t.gateway.url}/readyz`);
    expect([ready.status, await ready.text()]).toEqual([503, "JetStream gave no answer\n"]);
  });
});

describe("the end", () => {
  test("what was begun gets its reply, and nothing new is taken", async () => {
    let letGo = () => {};
    const held = new Promise<Reply>((resolve) => (letGo = () => resolve(accepted)));
    const t = await start(() => held);
    t.open();
    const begun = post(t.gateway.url, "{}");
    while (t.requests.length === 0) await sleep(10);
    const closed = t.gateway.close(10_000);
    await expect(post(t.gateway.url, "{}")).rejects.toThrow();
    letGo();
    expect((await begun).status).toBe(202);
    const began = performance.now();
    await closed;
    expect(performance.now() - began).toBeLessThan(4_000); // No connection is waited for that is only kept alive.
  });

  test("what takes longer than the grace is cut off", async () => {
    const t = await start(() => new Promise(() => undefined));
    t.open();
    const begun = post(t.gateway.url, "{}");
    begun.catch(() => undefined);
    while (t.requests.length === 0) await sleep(10);
    await t.gateway.close(100);
    await expect(begun).rejects.toThrow();
  });
});

describe("the log", () => {
  test("tells whose request it was and how it ended, and neither its token nor its body", async () => {
    const t = await start();
    t.open();
    await post(t.gateway.url, "a very private answer");
    expect(t.lines).toMatchObject([
      {
        level: "info",
        event: "callback answered",
        fields: { method: "POST", status: 202, kind: "result", sagaId: "s1", intentId: "2-0" },
      },
    ]);
    expect(JSON.stringify(t.lines)).not.toMatch(/a\.b\.c|private/);
  });

  test("has a fault of ours with its error, of which the outside is told nothing", async () => {
    const t = await start(() => Promise.reject(new Error("a line of our source")));
    t.open();
    const response = await post(t.gateway.url, "{}");
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain("our source");
    expect(t.lines.map(({ event }) => event)).toEqual(["callback failed", "callback answered"]);
  });
});

test("a port that is taken is a USAGE error", async () => {
  const t = await start();
  const error: unknown = await startGateway({ host: "127.0.0.1", port: t.gateway.port }).catch(
    (e: unknown) => e,
  );
  expect(isMeshError(error, "USAGE")).toBe(true);
});
