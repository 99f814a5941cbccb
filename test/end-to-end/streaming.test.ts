/**
 * Words as a model says them, from a host that is killed in the middle of a reply: a listener takes back what the dead
 * one said.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { defineApp } from "../../services/app/app.ts";
import type { LiveEvent } from "../../services/client/live.ts";
import { speech, talkative, talker } from "../apps/talker.ts";
import { startCli } from "../support/cli.ts";
import { collect, repliesOf } from "../support/live-replies.ts";
import { type AccountServer, openRealMesh, startAccountServer, until } from "../support/real-mesh.ts";

let server: AccountServer;
beforeAll(async () => (server = await startAccountServer(1)));
afterAll(() => server.stop());

const text = speech.join("");

test("of a host that is killed in the middle of a reply the words are taken back, and the next one's shown", async () => {
  const mesh = await openRealMesh(server.nextUrl());
  const start = () =>
    startCli(["host", "--app", "test/apps/talker.ts", "--server", mesh.url, "--json"], {
      env: { TALKER_MS: "150" },
    });
  const hosts = [start()];
  try {
    await hosts[0]?.says('"role":"host"');
    await mesh.worker(defineApp({ sagas: [talker], models: { talkative: talkative({}) } }));
    const saga = await mesh.client.start(talker, {}, { id: "t" });
    const events: LiveEvent[] = [];
    const following = collect(saga.tokens(), (event) => void events.push(event));
    await until("two words are said", () => events.filter(({ type }) => type === "token").length >= 3);
    hosts[0]?.process.kill("SIGKILL");
    hosts.push(start());
    await following;
    expect(events).toContainEqual(expect.objectContaining({ type: "retracted", because: "TAKEN_OVER" }));
    expect(repliesOf(events).map(({ screen }) => screen)).toEqual([text, text]);
  } finally {
    for (const { process } of hosts) process.kill("SIGKILL");
    await mesh.close();
  }
}, 60_000);
