/**
 * Words as a model says them, from a host to whoever listens, on a real server.
 *
 * Method: an agent whose model thinks aloud, a word at a time. Listeners are clients in this process and the commands;
 * the line between a listener and the server is dropped by a proxy. What a screen would show is held against the ledger.
 * In test/end-to-end/streaming.test.ts a host is killed in the middle of a reply.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LiveDocument } from "../../../protocol/documents/live.ts";
import type { SagaId } from "../../../protocol/ids.ts";
import type { App } from "../../../services/app/app.ts";
import { defineApp } from "../../../services/app/app.ts";
import { followLive } from "../../../services/client/live.ts";
import { connectNats } from "../../../services/nats/connection.ts";
import { openNatsPorts } from "../../../services/nats/open.ts";
import { speech, talkative, talker } from "../../apps/talker.ts";
import { startProxy } from "../../chaos/proxy.ts";
import { runHere } from "../../support/cli.ts";
import { collect, repliesOf } from "../../support/live-replies.ts";
import {
  type AccountServer,
  openRealMesh,
  type RealMesh,
  startAccountServer,
} from "../../support/real-mesh.ts";

let server: AccountServer;
beforeAll(async () => (server = await startAccountServer(10)));
afterAll(() => server.stop());

const text = speech.join("");
const appWith = (options: Parameters<typeof talkative>[0]): App =>
  defineApp({ sagas: [talker], models: { talkative: talkative(options) } });

async function withMesh(
  options: Parameters<typeof talkative>[0],
  work: (mesh: RealMesh) => Promise<void>,
): Promise<void> {
  const mesh = await openRealMesh(server.nextUrl());
  try {
    const app = appWith(options);
    await mesh.host(app);
    await mesh.worker(app);
    await work(mesh);
  } finally {
    await mesh.close();
  }
}

describe("a listener", () => {
  test("sees words and thoughts before the reply is recorded, what tools tell, and each turn once", async () => {
    await withMesh({ everyMs: 30 }, async ({ client, turns }) => {
      const saga = await client.start(talker, {}, { id: "t" });
      const events = await collect(saga.tokens());
      const replies = repliesOf(events);
      expect(replies.map(({ screen }) => screen)).toEqual([text, text]);
      // A listener may come a word late, on a machine that is slow.
      for (const { streamed } of replies) expect(streamed).toBeGreaterThan(speech.length / 2);
      expect(events).toContainEqual(expect.objectContaining({ type: "token", kind: "thinking" }));
      const notes = events.flatMap((event) => (event.type === "progress" ? [event.note] : []));
      expect(notes).toEqual([{ packed: 1 }, { packed: 2 }, { packed: 3 }]);
      const told = events.flatMap((event) => (event.type === "turn" ? [event.turn.turn] : []));
      expect(told).toEqual((await turns("t")).map(({ turn }) => turn));
    });
  });

  test("is told to take back what an attempt said that failed", async () => {
    await withMesh({ everyMs: 30, fails: 1 }, async ({ client }) => {
      const saga = await client.start(talker, {}, { id: "t" });
      const events = await collect(saga.tokens());
      expect(events).toContainEqual({
        ...{ type: "retracted", intent: "1-0", attempt: 1 },
        because: "MODEL_FAILED",
      });
      expect(repliesOf(events).map(({ screen }) => screen)).toEqual([text, text]);
    });
  });

  test("whose line drops in the middle of a reply ends with the whole reply, and no word twice", async () => {
    const url = server.nextUrl();
    const mesh = await openRealMesh(url);
    const proxy = await startProxy([url]);
    const nc = await connectNats({
      servers: proxy.url.replace("//", `//${new URL(url).username}:secret@`),
      name: "listener",
    });
    try {
      const ports = await openNatsPorts(nc);
      const app = appWith({ everyMs: 60 });
      await mesh.host(app);
      await mesh.worker(app);
      await mesh.client.start(talker, {}, { id: "t" });
      let drops = 0;
      const events = await collect(followLive(ports, "t" as SagaId), ({ type }) => {
        if (type !== "token" || drops > 0) return;
        drops += 1;
        proxy.drop();
      });
      expect(drops).toBe(1);
      expect(repliesOf(events).map(({ screen }) => screen)).toEqual([text, text]);
    } finally {
      await nc.close();
      await proxy.close();
      await mesh.close();
    }
  });

  test("that comes back after a turn it has seen gets the later ones and nothing of the earlier", async () => {
    await withMesh({}, async ({ client, turns }) => {
      const saga = await client.start(talker, {}, { id: "t" });
      await saga.result();
      const settledAt = (await collect(saga.tokens())).flatMap((event) =>
        event.type === "settled" ? [event.turn] : [],
      );
      const [first = 0, second = 0] = settledAt;
      const events = await collect(saga.tokens({ afterTurn: first }));
      expect(events.flatMap((event) => (event.type === "settled" ? [event.turn] : []))).toEqual([second]);
      const told = events.flatMap((event) => (event.type === "turn" ? [event.turn.turn] : []));
      expect(told).toEqual((await turns("t")).map(({ turn }) => turn).filter((turn) => turn > first));
    });
  });
});

test("the ledger is as long whether the model thinks aloud or keeps to itself", async () => {
  const bytes: number[] = [];
  for (const silent of [false, true])
    await withMesh({ silent }, async ({ client, ports }) => {
      const saga = await client.start(talker, {}, { id: "t" });
      await saga.result();
      const last = (await ports.ledger.last(saga.id))?.seq ?? 0;
      const messages = await ports.ledger.read(saga.id, 0, last);
      // A host's name has the length of its process id.
      bytes.push(
        messages.reduce(
          (sum, { data }) =>
            sum +
            Buffer.from(data)
              .toString()
              .replaceAll(/"host":"[^"]*"/g, "").length,
          0,
        ),
      );
    });
  expect(bytes[0]).toBeGreaterThan(0);
  expect(Math.abs((bytes[0] ?? 0) - (bytes[1] ?? 0))).toBeLessThan(100);
}, 60_000);

describe("the commands", () => {
  test("tail --tokens shows words, what tools tell and turns; with --json a document for each", async () => {
    await withMesh({ everyMs: 150 }, async ({ client, url }) => {
      await runHere(["ls", "--server", url]); // The first command loads what all of them need.
      await client.start(talker, {}, { id: "t" });
      const person = await runHere(["tail", "t", "--tokens", "--server", url]);
      expect(person.code).toBe(0);
      expect(person.stdout).toContain(`│ ${text}\n`);
      expect(person.stdout).toContain('▸ {"packed":3}\n');
      expect(person.stdout).toContain("completed");
      const program = await runHere(["tail", "t", "--tokens", "--json", "--server", url]);
      const live = program.stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as object)
        .filter((line) => "live" in line)
        .map((line) => LiveDocument.parse(line).live);
      // It has ended: what was said is gone, and what was settled is told.
      expect(live.map(({ type }) => type)).toEqual(["settled", "settled"]);
    });
  }, 60_000);

  test("start --wait shows words on the way", async () => {
    await withMesh({ everyMs: 20 }, async ({ url }) => {
      const { code, stderr, stdout } = await runHere([
        ...["start", "talker", "--input", "{}", "--id", "t", "--wait", "--server", url],
      ]);
      expect(code).toBe(0);
      expect(stderr).toContain(`│ ${text}\n`);
      expect(stdout).toMatch(/^t completed/);
    });
  }, 60_000);
});
