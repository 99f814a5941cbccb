/**
 * Requests: each call has its own answer and no other's, however calls begin, end and are answered.
 *
 * Method: a real server, and a responder on it that answers in any order, never, or once more later on (NS3).
 */
import type { Msg, NatsConnection } from "@nats-io/nats-core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { connectNats } from "../../../services/nats/connection.ts";
import { createRequests, type Requests } from "../../../services/nats/requests.ts";
import { startTestServer, type TestServer } from "../../support/nats-server.ts";

let server: TestServer;
let nc: NatsConnection;
let requests: Requests;
beforeEach(async () => {
  server = await startTestServer();
  nc = await connectNats({ servers: server.url, name: "test" });
  requests = createRequests(nc);
});
afterEach(async () => {
  requests.close();
  await nc.close();
  await server.stop();
});

const asked = async (n: number): Promise<string> => (await requests.one("echo", String(n))).string();

test("of hundreds at once, answered in any order, each hears its own answer", async () => {
  const waiting: Msg[] = [];
  nc.subscribe("echo", {
    callback: (_, message) => {
      waiting.push(message);
      // One of those that wait, so that calls overtake each other and begin where others have ended.
      if (waiting.length > 20) answer(waiting.splice(waiting.length % 7, 1)[0]);
    },
  });
  const answer = (message: Msg | undefined) => message?.respond(message.data);
  for (let round = 0; round < 3; round++) {
    const all = Array.from({ length: 300 }, (_, n) => asked(n));
    await nc.flush();
    waiting.splice(0).reverse().forEach(answer);
    expect(await Promise.all(all)).toEqual(Array.from({ length: 300 }, (_, n) => String(n)));
  }
});

test("a second answer to a call is nobody's, also where another call waits in its place", async () => {
  const before: Msg[] = [];
  nc.subscribe("echo", {
    callback: (_, message) => {
      for (const old of before) old.respond("late");
      before.push(message);
      message.respond(message.data);
    },
  });
  for (let n = 0; n < 20; n++) expect(await asked(n)).toBe(String(n));
});

test("what is closed fails all that waits, each once, and answers that come then are nobody's", async () => {
  const before: Msg[] = [];
  nc.subscribe("echo", { callback: (_, message) => void before.push(message) });
  const all = Array.from({ length: 50 }, (_, n) => asked(n));
  const settled = Promise.allSettled(all);
  await nc.flush();
  requests.close();
  for (const message of before) message.respond("late");
  await nc.flush();
  expect(before.length).toBe(50);
  expect((await settled).map(({ status }) => status)).toEqual(Array.from({ length: 50 }, () => "rejected"));
});
