/**
 * Goal: bad options of `startHost`, `startWorker` and `connect` are refused by a code, and nothing is started for them.
 * Method: calls as plain JavaScript may make them; none of them names a server that is there.
 */
import { connect, defineApp, startHost, startWorker } from "sagamesh";
import { expect, test } from "vitest";

const app = defineApp({ sagas: [] });
const bad = { sagas: [undefined] } as unknown as Parameters<typeof defineApp>[0]; // Proof: what JavaScript may give.
const servers = "nats://127.0.0.1:1";

test.each([
  ["no options", undefined, "USAGE", /startHost: .*expected object/],
  ["no application", {}, "USAGE", /expected what defineApp made\n {2}→ at app/],
  ["a list of sagas for an application", { app: [] }, "USAGE", /→ at app/],
  ["an option that there is not", { app, server: servers }, "USAGE", /Unrecognized key: "server"/],
  ["two copies", { app, replicas: 2 }, "USAGE", /expected 1, 3 or 5\n {2}→ at replicas/],
  ["a port out of range", { app, healthPort: 70_000 }, "USAGE", /→ at healthPort/],
  ["no room for any saga", { app, sagasMax: 0 }, "USAGE", /→ at sagasMax/],
  [
    "an address that is none",
    { app, servers: "http://example.org" },
    "USAGE",
    /servers: expected nats:\/\/host:port/,
  ],
  ["an application with a fault", { app: defineApp(bad), servers }, "APP_INVALID", /sagas\[0\] is not/],
])("a host with %s is refused", async (_case, options, code, says) => {
  await expect(startHost(options as never)).rejects.toMatchObject({
    code,
    message: expect.stringMatching(says) as string,
  });
});

test.each([
  ["an option of a host", { app, sagasMax: 1 }, "USAGE", /Unrecognized key: "sagasMax"/],
  ["an empty list of tools", { app, tools: [] }, "USAGE", /→ at tools/],
  ["a tool without a body", { app, tools: ["pay"], servers }, "TOOL_UNSERVED", /no implementation of pay/],
])("a worker with %s is refused", async (_case, options, code, says) => {
  await expect(startWorker(options as never)).rejects.toMatchObject({
    code,
    message: expect.stringMatching(says) as string,
  });
});

test("a client with an option that there is not is refused, and no server is started in its place", async () => {
  for (const none of [null, servers])
    await expect(connect(none as never)).rejects.toMatchObject({ code: "USAGE" });
  await expect(connect({ server: servers } as never)).rejects.toMatchObject({
    code: "USAGE",
    message: expect.stringMatching(/connect: .*Unrecognized key: "server"/) as string,
  });
});
